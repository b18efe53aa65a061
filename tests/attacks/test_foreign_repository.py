"""A folder that arrives with a repository: nothing of it runs, and nothing leads out of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bumble.history import clone
from tests.support.chatting import script
from tests.support.repository import after_a_dream, git, subjects
from tests.support.running import Run
from tests.support.sweeps import turns

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="needs git"),
    pytest.mark.skipif(os.name != "posix", reason="the programs are shell scripts"),
]
TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # the empty one
COMMANDS = (
    ("status",),
    ("doctor",),
    ("chat", "Hello."),
    ("knowledge", "set", "Pets", "A dog."),
    ("log",),
    ("diff",),
    ("diff", "last"),
    ("why", "drm_1"),
    ("session", "list"),
    ("context",),
    ("undo", "--last"),
    ("doctor", "--fix"),
)
ADD = ("-c", "core.fsmonitor=false", "add", "-A")


@pytest.fixture
def ada(run: Run) -> Run:
    """Ada under git, after a dream, with a model that answers."""
    Path(run.environ["HOME"]).mkdir()
    after_a_dream(run)
    script(run, {"purpose": "chat", "text": "Hello."})
    return run


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """The file that a program of the folder's would make."""
    return tmp_path / "marker"


@pytest.fixture
def evil(tmp_path: Path, marker: Path) -> str:
    """A program that makes it, and then does what a filter would."""
    file = tmp_path / "evil.sh"
    file.write_text(f"#!/bin/sh\necho $0 $@ >> {marker}\ncat\n")
    file.chmod(0o700)
    return str(file)


def everything(run: Run) -> str:
    """Run commands one after another; return what they say."""
    run.write("notes/mine.txt", "not committed\n")
    run.write("knowledge.md", run.text("knowledge.md") + "\n")
    heard = ""
    for words in COMMANDS:
        ran = run(*words)
        assert ran.code != 70, ran.err
        heard += ran.err
    return heard


def programs_of_filters(root: Path, evil: str) -> None:
    git(root, "config", "filter.x.clean", evil)
    git(root, "config", "filter.x.smudge", evil)
    git(root, "config", "filter.x.required", "true")
    attribute(root, "* filter=x")


def attribute(root: Path, line: str) -> None:
    with (root / ".gitattributes").open("a") as file:
        file.write(f"{line}\n")


def a_process(root: Path, evil: str) -> None:
    git(root, "config", "filter.x.process", evil)
    attribute(root, "* filter=x")


def a_filter_with_an_odd_name(root: Path, evil: str) -> None:
    git(root, "config", "filter.a=b.clean", evil)
    attribute(root, "* filter=a=b")


def attributes_of_the_private_folder(root: Path, evil: str) -> None:
    git(root, "config", "filter.x.clean", evil)
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "attributes").write_text("* filter=x\n")


def attributes_that_are_named(root: Path, evil: str) -> None:
    (root / "more").write_text("* filter=x\n")
    git(root, "config", "core.attributesFile", str(root / "more"))
    git(root, "config", "FILTER.x.CLEAN", evil)


def fsmonitor(root: Path, evil: str) -> None:
    git(root, "config", "core.fsmonitor", evil)


def hooks(root: Path, evil: str) -> None:
    names = ("pre-commit", "post-commit", "commit-msg", "prepare-commit-msg", "post-index-change")
    for name in (*names, "reference-transaction", "pre-auto-gc", "fsmonitor-watchman"):
        shutil.copy(evil, root / ".git" / "hooks" / name)


def hooks_elsewhere(root: Path, evil: str) -> None:
    (root / "hooks").mkdir()
    shutil.copy(evil, root / "hooks" / "pre-commit")
    shutil.copy(evil, root / "hooks" / "reference-transaction")
    git(root, "config", "core.hooksPath", "hooks")


def hooks_by_name(root: Path, evil: str) -> None:
    for event in ("pre-commit", "post-commit", "reference-transaction"):
        git(root, "config", f"hook.{event}-x.event", event)
        git(root, "config", f"hook.{event}-x.command", evil)


