"""The write-ahead intent: several files become new together, or are finished after a crash.

Every new file is staged in `.bumble/intents/<id>/` and on the disk before `intent.json` appears
there; from then on the set will be finished, by this process or by the next. A kill before leaves
nothing of the set, a kill after leaves work for `recover`. An intent that another installation
wrote, in a copy of the folder say, waits for the owner's word; one that git tracks is nobody's.
The entity's lock is held meanwhile: `held` takes it, and whoever has it may take it again.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from bumble import patterns
from bumble.entity import installation
from bumble.errors import (
    ChangeUnfinishedError,
    FolderUnwritableError,
    RecordInvalidError,
    RefusedError,
    UnsafePathError,
)
from bumble.files import disk, git

DEFAULT_LOCK_TIMEOUT_SECONDS = 10.0
INTENT = "intent.json"
FOLDER = ".bumble/intents"
HISTORY = ".history"
_NAME = patterns.compile(r"[0-9a-f]{16}")
_ANY_FILE = (HISTORY, "workspace", "sessions")  # blobs of sessions have no ending
_BY_NAME = (
    *("entity.yaml", "soma.yaml", "state.yaml", "self_model.yaml", "forgotten.jsonl"),
    *(".gitignore", ".gitattributes"),
)
_YAML = ("checks/", "anchors/", "sources/")  # the folders whose files are YAML
WORKSPACE, KEPT = "workspace", ".gitkeep"  # the second is empty, in the template of a new entity
# On Windows `git~1` is a short name of `.git`, and `gi7eba~1` of `.gitmodules`; ends do not count.
_GITS = patterns.compile(r"\.git|gi\w*~\d|head[. ]*(:|$)")
_GITS_OWN = (".git", "git~1")  # the second is its short name on Windows


class IntentStep(Struct, frozen=True):
    """One file of an intent: what it was, what it becomes, and where the new bytes are staged."""

    path: str
    before: str | None  # SHA-256; None: no file
    after: str | None
    # a number, the name in the intent's folder
    staged: Annotated[str, Meta(pattern=r"\A\d+\Z")] | None


class Leftovers(Struct, frozen=True):
    """What writers left in `.bumble/intents/`: another process is writing, or was killed."""

    own: tuple[Path, ...] = ()  # of this installation, or not begun: to be finished or dropped
    foreign: tuple[Path, ...] = ()  # of another: these wait for the owner's word
    tracked: tuple[Path, ...] = ()  # git brought them: they are never taken


def target(root: Path, path: str) -> Path:
    """Return where a change set writes a path, links followed.

    Raises:
        UnsafePathError: If it leads out of the folder, or is one that no change set may write: what
            is git's, bumble's own, or no record.
        RefusedError: If git would take it for its own in the workspace.
    """
    found = disk.inside(root, path)
    _check_place(path, path)
    real = Path(os.path.realpath(root))
    _check_place(found.relative_to(real).as_posix(), path)
    top = real / WORKSPACE
    if found.is_relative_to(top) and found != top / KEPT:
        refuse_gits(found, top, path)
    return found


def _check_place(path: str, named: str) -> None:
    parts = PurePosixPath(os.path.normpath(path).replace(os.sep, "/")).parts
    if any(_plain(part).split(":")[0].rstrip(". ") in _GITS_OWN for part in parts):
        raise UnsafePathError(named, "it is git's own")
    if not is_written(path) and named not in _BY_NAME:
        raise UnsafePathError(named, "it is no file that bumble writes")


def is_written(path: str) -> bool:
    """Whether bumble may write a file of an entity's folder."""
    parts = PurePosixPath(os.path.normpath(path).replace(os.sep, "/")).parts
    first = parts[0] if parts else ""
    return (
        path in _BY_NAME
        or (first in _ANY_FILE and len(parts) > 1)
        or (not first.startswith(".") and path.endswith(".md"))
        or (path.startswith(_YAML) and path.endswith(".yaml"))
    )


def refuse_gits(file: Path, top: Path, path: str) -> None:
    """Refuse what git reads, since some of that makes git run programs for whoever looks.

    That is any name that begins with `.git`, and `HEAD`, without which no folder is a repository;
    where there is one all the same, nothing is written into it.

    Raises:
        RefusedError: If it is such.
    """
    names = re.split(r"[\\/]", f"{path}/{file.relative_to(top)}")
    if any(_GITS.match(_plain(name)) for name in names):
        raise RefusedError(f"{path}: `.git…` and `HEAD` are git's, and not written by a tool")
    above = [folder for folder in file.parents if folder.is_relative_to(top)]
    if any(os.path.lexists(folder / "HEAD") for folder in above):
        raise RefusedError(f"{path} lies in a git repository without a `.git`, and stays as it is")


