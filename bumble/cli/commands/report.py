"""`bumble report`: the entity's life as one page for a browser, which loads nothing."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from bumble.bridges.exports import destination
from bumble.bridges.report import body_over_time, page
from bumble.bridges.report.body_over_time import BodyMoment
from bumble.bridges.report.life import Collector, shown
from bumble.bridges.report.page import LifeReport
from bumble.cli import body_view, listing, output, people
from bumble.cli.entity_command import shows
from bumble.cli.opening import Opened
from bumble.errors import (
    HistoryClosedError,
    HistoryMissingError,
    HistoryUnreadableError,
    RefusedError,
    UsageError,
    UserError,
)
from bumble.files import disk
from bumble.history import log
from bumble.records import kinds
from bumble.records.provenance import Reader

app = typer.Typer(rich_markup_mode=None)
STDOUT = Path("-")


@app.command()
@shows
def report(
    opened: Opened,
    dest: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="The page to make; - prints it. By default NAME-report.html."
        ),
    ] = None,
    *,
    person: Annotated[
        str | None,
        typer.Option("--for", metavar="PERSON", help="Only what this person may know."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file that is no report.")
    ] = False,
) -> None:
    """Make a page of its life, for a browser.

    It shows what happened, who it knows, what it believes and why.

    One file that loads nothing and sends nothing: at first the little that tells most, then all of
    it, people, beliefs down to what was said, dreams, a timeline. An earlier report is replaced.
    """
    if dest == STDOUT and opened.shell.json:
        raise UsageError("The page goes where --json would print: name a FILE.")
    target = None if dest == STDOUT else _target(opened, dest)
    if target is not None:
        _check(target, opened.root, force=force)
    reader = listing.reader(opened)
    if person is not None:
        reader = Reader(people.find(opened, person).id)
    made = _report(opened, reader)
    text = page.render(made)
    for path in made.life.unread:
        output.warn(opened.shell, f"{path} can't be read and was left out: `bumble doctor`.")
    if target is None:
        output.piece(text)
        return
    data = text.encode("utf-8", "replace")
    destination.put_file(target, data)
    _tell(opened, made, target, len(data), reader)


def _target(opened: Opened, dest: Path | None) -> Path:
    """Return where the page goes: by default into the folder one is in, or beside the entity's."""
    if dest is not None:
        return Path(os.path.abspath(opened.shell.path(dest)))  # noqa: PTH100  (no link)
    place = Path(os.path.realpath(opened.shell.cwd))
    home = Path(os.path.realpath(opened.root))
    place = home.parent if place == home or home in place.parents else place
    return place / f"{disk.file_name(opened.identity.name)}-report.html"


def _check(target: Path, root: Path, *, force: bool) -> None:
    is_ours = False
    with suppress(OSError):
        is_ours = page.is_report(disk.read(target, most=page.HEAD_BYTES))
    if target.is_file() and not (is_ours or force):
        raise RefusedError(
            f"{target} is there already, and is no report\n"
            "`--force` replaces it; nothing was written."
        )
    destination.check(target, root, force=True)


def _report(opened: Opened, reader: Reader) -> LifeReport:
    zone = opened.zone
    now = opened.shell.now().astimezone(zone)
    name = opened.identity.name
    progress = output.Progress(f"Reading {name}'s memories", opened.shell.environ)
    collector = Collector(opened.entity, zone, name, reader, now)
    life = collector.collect(progress)
    progress.clear()
    moments = _history(opened) if reader.is_owner else []
    present = _present(opened) if reader.is_owner else None
    return LifeReport(
        shown(name),
        "" if reader.is_owner else collector.names.get(reader.id, shown(reader.id)),
        now,
        life,
        body_over_time.of(life.of(kinds.EPISODE), moments, present),
    )


def _history(opened: Opened) -> list[BodyMoment]:
    """Return the body by the history of its file.

    Only the owner gets it: when it moved, others talked.
    """
    try:
        log.require(opened.root)
        return body_over_time.history(opened.root, opened.zone)
    except HistoryMissingError:
        return []
    except (HistoryClosedError, HistoryUnreadableError) as error:
        output.warn(opened.shell, f"The history was left out: {error}")
        return []


def _present(opened: Opened) -> BodyMoment | None:
    """Return the body at present; None where nothing has moved it, or its file can't be read."""
    try:
        presence = body_view.look(opened)
    except UserError as error:
        output.warn(opened.shell, f"The present body was left out: {error}")
        return None
    if presence.stored_at is None:
        return None
    return body_over_time.BodyMoment(presence.soma.at, body_over_time.levels(presence.soma))


def _tell(opened: Opened, made: LifeReport, target: Path, size: int, reader: Reader) -> None:
    life = made.life
    counts = {kind: len(entries) for kind, entries in sorted(life.entries.items())}
    data = {
        "to": str(target),
        "for": None if reader.is_owner else reader.id,
        "bytes": size,
        "counts": {**counts, "person": len(life.people)},
        "withheld": life.withheld,
        "unread": life.unread,
    }
    memories = f"{life.count:,} memor{'y' if life.count == 1 else 'ies'}"
    lines = [f"Wrote {target}", f"  {memories}, {output.size(size)}"]
    if life.withheld:
        whose = "only for others; --all has them" if reader.is_owner else "that they may not know"
        lines.append(f"  {life.withheld} {whose} were left out")
    output.result(opened.shell, "report", data, lines)
