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
        "2 files: 2 added, 0 changed, 0 removed.\n"
        "2 passages without a vector: words alone find them.\n"
    )
    looking.episode(ada, "tide", "The tide was high.")
    looking.episode(ada, "rain", "It rained.")
    assert counts(ada) == (1, 1, 0, 1)
    ada.file("episodes/2026/05/ep_tide.md").unlink()
    assert counts(ada) == (0, 0, 1, 2)


def test_ends_with_12_when_no_file_can_be_read(ada: Run) -> None:
    for name in ("knowledge.md", "journal.md", "episodes/2026/05/ep_tide.md"):
        ada.file(name).write_bytes(b"\xff")
    assert ada("index").code == 12
