"""The prompt cache: evaluated prefixes (KV) kept on disk between processes, and evicted.

A file holds what the engine wrote, followed by a seal: a checksum and what it was written for. A
file whose seal does not fit is discarded. Files hold conversations: they are 0600 in a 0700 folder.
Knows nothing of how the engine reads or writes them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from bumble.files.disk import make_folder

_MAGIC = b"bumble-prefix-2\n"
_SEAL_BYTES = len(_MAGIC) + 32 + 4
_CHUNK_BYTES = 1 << 20
_STALE_SECONDS = 3600  # a half-written file older than this belongs to no living process


class PrefixFolder(Struct, frozen=True):
    """A folder of evaluated prefixes, capped in size."""

    folder: Path
    limit_bytes: int

    def prepare(self) -> None:
        """Make the folder, for its owner alone.

        Raises:
            OSError: If it cannot be made.
        """
        make_folder(self.folder)
        self.folder.chmod(0o700)

    def find(self, family: str | None, name: str) -> str | None:
        """Name the file of a conversation, else the newest of its family, and mark it as used.

        One that is not whole is dropped.
        """
        alike = self.folder.glob(f"{family}-*.kv") if family is not None else ()
        for path in (self._file(family, name), *sorted(alike, key=_used_at)[-1:]):
            with contextlib.suppress(OSError):  # of a file that is not there, or gone meanwhile
                if _is_sealed(path):
                    os.utime(path)
                    return path.name
                path.unlink(missing_ok=True)
        return None

    def _file(self, family: str | None, name: str) -> Path:
        return self.folder / (f"{name}.kv" if family is None else f"{family}-{name}.kv")

    def drop(self, filename: str) -> None:
        """Discard a file, if it is there."""
        with contextlib.suppress(OSError):
            (self.folder / filename).unlink()

    def save(self, family: str | None, name: str, write: Callable[[str], bool]) -> bool:
        """Keep what `write` puts into the file whose name it gets, in place of what was there.

        Another process sees the old file or the new one, never a part.

        Returns:
            Whether it is kept: not when the disk is full or the file is larger than the limit.
        """
        path = self._file(family, name)
        part = path.with_suffix(f".{secrets.token_hex(4)}.part")
        try:
            # Made here first, so that the engine's file is never readable by others.
            os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            if not write(part.name) or part.stat().st_size + _SEAL_BYTES > self.limit_bytes:
                return False
            with part.open("r+b") as file:
                seal = _seal(file, path.stem, part.stat().st_size)
                file.seek(0, os.SEEK_END)
                file.write(seal)
            part.replace(path)
        except OSError:
            return False
        finally:
            part.unlink(missing_ok=True)
        self.evict()
        return True

    def evict(self) -> None:
        """Delete the least recently used files until the rest fits, and parts left by a crash."""
        files: list[tuple[float, int, Path]] = []
        for path in self.folder.iterdir():
            with contextlib.suppress(OSError):
                stat = path.stat()
                files.append((stat.st_mtime, stat.st_size, path))
        files.sort(reverse=True)
        newest = files[0][0] if files else 0.0
        total = 0
        for used_at, size, path in files:
            is_part = path.suffix == ".part"
            total += 0 if is_part else size
            is_stale = is_part and newest - used_at > _STALE_SECONDS
            if is_stale or (not is_part and total > self.limit_bytes):
                self.drop(path.name)


def key(*parts: str) -> str:
    """Hash all that an evaluated prefix depends on into the name of its file."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _used_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # evicted meanwhile
        return 0.0


def _is_sealed(path: Path) -> bool:
    # One open file throughout: another process may put a new one in its place meanwhile.
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size - _SEAL_BYTES
        if size <= 0:
            return False
        expected = _seal(file, path.stem, size)
        file.seek(size)
        return file.read() == expected


def _seal(file: BinaryIO, name: str, size: int) -> bytes:
    """Compute the seal over the first `size` bytes of a file."""
    checksum = 0  # against truncation and bad disks; an enemy who can write here is the user
    file.seek(0)
    while size > 0 and (chunk := file.read(min(_CHUNK_BYTES, size))):
        checksum = zlib.crc32(chunk, checksum)
        size -= len(chunk)
    return _MAGIC + hashlib.sha256(name.encode()).digest() + checksum.to_bytes(4, "big")
