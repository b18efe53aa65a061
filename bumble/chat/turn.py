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
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from bumble.body.soma import Soma, shown_to
from bumble.chat import (
    deep_recall,
    host,
    loop,
    outside_tools,
    plain_turn,
    route,
    tool_cache,
    tools,
    turn_budget,
    turn_record,
    workspace,
)
from bumble.chat.anchor_tools import Feelings
from bumble.chat.completion_gate import Gate, Judges
from bumble.chat.loop import LoopOutcome, Profile
from bumble.chat.participants import Person
from bumble.chat.tool_cache import ToolCache
from bumble.chat.turn_record import Turn, provenance_of
from bumble.entity.changes import Change, ChangeSet
from bumble.entity.config import ToolsConfig
from bumble.errors import (
    RefusedError,
)
from bumble.files import disk
from bumble.llm import prompts
from bumble.llm.protocol import Action, PromptMessage, Request, Tool
from bumble.prompt import (
    compact,
    handover,
    preamble,
    prompt_files,
    system,
    transcript,
    working_memory,
)
from bumble.prompt.system import Block, Stable
from bumble.recall import catalyze, prompt_memories, topic_overview
from bumble.records import session_files
from bumble.records.base import Provenance
from bumble.records.sessions import Message, Session
from bumble.runtime import anchor_recall, body_state, people, spoken
from bumble.runtime.anchor_recall import Stirring
from bumble.runtime.job import JobResult
from bumble.runtime.runtime import ProfileName, Runtime
from bumble.text import passed_on, tokens

OUTPUT_TOKENS = 4096  # a longer result of a tool goes to the blobs, with a reference
_SEEDS = (10**9, 2**31)  # of ten digits each: what `context` counts is as long as what is sent
ATTACHED = "attached"  # the block of the files that a message points to
NO_JUDGE = "no_judge"  # names a model that could not judge whether a turn may end
LEAST_RESULT_TOKENS = 128  # however full the window is


class _Heard(Struct, frozen=True):
    """A message that is to be answered, and how it meets the entity."""

    session: Session  # with the message
    who: Person  # who said it
    last_spoke: datetime | None  # when they last said something before
    soma: Soma  # the body as the message leaves it
    stirring: Stirring | None  # the anchor that came back by itself

    @property
    def message(self) -> Message:
        """What is answered."""
        return self.session.messages[-1]


