"""What record commands write: texts as users give them, applied or shown, asked first, edited."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, BinaryIO

import typer

from bumble.cli import listing, opening, output, setting_files
from bumble.cli.process import Shell
from bumble.entity import changes, commits, companions, secrets
from bumble.errors import DraftInvalidError, RecordInvalidError, RefusedError, UsageError, UserError
from bumble.files import disk
from bumble.records import base, kind, provenance
from bumble.runtime import audiences
from bumble.text import markdown, printable, words

MAX_QUERY_CHARS = 10_000
USUAL_EDITORS = ("nano", "vi", "notepad")


@contextmanager
def draft(
    shell: Shell, name: str, text: str, check: Callable[[str, Path | None], object], instead: str
) -> Iterator[str]:
    """Let the user edit a text, and hold on to what was typed until the block ends well.

    Args:
        shell: Of the command.
        name: Of the file the editor shows.
        text: What it shows at first.
        check: Takes what was typed and the copy; raises `DraftInvalidError` if it will not do.
        instead: How else the text can be given, for who has no editor.

    Yields:
        What was typed.

    Raises:
        UserError: If there is no editor, or it fails.
        DraftInvalidError: If what was typed will not do, and nobody is there to mend it.
    """
    before = text.encode(errors="surrogateescape")
    file = Path(tempfile.mkdtemp(prefix="bumble-")) / name
    is_saved = False
    try:
        disk.write_atomic(file, before)
        yield _typed(shell, file, text, check, instead)
        is_saved = True
    finally:
        if is_saved or disk.read_if_there(file) in (None, before):
            shutil.rmtree(file.parent, ignore_errors=True)
        else:
            output.warn(shell, f"what you typed is kept in {file}")


def _typed(
    shell: Shell,
    file: Path,
    text: str,
    check: Callable[[str, Path | None], object],
    instead: str,
) -> str:
    command = _command(shell, instead)
    while True:
        _run(shell, command, file)
        if (data := disk.read_if_there(file)) is None:  # saved nothing, and threw the copy away
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


def _run(shell: Shell, command: Sequence[str], file: Path) -> None:
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


def _command(shell: Shell, instead: str) -> list[str]:
    if named := shell.environ.get("VISUAL") or shell.environ.get("EDITOR"):
        try:
            return shlex.split(named, posix=os.name != "nt")
        except ValueError as error:
            raise UserError(f"The editor `{named}` can't be run: {error}") from None
    usual = next(filter(None, map(shutil.which, USUAL_EDITORS)), None)
    if usual is None or not shell.interactive:
        raise UserError(f"There is no editor to open.\nSet VISUAL or EDITOR, or {instead}.")
    return [usual]


TextArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[TEXT]", help="`-` reads it from standard input; without it an editor opens."
    ),
]
EditorOption = Annotated[bool, typer.Option("--editor", help="Write it in $VISUAL or $EDITOR.")]
UNPRINTABLE = ("Cc", "Cs", "Zl", "Zp")  # controls, halves of characters, line and page ends
AS_ARGUMENT = "give the text as an argument or on standard input"
TOO_LONG = (
    f"The text is longer than {markdown.MAX_BYTES:,} bytes; nothing was changed.\n"
    "Keep it in a file of its own, and note what it says and where it lies."
)


@contextmanager
def collect(
    shell: Shell,
    words: Sequence[str] | None,
    *,
    in_editor: bool,
    name: str,
    before: str = "",
    required: bool = True,
    instead: str = AS_ARGUMENT,
) -> Iterator[str]:
    """Get a text from wherever the user gives it; one that was typed is kept if the block fails.

    Args:
        shell: Of the command.
        words: What stands on the command line; `-` alone is standard input.
        in_editor: Whether an editor is wanted in any case; words are what it shows at first.
        name: Of the file the editor shows.
        before: What the editor shows without words: the text as it is.
        required: Whether the text may not be empty; if it may, only what is given is taken.
        instead: How else it can be given, for who has no editor.

    Raises:
        UsageError: If it is empty, too long, or no text.
        RefusedError: If it holds a secret.
    """
    text = " ".join(words or ())
    if text == "-" or not (words or in_editor or sys.stdin.isatty()):
        text = standard_input() if words or required else ""
    elif in_editor or (not words and required):
        shown = f"{text or before}\n" if text or before else ""
        with draft(shell, name, shown, lambda *_: None, instead) as typed:
            yield _text(typed, required=required)
        return
    yield _text(text, required=required)


def _text(text: str, *, required: bool) -> str:
    if not text.strip() and required:
        raise UsageError("The text is empty; nothing was changed.")
    if len(text.encode()) > markdown.MAX_BYTES:
        raise UsageError(TOO_LONG)
    secrets.refuse(text)
    return str(printable.whole(text)).replace("\r\n", "\n").strip("\n")


def text_of(typed: Sequence[str], most: int = MAX_QUERY_CHARS) -> str:
    """Return what was typed as one text; `-` alone reads it from standard input.

    Raises:
        UsageError: If it is empty, or too long.
    """
    text = standard_input() if list(typed) == ["-"] else str(printable.whole(" ".join(typed)))
    if not text.strip():
        raise UsageError("Nothing was done: the text is empty.")
    if len(text) > most:
        raise UsageError(f"That text is longer than {most:,} characters: keep it in a file.")
    return text.strip("\n")


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
        raise UsageError(TOO_LONG)
    try:
        return str(printable.whole(data.decode("utf-8-sig")))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{where}:{line}: not UTF-8 text; nothing was changed.") from None


def one_line(text: str, what: str, most_chars: int | None = None) -> str:
    """Return a name or a title, checked to be one line of text.

    Args:
        text: As it was given.
        what: What it is.
        most_chars: How long it may be.

    Raises:
        UsageError: If it is empty, too long, or holds what a line can't show.
    """
    if not (line := words.one_line(text)):
        raise UsageError(f"The {what} is empty; nothing was changed.")
    if any(unicodedata.category(char) in UNPRINTABLE for char in line):
        raise UsageError(f"The {what} should be one line of printable text; nothing was changed.")
    if most_chars is not None and len(line) > most_chars:
        raise UsageError(f"The {what} should be at most {most_chars} characters long.")
    return line


FromOption = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="FILE", help="Take the whole text from a file, `-` being standard input."
    ),
]


def commit(
    opened: opening.Opened,
    command: str,
    planned: Sequence[changes.Change | None],
    sentence: str,
    *,
    unchanged: str = "Nothing to do: it says so already.",
    dry_run: bool,
    trailers: tuple[tuple[str, str], ...] = (),
    **data: Any,
) -> None:
    """Write what was planned, or show it, and print what came of it.

    Args:
        opened: The entity.
        command: For JSON, and the title of the change set.
        planned: The changes; None where nothing differs.
        sentence: What to say once they are written.
        unchanged: What to say when there are none.
        dry_run: Whether to show them only.
        trailers: For the history.
        data: What else JSON tells.

    Raises:
        RefusedError: If a file would grow beyond what bumble reads.
    """
    wanted = [change for change in planned if change is not None]
    shown = [shown_change(opened, change) for change in wanted]
    if wanted and not dry_run:
        apply(opened, changes.ChangeSet(f"{command}: {wanted[0].why}", tuple(wanted), trailers))
    answer = {
        "changed": bool(wanted),
        "dry_run": dry_run,
        **data,
        "changes": shown if dry_run else [without_diff(change) for change in shown],
    }
    lines = described(shown) if wanted and dry_run else [sentence if wanted else unchanged]
    output.result(opened.shell, command, answer, lines)
    if wanted and dry_run:
        output.say("Nothing was written: --dry-run.")


def apply(opened: opening.Opened, change_set: changes.ChangeSet, *, trusts: bool = True) -> None:
    """Write a change set; in a git folder it becomes a commit.

    Args:
        opened: The entity.
        change_set: What is written.
        trusts: Whether its owner worded it just now, so that what it makes run needs no new trust.
    """
    timeout, root = opened.config.limits.lock_timeout_seconds, opened.entity.root
    paths = [change.path for change in change_set.changes] if trusts else []
    with setting_files.trust_renewed(opened.shell, root, paths):
        commits.apply(root, change_set, opened.commit_policy, timeout_seconds=timeout)


def described(changes: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the lines of planned changes."""
    return [
        line
        for change in changes
        for line in (f"{change['path']}: {change['why']}", *change["diff"])
    ]


