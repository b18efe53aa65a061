from __future__ import annotations

import pytest

from tests.support.running import Run


@pytest.fixture
def tea(run: Run) -> Run:
    run.ok("skill", "set", "Make tea", "-d", "How to brew tea.", "Boil water.")
    return run


def test_a_skill_is_written_shown_and_listed(tea: Run) -> None:
    assert tea.ok("skill", "list").out == "Make tea  How to brew tea.\n"
    [listed] = tea.ok("skill", "list", "--json").data
    assert [*listed] == ["name", "slug", "path", "description"]  # its text tells `show`
    shown = tea.ok("skill", "show", "make-tea").out
    assert shown.startswith("# Make tea\n\nBoil water.\n")
    assert "skills/make-tea.md" in shown


def test_the_description_stays_unless_a_new_one_is_given(tea: Run) -> None:
    tea.ok("skill", "set", "make tea", "Use a bag.", "--yes")
    assert tea.ok("skill", "show", "make tea", "--json").data["description"] == "How to brew tea."


def test_a_new_skill_needs_a_description(run: Run) -> None:
    ran = run("skill", "set", "tea", "Boil water.")
    assert ran.code == 2
    assert "--description" in ran.err
    assert not run.file("skills").exists()


def test_a_rule_at_the_top_of_a_text_is_no_front_matter(run: Run) -> None:
    run.ok("skill", "set", "tea", "-d", "How to brew.", stdin="---\nBoil.\n")
    assert run.ok("skill", "show", "tea", "--json").data["text"] == "---\nBoil."


def test_removing_needs_a_yes(tea: Run) -> None:
    assert tea("skill", "remove", "make tea").code == 13
    tea.ok("skill", "remove", "make tea", "--yes")
    assert not tea.file("skills/make-tea.md").exists()


def test_a_broken_skill_is_told_and_the_others_are_listed(tea: Run) -> None:
    tea.write("skills/bad.md", "---\nname: [1\n---\n")
    ran = tea("skill", "list")
    assert ran.code == 12
    assert "Make tea" in ran.out
    assert "bad.md" in ran.err
    assert tea("skill", "show", "bad").code == 12
    tea.ok("skill", "edit", "bad", "--from", "-", stdin="---\nname: Good\n---\n\nYes.\n")
    assert tea.ok("skill", "list").code == 0
