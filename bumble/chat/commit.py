"""Step 7 of a turn, commit: the reply, what tools want written, and what the talk leaves behind.

The answer and what tools want written are one change set, planned on the files as they are then.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from bumble.body import ebb
from bumble.body.soma import Soma
from bumble.chat import tool_list, tools
from bumble.chat.loop import LoopOutcome
from bumble.chat.reply_writer import Turn
from bumble.entity.changes import Change, ChangeSet
from bumble.errors import ChangeUnfinishedError, FileChangedError, LockedError, UserError
from bumble.fallback import sayings
from bumble.records import base, self_model, sessions, state
from bumble.runtime import body_state, people
from bumble.runtime.runtime import Plan, Runtime

COMMIT_TRIES = 3


def commit(runtime: Runtime, turn: Turn) -> Turn:
    """Write the reply and what the tools planned, on the files as they are now.

    Raises:
        UserError: If the words themselves can't be written.
    """
    name, unwritten = turn.heard.who.name, list[str]()
    new = _messages(runtime, turn)
    if runtime.writes:
        words = [sessions.plan_append(turn.session, new, f"answer {name}")] if new else []
        title = f"chat: {name} and {runtime.identity.name}"
        waiting = [
            *map(_as_plan, turn.reply.originals),
            *_lived(runtime, turn),
            *turn.reply.outcome.plans,
        ]
        _Committing(runtime, title, unwritten).write([*map(_as_plan, words)], waiting)
    stored = sessions.appended(turn.session, new)
    return replace(turn, stored=stored, unwritten=tuple(unwritten))


def _as_plan(change: Change) -> Plan:
    return lambda: change


class _Committing(Struct):
    """A turn while it is written; what could not be is noted."""

    runtime: Runtime
    title: str
    unwritten: list[str]

    def write(self, words: Sequence[Plan], waiting: Sequence[Plan]) -> None:
        """Write all that is planned: together, or else each by itself, the words first.

        So a file that can't be written, or that somebody keeps changing, takes nothing else along.

        Raises:
            ChangeUnfinishedError: The next command finishes what is begun.
            UserError: If the words themselves can't be written.
        """
        while words or waiting:
            try:
                waiting = self._apply([*words, *waiting])
            except ChangeUnfinishedError:
                raise
            except UserError as error:
                if words and isinstance(error, LockedError):
                    raise
                return self._apart(words, waiting)
            words = ()
        return None

    def _apart(self, words: Sequence[Plan], waiting: Sequence[Plan]) -> None:
        if words:
            self._apply(words)
        for plan in waiting:
            try:
                self._apply([plan])
            except ChangeUnfinishedError:
                raise
            except UserError as error:
                self._not_written(error)

    def _apply(self, plans: Sequence[Plan]) -> list[Plan]:
        """Write what is planned, and return what has to wait for it."""
        for _ in range(COMMIT_TRIES - 1):
            with suppress(FileChangedError):  # a hand edit meanwhile: plan again on what is there
                return self._apply_once(plans)
        return self._apply_once(plans)

    def _apply_once(self, plans: Sequence[Plan]) -> list[Plan]:
        planned, later = self._planned(plans)
        made_by = (("Model", self.runtime.model.name),)
        self.runtime.apply(ChangeSet(self.title, tuple(planned), made_by))
        return later

    def _not_written(self, error: UserError) -> None:
        """Note what was not written; once, however often it was tried."""
        note = f"not written: {error}"
        if note not in self.unwritten:
            self.unwritten.append(note)

    def _planned(self, waiting: Sequence[Plan]) -> tuple[list[Change], list[Plan]]:
        """Plan writes, one a file; a second to the same file waits for the first to be there."""
        planned: list[Change] = []
        later: list[Plan] = []
        for plan in waiting:
            try:
                change = plan()
            except UserError as error:
                self._not_written(error)
                continue
            if change is None:
                continue
            if change.path in {each.path for each in planned} and not change.adds:
                later.append(plan)
            else:
                planned.append(change)
        return planned, later


def _lived(runtime: Runtime, turn: Turn) -> list[Plan]:
    """Plan what a turn leaves behind besides words: the body, the person, what is to be made of it.

    The message that is waited for is the first without an answer, not the last: a turn before this
    one may have been killed.
    """
    at, said, stirring = runtime.now(), turn.heard.message, turn.moment.stirring
    who = turn.heard.who
    first = next(iter(turn.session.unanswered), said)
    done = [body_state.HEARD]
    done += ["tool_failed" if one.failed else "tool" for _, one in turn.reply.outcome.pairs]
    if turn.reply.outcome.said:
        done.append(body_state.SPOKE)

    def heard() -> Change | None:
        file = state.read(runtime.entity.state)
        return state.plan_heard(file, turn.session, first.id, "there is more to think about")

    def move(soma: Soma) -> Soma:
        return body_state.events(runtime, done)(stirring.move(soma) if stirring else soma)

    def stirred() -> Change | None:
        if stirring is None:
            return None
        why = f"it came back: {stirring.anchor.label}"
        return body_state.plan_counted(runtime, stirring.anchor, at, why, stirred=True)

    return [
        lambda: body_state.plan(runtime, at, move, "the talk moved the body"),
        stirred,
        lambda: plan_tools(runtime, turn.reply.outcome, at),
        lambda: people.plan_met(
            runtime, who.id, who.name, at, turn.session, sayings.met(runtime, turn.session, who.id)
        ),
        heard,
    ]


def plan_tools(runtime: Runtime, outcome: LoopOutcome, at: datetime) -> Change | None:
    """Plan to count which tools did work, and which of it failed."""
    names = {tool.name for tool in tool_list.declared(runtime.config.tools)} - tools.AGENCY
    uses = [
        (call.name, result.failed and not result.refused)
        for call, result in outcome.pairs
        if call.name in names
    ]
    file = self_model.read(runtime.entity.self_model)
    return self_model.plan_used(file, uses, at, "how its tools served")


def _messages(runtime: Runtime, turn: Turn) -> list[sessions.Message]:
    """Render what happened as messages of the transcript; the last says how the body was."""
    new: list[sessions.Message] = []
    last = turn.heard.message.at
    felt = {"soma": ebb.episode_tag(body_state.read(runtime, runtime.now()))}

    def add(role: str, text: str, **fields: object) -> None:
        nonlocal last  # ids sort by time: no two messages may have the same
        last = at = max(runtime.clock(), last + timedelta(milliseconds=1))
        message_id = base.new_id(sessions.MESSAGE_PREFIX, at, runtime.rng)
        new.append(sessions.Message(message_id, at, role, text, **fields))  # type: ignore[arg-type]

    worded = turn.reply.worded
    made_by: dict[str, object] = (
        {"by": "form", "act": worded} if worded else {"model": runtime.model.name}
    )
    made_by |= {"example": False} if turn.reply.slip else {}  # later ones should not be like it
    lowest = base.lowest_trust(("entity", *turn.reply.read))
    kept = [step for step in turn.reply.outcome.steps if step.calls or step.said]
    for step in kept:
        extra = made_by
        if step is kept[-1]:
            ended = turn.reply.outcome.stopped
            extra = {**made_by, **({} if ended == "done" else {"stopped": ended}), **felt}
        calls = tuple(sessions.ToolCall(one.id, one.name, one.arguments) for one in step.calls)
        add("assistant", step.said, tool_calls=calls, trust=lowest, extra=extra)
        for call, result in step.pairs:
            trust = result.trust or "entity"
            add("tool", result.text, tool_call_id=call.id, trust=trust, extra={"tool": call.name})
    if turn.reply.outcome.stopped == "silent":  # that is its answer: nothing waits for another
        silent = {**made_by, "stopped": "silent", "example": False, **felt}
        add("assistant", "", trust=lowest, extra=silent)
    return new
