"""One turn: somebody says something, the entity answers, and both are kept.

1. the message is stored, so that nothing said is lost whatever happens next
2. what may matter is recalled
3. the prompt is made: stable part, stored history, the message with what is true right now
4. the agent loop answers
5. the answer and what tools want written are committed together

Nobody holds the entity's lock while the model thinks.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from bumble.entity import changes
from bumble.entity.changes import Change, ChangeSet
from bumble.entity.config import Config, Identity
from bumble.entity.folder import Entity
from bumble.errors import FileChangedError, UsageError, UserError
from bumble.llm.protocol import Message as PromptMessage
from bumble.llm.protocol import Model, Request, ToolCall
from bumble.mind import history, loop, prompt, recall, route, tokens, tools
from bumble.mind.loop import Outcome, Profile
from bumble.mind.prompt import Block, Stable
from bumble.stores import records, relationships, sessions, transcripts
from bumble.stores.records import Provenance
from bumble.stores.sessions import Message, Session

COMMIT_TRIES = 3
TEMPERATURE = 0.7  # for models of which the catalog knows nothing
WINDOW_SHARE = 0.75  # of the context window that stable part and history may fill


@dataclass(frozen=True)
class Mind:
    """What a turn works with."""

    entity: Entity
    identity: Identity
    config: Config
    model: Model
    memory: recall.Memory
    clock: Callable[[], datetime]
    rng: random.Random
    writes: bool = True  # False: incognito, the folder is not touched
    temperature: float = TEMPERATURE  # what suits the model, unless the settings name another

    @property
    def zone(self) -> ZoneInfo:
        """The entity's time zone."""
        return ZoneInfo(self.identity.timezone)

    @property
    def window_tokens(self) -> int:
        """The context window: the model's, unless the settings allow less."""
        limit = self.config.cognition.max_context_tokens
        return min(limit, self.model.context_tokens or limit)


@dataclass(frozen=True)
class Person:
    """Who speaks."""

    id: str
    name: str
    trust: str  # "owner" or "person"


@dataclass
class Turn:
    """A turn while it happens, and its record afterwards."""

    session: Session
    person: Person
    route: route.Route
    stable: Stable
    blocks: tuple[Block, ...]  # what was true right now, as it was sent
    left_out: int  # stored messages the window had no room for
    request: Request
    outcome: Outcome = field(default_factory=Outcome)
    notes: list[str] = field(default_factory=list)  # what the person should hear about


def person(entity: Entity, identity: Identity, name: str | None) -> Person:
    """Return who speaks: somebody the entity knows, a new name, or the owner."""
    if name is not None and not (name.strip() and name.isprintable()):
        raise UsageError("A person's name should be one line of text.")
    owner = identity.owner.name or "you"
    known = list(relationships.read(entity.relationships))
    match = relationships.match(known, name or owner)
    shown = match.names[0] if match and match.names else (name or owner)
    found = match.id if match else relationships.person_id(name or owner)
    is_owner = found == owner_id(entity, identity)
    return Person(found, shown, "owner" if is_owner else "person")


def owner_id(entity: Entity, identity: Identity) -> str:
    """Return the id of the person the entity belongs to."""
    owner = identity.owner.name or "you"
    match = relationships.match(list(relationships.read(entity.relationships)), owner)
    return match.id if match else relationships.person_id(owner)


def open_session(
    mind: Mind, who: Person, at: datetime, *, session_id: str | None = None, new: bool = False
) -> tuple[Session, bool]:
    """Find the conversation to go on with, or begin one.

    Returns:
        The session, and whether it has yet to be written.
    """
    folder = mind.entity.sessions
    if session_id is not None:
        return transcripts.find(folder, session_id), False
    latest = None if new else transcripts.newest(folder, who.id)
    idle = timedelta(hours=mind.config.session.idle_hours)
    if latest and not latest.ended and at - latest.last_at <= idle:
        return transcripts.find(folder, latest.id), False
    return sessions.new(records.new_id(sessions.PREFIX, at, mind.rng), at, who.id), True


