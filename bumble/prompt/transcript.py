"""A stored conversation as the model sees it: old tool results cleared, long texts cut.

The view is computed from the transcript alone, compactions included: what was once shown is shown
the same way for ever, until a compaction says otherwise, so that its evaluated prefix can be kept.
Where no compaction makes room, the beginning moves by half a window at once.
Knows nothing of preambles: they are never stored.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

from msgspec import Struct

from bumble.llm import prompts
from bumble.llm.protocol import Action, PromptMessage, ToolResult
from bumble.records import session_files, sessions
from bumble.text import tokens
from bumble.text.words import one_line

CLEARED = "[Old tool output cleared to save context space]"
SPEAKS_FIRST = "[Nobody has said anything yet]"
QUERY_TOKENS = 40  # of what a call was given, in the note that its result was cleared
NOTE_CHARS = 280  # that such a note takes at most
CUT_SHARE = 0.6  # of a message that is cut, its beginning; the rest is its end


class View(Struct, frozen=True):
    """The part of a conversation that goes into a prompt."""

    messages: tuple[PromptMessage, ...]  # roles alternate between user and assistant
    left_out: int  # stored messages before these that the window has no room for
    summarized: int = 0  # stored messages that a summary stands for
    unseen: tuple[str, ...] = ()  # ids of the messages that are not shown for either reason


class ViewPart(Struct, frozen=True):
    """One message or summary of a view, with the id of its record."""

    id: str  # of the message; of the compaction, for a summary
    role: str  # of the stored message; "summary" for a summary
    message: PromptMessage


def view(
    session: sessions.Session, budget_tokens: int, *, before: str | None = None, plain: bool = False
) -> View:
    """Render a transcript within a budget: what is older is left out, a summary last of all.

    Args:
        session: What was said.
        budget_tokens: What it may take.
        before: Id of a message; it and what follows are not shown.
        plain: Whether only what was spoken is shown, and as bare text: no tools, no actions.
    """
    turns = _turns(shown(session, before=before, plain=plain))
    spoken = [turn for turn in turns if turn[0].role != "summary"]
    room = budget_tokens - sum(_cost(turn) for turn in turns if turn[0].role == "summary")
    start, used = 0, 0
    for n, turn in enumerate(spoken):
        used += _cost(turn)
        if used > room and n > start:
            while start < n and used > room // 2:
                used -= _cost(spoken[start])
                start += 1
    gone = {part.id for turn in spoken[:start] for part in turn}
    visible_parts = [part for turn in turns for part in turn if part.id not in gone]
    summary = standing(session)
    summarized = len(covered_messages(session, summary)) if summary else 0
    ids = {part.id for part in visible_parts}
    earlier = itertools.takewhile(lambda message: message.id != before, session.messages)
    visible = _visible(session, plain=plain)
    unseen = tuple(message.id for message in earlier if message.id in visible - ids)
    return View(_joined([part.message for part in visible_parts]), len(gone), summarized, unseen)


def shown(
    session: sessions.Session, *, before: str | None = None, plain: bool = False
) -> list[ViewPart]:
    """Return every part of the view, oldest first, however long it is; see `view`."""
    summary = standing(session)
    covered = {message.id for message in covered_messages(session, summary)} if summary else set()
    effects = [
        (compaction, {message.id for message in covered_messages(session, compaction)})
        for compaction in session.compactions
    ]
    visible = _visible(session, plain=plain)
    parts: list[ViewPart] = []
    calls: dict[str, sessions.ToolCall] = {}
    for message in session.messages:
        if message.id == before:
            break
        calls |= {call.id: call for call in message.tool_calls}
        if message.id not in covered:
            if message.id not in visible:
                continue
            within = [compaction for compaction, ids in effects if message.id in ids]
            rendered = _render(message, within, calls.get(message.tool_call_id), plain=plain)
            parts.append(ViewPart(message.id, message.role, rendered))
        elif summary is not None:
            parts.append(
                ViewPart(summary.id, "summary", PromptMessage("user", framed(summary.summary)))
            )
            summary = None
    return parts


def _visible(session: sessions.Session, *, plain: bool) -> set[str]:
    """Return the ids of what may be part of a view.

    No reply that is no example is, for it would be copied; nor are the results of its calls, which
    without them would stand there as if the person had said them. A small model copies what was
    said unprompted, too.
    """
    ids: set[str] = set()
    is_example = True  # the last reply, to whose calls results belong
    for message in session.messages:
        if message.role != "tool":
            is_example = message.is_example and not (plain and message.unprompted)
        spoken = message.role != "tool" and bool(message.text or message.role == "user")
        if is_example and (spoken or not plain):
            ids.add(message.id)
    return ids


def standing(session: sessions.Session) -> sessions.Compaction | None:
    """Return the summary that stands: each updates the one before it."""
    return next(
        (
            compaction
            for compaction in reversed(session.compactions)
            if compaction.kind == "summary"
        ),
        None,
    )


def covered_messages(
    session: sessions.Session, compaction: sessions.Compaction
) -> tuple[sessions.Message, ...]:
    """Return the messages a compaction is about; none if an end of it is not there any more."""
    ids = [message.id for message in session.messages]
    if compaction.first not in ids or compaction.last not in ids:
        return ()
    return session.messages[ids.index(compaction.first) : ids.index(compaction.last) + 1]


def _turns(parts: Sequence[ViewPart]) -> list[list[ViewPart]]:
    """Group the parts into turns: what a person said and all that followed; a summary alone."""
    turns: list[list[ViewPart]] = []
    for part in parts:
        if part.role in ("user", "summary") or not turns or turns[-1][0].role == "summary":
            turns.append([])
        turns[-1].append(part)
    return turns


def _cost(turn: Sequence[ViewPart]) -> int:
    return sum(tokens.estimate_message(part.message.content) for part in turn)


def _render(
    message: sessions.Message,
    within: Sequence[sessions.Compaction],
    call: sessions.ToolCall | None,
    *,
    plain: bool = False,
) -> PromptMessage:
    """Render a message as the compactions that are about it have left it."""
    if message.role == "tool" and any(compaction.kind == "prune" for compaction in within):
        return _render_cleared(message, call)
    limits = [(one.message_tokens, one.result_tokens) for one in within if one.kind == "cut"]
    limit = next((pair[message.role == "tool"] for pair in limits), 0)  # the first cut stays
    if limit and tokens.estimate(message.text) > limit:
        return render(message, text=cut(message.text, limit), plain=plain)
    return render(message, plain=plain)


def render(
    message: sessions.Message, *, text: str | None = None, plain: bool = False
) -> PromptMessage:
    """Render one stored message, with its own text or a shorter one; `plain`: not as actions."""
    wording = message.text if text is None else text
    match message.role:
        case "assistant" if plain:
            return PromptMessage("assistant", wording)
        case "assistant":
            return acted(wording, message.tool_calls)
        case "tool":
            return _result(message, wording)
    return PromptMessage("user", spoken(str(message.extra.get("name", "")), wording))


def _render_cleared(message: sessions.Message, call: sessions.ToolCall | None) -> PromptMessage:
    """Render a tool's result as the note that it was cleared: of which call, and its reference.

    One that is no longer than such notes get stays.
    """
    if len(message.text) <= NOTE_CHARS:
        return _result(message, message.text)
    tool = str(message.extra.get("tool", "tool"))
    given = (
        ", ".join(f'"{one_line(str(value))}"' for value in call.arguments.values()) if call else ""
    )
    query = tokens.cut(f" {given}", QUERY_TOKENS) if given else ""
    return _result(message, f"{CLEARED} {tool}{query}, ref {session_files.reference(message.text)}")


def _result(message: sessions.Message, text: str) -> PromptMessage:
    tool = str(message.extra.get("tool", "tool"))
    result = ToolResult(message.tool_call_id, text)
    return PromptMessage("user", result_text(tool, text), bare="", results=(result,))


def cut(text: str, limit_tokens: int) -> str:
    """Return beginning and end of a long text, with a marker that names the whole."""
    marker = (
        f"\n[… {len(text):,} characters in all, cut here; ref {session_files.reference(text)} …]\n"
    )
    room = max(0, limit_tokens * 4 - len(marker))
    head = int(room * CUT_SHARE)
    return text[:head] + marker + text[len(text) - (room - head) :]


def framed(summary: str) -> str:
    """Render a summary as data."""
    return f"[Earlier in this conversation]\n{prompts.tagged('summary', summary)}"


def spoken(name: str, text: str) -> str:
    """Render what a person said; with the name before it, small models know whose "I" it is."""
    harmless_text = prompts.harmless(text)
    return f"{prompts.harmless(name)}: {harmless_text}" if name else harmless_text


def acted(said: str, calls: Sequence[Action | sessions.ToolCall]) -> PromptMessage:
    """Render what the entity did: as actions, the form it answers in, and as native calls."""
    actions = [{"tool": call.name, "arguments": dict(call.arguments)} for call in calls]
    if said or not actions:
        actions.insert(0, {"tool": "say", "arguments": {"text": said}})
    text = json.dumps({"actions": actions}, ensure_ascii=False, separators=(",", ":"))
    used = tuple(Action(call.id, call.name, call.arguments) for call in calls)
    return PromptMessage("assistant", text, bare=said, calls=used)


def result_text(tool: str, text: str) -> str:
    """Render the result of a tool as data."""
    return prompts.tagged("result", text, f' tool="{tool}"')


def _joined(messages: Sequence[PromptMessage]) -> tuple[PromptMessage, ...]:
    """Join neighbours of one role: chat templates want them to alternate, from a user's on."""
    begins = bool(messages) and messages[0].role == "assistant"
    joined = [PromptMessage("user", SPEAKS_FIRST)] if begins else []
    for message in messages:
        if joined and joined[-1].role == message.role:
            first = joined[-1]
            bare = "\n\n".join(text for text in (first.text, message.text) if text)
            joined[-1] = PromptMessage(
                first.role,
                f"{first.content}\n\n{message.content}",
                bare=bare if first.bare is not None or message.bare is not None else None,
                calls=first.calls + message.calls,
                results=first.results + message.results,
            )
        else:
            joined.append(message)
    return tuple(joined)


def with_last(messages: Sequence[PromptMessage], content: str) -> tuple[PromptMessage, ...]:
    """Return a view that ends with a user message of its own."""
    return _joined([*messages, PromptMessage("user", content)])
