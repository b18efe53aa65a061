"""Excerpts: the lines of a conversation that say most, chosen without a model.

Greedy coverage: each line is worth the telling words in it that no chosen line has yet, names and
numbers most, per token that it takes. What small talk repeats is covered early and then worth
nothing; what was said once stays.

Source:
    Lin and Bilmes, "A class of submodular functions for document summarization" (2011).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bumble import stopwords
from bumble.cycles import evidence
from bumble.llm import tokens
from bumble.stores.sessions import Message

CLAIM_WEIGHT = 3.0  # of a name or a number beside another telling word
OWN_WEIGHT = 0.4  # of what the entity itself said: mostly an answer to what is kept already
LINE_TOKENS = 6  # what a line costs beside its words


@dataclass(frozen=True)
class Line:
    """One sentence, and who said it."""

    message: str  # id
    speaker: str
    text: str

    def __str__(self) -> str:
        return f"{self.speaker}: {self.text}"


def lines(messages: Sequence[Message], names: Mapping[str, str], own_name: str) -> list[Line]:
    """Split what was said into lines; tool results are left out.

    Args:
        messages: Of a transcript.
        names: What people are called, by id.
        own_name: What the entity is called.
    """
    found = []
    for message in messages:
        if message.role == "tool":
            continue
        speaker = own_name if message.role == "assistant" else name_of(message, names)
        found += [Line(message.id, speaker, text) for text in evidence.sentences(message.text)]
    return found


def name_of(message: Message, names: Mapping[str, str]) -> str:
    """Return what the speaker of a message is called."""
    return str(message.extra.get("name") or names.get(message.speaker) or message.speaker)


def choose(
    given: Sequence[Line], budget_tokens: int, own_name: str, covered: str = ""
) -> list[Line]:
    """Choose the lines that say most, in the order in which they were said.

    Args:
        given: All lines.
        budget_tokens: What they may take together.
        own_name: The entity's, whose lines count less.
        covered: What is said elsewhere already.
    """
    words = [frozenset(stopwords.telling_words(line.text)) for line in given]
    weights = _weights(given, words)
    known = set(stopwords.telling_words(covered))
    chosen: list[int] = []
    left = list(range(len(given)))
    while left:
        values = [(_worth(given[n], words[n] - known, weights, own_name), n) for n in left]
        fitting = [
            pair for pair in values if pair[0] > 0 and _cost(given[pair[1]]) <= budget_tokens
        ]
        if not fitting:
            break
        _, best = max(fitting, key=lambda pair: (pair[0], -pair[1]))
        chosen.append(best)
        left.remove(best)
        known |= words[best]
        budget_tokens -= _cost(given[best])
    return [given[n] for n in sorted(chosen)]


def _weights(given: Sequence[Line], words: Sequence[frozenset[str]]) -> dict[str, float]:
    """Weigh each word by its rarity among the lines; names and numbers more."""
    counts = Counter(word for each in words for word in each)
    claims = {
        part
        for line in given
        for claim in evidence.claims(line.text)
        for part in stopwords.words(claim)
    }
    return {
        word: math.log1p(len(given) / count) * (CLAIM_WEIGHT if word in claims else 1.0)
        for word, count in counts.items()
    }


def _worth(line: Line, new: frozenset[str], weights: Mapping[str, float], own_name: str) -> float:
    share = OWN_WEIGHT if line.speaker == own_name else 1.0
    return share * sum(weights[word] for word in new) / _cost(line)


def _cost(line: Line) -> int:
    return tokens.estimate(str(line)) + LINE_TOKENS