def _plain(name: str) -> str:
    """Return what some file system takes a name for: case and invisible letters do not count."""
    seen = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(c for c in seen if unicodedata.category(c)[0] not in "CM")


def lock_path(root: Path) -> Path:
    """Return the file whose lock a writer holds."""
    return root / ".bumble" / "lock"


_HELD = ContextVar("_HELD", default=frozenset[Path]())


@contextmanager
def held(root: Path, *, timeout_seconds: float = DEFAULT_LOCK_TIMEOUT_SECONDS) -> Iterator[None]:
    """Hold the entity's lock, so that what is read within is so still when it is written.

    Whoever holds it may take it again.

    Raises:
        LockedError: If another process writes for longer than the timeout.
    """
    if root in _HELD.get():
        yield
        return
    with disk.lock(lock_path(root), place=root, timeout_seconds=timeout_seconds):
        token = _HELD.set(_HELD.get() | {root})
        try:
            yield
        finally:
            _HELD.reset(token)


def carry_out(root: Path, title: str, planned: Sequence[tuple[IntentStep, bytes | None]]) -> None:
    """Write several files as one.

    Raises:
        FolderUnwritableError: If the system refuses a write; nothing has changed then.
        ChangeUnfinishedError: If it refuses after some files are in place.
    """
    folder = root / FOLDER / secrets.token_hex(8)
    _finish(root, folder, _stage(root, folder, title, planned))


def replace_one(root: Path, step: IntentStep, new: bytes | None) -> None:
    """Write a set of one file; the empty folder tells the next process if this one is killed."""
    path, folder = target(root, step.path), root / FOLDER / secrets.token_hex(8)
    with disk.translate_os_errors(path):
        disk.make_folder(folder)
    try:
        if new is None:
            disk.remove(path)
        else:
            disk.write_atomic(path, new)
    finally:
        with suppress(OSError):
            folder.rmdir()


def leftovers(root: Path) -> Leftovers:
    """Return the intents that are not finished, by whose they are."""
    place = root / FOLDER
    if place.is_symlink() or not disk.settled(place).is_dir():  # no writer makes it a link
        return Leftovers()
    there = [
        one
        for one in sorted(place.iterdir())
        if _NAME.fullmatch(one.name) and one.is_dir() and not one.is_symlink()
    ]
    if not there:
        return Leftovers()
    known = git.tracked(root, FOLDER)
    tracked = [one for one in there if any(path.split("/")[2] == one.name for path in known)]
    foreign = [one for one in there if one not in tracked and not _is_own(one)]
    own = [one for one in there if one not in tracked and one not in foreign]
    return Leftovers(tuple(own), tuple(foreign), tuple(tracked))


def _is_own(folder: Path) -> bool:
    """Whether this installation wrote an intent; what is not begun is whoever's, and dropped."""
    try:
        data = json.loads(disk.read(folder / INTENT))
        return installation.is_own(_signed(folder, data["title"], data["steps"]), data.get("mark"))
    except FileNotFoundError:
        return True
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _signed(folder: Path, title: str, steps: Any) -> str:
    return json.dumps([folder.name, title, steps], sort_keys=True)


def adopt(root: Path, *, timeout_seconds: float = DEFAULT_LOCK_TIMEOUT_SECONDS) -> None:
    """Finish what another installation left half written, as our own: the owner says so.

    Raises:
        RecordInvalidError: If one is no intent.
        UnsafePathError: If one names a file that no change set may write.
    """
    disk.enclose(root)
    with held(root, timeout_seconds=timeout_seconds):
        for folder in leftovers(root).foreign:
            steps = _steps(root, folder / INTENT)
            disk.remove(folder / f"{INTENT}.new")  # of an adoption that was cut off
            _put_intent(folder, str(json.loads(disk.read(folder / INTENT)).get("title")), steps)
        recover(root)


def stray_files(root: Path) -> list[Path]:
    """Return the temporary files that killed writers left; only sure while nobody writes."""
    every = disk.walked(root, lambda inner: inner.name != ".git")
    return sorted(root / inner for inner in every if inner.name.endswith(disk.TEMPORARY_SUFFIX))


def recover(root: Path, *, timeout_seconds: float = DEFAULT_LOCK_TIMEOUT_SECONDS) -> None:
    """Finish or drop what a killed process left; touches nothing where nothing was left.

    Where a person has edited a file since the kill, the edit stays, and what was to be written lies
    in `.history/`.
    """
    disk.enclose(root)
    if not leftovers(root).own:
        return
    with held(root, timeout_seconds=timeout_seconds):
        for folder in leftovers(root).own:
            if _is_there(folder):
                _finish(root, folder, _steps(root, folder / INTENT))
            else:
                _drop(folder)
        sweep(root)


