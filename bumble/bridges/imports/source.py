"""The files of an import: a folder, a zip or a single file, read where they lie, never unpacked.

All of it is made by others: links are not followed, names that lead elsewhere are no names, and
what grows beyond all measure when it is unpacked is not unpacked. Knows nothing of formats.
"""

from __future__ import annotations

import lzma
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import BinaryIO, cast

from msgspec import Struct, field

from bumble.bridges.exports.destination import HASHES, MARK, listed
from bumble.bridges.imports.items import LeftOut
from bumble.errors import ImportInvalidError, UnsafePathError
from bumble.files import disk

MAX_FILES = 200_000
MAX_DEPTH = 32  # folders within folders
MAX_FILE_BYTES = 8_000_000_000  # of one file, unpacked
MAX_RATIO = 400  # deflate reaches 1032 where there is nothing to say; talk reaches 20
SURE_BYTES = 64_000_000  # up to this many any ratio is fine
MAX_NOTE_BYTES = 4_000_000  # of a text that is read whole
UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
SKIPPED = (".git", ".bumble", "__MACOSX", "node_modules", ".trash")

Progress = Callable[[int, int], object]  # how many bytes are read, of how many


class Member(Struct, frozen=True):
    """A file of an import."""

    size: int  # bytes, unpacked
    modified: datetime


class ImportSource(Struct):
    """The files of an import by name, and what of them can't be had."""

    path: Path
    members: dict[str, Member]  # by their names, from the top, with forward slashes
    opens: Callable[[str], AbstractContextManager[BinaryIO]]
    left_out: list[LeftOut] = field(default_factory=list)
    progress: Progress | None = None
    wanted: int = 0  # bytes, for progress
    done: int = 0
    keys: dict[str, frozenset[str]] = field(default_factory=dict)  # of JSON files, once looked at
    ours: set[str] = field(default_factory=set)  # what an export put there, and nobody changed

    @property
    def names(self) -> list[str]:
        """The names of all files, in order."""
        return list(self.members)

    def matching(self, *patterns: str) -> list[str]:
        """Return the files that fit a pattern, in order: by their own name, in whatever folder.

        By the whole name, where a pattern has a slash; `*` is any folders, too.
        """
        whole = tuple(pattern for pattern in patterns if "/" in pattern)
        return [
            name
            for name in self.members
            if _fits(PurePosixPath(name).name, patterns) or _fits(name, whole)
        ]

    @contextmanager
    def reading(self, name: str) -> Iterator[BinaryIO]:
        """Open a file; what is read of it counts for progress."""
        with self.opens(name) as packed:

            def counted(size: int = -1) -> bytes:
                data = packed.read(size)
                self.done += len(data)
                if self.progress is not None:
                    self.progress(self.done, max(self.done, self.wanted))
                return data

            yield cast("BinaryIO", SimpleNamespace(read=counted))

    def head(self, name: str, most: int) -> bytes:
        """Return the first bytes of a file; none of one that can't be read."""
        try:
            with self.opens(name) as stream:
                return stream.read(most)
        except (*UNREADABLE, UnsafePathError):
            return b""

    def read(self, name: str, most: int = MAX_NOTE_BYTES) -> bytes:
        """Read a file whole.

        Raises:
            ValueError: If it is larger than `most`, or can't be read.
        """
        try:
            with self.reading(name) as stream:
                data = stream.read(most + 1)
        except (*UNREADABLE, UnsafePathError) as error:
            raise ValueError(f"can't be read: {reason(error)}") from error
        if len(data) > most:
            raise ValueError(f"it is larger than {most:,} bytes")
        return data

    def text(self, name: str) -> str:
        """Read a file whole as text.

        Raises:
            ValueError: If it is larger than a note may be, or no text.
        """
        try:
            found = self.read(name).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ValueError("it is no text in UTF-8") from error
        if "\0" in found:
            raise ValueError("it is no text")
        return found


def reason(error: Exception) -> str:
    """Say on one line why a file could not be read."""
    told = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return (told.splitlines() or [type(error).__name__])[0]


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name.casefold(), pattern.casefold()) for pattern in patterns)


@contextmanager
def opened(path: Path, progress: Progress | None = None) -> Iterator[ImportSource]:
    """Open what is to be imported.

    Raises:
        ImportInvalidError: If there is nothing there that can be read.
    """
    with ExitStack() as stack:
        try:
            source = _source(path, progress, stack)
        except UNREADABLE as error:
            raise ImportInvalidError(path, f"can't be read: {reason(error)}") from error
        for mark in source.matching(MARK):
            written = listed(source.head(mark, MAX_NOTE_BYTES), HASHES)
            hashes = {n: disk.sha256(source.head(n, MAX_NOTE_BYTES)) for n in source.names}
            source.ours |= {mark, *(name for name in hashes if hashes[name] in written)}
        yield source


