"""What git writes by itself stays in `.git`, and no pipe in there keeps a command waiting."""

from __future__ import annotations

import os
import shutil
from itertools import product
from pathlib import Path

import pytest

from bumble.files import git as door
from tests.support.repository import after_a_dream, subjects
from tests.support.running import Run
from tests.support.sweeps import turns

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="needs git"),
    pytest.mark.skipif(os.name != "posix", reason="links and pipes"),
]
PLACES = ("logs/HEAD", "logs/refs/heads/main", "COMMIT_EDITMSG")
WAYS = ("link", "hard", "dangling")
DEEPER = ("refs/heads/main", "objects/pack", "info/exclude")
PIPES = (
    *("HEAD", "config", "index", "packed-refs", "shallow", "commondir", "COMMIT_EDITMSG"),
    *("info/attributes", "info/exclude", "objects/info/alternates", "logs/HEAD"),
    *("../.gitignore", "../.gitattributes", "../workspace/.gitattributes"),
)


@pytest.fixture
def ada(run: Run) -> Run:
    """Ada under git, after a dream."""
    return after_a_dream(run)


@pytest.mark.parametrize(("inner", "way"), turns(4, product(PLACES, WAYS)))
def test_nothing_is_written_through_a_link_in_the_private_folder(
    ada: Run, tmp_path: Path, inner: str, way: str
) -> None:
    outside, place = tmp_path / "bashrc", ada.entity.root / ".git" / inner
    place.unlink(missing_ok=True)
    if way != "dangling":
        outside.write_text("# mine\n")
    if way == "hard":
        os.link(outside, place)
    else:
        place.symlink_to(outside)
    before = subjects(ada.entity.root)
    ran = ada.ok("knowledge", "set", "Pets", "A dog.")
    assert (outside.read_text() if outside.exists() else "") in ("", "# mine\n")
    assert outside.exists() is (way != "dangling")
    assert f"git would write to {place}, which has another name elsewhere" in ran.err
    assert subjects(ada.entity.root) == before


@pytest.mark.parametrize("inner", turns(3, DEEPER))
def test_a_link_deeper_in_the_private_folder_leads_nowhere(
    ada: Run, tmp_path: Path, inner: str
) -> None:
    place = ada.entity.root / ".git" / inner
    outside = tmp_path / "outside"
    place.rename(outside)
    place.symlink_to(outside)
    ran = ada.ok("knowledge", "set", "Pets", "A dog.")
    assert f"`.git` leads to {outside}, which does not know of this folder" in ran.err


@pytest.mark.parametrize("inner", turns(4, PIPES))
def test_a_pipe_keeps_nobody_waiting(ada: Run, monkeypatch: pytest.MonkeyPatch, inner: str) -> None:
    monkeypatch.setattr(door, "TIMEOUT_SECONDS", 2)
    place = ada.entity.root / ".git" / inner
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    for words in (("status",), ("knowledge", "set", "Pets", "A dog."), ("doctor",), ("log",)):
        ran = ada(*words)
        assert ran.code != 70, ran.err
        assert "took longer" not in ran.out + ran.err
    assert "git would wait for it" in ada("doctor").out + ada("knowledge", "set", "A", "B").err
