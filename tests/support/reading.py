"""A reader for tests: says of the messages that it was given what each of them is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from bumble.index.memory import Memory
from bumble.models.embed.reader import MessageReading
from bumble.runtime.runtime import Runtime
from tests.support.hashing import HashingEmbedder
from tests.support.running import Run

INTENTS = (
    *("tell", "greet", "leave", "ask_memory", "ask_entity", "ask_world", "task", "remember"),
    *("remind", "correct", "confide", "joke", "imagine", "pry", "introduce"),
    *("ask_name", "ask_known", "ask_talk", "ask_time", "calculate"),
)


def reading(*intents: str, keep: bool = False, **values: Any) -> MessageReading:
    """Make a reading: what it surely is, the first most; all else it surely isn't."""
    scores = dict.fromkeys(INTENTS, -2.0)
    scores |= {intent: 4.0 - 0.1 * n for n, intent in enumerate(intents)}
    return MessageReading(2.0 if keep else -2.0, scores, **values)


def doubtful(intent: str, **scores: float) -> MessageReading:
    """Make a reading that is no surer of what a message is than real ones often are."""
    whole = reading(intent)
    return replace(whole, scores={**whole.scores, intent: 1.4, **scores})


class ScriptedReader:
    """Says what it was told, beside another message of `before / text`; else it is fleeting."""

    def __init__(self, known: Mapping[str, MessageReading]) -> None:
        self.known, self.asked = dict(known), list[tuple[str, str]]()

    def read(self, text: str, previous: str = "", *, begins: bool = False) -> MessageReading:
        self.asked.append((text, previous))
        beside = self.known.get(f"{previous} / {text}")
        return beside or self.known.get(text, reading("tell"))


def with_reader(runtime: Runtime, known: Mapping[str, MessageReading]) -> Runtime:
    """Return a runtime whose messages are read as they are given here."""
    memory = Memory(
        runtime.entity,
        HashingEmbedder,
        name=runtime.identity.name,
        zone=runtime.zone,
        syncs=runtime.writes,
        optional=True,
        open_reader=lambda _: ScriptedReader(known),
    )
    return replace(runtime, memory=memory)


def with_weights(run: Run, folder: Path) -> None:
    """Let commands read with the real reader."""
    run.environ["BUMBLE_WEIGHTS"] = str(folder)
    run.environ["BUMBLE_EMBEDDING_MODEL"] = "multilingual-e5-small"