def _source(path: Path, progress: Progress | None, stack: ExitStack) -> ImportSource:
    if path.is_dir():
        top = path.resolve()
        disk.enclose(top)
        source = ImportSource(path, {}, lambda name: disk.reading(top / name), progress=progress)
        source.members.update(sorted(_walked(top, source)))
        return source
    stream = stack.enter_context(disk.reading(path))
    magic = stream.read(4)
    stream.seek(0)
    if magic in (b"PK\x03\x04", b"PK\x05\x06"):
        return _zip(path, stack.enter_context(_archive(stream)), progress)
    alone = {path.name: _member(path.stat())}
    return ImportSource(path, alone, lambda _: disk.reading(path), progress=progress)


def _archive(stream: BinaryIO) -> zipfile.ZipFile:
    """Read the list of a zip's members.

    Raises:
        BadZipFile: If it can't be read, or is of a kind that nobody can unpack.
    """
    try:
        return zipfile.ZipFile(stream)
    except zipfile.BadZipFile as error:
        raise zipfile.BadZipFile("the zip breaks off or is damaged; fetch it again") from error
    except (NotImplementedError, RuntimeError, ValueError) as error:
        raise zipfile.BadZipFile(str(error)) from error


def _member(status: os.stat_result) -> Member:
    return Member(status.st_size, datetime.fromtimestamp(int(status.st_mtime), UTC))


def _walked(top: Path, source: ImportSource) -> Iterator[tuple[str, Member]]:
    """Yield the plain files below a folder.

    No link is followed: each is told of, that to a folder too. What has a name of `SKIPPED`, a
    folder or a file, is no part of any export, and nothing is said of it.
    """

    def passes(inner: PurePosixPath) -> bool:
        return inner.name not in SKIPPED and len(inner.parents) <= MAX_DEPTH + 1

    for seen, inner in enumerate(disk.walked(top, passes), 1):
        if seen > MAX_FILES:
            source.left_out.append(LeftOut(str(inner.parent), f"beyond {MAX_FILES:,} files"))
            return
        status = os.lstat(top / inner)
        if not stat.S_ISREG(status.st_mode):
            source.left_out.append(LeftOut(str(inner), "a link, or no plain file"))
        elif disk.is_text(str(inner)):
            yield str(inner), _member(status)


def _zip(path: Path, archive: zipfile.ZipFile, progress: Progress | None) -> ImportSource:
    def opens(name: str) -> BinaryIO:
        try:
            return cast("BinaryIO", archive.open(name))
        except (NotImplementedError, RuntimeError) as error:  # packed in a way nobody can unpack
            raise zipfile.BadZipFile(str(error)) from error

    source = ImportSource(path, {}, opens, progress=progress)
    infos = archive.infolist()
    if len(infos) > MAX_FILES:
        raise ImportInvalidError(path, f"it holds more than {MAX_FILES:,} files")
    for info in sorted(infos, key=lambda info: info.filename):
        if info.is_dir() or set(PurePosixPath(info.filename).parts) & set(SKIPPED):
            continue
        if why := _unfit(info):
            source.left_out.append(LeftOut(info.filename[:200], why, broken=True))
        else:
            source.members[info.filename] = Member(info.file_size, _zip_time(info))
    return source


def _unfit(info: zipfile.ZipInfo) -> str:
    """Say why a member of a zip is not read; empty if it is."""
    parts = PurePosixPath(info.filename.replace("\\", "/")).parts
    if not parts or ".." in parts or parts[0] == "/" or ":" in parts[0] or len(parts) > MAX_DEPTH:
        return "its name leads out of the archive"
    if not disk.is_text(info.filename) or not info.filename.isprintable():
        return "its name is no text"
    if stat.S_ISLNK(info.external_attr >> 16):
        return "a link, or no plain file"
    if info.flag_bits & 1:
        return "it is locked with a password"
    if info.file_size > MAX_FILE_BYTES or (
        info.file_size > SURE_BYTES and info.file_size > MAX_RATIO * max(info.compress_size, 1)
    ):
        return "it grows too large when unpacked"
    return ""


def _zip_time(info: zipfile.ZipInfo) -> datetime:
    try:
        return datetime(*info.date_time, tzinfo=UTC)
    except ValueError:
        return datetime(1980, 1, 1, tzinfo=UTC)
