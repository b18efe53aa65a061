"""`bumble index`: bring the search index up to date, rebuild it, show its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from bumble.cli import index_place, listing, output
from bumble.cli.command import reads
from bumble.cli.models import weights
from bumble.cli.opening import Opened
from bumble.errors import RecordInvalidError

if TYPE_CHECKING:
    from bumble.index.place import Place
    from bumble.index.sync import SyncReport
    from bumble.models.embed.protocol import Embedder


@reads
def index(
    opened: Opened,
    *,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Throw the index away and make it anew.")
    ] = False,
) -> None:
    """Bring the search index up to date with the files.

    Every command that searches does this by itself; the index can be deleted at any time.
    """
    embedder = weights.embedder(opened)
    report, at = index_place.up_to_date(opened, embedder, rebuild=rebuild)
    lines = [_summary(report), _vectors(report, embedder)]
    data = _data(opened, report, at, embedder)
    output.result(opened.shell, "index", data, [line for line in lines if line])
    readable = report.added + report.changed + report.unchanged - len(report.problems)
    if report.problems and readable <= 0:
        raise typer.Exit(RecordInvalidError.exit_code)


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
