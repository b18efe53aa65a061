"""A stored conversation as the model sees it.

What was once shown is shown the same way for ever: the view of a longer transcript begins with
the view of the shorter one, so that its evaluated prefix can be kept. Only where the window is full
does the beginning move, and then by half a window at once.
Knows nothing of preambles: they are never stored.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from bumble import prompts
from bumble.llm import tokens
from bumble.llm.protocol import Message
from bumble.stores import sessions


@dataclass(frozen=True)
class View:
    """The part of a conversation that goes into a prompt."""

    messages: tuple[Message, ...]  # roles alternate between user and assistant
    left_out: int  # stored messages before these that the window has no room for


def view(stored: Sequence[sessions.Message], budget_tokens: int) -> View:
    """Render a transcript within a budget."""
    turns = _turns(stored)
    start, used = 0, 0
    for n, turn in enumerate(turns):
        used += _cost(turn)
        if used > budget_tokens and n > start:
            while start < n and used > budget_tokens // 2:
                used -= _cost(turns[start])
                start += 1
    left_out = sum(len(turn) for turn in turns[:start])
    shown = [message for turn in turns[start:] for message in turn]
    return View(_joined([render(message) for message in shown]), left_out)


def _turns(stored: Sequence[sessions.Message]) -> list[list[sessions.Message]]:
    """Group messages into turns: what a person said and all that followed from it."""
    turns: list[list[sessions.Message]] = []
    for message in stored:
        if message.role == "user" or not turns:
            turns.append([])
        turns[-1].append(message)
    return turns


def _cost(turn: Sequence[sessions.Message]) -> int:
    return sum(tokens.estimate_message(render(message).content) for message in turn)


def render(message: sessions.Message) -> Message:
    """Render one stored message."""
    if message.role == "assistant":
        return Message("assistant", actions_text(message))
    if message.role == "tool":
        return Message("user", result_text(str(message.extra.get("tool", "tool")), message.text))
    return Message("user", spoken(str(message.extra.get("name", "")), message.text))


def spoken(name: str, text: str) -> str:
    """Render what a person said; with the name before it, small models know whose "I" it is."""
    said = prompts.harmless(text)
    return f"{prompts.harmless(name)}: {said}" if name else said


def actions_text(message: sessions.Message) -> str:
    """Render what the entity did in the form it answers in."""
    actions = [
        {"tool": call.name, "arguments": dict(call.arguments)} for call in message.tool_calls
    ]
    if message.text or not actions:
        actions.insert(0, {"tool": "say", "arguments": {"text": message.text}})
    return uncontrolled(json.dumps({"actions": actions}, ensure_ascii=False, separators=(",", ":")))


def uncontrolled(actions: str) -> str:
    """Return the same JSON without what a chat template would take for the end of a message."""
    return actions.replace("<|", "\\u003c|")


def result_text(tool: str, text: str) -> str:
    """Render the result of a tool as data."""
    return prompts.tagged("result", text, f' tool="{tool}"')


def _joined(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Join neighbours of one role: chat templates want them to alternate."""
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1].role == message.role:
            joined[-1] = Message(message.role, f"{joined[-1].content}\n\n{message.content}")
        else:
            joined.append(message)
    return tuple(joined)


def with_last(messages: Sequence[Message], content: str) -> tuple[Message, ...]:
    """Return a view that ends with a user message of its own."""
    return _joined([*messages, Message("user", content)])
