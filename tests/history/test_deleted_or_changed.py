"""One clone deletes or forgets what another one changes, in every kind of record."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bumble.entity import companions
from bumble.errors import HalfMergedError
from bumble.history import clone, merge
from bumble.records import base, forgotten, kinds, session_files, sessions, state
from bumble.records.kind import Kind
from tests.support.chatting import script
from tests.support.every_kind import FIRST, MANY, OTHERS, OURS, grown, place, unread
from tests.support.kind_samples import record
from tests.support.living import known
from tests.support.repository import git
from tests.support.running import Run
from tests.support.sweeps import turns

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
SINCE = "2026-05-25T10:00:00.000+00:00"  # after all that the first clone does
MARKS = "<<<<<<< HEAD\n{}=======\n{}>>>>>>> theirs\n"
HELD = [kind for kind in kinds.KINDS if kind.forgetting != "listed" and kind is not state.STATE]


@pytest.fixture
def life(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Sam")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "sam@example.org")
    return run


def cloned(run: Run, tmp_path: Path) -> Path:
    """Commit the folder, and clone it; each follows what the other pushes."""
    root, server, away = run.entity.root, tmp_path / "server", tmp_path / "away"
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "a past")
    git(tmp_path, "clone", "-q", "--bare", str(root), str(server))
    git(root, "remote", "add", "origin", str(server))
    git(root, "fetch", "-q")
    git(root, "branch", "-q", "--set-upstream-to", "origin/main")
    git(tmp_path, "clone", "-q", str(server), str(away))
    return away


def committed(folder: Path, *, pushed: bool) -> None:
    git(folder, "add", "-A")
    # of the same words and second two would be one, which a rebase takes for dropped upstream
    git(folder, "commit", "-qm", f"a day of {folder.name}")
    if pushed:
        git(folder, "push", "-q")


def synced(run: Run, root: Path) -> None:
    assert run("-e", str(root), "sync").code == 0


def pulled(run: Run, root: Path) -> None:
    command = ["git", "-C", str(root), "pull", "-q", "--no-rebase", "--no-edit"]
    assert subprocess.run(command, check=False, capture_output=True).returncode != 0
    run.ok("-e", str(root), "consolidate", "--check")


def rebased(run: Run, root: Path) -> None:
    command = ["git", "-C", str(root), "pull", "-q", "--rebase"]
    subprocess.run(command, check=False, capture_output=True)
    for _ in range(5):
        run.ok("-e", str(root), "consolidate", "--check")
        if (root / ".git" / "rebase-merge").exists():
            git(root, "-c", "core.editor=true", "rebase", "--continue")
    assert not (root / ".git" / "rebase-merge").exists()


WAYS = pytest.mark.parametrize("way", turns(3, (synced, pulled, rebased)))


def held(root: Path) -> dict[str, str]:
    """Return the files of a folder, but for git's own and what is derived."""
    paths = [path for path in sorted(root.rglob("*")) if path.is_file()]
    apart = (".git", ".bumble", ".history")
    return {
        str(path.relative_to(root)): path.read_text(errors="replace")
        for path in paths
        if not any(name in path.relative_to(root).parts for name in apart)
        and not path.name.startswith("memory.db")
    }


@WAYS
def test_what_one_side_changes_outlives_its_deletion_by_the_other(
    life: Run, tmp_path: Path, way: Callable[[Run, Path], None]
) -> None:
    root = life.entity.root
    for kind in kinds.KINDS:
        place(root, kind, FIRST)
    name = hashlib.sha256(b"an original").hexdigest()
    beside = sessions.path("ses_1").replace(sessions.FILE, f"blobs/{name}")
    life.write(beside, "an original")
    ours = cloned(life, tmp_path)
    theirs = tmp_path / "theirs"
    shutil.copytree(root, theirs)
    files = [record(kind.name, FIRST)[0] for kind in kinds.KINDS]
    for folder in (ours, theirs):  # one that deletes and one that changes, and the other way round
        changing, deleting = (folder, root) if folder is ours else (root, folder)
        git(root, "reset", "-q", "--hard", "origin/main")
        git(root, "clean", "-qfd")
        for kind in kinds.KINDS:
            grown(changing, kind, OURS, 1)
        git(deleting, "rm", "-q", beside, *files)
        committed(root, pushed=False)
        committed(folder, pushed=False)
        git(root, "remote", "set-url", "origin", str(folder))
        way(life, root)
        assert git(root, "status", "--porcelain") == ""
        assert list(unread(life.entity)) == []
        for kind, path in zip(kinds.KINDS, files, strict=True):
            text = (root / path).read_text()
            assert OURS in text or "x_1" in text or kind.name in ("soma", "state"), kind.name
        assert (root / beside).read_text() == "an original"
        git(root, "remote", "set-url", "origin", str(tmp_path / "server"))
        git(root, "fetch", "-q")


