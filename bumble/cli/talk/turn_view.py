"""What a request is made of, in lines: as `bumble context` and `/context` show it."""

from __future__ import annotations

from collections.abc import Iterator
from json import dumps
from typing import TYPE_CHECKING, Any

from bumble.chat import context_report
from bumble.chat.context_report import ContextReport, Part
from bumble.cli import output
from bumble.cli.talk.repl import Wishes
from bumble.records import scratch

if TYPE_CHECKING:
    from bumble.chat.commit import Turn
    from bumble.cli.talk.conversation import Conversation


def why_stopped(turn: Turn) -> str:
    """Say what the loop knows of why a turn ended; empty where the reason says it all."""
    if turn.outcome.problem is not None:
        return str(turn.outcome.problem)
    return turn.outcome.missing[-1] if turn.outcome.stopped == "unfinished" else ""


def tell_more(turn: Turn, wishes: Wishes) -> None:
    """Say what went on behind an answer, as far as that is wanted."""
    if wishes.reasoning:
        thoughts = [completion.reasoning.strip() for completion in turn.outcome.completions]
        for thought in filter(None, thoughts):
            output.say(f"[reasoning: {thought}]")
        if not any(thoughts):
            output.say("[no reasoning came with this answer]")
    if wishes.verbose:
        output.say(f"[{turn.reading.route.profile}, by the rule {turn.reading.route.rule}]")
        for step in turn.outcome.steps:
            for call, result in zip(step.calls, step.results, strict=True):
                shown = output.shorten(dumps(dict(call.arguments), ensure_ascii=False))
                output.say(f"[{call.name} {shown}: {output.shorten(result.text)}]")


def data(turn: Turn) -> dict[str, Any]:
    """Return a turn as `chat --json` tells it: the reply, each step, and what kept others back."""
    used = [completion.usage for completion in turn.outcome.completions]
    return {
        "reply": turn.outcome.said,
        "session": turn.session.id,
        "person": turn.heard.who.id,
        "model": next((completion.model for completion in turn.outcome.completions), None),
        "stopped": turn.outcome.stopped,
        "why": why_stopped(turn),
        "route": {"profile": turn.reading.route.profile, "rule": turn.reading.route.rule},
        "steps": [
            {
                "said": step.said,
                "calls": [call.name for call in step.calls],
                "failed": [result.text for result in step.results if result.failed],
            }
            for step in turn.outcome.steps
        ],
        "missing": turn.outcome.missing,
        "by_form": turn.reply.worded or None,
        "refused": turn.reply.refused,
        "prompt_sha256": turn.recalled.stable.sha256,
        "preamble": {block.name: block.tokens for block in turn.composed.blocks},
        "usage": {
            "prompt_tokens": [usage.prompt_tokens for usage in used],
            "cached_tokens": [usage.cached_tokens for usage in used],
            "completion_tokens": [usage.completion_tokens for usage in used],
            "reasoning_tokens": [usage.reasoning_tokens for usage in used],
            "dollars": [usage.dollars for usage in used],
        },
        "seconds": {
            "first_token": [
                completion.first_token_seconds for completion in turn.outcome.completions
            ],
            "total": [completion.seconds for completion in turn.outcome.completions],
        },
    }


def footer(talk: Conversation, turn: Turn) -> str:
    """Say what a turn cost, a line a request, one for what was recalled, and what waits."""
    from bumble.cli.talk import conversation

    lines = []
    for completion in turn.outcome.completions:
        tokens, seconds = completion.usage, completion.first_token_seconds
        prompt, cached = tokens.prompt_tokens or 0, tokens.cached_tokens or 0
        first = "?" if seconds is None else f"{seconds:.2f}"
        thought = f", {tokens.reasoning_tokens} of them thought" if tokens.reasoning_tokens else ""
        cost = "" if tokens.dollars is None else f" · {output.dollars(tokens.dollars)}"
        lines.append(
            f"[{completion.model} · prompt {prompt} tokens: {cached} cached,"
            f" {prompt - cached} evaluated"
            f" · answer {tokens.completion_tokens or 0} tokens{thought}{cost}"
            f" · first after {first} s, all after {completion.seconds:.2f} s]"
        )
    if turn.reply.refused:
        lines.append(f"[drafts not said: {'; '.join(turn.reply.refused)}]")
    if turn.reply.worded:
        lines.append(
            f"[by form: {turn.reply.worded}, in {turn.reading.language}; no model wrote this reply]"
        )
    blocks = ", ".join(f"{block.name} {block.tokens}" for block in turn.composed.blocks)
    lines.append(f"[{turn.reading.route.profile} · before the message: {blocks} tokens]")
    lines.append(f"[{talk.timing()}]")
    lines += conversation.describe(talk)
    return "\n".join(lines)


