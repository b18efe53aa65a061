"""The summary of a conversation's middle: by the model, or by the lines that say most.

The model tells; code sees to it that it tells nothing of its own, and puts what it left out of
names, numbers, dates and decisions behind it, word for word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bumble.fallback.sayings import Wording
from bumble.guard import excerpt, origins, verifier
from bumble.guard.excerpt import SpokenLine
from bumble.llm import prompts, structured
from bumble.records import relationships
from bumble.records.sessions import Message
from bumble.runtime import job_request
from bumble.runtime.runtime import Runtime
from bumble.text import tokens, words
from bumble.text.words import one_line

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
READ_SHARE = 1.5  # of the budget, what an embedded model reads: all of it would take many minutes
TEMPERATURE = 0.2
PIECE_TOKENS = 1500  # of conversation in one question
SMALL_PIECE_TOKENS = 400  # to an embedded model, which from more tells the prompt's example again
LEAST_CHARS = 80  # under a heading
KEY_TOKENS = 12  # of an answer, for a heading's name and what stands around it
WORTH = 3.0  # weight of a line that is worth keeping, beside another
LINE_MARK = "- "  # before a line that is carried word for word


class SummaryInput(Struct, frozen=True):
    """The messages a summary has to stand for, and its budget."""

    earlier: str  # the summary before it; empty if there is none
    new: tuple[Message, ...]  # messages that no summary has stood for yet
    budget_tokens: int
    wording: Wording | None = None  # where no model is trusted to write
    worth: frozenset[str] = frozenset()  # ids of the messages that are worth keeping


def summarize(runtime: Runtime, summary_input: SummaryInput, note: Callable[[str], None]) -> str:
    """Let the model summarise the messages, piece by piece, each answer updating the one before.

    An embedded model gets only the lines that say most, for on two cores it reads some thirty
    tokens a second; and of what it tells only what one line bears out is kept.

    Raises:
        AnswerInvalidError: If an answer can't be used, and not at the second try either.
    """
    lines, piece_tokens = _lines(runtime, summary_input.new), PIECE_TOKENS
    if runtime.local:
        lines = excerpt.choose(
            lines, int(summary_input.budget_tokens * READ_SHARE), summary_input.earlier
        )
        piece_tokens = SMALL_PIECE_TOKENS
    pieces = _pieces(lines, min(piece_tokens, runtime.window_tokens // 2))
    room = int(summary_input.budget_tokens * TOLD_SHARE)
    values = earlier = _read(summary_input.earlier)
    for n, piece in enumerate(pieces, 1):
        note(f"summarising part {n} of {len(pieces)}")
        if runtime.local:  # which would only repeat the notes it gets
            noted = _ask(runtime, earlier, piece, room // len(pieces))
            values = _joined(values, {name: _once(text) for name, text in noted.items()})
        else:
            values = _ask(runtime, values, piece, room)
    sources = [*(str(line) for line in lines), *earlier.values()]
    checked = {name: _checked(runtime, values[name], sources) for name in HEADINGS}
    return _whole(runtime, summary_input, _bounded(checked, room) if runtime.local else checked)


def _joined(notes: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Put new notes behind those before."""
    return {name: f"{notes[name]}\n{more[name]}".strip() for name in HEADINGS}


def _bounded(notes: Mapping[str, str], limit_tokens: int) -> dict[str, str]:
    """Keep the notes that say most, as far as there is room, for they only grow; none twice.

    Each heading that has any first gets its share, so that none is crowded out by another.
    """
    lines = {
        name: [SpokenLine(name, HEADINGS[name], text) for text in dict.fromkeys(said.splitlines())]
        for name, said in notes.items()
        if said
    }
    share = limit_tokens // max(1, len(lines))
    chosen = [line for each in lines.values() for line in excerpt.choose(each, share)]
    left = limit_tokens - sum(map(excerpt.cost, chosen))
    rest = [line for each in lines.values() for line in each if line not in chosen]
    covered = " ".join(line.text for line in chosen)
    chosen += excerpt.choose(rest, left, covered)
    return {
        name: "\n".join(line.text for line in lines.get(name, ()) if line in chosen)
        for name in HEADINGS
    }


def _checked(runtime: Runtime, text: str, sources: Sequence[str]) -> str:
    """Keep the sentences that say nothing of their own."""
    known_names = _known_names(runtime)
    lines = [verifier.supported(line, sources, known_names) for line in text.splitlines()]
    if runtime.local:
        parts = [part for line in lines for part in words.sentences(line)]
        lines = [part for part in parts if _is_borne_out(part, sources, known_names)]
    return "\n".join(filter(None, lines))


