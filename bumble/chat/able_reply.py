"""Replies of a model that may write: it speaks and uses tools until its turn is over."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from bumble.body.soma import shown_to
from bumble.chat import loop, route, tool_list, tools, workspace
from bumble.chat.completion_gate import Gate
from bumble.chat.reply_writer import (
    Composed,
    Heard,
    Moment,
    Reading,
    Recalled,
    ReplyStream,
    Turn,
    WrittenReply,
    origin_of,
)
from bumble.entity.changes import Change
from bumble.guard.verifier import Said
from bumble.llm import prompts
from bumble.llm.protocol import Action, Block, Request
from bumble.prompt import compact, handover, preamble, system, transcript
from bumble.recall import prompt_memories as memories
from bumble.recall import survey
from bumble.records import session_files
from bumble.records.provenance import UNTRUSTED
from bumble.runtime import body_state
from bumble.runtime.job import note_vain, vain
from bumble.runtime.runtime import ProfileName, Result, Runtime
from bumble.text import stop_words, tokens, words

OUTPUT_TOKENS = 4096  # a longer result of a tool goes to the blobs, with a reference
SEEDS = (10**9, 2**31)  # of ten digits each: what `context` counts is as long as what is sent
NAME_LETTERS = 3  # of a part of a name by which it is called
LEAST_RESULT_TOKENS = 128  # however full the window is


def read(runtime: Runtime, heard: Heard, language: str, asked: ProfileName | None) -> Reading:
    """Decide how much thought a message is worth, by its form alone: no reader is loaded."""
    if asked:
        return Reading(language, route.Route(asked, "asked", 1.0))
    outside = tools.outside(runtime, heard.session)
    if outside is not None and outside.called_for(heard.message.text):
        return Reading(language, route.Route("deliberate", "outside_tool", 0.9))
    return Reading(language, route.by_form(heard.message.text))


def stable(runtime: Runtime, readers: Sequence[str], language: str = "") -> system.Stable:
    """Make the system prompt of a talk with some people from the files as they are.

    The mood goes there by name alone, where a setting wants it, so that the prompt changes when the
    mood does, no oftener.
    """
    mood = ""
    if runtime.config.prompt.mood_in_system:
        mood = body_state.read(runtime, runtime.now()).mood.name
    return system.of_entity(
        runtime.entity,
        runtime.identity,
        tool_list.declared(tools.allowed(runtime, readers)),
        runtime.config.prompt,
        readers,
        mood,
        survey.overview(runtime, readers),
        native=runtime.model.native_tools,
    )


def recall(
    runtime: Runtime, heard: Heard, moment: Moment, reading: Reading, *, compacts: bool
) -> Recalled:
    """Gather the stable part, the conversation as it is shown, and what may matter of memory."""
    session = heard.session
    uses = compacts and reading.route.profile == "deliberate"
    others = tools.outside(runtime, session) if uses else None
    outside = others.offered(session.messages[-1].text) if others else ()
    always = stable(runtime, session.people)
    system.say_unreadable(runtime, always.files)
    notes = []
    if compacts:
        session, compacted = compact.make_room(runtime, session, always.tokens)
        notes += [compacted.lines[0]] if compacted else []
    said = heard.message
    taken = tokens.estimate(heard.attached) if heard.attached else 0
    seen = route.view(runtime, session, always, said.id, taken)
    mood = moment.soma.mood.name
    brief = handover.brief(runtime, session)
    told = brief.text if brief is not None and brief.fits else ""
    found = memories.blocks(runtime, session, heard.who.id, mood, said.at, seen.unseen, told)
    if runtime.memory.unusable:
        notes.append(f"nothing was recalled: {runtime.memory.unusable}")
    if seen.left_out:
        notes.append(
            f"{seen.left_out} older messages of this conversation do not fit the model's window; "
            "they stay in the transcript, where `recall` finds them"
        )
    return Recalled(session, always, seen, tuple(found), brief, outside, tuple(notes))


def compose(
    runtime: Runtime, heard: Heard, moment: Moment, reading: Reading, recalled: Recalled
) -> Composed:
    """Make the request: the stable part, the conversation, the message behind what is true now."""
    profile = route.profile(runtime, reading.route.profile)
    machine = trouble = ""
    if heard.who.trust == "owner" and set(heard.session.people) <= {heard.who.id}:
        machine, trouble = workspace.describe(  # nobody else's business
            runtime.config.prompt.host_command,
            runtime.entity.root,
            runtime.environ,
            runtime.config.tools.command_variables,
        )
    blocks = _blocks(runtime, heard, moment, reading, recalled, machine)
    kept = _fitting(runtime, heard, recalled, blocks, profile)
    last = prompts.load("preamble").fill(
        blocks="\n".join(block.text for block in kept),
        message=transcript.render(heard.message).content,
    )
    session = recalled.session
    declared = (*tool_list.declared(tools.allowed(runtime, session.people)), *recalled.outside)
    speech_only = runtime.config.cognition.loop.max_tool_rounds == 0
    request = Request(
        messages=(*recalled.stable.messages, *transcript.with_last(recalled.seen.messages, last)),
        purpose="chat",
        max_tokens=profile.max_tokens,
        schema=loop.schema(declared, speech_only=speech_only),
        tools=loop.offered(declared, speech_only=speech_only),
        toolless=recalled.stable.toolless,
        temperature=profile.temperature,
        thinking=profile.thinking,
        seed=runtime.rng.randrange(*SEEDS),
        cache_id=session.id if runtime.writes else None,
        cache_family=str(runtime.entity.root) if runtime.writes else None,
    )
    return Composed(route.fitting(runtime, request), kept, (trouble,) if trouble else ())


def _blocks(
    runtime: Runtime,
    heard: Heard,
    moment: Moment,
    reading: Reading,
    recalled: Recalled,
    machine: str,
) -> list[Block]:
    """Say what is true right now, most important first."""
    session, who, at = recalled.session, heard.who, heard.message.at
    profile = reading.route.profile
    others = [person for person in session.people if person != who.id]
    shown = shown_to(moment.soma, session.people)
    names = [tool.name for tool in tool_list.declared(tools.allowed(runtime, session.people))]
    files = workspace.names(runtime.entity, session.people)
    own = tools.is_owners(runtime, session.people)  # how it went with others is not for them
    notes_tokens = int(route.profile(runtime, profile).preamble_max_tokens * handover.SHARE)
    notes = Block("handover", handover.prompt_text(recalled.brief, at, notes_tokens))
    # in a small room they would take that of what answers; what no memory tells yet is told there
    waits = recalled.brief is not None and recalled.brief.waits
    first = runtime.times_recalled > 1 or waits
    return [
        Block("now", preamble.now_text(runtime, who.name, at, heard.last_spoke, others)),
        *([notes] if first else []),
        Block("outside tools", tools.outside_text(recalled.outside)),
        Block("body", preamble.body_text(runtime, shown, profile, session.people)),
        Block("anchor", preamble.anchor_text(moment.stirring)),
        Block("workspace", preamble.workspace_text(runtime, files)),
        *recalled.memories,
        *([] if first else [notes]),
        Block("tools", preamble.tools_text(runtime, profile, names, at) if own else ""),
        Block("machine", machine),
    ]


def _fitting(
    runtime: Runtime,
    heard: Heard,
    recalled: Recalled,
    blocks: Sequence[Block],
    profile: route.Profile,
) -> tuple[Block, ...]:
    """Return the blocks that fit, most important first: what is now, in mind, and attached."""
    shown = transcript.with_last(recalled.seen.messages, transcript.render(heard.message).content)
    room = route.room(runtime, [*recalled.stable.messages, *shown])
    left = int((room - route.LEAST_ANSWER_TOKENS) / runtime.token_ratio)
    left -= tokens.estimate(heard.attached)
    kept = system.fitting(blocks, min(profile.preamble_max_tokens, left), keeps_first=True)
    whole = max(1, runtime.config.prompt.preamble_max_tokens)
    share = min(1.0, profile.preamble_max_tokens / whole)
    in_mind, most = preamble.blocks(runtime, recalled.stable, recalled.session, share)
    left -= sum(block.tokens for block in kept)
    kept = (*kept, *system.fitting(in_mind, min(most, left)))
    if heard.attached:  # it was asked for, so it is whole, whatever the preamble may take
        kept = (*kept, Block(preamble.ATTACHED, heard.attached, trust="imported"))
    return kept


def _context(runtime: Runtime, turn: Turn) -> tools.ToolContext:
    """Return what the tools of a turn may know of it."""
    session, who = turn.recalled.session, turn.heard.who
    unseen = turn.recalled.seen.unseen
    blocks = [one for one in turn.composed.blocks if one.trust]
    attached = {one.trust for one in blocks if one.name == preamble.ATTACHED}
    said = [one for one in session.messages if one.role == "user"]
    given = {one.trust for one in session.messages if one.role == "tool"} & {*UNTRUSTED}
    passed = [{"imported"} if words.passes_on(one.text) else set[str]() for one in said]
    return replace(
        tools.context_of(runtime, session, origin_of(runtime, turn.heard), "chat", unseen),
        said=tuple(
            Said(message.id, message.at, who.name, words.own_words(message.text))
            for message in said
            if message.speaker == who.id
        ),
        known=(who.name, runtime.identity.name),
        owner=runtime.identity.owner.name or "its owner",
        # what somebody passes on is read in that turn; later it only stands there
        read=attached.union(*passed[-1:]) | tools.tiers_read(session.messages),
        in_mind={one.trust for one in blocks}.union(given, *passed),
        outside=turn.recalled.outside,
    )


def generate(runtime: Runtime, turn: Turn, voice: ReplyStream) -> WrittenReply:
    """Let the model speak and use tools until the turn ends; the gate says whether it may."""
    context, session = _context(runtime, turn), turn.recalled.session
    originals: dict[str, Change] = {}
    room = route.room(runtime, turn.composed.request.messages)

    def carry_out(call: Action) -> Result:
        """Run a tool; what it gives takes room."""
        nonlocal room
        limit = min(OUTPUT_TOKENS, max(LEAST_RESULT_TOKENS, room // 2))
        now = replace(context, at=runtime.clock(), room=limit)
        result = tools.run(call.name, call.arguments, now)
        if tokens.estimate(result.text) > limit:  # the whole is kept, by its reference
            data = result.text.encode(errors="replace")
            _, change = session_files.plan_blob(session.id, data, "keep a long result")
            originals[change.path] = change
            result = replace(result, text=transcript.cut(result.text, limit))
        room -= tokens.estimate(result.text)
        return result

    declared = tool_list.declared(tools.allowed(runtime, session.people))
    outcome = loop.run(
        runtime.model,
        turn.composed.request,
        (*declared, *turn.recalled.outside),
        runtime.config.cognition.loop,
        carry_out,
        voice.say,
        person=prompts.harmless(turn.heard.who.name),
        gate=_gate(runtime, turn.heard.message.text, session.people),
        language=turn.reading.language,
        fits=partial(route.fitting, runtime),
        breakable=voice.breakable,
    )
    repeated = tools.tiers_repeated(outcome.said, session.messages, outcome.pairs)
    return WrittenReply(outcome, tuple(originals.values()), frozenset(context.read | repeated))


def _gate(runtime: Runtime, message: str, readers: Sequence[str]) -> Gate:
    """Make the check of whether the turn may end; the model judges what rules can't.

    In company it may end without a word, unless it is named: people talk to one another, too.
    """
    config = runtime.config.cognition.gate
    mark = f"judge {runtime.model.name}"
    if config.judge == "auto" and mark in vain(runtime):
        config = replace(config, judge="never")
    name = runtime.identity.name
    parts = {words.folded(part) for part in name.split() if len(part) >= NAME_LETTERS}
    said = {words.folded(word) for word in stop_words.WORD.findall(message)}
    is_named = words.unaddressed(message, name) != message or not parts.isdisjoint(said)
    return Gate(
        runtime.model,
        config,
        message,
        give_up=partial(note_vain, runtime, [mark]),
        may_be_silent=len(readers) > 1 and not is_named,
    )
