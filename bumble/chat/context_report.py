"""The report of a request: its parts in tokens, typical turns and results, what was left out.

Made from the very request that is sent, so that its totals are those of what a model gets.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bumble.chat import tool_list, tools
from bumble.chat.reply_writer import Turn
from bumble.llm import actions
from bumble.prompt import compact, preamble, system
from bumble.records import working
from bumble.records.sessions import Message
from bumble.runtime.runtime import Runtime
from bumble.text import tokens

VERSION = 2
Source = Literal["run", "form", "estimate"]


class Part(Struct, frozen=True):
    """A named part of a request."""

    name: str
    chars: int


class File(Struct, frozen=True):
    """A file of the owner's in the prompt."""

    name: str
    status: system.Status
    raw_chars: int
    injected_chars: int


class Continuity(Struct, frozen=True):
    """The brief of the last conversation, held against the first message of this one."""

    session: str  # that left it
    likeness: float | None  # None without an embedder
    wants: float
    fits: bool  # whether it is in the prompt


class ContextReport(Struct, frozen=True):
    """What one request is made of."""

    source: Source  # of a request that was sent; made, but answered by form; or one that would be
    at: str  # ISO 8601
    workspace: str
    session: str
    model: str
    window_tokens: int
    system: tuple[Part, ...]  # of the stable part, in order; their sum is its whole
    files: tuple[File, ...]
    skills: tuple[Part, ...]
    tools: tuple[Part, ...]  # their lines in the stable part
    schemas: tuple[Part, ...]  # as JSON beside the messages
    preamble: tuple[Part, ...]
    system_chars: int
    history_chars: int
    history_messages: int
    last_chars: int  # the last message, its preamble included
    summarized_messages: int
    left_out_messages: int
    schema_chars: int
    messages_bytes: int  # UTF-8, the texts of all messages
    schema_bytes: int  # UTF-8, of the schema, or of tools that the model has, as JSON
    total_bytes: int  # of the whole body, as the backend sends it
    prompt_tokens: int | None = None  # as the backend counted them, of a run
    cached_tokens: int | None = None
    too_long: bool = False  # whether the next message will compact the conversation first
    handover: Continuity | None = None  # None: there is no brief, or its turns are over
    token_ratio: float = 1.0  # of the model's own counts to estimates, as its chats told
    scratch_notes: int = 0  # lines in working/scratch.md
    attached_chars: int = 0  # of files that the message points to
    allowed: tuple[str, ...] = ()  # tools that are there because the owner allows them
    turn_tokens: int = 0  # of a turn of this conversation so far, on average
    result_tokens: int = 0  # of a tool's result in it, on average

    @property
    def wrapping_bytes(self) -> int:
        """What the backend writes around texts and schema: roles, options, signs of JSON."""
        return self.total_bytes - self.messages_bytes - self.schema_bytes

    @property
    def wrapping_tokens(self) -> int:
        """An estimate of what a backend puts around the messages: roles and markers."""
        return tokens.MESSAGE_TOKENS * (self.history_messages + 2)

    @property
    def total_tokens(self) -> int:
        """The backend's count of a run, else an estimate of the messages."""
        estimated = (self.system_chars + self.history_chars + self.last_chars) // 4
        estimated += self.wrapping_tokens
        return self.prompt_tokens or int(estimated * self.token_ratio)


