"""Excerpts: the lines of a conversation that say most, chosen by weights, without a model.

Greedy coverage: each line is worth the telling words in it that no chosen line has yet, names and
numbers most, for what it takes. What small talk repeats is covered early and then worth nothing;
what was said once stays.

Sources:
    Lin and Bilmes, "Multi-document summarization via budgeted maximization of submodular
    functions" (2010): the cost to a power, because per token short lines win that say little.
    Lin and Bilmes, "A class of submodular functions for document summarization" (2011).
"""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from bumble import patterns
from bumble.guard import claims, values
from bumble.records.sessions import Message
from bumble.text import stop_words, tokens
from bumble.text.words import sentences

CLAIM_WEIGHT = 2.0  # of a name or a number beside another telling word
OWN_WEIGHT = 0.4  # of what the entity itself said: mostly an answer to what is kept already
COST_POWER = 0.3  # of what a line takes, in what it is held against
_END = patterns.compile(r"(?<=[.!?])\s+")
LINE_CHARS = 240  # a longer sentence is several lines
LINE_TOKENS = 2  # what a line costs beside its words


class SpokenLine(Struct, frozen=True):
    """One sentence of a conversation, with its speaker and its weight."""

    message: str  # id
    speaker: str
    text: str
    weight: float = 1.0  # of what it says

    def __str__(self) -> str:
        return f"{self.speaker}: {self.text}"


def lines(messages: Sequence[Message], names: Mapping[str, str], own_name: str) -> list[SpokenLine]:
    """Split what was said into lines; tool results are left out.

    Args:
        messages: Of a transcript.
        names: What people are called, by id.
        own_name: What the entity is called.
    """
    return [
        SpokenLine(
            message.id,
            message.called(own_name, names),
            text,
            OWN_WEIGHT if message.role == "assistant" else 1.0,
        )
        for message in messages
        if message.role != "tool"
        for text in parts(message.text)
    ]


def parts(text: str) -> list[str]:
    """Split a text into sentences, also of who writes without capitals or full stops."""
    pieces = sentences(text)
    if not any(map(str.isupper, text)):
        pieces = [part for piece in pieces for part in _END.split(piece)]
    return [part for piece in pieces for part in textwrap.wrap(piece, LINE_CHARS)]


def choose(
    candidates: Sequence[SpokenLine], budget_tokens: int, covered: str = ""
) -> list[SpokenLine]:
    """Choose the lines that say most, in the order in which they were said.

    Args:
        candidates: All lines.
        budget_tokens: What they may take together.
        covered: What is said elsewhere already.
    """
    words = [frozenset(stop_words.telling_words(line.text)) for line in candidates]
    weights = _weights(candidates, words)
    covered_words = set(stop_words.telling_words(covered))
    chosen: list[int] = []
    left = list(range(len(candidates)))
    while left:
        worth = {
            n: _worth(candidates[n], words[n] - covered_words, weights)
            for n in left
            if cost(candidates[n]) <= budget_tokens
        }
        best = max(worth, key=lambda n: (worth[n], -n), default=None)
        if best is None or worth[best] <= 0:
            break
        chosen.append(best)
        left.remove(best)
        covered_words |= words[best]
        budget_tokens -= cost(candidates[best])
    return [candidates[n] for n in sorted(chosen)]


def _weights(candidates: Sequence[SpokenLine], words: Sequence[frozenset[str]]) -> dict[str, float]:
    """Weigh each word by its rarity among the lines; names and numbers more."""
    counts = Counter(word for line_words in words for word in line_words)
    claimed = {
        part
        for line in candidates
        for claim in (
            *claims.claims(line.text),
            *filter(values.is_value, stop_words.words(line.text)),
        )
        for part in stop_words.words(claim)
    }
    return {
        word: math.log1p(len(candidates) / count) * (CLAIM_WEIGHT if word in claimed else 1.0)
        for word, count in counts.items()
    }


def _worth(line: SpokenLine, new: frozenset[str], weights: Mapping[str, float]) -> float:
    return line.weight * sum(weights[word] for word in new) / math.pow(cost(line), COST_POWER)


def cost(line: SpokenLine) -> int:
    """Estimate what a line takes of a budget."""
    return tokens.estimate(str(line)) + LINE_TOKENS
