"""Many begin to talk at once; the disk is full."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from itertools import product
from pathlib import Path

import pytest

from bumble.errors import FolderUnwritableError
from bumble.index.sqlite import create
from tests.support import forked
from tests.support.chatting import act, script
from tests.support.running import Run
from tests.support.sweeps import turns

AT_ONCE = 3
OLD = Path(__file__).parents[1] / "data" / "formats" / "1.zip"


def at_once(run: Run, *words: str) -> list[str]:
    """Say several things at once; return what is stored, and of how many conversations."""
    script(run, act("say", text="Hello Sam.") | {"always": True})
    command = ["chat", "-e", str(run.entity.root), *words]
    environ = run.environ | {"PATH": os.environ["PATH"]}
    processes = [
        subprocess.Popen(
            **forked.bumble([*command, f"I say {n}."], environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for n in range(AT_ONCE)
    ]
    for process in processes:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    files = sorted(run.entity.sessions.glob("*/messages.jsonl"))
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    said = sorted(one["text"] for one in lines if one.get("role") == "user")
    assert said == [f"I say {n}." for n in range(AT_ONCE)]
    return [file.parent.name for file in files]


@pytest.mark.parametrize("words", turns(3, [[], ["--as", "Bo"], ["--with", "ana,bo"]]))
def test_first_talks_at_once_make_one_conversation(run: Run, words: list[str]) -> None:
    assert len(at_once(run, *words)) == 1


def test_a_full_disk_is_told_in_words(tmp_path: Path) -> None:
    database = create(tmp_path / "memory.db")
    database.rows("pragma max_page_count = 1")
    with pytest.raises(FolderUnwritableError, match="the disk is full"), database.transaction():
        database.put("texts", ("id", "text"), [(n, "x" * 10_000) for n in range(100)])
    database.close()


WRITING = (
    "chat -e {place}/ada Hi.",
    "new {place}/bo",
    "index -e {place}/ada",
    "migrate -e {place}/ada/workspace/old",
)
SMALL = """
mount -t tmpfs -o size={size}k none {place} || exit 99
cp -r {entity} {place}/ada && dd if=/dev/zero of={place}/pad bs=1k 2>/dev/null
truncate -s -{left}k {place}/pad
TMPDIR={place} {python} -m bumble {command}
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs a disk of its own")
@pytest.mark.parametrize(("command", "left"), turns(7, product(WRITING, [0, 4, 16, 48, 150])))
def test_a_disk_that_is_full(run: Run, tmp_path: Path, command: str, left: int) -> None:
    script(run, act("say", text="Hello Sam.") | {"always": True})
    with zipfile.ZipFile(OLD) as archive:
        archive.extractall(run.file("workspace/old"))
    place = tmp_path / "small"
    place.mkdir()
    lines = SMALL.format(
        size=2000,
        place=place,
        entity=run.entity.root,
        left=left,
        python=sys.executable,
        command=command.format(place=place),
    )
    done = subprocess.run(
        ["unshare", "-Urm", "/bin/sh", "-c", lines],
        env=run.environ | {"PATH": os.environ["PATH"]},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    told = done.stderr.decode()
    if done.returncode == 99 or "unshare" in told:
        pytest.skip("this system gives no disk of its own")
    assert done.returncode in (0, 1), told
    if done.returncode or "warning" in told:
        assert "the disk is full" in told or "Out of diskspace" in told  # git's own words
    for word in ("SQL", "FullError", "os error", "Traceback", "bug"):
        assert word not in told
