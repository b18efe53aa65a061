from __future__ import annotations

import pytest

from tests.support.running import Run, UseEditor

LOCKED = "Standing instructions"


def test_a_section_is_written_shown_and_listed(run: Run) -> None:
    assert run.ok("knowledge", "set", "Pets", "Sam has a cat").out == 'Added "Pets".\n'
    assert run.ok("knowledge", "show", "pets").out == "## Pets\n\nSam has a cat\n"
    assert "Pets" in run.ok("knowledge", "list").out
    assert run.text("knowledge.md").endswith("\n\n## Pets\n\nSam has a cat\n")


def test_whom_alone_a_section_is_for_stands_in_its_title(run: Run) -> None:
    run.ok("person", "add", "Bo", "A friend.")
    assert run.ok("knowledge", "set", "Knee [only for Bo]", "It hurts").out == 'Added "Knee".\n'
    assert "## Knee [only for bo]\n" in run.text("knowledge.md")
    assert run.ok("knowledge", "set", "# Knee [only for bo]", "Better").out == 'Changed "Knee".\n'
    assert run.ok("knowledge", "set", "knee", "Well").out == 'Changed "Knee".\n'
    assert run.ok("knowledge", "show", "Knee [only for bo]").out.startswith("## Knee\n\nWell\n")
    section = run.ok("knowledge", "show", "Knee", "--json").data
    assert section["provenance"] == {"trust": "owner", "audience": ["bo"]}


def test_a_section_stays_for_whom_it_was(run: Run) -> None:
    run.ok("person", "add", "Bo", "A friend.")
    run.ok("knowledge", "set", "Tea", "Green")
    before = run.state()
    ran = run("knowledge", "set", "Tea [only for bo]", "Black")
    assert ran.code == 2
    assert '"Tea" is there already, for everybody' in ran.err
    assert run("knowledge", "set", "Knee [only for nobody]", "It hurts").code != 0
    assert run.state() == before


@pytest.mark.parametrize("words", [[], ["-"]])
def test_the_text_may_come_on_standard_input(run: Run, words: list[str]) -> None:
    run.ok("knowledge", "set", "Pets", *words, stdin="a cat\r\n\r\nand a dog\n")
    assert run.ok("knowledge", "show", "Pets", "--json").data["text"] == "a cat\n\nand a dog"


def test_another_text_corrects_the_section_and_leaves_the_rest(run: Run) -> None:
    run.ok("knowledge", "set", "Pets", "a cat")
    run.ok("knowledge", "set", "Home", "Porto")
    before = run.text("knowledge.md")
    assert run.ok("knowledge", "set", "PETS", "a dog").out == 'Changed "Pets".\n'
    assert run.text("knowledge.md") == before.replace("a cat", "a dog")


@pytest.mark.parametrize(
    "argv",
    [
        ["set", "standing  INSTRUCTIONS", "do as you like"],
        ["set", "[Locked] Standing instructions", "do as you like"],
        ["remove", LOCKED, "--yes"],
        ["edit", LOCKED],
    ],
)
def test_a_locked_section_is_refused(run: Run, use_editor: UseEditor, argv: list[str]) -> None:
    use_editor("file.write_text('do as you like')")
    before = run.state()
    ran = run("knowledge", *argv)
    assert ran.code == 13
    assert "knowledge.md:3" in ran.err
    assert "--force-locked" in ran.err
    assert run.state() == before


def test_removing_needs_a_yes(run: Run) -> None:
    run.ok("knowledge", "set", "Pets", "a cat")
    ran = run("knowledge", "remove", "Pets")
    assert ran.code == 13
    assert "--yes" in ran.err
    assert run("knowledge", "remove", "Pets", stdin="n\n", terminal=True).code == 13
    assert "## Pets" in run.text("knowledge.md")
    run.ok("knowledge", "remove", "Pets", stdin="y\n", terminal=True)
    assert "## Pets" not in run.text("knowledge.md")


def test_an_editor_shows_the_section_as_it_is(run: Run, use_editor: UseEditor) -> None:
    run.ok("knowledge", "set", "Pets", "a cat")
    use_editor("file.write_text(file.read_text().replace('a cat', 'two cats'))")
    run.ok("knowledge", "edit", "pets")
    assert run.ok("knowledge", "show", "Pets", "--json").data["text"] == "two cats"
    use_editor("file.write_text(file.read_text() + 'and a dog')")
    run.ok("knowledge", "set", "Pets", "--editor")
    assert run.ok("knowledge", "show", "Pets", "--json").data["text"] == "two cats\nand a dog"


def test_a_broken_file_can_be_edited_whole_again(run: Run) -> None:
    run.write("knowledge.md", "---\nopen: yes\n")
    ran = run("knowledge", "list")
    assert ran.code == 12
    assert "knowledge.md:1" in ran.err
    run.ok("knowledge", "edit", "--from", "-", stdin="## Pets\n\na cat\n")
    assert run.text("knowledge.md") == "## Pets\n\na cat\n"


@pytest.mark.parametrize(
    "broken",
    [
        b"---\nsources: [sources/knowledge.yaml\n---\n\n## Job [only for mara]\n\nMara lost it.\n",
        b"## Caf\xe9\n\nx\n",
        b"<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n",
    ],
)
def test_what_cant_be_read_is_not_written_over_and_can_be_edited(run: Run, broken: bytes) -> None:
    run.entity.knowledge.write_bytes(broken)
    assert run("knowledge", "set", "Tea", "black").code == 12
    assert run("knowledge", "edit", "--from", "-", stdin=broken).code in (2, 12)
    assert run("knowledge", "edit", "--from", "-", stdin=" \n").code == 2
    assert run.entity.knowledge.read_bytes() == broken
    run.ok("knowledge", "edit", "--from", "-", stdin="## Pets\n\na cat\n")
    assert run.text("knowledge.md") == "## Pets\n\na cat\n"


def test_fifty_megabytes_are_no_note(run: Run) -> None:
    ran = run("knowledge", "set", "Big", stdin=b"x" * 50_000_000)
    assert ran.code == 2
    assert "4,000,000" in ran.err


def test_locking_what_is_there_says_how(run: Run) -> None:
    run.ok("knowledge", "set", "Pets", "a cat")
    ran = run("knowledge", "set", "Pets", "a cat", "--locked")
    assert ran.code == 2
    assert "`## [locked] Pets`" in ran.err
    run.write("knowledge.md", run.text("knowledge.md").replace("## Pets", "## [locked] Pets"))
    assert run.ok("knowledge", "show", "Pets", "--json").data["locked"] is True


def test_another_section_that_somebody_writes_meanwhile_is_no_reason_to_fail(
    run: Run, use_editor: UseEditor
) -> None:
    run.ok("knowledge", "set", "Pets", "a cat")
    use_editor(
        f"facts = Path({str(run.entity.knowledge)!r})\n"
        "facts.write_text(facts.read_text() + '\\n## Home\\n\\nLisbon.\\n')\n"
        "file.write_text('two cats')"
    )
    run.ok("knowledge", "edit", "Pets")
    assert "Lisbon." in run.text("knowledge.md") and "two cats" in run.text("knowledge.md")
    use_editor(
        f"facts = Path({str(run.entity.knowledge)!r})\n"
        "facts.write_text(facts.read_text().replace('two cats', 'a dog'))\n"
        "file.write_text('three cats')"
    )
    assert run("knowledge", "edit", "Pets").code == 13
    assert "a dog" in run.text("knowledge.md")