def listen(mind: Mind, session: Session, is_new: bool, who: Person, text: str) -> Session:
    """Store what was said, before anything is made of it."""
    at = mind.clock()
    message = Message(
        id=records.new_id(sessions.MESSAGE_PREFIX, at, mind.rng),
        at=at,
        role="user",
        text=text,
        speaker=who.id,
        trust=who.trust,
        extra={"name": who.name},
    )
    if mind.writes:
        planned = [sessions.plan_start(session, f"begin to talk with {who.name}")] if is_new else []
        planned.append(sessions.plan_append(session, [message], f"{who.name} said something"))
        _apply(mind, ChangeSet(f"chat: {who.name} says something", tuple(planned)))
    return sessions.appended(session, [message])


def prepare(mind: Mind, session: Session, who: Person, *, last_spoke: datetime | None) -> Turn:
    """Recall, route and make the request that answers the last message of a session."""
    said, before = session.messages[-1], session.messages[:-1]
    decided = route.route(said.text, mind.config.cognition.router)
    profile = profile_of(mind.config, decided.profile, mind.temperature)
    stable = stable_part(mind)
    blocks = [Block("now", now_text(mind, who, said.at, last_spoke))]
    blocks += recall.blocks(mind.memory, mind.entity, mind.config, session, who.id)
    kept = prompt.preamble(blocks, profile.preamble_max_tokens)
    seen = history.view(before, history_budget(mind, stable))
    last = prompt.with_preamble(kept, history.render(said).content)
    messages = (PromptMessage("system", stable.text), *history.with_last(seen.messages, last))
    used = sum(tokens.estimate_message(message.content) for message in messages)
    request = Request(
        messages=messages,
        purpose="chat",
        max_tokens=max(64, min(profile.max_tokens, mind.window_tokens - used)),
        temperature=profile.temperature,
        thinking=profile.thinking,
        seed=mind.rng.getrandbits(31),
        cache_id=session.id if mind.writes else None,
        cache_family=str(mind.entity.root) if mind.writes else None,
    )
    turn = Turn(session, who, decided, stable, kept, seen.left_out, request)
    if mind.memory.unusable:
        turn.notes.append("there is no index to search, and none may be made: nothing was recalled")
    if seen.left_out:
        turn.notes.append(
            f"{seen.left_out} older messages of this conversation do not fit the model's window; "
            "they stay in the transcript, where `recall` finds them"
        )
    return turn


def answer(mind: Mind, turn: Turn, say: Callable[[str], None]) -> Turn:
    """Let the model act, and commit what came of it."""

    def carry_out(call: ToolCall) -> tools.Result:
        context = tools.Context(
            entity=mind.entity,
            at=mind.clock(),
            zone=mind.zone,
            provenance=_provenance(mind, turn),
            recall=lambda query: recall.text(mind.memory, query, turn.session, turn.person.id),
        )
        return tools.run(call.name, call.arguments, context)

    turn.outcome = loop.run(
        mind.model,
        turn.request,
        tools.DECLARED,
        mind.config.cognition.loop,
        carry_out,
        say,
        person=turn.person.name,
    )
    _commit(mind, turn)
    return turn


def _commit(mind: Mind, turn: Turn) -> None:
    """Write the answer and what the tools planned, on the files as they are now."""
    new = _messages(mind, turn)
    if not mind.writes:
        turn.session = sessions.appended(turn.session, new)
        return
    title = f"chat: {turn.person.name} and {mind.identity.name}"
    added = [sessions.plan_append(turn.session, new, f"answer {turn.person.name}")] if new else []
    waiting = turn.outcome.plans
    for _ in range(COMMIT_TRIES + len(waiting)):
        planned, later = _planned(turn, waiting, {change.path for change in added})
        change_set = ChangeSet(title, (*added, *planned), (("Model", mind.model.name),))
        try:
            _apply(mind, change_set)
        except FileChangedError:  # a hand edit between plan and write: plan again on what is there
            continue
        added, waiting = [], later
        if not waiting:
            break
    else:
        turn.notes.append("a file kept changing; what the tools wanted written there was not")
        _apply(mind, ChangeSet(title, tuple(added)))
    turn.session = sessions.appended(turn.session, new)


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
            turn.notes.append(f"not written: {error}")
            continue
        if change is None:
            continue
        if change.path in taken and not change.adds:
            later.append(plan)
            continue
        taken.add(change.path)
        planned.append(change)
    return planned, later


