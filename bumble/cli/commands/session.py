"""`bumble session`, `compact`: conversations listed, shown, ended; one shown shorter."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from json import dumps
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import replace

from bumble.cli import command, listing, output, people, writing
from bumble.cli.opening import Opened
from bumble.entity.changes import ChangeSet
from bumble.errors import RefusedError, UsageError, UserError
from bumble.records import base, session_files, sessions
from bumble.runtime.job import Condition, Due, JobResult
from bumble.runtime.runtime import Runtime
from bumble.text import words

if TYPE_CHECKING:
    from bumble.prompt.compact import CompactJob

app = command.group()
IdArgument = Annotated[
    str,
    typer.Argument(
        metavar="[ID]", help="Its id, six letters or more of its end, or `last`, the default."
    ),
]
CALL_CHARS = 160  # of a tool's call and result, in a conversation for people


@app.command("list")
@command.shows
def list_(
    opened: Opened,
    *,
    limit: listing.LimitOption = 20,
) -> None:
    """List conversations, the one that went on last first."""
    talks, viewer, folder = people.talks(opened), listing.Viewer(opened), opened.entity.sessions
    ids = [info.id for info in talks.records]
    listed = listing.readable(
        opened,
        [folder / name / sessions.FILE for name in ids],
        lambda path: viewer.session(session_files.load(path)),
        limit=limit,
    )
    listed = replace(listed, broken=listed.broken + talks.broken)
    names = people.names(opened)
    short = listing.short_ids([record.id for record in listed.records], ids)

    def line(session: sessions.Session) -> list[str]:
        return [
            short[session.id],
            listing.when(session.last_at, opened),
            ", ".join(names.get(person, person) for person in session.people),
            words.counted(_length(session), "message"),
            _state(session),
        ]

    def data(session: sessions.Session) -> dict[str, Any]:
        whole = _data(session)
        whole["messages"] = _length(session)
        return {key: value for key, value in whole.items() if key != "compactions"}

    listing.show_list(
        opened,
        "session list",
        listed,
        data,
        line,
        "No conversations. Begin one with `bumble chat`.",
        newest_first=True,
    )


@app.command()
@command.shows
def show(
    opened: Opened,
    session_id: IdArgument = listing.LAST,
    *,
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", min=1, metavar="N", help="The newest N messages only."),
    ] = None,
) -> None:
    """Show a conversation word for word, with the brief it left for the next."""
    viewer = listing.Viewer(opened)
    session = viewer.session(_load(opened, session_id))
    brief = session_files.read_handover(opened.entity.sessions, session.id)
    left = viewer.text(brief.text, base.Provenance(audience=session.people)) if brief else None
    data = _data(session) | {"handover": left}
    if limit is not None:
        data["messages"] = data["messages"][-limit:]
    text = [] if opened.shell.json else list(_conversation(opened, session, limit))
    if left and text:
        text += ["", "brief for the next conversation:", *_indented(left, "  ")]
    output.result(opened.shell, "session show", data, text)


@app.command()
@command.writes
def end(
    opened: Opened,
    session_id: IdArgument = listing.LAST,
    *,
    dry_run: command.DryRunOption = False,
) -> None:
    """End a conversation, so that the next `chat` begins another.

    It leaves the next one a brief of what was going on, if there is a model to write it.
    """
    session = _load(opened, session_id)
    if session.imported is not None:
        raise RefusedError(
            f"{session.id} was imported: it is over\nName the conversation that is to end."
        )
    ending, lines = ChangeSet(""), list[str]()
    if session.ended is None:
        if not dry_run:
            ending, lines = _brief(opened, session)
        last = sessions.plan_append(
            session, [sessions.End(opened.shell.now())], "end the conversation"
        )
        ending = replace(ending, changes=(last, *ending.changes))
    path = f"{sessions.FOLDER}/{session.id}/handover.md"
    writing.commit(
        opened,
        "session end",
        ending.changes,
        "\n".join([f"Ended {session.id}.", *lines]),
        unchanged=f"Nothing to do: {session.id} ended {listing.when(session.ended, opened)}.",
        dry_run=dry_run,
        trailers=ending.trailers,
        id=session.id,
        handover=any(change.path == path for change in ending.changes),
        handover_note=lines[0] if lines else None,
    )


def _brief(opened: Opened, session: sessions.Session) -> tuple[ChangeSet, list[str]]:
    """Plan the brief for the next conversation; whatever stands in its way is said, and it ends."""
    from bumble.cli import run_job
    from bumble.prompt import handover

    if not handover.is_worth(session):
        return ChangeSet(""), []
    try:
        with run_job.open_runtime(opened, "session end", needs_model=False) as runtime:
            result, change_set = handover.run(runtime, session).planned()
            return change_set, [(line[:1].upper() + line[1:]) for line in result.told]
    except UserError as error:
        why = str(error).splitlines()[0]
    except KeyboardInterrupt:
        why = "interrupted"
    return ChangeSet(""), [f"No brief for the next conversation: {why}"]


def _load(opened: Opened, session_id: str) -> sessions.Session:
    info = people.find_session(opened, session_id)
    session = session_files.load(opened.entity.sessions / info.id / sessions.FILE)
    if session.torn_line is not None:
        output.warn(
            opened.shell, f"{sessions.path(session.id)}:{session.torn_line}: the line was cut off"
        )
    return session


def _length(session: sessions.Session) -> int:
    return sum(message.role != "tool" for message in session.messages)


def _state(session: sessions.Session) -> str:
    if session.imported is not None:
        return sessions.told_origin(session.imported)
    if session.ended is not None:
        return "ended"
    return "unanswered" if session.unanswered else "open"


def _conversation(opened: Opened, session: sessions.Session, limit: int | None) -> Iterator[str]:
    """Yield the lines of a conversation for people."""
    names = people.names(opened)
    spoken = ", ".join(names.get(person, person) for person in session.people)
    began = listing.when(session.at, opened)
    yield f"{session.id}: with {spoken}, since {began}, {_state(session)}"
    summed_up = {
        compaction.last: compaction.summary
        for compaction in session.compactions
        if compaction.summary
    }
    for message in session.messages[-(limit or 0) :]:
        yield ""
        yield from _message(opened, message, names)
        if message.id in summed_up:
            yield from ("", "  (for the model, this summary stands for what came before:)")
            yield from _indented(summed_up[message.id], "    ")
    if session.ended is not None:
        yield from ("", f"ended {listing.when(session.ended, opened)}")


def _message(opened: Opened, message: sessions.Message, names: Mapping[str, str]) -> Iterator[str]:
    if message.role == "tool":
        yield f"  (result) {output.shorten(message.text, CALL_CHARS)}"
        return
    who = message.called(opened.identity.name, names) or "somebody"
    yield f"{who}, {listing.when(message.at, opened)}"
    yield from _indented(message.text, "  ")
    for call in message.tool_calls:
        arguments = dumps(call.arguments, ensure_ascii=False)
        yield f"  ({call.name} {output.shorten(arguments, CALL_CHARS)})"


def _indented(text: str, indent: str) -> Iterator[str]:
    # so that no message can pass for somebody else's
    yield from (f"{indent}{line}".rstrip() for line in text.splitlines())


def _data(session: sessions.Session) -> dict[str, Any]:
    return {
        "id": session.id,
        "at": session.at.isoformat(),
        "last_at": session.last_at.isoformat(),
        "people": list(session.people),
        "state": _state(session),
        "imported": dict(session.imported) if session.imported is not None else None,
        "ended": session.ended.isoformat() if session.ended else None,
        "messages": [
            {
                "id": message.id,
                "at": message.at.isoformat(),
                "role": message.role,
                "speaker": message.speaker,
                "name": message.called(),
                "text": message.text,
                "tool_calls": [
                    {"id": call.id, "name": call.name, "arguments": dict(call.arguments)}
                    for call in message.tool_calls
                ],
                "tool_call_id": message.tool_call_id,
                "trust": message.trust,
                "unanswered": message.unanswered,
            }
            for message in session.messages
        ],
        "compactions": [
            {
                "id": compaction.id,
                "summary": compaction.summary,
                "first": compaction.first,
                "last": compaction.last,
            }
            for compaction in session.compactions
        ],
    }


@command.runs_job
def compact(
    opened: Opened,
    flags: command.JobFlags,
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
    from bumble.cli import run_job
    from bumble.cli.models import chat_model
    from bumble.prompt import compact as compaction

    if undo and (prune_only or no_model or force or flags.check):
        raise UsageError("--undo takes back the last compaction; it goes with no other.")
    talk = _meant(opened, session)
    thinks = not (undo or prune_only or no_model or flags.check)
    with run_job.open_runtime(opened, "compact", needs_model=thinks) as runtime:
        due: Due[Any]
        if undo:
            count = len(talk.compactions) if talk else 0
            gate = Condition("compactions", str(count), "one to take back", count > 0)
            due = Due((gate,), (talk,) if talk else ())
        else:
            due = compaction.check(runtime, talk, chat_model.stable_tokens(opened, talk))
            jobs = (replace(job, only_prune=prune_only, use_model=not no_model) for job in due.jobs)
            due = Due(() if prune_only or force else due.conditions, tuple(jobs))
        run_job.carry_out(
            opened, runtime, "compact", lambda _: due, _undo if undo else _compact, flags
        )


def _compact(runtime: Runtime, job: CompactJob) -> JobResult:
    from bumble.jobs import stretch
    from bumble.prompt import compact as compaction

    note = output.say if sys.stderr.isatty() else lambda _: None  # under cron nobody watches
    result = compaction.run(runtime, job, note)
    if job.use_model and runtime.writes:
        return stretch.flush(runtime, result, limit=None, note=note)
    if not job.use_model or stretch.leaving(runtime, result) is None:
        return result
    sentence = (
        "Before that, what waits of these messages is distilled (`bumble distill --dry-run`)."
    )
    return replace(result, lines=(*result.lines, sentence))


def _undo(runtime: Runtime, talk: sessions.Session) -> JobResult:
    last = talk.compactions[-1]
    line = sessions.Undo(runtime.now(), last.id)
    return JobResult(
        f"compact: take back {last.id}",
        lambda: [sessions.plan_append(talk, [line], "show the conversation as it was")],
        (f"Took back {last.id}: {last.first} to {last.last} are shown again as before it.",),
        {"session": talk.id, "undone": last.id},
    )


def _meant(opened: Opened, session_id: str | None) -> sessions.Session | None:
    if session_id is not None:
        found = people.find_session(opened, session_id)
        return session_files.find(opened.entity.sessions, found.id)
    lived = [info for info in people.talks(opened).records if info.imported is None]
    return session_files.find(opened.entity.sessions, lived[-1].id) if lived else None
