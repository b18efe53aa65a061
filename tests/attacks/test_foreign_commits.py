"""Commits that somebody else wrote: whatever they hold, the history can be read."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from bumble.history import log
from tests.support.repository import after_a_dream, git
from tests.support.running import Run
from tests.support.sweeps import turns

SIGNS = ("\x01", "\x02", "\x03", "\x1e", "\x1f", "\x1b[2J", "\r", "\x7f")
DATES = ("1700000000 +9999", "99999999999999 +0000", "-5 +0000", "0 -1459", "x y")
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def ada(run: Run) -> Run:
    """Ada under git, after a dream."""
    return after_a_dream(run)


def commit(root: Path, message: bytes, date: str = "1700000000 +0000", name: str = "Bo") -> None:
    """Make a commit of what is there as no git of ours would."""
    git(root, "add", "-A")
    head = f"tree {git(root, 'write-tree')}\nparent {git(root, 'rev-parse', 'HEAD')}\n"
    who = f"{name} <bo@example.org> {date}"
    data = f"{head}author {who}\ncommitter {who}\n\n".encode() + message
    words = ["git", "-C", str(root), "hash-object", "-t", "commit", "-w", "--stdin", "--literally"]
    made = subprocess.run(words, input=data, capture_output=True, check=True).stdout
    git(root, "update-ref", "HEAD", made.decode().strip())


@pytest.mark.parametrize("sign", turns(4, SIGNS))
def test_no_sign_in_a_commit_ends_it(ada: Run, sign: str) -> None:
    root = ada.entity.root
    ada.write("notes/x.txt", "x\n")
    text = f"one{sign}two\n\nbody{sign}{sign}\n\nCycle: x{sign}y\n"
    commit(root, text.encode(), name=f"B{sign}o" if sign != "\r" else "Bo")
    for words in (["log"], ["log", "--json"], ["diff", "last"], ["log", "notes/x.txt"], ["diff"]):
        ran = ada(*words)
        assert ran.code == 0, ran.err
    newest, second, *_ = log.read(root)
    assert newest.title.startswith("one")
    assert newest.touched == ("notes/x.txt",)
    assert second.title == "dream: a sea of bees"
    assert ada("why", "drm_1").code == 0
    assert ada("undo", "HEAD").code in (0, 13)


@pytest.mark.parametrize("date", turns(2, DATES))
def test_no_time_of_a_commit_is_a_crash(ada: Run, date: str) -> None:
    ada.write("beliefs/bel_1.md", ada.text("beliefs/bel_1.md") + "\nMore.\n")
    commit(ada.entity.root, b"odd\n", date)
    for words in (["log"], ["diff", "last"], ["why", "bel_1"], ["undo", "--last"]):
        assert ada(*words).code in (0, 13), words
