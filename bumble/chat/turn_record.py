"""A turn while it happens, its record afterwards, and how it is stored.

The answer and what tools want written are one change set, planned on the files as they are then.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from bumble.body import ebb
from bumble.body.soma import Soma
from bumble.chat import route, tools
from bumble.chat.loop import LoopOutcome
from bumble.chat.participants import Person
from bumble.entity.changes import Change, ChangeSet
from bumble.errors import (
    ChangeUnfinishedError,
    FileChangedError,
    LockedError,
    UserError,
)
from bumble.llm.protocol import Request, Tool
from bumble.prompt import handover, transcript
from bumble.prompt.system import Block, Stable
from bumble.records import base, self_model, sessions, state
from bumble.records.base import Provenance
from bumble.records.sessions import Message, Session
from bumble.runtime import anchor_recall, body_state, cursors, people
from bumble.runtime.anchor_recall import Stirring
from bumble.runtime.runtime import Runtime

COMMIT_TRIES = 3
# `stream`: an able model answers as it goes; `plain`: what stands below that (`plain_turn`).
Manner = Literal["stream", "plain"]
HEARD, SPOKE = "message_in", "message_out"


class Turn(Struct):
    """A turn while it happens, and its record afterwards."""

    session: Session
    person: Person
    route: route.Route
    stable: Stable
    blocks: tuple[Block, ...]  # what was true right now, as it was sent
    seen: transcript.View  # of the conversation
    request: Request
    brief: handover.Brief | None = None  # of the last conversation, whether it fits or not
    outcome: LoopOutcome = field(default_factory=LoopOutcome)
    originals: dict[str, Change] = field(default_factory=dict)  # of results that were cut
    notes: list[str] = field(default_factory=list)  # what the person should hear about
    read: set[str] = field(default_factory=set)  # tiers of what was read that is only quoted
    warned: set[str] = field(default_factory=set)  # texts that were about to lose most they say
    manner: Manner = "stream"
    language: str = ""  # that the person speaks
    worded: str = ""  # what a reply is about that no model wrote; empty: the model wrote it
    refused: list[str] = field(default_factory=list)  # why drafts were not said, one each
    stirring: Stirring | None = None  # the anchor that came back by itself
    outside: tuple[Tool, ...] = ()  # tools of other programs that it may use
    slip: str = ""  # why the reply is no example for later ones

    @property
    def message(self) -> Message:
        """What is answered."""
        return self.session.messages[-1]


def commit(runtime: Runtime, turn: Turn) -> None:
    """Write the answer and what the tools planned, on the files as they are now."""
    new = _messages(runtime, turn)
    if not runtime.writes:
        turn.session = sessions.appended(turn.session, new)
        return
    title = f"chat: {turn.person.name} and {runtime.identity.name}"
    words = [sessions.plan_append(turn.session, new, f"answer {turn.person.name}")] if new else []
    words += turn.originals.values()
    waiting = [*_lived(runtime, turn), *turn.outcome.plans]
    made_by = (("Model", runtime.model.name),)
    for _ in range(COMMIT_TRIES + len(waiting)):
        planned, later = _planned(turn, waiting, {change.path for change in words})
        try:
            runtime.apply(ChangeSet(title, (*words, *planned), made_by))
        except FileChangedError:  # a hand edit between plan and write: plan again on what is there
            continue
        except (LockedError, ChangeUnfinishedError):  # the next command finishes what is begun
            raise
        except UserError:
            break
        words, waiting = [], later
        if not waiting:
            break
    _write_apart(runtime, turn, ChangeSet(title, tuple(words), made_by), waiting)
    turn.session = sessions.appended(turn.session, new)


def _write_apart(
    runtime: Runtime, turn: Turn, words: ChangeSet, waiting: Sequence[tools.Plan]
) -> None:
    """Write what could not be written together, each by itself, the words first.

    So a file that can't be written, or that somebody keeps changing, takes nothing else with it.

    Raises:
        UserError: If the words themselves can't be written.
    """
    for n, change in enumerate(words.changes):
        try:
            runtime.apply(replace(words, changes=(change,)))
        except UserError as error:
            if n == 0 and change.adds:
                raise
            _not_written(turn, error)
    for plan in waiting:
        planned, _ = _planned(turn, [plan], set())
        try:
            runtime.apply(replace(words, changes=tuple(planned)))
        except UserError as error:
            _not_written(turn, error)


def _not_written(turn: Turn, error: UserError) -> None:
    """Note what was not written; once, however often it was tried."""
    note = f"not written: {error}"
    if note not in turn.notes:
        turn.notes.append(note)


def _lived(runtime: Runtime, turn: Turn) -> list[tools.Plan]:
    """Plan what a turn leaves behind besides words: the body, the person, what is to be made of it.

    The message that is waited for is the first without an answer, not the last: a turn before this
    one may have been killed.
    """
    at, said = runtime.now(), turn.session.messages[-1]
    first = next(iter(turn.session.unanswered), said)
    done = [HEARD]
    for step in turn.outcome.steps:
        done += ["tool_failed" if result.failed else "tool" for result in step.results]
    if turn.outcome.said:
        done.append(SPOKE)

    def heard() -> Change | None:
        file = state.read(runtime.entity.state)
        return cursors.plan_heard(file, turn.session, first.id, "there is more to think about")

    def move(soma: Soma) -> Soma:
        before = turn.stirring.move(soma) if turn.stirring else soma
        return body_state.events(runtime, done)(before)

    def stirred() -> Change | None:
        if turn.stirring is None:
            return None
        why = f"it came back: {turn.stirring.anchor.label}"
        return anchor_recall.plan_counted(runtime, turn.stirring.anchor, at, why, stirred=True)

    return [
        lambda: body_state.plan(runtime, at, move, "the talk moved the body"),
        stirred,
        lambda: plan_tools(runtime, turn.outcome, at),
        lambda: people.plan_met(runtime, turn.person.id, turn.person.name, at, turn.session),
        heard,
    ]


def plan_tools(runtime: Runtime, outcome: LoopOutcome, at: datetime) -> Change | None:
    """Plan to count which tools did work, and which of it failed."""
    names = {tool.name for tool in tools.declared(runtime.config.tools)} - tools.AGENCY
    uses = [
        (call.name, result.failed)
        for step in outcome.steps
        for call, result in zip(step.calls, step.results, strict=True)
        if call.name in names
    ]
    file = self_model.read(runtime.entity.self_model)
    return self_model.plan_used(file, uses, at, "how its tools served")


def _planned(
    turn: Turn, waiting: Sequence[tools.Plan], taken: set[str]
) -> tuple[list[Change], list[tools.Plan]]:
    """Plan writes, one a file; a second one to the same file waits for the first to be there."""
    planned: list[Change] = []
    later: list[tools.Plan] = []
    for plan in waiting:
        try:
            change = plan()
        except UserError as error:
            _not_written(turn, error)
            continue
        if change is None:
            continue
        if change.path in taken and not change.adds:
            later.append(plan)
            continue
        taken.add(change.path)
        planned.append(change)
    return planned, later


def _messages(runtime: Runtime, turn: Turn) -> list[Message]:
    """Render what happened as messages of the transcript; the last says how the body was."""
    new: list[Message] = []
    last = turn.session.messages[-1].at
    felt = _felt(runtime, turn)

    def add(role: str, text: str, **fields: object) -> None:
        nonlocal last  # ids sort by time: no two messages may have the same
        last = at = max(runtime.clock(), last + timedelta(milliseconds=1))
        message_id = base.new_id(sessions.MESSAGE_PREFIX, at, runtime.rng)
        new.append(Message(message_id, at, role, text, **fields))  # type: ignore[arg-type]

    made_by = _made_by(runtime, turn)
    lowest = base.lowest_trust(("entity", *turn.read))
    kept = [step for step in turn.outcome.steps if step.calls or step.said]
    for step in kept:
        extra = made_by
        if step is kept[-1]:
            ended = turn.outcome.stopped
            extra = {**made_by, **({} if ended == "done" else {"stopped": ended}), **felt}
        calls = tuple(sessions.ToolCall(one.id, one.name, one.arguments) for one in step.calls)
        add("assistant", step.said, tool_calls=calls, trust=lowest, extra=extra)
        for call, result in zip(step.calls, step.results, strict=True):
            origin = {"origin": result.trust} if result.trust else {}
            told = {"tool": call.name, **origin}
            add("tool", result.text, tool_call_id=call.id, trust="tool", extra=told)
    return new


def _made_by(runtime: Runtime, turn: Turn) -> dict[str, Any]:
    """Say who worded a reply; one that later ones should not be like is marked as no example."""
    made_by = {"by": "form", "act": turn.worded} if turn.worded else {"model": runtime.model.name}
    return {**made_by, **({"example": False} if turn.slip else {})}


def _felt(runtime: Runtime, turn: Turn) -> dict[str, str]:
    """Return how the body is; nothing, where its file can't be read since this turn began."""
    try:
        soma = body_state.read(runtime, runtime.now())
    except UserError as error:
        turn.notes.append(f"how the body was is not noted: {error}")
        return {}
    return {"soma": ebb.episode_tag(soma)}


def provenance_of(runtime: Runtime, turn: Turn) -> Provenance:
    said = turn.session.messages[-1]
    return Provenance(
        by="chat",
        model=runtime.model.name,
        sources=(turn.session.id, said.id),
        trust=turn.person.trust,
        audience=turn.session.people,
    )
