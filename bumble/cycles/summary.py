"""Summaries: one text for the middle of a conversation, by the model or by the lines that say most.

The model tells; code sees to it that it tells nothing of its own, and puts what it left out of
names, numbers, dates and decisions behind it, word for word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bumble import prompts
from bumble.cycles import asking, evidence, excerpt
from bumble.cycles.excerpt import Line
from bumble.cycles.life import Life
from bumble.llm import structured, tokens
from bumble.stores import relationships
from bumble.stores.sessions import Message

HEADINGS = {
    "goal": "Goal",
    "constraints": "Constraints",
    "progress": "Progress",
    "decisions": "Decisions",
    "emotional_context": "Emotional Context",
    "critical_context": "Critical Context",
    "next_steps": "Next Steps",
}
TOLD_SHARE = 0.4  # of the budget, for what the model tells; the rest is carried word for word
TEMPERATURE = 0.2
PIECE_TOKENS = 1500  # of conversation in one question: a small model loses the thread in more
SAID = "- "  # before a line that is carried word for word


@dataclass(frozen=True)
class SummaryInput:
    """What a summary has to stand for."""

    earlier: str  # the summary before it; empty if there is none
    new: tuple[Message, ...]  # messages that no summary has stood for yet
    stretch: tuple[Message, ...]  # all messages it stands for
    budget_tokens: int


def told(life: Life, given: SummaryInput, note: Callable[[str], None]) -> str:
    """Let the model tell it, piece by piece, each telling updating the one before.

    Raises:
        AnswerInvalidError: If an answer can't be used, and not at the second try either.
    """
    lines = _lines(life, given.new)
    pieces = _pieces(lines, min(PIECE_TOKENS, life.window_tokens // 2))
    room = int(given.budget_tokens * TOLD_SHARE)
    values = _read(given.earlier)
    for n, piece in enumerate(pieces, 1):
        note(f"summarising part {n} of {len(pieces)}")
        values = _ask(life, values, piece, room)
    sources = [*(str(line) for line in lines), given.earlier]
    kept = {name: evidence.supported(values[name], sources, _known(life)) for name in HEADINGS}
    return _whole(life, given, kept)


def excerpt_lines(life: Life, given: SummaryInput, covered: str, budget_tokens: int) -> list[Line]:
    """Choose what is carried word for word: new lines, and those an earlier summary carried."""
    names = _names(life)
    candidates = [*_carried(given.earlier), *excerpt.lines(given.new, names, life.identity.name)]
    return excerpt.choose(candidates, budget_tokens, life.identity.name, covered)


def excerpt_text(life: Life, given: SummaryInput) -> str:
    """Let the lines that say most stand for the rest, behind what a model told before."""
    return _whole(life, given, _read(given.earlier))


def _whole(life: Life, given: SummaryInput, values: Mapping[str, str]) -> str:
    """Render a summary; lines are carried as far as the budget goes."""
    text = render(values)
    left = given.budget_tokens - tokens.estimate(text)
    lines = excerpt_lines(life, given, " ".join(values.values()), left)
    carried = "\n".join(f"{SAID}{line}" for line in lines)
    critical = "\n".join(part for part in (values["critical_context"], carried) if part)
    return render({**values, "critical_context": critical})


def render(values: Mapping[str, str]) -> str:
    """Write the seven headings, those with nothing under them too."""
    parts = (f"## {title}\n{values[name] or '-'}" for name, title in HEADINGS.items())
    return "\n".join(parts)


def _read(text: str) -> dict[str, str]:
    """Read a rendered summary back, without the lines it carries word for word."""
    values = dict.fromkeys(HEADINGS, "")
    current = None
    for line in text.splitlines():
        name = next((key for key, title in HEADINGS.items() if line == f"## {title}"), None)
        if name:
            current = name
        elif current and line != "-" and not line.startswith(SAID):
            values[current] = f"{values[current]}\n{line}".strip()
    return values


def _carried(text: str) -> list[Line]:
    """Return the lines that an earlier summary carried word for word."""
    pairs = [line[len(SAID) :].partition(": ") for line in text.splitlines() if line[:2] == SAID]
    return [Line("", who, said) for who, colon, said in pairs if colon]


def _ask(life: Life, earlier: Mapping[str, str], piece: str, room: int) -> dict[str, str]:
    schema = _schema(room)
    slots = {
        "earlier": render(earlier) if any(earlier.values()) else "(there is none yet)",
        "conversation": prompts.harmless(piece, "conversation", "notes"),
    }
    request = asking.request(life, "compact", slots, max_tokens=room + 100, temperature=TEMPERATURE)
    answer = structured.answer(life.model, request, schema)
    return {name: " ".join(str(answer[name]).split()) for name in HEADINGS}


def _schema(room: int) -> dict[str, Any]:
    """Describe the answer: all headings, each with its share of the room."""
    limit = max(80, room * 4 // len(HEADINGS))
    return {
        "type": "object",
        "properties": {name: {"type": "string", "maxLength": limit} for name in HEADINGS},
        "required": list(HEADINGS),
        "additionalProperties": False,
    }


def _pieces(lines: Sequence[Line], limit_tokens: int) -> list[str]:
    """Join lines to pieces of about a length; one line may be longer than that."""
    pieces: list[list[str]] = []
    used = limit_tokens + 1
    for line in map(str, lines):
        cost = tokens.estimate(line) + 1
        if used + cost > limit_tokens:
            pieces.append([])
            used = 0
        pieces[-1].append(tokens.cut(line, limit_tokens))
        used += cost
    return ["\n".join(piece) for piece in pieces]


def _lines(life: Life, stored: Sequence[Message]) -> list[Line]:
    return excerpt.lines(stored, _names(life), life.identity.name)


def _names(life: Life) -> dict[str, str]:
    return {one.id: one.name for one in relationships.read(life.entity.relationships)}


def _known(life: Life) -> list[str]:
    return [life.identity.name, *_names(life).values()]
