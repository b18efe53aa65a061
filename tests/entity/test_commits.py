from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from bumble.entity import changes, commits, uncommitted
from bumble.entity.changes import Change, ChangeSet
from bumble.entity.commits import CommitPolicy
from bumble.errors import MergeUnfinishedError
from bumble.files import gitdir
from bumble.files.git import TIMEOUT_SECONDS
from tests.support.kills import every_call, forks, in_child
from tests.support.sweeps import kill_steps

NOON = datetime(2026, 5, 24, 12, tzinfo=UTC)
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture(autouse=True)
def _someone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user with a name, and no settings of this machine's."""
    config = tmp_path / "gitconfig"
    config.write_text("[user]\n\tname = Sam\n\temail = sam@example.org\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "ada"
    folder.mkdir()
    (folder / "entity.yaml").write_text("name: Ada\n")
    (folder / "portrait.md").write_text("old\n")
    (folder / ".gitignore").write_text("/.bumble/\n/.history/\n")
    run(folder, "init", "-q", "-b", "main")
    run(folder, "add", "-A")
    run(folder, "commit", "-qm", "start")
    return folder


def run(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True, check=True)
    return done.stdout.rstrip("\n")


def policy(heard: list[str] | None = None, *, autocommit: bool = True) -> CommitPolicy:
    said = heard if heard is not None else []
    return CommitPolicy(autocommit, "Ada", lambda: NOON, said.append)


def put(path: str, text: str, root: Path, why: str = "") -> Change:
    old = (root / path).read_text() if (root / path).exists() else None
    return changes.write(path, text, old, why or f"write {path}")


def dream(root: Path) -> ChangeSet:
    return ChangeSet(
        "dream: tides",
        (
            put("portrait.md", "new\n", root, "the night changed it"),
            changes.add("journal.md", "## slept\n", "tell the dream"),
            put("dreams/drm 1 é.md", "sea\n", root, "keep the dream"),
        ),
        (("Evidence", "ep_1, ep_2"), ("Model", "script")),
    )


def subjects(root: Path) -> list[str]:
    return run(root, "log", "--format=%s").splitlines()


def touched(root: Path, rev: str = "HEAD") -> list[str]:
    options = ("-c", "core.quotePath=false", "show", "--format=", "--name-only")
    return run(root, *options, rev).splitlines()


def status(root: Path) -> list[str]:
    return run(root, "status", "--porcelain", "--untracked-files=all").splitlines()


def test_a_set_is_one_commit_of_its_own_files_with_why_and_trailers(root: Path) -> None:
    (root / "notes.txt").write_text("the owner's\n")
    commits.apply(root, dream(root), policy())
    assert subjects(root) == ["dream: tides", "start"]
    assert touched(root) == ["dreams/drm 1 é.md", "journal.md", "portrait.md"]
    assert run(root, "log", "-1", "--format=%b").strip() == (
        "the night changed it\ntell the dream\nkeep the dream\n\n"
        "Evidence: ep_1, ep_2\nModel: script\nCycle: dream"
    )
    assert run(root, "log", "-1", "--format=%an %ai") == "Sam 2026-05-24 12:00:00 +0000"
    assert status(root) == ["?? notes.txt"]
    assert uncommitted.notes(root) == []


def test_the_owners_staged_and_unstaged_work_stays_as_it_is(root: Path) -> None:
    (root / "staged.md").write_text("prepared\n")
    run(root, "add", "staged.md")
    (root / "entity.yaml").write_text("name: Ada\nx: 1\n")
    commits.apply(root, dream(root), policy())
    assert status(root) == [" M entity.yaml", "A  staged.md"]
    assert "staged.md" not in touched(root)


def test_an_edit_by_hand_in_a_file_of_the_set_is_committed_before_as_the_owners(root: Path) -> None:
    (root / "portrait.md").write_text("by hand\n")
    commits.apply(root, dream(root), policy())
    assert subjects(root) == ["dream: tides", "by hand: portrait.md", "start"]
    assert run(root, "show", "HEAD~1:portrait.md") == "by hand"
    assert "Cycle" not in run(root, "log", "-1", "--format=%b", "HEAD~1")


def test_a_version_the_owner_staged_is_left_alone_and_the_set_waits(root: Path) -> None:
    (root / "portrait.md").write_text("staged\n")
    run(root, "add", "portrait.md")
    heard: list[str] = []
    commits.apply(root, dream(root), policy(heard))
    assert "you have staged portrait.md" in heard[0]
    assert (root / "portrait.md").read_text() == "new\n"
    assert run(root, "show", ":portrait.md") == "staged"
    assert subjects(root) == ["start"]
    run(root, "commit", "-qm", "mine")
    commits.apply(root, ChangeSet("note: x", (put("x.md", "x\n", root),)), policy())
    assert subjects(root) == ["note: x", "dream: tides", "mine", "start"]
    assert status(root) == []


def test_a_set_that_opens_another_becomes_one_commit_with_it(root: Path) -> None:
    said = ChangeSet(
        "chat: Sam says", (changes.add("sessions/talk.jsonl", "1\n", "Sam said"),), opens=True
    )
    commits.apply(root, said, policy())
    assert subjects(root) == ["start"]
    answer = ChangeSet(
        "chat: Sam and Ada", (changes.add("sessions/talk.jsonl", "2\n", "answer Sam"),)
    )
    commits.apply(root, answer, policy())
    assert subjects(root) == ["chat: Sam and Ada", "start"]
    assert "Sam said\nanswer Sam" in run(root, "log", "-1", "--format=%b")
    assert status(root) == []


@forks
@kill_steps
def test_a_kill_anywhere_is_caught_up_by_the_next_set(
    root: Path, tmp_path: Path, step: int
) -> None:
    backup = tmp_path / "backup"
    shutil.copytree(root, backup, symlinks=True)
    ends = set()
    for n in range(1, 1000, step):
        shutil.rmtree(root)
        shutil.copytree(backup, root, symlinks=True)

        def act(number: int, done: bool, at: int = n) -> None:
            if number == at and done:
                os.kill(os.getpid(), signal.SIGKILL)

        def work(act: Callable[[int, bool], None] = act) -> None:
            with every_call(act):
                commits.apply(root, dream(root), policy())

        killed = in_child(work) == -signal.SIGKILL
        changes.recover(root)
        written = (root / "portrait.md").read_text() == "new\n"
        heard: list[str] = []
        commits.apply(root, ChangeSet("note: x", (put("x.md", "x\n", root),)), policy(heard))
        assert status(root) == [], (n, heard)
        wanted = ["note: x", *(["dream: tides"] if written else []), "start"]
        assert subjects(root) == wanted
        assert uncommitted.notes(root) == []
        ends.add((killed, written))
        if not killed:
            break
    assert ends == {(True, False), (True, True), (False, True)}


def test_a_kill_between_write_and_commit_is_caught_up(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(self: commits.Commits) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(commits.Commits, "end", killed)
        commits.apply(root, dream(root), policy())
    assert subjects(root) == ["start"]
    commits.catch_up(root, policy())
    assert subjects(root) == ["dream: tides", "start"]
    assert status(root) == []


def test_an_edit_after_a_kill_is_not_committed_as_the_sets(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(commits.Commits, "end", lambda self: None)
        commits.apply(root, dream(root), policy())
    (root / "portrait.md").write_text("by hand\n")
    commits.catch_up(root, policy())
    assert touched(root) == ["dreams/drm 1 é.md", "journal.md"]
    assert status(root) == [" M portrait.md"]


def test_while_git_is_busy_it_waits_and_says_so(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "BUSY_WAIT_SECONDS", 0.01)
    (root / ".git" / "index.lock").touch()
    heard: list[str] = []
    commits.apply(root, dream(root), policy(heard))
    assert "another git is at work" in heard[0]
    assert subjects(root) == ["start"]
    (root / ".git" / "index.lock").unlink()
    commits.apply(root, ChangeSet("note: x", (put("x.md", "x\n", root),)), policy(heard))
    assert subjects(root) == ["note: x", "dream: tides", "start"]


def killed_writer(root: Path) -> subprocess.Popen[bytes]:
    """Start and kill a bumble whose git had begun to write."""
    code = (
        "import sys, time; from pathlib import Path; from bumble.entity import git_operations\n"
        "root = Path(sys.argv[1])\n"
        "with git_operations.noted(root, git_operations.Operation('commit')):\n"
        "    (root / '.git' / 'index.lock').touch(); print(flush=True); time.sleep(60)\n"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", code, str(root)], stdout=subprocess.PIPE, env=dict(os.environ)
    )
    assert writer.stdout is not None
    writer.stdout.readline()
    writer.kill()
    writer.wait()
    return writer


def test_a_lock_that_a_killed_writer_left_in_git_is_cleared(root: Path) -> None:
    killed_writer(root)
    assert (root / ".git" / "index.lock").exists()
    heard: list[str] = []
    commits.apply(root, dream(root), policy(heard))
    assert heard == []
    assert subjects(root) == ["dream: tides", "start"]
    assert not (root / ".git" / "index.lock").exists()


def test_a_commit_that_was_made_when_its_git_died_keeps_no_other_back(root: Path) -> None:
    (root / "mine.md").write_text("staged\n")
    run(root, "add", "mine.md")
    git = root / ".git"
    before = (git / "index").read_bytes()
    (root / "tea.md").write_text("green\n")
    run(root, "add", "--intent-to-add", "tea.md")
    run(root, "commit", "-qm", "note: tea", "--only", "tea.md")
    after = (git / "index").read_bytes()
    killed_writer(root)
    (git / "index.lock").write_bytes(after)  # it had still to take the place of the index
    (git / "index").write_bytes(before)
    (git / "objects" / "maintenance.lock").touch()
    heard: list[str] = []
    commits.apply(root, ChangeSet("note: x", (put("tea.md", "black\n", root),)), policy(heard))
    assert heard == []
    assert subjects(root) == ["note: x", "note: tea", "start"]
    assert run(root, "status", "--porcelain") == "A  mine.md"
    assert not list(git.rglob("*.lock"))


@pytest.mark.parametrize("most", [None, 20])
def test_an_index_whose_commit_was_not_made_is_dropped(root: Path, most: int | None) -> None:
    git = root / ".git"
    before = (git / "index").read_bytes()
    (root / "tea.md").write_text("green\n")
    run(root, "add", "tea.md")
    after = (git / "index").read_bytes()
    killed_writer(root)
    (git / "index.lock").write_bytes(after[:most])
    (git / "index").write_bytes(before)
    commits.apply(root, dream(root), policy())
    assert run(root, "status", "--porcelain") == "?? tea.md"


def test_a_lock_of_somebody_elses_git_stays(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "BUSY_WAIT_SECONDS", 0.01)
    killed_writer(root)
    lock = root / ".git" / "index.lock"
    later = lock.stat().st_mtime + TIMEOUT_SECONDS + 60
    os.utime(lock, (later, later))  # made when ours can't have run any more
    heard: list[str] = []
    commits.apply(root, dream(root), policy(heard))
    assert "another git is at work" in heard[0]
    assert lock.exists()


def test_several_sets_that_waited_are_one_commit_that_tells_of_all(root: Path) -> None:
    run(root, "checkout", "-q", "--detach")
    heard: list[str] = []
    for n in range(3):
        commits.apply(root, ChangeSet(f"note: {n}", (put(f"{n}.md", "x\n", root),)), policy(heard))
    assert "no branch is checked out" in heard[0]
    assert subjects(root) == ["start"]
    run(root, "switch", "-q", "main")
    commits.apply(root, dream(root), policy())
    assert subjects(root) == ["dream: tides", "note: 2 (and 2 more)", "start"]
    assert touched(root, "HEAD~1") == ["0.md", "1.md", "2.md"]


def conflicted(root: Path) -> None:
    run(root, "switch", "-qc", "other")
    (root / "portrait.md").write_text("theirs\n")
    run(root, "commit", "-qam", "theirs")
    run(root, "switch", "-q", "main")
    (root / "portrait.md").write_text("ours\n")
    run(root, "commit", "-qam", "ours")
    with pytest.raises(subprocess.CalledProcessError):
        run(root, "merge", "-q", "other")


@pytest.mark.parametrize("autocommit", [True, False])
def test_a_merge_with_conflicts_in_its_files_is_refused(root: Path, autocommit: bool) -> None:
    conflicted(root)
    before = (root / "portrait.md").read_bytes()
    with pytest.raises(MergeUnfinishedError, match=r"portrait\.md"):
        commits.apply(root, dream(root), policy(autocommit=autocommit))
    assert (root / "portrait.md").read_bytes() == before
    assert not (root / "journal.md").exists()


def test_what_its_owner_says_of_a_merge_settles_it(root: Path) -> None:
    conflicted(root)
    change = replace(put("portrait.md", "both\n", root), settles=True)
    commits.apply(root, ChangeSet("note: x", (change,)), policy())
    assert run(root, "diff", "--name-only", "--diff-filter=U") == ""
    run(root, "commit", "-qm", "merged")
    assert (root / "portrait.md").read_text() == "both\n"


def test_a_merge_in_other_files_lets_it_write_and_the_commit_waits(root: Path) -> None:
    conflicted(root)
    heard: list[str] = []
    commits.apply(root, ChangeSet("note: x", (put("x.md", "x\n", root),)), policy(heard))
    assert "a merge is under way" in heard[0]
    (root / "portrait.md").write_text("both\n")
    run(root, "commit", "-qam", "merged")
    assert "x.md" not in touched(root)
    commits.catch_up(root, policy())
    assert subjects(root)[0] == "note: x"


def test_hooks_signing_and_a_missing_name_do_not_stop_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    run(root, "config", "commit.gpgSign", "true")
    run(root, "config", "gpg.program", "false")
    hooks = root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-commit", "prepare-commit-msg", "post-commit", "reference-transaction"):
        (hooks / name).write_text("#!/bin/sh\ntouch ran\nexit 1\n")
        (hooks / name).chmod(0o755)
    config = (root / ".git" / "config").read_bytes()
    commits.apply(root, dream(root), policy())
    assert run(root, "log", "-1", "--format=%an <%ae>") == "Ada <bumble@localhost>"
    assert not (root / "ran").exists()
    assert (root / ".git" / "config").read_bytes() == config


def test_a_repository_inside_the_folder_is_not_ours_to_commit(root: Path) -> None:
    run(root, "init", "-q", "workspace")
    heard: list[str] = []
    planned = (put("workspace/a.txt", "x\n", root), put("x.md", "x\n", root))
    commits.apply(root, ChangeSet("note: x", planned), policy(heard))
    assert touched(root) == ["x.md"]
    assert heard == []


def test_what_a_user_never_wants_kept_of_their_own_is_kept_of_an_entity(
    root: Path, tmp_path: Path
) -> None:
    (tmp_path / "ignore").write_text("*.md\nsources/\n")
    run(root, "config", "--global", "core.excludesFile", str(tmp_path / "ignore"))
    commits.apply(root, dream_of(root), policy())
    assert touched(root) == ["a.md", "b/c.md"]


def dream_of(root: Path) -> ChangeSet:
    return ChangeSet("dream: first", (put("a.md", "a\n", root), put("b/c.md", "c\n", root)))


@pytest.mark.parametrize(
    ("settings", "committed"),
    [("", False), ("git:\n  autocommit: true\n", True), ("git:\n  autocommit: false\n", False)],
)
def test_in_a_larger_repository_only_if_the_entity_asks_for_it(
    tmp_path: Path, settings: str, committed: bool
) -> None:
    run(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "theirs.md").write_text("x\n")
    run(tmp_path, "add", "theirs.md")
    root = tmp_path / "in" / "ada"
    root.mkdir(parents=True)
    (root / "entity.yaml").write_text(f"name: Ada\n{settings}")
    (root / "known.md").write_text("before there were commits\n")
    (root / "notes.txt").write_text("the owner's\n")
    commits.apply(root, dream_of(root), policy(autocommit="false" not in settings))
    assert (root / "a.md").read_text() == "a\n"
    if committed:
        assert touched(tmp_path) == ["in/ada/a.md", "in/ada/b/c.md"]
        assert touched(tmp_path, "HEAD~") == ["in/ada/entity.yaml", "in/ada/known.md"]
    assert (tmp_path / ".git" / "refs" / "heads" / "main").exists() == committed
    assert "A  theirs.md" in status(tmp_path)


def test_off_or_without_git_nothing_is_committed_or_noted(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []
    commits.apply(root, dream(root), policy(heard, autocommit=False))
    monkeypatch.setenv("PATH", "")
    commits.apply(root, ChangeSet("note: x", (put("x.md", "x\n", root),)), policy(heard))
    monkeypatch.undo()
    assert subjects(root) == ["start"]
    assert heard == []
    assert uncommitted.notes(root) == []
    assert gitdir.find(root) is not None


def test_text_that_looks_like_trailers_or_lines_does_not_become_any(root: Path) -> None:
    nasty = ChangeSet(
        "note: a\nCycle: x", (put("x.md", "x\n", root, "why\n\nCycle: dream\x1b[31m"),)
    )
    commits.apply(root, nasty, policy())
    assert run(root, "log", "-1", "--format=%(trailers:key=Cycle,valueonly)").strip() == "note"
    assert "\x1b" not in run(root, "log", "-1", "--format=%B")
