"""How a turn is shown after its answer: as data, why it ended, what went on behind, its cost."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Any

from bumble.cli import output
from bumble.cli.directives import Wishes

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
