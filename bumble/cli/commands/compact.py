"""`bumble compact`: shorten how a long conversation is shown; the transcript stays whole."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import replace

from bumble.cli import listing, output, run_job, runtimes
from bumble.cli.entity_command import runs_job
from bumble.cli.models import chat_model
from bumble.cli.opening import Opened
from bumble.cli.run_job import JobFlags
from bumble.errors import UsageError
from bumble.jobs import stretch
from bumble.prompt import compact
from bumble.prompt.compact import CompactJob
from bumble.records import session_files, sessions
from bumble.runtime.job import Condition, Due, JobResult
from bumble.runtime.runtime import Runtime

if TYPE_CHECKING:
    from bumble.records.sessions import Session

app = typer.Typer(rich_markup_mode=None)


@app.command()
@runs_job
def command(
    opened: Opened,
    flags: JobFlags,
    *,
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="ID", help="This conversation. Default: the newest."),
    ] = None,
    prune_only: Annotated[
        bool, typer.Option("--prune-only", help="Clear old tool results only; needs no model.")
    ] = False,
    no_model: Annotated[
        bool,
        typer.Option("--no-model", help="Keep the lines that say most, instead of a summary."),
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Take back the last compaction; nothing was lost.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Even if it is not too long yet.")] = False,
) -> None:
    """Show a long conversation shorter: cut, clear, summarise.

    What was said stays in the transcript, word for word; only what the model is shown changes.
    """
    if undo and (prune_only or no_model or force or flags.check):
        raise UsageError("--undo takes back the last compaction; it goes with no other.")
    talk = _session(opened, session)
    thinks = not (undo or prune_only or no_model or flags.check)
    with runtimes.open_runtime(opened, "compact", needs_model=thinks) as runtime:
        due: Due[Any]
        if undo:
            due = _undo_check(talk)
        else:
            due = compact.check(runtime, talk, chat_model.stable_tokens(opened, talk))
            gates = () if prune_only or force else due.conditions
            jobs = (replace(job, only_prune=prune_only, use_model=not no_model) for job in due.jobs)
            due = Due(gates, tuple(jobs))
        run_job.carry_out(
            opened,
            runtime,
            "compact",
            lambda _: due,
            _undo if undo else partial(_compact, dry_run=flags.dry_run),
            flags,
        )


def _compact(runtime: Runtime, job: CompactJob, *, dry_run: bool) -> JobResult:
    note = output.say if sys.stderr.isatty() else lambda _: None  # under cron nobody watches
    result = compact.run(runtime, job, note)
    if not job.use_model:
        return result
    if not dry_run:
        return stretch.flush(runtime, result, limit=None, note=note)
    if stretch.leaving(runtime, result) is None:
        return result
    sentence = (
        "Before that, what waits of these messages is distilled (`bumble distill --dry-run`)."
    )
    return replace(result, lines=(*result.lines, sentence))


def _undo_check(talk: Session | None) -> Due[Session]:
    count = len(talk.compactions) if talk else 0
    gate = Condition("compactions", str(count), "one to take back", count > 0)
    return Due((gate,), (talk,) if talk else ())


def _undo(runtime: Runtime, talk: Session) -> JobResult:
    last = talk.compactions[-1]
    line = sessions.Undo(runtime.now(), last.id)
    sentence = f"Took back {last.id}: {last.first} to {last.last} are shown again as before it."
    return JobResult(
        f"compact: take back {last.id}",
        lambda: [sessions.plan_append(talk, [line], "show the conversation as it was")],
        (sentence,),
        {"session": talk.id, "undone": last.id},
    )


def _session(opened: Opened, session_id: str | None) -> Session | None:
    if session_id is not None:
        return session_files.find(opened.entity.sessions, session_id)
    paths = session_files.paths(opened.entity.sessions)
    infos = listing.readable(opened, paths, session_files.read_info).records
    lived = [info for info in infos if info.imported is None]
    newest = next(reversed(session_files.by_recency(lived, opened.shell.now())), None)
    return session_files.find(opened.entity.sessions, newest.id) if newest else None
