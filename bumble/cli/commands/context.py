"""`bumble context`, `expand`, `route`: what a model is shown, and what a message is taken for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from bumble.chat import context_report, reply_writer
from bumble.chat import route as router
from bumble.cli import command, listing, opening, output, people, run_job, writing
from bumble.cli.talk import conversation, turn_view
from bumble.errors import RecordMissingError
from bumble.recall import whole_record
from bumble.records.base import Provenance
from bumble.records.provenance import withheld
from bumble.runtime import spoken
from bumble.text import languages

Sent = tuple[list[dict[str, Any]], list[dict[str, Any]]]  # messages, and the tools for them
app = command.group()
SAMPLE = "Hello."  # stands for the next message where none is given
MessageOption = Annotated[
    str | None, typer.Option("--message", "-m", metavar="TEXT", help="As if this were said next.")
]


def _reports(
    name: str, said: str, lines: Callable[[context_report.ContextReport], Iterable[str]]
) -> None:
    """Make a command that shows the report of a request."""

    def show(
        opened: opening.Opened,
        *,
        message: MessageOption = None,
        speaker: command.AsOption = None,
        session: people.OfSessionOption = None,
        estimate: Annotated[
            bool,
            typer.Option("--estimate", help="Of the next request, also where one was sent before."),
        ] = False,
    ) -> None:
        opened.shell.json |= name == "json"
        report = None  # that of the last request is asked for, if there is one
        if not estimate and message is None and speaker is None:
            of = people.find_session(opened, session).id if session is not None else ""
            report = conversation.last_report(opened, of)
        report = report or _estimated(opened, speaker, message, session)[0]
        output.result(
            opened.shell, f"context {name}", context_report.to_data(report), lines(report)
        )

    show.__doc__ = said
    app.command(name)(command.looks_back(show))


_reports("list", "Show what is in the prompt, and the size of each part.", turn_view.listed)
_reports(
    "detail",
    "Show each skill, tool and block by its size, and the token budget.",
    turn_view.detailed,
)
_reports("json", "Print the report as JSON.", turn_view.listed)


@app.command()
@command.looks_back
def prompt(
    opened: opening.Opened,
    *,
    message: MessageOption = None,
    speaker: command.AsOption = None,
    session: people.OfSessionOption = None,
) -> None:
    """Print the next request, word for word."""
    _, turn, (messages, tools) = _estimated(opened, speaker, message, session)
    heard = Provenance(audience=turn.session.people)
    if not (speaker or listing.Viewer(opened).may_see(heard)):
        messages = [{"role": one["role"], "content": withheld(heard)} for one in messages]
    schema = None if tools else turn.composed.request.schema
    data = {"messages": messages, "schema": schema, "tools": tools}
    text = [f"--- {one['role']} ---\n{_written(one)}" for one in messages]
    output.result(opened.shell, "context prompt", data, text)


def _written(message: dict[str, Any]) -> str:
    """Write what a message says and calls."""
    calls = [
        json.dumps(call["function"], ensure_ascii=False) for call in message.get("tool_calls", ())
    ]
    return "\n".join([*filter(None, [message.get("content", "")]), *calls])


def _estimated(
    opened: opening.Opened, speaker: str | None, message: str | None, session: str | None
) -> tuple[context_report.ContextReport, reply_writer.Turn, Sent]:
    """Build the next request as `chat` would, sending and writing nothing.

    Raises:
        RefusedError: If the speaker had no part in the conversation.
    """
    chosen = people.find_session(opened, session) if session is not None else None
    if chosen is not None:
        speaker = speaker or chosen.by
    typed = turn_view.parse(SAMPLE if message is None else message, shortcuts=False)
    with conversation.open_to_look(opened, speaker, chosen.id if chosen else None) as talk:
        turn = talk.look(typed.text, think=typed.wishes.get("think"))
        report = context_report.of(talk.runtime, turn, "estimate")
        return report, turn, context_report.sent(talk.runtime, turn)


@command.reads
def expand(
    opened: opening.Opened,
    reference: Annotated[
        str, typer.Argument(metavar="REF", help="The 12 letters and digits behind `ref`.")
    ],
) -> None:
    """Print the whole of a text that the entity was shown cut or cleared."""
    try:
        text = whole_record.everywhere(opened.entity, reference)
    except RecordMissingError as problem:
        try:
            text = whole_record.find(opened.entity, opened.zone, reference).text
        except RecordMissingError:
            raise problem from None
    output.result(opened.shell, "expand", {"ref": reference, "text": text}, text)


@command.reads
def route(
    opened: opening.Opened,
    text: Annotated[
        list[str],
        typer.Argument(metavar="TEXT", help="What is said; `-` reads it from standard input."),
    ],
) -> None:
    """See whether a message is a reflex or is thought about.

    Says by which rule, and how sure that is; no model is asked.
    """
    message = writing.text_of(text)
    with run_job.open_runtime(opened, "route", needs_model=False) as runtime:
        config, now = runtime.config, runtime.now()
        before = spoken.by_person(runtime.entity, config.language, opened.owner_id, now)
        language = languages.spoken([message], before) or before
        able = runtime.abilities().tier("talk", language) == "write"
        reader = None if able else runtime.memory.reader
        decision = (
            router.by_reading(message, reader.read(message)) if reader else router.by_form(message)
        )
    data: dict[str, Any] = {
        "profile": decision.profile,
        "rule": decision.rule,
        "confidence": decision.confidence,
    }
    line = f"{decision.profile}, by the rule {decision.rule} (confidence {decision.confidence:.2f})"
    output.result(opened.shell, "route", data, line)