def sent(runtime: Runtime, turn: Turn) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the messages of a request as the model is sent them, and the tools it has for them."""
    request = turn.composed.request
    if request.tools and runtime.model.native_tools:
        return actions.messages(request.messages), actions.declared(request.tools)
    return [{"role": one.role, "content": one.content} for one in request.messages], []


def of(runtime: Runtime, turn: Turn, source: Literal["run", "estimate"]) -> ContextReport:
    """Report on the request of a turn; one that nobody was sent says so."""
    request, stable = turn.composed.request, turn.recalled.stable
    whole = bool(request.tools)
    declared = tool_list.declared(tools.allowed(runtime, turn.session.people)) if whole else ()
    messages, native = sent(runtime, turn)
    schema = json.dumps(native, ensure_ascii=False) if native else request.schema_text
    first = turn.reply.outcome.completions[0].usage if turn.reply.outcome.completions else None
    said = turn.session.messages
    places = [n for n, message in enumerate(said) if message.role == "user"]
    said_before = said[: places[-1]] if places else ()  # the message that is answered
    first_messages = len(stable.messages)
    example_chars = sum(len(message.content) for message in stable.examples)
    examples = (Part("examples", example_chars),) if stable.examples else ()
    return ContextReport(
        source="form" if source == "run" and not turn.reply.outcome.completions else source,
        at=runtime.now().isoformat(timespec="seconds"),
        workspace=str(runtime.entity.workspace),
        session=turn.session.id,
        model=runtime.model.name,
        window_tokens=runtime.window_tokens,
        system=(*(Part(part.name, len(part.text)) for part in stable.parts), *examples),
        files=tuple(
            File(file.name, file.status, file.raw_chars, file.injected_chars)
            for file in stable.files
        ),
        skills=tuple(Part(skill.name, len(skill.text)) for skill in stable.skills),
        tools=tuple(Part(tool.name, len(system.tool_line(tool))) for tool in declared),
        schemas=tuple(Part(tool.name, len(json.dumps(dict(tool.parameters)))) for tool in declared),
        preamble=tuple(Part(block.name, len(block.text)) for block in turn.composed.blocks),
        system_chars=sum(len(one.content) for one in request.messages[:first_messages]),
        history_chars=sum(len(one.content) for one in request.messages[first_messages:-1]),
        history_messages=len(request.messages) - first_messages - 1,
        last_chars=len(request.messages[-1].content),
        summarized_messages=turn.recalled.seen.summarized,
        left_out_messages=turn.recalled.seen.left_out,
        schema_chars=len(schema),
        messages_bytes=sum(len(one.get("content", "").encode()) for one in messages),
        schema_bytes=len(schema.encode()),
        total_bytes=runtime.model.request_bytes(request),
        prompt_tokens=first.prompt_tokens if first else None,
        cached_tokens=first.cached_tokens if first else None,
        too_long=compact.measure(runtime, turn.session, stable.tokens).full,
        handover=_continuity(runtime, turn),
        token_ratio=runtime.token_ratio,
        scratch_notes=len(
            runtime.read_or(
                lambda: working.scratch_lines(runtime.entity.root / working.SCRATCH_PATH),
                tuple[working.MemoryLine, ...](),
            )
        ),
        attached_chars=sum(
            len(block.text) for block in turn.composed.blocks if block.name == preamble.ATTACHED
        ),
        allowed=tuple(tool.name for tool in declared if tool not in tool_list.DECLARED),
        turn_tokens=_average(said_before, sum(message.role == "user" for message in said_before)),
        result_tokens=_average([message for message in said_before if message.role == "tool"]),
    )


def _average(messages: Sequence[Message], count: int | None = None) -> int:
    """Return the estimated tokens of some messages, shared among so many, or among themselves."""
    count = len(messages) if count is None else count
    return (
        sum(tokens.estimate_message(message.text) for message in messages) // count if count else 0
    )


def _continuity(runtime: Runtime, turn: Turn) -> Continuity | None:
    brief, wants = turn.recalled.brief, runtime.config.session.continuity_threshold
    if brief is None:
        return None
    likeness = None if brief.likeness is None else round(brief.likeness, 3)
    return Continuity(brief.session, likeness, wants, brief.fits)


def to_data(report: ContextReport) -> dict[str, Any]:
    """Return a report as plain data, its version and totals included."""
    data = {"version": VERSION, **msgspec.to_builtins(report), "budget": dict(budget(report))}
    derived = {"wrapping_bytes": report.wrapping_bytes, "total_tokens": report.total_tokens}
    return {**data, **derived}


def from_data(data: Mapping[str, Any]) -> ContextReport | None:
    """Read a stored report; None if another version of bumble wrote it, or it is damaged."""
    if data.get("version") != VERSION:
        return None
    try:
        return msgspec.convert(data, ContextReport)
    except msgspec.ValidationError:
        return None


def budget(report: ContextReport) -> list[tuple[str, int]]:
    """Return the token budget: what each request costs, and what a turn and a result add to it.

    "Typical" is the average of the conversation so far; nothing before there was any.
    """
    tool_tokens = sum(part.chars for part in report.tools) // 4
    return [
        ("System prompt", report.system_chars // 4 - tool_tokens),
        ("Tool definitions", tool_tokens),
        ("Base overhead", report.system_chars // 4),
        ("Answer schema (beside the messages)", report.schema_chars // 4),
        ("Before the message", sum(part.chars for part in report.preamble) // 4),
        ("Wrapping by the backend", report.wrapping_tokens),
        ("Conversation", report.history_chars // 4),
        ("Conversation per turn (typical)", report.turn_tokens),
        ("A tool's result (typical)", report.result_tokens),
    ]


def largest(parts: Sequence[Part], limit: int) -> tuple[list[Part], int]:
    """Return the longest parts, longest first, and how many more there are."""
    ranked = sorted(parts, key=lambda part: (-part.chars, part.name))
    return ranked[:limit], max(0, len(ranked) - limit)
