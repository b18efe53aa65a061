from __future__ import annotations

from typing import Any

import pytest

from tests.support import chatting
from tests.support.running import Run, UseEditor
from tests.support.stretches import claim, makes

BO = """---
names: [Bo, Bodil]
scores: {familiarity: 0.4, warmth: 0.7, trust: 0.5, tension: 0.1, investment: 0.3}
interaction_count: 12
first_met: "2026-05-01T10:00:00+01:00"
last_interaction: "2026-05-20T18:00:00+01:00"
pending:
  - {text: moved to Porto}
topics: [tea, tides]
---

Bo is patient with me.
"""


@pytest.fixture
def bo(run: Run) -> Run:
    run.write("relationships/bo.md", BO)
    return run


def test_a_person_is_shown_with_portrait_scores_and_counters(bo: Run) -> None:
    shown = bo.ok("person", "show", "bodil").out
    assert shown.startswith("# Bo\n\nBo is patient with me.\n")
    for told in ("warmth 0.70", "talks      12", "tea, tides", "moved to Porto"):
        assert told in shown
    assert "2026-05-20 18:00" in shown


def test_people_are_listed(bo: Run) -> None:
    assert "12 talks" in bo.ok("person", "list").out
    assert bo.ok("person", "list", "--json").data[0]["scores"]["warmth"] == 0.7


def test_somebody_is_introduced_with_a_portrait(run: Run) -> None:
    run.ok("person", "add", "Ana Lima", "--also", "Ana", "Ana fixes boats.")
    data = run.ok("person", "show", "ana", "--json").data
    assert data["id"] == "ana-lima"
    assert data["names"] == ["Ana Lima", "Ana"]
    assert data["text"] == "Ana fixes boats."
    assert data["first_met"] == "2026-05-24T12:01:00+01:00"


def test_somebody_can_be_introduced_without_a_word(run: Run) -> None:
    run.ok("person", "add", "Ana")
    assert "No portrait yet." in run.ok("person", "show", "Ana").out


@pytest.mark.parametrize("name", ["BO", "bodil"])
def test_a_name_somebody_has_is_refused(bo: Run, name: str) -> None:
    before = bo.state()
    assert bo("person", "add", name).code == 13
    assert bo("person", "add", "Somebody", "--also", name).code == 13
    assert bo.state() == before


@pytest.mark.parametrize("name", ["../../x", "CON", "🐝", "a/b", ".hidden", "👩‍🚀"])
def test_any_name_is_a_file_of_its_folder(run: Run, name: str) -> None:
    run.ok("person", "add", name)
    assert run.ok("person", "show", name, "--json").data["names"] == [name]
    [file] = run.file("relationships").iterdir()
    assert file.stem.casefold() != "con"
    assert not file.name.startswith(".")


@pytest.mark.parametrize("name", ["", " ", "a\x00b", "a\x1b[2Jb", "half \udce4"])
def test_a_name_that_is_none_is_refused(run: Run, name: str) -> None:
    assert run("person", "add", name).code == 2
    assert not run.file("relationships").exists()


def test_scores_are_checked_when_edited(bo: Run, use_editor: UseEditor) -> None:
    use_editor("file.write_text(file.read_text().replace('warmth: 0.7', 'warmth: 7'))")
    ran = bo("person", "edit", "Bo")
    assert ran.code == 12
    assert "`warmth`" in ran.err
    assert bo.text("relationships/bo.md") == BO


def test_a_broken_file_hides_nobody_else(bo: Run) -> None:
    bo.write("relationships/eve.md", "---\nscores: 3\n---\n")
    ran = bo("person", "list")
    assert ran.code == 12
    assert "Bo" in ran.out
    assert "eve.md:2" in ran.err
    assert bo("person", "show", "Bo").code == 0
    shown = bo("person", "show", "EVE")
    assert shown.code == 12
    assert "eve.md:2" in shown.err


def test_a_link_out_of_the_folder_is_not_read(bo: Run) -> None:
    secret = bo.entity.root.parent / "secret.md"
    secret.write_text("---\nnames: [Mallory]\n---\n\nprivate\n")
    bo.file("relationships/mallory.md").symlink_to(secret)
    ran = bo("person", "show", "Mallory")
    assert ran.code == 1
    assert "private" not in ran.out + ran.err


