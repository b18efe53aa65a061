from __future__ import annotations

import pytest

from tests.support import looking
from tests.support.running import Run


@pytest.fixture
def ada(run: Run) -> Run:
    """Ada with an episode, beside the two files she was born with."""
    looking.without_models(run)
    looking.episode(run, "tide", "The tide was low.")
    return run


def counts(run: Run, *argv: str) -> tuple[int, ...]:
    data = run.ok("index", "--json", *argv).data
    return tuple(data[key] for key in ("added", "changed", "removed", "unchanged"))


def test_says_what_was_added_changed_and_removed(ada: Run) -> None:
    assert ada.ok("index").out == (
        "3 files: 3 added, 0 changed, 0 removed.\n"
        "2 passages without a vector: words alone find them.\n"
    )
    looking.episode(ada, "tide", "The tide was high.")
    looking.episode(ada, "rain", "It rained.")
    assert counts(ada) == (1, 1, 0, 2)
    ada.file("episodes/2026/05/ep_tide.md").unlink()
    assert counts(ada) == (0, 0, 1, 3)


def test_twice_in_a_row_has_nothing_to_do(ada: Run) -> None:
    ada.ok("index")
    assert ada.ok("index").out.startswith("Nothing to do: 3 files, as they were.")


def test_rebuild_reads_everything_again(ada: Run) -> None:
    ada.ok("index")
    assert counts(ada, "--rebuild") == (3, 0, 0, 0)


def test_damaged_index_is_made_anew_and_said(ada: Run) -> None:
    ada.ok("index")
    ada.write("memory.db", "not a database")
    made = ada.ok("index", "--json")
    assert made.data["added"] == 3
    assert any("made anew" in warning for warning in made.json["warnings"])


def test_unreadable_files_are_warnings_and_listed(ada: Run) -> None:
    looking.episode(ada, "bad", "x", significance="lots")
    ran = ada.ok("index", "--json")
    assert ran.data["problems"] == [
        {
            "path": "episodes/2026/05/ep_bad.md",
            "line": 3,
            "problem": "`significance` should be a number, not `lots`",
        }
    ]
    assert "ep_bad.md:3" in ran.err
    assert "4 files, 1 of them unreadable" in ada.ok("index").out


def test_ends_with_12_when_no_file_can_be_read(ada: Run) -> None:
    for name in ("knowledge.md", "journal.md", "episodes/2026/05/ep_tide.md"):
        ada.file(name).write_bytes(b"\xff")
    assert ada("index").code == 12


def test_truth_files_stay_as_they_are(ada: Run) -> None:
    before = looking.truths(ada)
    ada.ok("index")
    ada.ok("index", "--rebuild")
    assert looking.truths(ada) == before


def test_bars_are_for_terminals_alone(ada: Run) -> None:
    assert "\x1b" not in ada.ok("index").err
    assert "reading" in ada.ok("index", "--rebuild", terminal=True).err
