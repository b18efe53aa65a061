"""Where weights lie on this machine, their manifests, and whether they are intact.

Layout: `<folder>/<name>/` holds the files of a model and `manifest.json`; `<folder>/<name>.part/`
what an unfinished pull has fetched. The manifest keeps size and mtime of each file from when its
hash was last right: while these stand still a file is not hashed again. Facts measured on the
model, such as an embedder's mean cosine of unrelated texts, are kept there too.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from bumble.errors import FolderUnwritableError, WeightsMissingError
from bumble.files import disk
from bumble.models.weights.catalog import CatalogEntry, WeightsFile

MANIFEST = "manifest.json"
PART = ".part"
_SCHEMA = 1


class Installed(Struct, frozen=True):
    """A model whose files are on this machine and had the right hashes."""

    entry: CatalogEntry
    place: Path
    source: str  # where it came from
    facts: Mapping[str, Any]  # what was measured on it
    unkept: str = ""  # why that can't be kept, and is measured by each process

    def path(self, name: str) -> Path:
        """Where one of its files lies."""
        return self.place / name

    @property
    def weights(self) -> Path:
        """Where the weights themselves lie."""
        return self.place / self.entry.files[0].name


class Stored(Struct, frozen=True):
    """What a folder of weights holds under one name."""

    name: str
    bytes: int
    complete: bool  # False for what an unfinished pull has left


def find(folder: Path, entry: CatalogEntry) -> Installed | None:
    """Find a model that has been pulled.

    A file whose size or time has changed since it was verified is hashed again.

    Returns:
        None if it is not there, or was pulled from a catalog that named other files.

    Raises:
        WeightsMissingError: If a file is gone or is not what was pulled.
    """
    place = folder / entry.name
    manifest = _read(place)
    if manifest is None:
        return None
    by_name = {file["name"]: file for file in manifest["files"]}
    wanted = {file.name: file.sha256 for file in entry.files}
    if {name: file["sha256"] for name, file in by_name.items()} != wanted:
        return None
    known = {name: (file["bytes"], file["mtime_ns"]) for name, file in by_name.items()}
    moved = [file for file in entry.files if _stamp(place / file.name) != known[file.name]]
    for file in moved:
        _verify(place / file.name, file, entry)
    found = Installed(entry, place, manifest["source"], manifest["facts"])
    return record(found, {}) if moved else found


def require(folder: Path, entry: CatalogEntry) -> Installed:
    """Find a model that must be there.

    Raises:
        WeightsMissingError: If it is not; says how large it is, from where and how to get it.
    """
    installed = find(folder, entry)
    if installed is None:
        raise WeightsMissingError(
            f"the weights of {entry.name} are not on this machine ({folder})\n"
            f"Get them with `bumble model pull {entry.name}`: {megabytes(entry.bytes)} from "
            f"{entry.sources[0]}."
        )
    return installed


def seal(place: Path, entry: CatalogEntry, source: str, facts: Mapping[str, Any]) -> None:
    """Write the manifest of a folder whose files have just been verified."""
    known = ((file, _stamp(place / file.name)) for file in entry.files)
    stamps = [
        {"name": file.name, "sha256": file.sha256, "bytes": size, "mtime_ns": mtime_ns}
        for file, (size, mtime_ns) in known
    ]
    manifest = {"schema": _SCHEMA, "source": source, "files": stamps, "facts": dict(facts)}
    text = json.dumps(manifest, indent=2, ensure_ascii=False)
    disk.write_atomic(place / MANIFEST, f"{text}\n".encode())


def record(installed: Installed, facts: Mapping[str, Any]) -> Installed:
    """Keep facts measured on a model beside it, where that folder can be written."""
    merged, unkept = {**installed.facts, **facts}, ""
    try:
        seal(installed.place, installed.entry, installed.source, merged)
    except FolderUnwritableError as error:
        unkept = str(error).splitlines()[0]
    return replace(installed, facts=merged, unkept=unkept)


def stamps(place: Path) -> dict[str, list[int]]:
    """Return size and time of every file of a folder that is made of a model's own; by name."""
    try:
        return {path.name: list(_stamp(path)) for path in sorted(place.iterdir())}
    except OSError:
        return {}


def remove(folder: Path, name: str) -> int:
    """Delete a model and what an unfinished pull of it has left. Returns the bytes set free."""
    freed = 0
    # The manifest goes first: a removal that is cut short leaves no model that looks whole.
    (folder / name / MANIFEST).unlink(missing_ok=True)
    for place in (folder / name, folder / f"{name}{PART}"):
        if place.is_dir():
            freed += _size(place)
            shutil.rmtree(place)
    return freed


def stored(folder: Path) -> Iterator[Stored]:
    """List what lies in the folder by name, known to the catalog or not."""
    if not folder.is_dir():
        return
    for place in sorted(folder.iterdir()):
        if place.is_dir() and not place.name.startswith("."):
            yield Stored(place.name.removesuffix(PART), _size(place), (place / MANIFEST).is_file())


def sha256(path: Path) -> str:
    """Hash a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def megabytes(count: int) -> str:
    """Write a number of bytes for a person: `23 MB`, `1.1 GB`."""
    if count < 1_000_000:
        return f"{max(1, round(count / 1000))} kB"
    return f"{count / 1e6:.0f} MB" if count < 1e9 else f"{count / 1e9:.1f} GB"


def _verify(path: Path, file: WeightsFile, entry: CatalogEntry) -> None:
    if path.is_file() and sha256(path) == file.sha256:
        return
    other = "is not the file that was pulled: its SHA-256 differs"
    raise WeightsMissingError(
        f"{path}: {other if path.is_file() else 'is gone'}\n"
        f"Get it again with `bumble model pull {entry.name}` ({megabytes(file.bytes)})."
    )


def _read(place: Path) -> dict[str, Any] | None:
    try:
        manifest = json.loads((place / MANIFEST).read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
        return None  # what has no readable manifest was never sealed: pulling it again mends it
    is_ours = isinstance(manifest, dict) and manifest.get("schema") == _SCHEMA
    return manifest if is_ours else None


def _stamp(path: Path) -> tuple[int, int]:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return (-1, -1)
    return (stat.st_size, stat.st_mtime_ns)


def _size(place: Path) -> int:
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file())


class PullOptions(Struct, frozen=True):
    """What a pull may use of the world."""

    environment: Mapping[str, str] = field(default_factory=dict)  # of the processes it starts
    endpoint: str | None = None  # of the hub; None: what HF_ENDPOINT says, else the public one
    progress: Callable[[int, int], None] = lambda _done, _all: None  # bytes done, bytes in all
    note: Callable[[str], None] = lambda _: None  # gets a line on a source that was passed over
    answers: dict[str, str | None] = field(default_factory=dict)  # of hubs; none is asked twice


class SourceRefusedError(Exception):
    """A source does not give the file; the text is its reason. `pull` goes on to the next."""
