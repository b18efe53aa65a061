"""Scoring by words: BM25 over a text and the turns around it, and scores on one scale.

Pure functions over numbers and terms; the same whatever order files were indexed in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
K1 = 1.2
B = 0.4
B_LATE = 0.9  # beside late interaction
AROUND_WEIGHT = 0.4  # a term of the turns before counts as this much of one of the turn itself


class Lengths(Struct, frozen=True):
    """What BM25 has to know of all chunks."""

    chunks: int  # how many there are
    mean: Mapping[str, float]  # length of a chunk in terms, by kind

    def relative(self, kind: str, own_terms: int, around_terms: int) -> float:
        """Say how long a chunk is beside others of its kind."""
        return length(own_terms, around_terms) / (self.mean.get(kind) or 1.0)


def length(own_terms: int, around_terms: int) -> int:
    """Return the length of a chunk in terms, those around it counted in full.

    Counted in part they would make a short "Go on!" after a long answer the better match.
    """
    return own_terms + around_terms


def frequencies(query: Sequence[str], texts: Sequence[str]) -> Numbers:
    """Count the terms of a query in texts, each given by its terms with spaces between.

    Returns:
        Shape (terms, texts).
    """
    apart = [f" {text.replace(' ', '  ')} " for text in texts]  # a space can't end two terms
    wanted = [f" {term} " for term in query]
    counted = [[text.count(term) for text in apart] for term in wanted]
    return np.array(counted, np.float64).reshape(len(query), len(texts))


def bm25(
    query: Sequence[str],
    frequency: Numbers,
    relative: Numbers,
    counts: Mapping[str, int],
    chunks: int,
    *,
    b: float = B,
) -> Numbers:
    """Score chunks against the terms of a query.

    Args:
        query: Distinct terms.
        frequency: Of these in the chunks, shape (terms, chunks); those around counted in part.
        relative: Shape (chunks,): how long each is beside others of its kind; a belief is short
            beside beliefs, not beside transcripts.
        counts: In how many chunks each term stands.
        chunks: How many there are.
        b: How much the length of a chunk counts, in [0, 1].

    Returns:
        Scores >= 0, shape (chunks,).

    Source:
        Robertson, Zaragoza & Taylor, "Simple BM25 extension to multiple weighted fields" (2004).
    """
    score = np.zeros(len(relative))
    for term, times in zip(query, frequency, strict=True):
        count = counts.get(term, 0)
        rarity = log(1 + (max(0.0, chunks - count) + 0.5) / (count + 0.5))
        score += rarity * times * (K1 + 1) / (times + K1 * (1 - b + b * relative))
    return score


def scaled(scores: Sequence[float | None]) -> list[float]:
    """Scale scores so that the least is 0 and the greatest 1; a missing one counts as the least."""
    present = [score for score in scores if score is not None]
    if not present or max(present) <= min(present):
        return [0.0 if score is None or score <= 0 else 1.0 for score in scores]
    low, span = min(present), max(present) - min(present)
    return [0.0 if score is None else (score - low) / span for score in scores]
