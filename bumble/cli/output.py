"""Everything bumble prints: results on stdout, the rest on stderr; tables, JSON, speech."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TextIO

import typer

from bumble import patterns
from bumble.cli.process import Shell
from bumble.errors import FULL, UsageError, UserError
from bumble.text.printable import clean

BAR_WIDTH = 24  # characters
MOST_OF_A_LINE = 1000  # characters of a message, which may quote whatever was typed


class ReaderLeftError(Exception):
    """Whoever read the output has gone, as `| head` does; not an error of anybody's."""


def result(
    shell: Shell,
    command: str,
    data: Any,
    text: str | Iterable[str],
    problem: UserError | None = None,
) -> None:
    """Print the result of a command: `data` with --json, else `text`; `problem` cut it short."""
    if shell.json:
        code = 0 if problem is None else problem.exit_code
        _answer(shell, command, data, type(problem).__name__, code, str(problem))
        return
    lines = [text] if isinstance(text, str) else list(text)
    if lines:
        piece("".join(f"{line}\n" for line in lines))


def _answer(shell: Shell, command: str, data: Any, kind: str, code: int, message: str) -> None:
    """Print an answer as --json has it; with an exit code what went wrong, too."""
    answer = {
        "schema": f"bumble/{command.replace(' ', '-')}/1",
        "command": command,
        "entity": shell.entity_name,
        "data": data,
        "warnings": shell.warnings,
    }
    if code:
        answer["error"] = {"kind": kind, "exit_code": code, "message": message}
    piece(f"{json.dumps(answer, ensure_ascii=False, indent=2)}\n")


def error(shell: Shell, message: str, *, kind: str, code: int) -> None:
    """Say what went wrong: on stderr, and with --json on stdout for the program that reads it."""
    message = "\n".join(_without_middle(line) for line in message.split("\n"))
    if shell.json:
        _answer(shell, shell.command, None, kind, code, message)
    say(f"error: {message}")


def _without_middle(line: str) -> str:
    """Cut a line that nobody would read to its end, which may say what is wrong."""
    if len(line) <= MOST_OF_A_LINE:
        return line
    return f"{line[: MOST_OF_A_LINE // 2]} … {line[-MOST_OF_A_LINE // 2 :]}"


def warn(shell: Shell, message: str) -> None:
    """Say something the user should know; once per command and text."""
    if message not in shell.warnings:
        shell.warnings.append(message)
        say(f"warning: {message}")


def say(text: str) -> None:
    """Print a line for the person at the terminal."""
    if (stream := sys.stderr) is None:
        return
    sign("")
    try:
        stream.write(f"{clean(text)}\n")
        stream.flush()
    except OSError:  # nobody can be told that nobody can be told
        abandon(stream)


def piece(text: str) -> None:
    """Print part of a result at once, as its lines or the tokens of a line come."""
    sign("")
    shown = clean(text)
    if shown and sys.stdout is not None:
        _Line.begun = not shown.endswith("\n") and sys.stdout.isatty()
    _write(shown)


def flush() -> None:
    """See to it that everything printed has left the process."""
    sign("")
    _Line.begun = False
    _write("")


def _write(text: str) -> None:
    if (stream := sys.stdout) is None:  # closed before bumble began: nobody wants to hear it
        return
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError as error:
        abandon(stream)
        raise ReaderLeftError from error
    except OSError as error:
        abandon(stream)
        reason = FULL if error.errno == errno.ENOSPC else error.strerror or error
        raise UserError(f"The output could not be written: {reason}") from error


def abandon(stream: TextIO) -> None:
    """Let what a stream can't take go nowhere: Python would try once more at its end, and fail."""
    with suppress(OSError, ValueError):  # not every stream is a file
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


WIDEST = 60  # letters that a column is wide


def table(rows: Sequence[Sequence[str]], *, indent: str = "") -> list[str]:
    """Line up rows in columns, but for the last, and for what is far too long."""
    if not rows:
        return []
    widths = [min(max(len(row[n]) for row in rows), WIDEST) for n in range(len(rows[0]) - 1)]
    return [
        indent
        + "  ".join(
            [*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[-1]]
        ).rstrip()
        for row in rows
    ]


_LINK = patterns.compile(r"\[([^\]\n]+)\]\([^()\n]*\)")
_STARS = patterns.compile(r"(?<![\w*])\*{1,2}([^*\n]+)\*{1,2}(?![\w*])")
_LEAD = patterns.compile(r"^(?:> ?|- )", re.MULTILINE)


def plain(text: str) -> str:
    """Return Markdown as one line: its heading, a colon, what is below; links by their words."""
    head, _, rest = text.strip().partition("\n")
    head = head.lstrip("# ") + ":" * bool(head.startswith("#") and rest.strip())
    told = _STARS.sub(r"\1", unlinked(f"{head}\n{rest}"))
    return " ".join(_LEAD.sub("", told).split())


def unlinked(text: str) -> str:
    """Return Markdown with the words of its links alone: a terminal leads nowhere."""
    return _LINK.sub(r"\1", text)


def shorten(text: str, width: int = 80) -> str:
    """Return the start of a text on one line."""
    from bumble.text import words  # no command that prints no table waits for it

    return words.shorten(text, width)


def few(names: Sequence[str], most: int) -> str:
    """Name the first of some, and say how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def size(count: float) -> str:
    """Write a number of bytes for people."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def dollars(amount: float) -> str:
    """Write an amount of money for people, small ones exactly enough to tell them apart."""
    return f"${amount:.2f}" if amount >= 1 else f"${amount:.4f}"