def _is_borne_out(text: str, sources: Sequence[str], known_names: Sequence[str]) -> bool:
    """Whether one source line bears a sentence out; a sentence that only names a feeling fails."""
    strange = {letter for letter in text if not letter.isascii()} - set("".join(sources))
    own = origins.own_words(text, known_names)
    return bool(own) and not strange and origins.is_borne_out(text, sources, known_names)


def excerpt_lines(
    runtime: Runtime, summary_input: SummaryInput, covered: str, budget_tokens: int
) -> list[SpokenLine]:
    """Choose what is carried word for word: new lines, and those an earlier summary carried."""
    names = _names(runtime)
    own = runtime.identity.name
    candidates = [
        *_carried(summary_input.earlier, own),
        *excerpt.lines(summary_input.new, names, own),
    ]
    return excerpt.choose(candidates, budget_tokens, covered)


def excerpt_text(runtime: Runtime, summary_input: SummaryInput) -> str:
    """Let the lines that say most stand for the rest, behind what a model told before."""
    if summary_input.wording is not None and not any(_read(summary_input.earlier).values()):
        return _by_form(runtime, summary_input, summary_input.wording)
    return _whole(runtime, summary_input, _read(summary_input.earlier))


def _by_form(runtime: Runtime, summary_input: SummaryInput, wording: Wording) -> str:
    """Let what people said stand for the rest, first what is worth keeping."""
    own, head = runtime.identity.name, wording.template.summary
    earlier = [line for line in _carried(summary_input.earlier, own) if line.speaker != own]
    spoken_messages = [message for message in summary_input.new if message.role == "user"]
    new = [
        replace(line, weight=WORTH if line.message in summary_input.worth else line.weight)
        for line in excerpt.lines(spoken_messages, _names(runtime), own)
    ]
    budget = summary_input.budget_tokens - tokens.estimate(head)
    chosen = excerpt.choose([*earlier, *new], budget)
    return "\n".join([head, *(f"{LINE_MARK}{line}" for line in chosen)])


def _whole(runtime: Runtime, summary_input: SummaryInput, values: Mapping[str, str]) -> str:
    """Render a summary; lines are carried as far as the budget goes."""
    text = render(values)
    left = summary_input.budget_tokens - tokens.estimate(text)
    lines = excerpt_lines(runtime, summary_input, " ".join(values.values()), left)
    carried = "\n".join(f"{LINE_MARK}{line}" for line in lines)
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
        elif current and line != "-" and not line.startswith(LINE_MARK):
            values[current] = f"{values[current]}\n{line}".strip()
    return values


def _carried(text: str, own_name: str) -> list[SpokenLine]:
    """Return the lines that an earlier summary carried word for word."""
    pairs = [
        line[len(LINE_MARK) :].partition(": ")
        for line in text.splitlines()
        if line[:2] == LINE_MARK
    ]
    return [
        SpokenLine("", who, wording, excerpt.OWN_WEIGHT if who == own_name else 1.0)
        for who, colon, wording in pairs
        if colon
    ]


def _ask(runtime: Runtime, earlier: Mapping[str, str], piece: str, room: int) -> dict[str, str]:
    chars = max(LEAST_CHARS, room * 4 // len(HEADINGS))
    slots = {
        "earlier": render(earlier) if any(earlier.values()) else "(there is none yet)",
        "conversation": prompts.harmless(piece, "conversation", "notes"),
    }
    limit = len(HEADINGS) * (chars // 2 + KEY_TOKENS)  # so that no language is cut off
    request = job_request.request(
        runtime, "compact", slots, max_tokens=limit, temperature=TEMPERATURE
    )
    answer = structured.answer(runtime.model, request, _schema(chars))
    return {name: one_line(str(answer[name])) for name in HEADINGS}


def _once(text: str) -> str:
    """Return a text without the parts that it repeats: small models run in circles."""
    return ", ".join(dict.fromkeys(text.split(", ")))


def _schema(chars: int) -> dict[str, Any]:
    """Describe the answer: all headings, each as long as its share of the room."""
    return {
        "type": "object",
        "properties": {name: {"type": "string", "maxLength": chars} for name in HEADINGS},
        "required": list(HEADINGS),
        "additionalProperties": False,
    }


def _pieces(lines: Sequence[SpokenLine], limit_tokens: int) -> list[str]:
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


def _lines(runtime: Runtime, stored: Sequence[Message]) -> list[SpokenLine]:
    return excerpt.lines(stored, _names(runtime), runtime.identity.name)


def _names(runtime: Runtime) -> dict[str, str]:
    return {person.id: person.name for person in relationships.read(runtime.entity.relationships)}


def _known_names(runtime: Runtime) -> list[str]:
    return [runtime.identity.name, *_names(runtime).values()]
