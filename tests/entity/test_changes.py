from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bumble.entity import changes, installation, write_ahead
from bumble.entity.changes import Change, ChangeSet
from bumble.errors import (
    ChangeUnfinishedError,
    FileChangedError,
    FolderUnwritableError,
    LockedError,
    RecordExistsError,
    RecordInvalidError,
    UnsafePathError,
)
from bumble.files import disk
from tests.support.kills import every_call, forks, in_child
from tests.support.sweeps import sampled, stride, turns


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "ada"
    folder.mkdir()
    (folder / "entity.yaml").write_text("name: Ada\n")
    installation.mark("")  # or the first writer of all makes the secret
    (folder / "portrait.md").write_text("old\n")
    (folder / "journal.md").write_text("first\n")
    (folder / "gone.md").write_text("going\n")
    return folder


def a_set() -> ChangeSet:
    return ChangeSet(
        "chat: Sam and Ada",
        (
            changes.write("episodes/2026/05/ep_1.md", "made\n", None, "remember"),
            changes.write("portrait.md", "new\n", "old\n", "reflect"),
            changes.add("journal.md", "second\n", "note"),
            changes.delete("gone.md", "going\n", "forget"),
        ),
    )


def truth(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".bumble" not in path.parts
    }


def after_of(before: dict[str, bytes]) -> dict[str, bytes]:
    after = {
        **before,
        "episodes/2026/05/ep_1.md": b"made\n",
        "portrait.md": b"new\n",
        "journal.md": b"first\nsecond\n",
    }
    del after["gone.md"]
    return dict(sorted(after.items()))


def applied_and_killed(folder: Path, change_set: ChangeSet, at: int, *, done: bool) -> bool:
    """Apply in a child that is killed at its n-th call; whether the kill came."""

    def act(n: int, is_done: bool) -> None:
        if n == at and is_done == done:
            os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        with every_call(act):
            changes.apply(folder, change_set)

    code = in_child(work)
    assert code in (0, -signal.SIGKILL)
    return code != 0


def reset(folder: Path, before: dict[str, bytes]) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            path.unlink()
    for name, data in before.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def assert_clean(folder: Path) -> None:
    assert write_ahead.leftovers(folder) == write_ahead.Leftovers()
    assert write_ahead.stray_files(folder) == []


def test_of_two_sets_that_note_the_same_and_add_a_line_the_second_is_refused(root: Path) -> None:
    said = (
        changes.write("portrait.md", "said\n", "old\n", "note it"),
        changes.add("journal.md", "second\n", "say it"),
    )
    changes.apply(root, ChangeSet("remind: tea", said))
    with pytest.raises(FileChangedError):
        changes.apply(root, ChangeSet("remind: tea", said))
    assert (root / "journal.md").read_text() == "first\nsecond\n"
    assert changes.apply(root, ChangeSet("", said[:1])) == []  # alone it is as wanted already


@forks
@pytest.mark.parametrize("done", turns(2, [False, True]), ids=["before", "after"])
def test_a_kill_at_any_call_leaves_all_or_nothing(root: Path, done: bool) -> None:
    before = truth(root)
    ends = []
    for n in range(1, 1000):
        reset(root, before)
        if not applied_and_killed(root, a_set(), n, done=done):
            break
        half = truth(root)
        for name, data in half.items():  # whole files, even before anything is recovered
            wanted = (before.get(name), after_of(before).get(name))
            assert data in wanted or name.endswith(disk.TEMPORARY_SUFFIX), (n, name)
        changes.recover(root)
        assert truth(root) in (before, after_of(before)), n
        assert_clean(root)
        ends.append(truth(root) == before)
    assert len(ends) > 25
    assert ends == sorted(ends, reverse=True)  # nothing up to some call, all from it on
    assert {True, False} == set(ends)


@forks
@pytest.mark.parametrize("done", turns(2, [False, True]), ids=["before", "after"])
@pytest.mark.parametrize(
    "change",
    [
        changes.write("portrait.md", "new\n", "old\n", "reflect"),
        changes.add("journal.md", "second\n", "note"),
        changes.delete("gone.md", "going\n", "forget"),
        changes.write("a/b/c.md", "made\n", None, "remember"),
    ],
    ids=["replace", "add", "delete", "make"],
)
def test_a_kill_leaves_a_single_file_old_or_new(root: Path, change: Change, done: bool) -> None:
    before = truth(root)
    changes.apply(root, ChangeSet("one", (change,)))
    after = truth(root)
    assert after != before
    kills = 0
    for n in range(1, 1000):
        reset(root, before)
        if not applied_and_killed(root, ChangeSet("one", (change,)), n, done=done):
            break
        kills += 1
        changes.recover(root)
        assert truth(root) in (before, after)
        assert_clean(root)
    assert kills > 3


