"""Which text answers a question: by questions that people asked in other words than they had told.

`answers/WRITER/xx.yaml` has things as people tell them (`said`), and what they ask weeks later that
each of them answers (`asks`), by writers who had seen nothing of bumble. An embedder learns from
them once (`learning.py`) where what answers a question lies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from bumble.choosing.learning import Lesson, understands
from bumble.embed import answering
from bumble.embed.answering import Answering, Asked
from bumble.embed.protocol import Embedder, Floats
from bumble.runtime.runtime import Runtime
from bumble.text import tokens
from bumble.text.words import one_line

MAX_TOKENS = 150  # of a text: those that were learned from are short


class Told(Struct, frozen=True):
    """Something that was told, with the questions that it answers."""

    said: str
    asks: tuple[str, ...]
    writer: str
    language: str


def load() -> tuple[Told, ...]:
    """Read everything that was told with its questions.

    Raises:
        ValueError: If a file holds something else.
    """
    return tuple(
        Told(str(row["said"]), tuple(map(str, row["asks"])), writer, language)
        for writer, language, row in LESSON.rows()
    )


def learn(embedder: Embedder, told: Sequence[Told]) -> Answering:
    """Let an embedder learn from what it understands, a writer and a language at a time; a minute
    of two cores for everything."""
    groups: dict[tuple[str, str], list[Told]] = defaultdict(list)
    for each in told:
        if understands(embedder, each.language):
            groups[each.writer, each.language].append(each)
    return answering.fit([_asked(embedder, group) for group in groups.values()])


def _asked(embedder: Embedder, told: Sequence[Told]) -> Asked:
    questions = [(row, ask) for row, each in enumerate(told) for ask in each.asks]
    return Asked(
        embedder.embed_documents([one_line(each.said) for each in told]),
        np.array([embedder.embed_query(one_line(ask)) for _, ask in questions]),
        np.array([row for row, _ in questions]),
    )


def nearness(runtime: Runtime, question: str, language: str, texts: Sequence[str]) -> Floats | None:
    """Say how near texts are in meaning to what answers a question.

    Args:
        runtime: Whose embedder is asked.
        question: As somebody asks.
        language: Its code: `de`.
        texts: What may answer.

    Returns:
        Cosines, shape (n,), less the one that answers reach nearly always, where that was learned;
        None where there is no embedder, or no text.

    Raises:
        WeightsMissingError: If the embedder's weights are not there.
    """
    embedder = runtime.memory.embedder
    if embedder is None or not texts:
        return None
    asked, floor = embedder.embed_query(tokens.cut(one_line(question), MAX_TOKENS)), 0.0
    if embedder.identity.sha256 and understands(embedder, language):
        known = LESSON.known(embedder, runtime, learns=False)
        if known is not None:
            asked, floor = known.moved(asked), known.floor
    rows = embedder.embed_documents([tokens.cut(one_line(text), MAX_TOKENS) for text in texts])
    return np.asarray(rows @ asked - floor, np.float32)


def prepare(runtime: Runtime) -> None:
    """Learn now, while nobody waits, what has not been learned yet.

    Raises:
        WeightsMissingError: If the embedder's weights are not there.
    """
    embedder = runtime.memory.embedder
    if embedder is not None and embedder.identity.sha256:
        LESSON.known(embedder, runtime, learns=True)


LESSON = Lesson(
    "answers",
    "what answers a question",
    lambda: "matrix and floor",
    lambda embedder: learn(embedder, load()),
    answering.read,
)
