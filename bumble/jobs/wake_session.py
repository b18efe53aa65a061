"""The one session of a wake: what it chooses to do, its tools and bounds, and what comes of it.

All it sees is what one person, or everyone, may meet, and whatever it writes is for them alone. A
model that may write chooses and acts; below that it acts by rule: notes and entries that quote.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from bumble.body import ebb, noise
from bumble.body.soma import is_open, shown_to
from bumble.chat import alone, loop, tools, turn, turn_budget
from bumble.entity.changes import Change
from bumble.errors import AnswerInvalidError, RefusedError
from bumble.fallback import recent, sayings
from bumble.fallback.recent import Remark
from bumble.guard import secrets
from bumble.jobs import wake_gates
from bumble.jobs.wake_gates import (
    INTENTS,
    JOURNAL,
    LOOK_UP,
    MESSAGE,
    NOTE,
    PROJECT,
    REST,
    WAKE,
    WakeDecision,
)
from bumble.llm import prompts, structured
from bumble.llm.protocol import (
    Action,
    Completion,
    EnoughError,
    OnText,
    PromptMessage,
    Request,
    Tool,
    Wrapper,
)
from bumble.prompt import working_memory
from bumble.prompt.system import Block
from bumble.records import (
    base,
    journal,
    projects,
    reminders,
    scratch,
    session_files,
    sessions,
)
from bumble.records.base import Provenance
from bumble.records.projects import Project
from bumble.records.provenance import is_untrusted
from bumble.records.reminders import SESSION
from bumble.runtime import body_state, job_request, people
from bumble.runtime.job import NO_ANSWER
from bumble.runtime.runtime import Runtime
from bumble.text.words import one_line

MOST_MESSAGES, MOST_SAYS, MOST_STEPS, MOST_SECONDS = 2, 6, 16, 1200
ROUNDS = 10  # of tools: with them the loop takes at most MOST_STEPS
MIND_TOKENS = 400  # of working memory, notes and thoughts
INTENT_TOKENS, INTENT_TEMPERATURE = 120, 0.7
THOUGHTS = 4  # stray ones that are shown
SAY = re.compile(r'"tool"\s*:\s*"say"')
LEAVE_MESSAGE = "leave_message"
TOOL_NAMES = {  # what each intent may use, beside thinking
    JOURNAL: ("say", "recall", "write_journal"),
    NOTE: ("say", "recall", tools.NOTE.name),
    LOOK_UP: ("say", "recall", tools.NOTE.name),
    PROJECT: ("say", "recall", tools.NOTE.name, *(tool.name for tool in tools.PROJECTS)),
    MESSAGE: ("recall", LEAVE_MESSAGE),
}
MEANINGS = {
    JOURNAL: "write in your diary",
    NOTE: "jot down a line for later",
    LOOK_UP: "look something up in your memory",
    PROJECT: "take up a project: think how it goes on, and write down its next steps",
    MESSAGE: "leave them a message",
    REST: "do nothing",
}


class Deed(Struct, frozen=True):
    """What a wake did."""

    intent: str
    why: str = ""
    model: str = ""  # empty: by rule
    plans: tuple[tools.Plan, ...] = ()
    lines: tuple[str, ...] = ()  # what a person is told
    messages: int = 0
    steps: int = 0
    events: tuple[str, ...] = ()  # what it did to the body


class Wake(Struct, frozen=True):
    """One wake: why, and of whom it thinks."""

    decision: WakeDecision
    person: str  # id; empty: nobody has talked with it
    name: str
    intents: tuple[str, ...]  # what it may choose

    @property
    def audience(self) -> tuple[str, ...]:
        """Who may meet what comes of it; empty: everyone."""
        thought = self.decision.cause.thought if self.decision.cause else None
        return (self.person,) if self.person else thought.audience if thought else ()

    @property
    def readers(self) -> tuple[str, ...]:
        """For whom what it sees has to be open; nobody in particular is only told what all are."""
        return self.audience or (WAKE,)

    @property
    def cause(self) -> str:
        """What woke it, for a prompt."""
        cause = self.decision.cause
        if cause is None:
            return "nothing"
        quoted = f", “{noise.line(cause.thought)}”" if cause.thought else ""
        return f"{cause.detail}{quoted}"


class Bounded(Wrapper):
    """A model that is asked no more once the time is up, or enough was said."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime.model)
        self._now = runtime.now
        self._until = runtime.now() + timedelta(seconds=MOST_SECONDS)
        self._says = 0

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        def hear(piece: str) -> None:
            if self._now() >= self._until:
                raise EnoughError
            if on_text is not None:
                on_text(piece)

        if self._now() >= self._until or self._says >= MOST_SAYS:
            raise EnoughError
        left = (self._until - self._now()).total_seconds()
        completion = super().complete(replace(request, seconds=left), hear)
        self._says += len(SAY.findall(completion.text))
        return completion