@forks
@sampled
def test_a_kill_while_recovering_is_recovered(root: Path) -> None:
    before = truth(root)
    call = kill_call(root, before)
    first, step = stride(3)
    for n in range(first, 1000, step):
        reset(root, before)
        assert applied_and_killed(root, a_set(), call, done=True)

        def act(number: int, done: bool, at: int = n) -> None:
            if number == at and done:
                os.kill(os.getpid(), signal.SIGKILL)

        def work(act: Callable[[int, bool], None] = act) -> None:
            with every_call(act):
                changes.recover(root)

        killed = in_child(work) != 0
        changes.recover(root)
        assert truth(root) == after_of(before)
        assert_clean(root)
        if not killed:
            assert n > 5
            break


def kill_call(folder: Path, before: dict[str, bytes]) -> int:
    """Return the first call after which the set will be finished."""
    changes.apply(folder, a_set())  # the folders that the first one makes are there from now on
    reset(folder, before)
    found: list[int] = []

    def look(n: int, done: bool) -> None:
        own = write_ahead.leftovers(folder).own
        if done and not found and any((place / write_ahead.INTENT).exists() for place in own):
            found.append(n)

    with every_call(look):
        changes.apply(folder, a_set())
    reset(folder, before)
    return found[0]


@forks
def test_an_edit_by_hand_after_a_kill_stays(root: Path) -> None:
    before = truth(root)
    call = kill_call(root, before)
    assert applied_and_killed(root, a_set(), call, done=True)
    (root / "portrait.md").write_text("by hand\n")
    (root / "gone.md").write_text("not going\n")
    changes.recover(root)
    assert (root / "portrait.md").read_text() == "by hand\n"
    assert (root / "gone.md").read_text() == "not going\n"
    assert (root / "journal.md").read_text() == "first\nsecond\n"
    kept = [path.read_text() for path in (root / ".history").glob("*.portrait.md")]
    assert kept == ["new\n"]
    assert_clean(root)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS], ids=["full", "read-only"])
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "lasting"])
def test_a_refusal_at_any_call_changes_nothing_or_is_finished_later(
    root: Path, code: int, lasting: bool
) -> None:
    before = truth(root)
    outcomes = set()
    for n in range(1, 1000):
        reset(root, before)

        def act(number: int, done: bool, at: int = n) -> None:
            if not done and (number == at or (lasting and number > at)):
                raise OSError(code, os.strerror(code))

        outcome: object = "done"
        with every_call(act) as count:
            try:
                changes.apply(root, a_set(), timeout_seconds=1)
            except FolderUnwritableError as error:
                outcome = type(error)
                assert ("disk is full" if code == errno.ENOSPC else os.strerror(code)) in str(error)
        if outcome is FolderUnwritableError:
            assert {n: d for n, d in truth(root).items() if not n.startswith(".")} == before
        changes.recover(root)
        wanted = before if outcome is FolderUnwritableError else after_of(before)
        assert truth(root) == wanted, (n, outcome)
        assert_clean(root)
        outcomes.add(outcome)
        if count[0] < n:
            break
    assert outcomes == {"done", FolderUnwritableError, ChangeUnfinishedError}


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_refused_before_anything_changes(root: Path) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "x.md").write_text("x\n")
    (root / "sub").chmod(0o500)
    before = truth(root)
    change_set = ChangeSet(
        "two",
        (
            changes.write("portrait.md", "new\n", "old\n", "one"),
            changes.write("sub/x.md", "y\n", "x\n", "two"),
        ),
    )
    try:
        with pytest.raises(FolderUnwritableError, match=r"sub/x\.md"):
            changes.apply(root, change_set)
    finally:
        (root / "sub").chmod(0o700)
    assert truth(root) == before
    assert_clean(root)