def without_diff(shown: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in shown.items() if key != "diff"}


def shown_change(opened: opening.Opened, change: changes.Change) -> dict[str, Any]:
    """Return a change as data, with its diff against the file as it is, as it may be seen.

    Of what is for others alone it says that there is something: neither the change nor the lines
    around another one show it.
    """
    root, path = opened.entity.root, Path(change.path)
    before = companions.read(root, change.path)
    after = (before or b"") + (change.data or b"") if change.adds else change.data
    limit = markdown.MAX_BYTES
    if after is not None and len(after) > limit and path.suffix == ".md":
        raise RefusedError(
            f"{change.path}: it would grow to {len(after):,} bytes; bumble reads up to {limit:,}\n"
            "Nothing was written. Keep the text in a file of its own."
        )
    version, reader = changes.Version(change.path, before, after), listing.reader(opened)
    hidden, seen = audiences.hides(reader, [version]), audiences.seen(reader, version)
    parts = zip(
        *(companions.parted(change.path, data) for data in (seen.before, seen.after)), strict=True
    )
    # what the record's own file shows; where that stays, what stands beside it
    sides = next(((old, new) for (_, old), (_, new) in parts if old != new), (None, None))
    old, new = ((data or b"").decode(errors="replace") for data in sides)
    return {
        "path": audiences.named(change.path, hidden),
        "why": provenance.withheld(hidden) if hidden else change.why,
        "action": action(before, after),
        "diff": list(kind.changed_lines(old, new, context=0)),
    }


