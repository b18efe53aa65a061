"""How record commands write: apply or `--dry-run`, show the diff, ask first, edit by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import unified_diff
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import typer

from bumble.cli import output, setting_files, text_input
from bumble.cli.opening import Opened
from bumble.cli.process import Shell
from bumble.entity import changes, commits, companions
from bumble.errors import DraftInvalidError, RecordInvalidError, RefusedError
from bumble.records import base
from bumble.text import markdown

FromOption = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="FILE", help="Take the whole text from a file, `-` being standard input."
    ),
]


def commit(
    opened: Opened,
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
    answer = {"changed": bool(wanted), "dry_run": dry_run, **data}
    answer["changes"] = shown if dry_run else [_without_diff(change) for change in shown]
    lines = [unchanged if not wanted else sentence]
    if wanted and dry_run:
        lines = [
            line
            for change in shown
            for line in (f"{change['path']}: {change['why']}", *change["diff"])
        ]
    output.result(opened.shell, command, answer, lines)
    if wanted and dry_run:
        output.say("Nothing was written: --dry-run.")


def apply(opened: Opened, change_set: changes.ChangeSet, *, trusts: bool = True) -> None:
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


def _without_diff(shown: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in shown.items() if key != "diff"}


def shown_change(opened: Opened, change: changes.Change) -> dict[str, Any]:
    """Return a change as data, with its diff against the file as it is."""
    root, path = opened.entity.root, Path(change.path)
    before = companions.read(root, change.path)
    after = (before or b"") + (change.data or b"") if change.adds else change.data
    limit = markdown.MAX_BYTES
    if after is not None and len(after) > limit and path.suffix == ".md":
        raise RefusedError(
            f"{change.path}: it would grow to {len(after):,} bytes; bumble reads up to {limit:,}\n"
            "Nothing was written. Keep the text in a file of its own."
        )
    action = "change" if before is not None else "make"
    shown = [_shown(change.path, data) for data in (before, after)]
    return {
        "path": change.path,
        "why": change.why,
        "action": "remove" if after is None else action,
        "diff": _diff(*shown),
    }


def _shown(path: str, data: bytes | None) -> bytes | None:
    """Return what the file of a record shows of its whole."""
    return companions.parted(path, data)[0][1]


def _diff(before: bytes | None, after: bytes | None) -> list[str]:
    old, new = ((data or b"").decode(errors="replace").splitlines() for data in (before, after))
    return list(unified_diff(old, new, lineterm="", n=1))[2:]


def confirm_removal(opened: Opened, what: str, path: str, *, yes: bool, dry_run: bool) -> None:
    """Ask before a record's file, or a section of it, is removed; a dry run removes nothing.

    Raises:
        RefusedError: As `confirm` does.
    """
    if not dry_run:
        confirm(opened.shell, f"Remove {what} ({path})?", "Remove it with --yes.", yes=yes)


def confirm(shell: Shell, question: str, advice: str, *, yes: bool) -> None:
    """Ask before something is lost; a program that reads --json is asked nothing.

    Raises:
        RefusedError: If the answer is no, or nobody is there to ask and --yes was not given.
    """
    if yes:
        return
    if shell.json or not shell.interactive:
        nobody = "With --json nobody is asked." if shell.json else "Nobody is here to answer."
        raise RefusedError(f"{question} {nobody}\n{advice}")
    if not output.agrees(question, default=False):
        raise RefusedError("Nothing was changed.")


def edit_record(
    opened: Opened,
    command: str,
    path: Path,
    parse: Callable[[str, str], object],
    *,
    source: str | None,
    dry_run: bool,
) -> None:
    """Let the user edit a record that has a file to itself, named for it; see `edit`."""
    edit(
        opened,
        command,
        opened.entity.relative(path),
        lambda text: parse(text, path.stem),
        source=source,
        dry_run=dry_run,
    )


def edit(
    opened: Opened,
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
    whole = base.read_text(file) if file.exists() else None
    before = base.read_shown(file) if file.exists() else ""

    def check(text: str, place: Path | None) -> None:
        _check(companions.of_file(file, text), place, path, parse)
        if guard is not None:
            guard(before, text)

    def write(text: str) -> None:
        edited = companions.of_file(file, text)
        planned = [changes.write(path, edited, whole, f"edit {path} by hand")]
        unchanged = f"Nothing to do: {path} is as it was."
        changed = planned if text != before else []
        commit(opened, command, changed, f"Wrote {path}.", unchanged=unchanged, dry_run=dry_run)

    if source is not None:
        text = text_input.from_file(opened.shell, source)
        check(text, None if source == "-" else opened.shell.path(Path(source)))
        write(text)
        return
    with text_input.draft(opened.shell, PurePosixPath(path).name, before, check) as typed:
        write(typed)


def _check(text: str, place: Path | None, record: str, parse: Callable[[str], object]) -> None:
    """Hold a text against its parser; the errors of a file name its line."""
    where = "standard input" if place is None else str(place)
    if len(text.encode("utf-8", "replace")) > markdown.MAX_BYTES:
        problem = f"it is longer than {markdown.MAX_BYTES:,} bytes"
        raise DraftInvalidError(where, problem, None, record)
    try:
        base.of_text(text, place or Path(record), lambda source, _: parse(source))
    except RecordInvalidError as error:
        raise DraftInvalidError(where, error.problem, error.line, record) from error
