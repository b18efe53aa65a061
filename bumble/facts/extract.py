"""What a model extracts from a window: schema, categories, prompts, limits of an item.

Every item names the messages it rests on. What of it these bear out, `verify` tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from bumble import prompts
from bumble.errors import AnswerInvalidError
from bumble.facts.extract_window import Window, day
from bumble.llm import structured
from bumble.llm.protocol import Model, Request
from bumble.records import beliefs
from bumble.runtime import job_request
from bumble.text import json_schema
from bumble.text.words import one_line

Kind = Literal["knowledge", "relational", "belief"]

PURPOSE = "distill"
CATEGORIES = tuple(each for each in beliefs.CATEGORIES if each != beliefs.DREAM_INSIGHT)
SELF_INSIGHT = "self_insight"
FAULT_CHARS = 200  # of what is wrong with a part of an answer
LOWEST, HIGHEST = 0.3, 0.9  # confidence that a first mention may get


class ExtractedItem(Struct, frozen=True):
    """One fact, belief or relational note that a model found in a window."""

    kind: Kind
    text: str
    cited: tuple[int, ...]  # numbers of messages
    title: str = ""  # of knowledge
    category: str = ""  # of a belief
    confidence: float = 0.0  # of a belief
    person: str = ""  # whom a relational note is about, by name
    warmth: float = 0.0  # change that a relational note asks for
    trust: float = 0.0


class Extraction(Struct, frozen=True):
    """A model's answer about one window, before it is checked."""

    items: tuple[ExtractedItem, ...] = ()
    journal: str = ""
    faults: tuple[str, ...] = ()  # of the parts of the answer that could not be read

    @property
    def malformed(self) -> int:
        """How many parts could not be read."""
        return len(self.faults)


class Options(Struct, frozen=True):
    """How the model is asked."""

    max_tokens: int
    temperature: float
    budget_chars: int
    relational: Literal["others", "notes", "scalar"]  # others: reflections saw to the speakers
    max_delta: float = 0.1
    most_chars: int | None = None  # of a whole window; None: all of it
    body: str = ""  # how the entity feels, in a line


def draw(
    model: Model, window: Window, options: Options, known_sections: Mapping[str, str]
) -> Extraction:
    """Ask a model what is worth keeping.

    Args:
        model: Who answers.
        window: The messages.
        options: How to ask.
        known_sections: Sections of knowledge that this may be about, text by title.

    Raises:
        AnswerInvalidError: If not even a part of the answer can be read.
    """
    if not any(window.is_persons(n) for n in window.numbers):
        return Extraction()
    schema = _schema(window, options)
    slots = {
        "name": window.entity,
        "people": " and ".join(window.speakers),
        "day": day(window.last.at, window.zone),
        "messages": prompts.harmless(
            window.text(options.budget_chars, options.most_chars), "messages", "known"
        ),
        "known": _render_known(known_sections),
        "relational": _RELATIONAL[options.relational],
        "body": options.body and f"{options.body}\n",
    }
    request = Request(
        job_request.messages(PURPOSE, slots),
        purpose=PURPOSE,
        cache_id=job_request.cache_id(PURPOSE),
        max_tokens=options.max_tokens,
        temperature=options.temperature,
    )
    try:
        answer = structured.answer(model, request, schema)
    except AnswerInvalidError as error:
        answer = _salvaged(error)
    return _read(answer, schema["properties"], options)


_RELATIONAL = {
    "others": 'This time also "relational": what a message shows of a person who is only spoken of '
    'and says nothing here: "person" (the name), "note".\n',
    "notes": 'This time also "relational": what a message shows of a person, also one who is only '
    'spoken of, or of how they stand to you: "person" (the name), "note".\n',
    "scalar": 'This time also "relational": what a message shows of a person: "person" (the name), '
    '"note", '
    'and by how much it changes your warmth and trust, from -0.1 to 0.1: "warmth_delta", '
    '"trust_delta".\n',
}


def _render_known(known_sections: Mapping[str, str]) -> str:
    if not known_sections:
        return ""
    lines = "\n".join(
        f"{title}: {' '.join(text.split())}" for title, text in known_sections.items()
    )
    return (
        f"<known>\n{lines.replace('</', '‹/')}\n</known>\n"
        "What is known is not written again. To correct or extend it, use its title.\n"
    )


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(item: dict[str, Any], most: int) -> dict[str, Any]:
    return {"type": "array", "items": item, "maxItems": most}