TOP = 30  # parts of a kind that are shown


def _size(chars: int) -> str:
    return f"{chars:,} chars (~{chars // 4:,} tok)"


def listed(report: ContextReport) -> Iterator[str]:
    """Write a report in lines."""
    yield "Context breakdown"
    yield f"Workspace: {report.workspace}"
    yield f"System prompt ({report.source}): {_size(report.system_chars)}"
    yield "Files of your own:"
    for file in report.files:
        sizes = f"raw {_size(file.raw_chars)} | injected {_size(file.injected_chars)}"
        yield f"- {file.name}: {file.status} | {sizes}"
    if report.scratch_notes:
        yield f"Scratch notes: {report.scratch_notes} in {scratch.PATH}"
    skill_chars = sum(part.chars for part in report.skills)
    yield f"Skills list: {_size(skill_chars)} ({len(report.skills)} skills)"
    yield f"Tools: {', '.join(part.name for part in report.tools)}"
    yield f"Allowed by the owner: {', '.join(report.allowed) or 'no files, programs or notes'}"
    yield f"Tool list: {_size(sum(part.chars for part in report.tools))}"
    yield f"Answer schema (JSON): {_size(report.schema_chars)} (beside the messages, not text)"
    yield f"Before the message: {_size(sum(part.chars for part in report.preamble))}"
    yield f"Attached files, in that: {_size(report.attached_chars)}"
    yield (
        f"Conversation: {_size(report.history_chars)} in {report.history_messages} messages,"
        f" {report.summarized_messages} summarised, {report.left_out_messages} left out"
    )
    yield (
        f"Wrapping by the backend: {report.wrapping_bytes:,} bytes around texts and schema,"
        f" ~{report.wrapping_tokens:,} tok (estimated)"
    )
    ratio = f", times {report.token_ratio:g} as counted before" if report.token_ratio != 1 else ""
    counted = "counted by the backend" if report.prompt_tokens else f"estimated{ratio}"
    cached = f", {report.cached_tokens} of them cached" if report.cached_tokens else ""
    window = f"{report.window_tokens:,}"
    yield f"Session tokens: {report.total_tokens:,} ({counted}{cached}) / ctx={window}"
    size = f"{report.total_bytes:,} bytes"
    if report.source == "form":
        yield f"Nothing was sent ({report.at}): the reply was put together by form."
        yield f"Total that {report.model} would have been sent: {size}"
    else:
        yield f"Total sent: {size} ({report.source}, {report.model}, {report.at})"
    if report.too_long:
        yield "The next message compacts the conversation first (`bumble compact --check`)."


def detailed(report: ContextReport) -> Iterator[str]:
    yield from listed(report)
    groups = (
        ("System prompt, by part", report.system),
        ("Top skills (prompt entry size)", report.skills),
        ("Top tools (schema size)", report.schemas),
        ("Before the message, by block", report.preamble),
    )
    for title, parts in groups:
        yield ""
        yield f"{title}:"
        yield from _top(parts)
    yield ""
    yield f"Brief of the last conversation: {_continuity(report)}"
    yield ""
    yield "Token budget:"
    rows = [[name, f"~{count:,}"] for name, count in context_report.budget(report)]
    yield from output.table(rows, indent="- ")


def _continuity(report: ContextReport) -> str:
    """Say whether the brief of the last conversation is in the prompt, and why."""
    brief = report.handover
    if brief is None:
        return "none"
    if brief.likeness is None:
        likeness = "likeness unknown without an embedding model"
    else:
        likeness = f"likeness {brief.likeness:.2f}, wants {brief.wants:.2f}"
    is_there = any(part.name == "handover" for part in report.preamble)
    outcome = "in the prompt" if is_there else "no room for it" if brief.fits else "left out"
    return f"{brief.session}, {likeness}: {outcome}"


def _top(parts: tuple[Part, ...]) -> Iterator[str]:
    ranked, more = context_report.largest(parts, TOP)
    for part in ranked:
        yield f"- {part.name}: {_size(part.chars)}"
    if more:
        yield f"... (+{more} more)"
    if not ranked:
        yield "- none"
