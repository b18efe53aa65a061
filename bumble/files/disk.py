"""Writing and reading files safely: atomic writes, the entity's lock, file names, no way out.

Every system call that changes a file goes through here, so that a test can kill the process at
each. So does every reading of a file whose name, or the way to it, may be a link that somebody else
made: below an enclosed folder nothing is opened that lies elsewhere. What is made is its owner's
alone. Knows nothing of entities or records.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from bumble import patterns
from bumble.errors import FolderUnwritableError, LockedError, UnsafePathError
from bumble.files import locking

if sys.platform != "win32":
    import fcntl

TEMPORARY_SUFFIX = ".bumble-tmp"  # of what is not whole yet; git-ignored
LEFT_SECONDS = 86400  # so old, what is not whole is of a process that died
PRIVATE = ".bumble"  # what is bumble's own in an enclosed folder
FOLDER_MODE, FILE_MODE = 0o700, 0o600  # of what is made, whatever the umask
MAX_NAME_BYTES = 80  # leaves room for a suffix under every common limit of 255
RESERVED_NAMES = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))]
)
# What a sign of a name counts as, by code point: apostrophes and what is typed for one, dashes,
# Arabic letters without their hamza, no tatweel.
_ONE_SIGN = {
    **dict.fromkeys(map(ord, "’‘‛`´′ʹʻʼʽʾʿˈ՚׳ꞌ᾽᾿῾＇"), "'"),
    **dict.fromkeys(map(ord, "‐‑‒–—―−"), "-"),
    **dict.fromkeys(map(ord, "أإآٱ"), "ا"),
    ord("ؤ"): "و",
    ord("ئ"): "ي",
    **dict.fromkeys((0x640, 0x653, 0x654, 0x655)),  # tatweel, madda and hamza above and below
}
_DOTTED_I = patterns.compile("ı|i\u0307+")
_BETWEEN_WORDS = patterns.compile(r"[\s\-_]+")
_UNMARKED = str.maketrans("øđłħŧðıىیکة", "odlhtdiييكه", "'") | {ord("æ"): "ae", ord("œ"): "oe"}


def sha256(data: bytes) -> str:
    """Return the SHA-256 of some bytes in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


# The real folder of each enclosed one, by its name and by how it really lies. A path says by itself
# below which folder it lies, so that no caller can forget to say it.
_enclosures: dict[str, str] = {}
_ADVICE = "; `bumble doctor` says what to do"


def enclose(root: Path) -> None:
    """Have no path below a folder lead out of it, from now on and in all of this process."""
    if os.fspath(root) not in _enclosures:
        real = os.path.realpath(root)
        _enclosures[real] = _enclosures[os.fspath(root)] = real


_passed_over: set[str] = set()  # files that count as absent until they are written here


def pass_over(paths: Iterable[Path]) -> None:
    """Have some files count as not there, until this process puts its own in their place."""
    _passed_over.update(map(os.fspath, paths))


def is_passed_over(path: Path) -> bool:
    """Whether a file counts as not there."""
    return os.fspath(path) in _passed_over


def take_over(path: Path) -> None:
    """Have a file count again: this process has put its own in its place."""
    _passed_over.discard(os.fspath(path))


def _top(path: str) -> str | None:
    """Return the enclosed folder that a path names itself to be below; the innermost of several."""
    while path not in _enclosures:
        path, before = os.path.dirname(path), path  # noqa: PTH120
        if path == before:
            return None
    return path


def enclosing(path: Path) -> Path | None:
    """Return the enclosed folder that a path names itself to be below; None: it is in none."""
    top = _top(os.fspath(path))
    return None if top is None else Path(top)


def settled(path: Path) -> Path:
    """Return where a path really lies, links followed, if it is below an enclosed folder.

    Raises:
        UnsafePathError: If it leads out of that.
    """
    top = _top(os.fspath(path))
    return path if top is None else Path(*_settled(path, top))


def _settled(path: Path, top: str) -> tuple[str, str]:
    """Return the home that a path lies in, and its way from there."""
    home = _enclosures[top]
    way = os.fspath(path)[len(top) :].lstrip(f"/{os.sep}")
    return home, _led(home, way, str(path), named=os.path.normpath(way), advice=_ADVICE)