def sweep(root: Path, *, timeout_seconds: float = DEFAULT_LOCK_TIMEOUT_SECONDS) -> None:
    """Remove stray temporary files, while nobody writes."""
    disk.enclose(root)
    if stray_files(root):
        with held(root, timeout_seconds=timeout_seconds):
            for path in stray_files(root):
                disk.remove(path)


def _stage(
    root: Path, folder: Path, title: str, planned: Sequence[tuple[IntentStep, bytes | None]]
) -> list[IntentStep]:
    """Put every new file and the intent on the disk; until the intent is there, nothing counts."""
    try:
        with disk.translate_os_errors(folder):
            disk.make_folder(folder)
            steps = []
            for n, (step, new) in enumerate(planned):
                # refused here, while all can still be left as it was
                path = target(root, step.path)
                place = next(parent for parent in path.parents if parent.exists())
                if not os.access(place, os.W_OK | os.X_OK):
                    raise FolderUnwritableError(path, "no permission to write to its folder")
                if new is not None:
                    disk.write_synced(folder / str(n), new, mode=None)
                staged = None if new is None else str(n)
                steps.append(IntentStep(step.path, step.before, step.after, staged))
            _put_intent(folder, title, steps)
            return steps
    except FolderUnwritableError as error:
        with suppress(FolderUnwritableError):
            _drop(folder)
        if _is_there(folder):  # it can't be taken back: the next process will finish it
            raise ChangeUnfinishedError(root, str(error)) from error
        raise


def _put_intent(folder: Path, title: str, steps: Sequence[IntentStep]) -> None:
    """Write down what is to be done; from here on it will be."""
    title, listed = title.encode(errors="replace").decode(), [asdict(step) for step in steps]
    mark = installation.mark(_signed(folder, title, listed))
    intent = {"title": title, "steps": listed, "mark": mark}
    disk.sync_folder(folder)
    new = folder / f"{INTENT}.new"
    disk.write_synced(new, (json.dumps(intent, indent=1) + "\n").encode(), mode=None)
    os.replace(new, folder / INTENT)  # noqa: PTH105  (one name for the fault-injection test)
    disk.sync_folder(folder)


def _is_there(folder: Path) -> bool:
    return os.path.lexists(folder / INTENT)


def _drop(folder: Path) -> None:
    """Remove an intent: its record first, so that a kill in between leaves nothing to finish."""
    disk.remove(folder / INTENT)
    disk.clear(folder)


def _finish(root: Path, folder: Path, steps: Sequence[IntentStep]) -> None:
    """Bring every file of an intent to its new state, and drop it; one edited since is kept."""
    try:
        for step in steps:
            _take(root, folder, step)
        for above in {target(root, step.path).parent for step in steps}:
            if above.is_dir():
                with disk.translate_os_errors(above):
                    disk.sync_folder(above)
        _drop(folder)
    except FolderUnwritableError as error:
        raise ChangeUnfinishedError(root, str(error)) from error


def _steps(root: Path, path: Path) -> list[IntentStep]:
    try:
        said = msgspec.json.decode(read(path) or b"", type=dict[str, Any])
        steps = msgspec.convert(said.get("steps"), list[IntentStep])
        for step in steps:
            target(root, step.path)
            new = None if step.staged is None else read(path.with_name(step.staged))
            if new is not None and digest(new) != step.after:
                raise ValueError(f"`{step.staged}` is not what it was when it was staged")
    except FolderUnwritableError as error:
        raise ChangeUnfinishedError(root, str(error)) from error
    except (ValueError, RecursionError) as error:
        raise RecordInvalidError(path, f"not an intent record: {error}") from error
    return steps


def _take(root: Path, folder: Path, step: IntentStep) -> None:
    """Do one step, if it is still to be done; what was edited after a kill stays."""
    path = target(root, step.path)
    current = digest(read(path))
    if current == step.after:
        return
    if step.staged is None:
        if current == step.before:
            disk.remove(path)
        return
    staged = folder / step.staged
    if current == step.before:
        disk.move(staged, path)
    elif staged.exists():
        disk.move(staged, root / HISTORY / f"{folder.name}.{path.name}")


def read(path: Path) -> bytes | None:
    """Read a file that is to be changed; None where there is none."""
    try:
        return disk.read_if_there(path)
    except OSError as error:  # a folder, or a file that may not be read
        raise FolderUnwritableError(path, error.strerror or str(error)) from error


def digest(data: bytes | None) -> str | None:
    """Return the SHA-256 of a file's bytes; None where there is no file."""
    return None if data is None else disk.sha256(data)
