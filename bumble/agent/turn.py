"""One turn: recall, prompt, loop, answer, and the change set that stores message and answer.

1. the message is stored (`participants`), so that nothing said is lost whatever happens next
2. what may matter is recalled
3. the prompt is made: stable part, stored history, the message with what is true right now
4. the agent loop answers
5. the answer and what tools want written are committed together

Nobody holds the entity's lock while the model thinks.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from bumble import prompts
from bumble.agent import deep_recall, host, loop, route, tool_cache, tools, workspace
from bumble.agent.completion_gate import Gate
from bumble.agent.loop import Outcome, Profile
from bumble.agent.participants import Person
from bumble.agent.tool_cache import ToolCache
from bumble.body import ebb
from bumble.body.soma import Soma, shown_to
from bumble.context import (
    compact,
    handover,
    preamble,
    recalled,
    system,
    transcript,
)
from bumble.context.system import Block, Stable
from bumble.entity.changes import Change, ChangeSet
from bumble.entity.config import Config, ToolsConfig
from bumble.errors import (
    ChangeUnfinishedError,
    FileChangedError,
    LockedError,
    RefusedError,
    UserError,
)
from bumble.llm.protocol import Message as PromptMessage
from bumble.llm.protocol import Request, ToolCall
from bumble.records import base, provenance, session_files, sessions, state
from bumble.records.base import Provenance
from bumble.records.sessions import Message, Session
from bumble.runtime import body_state, cursors, people, spoken
from bumble.runtime.cursors import APPRAISE, DISTILL, REFLECT, REMEMBER
from bumble.runtime.runtime import ProfileName, Runtime
from bumble.text import tokens

COMMIT_TRIES = 3
_SEEDS = (10**9, 2**31)  # of ten digits each: what `context` counts is as long as what is sent
HEARD, SPOKE = "message_in", "message_out"
ATTACHED = "attached"  # the block of the files that a message points to
LEAST_ANSWER_TOKENS, LEAST_RESULT_TOKENS = 64, 128  # however full the window is
WINDOW_SHARE = 0.75  # of the context window that stable part and history may fill


@dataclass
class Turn:
    """A turn while it happens, and its record afterwards."""

    session: Session
    person: Person
    route: route.Route
    stable: Stable
    blocks: tuple[Block, ...]  # what was true right now, as it was sent
    seen: transcript.View  # of the conversation
    request: Request
    brief: handover.Brief | None = None  # of the last conversation, whether it fits or not
    outcome: Outcome = field(default_factory=Outcome)
    originals: dict[str, Change] = field(default_factory=dict)  # of results that were cut
    notes: list[str] = field(default_factory=list)  # what the person should hear about
    read: set[str] = field(default_factory=set)  # tiers of what was read that is only quoted
    warned: set[str] = field(default_factory=set)  # texts that were about to lose most they say


def prepare(
    life: Runtime,
    session: Session,
    who: Person,
    *,
    last_spoke: datetime | None,
    compacts: bool = True,
    profile_name: ProfileName | None = None,
    attached: str = "",
) -> Turn:
    """Recall, route and make the request that answers the last message of a session.

    Args:
        life: Whose turn.
        session: With the message that is to be answered.
        who: Who said it.
        last_spoke: When they last said something before; None if never.
        compacts: Whether a conversation that is too long is compacted first, if need be by the
            model; False only looks.
        profile_name: How much thought was asked for; None: as the rules say.
        attached: Files that go with the message, as data; never stored.
    """
    said = session.messages[-1]
    soma = body_state.events(life, [HEARD])(body_state.read(life, said.at))
    mood = body_state.mood(life, soma)
    asks = life.model if compacts else None
    decided = _asked(profile_name) or route.decide(
        asks,
        said.text,
        life.config.cognition.router,
        mood=mood.name,
        intensity=body_state.intensity(life, soma),
    )
    profile = profile_of(life.config, decided.profile, life.temperature)
    stable = stable_part(life, session.people)
    compacted = None
    if compacts:
        stable_tokens = tokens.estimate_message(stable.text)
        session, compacted = compact.make_room(life, session, stable_tokens)
    room = history_budget(life, stable)
    if attached:
        room = max(256, room - tokens.estimate(attached))
    seen = transcript.view(session, room, before=said.id)
    brief = preamble.found_brief(life, session)
    blocks, trouble = _blocks(
        life, session, who, decided.profile, soma, last_spoke, seen.unseen, brief
    )
    message = transcript.render(said).content
    always = [PromptMessage("system", stable.text), *transcript.with_last(seen.messages, message)]
    left = int((_room(life, always) - LEAST_ANSWER_TOKENS) / life.token_ratio)
    left -= tokens.estimate(attached)
    kept = system.preamble(blocks, min(profile.preamble_max_tokens, left))
    if attached:  # it was asked for, so it is whole, whatever the preamble may take
        kept = (*kept, Block(ATTACHED, attached, trust="imported"))
    last = system.with_preamble(kept, message)
    messages = (PromptMessage("system", stable.text), *transcript.with_last(seen.messages, last))
    request = fitting(life, _request(life, session, profile, messages))
    turn = Turn(session, who, decided, stable, kept, seen, request, brief=brief)
    turn.read |= {block.trust for block in kept if block.trust}
    turn.read |= provenance.untrusted_tiers(session.messages[:-1])
    turn.notes += filter(None, (compacted.lines[0] if compacted else "", trouble))
    if life.memory.unusable:
        turn.notes.append("there is no index to search, and none may be made: nothing was recalled")
    if seen.left_out:
        turn.notes.append(
            f"{seen.left_out} older messages of this conversation do not fit the model's window; "
            "they stay in the transcript, where `recall` finds them"
        )
    return turn


def _blocks(
    life: Runtime,
    session: Session,
    who: Person,
    profile: ProfileName,
    soma: Soma,
    last_spoke: datetime | None,
    unseen: Sequence[str],
    brief: handover.Brief | None,
) -> tuple[list[Block], str]:
    """Say what is true right now, most important first; and what went wrong."""
    said = session.messages[-1]
    others = [one for one in session.people if one != who.id]
    shown = shown_to(soma, session.people)
    machine, trouble = _machine(life, who, others)
    blocks = [
        Block("now", preamble.now_text(life, who.name, said.at, last_spoke, others)),
        Block("body", preamble.body_text(life, shown, profile, session.people)),
        Block("workspace", preamble.workspace_text(life, workspace.names(life.entity))),
        *recalled.blocks(life, session, who.id, body_state.mood(life, soma).name, said.at, unseen),
        Block("handover", preamble.handover_text(life, brief, said.at)),
        Block("machine", machine),
    ]
    return blocks, trouble


def _asked(profile_name: ProfileName | None) -> route.Route | None:
    return route.Route(profile_name, "asked", 1.0) if profile_name else None


def _machine(life: Runtime, who: Person, others: Sequence[str]) -> tuple[str, str]:
    """Tell an owner's entity of their machine, which is nobody else's business; what went wrong."""
    if who.trust != "owner" or others:
        return "", ""
    also = life.config.tools.command_variables
    return host.describe(life.config.prompt.host_command, life.entity.root, life.environ, also)


def _request(
    life: Runtime, session: Session, profile: Profile, messages: Sequence[PromptMessage]
) -> Request:
    return Request(
        messages=messages,
        purpose="chat",
        max_tokens=profile.max_tokens,
        schema=loop.schema(
            tools.declared(_offered(life, session.people, profile.name)),
            speech_only=life.config.cognition.loop.max_tool_rounds == 0,
        ),
        temperature=profile.temperature,
        thinking=profile.thinking,
        seed=life.rng.randrange(*_SEEDS),
        cache_id=session.id if life.writes else None,
        cache_family=str(life.entity.root) if life.writes else None,
    )


def answer(
    life: Runtime, turn: Turn, say: loop.Say, *, breakable: loop.Breakable = nullcontext
) -> Turn:
    """Let the model act, and commit what came of it.

    Args:
        life: Whose turn.
        turn: As it was prepared.
        say: Hears the answer, piece by piece.
        breakable: Encloses what the person may break off; what they break off is kept as it is.
    """
    room = _room(life, turn.request.messages)

    def carry_out(call: ToolCall) -> tools.Result:
        nonlocal room
        result = tools.run(call.name, call.arguments, _context(life, turn))
        result = _shortened(life, turn, result, max(LEAST_RESULT_TOKENS, room // 2))
        room -= tokens.estimate(result.text)
        return result

    turn.outcome = loop.run(
        life.model,
        turn.request,
        tools.declared(_offered(life, turn.session.people, turn.route.profile)),
        life.config.cognition.loop,
        carry_out,
        say,
        person=prompts.harmless(turn.person.name),
        gate=Gate(
            life.model,
            life.config.cognition.gate,
            turn.session.messages[-1].text,
            judges=_judges(life, turn),
        ),
        fits=lambda request: fitting(life, request),
        breakable=breakable,
    )
    _commit(life, turn)
    return turn


def _judges(life: Runtime, turn: Turn) -> bool:
    """Whether the model is asked if its work is done."""
    wanted = life.config.cognition.gate.judge
    if wanted == "auto":
        language = spoken.language(life, turn.session, turn.person.id)
        able = life.abilities.tier("talk", language) == "write"
        return able and turn.route.profile == "deliberate"
    return wanted == "always"


def _context(life: Runtime, turn: Turn) -> tools.Context:
    """Say what a tool may know of the turn as it is by now."""
    who, messages = turn.person, turn.session.messages
    return replace(
        tool_context(life, turn.session, _provenance(life, turn), "chat", turn.seen.unseen),
        config=_offered(life, turn.session.people, turn.route.profile),
        said=tuple(
            message.text
            for message in messages
            if message.role == "user" and message.speaker == who.id
        ),
        known=(who.name, life.identity.name),
        owner=life.identity.owner.name or "its owner",
        read=turn.read,
        warned=turn.warned,
    )


def tool_context(
    life: Runtime,
    session: Session,
    provenance: Provenance,
    purpose: str,
    unseen: Sequence[str] = (),
) -> tools.Context:
    """Return what tools work with, whether or not somebody talks.

    Args:
        life: Whose tools.
        session: The conversation, which `recall` leaves out.
        provenance: Of what is written.
        purpose: The first word of what is committed: `chat`.
        unseen: Messages of the conversation that its view does not hold.
    """

    def write_now(change: Change) -> None:
        if not life.writes:
            raise RefusedError("nothing may be written now")
        life.apply(ChangeSet(f"{purpose}: {change.why}", (change,)))

    return tools.Context(
        entity=life.entity,
        at=life.clock(),
        zone=life.zone,
        provenance=provenance,
        recall=lambda query: recalled.answer(life, query, session, unseen),
        deep_recall=lambda question: deep_recall.ask(
            life, question, session.people, outside=session.id, unseen=unseen
        ),
        expand=lambda reference: recalled.whole(life, reference, session),
        config=tools_of(life, session.people),
        apply=write_now,
        cache=ToolCache(
            life.entity.private / "cache" / tool_cache.FOLDER,
            life.config.tools.cache,
            writes=life.writes,
        ),
        environ=life.environ,
    )


def _shortened(life: Runtime, turn: Turn, result: tools.Result, most_tokens: int) -> tools.Result:
    """Cut a long result; the whole of it is kept beside the transcript, under its reference."""
    limit = min(life.config.tools.output_max_tokens, most_tokens)
    if tokens.estimate(result.text) <= limit:
        return result
    data = result.text.encode(errors="replace")
    _, change = session_files.plan_blob(turn.session.id, data, "keep a long result")
    turn.originals[change.path] = change
    return replace(result, text=transcript.cut(result.text, limit))


def _commit(life: Runtime, turn: Turn) -> None:
    """Write the answer and what the tools planned, on the files as they are now."""
    new = _messages(life, turn)
    if not life.writes:
        turn.session = sessions.appended(turn.session, new)
        return
    title = f"chat: {turn.person.name} and {life.identity.name}"
    words = [sessions.plan_append(turn.session, new, f"answer {turn.person.name}")] if new else []
    words += turn.originals.values()
    waiting = [*_lived(life, turn), *turn.outcome.plans]
    made_by = (("Model", life.model.name),)
    for _ in range(COMMIT_TRIES + len(waiting)):
        planned, later = _planned(turn, waiting, {change.path for change in words})
        try:
            life.apply(ChangeSet(title, (*words, *planned), made_by))
        except FileChangedError:  # a hand edit between plan and write: plan again on what is there
            continue
        except (LockedError, ChangeUnfinishedError):  # the next command finishes what is begun
            raise
        except UserError:
            break
        words, waiting = [], later
        if not waiting:
            break
    _write_apart(life, turn, ChangeSet(title, tuple(words), made_by), waiting)
    turn.session = sessions.appended(turn.session, new)


def _write_apart(
    life: Runtime, turn: Turn, words: ChangeSet, waiting: Sequence[tools.Plan]
) -> None:
    """Write what could not be written together, each by itself, the words first.

    So a file that can't be written, or that somebody keeps changing, takes nothing else with it.

    Raises:
        UserError: If the words themselves can't be written.
    """
    for n, change in enumerate(words.changes):
        try:
            life.apply(replace(words, changes=(change,)))
        except UserError as error:
            if n == 0 and change.adds:
                raise
            _not_written(turn, error)
    for plan in waiting:
        planned, _ = _planned(turn, [plan], set())
        try:
            life.apply(replace(words, changes=tuple(planned)))
        except UserError as error:
            _not_written(turn, error)


def _not_written(turn: Turn, error: UserError) -> None:
    """Note what was not written; once, however often it was tried."""
    note = f"not written: {error}"
    if note not in turn.notes:
        turn.notes.append(note)


def _lived(life: Runtime, turn: Turn) -> list[tools.Plan]:
    """Plan what a turn leaves behind besides words: the body, the person, what is to be made of it.

    The message that is waited for is the first without an answer, not the last: a turn before this
    one may have been killed.
    """
    at, said = life.now(), turn.session.messages[-1]
    first = next(iter(turn.session.unanswered), said)
    done = [HEARD]
    for step in turn.outcome.steps:
        done += ["tool_failed" if result.failed else "tool" for result in step.results]
    if turn.outcome.said:
        done.append(SPOKE)
    keys: list[cursors.Key] = [(name,) for name in (APPRAISE, REMEMBER, DISTILL)]
    keys.append((REFLECT, turn.person.id))

    def heard() -> Change | None:
        file = state.read(life.entity.state)
        return cursors.plan_heard(
            file, turn.session, keys, first.id, "there is more to think about"
        )

    return [
        lambda: body_state.plan(life, at, body_state.events(life, done), "the talk moved the body"),
        lambda: people.plan_met(life, turn.person.id, turn.person.name, at, turn.session),
        heard,
    ]


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


def _messages(life: Runtime, turn: Turn) -> list[Message]:
    """Render what happened as messages of the transcript; the last says how the body was."""
    new: list[Message] = []
    last = turn.session.messages[-1].at
    felt = _felt(life, turn)

    def add(role: str, text: str, **fields: object) -> None:
        nonlocal last  # ids sort by time: no two messages may have the same
        last = at = max(life.clock(), last + timedelta(milliseconds=1))
        message_id = base.new_id(sessions.MESSAGE_PREFIX, at, life.rng)
        new.append(Message(message_id, at, role, text, **fields))  # type: ignore[arg-type]

    made_by = {"model": life.model.name}
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


def _felt(life: Runtime, turn: Turn) -> dict[str, str]:
    """Return how the body is; nothing, where its file can't be read since this turn began."""
    try:
        soma = body_state.read(life, life.now())
    except UserError as error:
        turn.notes.append(f"how the body was is not noted: {error}")
        return {}
    return {"soma": ebb.episode_tag(soma, life.body.soma)}


