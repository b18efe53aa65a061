"""A small planted life with its raw outputs, as the bench of truth counts and judges it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.truth_counting import Lived, MemoryEntry
from bench.truth_living import Planted

AT = "2026-06-15T10:00:00+02:00"
MESSAGES: list[dict[str, Any]] = [
    {"label": "fact", "text": "mira has a nut allergy", "fact": {"all": ["Mira"], "any": ["nut"]}},
    {"label": "plan", "text": "fair is on the 30 june", "fact": {"any": ["30 june"]}},
    {"label": "change", "text": "no, the fair is on 2 july", "fact": {"any": ["2 july"]}},
    {"label": "joke", "text": "the cuckoo clock resigned", "not_fact": ["cuckoo"]},
    {"label": "confidence", "text": "i owe 9300, not a word", "fact": {"any": ["9300"]}},
    {"label": "question", "text": "how old am i", "expect": ["12"]},
]
MESSAGES[2]["corrects"] = 1
MESSAGES[4]["secret_from"] = "other"
MESSAGES = [
    {"i": i, "at": AT, "session": 1, "speaker": "owner"} | m for i, m in enumerate(MESSAGES)
]
LIFE = Planted("ana", "en", "Ada", {"owner": "Ana", "other": "Bo"}, MESSAGES, [], Path())


def turn(i: int, reply: str = "Yes.", **more: Any) -> dict[str, Any]:
    seen = {"person": "Ana", "prompt": [], "hits": [], "transcript": [], "reply": reply}
    cost = {"cpu_seconds": 2.0, "seconds": 1.0, "calls": [], "chat": {}}
    passes = {"cpu_seconds": 4.0, "calls": []}
    return {**MESSAGES[i], **seen, **cost, "passes": passes, **more}


def lived(*entries: MemoryEntry, **more: Any) -> Lived:
    turns = [turn(message["i"]) for message in MESSAGES]
    parts = {"turns": turns, "questions": [], "searches": [], "entries": entries}
    return Lived(LIFE, **(parts | more))
