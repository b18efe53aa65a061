"""Waking by itself: one decision a tick, at most one session, each with its reason.

A decision not to wake is a line of the run ledger every time, and an entry of the history whenever
its reason is another than before.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from msgspec import Struct, field
from msgspec.structs import replace

from bumble import patterns
from bumble.body import bars, ebb, noise
from bumble.body.soma import Soma, is_open, shown_to
from bumble.chat import able_reply, automations, loop, route, tool_list, tools
from bumble.chat.loop import LoopOutcome
from bumble.entity import secrets
from bumble.entity.changes import Change
from bumble.fallback import sayings
from bumble.llm import ledger, prompts
from bumble.llm.protocol import (
    Action,
    Block,
    EnoughError,
    Request,
    Tool,
)
from bumble.prompt import preamble, system
from bumble.records import (
    base,
    journal,
    projects,
    reminders,
    session_files,
    sessions,
    state,
)
from bumble.records.provenance import ITSELF, is_untrusted
from bumble.runtime import body_state, locks, people
from bumble.runtime.job import NO_ANSWER, Condition, Due, JobResult, silence, traced
from bumble.runtime.runtime import Result, Runtime
from bumble.text import moments, schema

WAKE = ITSELF  # the section of `state.yaml`, and who writes what comes of it
REST = "rest"  # a wake of which nothing comes
RUT_WINDOW, RUT_TIMES = 14, 3  # so many of the last wakes with one tool bar it
SALIENCE, AGE_SECONDS = 0.44, 90  # of a stray thought that wakes it
DREAM_WEIGHT = 1.25  # a dream's fragments count for more
AGAIN_HOURS = 3  # before the same cause wakes it again
STRETCH_MINUTES, STRETCH_HOURS = 45, 3  # of the timer, after wakes that came close together


class Cause(Struct, frozen=True):
    """What wakes it."""

    kind: str  # `impulse`, `conflict`, `thought`, `dream` or `timer`
    detail: str  # for people
    key: str  # the same in one word: it does not wake it again at once
    thought: noise.Fragment | None = None


class PastWake(Struct, frozen=True):
    """One earlier wake."""

    at: datetime
    did: str  # the tools that it used, or REST
    key: str  # of its cause


class WakeDecision(Struct, frozen=True):
    """Whether it wakes now, and why."""

    at: datetime
    conditions: tuple[Condition, ...]
    cause: Cause | None
    past: tuple[PastWake, ...]  # oldest first

    @property
    def closed(self) -> Condition | None:
        """The first gate that is closed; None if none is."""
        return next((gate for gate in self.conditions if not gate.passes), None)

    @property
    def barred(self) -> frozenset[str]:
        """The tools it has used too often of late; resting is always open to it."""
        used = Counter(tool for wake in self.past[-RUT_WINDOW:] for tool in wake.did.split("+"))
        return frozenset(tool for tool, times in used.items() if times >= RUT_TIMES) - {REST}


def decide(runtime: Runtime, at: datetime) -> WakeDecision:
    """Decide whether to wake."""
    past = read_past(runtime)
    soma = body_state.read(runtime, at)
    cause = next(_causes(runtime, soma, past, at), None)
    wait = _timer(runtime, past)
    rings = f"; the timer at {(past[-1].at + wait).astimezone(runtime.zone):%H:%M}" if wait else ""
    reason = Condition(
        "reason",
        cause.detail if cause else f"none{rings}",
        "an impulse, a conflict, a stray thought or the timer",
        cause is not None,
    )
    return WakeDecision(at, (*_gates(runtime, past, at), reason), cause, past)


def is_quiet(runtime: Runtime, at: datetime) -> bool:
    """Whether nobody is to be addressed at that time."""
    return moments.in_hours(at, runtime.zone, runtime.config.wake.quiet_hours)


def _gates(runtime: Runtime, past: Sequence[PastWake], at: datetime) -> Iterator[Condition]:
    config = runtime.config.wake
    yield Condition("enabled", "on" if config.enabled else "off", "wake.enabled", config.enabled)
    yield sayings.writes(runtime)
    since = None if not past else moments.gap(past[-1].at, at).total_seconds()
    yield Condition(
        "gap",
        "never woken" if since is None else f"{since:.0f} s since the last wake",
        f"at least {config.min_gap_seconds:g} s",
        since is None or since >= config.min_gap_seconds,
    )
    quiet = silence(runtime.entity, at, config.min_silence_seconds)
    talking = locks.is_turn_running(runtime.entity)
    yield replace(quiet, value="a turn goes on", passes=False) if talking else quiet
    hours = ", ".join(map(str, config.quiet_hours)) or "none"
    yield Condition(
        "quiet hours",
        f"{at.astimezone(runtime.zone):%H:%M}",
        f"none of the hours {hours}",
        not is_quiet(runtime, at),
    )
    today = at.astimezone(runtime.zone).date()
    count = sum(wake.at.astimezone(runtime.zone).date() == today for wake in past)
    most, tokens = runtime.config.wake.max_per_day, runtime.config.limits.tokens_per_day
    value, wants = f"{count} wakes today", f"fewer than {most}"
    passes = count < most
    if tokens is not None:
        spent = ledger.today(runtime.entity.ledger, at, runtime.zone).tokens
        value, wants = f"{value}, {spent} tokens", f"{wants}, fewer than {tokens}"
        passes = passes and spent < tokens
    yield Condition("budget of the day", value, wants, passes)


def _causes(
    runtime: Runtime, soma: Soma, past: Sequence[PastWake], at: datetime
) -> Iterator[Cause]:
    """Yield what would wake it, most urgent first; the same not again within a few hours."""
    recent = {wake.key for wake in past if moments.gap(wake.at, at) < timedelta(hours=AGAIN_HOURS)}
    urgent = [
        Cause("impulse", f"the impulse {name.replace('_', ' ')}", f"impulse:{name}")
        for name in bars.ready_impulses(soma.bars)
    ]
    urgent += [
        Cause("conflict", f"torn: {' against '.join(bars.CONFLICTS[name])}", f"conflict:{name}")
        for name in bars.conflicts(soma.bars)
    ]
    yield from (cause for cause in urgent if cause.key not in recent)
    used = {wake.key for wake in past}
    yield from (cause for cause in _thoughts(soma, at) if cause.key not in used)
    wait = _timer(runtime, past)
    if wait is None or moments.gap(past[-1].at, at) >= wait:
        yield Cause("timer", "the timer", "timer")


def _thoughts(soma: Soma, at: datetime) -> list[Cause]:
    """Return the stray thoughts that stand out and are not of this minute, the loudest first."""
    causes: list[tuple[float, Cause]] = []
    for one in soma.noise:
        is_dream = one.kind == noise.DREAM
        weight = one.salience * (DREAM_WEIGHT if is_dream else 1)
        if weight >= SALIENCE and moments.gap(one.at, at).total_seconds() >= AGE_SECONDS:
            kind, told = (
                ("dream", "a dream that lingers") if is_dream else ("thought", "a stray thought")
            )
            mark = hashlib.sha256(one.text.encode("utf-8", "replace")).hexdigest()[:8]
            causes.append((weight, Cause(kind, told, f"{kind}:{mark}", one)))
    return [cause for _, cause in sorted(causes, key=lambda pair: -pair[0])]


def _timer(runtime: Runtime, past: Sequence[PastWake]) -> timedelta | None:
    """Return how long after the last wake the timer wakes it, always the same; None: at once."""
    if not past:
        return None
    last = past[-1].at
    least, most = runtime.config.wake.timer_minutes
    minutes = random.Random(base.stamp(last)).uniform(least, most)
    if len(past) > 1:
        hours = moments.gap(past[-2].at, last) / timedelta(hours=1)
        minutes += STRETCH_MINUTES * math.exp(-hours / STRETCH_HOURS)
    return timedelta(minutes=minutes)


def read_past(runtime: Runtime) -> tuple[PastWake, ...]:
    """Return the last wakes, as they came; what can't be read is passed over."""
    values = state.read(runtime.entity.state).get(WAKE, default={})
    past = []
    for row in values.get("recent") or ():
        with suppress(ValueError):
            at, did, key = str(row).split(" ", 2)
            past.append(PastWake(datetime.fromisoformat(at), did, key))
    return tuple(wake for wake in past if wake.at.tzinfo)