def _provenance(life: Runtime, turn: Turn) -> Provenance:
    said = turn.session.messages[-1]
    return Provenance(
        by="chat",
        model=life.model.name,
        sources=(turn.session.id, said.id),
        trust=turn.person.trust,
        audience=turn.session.people,
    )


def tools_of(life: Runtime, readers: Sequence[str]) -> ToolsConfig:
    """Return which tools there are in a talk of some people: speech of others runs no program."""
    config = life.config.tools
    if not config.run_command or set(readers) <= {people.owner_id(life.entity, life.identity)}:
        return config
    return replace(config, run_command=False)


def _offered(life: Runtime, readers: Sequence[str], profile: str) -> ToolsConfig:
    """Return which tools a turn may use: a reflex has no time to look deeper.

    All are declared in the stable part, so that turns of both profiles begin alike.
    """
    config = tools_of(life, readers)
    return replace(config, deep_recall=False) if profile == "reflex" else config


def stable_part(life: Runtime, readers: Sequence[str]) -> Stable:
    """Make the system prompt of a talk with some people from the files as they are.

    The mood goes there by name alone, where a setting wants it, so that the prompt changes when
    the mood does, no oftener.
    """
    mood = ""
    if life.config.prompt.mood_in_system:
        mood = body_state.mood(life, body_state.read(life, life.now())).name
    declared = tools.declared(tools_of(life, readers))
    return system.of_entity(life.entity, life.identity, declared, life.config.prompt, readers, mood)


def stored_request(life: Runtime, turn: Turn) -> Request:
    """Return the prompt as the next turn will begin: what is worth evaluating ahead."""
    seen = transcript.view(turn.session, history_budget(life, turn.stable))
    messages = (PromptMessage("system", turn.stable.text), *seen.messages)
    return replace(turn.request, messages=messages, purpose="warm")


def fitting(life: Runtime, request: Request) -> Request:
    """Let an answer be no longer than the window still holds."""
    most = min(request.max_tokens, _room(life, request.messages))
    return replace(request, max_tokens=max(LEAST_ANSWER_TOKENS, most))


def _room(life: Runtime, messages: Sequence[PromptMessage]) -> int:
    """Estimate what the window still holds beside a prompt."""
    used = sum(tokens.estimate_message(one.content) for one in messages)
    return life.window_tokens - int(life.token_ratio * used)


def history_budget(life: Runtime, stable: Stable) -> int:
    """Return the tokens that stored history may take; the same for every profile."""
    room = int(life.window_tokens * WINDOW_SHARE / life.token_ratio)
    return max(256, room - tokens.estimate(stable.text))


def profile_of(config: Config, name: ProfileName, temperature: float) -> Profile:
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
