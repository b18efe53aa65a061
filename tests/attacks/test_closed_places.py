"""A place that may not be opened is named in a sentence, not reported as a bug."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bumble.files import disk
from tests.support.running import Run
from tests.support.sweeps import turns

PLAIN = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")  # root without what makes it root
CLOSES = os.name == "posix" and (os.geteuid() != 0 or shutil.which("setpriv") is not None)
pytestmark = pytest.mark.skipif(not CLOSES, reason="root opens everything")


@pytest.mark.parametrize("name", turns(3, [".bumble", "sessions", "journal.md"]))
def test_the_place_that_is_closed_is_named(run: Run, tmp_path: Path, name: str) -> None:
    place = run.entity.root / name
    if not place.exists():
        place.mkdir()
    place.chmod(0)
    for words in (("status",), ("session", "list"), ("journal", "add", "Rain."), ("doctor",)):
        done = as_a_user(run, tmp_path, *words)
        assert done.returncode != 70, (words, done.stderr)
        assert done.returncode == 0 or name in done.stderr + done.stdout
    place.chmod(0o700)


def test_a_folder_that_can_be_listed_and_not_entered_keeps_nothing_from_being_mended(
    run: Run, tmp_path: Path
) -> None:
    place, left = run.entity.root / "workspace" / "r", run.entity.root / "workspace" / "z"
    (place / "in").mkdir(parents=True)
    left.mkdir()
    stray = left / f".x{disk.TEMPORARY_SUFFIX}"
    stray.touch()
    place.chmod(0o444)
    try:
        done = as_a_user(run, tmp_path, "doctor", "--fix")
    finally:
        place.chmod(0o700)
    assert "can't be opened" not in done.stderr, done.stderr
    assert not stray.exists()


def as_a_user(run: Run, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    before = PLAIN if os.geteuid() == 0 else ()
    done = subprocess.run(
        [*before, sys.executable, "-m", "bumble", *words, "-e", str(run.entity.root)],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
    )
    if "setpriv: " in done.stderr:
        pytest.skip("setpriv may not give rights up here")
    return done
