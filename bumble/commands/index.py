"""`bumble index`: bring the search index up to date, rebuild it, show its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from bumble import files
from bumble.app import index_place, opening, output, weights
from bumble.app.opening import Opened
from bumble.cli import listing
from bumble.cli.entity_command import reads
from bumble.errors import FolderUnwritableError, IndexUnusableError, RecordInvalidError

if TYPE_CHECKING:
    from bumble.embed.protocol import Embedder
    from bumble.index.place import Place
    from bumble.index.sync import SyncReport

app = typer.Typer(rich_markup_mode=None)
WAIT_SECONDS = 30.0  # for another process that is at the same
RebuildOption = Annotated[
    bool, typer.Option("--rebuild", help="Throw the index away and make it anew.")
]


@app.command()
@reads
def index(
    opened: Opened,
    *,
    rebuild: RebuildOption = False,
) -> None:
    """Bring the search index up to date with the files.

    Every command that searches does this by itself; the index can be deleted at any time.
    """
    embedder = weights.embedder(opened)
    report, at = up_to_date(opened, embedder, rebuild=rebuild)
    lines = [_summary(report), _vectors(report, embedder)]
    data = _data(opened, report, at, embedder)
    output.result(opened.shell, "index", data, [line for line in lines if line])
    readable = report.added + report.changed + report.unchanged - len(report.problems)
    if report.problems and readable <= 0:
        raise typer.Exit(RecordInvalidError.exit_code)


def up_to_date(
    opened: Opened,
    embedder: Embedder | None,
    *,
    rebuild: bool = False,
    wait_seconds: float = WAIT_SECONDS,
) -> tuple[SyncReport, Place]:
    """Bring the index up to date, with a bar on a terminal and a warning for each unreadable file.

    Returns:
        What was done, and where the index lies: in the user's cache, if the entity's folder can't
        be written and its own index is behind.

    Raises:
        FolderUnwritableError: If the system refuses a write there too.
    """
    from bumble.index import backend, place

    at = index_place.of(opened.entity, opened.config.index)
    try:
        report = synced(opened, embedder, at, rebuild=rebuild, wait_seconds=wait_seconds)
    except FolderUnwritableError as error:
        reason = str(error).splitlines()[0]
        if not rebuild and (still := _still_good(opened, embedder, at)):
            return still, at
        at = place.elsewhere(opened.shell.index_elsewhere(opened.entity.root))
        files.make_folder(at.database.parent)
        output.warn(opened.shell, f"{reason}\nThe index is kept in {at.database.parent} instead.")
        report = synced(opened, embedder, at, rebuild=rebuild, wait_seconds=wait_seconds)
    for note in report.notes:
        output.warn(opened.shell, note)
    for problem in report.problems:
        output.warn(opened.shell, str(problem))
    return report, backend.settled(at)


def synced(
    opened: Opened,
    embedder: Embedder | None,
    at: Place,
    *,
    rebuild: bool = False,
    wait_seconds: float = WAIT_SECONDS,
) -> SyncReport:
    """Bring an index up to date, with a bar on a terminal."""
    from bumble.index import sync

    bars: dict[str, output.Progress] = {}

    def progress(stage: str, count: int, total: int) -> None:
        bars.setdefault(stage, output.Progress(stage, opened.shell.environ))(count, total)

    try:
        return sync.sync(
            opened.entity,
            embedder,
            name=opened.identity.name,
            zone=opening.zone(opened),
            by_token=opened.config.recall.late_interaction,
            rebuild=rebuild,
            where=at,
            progress=progress,
            wait_seconds=wait_seconds,
        )
    finally:
        for bar in bars.values():
            bar.clear()


def _still_good(opened: Opened, embedder: Embedder | None, at: Place) -> SyncReport | None:
    """Return a report that nothing had to be done, if the index is up to date as it lies there."""
    from bumble.index import rows, scan, sync

    try:
        state = sync.state(opened.entity, at)
    except IndexUnusableError:
        return None
    wanted = rows.encoded(embedder.identity) if embedder else state.identity
    if not state.exists or state.stale or state.queued or state.identity != wanted:
        return None
    return sync.SyncReport(unchanged=len(scan.scan(opened.entity)), waiting=state.waiting)


def _summary(report: SyncReport) -> str:
    total = report.added + report.changed + report.unchanged
    broken = f", {len(report.problems)} of them unreadable" if report.problems else ""
    if not (report.added or report.changed or report.removed):
        return f"Nothing to do: {listing.counted(total, 'file')}{broken}, as they were."
    sentence = f"{report.added:,} added, {report.changed:,} changed, {report.removed:,} removed"
    return f"{listing.counted(total, 'file')}{broken}: {sentence}."


def _vectors(report: SyncReport, embedder: Embedder | None) -> str:
    if embedder is not None and report.embedded:
        of = f"{embedder.identity.model}, {embedder.identity.dimensions} dimensions"
        return f"{listing.counted(report.embedded, 'text')} embedded by {of}."
    if report.waiting:
        passages = listing.counted(report.waiting, "passage")
        return f"{passages} without a vector: words alone find them."
    return ""


def _data(
    opened: Opened, report: SyncReport, at: Place, embedder: Embedder | None
) -> dict[str, Any]:
    return {
        "added": report.added,
        "changed": report.changed,
        "removed": report.removed,
        "unchanged": report.unchanged,
        "embedded": report.embedded,
        "waiting": report.waiting,
        "complete": report.complete,
        "embedding": embedder.identity.model if embedder else None,
        "dimensions": embedder.identity.dimensions if embedder else None,
        "database": at.shown,
        "problems": [problem_data(opened, problem) for problem in report.problems],
    }


def problem_data(opened: Opened, problem: RecordInvalidError) -> dict[str, Any]:
    """Return what is wrong with a file, for JSON."""
    path = opened.entity.relative(problem.path)
    return {"path": path, "line": problem.line, "problem": problem.problem}
