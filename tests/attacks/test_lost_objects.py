"""What is missing from the history is not taken for what was never written."""

from __future__ import annotations

import shutil

import pytest

from tests.support.repository import begun, git
from tests.support.running import Run

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def ada(run: Run) -> Run:
    """Ada under git, with two days in her journal."""
    root = run.entity.root
    begun(root)
    run.ok("journal", "add", "It rained.")
    run.ok("journal", "add", "The sun shone.")
    return run


@pytest.mark.parametrize("what", ["HEAD~1:journal.md", "HEAD~1^{tree}"])
def test_an_undo_removes_nothing_for_want_of_what_was_there_before(ada: Run, what: str) -> None:
    root, before = ada.entity.root, ada.text("journal.md")
    lost = git(root, "rev-parse", what)
    (root / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    ran = ada("undo", "--last")
    assert ran.code == 12, ran.err
    assert ada.text("journal.md") == before