def _plan(runtime: Runtime, values: Mapping[str, object], why: str) -> Change | None:
    return state.plan_write(state.read(runtime.entity.state), {WAKE: dict(values)}, why)


MOST_MESSAGES, MOST_SAYS, MOST_SECONDS = 2, 6, 1200
ROUNDS = 10  # of tools: with them the loop asks the model at most 16 times
SAY = patterns.compile(r'"tool"\s*:\s*"say"')
MIND_TOKENS = 400  # of working memory, notes and thoughts
THOUGHTS = 4  # stray ones that are shown
LEAVE_MESSAGE = "leave_message"
MESSAGE = Tool(
    LEAVE_MESSAGE,
    "leave the person you think of a message; they get it as they get reminders",
    schema.closed({"text": {"type": "string", "description": "what they read"}}),
)
QUIET = ("think", "end_turn", "say")  # tools that leave no trace by themselves
ALONE = ("think", "end_turn", "say", "recall", "write_journal")  # tools that it may always use


class Wake(Struct, frozen=True):
    """One wake: why, and of whom it thinks."""

    decision: WakeDecision
    cause: Cause
    person: str  # id; empty: nobody has talked with it
    name: str
    declared: tuple[Tool, ...]  # what it may use
    left: list[str] = field(default_factory=list)  # messages for the person

    @property
    def audience(self) -> tuple[str, ...]:
        """Who may meet what comes of it; empty: everyone."""
        thought = self.cause.thought
        return (self.person,) if self.person else thought.audience if thought else ()

    def origin(self, model: str) -> base.Provenance:
        """Say where what comes of it comes from."""
        return base.Provenance(WAKE, model, trust="entity", audience=self.audience)

    @property
    def readers(self) -> tuple[str, ...]:
        """For whom what it sees has to be open; nobody in particular is only told what all are."""
        return self.audience or (WAKE,)

    @property
    def told(self) -> str:
        """What woke it, for a prompt."""
        thought = self.cause.thought
        return f"{self.cause.detail}, “{noise.line(thought)}”" if thought else self.cause.detail