def test_nobody_is_said_beside_the_results(run: Run) -> None:
    ran = run.ok("person", "list")
    assert ran.out == ""
    assert "bumble person add" in ran.err


def test_a_name_that_is_not_there_names_the_nearest(bo: Run) -> None:
    assert 'Did you mean "Bodil"?' in bo("person", "show", "bodhil").err


def test_forget_names_what_it_cannot_decide(full: Run) -> None:
    full.ok("remind", "add", "Call Sam.", "--at", "2031-01-01 09:00", "--deliver", "journal")
    data = full.ok("person", "forget", "Sam", "--dry-run", "--json").data
    places = {entry["path"]: entry["reason"] for entry in data["undecided"]}
    assert "entity.yaml" in places
    (reminder,) = (path for path in places if path.startswith("reminders/"))
    ran = full.ok("person", "forget", "Sam", "--yes")
    assert f"undecided: {reminder}: {places[reminder]}." in ran.err


def test_an_owner_of_another_name_stays_who_they_are(run: Run) -> None:
    run.write("script.yaml", "- text: Fine.\n  always: true\n")
    run.ok("config", "set", "llm.model", f"script:{run.file('script.yaml')}")
    run.ok("chat", "I am Sam.")
    settings = run.text("entity.yaml")
    run.write("entity.yaml", settings.replace("name: Sam", "name: Alexandra"))
    run.ok("chat", "And now I am called Alexandra.")
    run.ok("chat", "By that name.", "--as", "Alexandra")
    assert [one["id"] for one in run.ok("person", "list", "--json").data] == ["sam"]
    messages = run.ok("session", "show", "--json").data["messages"]
    assert {one["trust"] for one in messages if one["role"] == "user"} == {"owner"}
    run.ok("chat", "Hello.", "--as", "Kim")
    assert {one["id"] for one in run.ok("person", "list", "--json").data} == {"sam", "kim"}


def test_it_is_shown_which_language_somebody_speaks(run: Run) -> None:
    run.ok("person", "add", "Ana", "Ana conserta barcos e mora com a irmã em Lisboa.")
    assert run.ok("person", "show", "Ana", "--json").data["language"] == "pt"
    run.ok("config", "set", "language", "fr")
    assert run.ok("person", "show", "Ana", "--json").data["language"] == "fr"
    assert run("config", "set", "language", "Deutsch").code != 0


def appraised(run: Run, **points: float) -> dict[str, Any]:
    """Talk with Sam, whose words do so much to the body, and return how Sam then stands."""
    said = claim("Sam asked me of bees.", "m1", rests=["two bees"])
    chatting.script(
        run,
        {"purpose": "chat", "text": "I see.", "always": True},
        {"purpose": "stretch", "text": makes(said, felt={"bars": points}).text, "always": True},
    )
    run.ok("chat", "Do you know the one about the two bees and the open window?")
    run.ok("distill", "--force")
    return dict(run.ok("person", "show", "Sam", "--json").data)


@pytest.mark.parametrize(
    ("bar", "level", "way"), [("comfort", 0.52, "warming"), ("tension", 0.48, "cooling")]
)
def test_without_portraits_what_a_talk_did_moves_warmth_and_trust_by_the_step(
    run: Run, bar: str, level: float, way: str
) -> None:
    run.ok("config", "set", "memory.relational.enabled", "false")
    stands = appraised(run, **{bar: 4})
    assert (stands["scores"]["warmth"], stands["scores"]["trust"]) == (level, level)
    assert stands["bond"]["trajectory"] == way


def test_scores_that_a_portrait_gave_are_not_moved_by_a_talk(run: Run) -> None:
    scored = BO.replace("[Bo, Bodil]", "[Sam]").replace(
        "pending:", 'last_scored: "2026-05-20T18:00:00+01:00"\npending:'
    )
    run.write("relationships/sam.md", scored)
    assert appraised(run, comfort=4)["scores"]["warmth"] == 0.7
