"""Several commands at once, each in a process of its own.

They are forked from one that has imported everything, so that they begin together and not one
after another on a small machine. A program: takes the commands as JSON, and says the exit code
and the standard error of each.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
from pathlib import Path

from bumble.cli.app import COMMANDS, main

HEAVY = ("bumble.cli.talk.conversation", "bumble.cli.commands.cycles", "bumble.llm.http_model")


def begin(argv: list[str], errors: Path) -> int:
    """Start a command and return its process id."""
    child = os.fork()
    if child:
        return child
    for stream, place in ((1, os.devnull), (2, str(errors))):
        os.dup2(os.open(place, os.O_WRONLY | os.O_CREAT, 0o600), stream)
    code = main(argv)
    sys.stderr.flush()
    os._exit(code)


def run(commands: list[list[str]], folder: Path) -> list[tuple[int, str]]:
    """Run commands and wait for all of them."""
    modules = (f".{place.rpartition('.')[0]}" for place, _ in COMMANDS.values())
    for name in (*HEAVY, *modules):
        importlib.import_module(name, "bumble.cli.commands")
    files = [folder / f"{n}.err" for n in range(len(commands))]
    children = [begin(argv, file) for argv, file in zip(commands, files, strict=True)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    return [(code, file.read_text()) for code, file in zip(codes, files, strict=True)]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        sys.stdout.write(json.dumps(run(json.loads(sys.argv[1]), Path(place))))