def _led(home: str, way: str, path: str, *, named: str = "", advice: str = "") -> str:
    """Return the way from a home to what lies at another, links followed.

    Args:
        home: A real folder.
        way: From there.
        path: The same, as it is told.
        named: The name by which what is bumble's own may be asked for; empty: by none.
        advice: What to do about it.

    Raises:
        UnsafePathError: If it leads out of the home, or to what is nobody's to read.
    """
    rest = way
    if not _is_straight(home, way):
        real = os.path.realpath(os.path.join(home, way))  # noqa: PTH118
        if os.path.islink(real):  # noqa: PTH114
            raise UnsafePathError(path, f"it is a link that leads round to itself{advice}")
        if real != home and not real.startswith(home.rstrip(os.sep) + os.sep):
            raise UnsafePathError(path, f"it leads out of the entity folder{advice}")
        rest = os.path.relpath(real, home)
    _refuse_private(rest, path, named=named)
    return rest or os.curdir


def _is_straight(home: str, way: str) -> bool:
    """Whether no link lies on a way from a home: it is looked at alone, not all that is above."""
    parts = way.split("/") if way else []
    if os.name != "posix" or not {"", os.curdir, os.pardir}.isdisjoint(parts):
        return False
    place = home
    try:
        for part in ("", *parts):
            place = f"{place}/{part}" if part else place
            if stat.S_ISLNK(os.lstat(place).st_mode):
                return False
    except FileNotFoundError:  # nothing below it can be a link
        return True
    except (OSError, ValueError):
        return False
    return True


def _refuse_private(rest: str, path: str, *, named: str = "") -> None:
    """Refuse what is git's, and what is bumble's own unless it is named as that.

    Tokens stand in the one, and in the other what was said to others.
    """
    parts = rest.casefold().split(os.sep)  # noqa: PTH206
    if ".git" in parts:
        raise UnsafePathError(path, "it leads to what is git's own")
    if parts[0] == PRIVATE and not named.casefold().startswith(PRIVATE):
        raise UnsafePathError(path, "it leads to what is bumble's own")


_WALKS = os.open in os.supports_dir_fd and hasattr(os, "O_DIRECTORY")
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _NO_LINK
_PLAIN = getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)  # a pipe keeps nobody waiting
_LINK_ON_THE_WAY = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)


def open_descriptor(path: Path, flags: int, mode: int = 0o600) -> int:
    """Open a file; below an enclosed folder, none that lies elsewhere.

    The way is walked folder by folder and no link followed, so that none can be put there between
    the look and the opening. Where there are links, they are followed first and what they lead to
    is walked; where the system can't walk, that has to do.

    Raises:
        UnsafePathError: If the path leads out.
        OSError: If the system refuses.
    """
    name = os.fspath(path)
    if is_passed_over(path) and not flags & os.O_CREAT:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    top = _top(name)
    if top is None or not _WALKS:
        return os.open(settled(path), flags | _PLAIN, mode)
    parts = name[len(top) :].split("/")
    if os.pardir not in parts:
        try:
            return _walked(top, parts, flags | _PLAIN, mode)
        except OSError as error:
            if error.errno not in _LINK_ON_THE_WAY:
                raise
    home, rest = _settled(path, top)
    return _walked(home, rest.split("/"), flags | _PLAIN, mode)


def _walked(home: str, parts: Sequence[str], flags: int, mode: int) -> int:
    *above, name = [part for part in parts if part not in ("", os.curdir)] or [os.curdir]
    place = os.open(home, _FOLDER & ~_NO_LINK)
    try:
        for part in above:
            below = os.open(part, _FOLDER, dir_fd=place)
            os.close(place)
            place = below
        return os.open(name, flags | _NO_LINK, mode, dir_fd=place)
    finally:
        os.close(place)