def begin(runtime: Runtime, decision: WakeDecision, cause: Cause) -> Wake:
    """Choose of whom it thinks, and what it may use."""
    person = _person(runtime, cause.thought.audience if cause.thought else ())
    record = people.find_person(runtime, person) if person else None
    wake = Wake(decision, cause, person, record.name if record else person, ())
    declared = [tool for tool in tool_list.DECLARED if tool.name in ALONE]
    # projects that go on, as far as the person it thinks of may meet them
    has_projects = any(
        project.status == projects.ACTIVE
        and not is_untrusted(project.provenance.trust)
        and is_open(project.provenance.audience, wake.audience)
        for project in projects.PROJECT.readable(runtime.entity.projects)
    )
    declared += [tool_list.NOTE, *(tool_list.PROJECTS if has_projects else ())]
    if _may_address(runtime, person, decision.at):
        declared.append(MESSAGE)
    left = [tool for tool in declared if tool.name not in decision.barred]
    return replace(wake, declared=tuple(left))


def _person(runtime: Runtime, audience: Sequence[str]) -> str:
    """Draw somebody it has talked with, those it talked with more the likelier."""
    if audience:
        return audience[0] if len(audience) == 1 else ""
    infos = session_files.infos(runtime.entity.sessions)
    known = sorted({info.by for info in infos if info.imported is None})
    if not known:
        return ""
    records = [people.find_person(runtime, person) for person in known]
    weights = [max(1, record.interaction_count) if record else 1 for record in records]
    return runtime.rng.choices(known, weights)[0]


def _may_address(runtime: Runtime, person: str, at: datetime) -> bool:
    """Whether somebody may get a message: not in quiet hours, nor while the last waits for them."""
    if not person or is_quiet(runtime, at):
        return False
    newest = session_files.newest(runtime.entity.sessions, person, at)
    if newest is None or any(one.provenance.by == WAKE for one in _waiting(runtime, person)):
        return False
    messages = session_files.find(runtime.entity.sessions, newest.id).messages
    return not (messages and messages[-1].unprompted)


