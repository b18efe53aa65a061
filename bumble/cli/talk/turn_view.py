"""A message and its turn at the command: directives typed with it, what is shown behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from json import dumps
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from bumble import patterns
from bumble.cli import output
from bumble.errors import UsageError
from bumble.records import working

if TYPE_CHECKING:
    from bumble.chat.context_report import ContextReport, Part
    from bumble.chat.reply_writer import Turn
    from bumble.cli.talk.conversation import Conversation

SWITCHES = ("think", "verbose", "reasoning")  # on, or off
OFF = frozenset({"off", "none", "no", "false"})
LEVELS = frozenset({"minimal", "low", "medium", "high", "xhigh", "max", "maximum", "full"})
ON = LEVELS | {"on", "yes", "true", "hard", "harder", "deep", "deeper", "adaptive", "stream"}
UNKNOWN_HERE = {  # of other tools: taken out with their words, without effect
    "elevated": OFF | ON | {"ask"},
    "queue": OFF | ON | {"collect", "steer", "steer-backlog", "followup", "interrupt", "reset"},
}
SHORTCUTS = {  # carried out where an owner's message has them, with the words each takes
    "status": frozenset[str](),
    "context": frozenset({"list", "detail"}),
    "usage": frozenset({"tokens", "on", "off"}),
    "me": frozenset[str](),
}


def _with_words(words: Mapping[str, frozenset[str]]) -> str:
    """Match any of some names, each with one of its words behind it or without."""
    return "|".join(
        rf"{name}(?:[ \t]+(?:{'|'.join(sorted(taken, key=len, reverse=True))})(?![\w-]))?"
        if taken
        else name
        for name, taken in words.items()
    )


_DIRECTIVE = patterns.compile(
    rf"(?<!\S)/(?:(?P<switch>{_with_words(dict.fromkeys(SWITCHES, OFF | ON) | UNKNOWN_HERE)})"
    r"|(?P<model>model)(?:[ \t]+\S+)?)(?=\s|$|[.,!?])"
)
_SHORTCUT = patterns.compile(rf"(?<!\S)/(?P<shortcut>{_with_words(SHORTCUTS)})(?=\s|$|[.,!?])")


Wishes = Mapping[str, bool]  # what a person wants of the answers: `think`; without one, as it was


class Typed(Struct, frozen=True):
    """What was typed, taken apart."""

    text: str  # without the directives
    wishes: Wishes = field(default_factory=dict)
    ignored: tuple[str, ...] = ()  # directives that mean nothing here
    shortcuts: tuple[tuple[str, str], ...] = ()  # commands within it, each with its word


def parse(text: str, *, shortcuts: bool) -> Typed:
    """Take the directives out of a message.

    Args:
        text: As it was typed.
        shortcuts: Whether the speaker may have commands carried out from inside a message.
    """
    matches = list(_DIRECTIVE.finditer(text))
    inline = list(_SHORTCUT.finditer(text)) if shortcuts else []
    if not matches and not inline:
        return Typed(text)
    switches = {
        name: word not in OFF
        for name, word in (_parted(match["switch"]) for match in matches if match["switch"])
    }
    unheard = [name for name in switches if name in UNKNOWN_HERE]
    unheard += ["model" for match in matches if match["model"]]
    # cut stretches out, and the blanks before each with it
    rest, at = "", 0
    for start, end in sorted(match.span() for match in (*matches, *inline)):
        rest = (rest + text[at:start]).rstrip(" \t") if start >= at else rest
        at = max(at, end)
    return Typed(
        (rest + text[at:]).strip(),
        {name: on for name, on in switches.items() if name in SWITCHES},
        tuple(dict.fromkeys(unheard)),
        tuple(dict.fromkeys(_parted(match["shortcut"]) for match in inline)),
    )


def _parted(text: str) -> tuple[str, str]:
    """Part a command from its word; empty: it has none."""
    name, *word = text.split()
    return name, " ".join(word)


def why_stopped(turn: Turn) -> str:
    """Say what the loop knows of why a turn ended; empty where the reason says it all."""
    if turn.outcome.problem is not None:
        return str(turn.outcome.problem)
    return turn.outcome.missing[-1] if turn.outcome.stopped == "unfinished" else ""


def read(text: str, *, shortcuts: bool) -> Typed:
    """Take the directives out of a typed message, and say of those without effect that it has none.

    Raises:
        UsageError: If it is a command that there is not.
    """
    typed = parse(text, shortcuts=shortcuts)
    if text.startswith("/") and typed.text.startswith("/"):
        raise UsageError(
            f"There is no command {text.split()[0]}; nothing was sent.\n"
            "A message that begins with / is sent from standard input: bumble chat -"
        )
    for name in typed.ignored:
        output.say(f"/{name} has no effect inside a message.")
    return typed


def answer(
    talk: Conversation, message: Typed, say: Callable[[str], None], *, typed: bool = True
) -> Turn:
    """Answer a message, saying it as it comes, and what there is to be said of it."""
    shell = talk.opened.shell
    for text in talk.unheard():
        output.say(f"{talk.opened.identity.name} said in the meantime: {text}")
    turn = talk.answer(message.text, say, think=message.wishes.get("think"), typed=typed)
    if turn.outcome.said and not shell.json:
        output.piece("\n")
    for note in turn.notes:
        output.warn(shell, note)
    output.stopped(turn.outcome.stopped, why_stopped(turn))
    return turn


def finish(
    talk: Conversation, turn: Turn, wishes: Wishes, *, usage: bool, debug_prefix: bool
) -> None:
    """End a turn that was said, and tell of it what is wanted."""
    if debug_prefix:
        output.say(talk.prefix_report(turn))
    talk.finish(turn)
    if wishes.get("reasoning"):
        thoughts = [completion.reasoning.strip() for completion in turn.outcome.completions]
        for thought in filter(None, thoughts):
            output.say(f"[reasoning: {thought}]")
        if not any(thoughts):
            output.say("[no reasoning came with this answer]")
    if wishes.get("verbose"):
        output.say(f"[{turn.reading.route.profile}, by the rule {turn.reading.route.rule}]")
        for call, result in turn.outcome.pairs:
            shown = output.shorten(dumps(dict(call.arguments), ensure_ascii=False))
            output.say(f"[{call.name} {shown}: {output.shorten(result.text)}]")
    if usage:
        output.say(footer(talk, turn))


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
    if turn.reply.worded:
        lines.append(
            f"[by form: {turn.reply.worded}, in {turn.reading.language}; no model wrote this reply]"
        )
    blocks = ", ".join(f"{block.name} {block.tokens}" for block in turn.composed.blocks)
    spent = " · ".join(f"{what} {seconds:.2f} s" for what, seconds in talk.spent.items())
    lines += [
        f"[{turn.reading.route.profile} · before the message: {blocks} tokens]",
        f"[{spent}]",
        *talk.describe(),
    ]
    return "\n".join(lines)


TOP = 30  # parts of a kind that are shown


def _size(chars: int) -> str:
    return f"{chars:,} chars (~{chars // 4:,} tok)"


def listed(report: ContextReport) -> Iterator[str]:
    """Write a report in lines."""
    files = [
        f"- {file.name}: {file.status}"
        f" | raw {_size(file.raw_chars)} | injected {_size(file.injected_chars)}"
        for file in report.files
    ]
    scratched = f"Scratch notes: {report.scratch_notes} in {working.SCRATCH_PATH}"
    ratio = f", times {report.token_ratio:g} as counted before" if report.token_ratio != 1 else ""
    counted = "counted by the backend" if report.prompt_tokens else f"estimated{ratio}"
    cached = f", {report.cached_tokens} of them cached" if report.cached_tokens else ""
    facts = {
        "Skills list": f"{_sizes(report.skills)} ({len(report.skills)} skills)",
        "Tools": ", ".join(part.name for part in report.tools),
        "Allowed by the owner": ", ".join(report.allowed) or "no files, programs or notes",
        "Tool list": _sizes(report.tools),
        "Answer schema (JSON)": f"{_size(report.schema_chars)} (beside the messages, not text)",
        "Before the message": _sizes(report.preamble),
        "Attached files, in that": _size(report.attached_chars),
        "Conversation": f"{_size(report.history_chars)} in {report.history_messages} messages,"
        f" {report.summarized_messages} summarised, {report.left_out_messages} left out",
        "Wrapping by the backend": f"{report.wrapping_bytes:,} bytes around texts and schema,"
        f" ~{report.wrapping_tokens:,} tok (estimated)",
        "Session tokens": f"{report.total_tokens:,} ({counted}{cached})"
        f" / ctx={report.window_tokens:,}",
    }
    yield from (
        "Context breakdown",
        f"Workspace: {report.workspace}",
        f"System prompt ({report.source}): {_size(report.system_chars)}",
        "Files of your own:",
        *files,
        *([scratched] if report.scratch_notes else []),
        *(f"{name}: {value}" for name, value in facts.items()),
    )
    size = f"{report.total_bytes:,} bytes"
    if report.source == "form":
        yield f"Nothing was sent ({report.at}): the reply was put together by form."
        yield f"Total that {report.model} would have been sent: {size}"
    else:
        yield f"Total sent: {size} ({report.source}, {report.model}, {report.at})"
    if report.too_long:
        yield "The next message compacts the conversation first (`bumble compact --check`)."


def _sizes(parts: Iterable[Part]) -> str:
    return _size(sum(part.chars for part in parts))


def detailed(report: ContextReport) -> Iterator[str]:
    """Write a report with the size of each part of it."""
    from bumble.chat import context_report

    yield from listed(report)
    groups = {
        "System prompt, by part": report.system,
        "Top skills (prompt entry size)": report.skills,
        "Top tools (schema size)": report.schemas,
        "Before the message, by block": report.preamble,
    }
    for title, parts in groups.items():
        ranked, more = context_report.largest(parts, TOP)
        shown = [f"- {part.name}: {_size(part.chars)}" for part in ranked] or ["- none"]
        yield from ("", f"{title}:", *shown)
        if more:
            yield f"... (+{more} more)"
    rows = [[name, f"~{count:,}"] for name, count in context_report.budget(report)]
    yield from ("", f"Brief of the last conversation: {_continuity(report)}", "", "Token budget:")
    yield from output.table(rows, indent="- ")


def _continuity(report: ContextReport) -> str:
    """Say whether the brief of the last conversation is in the prompt, and why."""
    if (brief := report.handover) is None:
        return "none"
    likeness = (
        "likeness unknown without an embedding model"
        if brief.likeness is None
        else f"likeness {brief.likeness:.2f}, wants {brief.wants:.2f}"
    )
    is_there = any(part.name == "handover" for part in report.preamble)
    outcome = "in the prompt" if is_there else "no room for it" if brief.fits else "left out"
    return f"{brief.session}, {likeness}: {outcome}"