def begin(runtime: Runtime, decision: WakeDecision) -> Wake:
    """Choose of whom it thinks, and what it may choose to do."""
    thought = decision.cause.thought if decision.cause else None
    person = _person(runtime, thought.audience if thought else ())
    record = people.find_person(runtime, person) if person else None
    open_intents = [
        intent
        for intent in INTENTS
        if intent not in decision.barred
        and (intent != MESSAGE or _may_address(runtime, person, decision.at))
    ]
    wake = Wake(decision, person, record.name if record else person, tuple(open_intents))
    if _projects(runtime, wake):
        return wake
    return replace(wake, intents=tuple(one for one in open_intents if one != PROJECT))


def _projects(runtime: Runtime, wake: Wake) -> list[Project]:
    """Return the projects that go on, as far as the person it thinks of may meet them."""
    return [
        project
        for project in projects.readable(runtime.entity.projects)
        if project.status == projects.ACTIVE
        and not is_untrusted(project.provenance.trust)
        and is_open(project.provenance.audience, wake.audience)
    ]


def _person(runtime: Runtime, audience: Sequence[str]) -> str:
    """Draw somebody it has talked with, those it talked with more the likelier."""
    if audience:
        return audience[0] if len(audience) == 1 else ""
    begun = {
        info.by for info in session_files.infos(runtime.entity.sessions) if info.imported is None
    }
    known = sorted(begun)
    if not known:
        return ""
    records = [people.find_person(runtime, person) for person in known]
    weights = [max(1, record.interaction_count) if record else 1 for record in records]
    return runtime.rng.choices(known, weights)[0]


def _may_address(runtime: Runtime, person: str, at: datetime) -> bool:
    """Whether somebody may get a message: not in quiet hours, nor while the last waits for them."""
    if not person or wake_gates.is_quiet(runtime, at):
        return False
    newest = session_files.newest(runtime.entity.sessions, person, at)
    if newest is None:
        return False
    readable, _ = base.load_all(reminders.paths(runtime.entity.reminders), reminders.load)
    if any(
        one.person == person and not one.done and wake_gates.is_of_wake(one.provenance)
        for one in readable
    ):
        return False
    messages = session_files.find(runtime.entity.sessions, newest.id).messages
    return not (messages and messages[-1].unprompted)


def act(runtime: Runtime, wake: Wake) -> Deed:
    """Do one thing, or rest."""
    if set(wake.intents) == {REST}:
        return Deed(REST, "every other intent was followed too often of late")
    if sayings.of_owner(runtime) is None:
        try:
            return _by_model(runtime, wake)
        except NO_ANSWER:
            pass
    return _by_rule(runtime, wake)


def _by_model(runtime: Runtime, wake: Wake) -> Deed:
    """Have the model choose, and act.

    Raises:
        UserError: If no model answers, or none that can be read.
    """
    bounded = replace(runtime, model=Bounded(runtime))
    mind = _mind(runtime, wake)
    try:
        intent, why = _chosen(bounded, wake, mind)
        chosen = Deed(intent, why, runtime.model.name)
        return chosen if intent == REST else _session(bounded, wake, chosen, mind)
    except EnoughError as error:
        raise AnswerInvalidError("the time of the wake is over", answer="") from error


def _chosen(runtime: Runtime, wake: Wake, mind: str) -> tuple[str, str]:
    soma = shown_to(body_state.read(runtime, wake.decision.at), wake.readers)
    past = ", ".join(one.intent for one in wake.decision.past[-6:])
    slots = {
        "name": runtime.identity.name,
        "now": f"It is {wake.decision.at:%A %d %B %Y, %H:%M}.",
        "cause": prompts.harmless(wake.cause),
        "person": prompts.harmless(wake.name) or "nobody",
        "body": ebb.reflection_line(soma),
        "mind": mind,
        "past": f"What you did when you woke before: {past}." if past else "",
        "intents": "\n".join(f"- {intent}: {MEANINGS[intent]}" for intent in wake.intents),
    }
    request = job_request.request(
        runtime,
        "wake_intent",
        slots,
        max_tokens=INTENT_TOKENS,
        temperature=INTENT_TEMPERATURE,
    )
    schema = {
        "type": "object",
        "properties": {"why": {"type": "string"}, "intent": {"enum": list(wake.intents)}},
        "required": ["why", "intent"],
        "additionalProperties": False,
    }
    answer = structured.answer(runtime.model, request, schema)
    return str(answer["intent"]), " ".join(str(answer["why"]).split())[:200]


