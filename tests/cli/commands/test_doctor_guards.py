"""Doctor names what lies oddly in the folder, and what git is in the middle of; nothing hides."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import clones
from tests.support.repository import git
from tests.support.running import Run

Make = Callable[[Path], object]
ODD: dict[str, Make] = {
    "out": lambda path: path.symlink_to(os.devnull),
    "round": lambda path: path.symlink_to(path.name),
    "pipe": os.mkfifo,
    "folder": Path.mkdir,
}
FILES = ("knowledge.md", "journal.md", "state.yaml", "soma.yaml", "working/MEMORY.md")
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("path", FILES)
def test_doctor_names_what_lies_in_a_files_place_and_finds_all_else(
    run: Run, path: str, kind: str
) -> None:
    file = run.file(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    ODD[kind](file)
    run.write("beliefs/bel_1.md", "no record\n")
    done = run("doctor", "--json")
    findings = done.data["findings"]
    assert done.code == 12
    assert any(path in (one["path"] or one["said"]) for one in findings), findings
    assert ("record-invalid", "beliefs/bel_1.md") in {
        (one["code"], one["path"]) for one in findings
    }


@needs_git
def test_what_the_owner_began_in_git_is_named_with_how_it_ends(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = clones.begun(run, monkeypatch).entity.root
    run.ok("status")
    git(root, "switch", "-qc", "other")
    run.write("notes.md", "one\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    git(root, "switch", "-q", "main")
    run.write("notes.md", "two\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "two")
    for words, fix in (
        ("merge", "merge --abort"),
        ("cherry-pick", "cherry-pick --abort"),
        ("rebase", "rebase --abort"),
    ):
        with pytest.raises(Exception, match="non-zero"):
            git(root, words, "other")
        findings = {one["code"]: one for one in run("doctor", "--json").data["findings"]}
        assert findings["git-under-way"]["fix"].endswith(fix)
        git(root, *fix.split())
    (root / ".git" / "index.lock").touch()
    findings = {one["code"]: one for one in run("doctor", "--json").data["findings"]}
    assert findings["git-locked"]["fix"].startswith("rm ")


@needs_git
def test_what_is_written_and_not_committed_is_named_and_mended(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = clones.begun(run, monkeypatch).entity.root
    run.ok("status")
    (root / ".git" / "index.lock").touch()
    assert "not committed yet" in run.ok("journal", "add", "It rained.").err
    (root / ".git" / "index.lock").unlink()
    findings = {one["code"]: one for one in run("doctor", "--json").data["findings"]}
    assert findings["git-uncommitted"]["path"] == "journal.md"
    assert git(root, "status", "--porcelain") == "?? journal.md"
    assert "mended: journal.md: not committed yet" in run.ok("doctor", "--fix").out
    assert git(root, "status", "--porcelain") == ""