def progress(
    what: str,
    environ: Mapping[str, str] | None,
    count: float,
    total: float | None,
    *,
    in_bytes: bool = False,
) -> None:
    """Show on a terminal how far something is, until anything else is said.

    Args:
        what: Is done.
        environ: Of the process.
        count: How much of it is done.
        total: Of how much; None where the end is not known.
        in_bytes: Whether these are bytes.
    """
    amount = size(count) if in_bytes else f"{count:,.0f}"
    whole = "" if not total else f" of {size(total) if in_bytes else f'{total:,.0f}'}"
    filled = round(max(0.0, min(1.0, count / total)) * BAR_WIDTH) if total else 0
    bar = f" {'█' * filled}{'░' * (BAR_WIDTH - filled)}" if total else ""
    sign(f"{what}:{bar} {amount}{whole}", environ)


class _Line:
    """What stands where the cursor of the terminal is, as far as this process wrote it."""

    sign = ""  # what is waited for; goes when anything else is said
    begun = False  # whether a line of a result has begun that is not to be overwritten


def sign(text: str, environ: Mapping[str, str] | None = None) -> None:
    """Show on a terminal what is waited for, until anything else is said; empty: no more."""
    if text == _Line.sign or sys.stderr is None:
        return
    if text and (_Line.begun or not _has_terminal(environ)):
        return
    _Line.sign = text
    with suppress(OSError):
        sys.stderr.write(f"\r\x1b[2K{_fitting(clean(text))}")
        sys.stderr.flush()


def _fitting(text: str) -> str:
    """Cut a text to one line of the terminal: only that can be taken away again."""
    most = columns(sys.stderr) - 1
    if _cells(text) <= most:
        return text
    end = next((size for size in range(most, 0, -1) if _cells(text[:size]) < most), 0)
    return f"{text[:end]}…" if most > 0 else ""


def _cells(text: str) -> int:
    """Return how many cells a text takes: letters of the east and pictures take two."""
    if text.isascii():
        return len(text)
    import wcwidth  # no command that shows no sign waits for it

    size = wcwidth.wcswidth(text)
    return size if size >= 0 else sum(max(0, wcwidth.wcwidth(char)) for char in text)


def _has_terminal(environ: Mapping[str, str] | None) -> bool:
    """Tell whether stderr is a terminal on which a line can be taken away again."""
    dumb = (os.environ if environ is None else environ).get("TERM") == "dumb"
    return sys.stderr is not None and sys.stderr.isatty() and not dumb


def columns(stream: TextIO) -> int:
    """Return how wide the terminal of a stream is now; it may have been resized."""
    try:
        width = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError, AttributeError):  # no terminal, closed, or no file at all
        width = 0
    return width or shutil.get_terminal_size().columns


def asked(question: str, default: str, check: Callable[[str], str]) -> str:
    """Ask for a line at the terminal until it will do; if not, `check` raises a UsageError."""
    sign("")
    while True:
        try:
            return check(str(typer.prompt(question, err=True, default=default)).strip())
        except UsageError as error:
            say(f"{error}")


def agrees(question: str, *, default: bool) -> bool:
    """Ask the person at the terminal; the sign of what is waited for makes way."""
    sign("")
    return typer.confirm(question, default=default, err=True)


class Thinking:
    """Says an answer as it comes; until then, and in between, a sign that the entity thinks.

    At a terminal the sign is a line that goes when the answer comes; elsewhere one that stays.
    Where nobody can hear the answer, it goes on all the same, to be kept.
    """

    def __init__(
        self, name: str, say: Callable[[str], None], environ: Mapping[str, str] | None = None
    ) -> None:
        self._name, self._say, self._environ = name, say, environ
        self._begun = False
        self._trouble: ReaderLeftError | UserError | None = None

    def wait(self, what: str) -> None:
        """Show on a terminal what it does: `reads`; nothing elsewhere."""
        sign(f"{self._name} {what} …", self._environ)

    def begin(self) -> None:
        """Show that it thinks."""
        if self._begun:
            return
        self._begun = True
        if _has_terminal(self._environ):
            self.wait("is thinking")
        else:
            say(f"{self._name} is thinking …")

    def speak(self, text: str) -> None:
        """Say a piece of the answer; the sign goes."""
        sign("")
        self._begun = False
        if self._trouble is None:
            try:
                self._say(text)
            except (ReaderLeftError, UserError) as error:
                self._trouble = error

    def complain(self) -> None:
        """Tell what was in the way of saying it.

        Raises:
            ReaderLeftError: If whoever listened has gone.
            UserError: If the system refused the output.
        """
        if self._trouble is not None:
            raise self._trouble


STOPPED = {
    "waiting": "the entity waits: it thinks there is more to come",
    "silent": "the entity says nothing to that",
    "step_cap": "the entity used all the steps it has for one turn",
    "length": "the answer reached its longest length, again and again",
    "repeating": "the answer only repeated itself",
    "unfinished": "the entity did not finish, however often it was asked",
    "interrupted": "interrupted; what was said is kept",
    "unreadable": "",
    "failed": "the answer broke off, and what came of it until then is kept",
}


def stopped(reason: str, why: str = "") -> None:
    """Say why a turn ended, if it did not end by itself.

    Args:
        reason: As the loop names it.
        why: What the loop knows of it, in its own words.
    """
    sentence = ": ".join(part for part in (STOPPED.get(reason, ""), why) if part)
    if sentence and reason != "done":
        say(f"stopped: {sentence}")


def speech(name: str, *, always: bool = False) -> Callable[[str], None]:
    """Return what says one answer, piece by piece, the first behind the name of who speaks.

    Args:
        name: Of who speaks.
        always: Whether it stands there elsewhere than on a terminal, too.
    """
    terminal = sys.stdout is not None and sys.stdout.isatty()
    head = f"{name}> " if terminal or always else ""

    def say_piece(text: str) -> None:
        nonlocal head
        shown, head = head + text, ""
        piece(shown)

    return say_piece
