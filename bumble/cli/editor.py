"""The user's editor, opened on a draft: which editor, and a draft that is never lost.

Knows nothing of records.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bumble.cli import output
from bumble.cli.process import Shell
from bumble.errors import DraftInvalidError, UserError
from bumble.files import disk

USUAL_EDITORS = ("nano", "vi", "notepad")


@contextmanager
def draft(
    shell: Shell, name: str, text: str, check: Callable[[str, Path | None], object]
) -> Iterator[str]:
    """Let the user edit a text, and hold on to what was typed until the block ends well.

    Args:
        shell: Of the command.
        name: Of the file the editor shows.
        text: What it shows at first.
        check: Takes what was typed and the copy; raises `DraftInvalidError` if it will not do.

    Yields:
        What was typed.

    Raises:
        UserError: If there is no editor, or it fails.
        DraftInvalidError: If what was typed will not do, and nobody is there to mend it.
    """
    before = text.encode()
    file = Path(tempfile.mkdtemp(prefix="bumble-")) / name
    is_saved = False
    try:
        disk.write_atomic(file, before)
        yield _typed(shell, file, text, check)
        is_saved = True
    finally:
        if is_saved or disk.read_if_there(file) in (None, before):
            shutil.rmtree(file.parent, ignore_errors=True)
        else:
            output.warn(shell, f"what you typed is kept in {file}")


def _typed(shell: Shell, file: Path, text: str, check: Callable[[str, Path | None], object]) -> str:
    while True:
        _run(shell, file)
        data = disk.read_if_there(file)
        if data is None:  # saved nothing, and threw the copy away
            return text
        try:
            typed = _decoded(file, data)
            if typed != text:
                check(typed, file)
            return typed
        except DraftInvalidError as error:
            if not shell.interactive:
                raise
            output.say(f"error: {error}")
            if not output.agrees("Open it again?", default=True):
                raise


def _decoded(file: Path, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DraftInvalidError(str(file), "not UTF-8 text", line, "What was there") from None


def _run(shell: Shell, file: Path) -> None:
    command = _command(shell)
    # an editor draws where the user looks, which is not where results go
    drawn_on = None if sys.stdout.isatty() else 2
    try:
        code = subprocess.run(
            [*command, str(file)], env=dict(shell.environ), stdout=drawn_on, check=False
        ).returncode
    except OSError as error:
        raise UserError(
            f"The editor `{shlex.join(command)}` can't be run: {error.strerror}\n"
            "Set VISUAL or EDITOR to one that can."
        ) from error
    if code:
        raise UserError(f"The editor `{shlex.join(command)}` failed ({code}); nothing was changed.")


def _command(shell: Shell) -> list[str]:
    named = shell.environ.get("VISUAL") or shell.environ.get("EDITOR")
    if named:
        try:
            return shlex.split(named, posix=os.name != "nt")
        except ValueError as error:
            raise UserError(f"The editor `{named}` can't be run: {error}") from None
    usual = next(filter(None, map(shutil.which, USUAL_EDITORS)), None)
    if usual is None or not shell.interactive:
        raise UserError(
            "There is no editor to open.\n"
            "Set VISUAL or EDITOR, or give the text as an argument or on standard input."
        )
    return [usual]