def _mind(runtime: Runtime, wake: Wake) -> str:
    """Word what is in mind, as far as the person it thinks of may meet it."""
    soma = shown_to(body_state.read(runtime, wake.decision.at), wake.readers)
    stable = turn.stable_part(runtime, wake.readers)
    thoughts = "\n".join(f"- {noise.line(one)}" for one in soma.noise[-THOUGHTS:])
    texts = [
        working_memory.living_text(stable),
        working_memory.notes_text(runtime.entity, wake.readers),
        prompts.tagged("thoughts", thoughts) if thoughts else "",
    ]
    blocks = [Block(WAKE, text) for text in texts if text]
    return "\n".join(block.text for block in working_memory.fitting(blocks, MIND_TOKENS))


def _session(runtime: Runtime, wake: Wake, chosen: Deed, mind: str) -> Deed:
    """Let the model act on what it chose, within the bounds."""
    at, origin = wake.decision.at, _origin(runtime, wake, runtime.model.name)
    talk = sessions.new(base.new_id(sessions.PREFIX, at, runtime.rng), at, wake.person or WAKE)
    context = replace(
        turn.tool_context(runtime, talk, origin, WAKE),
        config=replace(
            runtime.config.tools, notes=True, projects=True, files=False, run_command=False
        ),
    )
    declared = _declared(chosen.intent)
    names = {tool.name for tool in declared}
    messages: list[str] = []

    def carry_out(call: Action) -> tools.Result:
        if call.name not in names:
            return tools.Result(f"failed: this time there is {', '.join(sorted(names))}", True)
        if call.name != LEAVE_MESSAGE:
            return tools.run(call.name, call.arguments, context)
        text = str(call.arguments.get("text", ""))
        result = _left(runtime, wake, messages, text)
        if not result.failed:
            messages.append(text)
        return result

    outcome = alone.act(
        runtime,
        _request(runtime, wake, chosen, mind, declared),
        declared,
        replace(runtime.config.cognition.loop, max_tool_rounds=ROUNDS),
        carry_out,
        person=wake.name or runtime.identity.name,
        task=chosen.why,
    )
    results = [result for step in outcome.steps for result in step.results]
    used = ["tool_failed" if result.failed else "tool" for result in results]
    aloud = "\n\n".join([step.said for step in outcome.steps if step.said][:MOST_SAYS])
    diary: tools.Plan = lambda: _diary(runtime, wake, aloud, origin)  # noqa: E731
    return replace(
        chosen,
        plans=(*outcome.plans, *((diary,) if aloud else ())),
        lines=(*(f"to {wake.name}: {text}" for text in messages), *((aloud,) if aloud else ())),
        messages=len(messages),
        steps=len(outcome.steps),
        events=(*(body_state.SPOKE for _ in messages), *used),
    )


def _declared(intent: str) -> tuple[Tool, ...]:
    wanted = ("think", "end_turn", *TOOL_NAMES[intent])
    message = Tool(
        LEAVE_MESSAGE,
        "leave the person you think of a message; they get it as they get reminders",
        {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "what they read"}},
            "required": ["text"],
            "additionalProperties": False,
        },
    )
    return tuple(
        tool
        for tool in (*tools.DECLARED, tools.NOTE, *tools.PROJECTS, message)
        if tool.name in wanted
    )


def _request(
    runtime: Runtime, wake: Wake, chosen: Deed, mind: str, declared: Sequence[Tool]
) -> Request:
    profile = turn_budget.profile(runtime.config, "deliberate", runtime.temperature)
    asked = prompts.load("wake").fill(
        now=f"It is {wake.decision.at:%A %d %B %Y, %H:%M}.",
        cause=prompts.harmless(wake.cause),
        intent=MEANINGS[chosen.intent],
        person=prompts.harmless(wake.name) or "nobody",
        why=prompts.harmless(chosen.why),
        mind=mind,
    )
    return Request(
        messages=(
            PromptMessage("system", turn.stable_part(runtime, wake.readers).text),
            PromptMessage("user", asked),
        ),
        purpose=WAKE,
        schema=loop.schema(declared),
        max_tokens=profile.max_tokens,
        temperature=profile.temperature,
        thinking=profile.thinking,
        seed=runtime.rng.getrandbits(31),
        cache_family=str(runtime.entity.root),
    )