def prepare(
    runtime: Runtime,
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
        runtime: Whose turn.
        session: With the message that is to be answered.
        who: Who said it.
        last_spoke: When they last said something before; None if never.
        compacts: Whether a conversation that is too long is compacted first, if need be by the
            model; False only looks.
        profile_name: How much thought was asked for; None: as the rules say.
        attached: Files that go with the message, as data; never stored.
    """
    said = session.messages[-1]
    language = spoken.language(runtime, session, who.id)
    able = runtime.abilities.tier("talk", language) == "write"
    before = body_state.read(runtime, said.at)
    stirring = anchor_recall.stir(runtime, before, said.text, session.people, said.at)
    if not able:
        turn = plain_turn.prepare(
            runtime, session, who, language, compacts=compacts, attached=attached
        )
        turn.stirring = stirring
        return turn
    soma = body_state.events(runtime, [turn_record.HEARD])(
        stirring.move(before) if stirring else before
    )
    heard = _Heard(session, who, last_spoke, soma, stirring)
    decided = _decide(runtime, heard, profile_name)
    profile = turn_budget.profile(
        runtime.config,
        decided.profile,
        runtime.temperature,
        reads_fast=not runtime.local,
    )
    uses = compacts and decided.profile == "deliberate"
    outside = outside_tools.offered(runtime, session) if uses else ()
    stable = stable_part(runtime, session.people)
    prompt_files.say_unreadable(runtime, stable.files)
    compacted = None
    if compacts:
        session, compacted = compact.make_room(runtime, session, stable.tokens)
        heard = replace(heard, session=session)
    seen = _view(runtime, session, stable, attached)
    brief = preamble.found_brief(runtime, session)
    blocks, trouble = _blocks(runtime, heard, decided.profile, seen.unseen, brief, outside)
    kept = _fitting(runtime, session, stable, seen, blocks, profile, attached)
    last = system.with_preamble(kept, transcript.render(said).content)
    messages = (*stable.messages, *transcript.with_last(seen.messages, last))
    request = turn_budget.fitting(runtime, _request(runtime, session, profile, messages, outside))
    turn = Turn(session, who, decided, stable, kept, seen, request, brief=brief)
    turn.language, turn.stirring = language, stirring
    turn.outside = outside
    turn.read |= {block.trust for block in kept if block.trust}
    turn.read |= tools.tiers_read(session.messages)
    turn.notes += _notes(runtime, compacted, trouble, seen)
    return turn


def _decide(runtime: Runtime, heard: _Heard, profile_name: ProfileName | None) -> route.Route:
    """Decide how much thought it is worth; of an able model by the message's form alone."""
    if profile_name:
        return route.Route(profile_name, "asked", 1.0)
    if outside := outside_tools.route_of(runtime, heard.session):
        return outside
    return route.by_form(heard.message.text)


def _view(runtime: Runtime, session: Session, stable: Stable, attached: str) -> transcript.View:
    """Return what of the conversation is shown before the message that is answered."""
    room = turn_budget.history(runtime, stable)
    if attached:
        room = max(turn_budget.LEAST_HISTORY_TOKENS, room - tokens.estimate(attached))
    return transcript.view(session, room, before=session.messages[-1].id)


def _fitting(
    runtime: Runtime,
    session: Session,
    stable: Stable,
    seen: transcript.View,
    blocks: Sequence[Block],
    profile: Profile,
    attached: str,
) -> tuple[Block, ...]:
    """Return the blocks that fit, most important first: what is now, in mind, and attached."""
    message = transcript.render(session.messages[-1]).content
    always = [*stable.messages, *transcript.with_last(seen.messages, message)]
    left = int(
        (turn_budget.room(runtime, always) - turn_budget.LEAST_ANSWER_TOKENS) / runtime.token_ratio
    )
    left -= tokens.estimate(attached)
    kept = system.preamble(blocks, min(profile.preamble_max_tokens, left))
    share = min(
        1.0, profile.preamble_max_tokens / max(1, runtime.config.prompt.preamble_max_tokens)
    )
    in_mind, most = working_memory.blocks(runtime, stable, session, share)
    left -= sum(block.tokens for block in kept)
    kept = (*kept, *working_memory.fitting(in_mind, min(most, left)))
    if attached:  # it was asked for, so it is whole, whatever the preamble may take
        kept = (*kept, Block(ATTACHED, attached, trust="imported"))
    return kept


def _notes(
    runtime: Runtime, compacted: JobResult | None, trouble: str, seen: transcript.View
) -> list[str]:
    """Say what the person should hear about before the answer."""
    notes = [note for note in (compacted.lines[0] if compacted else "", trouble) if note]
    if runtime.memory.unusable:
        notes.append(f"nothing was recalled: {runtime.memory.unusable}")
    if seen.left_out:
        notes.append(
            f"{seen.left_out} older messages of this conversation do not fit the model's window; "
            "they stay in the transcript, where `recall` finds them"
        )
    return notes


def _blocks(
    runtime: Runtime,
    heard: _Heard,
    profile: ProfileName,
    unseen: Sequence[str],
    brief: handover.Brief | None,
    outside: Sequence[Tool],
) -> tuple[list[Block], str]:
    """Say what is true right now, most important first; and what went wrong."""
    session, who, at = heard.session, heard.who, heard.message.at
    others = [person for person in session.people if person != who.id]
    shown = shown_to(heard.soma, session.people)
    mood = body_state.mood(runtime, heard.soma).name
    names = [tool.name for tool in tools.declared(tools_of(runtime, session.people))]
    machine, trouble = _machine(runtime, who, others)
    blocks = [
        Block("now", preamble.now_text(runtime, who.name, at, heard.last_spoke, others)),
        Block("outside tools", outside_tools.text(outside)),
        Block("body", preamble.body_text(runtime, shown, profile, session.people)),
        Block("anchor", preamble.anchor_text(heard.stirring)),
        Block("workspace", preamble.workspace_text(runtime, workspace.names(runtime.entity))),
        *prompt_memories.blocks(runtime, session, who.id, mood, at, unseen),
        Block("handover", preamble.handover_text(runtime, brief, at)),
        Block("tools", preamble.tools_text(runtime, profile, names, at)),
        Block("machine", machine),
    ]
    return blocks, trouble


def _machine(runtime: Runtime, who: Person, others: Sequence[str]) -> tuple[str, str]:
    """Tell an owner's entity of their machine, which is nobody else's business; what went wrong."""
    if who.trust != "owner" or others:
        return "", ""
    also = runtime.config.tools.command_variables
    return host.describe(
        runtime.config.prompt.host_command, runtime.entity.root, runtime.environ, also
    )


def _request(
    runtime: Runtime,
    session: Session,
    profile: Profile,
    messages: Sequence[PromptMessage],
    outside: Sequence[Tool],
) -> Request:
    declared = (*tools.declared(tools_of(runtime, session.people)), *outside)
    speech_only = runtime.config.cognition.loop.max_tool_rounds == 0
    return Request(
        messages=messages,
        purpose="chat",
        max_tokens=profile.max_tokens,
        schema=loop.schema(declared, speech_only=speech_only),
        tools=loop.offered(declared, speech_only=speech_only),
        temperature=profile.temperature,
        thinking=profile.thinking,
        seed=runtime.rng.randrange(*_SEEDS),
        cache_id=session.id if runtime.writes else None,
        cache_family=str(runtime.entity.root) if runtime.writes else None,
    )


def answer(
    runtime: Runtime,
    turn: Turn,
    say: loop.Say,
    *,
    sign: plain_turn.Sign = lambda: None,
    breakable: loop.Breakable = nullcontext,
) -> Turn:
    """Let the model act, or a form stand for it, and commit what came of it.

    Args:
        runtime: Whose turn.
        turn: As it was prepared.
        say: Hears the answer, piece by piece; whole, where it is held back until it is checked.
        sign: Called before the model is asked for what is held back.
        breakable: Encloses what the person may break off; what they break off is kept as it is.
    """
    if turn.manner == "stream":
        turn.outcome = _acted(runtime, turn, say, breakable)
    else:
        turn.outcome = plain_turn.answer(runtime, turn, say, sign=sign, breakable=breakable)
    turn_record.commit(runtime, turn)
    return turn


def _acted(runtime: Runtime, turn: Turn, say: loop.Say, breakable: loop.Breakable) -> LoopOutcome:
    """Let the model speak and use tools until the turn ends."""
    room = turn_budget.room(runtime, turn.request.messages)

    def carry_out(call: Action) -> tools.Result:
        nonlocal room
        result = tools.run(call.name, call.arguments, _context(runtime, turn))
        result = _shortened(runtime, turn, result, max(LEAST_RESULT_TOKENS, room // 2))
        room -= tokens.estimate(result.text)
        return result

    return loop.run(
        runtime.model,
        turn.request,
        (
            *tools.declared(tools_of(runtime, turn.session.people)),
            *turn.outside,
        ),
        runtime.config.cognition.loop,
        carry_out,
        say,
        person=prompts.harmless(turn.person.name),
        gate=_gate(runtime, turn),
        language=turn.language,
        fits=lambda request: turn_budget.fitting(runtime, request),
        breakable=breakable,
    )


def _gate(runtime: Runtime, turn: Turn) -> Gate:
    """Make the check of whether the turn may end; an able model judges what rules can't tell."""
    config = runtime.config.cognition.gate
    failed = runtime.entity.private / "cache" / NO_JUDGE
    judges: Judges = "always" if config.judge == "always" else "never"
    if config.judge == "auto":
        gave_up = (disk.read_cache(failed) or b"").decode(errors="replace") == runtime.model.name
        judges = "never" if gave_up else "in doubt"

    def give_up() -> None:
        if runtime.writes:
            disk.write_atomic(failed, runtime.model.name.encode())

    return Gate(
        runtime.model,
        config,
        turn.message.text,
        judges=judges,
        give_up=give_up,
    )


def _context(runtime: Runtime, turn: Turn) -> tools.ToolContext:
    """Say what a tool may know of the turn as it is by now."""
    who, messages = turn.person, turn.session.messages
    return replace(
        tool_context(runtime, turn.session, provenance_of(runtime, turn), "chat", turn.seen.unseen),
        said=tuple(
            passed_on.own(message.text)
            for message in messages
            if message.role == "user" and message.speaker == who.id
        ),
        known=(who.name, runtime.identity.name),
        owner=runtime.identity.owner.name or "its owner",
        read=turn.read,
        warned=turn.warned,
        outside=tools.Outside(turn.outside, runtime.outside.call) if runtime.outside else None,
    )


def tool_context(
    runtime: Runtime,
    session: Session,
    provenance: Provenance,
    purpose: str,
    unseen: Sequence[str] = (),
) -> tools.ToolContext:
    """Return what tools work with, whether or not somebody talks.

    Args:
        runtime: Whose tools.
        session: The conversation, which `recall` leaves out.
        provenance: Of what is written.
        purpose: The first word of what is committed: `chat`.
        unseen: Messages of the conversation that its view does not hold.
    """

    def write_now(change: Change) -> None:
        if not runtime.writes:
            raise RefusedError("nothing may be written now")
        runtime.apply(ChangeSet(f"{purpose}: {change.why}", (change,)))

    return tools.ToolContext(
        entity=runtime.entity,
        at=runtime.clock(),
        zone=runtime.zone,
        provenance=provenance,
        recall=lambda query, register: catalyze.answer(runtime, query, session, register, unseen),
        deep_recall=lambda question: deep_recall.ask(
            runtime, question, session.people, outside=session.id, unseen=unseen
        ),
        feelings=Feelings(runtime),
        expand=lambda reference: prompt_memories.whole(runtime, reference, session),
        config=tools_of(runtime, session.people),
        apply=write_now,
        cache=ToolCache(
            runtime.entity.private / "cache" / tool_cache.FOLDER,
            writes=runtime.writes,
        ),
        environ=runtime.environ,
    )


def _shortened(
    runtime: Runtime, turn: Turn, result: tools.Result, most_tokens: int
) -> tools.Result:
    """Cut a long result; the whole of it is kept beside the transcript, under its reference."""
    limit = min(OUTPUT_TOKENS, most_tokens)
    if tokens.estimate(result.text) <= limit:
        return result
    data = result.text.encode(errors="replace")
    _, change = session_files.plan_blob(turn.session.id, data, "keep a long result")
    turn.originals[change.path] = change
    return replace(result, text=transcript.cut(result.text, limit))


def tools_of(runtime: Runtime, readers: Sequence[str]) -> ToolsConfig:
    """Return which tools there are in a talk of some people: speech of others runs no program."""
    config = runtime.config.tools
    if not config.run_command or set(readers) <= {
        people.owner_id(runtime.entity, runtime.identity)
    }:
        return config
    return replace(config, run_command=False)


def stable_part(runtime: Runtime, readers: Sequence[str], overview: str | None = None) -> Stable:
    """Make the system prompt of a talk with some people from the files as they are.

    `overview` is that of the topics, if it is not that of the day.

    The mood goes there by name alone, where a setting wants it, so that the prompt changes when
    the mood does, no oftener.
    """
    mood = ""
    if runtime.config.prompt.mood_in_system:
        mood = body_state.mood(runtime, body_state.read(runtime, runtime.now())).name
    declared = tools.declared(tools_of(runtime, readers))
    topics = topic_overview.text(runtime, readers) if overview is None else overview
    return system.of_entity(
        runtime.entity,
        runtime.identity,
        declared,
        runtime.config.prompt,
        readers,
        mood,
        topics,
        native=runtime.model.native_tools,
    )


def stable_of(
    runtime: Runtime, session: Session, person: str, overview: str | None = None
) -> Stable:
    """Make what the next plain turn of a conversation begins with; see `stable_part`."""
    code = spoken.language(runtime, session, person)
    if runtime.abilities.tier("talk", code) == "write":
        return stable_part(runtime, session.people, overview)
    return plain_turn.stable_part(runtime, code)


def next_request(
    runtime: Runtime, session: Session, person: str, overview: str | None = None
) -> Request:
    """Return what the next request of a conversation begins with, whatever will be said."""
    stable = stable_of(runtime, session, person, overview)
    plain = bool(stable.examples)
    seen = transcript.view(session, turn_budget.history(runtime, stable), plain=plain)
    return Request(
        messages=(*stable.messages, *seen.messages),
        purpose="warm",
        max_tokens=1,
        cache_id=session.id,
        cache_family=str(runtime.entity.root),
    )


def stored_request(runtime: Runtime, turn: Turn) -> Request:
    """Return the prompt as the next turn will begin: what is worth evaluating ahead."""
    plain = bool(turn.stable.examples)
    seen = transcript.view(turn.session, turn_budget.history(runtime, turn.stable), plain=plain)
    messages = (*turn.stable.messages, *seen.messages)
    return replace(turn.request, messages=messages, purpose="warm")
