"""The labelled messages in one form: intents and what is not known, keep, spans."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
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


# What stands beside what in a message of several sentences, and of a hundred how many.
TOGETHER = (
    (("tells", "asks"), 32),
    (("asks", "tells"), 14),
    (("tells", "tells", "asks"), 6),
    (("light", "heavy"), 15),
    (("heavy", "light"), 12),
    (("opens", "heavy"), 5),
    (("opens", "asks"), 4),
    (("opens", "light"), 3),
    (("light", "light"), 9),
)
ASKS = frozenset(
    {
        *("task", "ask_world", "calculate", "remind", "ask_memory", "ask_known", "ask_talk"),
        *("ask_name", "ask_time", "ask_entity"),
    }
)
OPENS = frozenset({"greet", "introduce", "tell"})
LONGEST, OPENING = 110, 50  # characters of what is joined
ALIKE = 0.8  # how often only messages that begin alike are joined, with a capital or without
STOPS = (". ", ". ", ", ", " ", "... ", "; ", "\n", "! ")


def joined(examples: Sequence[Example], count: int, seed: int = 0) -> list[Example]:
    """Make messages of several sentences out of others in one language.

    Writers of single messages seldom wrap a request in what they tell, or tell grave news in
    passing; people do. A head that learned from these reads such a message as what its parts are.
    """
    chance = random.Random(seed)
    roles: dict[tuple[str, str], list[Example]] = {}
    can_be = [one for one in examples if _can_be_joined(one)]
    for one in can_be:
        for role in _roles(one):
            roles.setdefault((role, one.language), []).append(one)
    made: list[Example] = []
    patterns, shares = zip(*TOGETHER, strict=True)
    while len(made) < count:
        language = chance.choice(can_be).language
        [pattern] = chance.choices(patterns, shares)
        pools = [roles.get((role, language)) for role in pattern]
        parts = [chance.choice(pool) for pool in pools if pool]
        is_alike = len({part.text[0].islower() for part in parts}) < 2
        if len({part.text for part in parts}) < len(pattern):
            continue
        if is_alike or chance.random() > ALIKE:
            made.append(_joined(parts, chance))
    return made


def _can_be_joined(one: Example) -> bool:
    is_whole = bool(one.intents) and not one.previous and not one.wish and one.keep is not None
    is_free = one.writer not in NAMES_ALONE | {"plain"}
    return one.split == "train" and is_whole and is_free and len(one.text) < LONGEST


def _roles(one: Example) -> list[str]:
    """Return what an example may be in a message of several sentences."""
    intents = set(one.intents or ())
    main = (one.intents or ("",))[0]
    tells = intents <= {"tell", "remember"}
    is_opening = intents <= OPENS and intents != {"tell"} and len(one.text) < OPENING
    roles = {
        "asks": main in ASKS,
        "tells": tells,
        "light": tells and one.heavy == 0,
        "heavy": main in ("tell", "confide") and (one.heavy or 0) > 0,
        "opens": is_opening,
    }
    return [role for role, is_one in roles.items() if is_one]


def _joined(parts: Sequence[Example], chance: random.Random) -> Example:
    text = parts[0].text.strip()
    for part in parts[1:]:
        stop = chance.choice(STOPS if text[-1].isalnum() else (" ", " ", " ", "\n"))
        text += stop + part.text.strip()
    ordered = sorted(parts, key=lambda part: (part.intents or ("",))[0] not in ASKS)
    intents = dict.fromkeys(intent for part in ordered for intent in part.intents or ())
    graded = all(part.heavy is not None and part.glad is not None for part in parts)
    spans = {name: next(filter(None, (getattr(p, name) for p in parts)), "") for name in SPANS}
    return Example(
        text,
        parts[0].language,
        # what code answers is known where each of them knew of it
        next((p.writer for p in parts if p.writer not in KNOWS_FOR_CODE), parts[0].writer),
        "train",
        keep=any(part.keep for part in parts),
        intents=tuple(intents),
        heavy=max(part.heavy or 0 for part in parts) if graded else None,
        glad=max(part.glad or 0 for part in parts) if graded else None,
        **spans,
    )


def read(path: Path = FILE) -> list[Example]:
    """Read all labels."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_example(json.loads(line)) for line in lines]


def _example(data: dict[str, Any]) -> Example:
    lists = {name: data.pop(name, None) for name in ("intents", "replies")}
    return Example(**data, **{name: each and tuple(each) for name, each in lists.items()})