def act(runtime: Runtime, wake: Wake) -> LoopOutcome:
    """Let the model do what it likes of what it may, or rest, within the bounds."""
    at, origin = wake.decision.at, wake.origin(runtime.model.name)
    talk = sessions.new(base.new_id(sessions.PREFIX, at, runtime.rng), at, wake.person or WAKE)
    context = replace(
        tools.context_of(runtime, talk, origin, WAKE),
        config=replace(
            runtime.config.tools, notes=True, projects=True, files=False, run_command=False
        ),
    )
    names = {tool.name for tool in wake.declared}
    until = runtime.now() + timedelta(seconds=MOST_SECONDS)

    def fits(request: Request) -> Request:
        left = (until - runtime.now()).total_seconds()
        did = [one.content for one in request.messages if one.role == "assistant"]
        if left <= 0 or len(SAY.findall("\n".join(did))) >= MOST_SAYS:
            raise EnoughError
        return replace(route.fitting(runtime, request), seconds=left)

    def carry_out(call: Action) -> Result:
        if call.name not in names:
            return Result(f"failed: this time there is {', '.join(sorted(names))}", True)
        if call.name != LEAVE_MESSAGE:
            return tools.run(call.name, call.arguments, context)
        return _leave(runtime, wake, str(call.arguments.get("text", "")))

    return loop.act(
        runtime,
        _request(runtime, wake),
        wake.declared,
        replace(runtime.config.cognition.loop, max_tool_rounds=ROUNDS),
        carry_out,
        person=wake.name or runtime.identity.name,
        task=wake.told,
        is_heard=False,
        fits=fits,
    )


def _request(runtime: Runtime, wake: Wake) -> Request:
    soma = shown_to(body_state.read(runtime, wake.decision.at), wake.readers)
    # word what is in mind, as far as the person it thinks of may meet it
    thoughts = "\n".join(f"- {noise.line(one)}" for one in soma.noise[-THOUGHTS:])
    texts = [
        preamble.living_text(able_reply.stable(runtime, wake.readers)),
        preamble.notes_text(runtime.entity, wake.readers),
        prompts.tagged("thoughts", thoughts) if thoughts else "",
    ]
    blocks = [Block(WAKE, text) for text in texts if text]
    asked = prompts.load("wake").fill(
        now=f"It is {wake.decision.at:%A %d %B %Y, %H:%M}.",
        cause=prompts.harmless(wake.told),
        person=prompts.harmless(wake.name) or "nobody",
        body=ebb.reflection_line(soma),
        mind="\n".join(block.text for block in system.fitting(blocks, MIND_TOKENS)),
    )
    return automations.request_alone(runtime, WAKE, asked, wake.readers, wake.declared)


def _leave(runtime: Runtime, wake: Wake, text: str) -> Result:
    """Leave a message after others, delivered as reminders are; not in quiet hours, and few."""
    at = runtime.now()
    there = [*wake.left, *(one.text for one in _waiting(runtime, wake.person))]
    reasons = (
        (not text.strip(), "the message is empty"),
        (len(wake.left) >= MOST_MESSAGES, f"{MOST_MESSAGES} messages are enough"),
        (is_quiet(runtime, at), "these are quiet hours"),
        (text.strip() in map(str.strip, there), "the same waits for them already"),
        (secrets.find_secret(text) is not None, "no secret goes into a message"),
    )
    if problem := next((problem for holds, problem in reasons if holds), ""):
        return Result(f"failed: {problem}", failed=True)
    made = reminders.new(
        base.new_id(reminders.REMINDER.prefix, at, runtime.rng),
        at,
        text,
        person=wake.person,
        deliver=reminders.SESSION,
        provenance=wake.origin(runtime.model.name),
    )
    wake.left.append(text)
    planned = (lambda: reminders.REMINDER.plan_new(made, f"leave {wake.name} a message"),)
    return Result("left for them", plans=planned)


