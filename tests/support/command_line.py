"""What the command line loads, and the commands it has."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import typer

from bumble.cli import app

SHOW_MODULES = """
import sys
from bumble.cli.app import main
code = main(sys.argv[1:])
print(code, *sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def modules_of(*words: str) -> tuple[int, set[str]]:
    done = subprocess.run(
        [sys.executable, "-c", SHOW_MODULES, *words], capture_output=True, text=True, check=True
    )
    code, *names = done.stderr.splitlines()[-1].split()
    return int(code), set(names)


GROUPS = ("session", "knowledge", "journal", "skill", "person", "belief", "episode")


def commands() -> list[tuple[str, str, set[str]]]:
    """Return group, name and options of every command of the groups."""
    root: Any = typer.main.get_command(app.app)
    found = []
    for group in GROUPS:
        for name, command in root.get_command(None, group).commands.items():
            found.append((group, name, {opt for one in command.params for opt in one.opts}))
    return found


def leaves() -> list[tuple[str, ...]]:
    """Return the words of every command that does something."""
    root: Any = typer.main.get_command(app.app)
    return sorted(_below(root, ()))


def _below(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if not hasattr(command, "list_commands"):
        yield words
        return
    for name in command.list_commands(None):
        yield from _below(command.get_command(None, name), (*words, name))