@WAYS
def test_what_one_side_changes_beside_a_record_outlives_its_deletion_by_the_other(
    life: Run, tmp_path: Path, way: Callable[[Run, Path], None]
) -> None:
    root = life.entity.root
    files = [path for kind in MANY if companions.place(path := record(kind.name, FIRST)[0])]
    pairs = {path: str(companions.place(path)) for path in files}
    for path, beside in pairs.items():
        life.write(path, dict(record(kind.name, FIRST) for kind in MANY)[path])
        life.write(beside, "trust: own\n")
    ours = cloned(life, tmp_path)
    for changing, deleting in ((ours, root), (root, ours)):
        git(root, "reset", "-q", "--hard", "origin/main")
        git(ours, "reset", "-q", "--hard", "origin/main")
        for path, beside in pairs.items():
            (changing / beside).write_text("trust: person\n")
            git(deleting, "rm", "-q", path, beside)
        committed(root, pushed=False)
        committed(ours, pushed=False)
        git(root, "remote", "set-url", "origin", str(ours))
        way(life, root)
        assert git(root, "status", "--porcelain") == ""
        for path, beside in pairs.items():
            assert FIRST in (root / path).read_text(), path
            assert (root / beside).read_text() == "trust: person\n", beside
        git(root, "remote", "set-url", "origin", str(tmp_path / "server"))
        git(root, "fetch", "-q")


