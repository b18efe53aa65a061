"""The labelled messages in one form: intents and what is not known, keep, spans."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("messages.jsonl")
INTENTS = (
    *("tell", "greet", "leave", "ask_memory", "ask_entity", "ask_world", "task", "remember"),
    *("remind", "correct", "confide", "joke", "imagine", "pry", "introduce"),
    *("ask_name", "ask_known", "ask_talk", "ask_time", "calculate"),
)
# What code answers is labelled by writers who knew of it; of others' questions and tasks it is
# not known whether they are that.
FOR_CODE = frozenset({"ask_name", "ask_known", "ask_talk", "ask_time", "calculate"})
MAY_BE_FOR_CODE = frozenset(
    {"ask_memory", "ask_entity", "ask_world", "task", "ask_other", "question", "question_with_fact"}
)
NAMES_ALONE = frozenset({"ottilie"})  # writers who said whose name it is, and nothing else
KNOWS_FOR_CODE = frozenset(  # writers
    {
        *("asks", "berit", "odile", "parker", "bertram", "celeste", "tessa"),
        *("ursula", "valentin", "wilma", "xaver"),
        *("rosa", "ruben", "runa"),
        *("hazel", "lorenz", "noor", "ilka", "sami", "edda", "gundel", "perrin", "quirin"),
    }
)
# Writers of whole messages with what a friend would answer: of short replies theirs count thrice.
ANSWERED = frozenset(
    {"ursula", "valentin", "wilma", "hazel", "lorenz", "noor", "ilka", "sami", "gundel", "perrin"}
)
# What is wished of memory, beside the intents; who labelled it labelled nothing else.
WISHES = ("ask_reminders", "cancel", "move", "forget")
SPANS = ("name", "when", "what")
# Short replies that a friend could give as the whole answer; a language's file words them.
REPLIES = (
    *("condole", "sorry", "annoying", "congratulate", "lovely", "luck", "enjoy", "laugh"),
    *("welcome", "care", "secret", "noted", "corrected", "fine", "wow", "agree", "hope", "relief"),
)
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


@dataclass(frozen=True)
class Example:
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
    replies: tuple[str, ...] | None = None  # that fit, the best first
    wish: str = ""  # one of WISHES, or `none`

    def wishes(self) -> list[float]:
        """Return for each wish whether it is there; whoever didn't ask for them hardly has one."""
        return [float(self.wish == name) for name in WISHES]

    def known_intents(self) -> tuple[list[float], list[float]]:
        """Return for each intent whether it is there, and whether that is known."""
        there = OF_KIND.get(self.kind, ()) if self.intents is None else self.intents
        return [float(name in there) for name in INTENTS], [self._knows(name) for name in INTENTS]

    def _knows(self, intent: str) -> float:
        """Return 1 where it is known whether an intent is there, else 0."""
        if self.writer in NAMES_ALONE:
            return float(intent == "introduce")
        if intent in FOR_CODE and self.writer not in KNOWS_FOR_CODE:
            return float(MAY_BE_FOR_CODE.isdisjoint((self.kind, *(self.intents or ()))))
        if self.intents is not None:
            return 1.0
        there = OF_KIND.get(self.kind, ())
        return float(bool(there) and (intent in there or intent not in MAY_BE_BESIDE))


def read(path: Path = FILE) -> list[Example]:
    """Read all labels."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_example(json.loads(line)) for line in lines]


def _example(data: dict[str, Any]) -> Example:
    lists = {name: data.pop(name, None) for name in ("intents", "replies")}
    return Example(**data, **{name: each and tuple(each) for name, each in lists.items()})
