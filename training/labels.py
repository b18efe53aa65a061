"""The labelled messages in one form: intents and what is not known, keep, spans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from msgspec import Struct

FILE = Path(__file__).with_name("messages.jsonl")
INTENTS = (
    *("tell", "greet", "leave", "ask_memory", "ask_entity", "ask_world", "task", "remember"),
    *("remind", "correct", "confide", "joke", "imagine", "pry", "introduce"),
)
SPANS = ("name", "when", "what")
KINDS = (
    *("fact", "plan", "taste", "change", "confidence", "feeling_deep", "feeling_fleeting"),
    *("joke", "joke_deadpan", "hypothetical", "maybe", "quote", "ask_memory", "ask_other", "pry"),
    *("question", "question_with_fact", "task", "chat", "smalltalk_number", "filler", "tell"),
)
# What the kinds of the older labels say of the intents: these are there. Of a kind that is not
# named here nothing is known; of those named all others are not there, but for what may be beside.
OF_KIND = {
    "fact": ("tell",),
    "plan": ("tell",),
    "taste": ("tell",),
    "feeling_deep": ("tell",),
    "feeling_fleeting": ("tell",),
    "smalltalk_number": ("tell",),
    "tell": ("tell",),
    "change": ("correct",),
    "confidence": ("confide",),
    "joke": ("joke",),
    "joke_deadpan": ("joke",),
    "hypothetical": ("imagine",),
    "maybe": ("imagine",),
    "quote": ("imagine",),
    "ask_memory": ("ask_memory",),
    "pry": ("pry",),
    "task": ("task",),
}
MAY_BE_BESIDE = frozenset({"tell", "introduce", "remember", "task", "greet"})


class Example(Struct, frozen=True):
    """A message and what is right; None: nobody said."""

    text: str
    language: str
    writer: str
    split: str  # train, choose, test or sealed
    previous: str = ""
    kind: str = ""
    keep: bool | None = None
    intents: tuple[str, ...] | None = None
    heavy: int | None = None
    glad: int | None = None
    name: str = ""
    when: str = ""
    what: str = ""

    def known_intents(self) -> tuple[list[float], list[float]]:
        """Return for each intent whether it is there, and whether that is known."""
        if self.intents is not None:
            return [float(name in self.intents) for name in INTENTS], [1.0] * len(INTENTS)
        there = OF_KIND.get(self.kind, ())
        known = [
            float(bool(there) and (name in there or name not in MAY_BE_BESIDE)) for name in INTENTS
        ]
        return [float(name in there) for name in INTENTS], known


def read(path: Path = FILE) -> list[Example]:
    """Read all labels."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_example(json.loads(line)) for line in lines]


def _example(data: dict[str, Any]) -> Example:
    intents = data.pop("intents", None)
    return Example(**data, intents=None if intents is None else tuple(intents))