PARTS = {  # before, without the part, with it changed
    "knowledge": ("## A\n\na\n\n## B\n\nb\n", "## A\n\na\n", "## A\n\na\n\n## B\n\nnew\n"),
    "journal": (
        "## 2026-05-24 05:12:47\n\na\n\n## 2026-05-24 06:12:47\n\nb\n",
        "## 2026-05-24 05:12:47\n\na\n",
        "## 2026-05-24 05:12:47\n\na\n\n## 2026-05-24 06:12:47\n\nnew\n",
    ),
    "scratch": ("- a\n- b\n", "- a\n", "- a\n- new\n"),
    "working": ("## Bond\n\n- a\n- b\n", "## Bond\n\n- a\n", "## Bond\n\n- a\n- new\n"),
    "state": ("x_a: old\n", "", "x_a: new\n"),
    "soma": ("x_a: old\n", "", "x_a: new\n"),
    "self_model": ("x_a: old\n", "", "x_a: new\n"),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_a_file_that_one_side_changes_outlives_its_removal(name: str) -> None:
    path, (before, without, changed) = kinds.BY_NAME[name].patterns[0], PARTS[name]
    for sides in ((without, changed), (changed, without)):
        merged = merge.merge(path, before, *sides)
        assert merged.clean
        assert merged.text.strip() == changed.strip()


def person_forgotten(life: Run, tmp_path: Path) -> Path:
    """Forget Bo here, and let Bo and all that is of Bo go on in an older clone."""
    root = life.entity.root
    for kind in HELD:
        path, source = record(kind.name, FIRST, ("bo",))
        life.write(path, source)
    known(life.entity, "Bo", "Bo hides marzipan.")
    away = cloned(life, tmp_path)
    life.ok("person", "forget", "Bo", "--yes")
    for kind in HELD:
        file = away / record(kind.name, FIRST)[0]
        text = file.read_text()
        if kind is session_files.SESSION:
            line = text.splitlines(keepends=True)[-1].replace("msg_1", "msg_2")
            at = line.split('"at":"')[1].split('"')[0]
            file.write_text(text + line.replace(FIRST, OTHERS).replace(at, SINCE))
        else:
            file.write_text(text.replace(FIRST, f"{FIRST} {OTHERS}"))
    file = away / "relationships" / "bo.md"
    file.write_text(file.read_text().replace("marzipan", "marzipan and a boat"))
    committed(away, pushed=False)
    assert git(root, "status", "--porcelain") == ""
    return away


@WAYS
def test_what_was_forgotten_stays_so_whatever_another_clone_made_of_it(
    life: Run, tmp_path: Path, way: Callable[[Run, Path], None]
) -> None:
    away, root = person_forgotten(life, tmp_path), life.entity.root
    older = tmp_path / "older"
    shutil.copytree(root, older)
    for folder, other in ((root, away), (away, older)):  # from either side
        git(folder, "remote", "set-url", "origin", str(other))
        way(life, folder)
        assert git(folder, "status", "--porcelain") == ""
        for path, text in held(folder).items():
            assert "marzipan" not in text and "boat" not in text, path
            assert "bo" not in text.split() and '"bo"' not in text, path
        assert "boat" not in life.ok("-e", str(folder), "recall", "--as", "Bo", "a boat").out
    here, there = held(root), held(away)
    assert here == there
    (line,) = (root / forgotten.PATH).read_text().splitlines()
    assert "bo" not in line.lower().split('"')


def test_who_is_met_anew_stays_and_what_they_said_elsewhere_meanwhile_does_not(
    life: Run, tmp_path: Path
) -> None:
    away = person_forgotten(life, tmp_path)
    script(life, "Hello.")
    life.ok("chat", "--as", "Bo", "I tame a kangaroo.")
    git(life.entity.root, "remote", "set-url", "origin", str(away))
    synced(life, life.entity.root)
    spoken = " ".join(held(life.entity.root).values())
    assert "I tame a kangaroo." in spoken
    assert "marzipan" not in spoken and "boat" not in spoken
    assert "Bo" in life.ok("person", "list").out


def test_who_is_met_anew_by_a_clock_that_lags_stays(life: Run, tmp_path: Path) -> None:
    person_forgotten(life, tmp_path)
    script(life, "Hello.")
    life.ok("chat", "--as", "Bo", "--now", "2026-05-24T11:00+01:00", "I tame a kangaroo.")
    assert "forgotten-back" not in life("doctor").out
    life("doctor", "--fix")
    assert "I tame a kangaroo." in " ".join(held(life.entity.root).values())
    assert "Bo" in life.ok("person", "list").out


@pytest.mark.parametrize(
    "kind",
    turns(3, [kind for kind in kinds.KINDS if kind is not state.STATE]),
    ids=lambda kind: kind.name,
)
def test_marks_that_were_committed_are_settled_in_every_kind(
    life: Run, tmp_path: Path, kind: Kind
) -> None:
    path, ours = record(kind.name, OURS)
    theirs = record(kind.name, OTHERS)[1]
    first = next(n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b)
    start = ours.rfind("\n", 0, first) + 1
    lines = [text[start:].splitlines(keepends=True) for text in (ours, theirs)]
    same = 0
    while lines[0][-1 - same :] == lines[1][-1 - same :] and same < len(lines[0]):
        same += 1
    blocks = ["".join(side[: len(side) - same]) for side in lines]
    tail = "".join(lines[0][len(lines[0]) - same :])
    if kind is session_files.SESSION:  # a message of each, not one that each has otherwise
        blocks = [blocks[0], blocks[1].replace("msg_1", "msg_2")]
    text = ours[:start] + MARKS.format(*blocks) + tail
    away = cloned(life, tmp_path)
    (away / path).parent.mkdir(parents=True, exist_ok=True)
    (away / path).write_text(text)
    committed(away, pushed=True)
    git(life.entity.root, "pull", "-q")
    with pytest.raises(HalfMergedError):
        base.read_text(life.entity.root / path)
    life.ok("consolidate", "--check")
    settled = (life.entity.root / path).read_text()
    assert "<<<<<<<" not in settled and "=======" not in settled
    kind.parse(settled, kind.stem(Path(path)))
    if kind.name not in ("soma", "state", "self_model", "person", "check", "anchor", "topic"):
        assert OURS in settled or OTHERS in settled
    if kind.name in ("knowledge", "journal", "session", "scratch", "working", "belief"):
        assert OURS in settled and OTHERS in settled
    assert git(life.entity.root, "status", "--porcelain") == ""


def test_doctor_settles_marks_that_were_committed_by_hand(life: Run, tmp_path: Path) -> None:
    life.write("narrative.md", "Once.\n" + MARKS.format("We met.\n", "We sailed.\n"))
    cloned(life, tmp_path)
    assert "conflict-marker" in life("doctor").out
    life("doctor", "--fix")
    assert life.text("narrative.md") == "Once.\nWe met.\nWe sailed.\n"


def test_a_half_merged_file_is_left_out_of_prompts_and_named(life: Run) -> None:
    life.write("PROTOCOLS.md", "Calm.\n" + MARKS.format("Kind.\n", "Stern.\n"))
    script(life, "Hello.")
    ran = life.ok("chat", "--incognito", "Hello.")
    assert "PROTOCOLS.md:2: the two sides of a merge" in ran.err


def test_a_stash_that_meets_a_deletion_keeps_what_it_held(life: Run, tmp_path: Path) -> None:
    known(life.entity, "Kim", "Kim sails.")
    beside = life.write("sources/relationships/kim.yaml", "trust: known\n")
    cloned(life, tmp_path)
    root, path = life.entity.root, life.entity.root / "relationships" / "kim.md"
    path.write_text(path.read_text().replace("sails", "rows"))
    git(root, "stash", "-q")
    git(root, "rm", "-q", str(path), str(beside))
    git(root, "commit", "-qm", "gone")
    subprocess.run(["git", "-C", str(root), "stash", "pop"], check=False, capture_output=True)
    assert "so kept: relationships/kim.md" in life.ok("consolidate", "--check").err
    assert git(root, "status", "--porcelain").split() == ["??", "relationships/", "??", "sources/"]
    assert "rows" in path.read_text()


@pytest.mark.parametrize("way", [synced, pulled], ids=lambda way: way.__name__)
def test_two_records_that_are_alike_are_not_taken_for_one(
    life: Run, tmp_path: Path, way: Callable[[Run, Path], None]
) -> None:
    path, text = record("reminder", "Buy milk for tea.")
    life.write(path, text)
    away = cloned(life, tmp_path)
    other = away / path.replace("rem_1", "rem_2")
    other.write_text(text.replace("milk for tea", "flowers"))
    git(away, "rm", "-q", path)
    committed(away, pushed=True)
    (life.entity.root / path).write_text(text.replace("for tea", "for tea, done"))
    committed(life.entity.root, pushed=False)
    assert clone.install_driver(life.entity.root)
    way(life, life.entity.root)
    assert "for tea, done" in life.text(path)
    assert "flowers." in life.text(f"reminders/{other.name}")