def included(root: Path, evil: str) -> None:
    text = f'[core]\n\tfsmonitor = {evil}\n[filter "x"]\n\tclean = {evil}\n'
    (root / "settings.txt").write_text(text)
    attribute(root, "* filter=x")
    git(root, "config", "include.path", "../settings.txt")


def included_on_a_condition(root: Path, evil: str) -> None:
    included(root, evil)
    git(root, "config", "--unset", "include.path")
    git(root, "config", "includeIf.onbranch:main.path", "../settings.txt")


def of_a_worktree(root: Path, evil: str) -> None:
    git(root, "config", "extensions.worktreeConfig", "true")
    git(root, "config", "--worktree", "filter.x.clean", evil)
    git(root, "config", "--worktree", "core.fsmonitor", evil)
    attribute(root, "* filter=x")


def ways_to_show(root: Path, evil: str) -> None:
    for key in ("diff.external", "diff.x.textconv", "diff.x.command"):
        git(root, "config", key, evil)
    git(root, "config", "diff.x.cachetextconv", "true")
    attribute(root, "* diff=x")


def signatures(root: Path, evil: str) -> None:
    for key in ("gpg.program", "gpg.ssh.program", "gpg.x509.program", "gpg.ssh.defaultKeyCommand"):
        git(root, "config", key, evil)
    for key in ("commit.gpgSign", "log.showSignature", "tag.gpgSign"):
        git(root, "config", key, "true")
    body = git(root, "cat-file", "commit", "HEAD")
    head, _, rest = body.partition("\n\n")
    seal = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----"
    (root.parent / "signed").write_text(f"{head}\n{seal}\n\n{rest}\n")
    made = git(root, "hash-object", "-t", "commit", "-w", str(root.parent / "signed"))
    git(root, "update-ref", "HEAD", made)


def words_of_commands(root: Path, evil: str) -> None:
    keys = (
        *("core.editor", "core.pager", "pager.log", "pager.diff", "pager.status"),
        *("sequence.editor", "core.askPass", "credential.helper", "core.sshCommand"),
        *("core.gitProxy", "core.alternateRefsCommand", "trailer.Cycle.command"),
        *("trailer.x.cmd", "merge.x.driver", "diff.tool", "difftool.x.cmd", "mergetool.x.cmd"),
        *("uploadpack.packObjectsHook", "interactive.diffFilter", "remote.origin.uploadpack"),
    )
    for key in keys:
        git(root, "config", key, evil)
    for name in ("log", "status", "commit", "diff", "add", "config", "rev-parse", "cat-file"):
        git(root, "config", f"alias.{name}", f"!{evil}")
    attribute(root, "* merge=x")


def tidying_up(root: Path, evil: str) -> None:
    git(root, "config", "gc.recentObjectsHook", evil)
    git(root, "config", "gc.auto", "1")
    git(root, "config", "gc.autoDetach", "false")


