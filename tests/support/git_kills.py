"""Commands that die with every git that they have started, at a call of git's choice.

`killer.c` is loaded into the gits alone: a command is forked, leads a group of its own, and git
ends that group before the call that was chosen.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import Struct

from tests.support import kills
from tests.support.running import Run

SOURCE = Path(__file__).with_name("killer.c")
FORM = "lll4096s"
needs_killer = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None or shutil.which("git") is None,
    reason="needs LD_PRELOAD, a compiler for C, and git",
)


class GitKiller(Struct):
    """A place where gits are told when to end."""

    place: Path

    @property
    def environ(self) -> dict[str, str]:
        """What loads it into a program."""
        return {
            "LD_PRELOAD": str(self.place / "killer.so"),
            "KILLER": str(self.place / "shared"),
            "KILLER_LOG": str(self.place / "calls"),
        }

    def calls(self, run: Run, *argv: str) -> list[tuple[str, str]]:
        """Run a command to its end; return each call by which git changed a file of the folder."""
        (self.place / "calls").write_bytes(b"")
        assert self.run(run, 0, *argv) == 0
        rows = (self.place / "calls").read_text(errors="replace").splitlines()
        return [(row.split(" ", 2)[1], row.split(" ", 2)[2]) for row in rows]

    def run(self, run: Run, at: int, *argv: str) -> int:
        """Run a command whose gits, and itself, end before a call; 0: none."""
        root = os.fsencode(run.entity.root)
        (self.place / "shared").write_bytes(struct.pack(FORM, at, 0, 0, root))

        def work() -> None:
            os.setsid()
            os.environ.update(self.environ, KILLER_LEADER=str(os.getpid()))
            os._exit(run(*argv).code)

        return kills.in_child(work)


def made(place: Path) -> GitKiller:
    """Compile the library."""
    cc = shutil.which("cc")
    assert cc is not None
    place.mkdir()
    command = [cc, "-O2", "-shared", "-fPIC", "-o", str(place / "killer.so"), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True)
    (place / "shared").write_bytes(bytes(struct.calcsize(FORM)))
    return GitKiller(place)