def action(before: bytes | None, after: bytes | None) -> str:
    """Return what is done to a file, by its bytes; None where it isn't there."""
    return "make" if before is None else "remove" if after is None else "change"


def confirm(shell: Shell, question: str, advice: str, *, yes: bool) -> None:
    """Ask before something is lost; a program that reads --json is asked nothing.

    Raises:
        RefusedError: If the answer is no, or nobody is there to ask and --yes was not given.
    """
    if yes:
        return
    if not shell.asks:
        nobody = "With --json nobody is asked." if shell.json else "Nobody is here to answer."
        raise RefusedError(f"{question} {nobody}\n{advice}")
    if not output.agrees(question, default=False):
        raise RefusedError("Nothing was changed.")


def edit(
    opened: opening.Opened,
    command: str,
    path: str,
    parse: Callable[[str], object],
    *,
    source: str | None,
    dry_run: bool,
    guard: Callable[[str, str], None] | None = None,
) -> None:
    """Let the user edit a record's file, and write it if it can still be read.

    The file may be broken before: this is how it is mended.

    Args:
        opened: The entity.
        command: For JSON and messages: `belief edit`.
        path: Of the file, relative to the entity folder.
        parse: Reads the record; raises ValueError if the text is not one.
        source: Where the new text is, instead of an editor: a file, or `-`.
        dry_run: Whether to show the change only.
        guard: Takes the old and the new text; raises RefusedError if it may not become that.

    Raises:
        DraftInvalidError: If the new text can't be read as such a record.
        FileChangedError: If the file moved on while the editor was open.
    """
    file = opened.within(opened.entity.root / path)
    whole = companions.read(opened.entity.root, path)
    before = (disk.read_if_there(file) or b"").decode(errors="surrogateescape")

    def check(text: str, place: Path | None) -> None:
        if not text.strip():
            raise UsageError(f"The text is empty; {path} was left as it is.")
        _check(companions.of_file(file, text), place, path, parse)
        if guard is not None:
            guard(*(one.replace("\r\n", "\n") for one in (before, text)))

    def write(typed: str) -> None:
        # in the line ends of the file, whichever the editor wrote
        text = typed.replace("\r\n", "\n").replace("\n", markdown.newline_of(before))
        edited = companions.of_file(file, text)
        read, data = companions.digest(path, whole), edited.encode(errors="replace")
        planned = [changes.Change(path, f"edit {path} by hand", data, read, settles=True)]
        commit(
            *(opened, command, planned if text != before else [], f"Wrote {path}."),
            unchanged=f"Nothing to do: {path} is as it was.",
            dry_run=dry_run,
        )

    if source is not None:
        text = from_file(opened.shell, source)
        check(text, None if source == "-" else opened.shell.path(Path(source)))
        write(text)
        return
    instead = "give the whole text with --from FILE, `-` being standard input"
    with draft(opened.shell, PurePosixPath(path).name, before, check, instead) as typed:
        write(typed)


def _check(text: str, place: Path | None, record: str, parse: Callable[[str], object]) -> None:
    """Hold a text against its parser; the errors of a file name its line."""
    where = "standard input" if place is None else str(place)
    if len(text.encode("utf-8", "replace")) > markdown.MAX_BYTES:
        raise DraftInvalidError(
            where, f"it is longer than {markdown.MAX_BYTES:,} bytes", None, record
        )
    try:
        base.of_text(text, place or Path(record), lambda source, _: parse(source))
    except RecordInvalidError as error:
        raise DraftInvalidError(where, error.problem, error.line, record) from error