def _messages(mind: Mind, turn: Turn) -> list[Message]:
    """Render what happened as messages of the transcript."""
    new: list[Message] = []

    def add(role: str, text: str, **fields: object) -> None:
        at = mind.clock()
        message_id = records.new_id(sessions.MESSAGE_PREFIX, at, mind.rng)
        new.append(Message(message_id, at, role, text, **fields))  # type: ignore[arg-type]

    made_by = {"model": mind.model.name}
    for step in turn.outcome.steps:
        if not step.calls and not step.said:
            continue
        stopped = turn.outcome.stopped if step is turn.outcome.steps[-1] else "done"
        extra = made_by if stopped == "done" else {**made_by, "stopped": stopped}
        calls = tuple(sessions.ToolCall(one.id, one.name, one.arguments) for one in step.calls)
        add("assistant", step.said, tool_calls=calls, trust="entity", extra=extra)
        for call, result in zip(step.calls, step.results, strict=True):
            add("tool", result.text, tool_call_id=call.id, trust="tool", extra={"tool": call.name})
    return new


def _apply(mind: Mind, change_set: ChangeSet) -> None:
    timeout = mind.config.limits.lock_timeout_seconds
    changes.apply(mind.entity.root, change_set, timeout_seconds=timeout)


def _provenance(mind: Mind, turn: Turn) -> Provenance:
    said = turn.session.messages[-1]
    return Provenance(
        by="chat",
        model=mind.model.name,
        sources=(turn.session.id, said.id),
        trust=turn.person.trust,
        audience=() if turn.person.trust == "owner" else (turn.person.id,),
    )


def stable_part(mind: Mind) -> Stable:
    """Make the system prompt from the files as they are."""
    return prompt.of_entity(mind.entity, mind.identity, tools.DECLARED)


def stored_request(mind: Mind, turn: Turn) -> Request:
    """Return the prompt as the next turn will begin: what is worth evaluating ahead."""
    seen = history.view(turn.session.messages, history_budget(mind, turn.stable))
    messages = (PromptMessage("system", turn.stable.text), *seen.messages)
    return replace(turn.request, messages=messages, purpose="warm")


def history_budget(mind: Mind, stable: Stable) -> int:
    """Return the tokens that stored history may take; the same for every profile."""
    return max(256, int(mind.window_tokens * WINDOW_SHARE) - tokens.estimate(stable.text))


def profile_of(config: Config, name: route.ProfileName, temperature: float) -> Profile:
    """Return what a turn may cost; `temperature` is the model's own, if no setting names one."""
    named = config.llm.temperature
    reflex = name == "reflex"
    cognition = config.cognition
    return Profile(
        name=name,
        max_tokens=cognition.reflex_max_tokens if reflex else cognition.deliberate_max_tokens,
        thinking=not reflex and cognition.deliberate_thinking,
        temperature=temperature if named is None else named,
        preamble_max_tokens=(
            config.prompt.preamble_reflex_max_tokens
            if reflex
            else config.prompt.preamble_max_tokens
        ),
    )


def now_text(mind: Mind, who: Person, at: datetime, last_spoke: datetime | None) -> str:
    """Say what time it is, who is here, and how long the silence was."""
    local, world = at.astimezone(mind.zone), at.astimezone(ZoneInfo("UTC"))
    lines = [f"Now: {local:%A %d %B %Y, %H:%M} ({world:%H:%M} UTC)."]
    if last_spoke is None:
        lines.append(f"You are {mind.identity.name}. {who.name} talks to you for the first time:")
    else:
        silence = ago(at - last_spoke)
        lines.append(f"You are {mind.identity.name}. {who.name} talks to you, after {silence}:")
    return " ".join(lines)


def ago(gap: timedelta) -> str:
    """Say how long something is, in the largest unit that fits."""
    seconds = max(0, int(gap.total_seconds()))
    for name, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        count = seconds // length
        if count:
            return f"{count} {name}{'s' if count > 1 else ''}"
    return "a moment"