def a_submodule(root: Path, evil: str) -> None:
    inner = root / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "x").write_text("x\n")
    git(inner, "add", "-A")
    git(inner, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x")
    (root / ".gitmodules").write_text('[submodule "inner"]\n\tpath = inner\n\turl = ./x\n')
    git(root, "config", "submodule.inner.ignore", "none")
    git(root, *ADD)
    git(root, "commit", "-qm", "inner")
    git(inner, "config", "core.fsmonitor", evil)
    (inner / "x").write_text("y\n")


def objects_left_behind(root: Path, evil: str) -> None:
    git(root, "config", "core.repositoryFormatVersion", "1")
    git(root, "config", "extensions.partialClone", "origin")
    git(root, "config", "remote.origin.promisor", "true")
    git(root, "config", "remote.origin.url", f"ext::{evil}")
    git(root, "config", "protocol.ext.allow", "always")
    lost = git(root, "rev-parse", "HEAD:knowledge.md")
    (root / ".git" / "objects" / lost[:2] / lost[2:]).unlink()


def objects_left_at_a_host(root: Path, evil: str) -> None:
    objects_left_behind(root, evil)
    git(root, "config", "remote.origin.url", "ssh://nowhere.invalid/x")
    git(root, "config", "core.sshCommand", evil)


def objects_left_in_a_folder(root: Path, evil: str) -> None:
    objects_left_behind(root, evil)
    git(root, "config", "remote.origin.url", str(root))
    git(root, "config", "remote.origin.uploadpack", evil)


def objects_left_with_a_helper(root: Path, evil: str) -> None:
    objects_left_behind(root, evil)
    git(root, "config", "remote.origin.vcs", "ext")


ATTACKS: tuple[Callable[[Path, str], None], ...] = (
    *(programs_of_filters, a_process, a_filter_with_an_odd_name, attributes_of_the_private_folder),
    *(attributes_that_are_named, fsmonitor, hooks, hooks_elsewhere, hooks_by_name, included),
    *(included_on_a_condition, of_a_worktree, ways_to_show, signatures, words_of_commands),
    *(tidying_up, a_submodule, objects_left_behind, objects_left_at_a_host),
    *(objects_left_in_a_folder, objects_left_with_a_helper),
)


@pytest.mark.parametrize("attack", turns(7, ATTACKS))
def test_no_program_that_came_with_a_repository_runs(
    ada: Run, evil: str, marker: Path, attack: Callable[[Path, str], None]
) -> None:
    attack(ada.entity.root, evil)
    marker.unlink(missing_ok=True)  # our own git above may have run it
    everything(ada)
    assert not marker.exists(), marker.read_text()


def made_bare(place: Path, top: Path, evil: str) -> None:
    """Make a folder look like a bare repository."""
    git(top.parent, "init", "-q", "--bare", str(top.parent / "bare.git"))
    bare = top.parent / "bare.git"
    git(bare, "config", "core.bare", "false")
    git(bare, "config", "core.worktree", str(top))
    git(bare, "config", "core.fsmonitor", evil)
    names = ("user.name=x", "user.email=x@x")
    words = [word for name in names for word in ("-c", name)]
    git(bare, "update-ref", "HEAD", git(bare, *words, "commit-tree", "-m", "x", TREE))
    shutil.copytree(bare, place, dirs_exist_ok=True)


@pytest.mark.parametrize("mark", turns(3, ["none", "empty", "below"]))
def test_a_folder_that_looks_like_a_bare_repository_is_none(
    ada: Run, evil: str, marker: Path, mark: str
) -> None:
    root = ada.entity.root
    shutil.rmtree(root / ".git")
    if mark == "empty":
        (root / ".git").mkdir()
    if mark == "below":
        git(root.parent, "init", "-q")
    made_bare(root, root, evil)
    ada.write("entity.yaml", ada.text("entity.yaml") + "\ngit: {autocommit: true}\n")
    marker.unlink(missing_ok=True)
    everything(ada)
    assert not marker.exists(), marker.read_text()


def test_variables_that_lead_elsewhere_are_dropped(
    ada: Run, evil: str, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = ada.entity.root
    made_bare(root / "workspace" / "x", root, evil)
    monkeypatch.setenv("GIT_DIR", str(root / "workspace" / "x"))
    monkeypatch.setenv("GIT_CONFIG", str(root / "workspace" / "x" / "config"))
    ada.ok("knowledge", "set", "Pets", "A dog.")
    ada.ok("doctor", "--fix")
    assert not marker.exists()
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.delenv("GIT_CONFIG")
    assert subjects(root)[0] == 'knowledge set: learn "Pets"'
    assert clone.has_driver(root)


def test_the_owners_own_programs_and_variables_count(
    ada: Run, evil: str, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = ada.entity.root
    git(root, "config", "--global", "filter.x.clean", evil)
    git(root, "config", "--unset", "user.name")
    for name, text in {"COUNT": "1", "KEY_0": "user.name", "VALUE_0": "Variable"}.items():
        monkeypatch.setenv(f"GIT_CONFIG_{name}", text)
    attribute(root, "knowledge.md filter=x")
    ada.ok("knowledge", "set", "Pets", "A dog.")
    assert marker.exists()
    assert git(root, "log", "-1", "--format=%an %s") == 'Variable knowledge set: learn "Pets"'


def test_an_owners_filter_runs_no_program_of_the_repositorys(
    ada: Run, evil: str, marker: Path, tmp_path: Path
) -> None:
    """git-lfs runs what `lfs.extension` names, and can be the owner's own while that is not."""
    root = ada.entity.root
    lfs = tmp_path / "lfs.sh"
    lfs.write_text("#!/bin/sh\neval $(git config lfs.extension.x.clean)\n")
    lfs.chmod(0o700)
    git(root, "config", "--global", "filter.lfs.clean", str(lfs))
    git(root, "config", "lfs.extension.x.clean", evil)
    attribute(root, "* filter=lfs")
    heard = everything(ada)
    assert not marker.exists()
    assert "filter `lfs`, which is not yours" in heard


def test_where_a_filter_is_not_trusted_nothing_is_committed_and_a_sentence_says_why(
    ada: Run, evil: str, marker: Path
) -> None:
    root = ada.entity.root
    git(root, "config", "filter.git-crypt.clean", f"{evil} | tr a-z n-za-m")
    attribute(root, "knowledge.md filter=git-crypt")
    before = subjects(root)
    ran = ada.ok("knowledge", "set", "Pets", "A dog.")
    assert "not committed yet: knowledge.md needs git's filter `git-crypt`" in ran.err
    assert f"`bumble config trust {root}`" in ran.err
    assert not marker.exists()
    assert subjects(root) == before
    ada.ok("config", "trust", str(root))
    assert ada.ok("knowledge", "set", "Home", "Lisbon.").err == ""
    assert marker.exists()
    assert "N qbt." in git(root, "show", "HEAD:knowledge.md").replace("A", "N")
    assert len(subjects(root)) > len(before)


def another(tmp_path: Path) -> Path:
    """A repository of the owner's that has nothing to do with Ada."""
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q", "-b", "main")
    git(work, "config", "user.name", "Sam")
    git(work, "config", "user.email", "sam@example.org")
    (work / "x").write_text("x\n")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "mine")
    return work


@pytest.mark.parametrize("way", turns(2, ["file", "link", "commondir", "refs"]))
def test_a_mark_that_leads_to_the_owners_other_work_changes_nothing_there(
    ada: Run, tmp_path: Path, way: str
) -> None:
    root, work = ada.entity.root, another(tmp_path)
    if way in ("file", "link"):
        shutil.rmtree(root / ".git")
    if way == "file":
        (root / ".git").write_text(f"gitdir: {work}/.git\n")
    elif way == "link":
        (root / ".git").symlink_to(work / ".git")
    elif way == "commondir":
        (root / ".git" / "commondir").write_text(f"{work}/.git\n")
    else:
        shutil.rmtree(root / ".git" / "refs")
        (root / ".git" / "refs").symlink_to(work / ".git" / "refs")
    before = {path: path.read_bytes() for path in (work / ".git").rglob("*") if path.is_file()}
    heard = everything(ada)
    after = {path: path.read_bytes() for path in (work / ".git").rglob("*") if path.is_file()}
    assert after == before
    assert "which does not know of this folder" in heard


def test_worktrees_submodules_and_what_is_trusted_are_committed_to(
    ada: Run, tmp_path: Path
) -> None:
    root = ada.entity.root
    worktree = tmp_path / "worktree"
    git(root, "worktree", "add", "-q", str(worktree), "-b", "other")
    above = another(tmp_path)
    git(above, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(root), "inner")
    apart = tmp_path / "apart"
    git(
        tmp_path,
        "clone",
        "-q",
        "--separate-git-dir",
        str(tmp_path / "private"),
        str(root),
        apart.name,
    )
    for place in (worktree, above / "inner", apart):
        if place == apart:
            assert "does not know" in ada("knowledge", "set", "Home", "X.", "-e", str(place)).err
        ada.ok("config", "trust", str(place))
        ran = ada("knowledge", "set", "Pets", "A dog.", "-e", str(place))
        assert (ran.code, ran.err) == (0, "")
        assert 'knowledge set: learn "Pets"' in subjects(place)[0]


def test_a_driver_that_came_with_the_repository_is_no_driver(ada: Run, evil: str) -> None:
    root = ada.entity.root
    git(root, "config", clone.DRIVER_KEY, f"{evil} -P -m bumble git-merge %O %A %B %P")
    findings = ada("doctor", "--json").data["findings"]
    assert "git-driver" in [one["code"] for one in findings]
    ada("doctor", "--fix")
    assert git(root, "config", clone.DRIVER_KEY) == clone.driver_command()