def _schema(window: Window, options: Options) -> dict[str, Any]:
    """Only what may be evidence can be cited, where the schema is enforced."""
    numbers = [n for n in window.numbers if window.is_evidence(n)]
    cited = {"type": "array", "items": {"enum": numbers}, "minItems": 1, "maxItems": 3}
    # lengths and steps bound a small model, which else goes on until its last token
    title = {"type": "string", "maxLength": 60}
    text = {"type": "string", "maxLength": 200}
    share = {"enum": [0.3, 0.5, 0.7, 0.9]}
    delta = {"type": "number", "minimum": -options.max_delta, "maximum": options.max_delta}
    fields: dict[str, Any] = {
        "knowledge": _list(_object(**{"from": cited, "title": title, "body": text}), 4),
        "beliefs": _list(
            _object(
                **{"from": cited, "category": {"enum": list(CATEGORIES)}},
                content=text,
                confidence=share,
            ),
            3,
        ),
    }
    note = {"from": cited, "person": title, "note": text}
    deltas = {"warmth_delta": delta, "trust_delta": delta}
    scalar = options.relational == "scalar"
    fields["relational"] = _list(_object(**(note | deltas if scalar else note)), 2)
    fields["journal_entry"] = text
    schema = _object(**fields)
    if options.relational == "others":  # most talks are of nobody else
        schema["required"].remove("relational")
    return schema


def _salvaged(error: AnswerInvalidError) -> Any:
    """Return the JSON of an answer that does not satisfy its schema: parts of it may.

    Raises:
        AnswerInvalidError: If it is no JSON object.
    """
    try:
        value, _ = structured.load(error.answer)
    except ValueError:
        raise error from None
    if not isinstance(value, dict):
        raise error
    return value


def _read(answer: Mapping[str, Any], fields: Mapping[str, Any], options: Options) -> Extraction:
    """Read every part of an answer that is as it should be."""
    items: list[ExtractedItem] = []
    faults: list[str] = []
    for name, make in (("knowledge", _fact), ("beliefs", _belief), ("relational", _note)):
        raw_items = answer.get(name, [])
        if name not in fields or not isinstance(raw_items, list):
            faults += [f"{name}: not asked for, or no list"] if raw_items else []
            continue
        item_schema = _loose(fields[name]["items"])
        for raw_item in raw_items:
            fitting = structured.fitted(raw_item, item_schema)
            error = json_schema.error(fitting, item_schema)
            if error is None:
                items.append(make(fitting, options))
            else:
                faults.append(f"{name}: {error.json_path}: {error.message}"[:FAULT_CHARS])
    journal = answer.get("journal_entry", "")
    return Extraction(tuple(items), journal if isinstance(journal, str) else "", tuple(faults))


def _loose(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Let an item cite any number: what may be cited is checked with a reason, later."""
    numbers = {"type": "array", "items": {"type": "integer"}}
    return {**schema, "properties": {**schema["properties"], "from": numbers}}


def _fact(raw_item: Mapping[str, Any], options: Options) -> ExtractedItem:
    return ExtractedItem(
        "knowledge",
        raw_item["body"].strip(),
        tuple(raw_item["from"]),
        title=raw_item["title"].strip(),
    )


def _belief(raw_item: Mapping[str, Any], options: Options) -> ExtractedItem:
    confidence = min(max(float(raw_item["confidence"]), LOWEST), HIGHEST)
    return ExtractedItem(
        "belief",
        one_line(raw_item["content"]),
        tuple(raw_item["from"]),
        category=raw_item["category"],
        confidence=confidence,
    )


def _note(raw_item: Mapping[str, Any], options: Options) -> ExtractedItem:
    limit = options.max_delta
    return ExtractedItem(
        "relational",
        one_line(raw_item["note"]),
        tuple(raw_item["from"]),
        person=raw_item["person"],
        warmth=min(max(float(raw_item.get("warmth_delta", 0)), -limit), limit),
        trust=min(max(float(raw_item.get("trust_delta", 0)), -limit), limit),
    )
