"""Texts that the user gives: as words of the command, on stdin, in a file or an editor."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from bumble.cli import editor
from bumble.cli.process import Shell
from bumble.errors import RefusedError, UsageError
from bumble.guard import secrets
from bumble.text import markdown, words

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
        with editor.draft(shell, name, shown, _anything) as typed:
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