def _left(runtime: Runtime, wake: Wake, before: Sequence[str], text: str) -> tools.Result:
    """Leave a message after others, delivered as reminders are; not in quiet hours, and few."""
    at = runtime.now()
    if not text.strip():
        return tools.Result("failed: the message is empty", failed=True)
    if len(before) >= MOST_MESSAGES:
        return tools.Result(f"failed: {MOST_MESSAGES} messages are enough", failed=True)
    if wake_gates.is_quiet(runtime, at):
        return tools.Result("failed: these are quiet hours", failed=True)
    if text in before or _waits(runtime, wake, text):
        return tools.Result("failed: the same waits for them already", failed=True)
    try:
        secrets.refuse(text)
    except RefusedError as error:
        return tools.Result(f"failed: {error}", failed=True)
    made = reminders.new(
        base.new_id(reminders.PREFIX, at, runtime.rng),
        at,
        text,
        person=wake.person,
        deliver=SESSION,
        provenance=_origin(runtime, wake, runtime.model.name),
    )
    return tools.Result(
        "left for them", plan=lambda: reminders.plan_new(made, f"leave {wake.name} a message")
    )


def _waits(runtime: Runtime, wake: Wake, text: str) -> bool:
    """Whether the same words were left for somebody before, and they haven't heard them yet."""
    waiting, _ = base.load_all(reminders.paths(runtime.entity.reminders), reminders.load)
    return any(
        left.person == wake.person and not left.done and left.text.strip() == text.strip()
        for left in waiting
    )


def _origin(runtime: Runtime, wake: Wake, model: str, sources: tuple[str, ...] = ()) -> Provenance:
    return Provenance(WAKE, model, sources, "entity", wake.audience)


def _diary(runtime: Runtime, wake: Wake, text: str, origin: Provenance) -> Change:
    why = f"woke: {wake.decision.cause.detail if wake.decision.cause else ''}"
    return journal.plan_add(
        wake.decision.at, text, runtime.zone, why, tags=(WAKE,), provenance=origin
    )


def _by_rule(runtime: Runtime, wake: Wake) -> Deed:
    """Act without a model: put down the thought that woke it, or what somebody said, in quotes."""
    at, cause = wake.decision.at, wake.decision.cause
    if JOURNAL in wake.intents and cause and cause.thought:
        text, thought = f"“{cause.thought.text}”", cause.thought
        origin = Provenance(WAKE, "", (), "entity", thought.audience)
        diary: tools.Plan = lambda: _diary(runtime, wake, text, origin)  # noqa: E731
        return Deed(JOURNAL, "by rule", plans=(diary,), lines=(text,))
    remark = _unnoted(runtime, wake) if NOTE in wake.intents else None
    if remark is None and PROJECT in wake.intents and (step := _next_step(runtime, wake)):
        return step
    if remark is None:
        return Deed(REST, "by rule: nothing that was said is not noted yet")
    sources, trust = (remark.quote.message,), remark.quote.trust
    origin = Provenance(WAKE, "", sources, trust, remark.audience)

    def note() -> Change:
        return scratch.plan_add(at, "experience", remark.line, runtime.zone, origin, "note it down")

    return Deed(NOTE, "by rule", plans=(note,), lines=(remark.line,))


def _next_step(runtime: Runtime, wake: Wake) -> Deed | None:
    """Note the next step of a project, as it was written down, that is in no note yet."""
    noted = _noted(runtime)
    for project in _projects(runtime, wake):
        if not project.steps or project.id in noted:
            continue
        line = one_line(f"{project.title}: {project.steps[0]}")
        there = project.provenance
        audience = there.audience or wake.audience
        origin = Provenance(WAKE, "", (project.id,), there.trust or "entity", audience)

        def note(line: str = line, origin: Provenance = origin) -> Change:
            at = wake.decision.at
            return scratch.plan_add(at, "experience", line, runtime.zone, origin, "note it down")

        return Deed(PROJECT, "by rule", plans=(note,), lines=(line,))
    return None


def _noted(runtime: Runtime) -> set[str]:
    """Return the ids of all that waiting notes and the diary rest on."""
    lines = scratch.lines(runtime.entity.root / scratch.PATH)
    noted = {source for line in lines for source in scratch.origin(line).sources}
    for entry in journal.read(runtime.entity.journal, runtime.zone).entries:
        noted |= set(entry.provenance.sources)
    return noted


def _unnoted(runtime: Runtime, wake: Wake) -> Remark | None:
    """Return the newest thing somebody said that is in no note yet."""
    noted = _noted(runtime)
    return next(
        (
            remark
            for remark in recent.remarks(runtime)
            if remark.quote.message not in noted and is_open(remark.audience, wake.audience)
        ),
        None,
    )
