"""Texts that the user gives: as words of the command, on stdin, in a file or an editor."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from bumble.cli import output
from bumble.cli.process import Shell
from bumble.entity import secrets
from bumble.errors import DraftInvalidError, RefusedError, UsageError, UserError
from bumble.files import disk
from bumble.text import markdown, words

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


TextArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[TEXT]", help="`-` reads it from standard input; without it an editor opens."
    ),
]
EditorOption = Annotated[bool, typer.Option("--editor", help="Write it in $VISUAL or $EDITOR.")]
UNPRINTABLE = ("Cc", "Cs", "Zl", "Zp")  # controls, halves of characters, line and page ends


@contextmanager
def collect(
    shell: Shell,
    words: Sequence[str] | None,
    *,
    in_editor: bool,
    name: str,
    before: str = "",
    required: bool = True,
) -> Iterator[str]:
    """Get a text from wherever the user gives it; one that was typed is kept if the block fails.

    Args:
        shell: Of the command.
        words: What stands on the command line; `-` alone is standard input.
        in_editor: Whether an editor is wanted in any case; words are what it shows at first.
        name: Of the file the editor shows.
        before: What the editor shows without words: the text as it is.
        required: Whether the text may not be empty; if it may, only what is given is taken.

    Raises:
        UsageError: If it is empty, too long, or no text.
        RefusedError: If it holds a secret.
    """
    text = " ".join(words or ())
    if words and list(words) == ["-"]:
        text = standard_input()
    elif not words and not in_editor and not sys.stdin.isatty():
        text = standard_input() if required else ""
    elif in_editor or (not words and required):
        shown = f"{text or before}\n" if text or before else ""
        with draft(shell, name, shown, _anything) as typed:
            yield _text(typed, required=required)
        return
    yield _text(text, required=required)


def _anything(text: str, draft: Path | None) -> None:
    """Take a text that is not to be read as a record."""


def _text(text: str, *, required: bool) -> str:
    if not text.strip() and required:
        raise UsageError("The text is empty; nothing was changed.")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise UsageError("The text is not UTF-8; nothing was changed.") from None
    if size > markdown.MAX_BYTES:
        raise UsageError(_too_long())
    refuse_secrets(text)
    return text.replace("\r\n", "\n").strip("\n")


def refuse_secrets(*texts: str) -> None:
    """Refuse texts that hold what is to stay out of memory.

    Raises:
        RefusedError: If one does.
    """
    for what in filter(None, map(secrets.find_secret, texts)):
        raise RefusedError(
            f"The text holds what looks like {what}; nothing was changed.\n"
            "Secrets do not go into memory, where a prompt may show them. To keep it all the same,"
            " write it into the file by hand."
        )


def _too_long() -> str:
    return (
        f"The text is longer than {markdown.MAX_BYTES:,} bytes; nothing was changed.\n"
        "Keep it in a file of its own, and note what it says and where it lies."
    )


def standard_input() -> str:
    """Read all of standard input as UTF-8.

    Raises:
        UsageError: If it is no such text, or too long.
    """
    return _read(sys.stdin.buffer, "standard input")


def from_file(shell: Shell, place: str) -> str:
    """Read a file that the user names, `-` being standard input.

    Raises:
        UsageError: If it can't be read as text.
    """
    if place == "-":
        return standard_input()
    if not place:
        raise UsageError("The name of the file is empty; nothing was changed.")
    path = shell.path(Path(place))
    try:
        with path.open("rb") as stream:  # which may be a pipe, or have no end
            return _read(stream, str(path))
    except OSError as error:
        raise UsageError(f"{path}: can't be read: {error.strerror}") from error


def _read(stream: BinaryIO, where: str) -> str:
    data = stream.read(markdown.MAX_BYTES + 1)
    if len(data) > markdown.MAX_BYTES:
        raise UsageError(_too_long())
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{where}:{line}: not UTF-8 text; nothing was changed.") from None


def one_line(text: str, what: str) -> str:
    """Return a name or a title, checked to be one line of text.

    Raises:
        UsageError: If it is empty or holds what a line can't show.
    """
    line = words.one_line(text)
    if not line:
        raise UsageError(f"The {what} is empty; nothing was changed.")
    if any(unicodedata.category(char) in UNPRINTABLE for char in line):
        raise UsageError(f"The {what} should be one line of printable text; nothing was changed.")
    return line


PASSPHRASE_VARIABLE = "BUMBLE_EXPORT_PASSPHRASE"  # noqa: S105  (its name)


def passphrase(shell: Shell, *, new: bool) -> str:
    """Return a passphrase.

    Args:
        shell: The process.
        new: Whether it is chosen now, and typed twice.

    Raises:
        UsageError: If nobody gives one.
    """
    given = shell.environ.get(PASSPHRASE_VARIABLE, "")
    if given:
        return given
    if not shell.interactive:
        raise UsageError(
            f"There is no passphrase.\nGive one in ${PASSPHRASE_VARIABLE}, or on a terminal."
        )
    return output.asked("Passphrase", hide_input=True, confirmation_prompt=new)