def _waiting(runtime: Runtime, person: str) -> list[reminders.Reminder]:
    """Return the reminders for somebody that they haven't heard yet."""
    readable = reminders.REMINDER.readable(runtime.entity.reminders)
    return [one for one in readable if one.person == person and not one.done]


def check(runtime: Runtime) -> Due[WakeDecision]:
    """Return every gate, and the decision; due only where it wakes."""
    decision = decide(runtime, runtime.now())
    return Due(decision.conditions, (decision,))


def check_tick(runtime: Runtime) -> Due[WakeDecision]:
    """Return the decision of a tick, which is made, and has its line, whether it wakes or not."""
    if not runtime.config.wake.enabled:
        return Due((Condition("enabled", "off", "wake.enabled", False),), ())
    decision = decide(runtime, runtime.now())
    return Due(decision.conditions[:1], (decision,))


def run(runtime: Runtime, decision: WakeDecision) -> JobResult:
    """Wake and do one thing, or stay asleep."""
    if decision.closed is not None or decision.cause is None:
        gate = decision.closed or decision.conditions[-1]
        reason = f"{gate.name}: {gate.value}, wants {gate.wants}"
        return JobResult(
            title=f"wake: stays asleep, {reason}",
            # noted once for as long as that is the reason
            plan=lambda: (_plan(runtime, {"reason": gate.name}, f"stays asleep: {gate.name}"),),
            lines=(f"Stays asleep: {reason}.",),
            data={"woke": False, "reason": reason},
            ran=False,
        )
    wake = begin(runtime, decision, decision.cause)
    try:
        outcome = act(runtime, wake)
    except NO_ANSWER as error:
        outcome = LoopOutcome(problem=error)
    return _awake(runtime, wake, outcome)


def _awake(runtime: Runtime, wake: Wake, outcome: LoopOutcome) -> JobResult:
    at, cause, steps = wake.decision.at, wake.cause, len(outcome.steps)
    aloud = "\n\n".join(step.said for step in outcome.steps if step.said)
    calls = [call for call, result in outcome.pairs if not result.failed]
    left = [str(call.arguments.get("text", "")) for call in calls if call.name == LEAVE_MESSAGE]
    traces = [call.name for call in calls if call.name not in QUIET] + (["say"] if aloud else [])
    did = "+".join(dict.fromkeys(traces)) or REST
    events = [body_state.SPOKE for _ in left]
    events += ["tool_failed" if result.failed else "tool" for _, result in outcome.pairs]
    why = f"no model answered ({type(outcome.problem).__name__})" if outcome.problem else ""

    def plan() -> Sequence[Change | None]:
        if read_past(runtime) != wake.decision.past:
            return ()  # another process was faster
        changes = [each() for each in outcome.plans]
        if aloud:
            origin, woke = wake.origin(runtime.model.name), f"woke: {cause.detail}"
            entry = (at, aloud, runtime.zone, woke)
            changes.append(journal.plan_add(*entry, tags=(WAKE,), provenance=origin))
        if events:
            move = body_state.events(runtime, events)
            changes.append(body_state.plan(runtime, at, move, "it was awake for a while"))
        past = [*wake.decision.past, PastWake(at, did, cause.key)]
        kept = past[-max(RUT_WINDOW, runtime.config.wake.max_per_day) :]
        rows = [f"{base.stamp(one.at)} {one.did} {one.key}" for one in kept]
        return (*changes, _plan(runtime, {"recent": rows, "reason": "woke"}, f"wake: {did}"))

    woke = f"Woke because of {cause.detail}: {did}{f' ({why})' if why else ''}."
    said = [f"to {wake.name}: {text}" for text in left] + ([aloud] if aloud else [])
    return JobResult(
        title=f"wake: {did}, because of {cause.detail}",
        plan=plan,
        lines=(woke, *said),
        data={
            "woke": True,
            "did": did,
            "cause": cause.key,
            "why": why,
            "barred": sorted(wake.decision.barred),
            "person": wake.person,
            "messages": len(left),
            "steps": steps,
        },
        trailers=traced((), runtime.model.name if steps else ""),
    )
