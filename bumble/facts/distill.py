"""When the words of a conversation are kept as facts, and the run of it, window by window.

Where a model may write, `bumble/jobs/` draws facts from it.

Due when there is a new turn, and enough time or enough turns have passed, in a conversation deep
enough; the more is felt, the fewer turns. An imported conversation is due when it is asked for by
name and never else, and a line of its transcript says how far it was learnt from. In `state.yaml`,
beside the cursor of each conversation:

    distill:
      ses_01J…: {at: 2026-05-24T12:00:00+02:00, hash: 0f3a…}   # the last window; failed: 2
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bumble.choosing import by_form
from bumble.choosing.by_form import Wording
from bumble.entity.changes import Change
from bumble.entity.config_memory import DistillationConfig
from bumble.errors import RecordInvalidError
from bumble.facts import store_quoted
from bumble.facts.extract_window import USER, Window, split_windows
from bumble.records import base, relationships, session_files, sessions, state
from bumble.records.mapping_files import MappingFile
from bumble.records.sessions import Distilled, Message, Session
from bumble.runtime import body_state, cursors
from bumble.runtime.cursors import DISTILL
from bumble.runtime.job import Condition, Due, JobPlan, JobResult, traced
from bumble.runtime.runtime import Runtime
from bumble.text import moments

URGENCY_FROM = 0.6  # emotional intensity from which fewer turns are enough
SECTION = "distill"
REMEMBERED_CONVERSATIONS = 20  # conversations of which the last window is remembered


class DistillJob(Struct, frozen=True):
    """One window to be distilled."""

    session: str  # id
    first: str  # ids of messages
    last: str
    wording: Wording  # how its memories are worded


def check(
    runtime: Runtime, session_id: str | None = None, *, force: bool = False
) -> Due[DistillJob]:
    """Find what is due, without a model and without writing.

    Args:
        runtime: Whose conversations.
        session_id: One conversation alone.
        force: Whether conditions don't count; a conversation of which nothing waits is then taken
            from its last window.
    """
    file = state.read(runtime.entity.state)
    names = [session_id] if session_id else list(cursors.waiting(file))
    if force and not names:
        names = [info.id for info in session_files.infos(runtime.entity.sessions)][-1:]
    jobs: list[DistillJob] = []
    shown: list[tuple[Condition, ...]] = []
    for name in names:
        session = session_files.find(runtime.entity.sessions, name)
        wording = by_form.of_conversation(runtime, session)
        if wording is None:
            continue
        windows = _windows(runtime, session, _waiting(file, session))
        if force and not windows:
            windows = _windows(runtime, session, session.messages)[-1:]
        conditions = () if force else _gates(runtime, file, session, windows)
        if windows and all(condition.passes for condition in conditions):
            jobs += [
                DistillJob(session.id, span.messages[0].id, span.last.id, wording)
                for span in windows
            ]
            shown.insert(0, conditions)
        else:
            shown.append(conditions)
    if force:
        return Due((Condition("forced", "yes", "nothing else", True),), tuple(jobs))
    conditions = max(shown[:1] if jobs else shown, key=_passed, default=_nothing(runtime))
    return Due(conditions, tuple(jobs))


def _waiting(file: MappingFile, session: Session) -> tuple[Message, ...]:
    """Return the messages that have not been learnt from yet, oldest first."""
    if session.imported is None:
        return cursors.messages(file, session, (DISTILL,))
    ids = [message.id for message in session.messages]
    start = ids.index(session.distilled) + 1 if session.distilled in ids else 0
    return session.messages[start:]


def up_to(runtime: Runtime, session_id: str, message_id: str) -> DistillJob | None:
    """Return the next window that waits among the messages up to one, conditions left aside."""
    session = session_files.find(runtime.entity.sessions, session_id)
    wording = by_form.of_conversation(runtime, session)
    waits = cursors.messages(state.read(runtime.entity.state), session, (DISTILL,))
    ids = [message.id for message in session.messages]
    if message_id not in ids or wording is None:
        return None
    later = len(ids) - ids.index(message_id) - 1
    windows = _windows(runtime, session, waits[: max(0, len(waits) - later)])
    return (
        DistillJob(session.id, windows[0].messages[0].id, windows[0].last.id, wording)
        if windows
        else None
    )


def _passed(conditions: Sequence[Condition]) -> int:
    return sum(condition.passes for condition in conditions)


def _nothing(runtime: Runtime) -> tuple[Condition, ...]:
    return (
        _enabled(runtime.config.memory.distillation),
        Condition("new turns", "0", "at least 1", False),
    )


def _enabled(config: DistillationConfig) -> Condition:
    return Condition("enabled", "yes" if config.enabled else "no", "yes", config.enabled)


def _gates(
    runtime: Runtime, file: MappingFile, session: Session, windows: Sequence[Window]
) -> tuple[Condition, ...]:
    config, now = runtime.config.memory.distillation, runtime.now()
    if session.imported is not None:
        count = sum(len(window.messages) for window in windows)
        return (
            _enabled(config),
            Condition("imported messages", f"{count} in {session.id}", "at least 1", count >= 1),
        )
    waiting = [message for window in windows for message in window.messages]
    new, depth = _turns(waiting), _depth(runtime, session, config.min_turns_absolute)
    intensity = body_state.intensity(runtime, body_state.read(runtime, now))
    enough = turns_needed(intensity, config)
    since = _since(file, session, waiting, now)
    seconds = moments.gap(since, now).total_seconds()
    return (
        _enabled(config),
        Condition("new turns", f"{new} in {session.id}", "at least 1", new >= 1),
        Condition(
            "time or turns",
            f"{seconds:.0f} s, {new} turns",
            f"at least {config.cycle_seconds:g} s or {enough} turns",
            seconds >= config.cycle_seconds or new >= enough,
        ),
        Condition(
            "depth",
            f"{depth} turns",
            f"at least {config.min_turns_absolute}",
            depth >= config.min_turns_absolute,
        ),
        Condition(
            "urgency",
            f"{intensity:.2f} felt, so {enough} turns are enough",
            f"fewer than {config.min_turns} above {URGENCY_FROM:g}",
            True,
        ),
    )


def turns_needed(intensity: float, config: DistillationConfig) -> int:
    """Return how many new turns are enough when so much is felt."""
    over = max(0.0, intensity - URGENCY_FROM)
    share = over / (1 - URGENCY_FROM)
    return max(1, math.ceil(config.min_turns / (1 + share * (config.soma_urgency_divisor - 1))))


def _depth(runtime: Runtime, session: Session, least: int) -> int:
    """Count the turns the entity has heard: of this conversation, then of others until enough."""
    depth = _turns(session.messages)
    for path in reversed(session_files.paths(runtime.entity.sessions)):
        if depth >= least:
            break
        if path.parent.name != session.id:
            with contextlib.suppress(RecordInvalidError):
                depth += _turns(session_files.load(path).messages)
    return depth


def _turns(messages: Sequence[Message]) -> int:
    return sum(message.role == USER for message in messages)


def _since(
    file: MappingFile, session: Session, waiting: Sequence[Message], now: datetime
) -> datetime:
    """Return when the conversation was last distilled; else since when something waits."""
    last = file.get(SECTION, session.id, "at")
    if isinstance(last, str):
        return moments.read(last, "at")
    return waiting[0].at if waiting else now


def _windows(runtime: Runtime, session: Session, messages: Sequence[Message]) -> list[Window]:
    people = relationships.read(runtime.entity.relationships)
    names = {person.id: person.name for person in people}
    budget = runtime.config.memory.distillation.context_char_budget
    return split_windows(session, messages, names, runtime.identity.name, runtime.zone, budget)


def run(runtime: Runtime, job: DistillJob) -> JobResult:
    """Keep what is worth keeping of one window, in the words of those who said it."""
    session = session_files.find(runtime.entity.sessions, job.session)
    windows = _windows(runtime, session, cursors.between(session, job.first, job.last))
    if not windows:
        return _waits("its messages are gone")
    window = windows[0]
    file = state.read(runtime.entity.state)
    waiting = [message.id for message in _waiting(file, session)]
    if window.messages[0].id in waiting[1:]:
        # one cursor: what lies before this window, and was refused just now, would be passed over
        return _waits("what was said before it waits too")
    if file.get(SECTION, session.id, "hash") == window.hash:
        message = "This window has been distilled already."
        return _window_result(runtime, session, window, lambda: JobPlan(()), message, ran=False)
    return _by_form(runtime, session, window, job.wording)


def _by_form(runtime: Runtime, session: Session, window: Window, wording: Wording) -> JobResult:
    """Keep what is worth keeping of a window in the words of those who said it."""
    evidence = [window.messages[n - 1] for n in window.numbers if window.is_persons(n)]
    noticed = by_form.notices(runtime, session, evidence)
    sayings = by_form.sayings(runtime, session, evidence, noticed, wording)
    quoting = store_quoted.Quoting(runtime, session, window, wording, tuple(sayings), runtime.now())

    def store() -> JobPlan:
        plan = store_quoted.plan(quoting)
        return replace(plan, changes=(by_form.plan_noticed(session, noticed), *plan.changes))

    report = f"Distilled {len(window.messages)} messages by form: {len(sayings)} worth keeping."
    outcome = _window_result(runtime, session, window, store, report, ran=False)
    data = {**outcome.data, "quoted": [saying.message.id for saying in sayings]}
    return replace(outcome, data=data, ran=True, asked=False)


def _window_result(
    runtime: Runtime,
    session: Session,
    window: Window,
    store: Callable[[], JobPlan],
    report: str,
    *,
    ran: bool = True,
) -> JobResult:
    refused = store().late  # told at once: nobody waits for it to be written

    def plan() -> list[Change | None]:
        moves = _dealt_with(runtime, window)
        return [*store().changes, *moves]

    return JobResult(
        f"distill: {', '.join(window.speakers) or session.id}",
        plan,
        (*report.splitlines(), *(f"  not written: {why}" for why in refused)),
        {
            "session": session.id,
            "messages": len(window.messages),
            "refused": list(refused),
        },
        traced([window.messages[0].id, window.last.id], ""),
        ran=ran,
    )


def _dealt_with(runtime: Runtime, window: Window) -> list[Change | None]:
    """Plan to move the cursor behind a window, and to remember what it was."""
    file = state.read(runtime.entity.state)
    session = session_files.find(runtime.entity.sessions, window.session)
    values: dict[str, Any] = {}
    if file.get(SECTION, window.session, "hash") != window.hash:
        mark: dict[str, Any] = {"at": base.stamp(runtime.now()), "hash": window.hash}
        values = {SECTION: {window.session: mark}}
    gone = [[SECTION, name] for name in _forgotten(file, window.session)]
    for key in ("tried", "failed"):
        if file.get(SECTION, window.session, key) is not None:
            gone.append([SECTION, window.session, key])
    cleared = state.plan_write(file, {}, "", remove=gone) if gone else None
    if cleared is not None and cleared.data is not None:
        file = state.parse(cleared.data.decode())
    why = "these messages were distilled"
    moved = cursors.plan_moved(file, session, [((DISTILL,), window.last.id)], values, why)
    marks = []
    if session.imported is not None:
        reached = Distilled(runtime.now(), window.last.id)
        marks.append(sessions.plan_append(session, [reached], why))
    return [_joined(cleared, moved), *marks]


def _joined(first: Change | None, second: Change | None) -> Change | None:
    """Make one change of two that follow each other on one file."""
    if first is None or second is None:
        return first or second
    return Change(second.path, second.why, second.data, first.read)


def _forgotten(file: MappingFile, keep_id: str) -> list[str]:
    """Return the oldest conversations of which nothing needs to be remembered any more."""
    session_ids = sorted(name for name in file.get(SECTION, default={}) if name != keep_id)
    return session_ids[: max(0, len(session_ids) - REMEMBERED_CONVERSATIONS + 1)]


def _waits(why: str) -> JobResult:
    line = f"Nothing was distilled: {why}. It waits."
    return JobResult("distill: nothing", list, (line,), {"why": why}, ran=False)
