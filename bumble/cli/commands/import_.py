"""`bumble import`: conversations, memories and characters out of other programs' files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bumble.bridges.imports import formats, source, writer
from bumble.bridges.imports.formats import Format
from bumble.bridges.imports.ledger import ImportContext, ImportReport
from bumble.bridges.imports.source import ImportSource
from bumble.bridges.imports.writer import Importer, Speaker
from bumble.cli import commit, listing, opening, output, people, text_input
from bumble.cli.entity_command import writes
from bumble.cli.opening import Opened
from bumble.cli.options import DryRunOption
from bumble.entity.changes import ChangeSet
from bumble.errors import ImportInvalidError, RefusedError, UsageError
from bumble.records import forgotten

app = typer.Typer(rich_markup_mode=None)


@app.command()
@writes
def command(
    opened: Opened,
    path: Annotated[Path, typer.Argument(metavar="FILE|DIR", help="A zip, a file, or a folder.")],
    *,
    form: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="FORMAT", help=f"One of {', '.join(formats.NAMES)}; else it shows."
        ),
    ] = None,
    speaker: Annotated[
        str | None,
        typer.Option("--as", metavar="PERSON", help="Whose files these are. Default: the owner."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="DATE", help="Only conversations that went on after this day or time."
        ),
    ] = None,
    dry_run: DryRunOption = False,
) -> None:
    """Bring in your history from ChatGPT, Claude and others.

    Also memories of agents, notes and characters.

    Conversations are kept word for word and found at once. Nothing is learnt of them until
    `bumble distill --session ID` says so, and of the person's own words alone. Run it again as
    often as you like: what is there already stays as it is.
    """
    name = text_input.one_line(speaker, "name") if speaker is not None else None
    who = people.speaking(opened, name)
    first = listing.moment(since, opened, "--from") if since else None
    place = opened.shell.real_path(path)
    if not place.exists():
        raise UsageError(f"{place}: there is no such file or folder.")
    _refuse_itself(opened, place)
    progress = output.Progress("importing", opened.shell.environ)
    with source.opened(place, lambda n, total: progress(n, total, in_bytes=True)) as files:
        wanted = formats.named(form) if form else formats.detect(files)
        importer = Importer(
            opened.entity,
            Speaker(who.id, who.name, who.trust),
            wanted.name,
            lambda planned: _apply(opened, planned, dry_run=dry_run),
            opened.shell.now(),
            first,
        )
        try:
            report = _run(files, wanted, importer, _context(opened, who.name))
        finally:
            progress.clear()
    if not dry_run:
        opening.forget_again(opened, brought_by="The import")
    if not report.read and report.broken:
        raise ImportInvalidError(place, _first_problem(report))
    _show(opened, wanted, report, dry_run=dry_run)


def _context(opened: Opened, person: str) -> ImportContext:
    entries = forgotten.read(opened.entity.root)
    return ImportContext(
        opened.zone, person, lambda name: any(entry.is_named(name) for entry in entries)
    )


def _refuse_itself(opened: Opened, place: Path) -> None:
    root = opened.entity.root.resolve()
    if place == root or root in place.parents:
        raise RefusedError(f"{place}: that is part of this very entity\nNothing was imported.")


def _apply(opened: Opened, planned: ChangeSet, *, dry_run: bool) -> None:
    if not dry_run:
        commit.apply(opened, planned, trusts=False)


def _run(
    files: ImportSource, wanted: Format, importer: Importer, context: ImportContext
) -> ImportReport:
    report = writer.run(wanted.read(files, context), importer)
    for item in files.left_out:
        report.leave(item)
    return report


def _first_problem(report: ImportReport) -> str:
    broken = [passed for passed in report.left_out.values() if passed.broken]
    return f"nothing in it could be read: {broken[0].why}"


def _show(opened: Opened, wanted: Format, report: ImportReport, *, dry_run: bool) -> None:
    data = {"format": wanted.name, "dry_run": dry_run, "changed": report.changed, **report.data()}
    verb = "Would import" if dry_run else "Imported"
    head = f"{verb} from {wanted.title}:" if report.changed else "Nothing new to import."
    lines = [head, *report.lines()]
    if report.new and not dry_run:
        lines.append(
            "`bumble recall` finds it; `bumble distill --session ID` learns from a conversation."
        )
    output.result(opened.shell, "import", data, lines)
    if dry_run and report.changed:
        output.say("Nothing was written: --dry-run.")
