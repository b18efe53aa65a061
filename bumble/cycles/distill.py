"""Distilling: what ordinary conversation leaves behind, drawn window by window.

Due when there is a new turn, and enough time or enough turns have passed, in a conversation deep
enough; the more is felt, the fewer turns. In `state.yaml`, beside the cursor of each conversation:

    distill:
      ses_01J…: {at: 2026-05-24T12:00:00+02:00, hash: 0f3a…}   # the last window; failed: 2
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from bumble import moments
from bumble.cycles import cursors, extract, feeling, keep, proof, weigh, window
from bumble.cycles.cursors import DISTILL, REFLECT
from bumble.cycles.extract import Drawn, Item, Options
from bumble.cycles.keep import Keeping
from bumble.cycles.life import Life
from bumble.cycles.proof import Rejected
from bumble.cycles.window import Window
from bumble.cycles.work import NO_ANSWER, Check, Gate, Outcome, traced
from bumble.entity.changes import Change
from bumble.entity.config_memory import DistillationConfig
from bumble.errors import AnswerInvalidError
from bumble.stores import knowledge, records, relationships, state, transcripts
from bumble.stores.mappings import MappingFile
from bumble.stores.sessions import Message, Session

SECTION = "distill"
KEPT = 20  # conversations of which the last window is remembered
READ_CHARS = 2400  # of a window, by an embedded model: in more it finds less, and it reads slowly
TRIES = 3  # unusable answers after which a window is passed over


@dataclass(frozen=True)
class Job:
    """One window to be distilled."""

    session: str  # id
    first: str  # ids of messages
    last: str


def check(life: Life, session_id: str | None = None, *, force: bool = False) -> Check[Job]:
    """Find what is due, without a model and without writing.

    Args:
        life: Whose conversations.
        session_id: One conversation alone.
        force: Whether gates don't count; a conversation of which nothing waits is then taken from
            its last window.
    """
    file = state.read(life.entity.state)
    names = [session_id] if session_id else list(cursors.waiting(file))
    if force and not names:
        names = [path.parent.name for path in transcripts.paths(life.entity.sessions)[-1:]]
    jobs: list[Job] = []
    shown: list[tuple[Gate, ...]] = []
    for name in names:
        session = transcripts.find(life.entity.sessions, name)
        windows = _windows(life, session, cursors.messages(file, session, (DISTILL,)))
        if force and not windows:
            windows = _windows(life, session, session.messages)[-1:]
        gates = () if force else _gates(life, file, session, windows)
        if windows and all(gate.passes for gate in gates):
            jobs += [Job(session.id, one.messages[0].id, one.last.id) for one in windows]
            shown.insert(0, gates)
        else:
            shown.append(gates)
    if force:
        return Check((Gate("forced", "yes", "nothing else", True),), tuple(jobs))
    gates = max(shown[:1] if jobs else shown, key=_passed, default=_nothing(life))
    return Check(gates, tuple(jobs))


def up_to(life: Life, session_id: str, message_id: str) -> Job | None:
    """Return the next window that waits among the messages up to one, whatever the gates say."""
    session = transcripts.find(life.entity.sessions, session_id)
    waits = cursors.messages(state.read(life.entity.state), session, (DISTILL,))
    ids = [one.id for one in session.messages]
    if message_id not in ids:
        return None
    later = len(ids) - ids.index(message_id) - 1
    windows = _windows(life, session, waits[: max(0, len(waits) - later)])
    return Job(session.id, windows[0].messages[0].id, windows[0].last.id) if windows else None


def _passed(gates: Sequence[Gate]) -> int:
    return sum(gate.passes for gate in gates)


def _nothing(life: Life) -> tuple[Gate, ...]:
    return (_enabled(life.config.memory.distillation), Gate("new turns", "0", "at least 1", False))


def _enabled(config: DistillationConfig) -> Gate:
    return Gate("enabled", "yes" if config.enabled else "no", "yes", config.enabled)


def _gates(
    life: Life, file: MappingFile, session: Session, windows: Sequence[Window]
) -> tuple[Gate, ...]:
    config, now = life.config.memory.distillation, life.now()
    waiting = [one for each in windows for one in each.messages]
    new, depth = _turns(waiting), _turns(session.messages)
    intensity = feeling.intensity(life, feeling.read(life, now))
    enough = turns_needed(intensity, config)
    since = _since(file, session, waiting, now)
    seconds = abs((now - since).total_seconds())  # a time ahead: a clock was wrong once
    return (
        _enabled(config),
        Gate("new turns", f"{new} in {session.id}", "at least 1", new >= 1),
        Gate(
            "time or turns",
            f"{seconds:.0f} s, {new} turns",
            f"at least {config.cycle_seconds:g} s or {enough} turns",
            seconds >= config.cycle_seconds or new >= enough,
        ),
        Gate(
            "depth",
            f"{depth} turns",
            f"at least {config.min_turns_absolute}",
            depth >= config.min_turns_absolute,
        ),
        Gate(
            "urgency",
            f"{intensity:.2f} felt, so {enough} turns are enough",
            f"fewer than {config.min_turns} above {config.soma_urgency_from:g}",
            True,
        ),
    )


def turns_needed(intensity: float, config: DistillationConfig) -> int:
    """Return how many new turns are enough when so much is felt."""
    over = max(0.0, intensity - config.soma_urgency_from)
    room = 1 - config.soma_urgency_from
    share = over / room if room > 0 else 0.0
    return max(1, math.ceil(config.min_turns / (1 + share * (config.soma_urgency_divisor - 1))))


def _turns(messages: Sequence[Message]) -> int:
    return sum(one.role == window.USER for one in messages)


def _since(
    file: MappingFile, session: Session, waiting: Sequence[Message], now: datetime
) -> datetime:
    """Return when the conversation was last distilled; else since when something waits."""
    last = file.get(SECTION, session.id, "at")
    if isinstance(last, str):
        return moments.read(last, "at")
    return waiting[0].at if waiting else now


def _windows(life: Life, session: Session, messages: Sequence[Message]) -> list[Window]:
    people = relationships.read(life.entity.relationships)
    names = {one.id: one.name for one in people}
    budget = life.config.memory.distillation.context_char_budget
    return window.split(session, messages, names, life.identity.name, life.zone, budget)


def run(life: Life, job: Job, *, judge: bool = True) -> Outcome:
    """Distill one window; asks the model once, and twice more where there is something to judge.

    Args:
        life: Whose conversation.
        job: The window.
        judge: Whether the model is asked a second time which items the messages really say.
    """
    session = transcripts.find(life.entity.sessions, job.session)
    found = _windows(life, session, cursors.between(session, job.first, job.last))
    if not found:
        return _waits("its messages are gone")
    seen = found[0]
    file = state.read(life.entity.state)
    waiting = [one.id for one in cursors.messages(file, session, (DISTILL,))]
    if seen.messages[0].id in waiting[1:]:
        # one cursor: what lies before this window, and was refused just now, would be passed over
        return _waits("what was said before it waits too")
    if file.get(SECTION, session.id, "hash") == seen.hash:
        told = "This window has been distilled already."
        return _outcome(life, session, seen, Keeping(), told, ran=False)
    known = _known(life, seen)
    options = _options(life, session, seen)
    try:
        if not extract.trusted(life.model.name):
            return _waits(f"{life.model.name}: this model's extraction is not trusted")
        drawn = extract.draw(life.model, seen, options, known)
    except AnswerInvalidError as error:
        return _failed(life, session, seen, error)
    except NO_ANSWER as error:
        return _waits(str(error).splitlines()[0])
    items, rejected = proof.check(seen, drawn.items, known)
    if judge:
        items, doubted = proof.judge(life.model, seen, items, options)
        rejected += doubted
    return _made(life, session, seen, drawn, items, rejected)


def _made(
    life: Life,
    session: Session,
    seen: Window,
    drawn: Drawn,
    items: Sequence[Item],
    rejected: Sequence[Rejected],
) -> Outcome:
    at = life.now()
    claims = [keep.claim(life, seen, item, at) for item in items if item.kind == "belief"]
    if claims:
        life.memory.sync()
        claims = weigh.weigh(life, claims)
    keeping = Keeping(
        at,
        tuple(item for item in items if item.kind != "belief"),
        tuple(claims),
        proof.journal(seen, drawn) if items else "",
    )
    dropped = len(rejected) + drawn.malformed
    lines = [f"Distilled {len(seen.messages)} messages: {_counted(items)}; {dropped} dropped."]
    lines += [f"  dropped: {one.reason}: {one.item.text}" for one in rejected]
    outcome = _outcome(life, session, seen, keeping, "\n".join(lines))
    reasons = [
        {"kind": one.item.kind, "text": one.item.text, "reason": one.reason} for one in rejected
    ]
    kept = [{"kind": one.kind, "title": one.title, "text": one.text} for one in items]
    data = {"kept": kept, "dropped": reasons, "malformed": drawn.malformed}
    return Outcome(
        outcome.title, outcome.plan, outcome.lines, {**outcome.data, **data}, outcome.trailers
    )


def _counted(items: Sequence[Item]) -> str:
    kinds = {"knowledge": "fact", "belief": "belief", "relational": "note"}
    counts = {name: sum(one.kind == kind for one in items) for kind, name in kinds.items()}
    return ", ".join(f"{n} {name}" if n == 1 else f"{n} {name}s" for name, n in counts.items())


def _outcome(
    life: Life, session: Session, seen: Window, keeping: Keeping, told: str, *, ran: bool = True
) -> Outcome:
    lines = told.splitlines()
    refused: list[str] = []

    def plan() -> list[Change | None]:
        refused.clear()
        done = [_dealt_with(life, seen)]
        return [*keep.plan(life, seen, keeping, refused), *done]

    plan()  # says what will be refused
    return Outcome(
        f"distill: {', '.join(seen.speakers) or session.id}",
        plan,
        (*lines, *(f"  not written: {why}" for why in refused)),
        {
            "ran": ran,
            "session": session.id,
            "messages": len(seen.messages),
            "refused": list(refused),
        },
        traced([seen.messages[0].id, seen.last.id], life.model.name if ran else ""),
    )


def _dealt_with(life: Life, seen: Window, failed: int = 0) -> Change | None:
    """Plan to move the cursor behind a window, and to remember what it was."""
    file = state.read(life.entity.state)
    session = transcripts.find(life.entity.sessions, seen.session)
    values: dict[str, Any] = {}
    if file.get(SECTION, seen.session, "hash") != seen.hash:
        mark: dict[str, Any] = {"at": records.stamp(life.now()), "hash": seen.hash}
        values = {SECTION: {seen.session: mark | ({"failed": failed} if failed else {})}}
    gone = [[SECTION, name] for name in _forgotten(file, seen.session)]
    for key in ("tried", *(() if failed else ("failed",))):
        if file.get(SECTION, seen.session, key) is not None:
            gone.append([SECTION, seen.session, key])
    cleared = state.plan_write(file, {}, "", remove=gone) if gone else None
    if cleared is not None and cleared.data is not None:
        file = state.parse(cleared.data.decode())
    moved = cursors.plan_moved(
        file, session, [((DISTILL,), seen.last.id)], values, "these messages were distilled"
    )
    return _joined(cleared, moved)


def _joined(first: Change | None, second: Change | None) -> Change | None:
    """Make one change of two that follow each other on one file."""
    if first is None or second is None:
        return first or second
    return Change(second.path, second.why, second.data, first.read)


def _forgotten(file: MappingFile, keep_id: str) -> list[str]:
    """Return the oldest conversations of which nothing needs to be remembered any more."""
    known = sorted(name for name in file.get(SECTION, default={}) if name != keep_id)
    return known[: max(0, len(known) - KEPT + 1)]


def _failed(life: Life, session: Session, seen: Window, error: AnswerInvalidError) -> Outcome:
    """Count an unusable answer; after a few the window is passed over."""
    marked = state.read(life.entity.state).get(SECTION, session.id, default={})
    same = marked.get("tried") == seen.hash
    failed = (int(marked.get("failed", 0)) if same else 0) + 1
    why = str(error).splitlines()[0]
    data = {"ran": False, "session": session.id, "failed": failed, "why": why}

    def counted() -> list[Change | None]:
        if failed >= TRIES:
            return [_dealt_with(life, seen, failed)]
        mark = {"at": records.stamp(life.now()), "tried": seen.hash, "failed": failed}
        file = state.read(life.entity.state)
        values = {SECTION: {session.id: mark}}
        return [state.plan_write(file, values, "an answer could not be used")]

    after = "the window is passed over" if failed >= TRIES else "it waits for another try"
    lines = (f"Nothing was distilled: {why}", f"  try {failed} of {TRIES}; {after}")
    return Outcome(f"distill: no usable answer for {session.id}", counted, lines, data)


def _waits(why: str) -> Outcome:
    line = f"Nothing was distilled: {why}. It waits."
    return Outcome("distill: nothing", list, (line,), {"ran": False, "why": why})


def _options(life: Life, session: Session, seen: Window) -> Options:
    config = life.config.memory.distillation
    relational: Literal["none", "notes", "scalar"] = "notes"
    if not life.config.memory.relational.enabled:
        relational = "scalar"
    elif _reflected(life, session, seen):
        relational = "none"
    return Options(
        config.max_extract_tokens,
        config.temperature,
        config.context_char_budget,
        relational,
        config.max_delta,
        READ_CHARS if life.local else None,
    )


def _reflected(life: Life, session: Session, seen: Window) -> bool:
    """Whether reflections have dealt with all that people said in a window."""
    file = state.read(life.entity.state)
    spoke = {one.speaker for one in seen.messages if one.role == window.USER and one.speaker}
    starts = [cursors.first(file, seen.session, (REFLECT, person)) for person in spoke]
    return all(one is None or cursors.is_behind(session, one, seen.last.id) for one in starts)


def _known(life: Life, seen: Window) -> Mapping[str, str]:
    """Return the sections of knowledge nearest to a window that its people may know."""
    life.memory.sync()
    said = " ".join(one.text for one in seen.messages if one.role == window.USER)
    limit = life.config.memory.knowledge.max_sections
    hits = life.memory.search(said, kinds=("knowledge",), limit=limit, audience=seen.people)
    book = knowledge.read(life.entity.knowledge)
    found = [knowledge.find(book, hit.id) for hit in hits]
    return {one.title: one.text for one in found if one is not None and not one.locked}