@contextmanager
def reading(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read.

    Raises:
        UnsafePathError: If the path leads out of an enclosed folder.
        OSError: If there is no such file, it is no plain file, or the system refuses.
    """
    descriptor = open_descriptor(path, os.O_RDONLY)
    try:
        _check_plain(descriptor, path)
        with open(descriptor, "rb", closefd=False) as stream:
            yield stream
    finally:
        os.close(descriptor)


def read(path: Path, *, most: int | None = None) -> bytes:
    """Read a file, or its first bytes.

    Args:
        path: The file.
        most: How many bytes at most; None: all.

    Raises:
        UnsafePathError: If the path leads out of an enclosed folder.
        OSError: If there is no such file, it is no plain file, or the system refuses.
    """
    with reading(path) as stream:
        return stream.read(-1 if most is None else most)


def _check_plain(descriptor: int, path: Path) -> os.stat_result:
    status = os.fstat(descriptor)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is no plain file", str(path))
    return status


def read_if_there(path: Path) -> bytes | None:
    """Read a file; None where there is none."""
    try:
        return read(path)
    except FileNotFoundError:
        return None


def read_cache(path: Path) -> bytes | None:
    """Read a file that can be done without; None where there is none that can be read."""
    try:
        return read(path)
    except OSError:
        return None


def write_cache(path: Path, data: bytes) -> None:
    """Write a file that can be done without: where the system refuses, there is none."""
    with suppress(FolderUnwritableError, OSError):
        write_atomic(path, data)


def detach(path: Path) -> None:
    """Make a file that is written in place, and has other names, a copy: they keep what is theirs.

    Raises:
        UnsafePathError: If the path leads out of an enclosed folder.
        FolderUnwritableError: If the system refuses.
    """
    if path.is_file() and path.stat().st_nlink > 1 and not is_passed_over(path):
        write_atomic(path, read(path))


def is_elsewhere(path: Path) -> bool:
    """Whether a file has other names than those below its enclosed folder: hard links from outside.

    Counts the names only where a file has several.
    """
    status = path.stat()
    top = _top(os.fspath(path))
    if status.st_nlink < 2 or top is None or os.name == "nt":
        return False
    names = 0
    for place, _, below in os.walk(top):
        for name in below:
            with suppress(OSError):
                names += os.path.samestat(status, os.lstat(f"{place}/{name}"))
    return names < status.st_nlink


def walked(
    top: Path, passes: Callable[[PurePosixPath], bool] = lambda _: True
) -> Iterator[PurePosixPath]:
    """Yield all that lies below a folder and is no folder, in order, by its way from there.

    Args:
        top: The folder; no link is followed.
        passes: Whether something counts, and what lies below it.
    """
    for place, folders, names in os.walk(top):
        here = PurePosixPath(Path(place).relative_to(top).as_posix())
        # Path's way to ask raises where a folder may be listed and not entered
        links = [name for name in folders if os.path.islink(f"{place}/{name}")]  # noqa: PTH114
        folders[:] = sorted(name for name in folders if name not in links and passes(here / name))
        yield from filter(passes, map(here.joinpath, sorted((*names, *links))))


def write_atomic(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Put `data` at `path` so that a reader, or a kill, finds the old bytes or the new ones.

    Args:
        path: Where to write; its folder is made if need be.
        data: The whole file.
        mode: Permissions of a new file, else its owner's alone; one that is replaced keeps its own
            unless given.

    Raises:
        UnsafePathError: If the path leads out of an enclosed folder.
        FolderUnwritableError: If the system refuses, or what lies there is a device or a pipe; it
            is untouched then.
    """
    take_over(path)
    is_outside = _top(os.fspath(path)) is None  # where no entity's lock tells what a kill left
    path = settled(path)
    temporary = beside(path)
    with translate_os_errors(path):
        _check_replaceable(path)
        try:
            make_folder(path.parent)
            write_synced(temporary, data, mode=mode_of(path) if mode is None else mode)
            if is_outside:
                _sweep(path, temporary)
            os.replace(temporary, path)  # noqa: PTH105  (one name for the fault-injection test)
        except OSError:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
    # from here on readers see the new file; a power cut may still bring the old one back, whole
    with suppress(OSError):
        sync_folder(path.parent)


def _check_replaceable(path: Path) -> None:
    """Refuse to put a file in the place of a device, a pipe, or a link to one, or to lock that.

    Raises:
        OSError: If that is what lies there.
    """
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError(errno.EINVAL, "it is no plain file", str(path))


@contextmanager
def translate_os_errors(path: Path) -> Iterator[None]:
    """Turn a refusal of the system into the error that names the file."""
    try:
        yield
    except OSError as error:
        raise FolderUnwritableError(path, error.strerror or str(error)) from error


def write_synced(path: Path, data: bytes, *, mode: int | None) -> None:
    """Make a new file and have it on the disk; not atomic.

    Args:
        path: Where there is no file yet.
        data: The whole file.
        mode: Its permissions; None: its owner's alone.
    """
    mode = FILE_MODE if mode is None else mode
    descriptor = open_descriptor(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        narrowed = stat.S_IMODE(os.fstat(descriptor).st_mode) != mode
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if narrowed:
        path.chmod(mode)  # the umask narrowed what `open` was asked for


def append(path: Path, data: bytes) -> None:
    """Add to the end of a file in one write; a file that is made is its owner's alone.

    A last line that was cut off stays alone. A file that has other names is copied first: what they
    name stays as it is.

    Raises:
        UnsafePathError: If the path leads out of an enclosed folder.
        OSError: If the system refuses.
    """
    if is_passed_over(path):
        write_atomic(path, data)
        return
    make_folder(path.parent)
    descriptor = open_descriptor(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, FILE_MODE)
    try:
        status = _check_plain(descriptor, path)
        if not status.st_size and stat.S_IMODE(status.st_mode) != FILE_MODE:
            settled(path).chmod(FILE_MODE)  # the umask narrowed it
        if status.st_size and _last_byte(descriptor, status.st_size) != b"\n":
            data = b"\n" + data
        if status.st_nlink < 2:
            os.write(descriptor, data)
    finally:
        os.close(descriptor)
    if status.st_nlink > 1:
        write_atomic(path, read(path) + data)


def _last_byte(descriptor: int, size: int) -> bytes:
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1)


def mode_of(path: Path) -> int | None:
    """Return the permissions of a file; None where there is none."""
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        return None


def move(staged: Path, path: Path) -> None:
    """Put a file that is on the disk already in the place of another, or write it there."""
    staged, path = settled(staged), settled(path)
    with translate_os_errors(path):
        _check_replaceable(path)
        make_folder(path.parent)
        mode = mode_of(path)
        if mode is not None:
            staged.chmod(mode)
        try:
            os.replace(staged, path)  # noqa: PTH105  (one name for the fault-injection test)
            return
        except OSError as error:
            if error.errno != errno.EXDEV:  # `.bumble/` lies on another disk
                raise
    write_atomic(path, read(staged))


def make_folder(path: Path) -> None:
    """Make a folder and its parents, their owner's alone, each entry synced into the one above it.

    Raises:
        UnsafePathError: If the path leads out of an enclosed folder.
        OSError: If the system refuses.
    """
    path = settled(path)
    if path.is_dir():
        return
    make_folder(path.parent)
    with suppress(FileExistsError):
        path.mkdir(FOLDER_MODE)
        created = stat.S_IMODE(path.stat().st_mode)
        if created & 0o777 != FOLDER_MODE:
            path.chmod(created & ~0o777 | FOLDER_MODE)  # the umask narrowed it
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make the entries of a folder survive a power cut, where the system has such a call."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems
            raise
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    """Remove a file; one that is gone already is no error.

    What is removed is the name, be it a link's.

    Raises:
        UnsafePathError: If it lies in a folder out of an enclosed one.
        FolderUnwritableError: If the system refuses; the file is there still.
    """
    path = settled(path.parent) / path.name
    with translate_os_errors(path):
        path.unlink(missing_ok=True)
    with suppress(OSError):  # or the whole folder is gone
        sync_folder(path.parent)


def clear(path: Path) -> None:
    """Remove whatever is at a path, a folder with all that is in it, as far as the system lets us.

    Raises:
        UnsafePathError: If it lies in a folder out of an enclosed one.
    """
    path = settled(path.parent) / path.name
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def beside(path: Path) -> Path:
    """Return where to make what is to come in the place of something, or to go with its maker."""
    return path.with_name(f".{path.name[:60]}.{secrets.token_hex(6)}{TEMPORARY_SUFFIX}")


def _sweep(path: Path, new: Path) -> None:
    """Remove what was made for a path, like `new`, by a process that died a day ago or more."""
    with suppress(OSError):
        oldest = new.stat().st_mtime - LEFT_SECONDS
        for left in os.scandir(path.parent):
            is_such = left.name.endswith(TEMPORARY_SUFFIX) and left.name[1:].startswith(
                f"{path.name[:60]}."
            )
            if is_such and left.stat(follow_symlinks=False).st_mtime < oldest:
                clear(Path(left))


@contextmanager
def folder_beside(path: Path) -> Iterator[Path]:
    """Give a folder beside a path, its owner's alone; what is in it at the end goes."""
    new = beside(path)
    try:
        with translate_os_errors(path):
            make_folder(new)
            _sweep(path, new)
        yield new
    finally:
        clear(new)


def temporary_folder() -> AbstractContextManager[Path]:
    """Give a folder that only this user reads, and that is gone when the block ends."""
    return folder_beside(Path(tempfile.gettempdir(), "bumble"))


@contextmanager
def lock(path: Path, *, place: Path, timeout_seconds: float) -> Iterator[None]:
    """Hold the advisory lock at `path`; the system frees it when the process dies.

    Raises:
        UnsafePathError: If the path leads out of an enclosed folder.
        LockedError: If another process still holds it after `timeout_seconds`.
    """
    path = settled(path)
    with ExitStack() as stack:
        with translate_os_errors(path):
            try:
                make_folder(path.parent)
                _check_replaceable(path)
                held = locking.held(path, timeout_seconds=timeout_seconds, mode=FILE_MODE)
                stack.enter_context(held)
            except TimeoutError as error:
                raise LockedError(place, timeout_seconds) from error
        yield


def is_locked(path: Path) -> bool:
    """Whether another process holds a lock; asks in a way that leaves no trace on the file."""
    if sys.platform == "win32":
        return False  # there is no asking without writing
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe is no lock
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def inside(root: Path, relative: str) -> Path:
    """Return the path of `relative` below `root`, links followed.

    Raises:
        UnsafePathError: If it is absolute, holds a NUL, leads out of `root`, or to what is git's or
            bumble's own there.
    """
    if "\0" in relative or Path(relative).is_absolute() or re.match(r"^[A-Za-z]:|^[\\/]", relative):
        raise UnsafePathError(relative)
    home = _enclosures.get(os.fspath(root)) or os.path.realpath(root)
    return Path(home, _led(home, relative, relative))


def expanded(path: Path) -> Path:
    """Return a path with the home that its `~` means; as it is where that means none."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  (Path's own raises where there is none)


def is_text(name: str) -> bool:
    """Whether a file's name is UTF-8: another can be in no record, prompt, index or answer."""
    return name.isascii() or not any("\ud800" <= char <= "\udfff" for char in name)


def readable(name: str) -> str:
    """Return a file's name as text that can be shown and sent: not every name is UTF-8."""
    return name.encode("utf-8", "replace").decode()


def same_name(name: str) -> str:
    """Return the normal form of a name: what two spellings of one name have in common.

    Case (Turkish i and ı too), spaces, hyphens, apostrophes, invisible characters, typographic
    variants, and with what hamza an Arabic name is written do not count.
    """
    plain = unicodedata.normalize("NFKC", name.translate(_ONE_SIGN)).casefold()
    folded = _DOTTED_I.sub("i", unicodedata.normalize("NFKC", plain).translate(_ONE_SIGN))
    visible = "".join(
        c for c in folded if unicodedata.category(c) not in ("Cf", "Cc") or c.isspace()
    )
    return " ".join(_BETWEEN_WORDS.split(unicodedata.normalize("NFC", visible))).strip()


def without_marks(name: str) -> str:
    """Return a name's normal form without accents, strokes and apostrophes.

    Two names of one such form may be two people: who speaks is not taken for the other unasked.
    """
    plain = unicodedata.normalize("NFKD", same_name(name)).translate(_UNMARKED)
    return "".join(c for c in plain if not unicodedata.combining(c))


def file_name(title: str) -> str:
    """Turn a title into a file name (no ending) that is safe on every system.

    Titles that are the same by `same_name` get the same file name; all others different ones: where
    a letter had to go, eight hexadecimal digits of the title's hash tell it apart.
    """
    name = same_name(title)
    cleaned = "".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in name)
    stem = "-".join(cleaned.split())
    while len(stem.encode()) > MAX_NAME_BYTES:
        stem = stem[:-1]
    exact = stem == name.replace(" ", "-") and stem.split(".")[0] not in RESERVED_NAMES
    if exact and stem:
        return stem
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{stem.strip('-')}-{digest}" if stem else f"x-{digest}"