@forks
def test_processes_that_write_at_once_lose_nothing(root: Path) -> None:
    def write(who: int) -> Callable[[], None]:
        def work() -> None:
            for n in range(10):
                change_set = ChangeSet(
                    "both",
                    (
                        changes.add("journal.md", f"{who}-{n}\n", "note"),
                        changes.write(f"beliefs/bel_{who}_{n}.md", "x\n", None, "believe"),
                    ),
                )
                changes.apply(root, change_set, timeout_seconds=60)

        return work

    children = []
    for who in range(3):
        child = os.fork()
        if child == 0:
            try:
                write(who)()
                os._exit(0)
            except BaseException:
                os._exit(1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    lines = (root / "journal.md").read_text().splitlines()
    assert sorted(lines) == sorted(["first", *(f"{w}-{n}" for w in range(3) for n in range(10))])
    assert len(list((root / "beliefs").iterdir())) == 30
    assert_clean(root)


@forks
def test_who_waits_too_long_for_the_lock_is_told(root: Path) -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with disk.lock(changes.lock_path(root), place=root, timeout_seconds=5):
            os.write(writer, b"x")
            time.sleep(30)
        os._exit(0)
    try:
        os.read(reader, 1)
        start = time.monotonic()
        with pytest.raises(LockedError, match=r"--lock-timeout") as caught:
            changes.apply(root, a_set(), timeout_seconds=0.3)
        assert 0.3 <= time.monotonic() - start < 5
        assert caught.value.exit_code == 11
        assert (root / "portrait.md").read_text() == "old\n"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    changes.apply(root, a_set(), timeout_seconds=5)  # the system freed the dead one's lock
    assert (root / "portrait.md").read_text() == "new\n"


def test_a_file_that_moved_on_stops_the_whole_set(root: Path) -> None:
    (root / "portrait.md").write_text("by hand\n")
    before = truth(root)
    with pytest.raises(FileChangedError) as caught:
        changes.apply(root, a_set())
    assert caught.value.exit_code == 13
    assert truth(root) == before


def test_with_the_last_file_of_a_folder_of_its_own_that_goes(root: Path) -> None:
    made = [f"sessions/{name}/messages.jsonl" for name in ("a", "b")]
    made_all = tuple(changes.write(path, "x\n", None, "") for path in made)
    changes.apply(root, ChangeSet("import", made_all))
    (root / "sessions/b/kept").write_text("by hand")
    changes.apply(root, ChangeSet("undo", tuple(changes.delete(path, "x\n", "") for path in made)))
    assert [path.name for path in (root / "sessions").iterdir()] == ["b"]
    (root / "sessions/b/kept").unlink()
    changes.apply(root, ChangeSet("", (changes.write(made[1], "x\n", None, ""),)))
    changes.apply(root, ChangeSet("", (changes.delete(made[1], "x\n", ""),)))
    assert list((root / "sessions").iterdir()) == []


def test_a_new_record_never_overwrites_another(root: Path) -> None:
    made = ChangeSet("make", (changes.write("portrait.md", "other\n", None, "make"),))
    with pytest.raises(RecordExistsError):
        changes.apply(root, made)
    assert (root / "portrait.md").read_text() == "old\n"


def test_a_set_that_was_applied_already_changes_no_byte_and_no_time(root: Path) -> None:
    change_set = ChangeSet("make", (changes.write("a.md", "a\n", None, "make"),))
    assert changes.apply(root, change_set) == [root / "a.md"]
    stamp = (root / "a.md").stat().st_mtime_ns
    assert changes.apply(root, change_set) == []
    assert (root / "a.md").stat().st_mtime_ns == stamp


def test_changes_of_one_file_in_one_set_build_on_each_other(root: Path) -> None:
    both = (
        changes.write("sessions/s.jsonl", "1\n", None, "start"),
        changes.add("sessions/s.jsonl", "2\n", "say"),
        changes.add("./sessions/s.jsonl", "3\n", "say"),
    )
    changes.apply(root, ChangeSet("chat", both))
    assert (root / "sessions/s.jsonl").read_text() == "1\n2\n3\n"
    blind = tuple(changes.write("portrait.md", text, "old\n", "why") for text in ("a\n", "b\n"))
    with pytest.raises(ValueError, match="same reading"):
        changes.apply(root, ChangeSet("two", blind))
    assert (root / "portrait.md").read_text() == "old\n"


@pytest.mark.parametrize("path", ["../x.md", "/etc/x", "a/../../x", "C:\\x", "\\x", "a\0b"])
def test_a_path_that_leads_out_is_refused(root: Path, path: str) -> None:
    with pytest.raises(UnsafePathError) as caught:
        changes.apply(root, ChangeSet("out", (Change(path, "why", b"x"),)))
    assert caught.value.exit_code == 13


def test_a_link_that_leads_out_is_refused_and_one_that_stays_is_written_through(
    root: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (root / "away").symlink_to(tmp_path / "outside")
    (root / "dangling.md").symlink_to(tmp_path / "outside" / "x.md")
    (root / "near.md").symlink_to("portrait.md")
    for path in ("away/x.md", "dangling.md"):
        with pytest.raises(UnsafePathError):
            changes.apply(root, ChangeSet("out", (Change(path, "why", b"x"),)))
    assert list((tmp_path / "outside").iterdir()) == []
    changes.apply(root, ChangeSet("in", (changes.write("near.md", "new\n", "old\n", "why"),)))
    assert (root / "near.md").is_symlink()
    assert (root / "portrait.md").read_text() == "new\n"


def test_stray_files_are_swept_and_nothing_else(root: Path) -> None:
    stray = root / "episodes" / f".ep.md.0123{disk.TEMPORARY_SUFFIX}"
    stray.parent.mkdir()
    stray.write_text("half")
    before = truth(root)
    assert write_ahead.stray_files(root) == [stray]
    changes.sweep(root)
    assert write_ahead.stray_files(root) == []
    assert truth(root) == {name: data for name, data in before.items() if "tmp" not in name}
    changes.sweep(root)


def test_an_intent_may_not_name_a_file_elsewhere(root: Path) -> None:
    folder = root / ".bumble" / "intents" / "0123456789abcdef"
    folder.mkdir(parents=True)
    (folder / write_ahead.INTENT).write_text(
        '{"title": "", "steps":'
        '[{"path": "a.md", "before": null, "after": "x", "staged": "../../../../secret"}]}'
    )
    with pytest.raises(RecordInvalidError, match="not an intent record"):
        changes.adopt(root)
