from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from bumble.entity import changes, companions
from bumble.files import disk
from tests.support.command_line import commands
from tests.support.running import Run, UseEditor

WRITING = [
    ["session", "end"],
    ["knowledge", "set", "Pets", "a dog"],
    ["knowledge", "remove", "Pets", "--yes"],
    ["knowledge", "edit"],
    ["journal", "add", "Sun."],
    ["journal", "edit"],
    ["skill", "set", "tea", "Use a bag.", "--yes"],
    ["skill", "remove", "tea", "--yes"],
    ["skill", "edit", "tea"],
    ["person", "add", "Eve"],
    ["person", "edit", "Bo"],
    ["person", "forget", "Bo", "--yes"],
    ["belief", "add", "The sun stays"],
    ["belief", "confirm", "bel_1"],
    ["belief", "contradict", "bel_1"],
    ["belief", "edit", "last"],
    ["belief", "remove", "bel_1", "--yes"],
    ["episode", "add", "We lay in the sun"],
    ["episode", "edit", "last"],
    ["episode", "remove", "last", "--yes"],
]
APPEND = "file.write_bytes(file.read_bytes() + b'\\nmore\\n')"
EDITING = [argv for argv in WRITING if argv[1] == "edit"]


def test_every_writing_command_is_tested_here() -> None:
    writing = {f"{group} {name}" for group, name, opts in commands() if "--dry-run" in opts}
    assert writing == {" ".join(argv[:2]) for argv in WRITING}


@pytest.mark.parametrize("argv", WRITING, ids=" ".join)
def test_a_dry_run_shows_the_change_and_writes_nothing(
    full: Run, use_editor: UseEditor, argv: list[str]
) -> None:
    use_editor(APPEND)
    before = full.state()
    ran = full.ok(*argv, "--dry-run")
    assert re.search(r"^[+-]", ran.out, re.MULTILINE)
    assert "Nothing was written" in ran.err
    data = full.ok(*argv, "--dry-run", "--json").data
    assert data["dry_run"] is True
    assert data["changes"][0]["path"]
    assert full.state() == before


@pytest.mark.parametrize("argv", WRITING, ids=" ".join)
def test_what_is_written_is_told(full: Run, use_editor: UseEditor, argv: list[str]) -> None:
    use_editor(APPEND)
    before = full.state()
    data = full.ok(*argv, "--json").data
    after = full.state()
    changed = {path for path in before | after if before.get(path) != after.get(path)}
    truth = {path for path in changed if not path.startswith(".bumble") and "." in path}
    assert data["changed"] is True
    told = {one["path"] for one in data["changes"]}
    assert told >= {path for path in truth if not path.startswith("sources/")}
    assert truth <= told | {companions.place(path) for path in told}


@pytest.mark.parametrize("argv", WRITING, ids=" ".join)
def test_a_lock_that_is_held_is_waited_for_and_no_longer(
    full: Run, use_editor: UseEditor, argv: list[str]
) -> None:
    use_editor(APPEND)
    root = full.entity.root
    before = full.state()
    with disk.lock(changes.lock_path(root), place=root, timeout_seconds=0):
        ran = full(*argv, "--lock-timeout", "0")
    assert ran.code == 11
    assert full.state().keys() == before.keys()
    assert {k: v for k, v in full.state().items() if not k.startswith(".bumble")} == {
        k: v for k, v in before.items() if not k.startswith(".bumble")
    }


@pytest.mark.parametrize("argv", EDITING, ids=" ".join)
def test_an_edit_that_changes_nothing_writes_nothing(
    full: Run, use_editor: UseEditor, argv: list[str]
) -> None:
    use_editor("pass")
    before = full.state()
    assert full.ok(*argv).out.startswith("Nothing to do")
    assert full.state() == before
    assert drafts() == []


def drafts() -> list[Path]:
    return sorted(Path(os.environ["TMPDIR"]).rglob("*.md"))


@pytest.mark.parametrize("argv", EDITING, ids=" ".join)
def test_a_file_that_moved_on_is_left_and_the_typing_kept(
    full: Run, use_editor: UseEditor, argv: list[str]
) -> None:
    use_editor(f"root = Path({str(full.entity.root)!r})\n" + APPEND + MOVE_ON)
    ran = full(*argv)
    assert ran.code == 13
    assert "changed this file in the meantime" in ran.err
    [draft] = drafts()
    assert str(draft) in ran.err
    assert draft.read_text().endswith("\nmore\n")


MOVE_ON = """
for path in root.rglob("*.md"):
    path.write_text(path.read_text() + "\\nby another hand\\n")
"""


def test_a_text_that_is_no_record_is_refused_by_line_and_kept(
    full: Run, use_editor: UseEditor
) -> None:
    use_editor("file.write_text(file.read_text().replace('at: 2026', 'at: the year 2026'))")
    before = full.state()
    ran = full("episode", "edit", "last")
    [draft] = drafts()
    assert ran.code == 12
    assert f"{draft}:" in ran.err
    assert "`at` should be" in ran.err
    assert f"what you typed is kept in {draft}" in ran.err
    assert full.state() == before


def test_what_was_kept_can_be_mended_and_given_back(full: Run, use_editor: UseEditor) -> None:
    use_editor("file.write_text('---\\n' + file.read_text().replace('stays', 'goes'))")
    assert full("belief", "edit", "last").code == 12
    [draft] = drafts()
    assert full("belief", "edit", "last", "--from", str(draft)).code == 12
    draft.write_text(draft.read_text().removeprefix("---\n"))
    full.ok("belief", "edit", "last", "--from", str(draft))
    assert full.ok("belief", "show", "last", "--json").data["text"] == "The rain goes"


def test_on_a_terminal_a_broken_text_can_be_mended_at_once(
    full: Run, use_editor: UseEditor
) -> None:
    use_editor(
        "text = file.read_text()\n"
        "broken = '2026-05' in text\n"
        "file.write_text(text.replace('2026', 'now') if broken else text.replace('now', '2025', 1))"
    )
    ran = full("episode", "edit", "last", stdin="y\n", terminal=True)
    assert ran.code == 0, ran.err
    assert "Open it again?" in ran.err + ran.out
    assert full.ok("episode", "show", "last", "--json").data["at"].startswith("2025-05")
    assert drafts() == []


def test_bytes_that_are_no_text_are_refused_and_kept(full: Run, use_editor: UseEditor) -> None:
    use_editor("file.write_bytes(file.read_bytes() + b'\\xff')")
    ran = full("journal", "edit")
    assert ran.code == 12
    assert "not UTF-8" in ran.err
    assert len(drafts()) == 1


@pytest.mark.parametrize(
    ("source", "code"), [("nowhere.md", 2), (".", 2), ("latin.md", 2), ("-", 0)]
)
def test_a_text_is_taken_from_a_file(full: Run, source: str, code: int) -> None:
    (full.entity.root / "latin.md").write_bytes("olá".encode("latin-1"))
    assert (
        full("knowledge", "edit", "--force-locked", "--from", source, stdin="## A\n").code == code
    )


def test_other_bytes_of_a_file_survive_an_edit(full: Run, use_editor: UseEditor) -> None:
    head = "---\r\n# a note\r\nnames: [Zoë]   # who\r\nx: {1.10: yes}\r\n---\r\n\r\n"
    source = head + "Kind.\u2028 Very.\r\n"
    full.write("relationships/zoë.md", source)
    use_editor("file.write_bytes(file.read_bytes().replace(b'Kind', b'Stern'))")
    full.ok("person", "edit", "Zoë")
    assert full.text("relationships/zoë.md") == source.replace("Kind", "Stern")
