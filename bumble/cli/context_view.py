"""What a request is made of, in lines: as `bumble context` and `/context` show it."""

from __future__ import annotations

from collections.abc import Iterator

from bumble.chat import context_report
from bumble.chat.context_report import ContextReport, Part
from bumble.cli import output
from bumble.records import scratch

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
