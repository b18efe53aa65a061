"""Which two memories meet in a dream: far in time and meaning; how they are drawn.

They lie far apart in time and say different things; what mattered more is dreamt of more. Pure:
takes memories, vectors and chance, and knows no files.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bumble.models.embed.protocol import Floats
from bumble.records.provenance import Audience, fits
from bumble.text.words import one_line

CANDIDATES = 200  # the most significant memories, compared each with each
SHARED = 0.1  # what a pair counts whose memory is in this dream already
LEAST_SHARED = 2  # so many texts may have a word in any case
_WORD = re.compile(r"\w+")
Key = frozenset[str]  # the ids of a pair
Places = NDArray[np.intp]
Mask = NDArray[np.bool_]


class PairCandidate(Struct, frozen=True):
    """What pairing needs to know of an episode."""

    id: str
    at: datetime
    significance: float  # as it is now
    audience: Audience


class PairRules(Struct, frozen=True):
    """What makes two memories a pair."""

    min_significance: float  # both are above it
    min_gap_hours: float
    max_similarity: float  # on the scale of the similarities that are given
    band: tuple[float, ...] = ()  # instead of it: two percentiles of the memories' own pairs


class Pair(Struct, frozen=True):
    """Two memories that may meet."""

    ids: tuple[str, str]  # the older first
    weight: float  # the product of their significances
    similarity: float | None  # None: nobody can tell
    audience: Audience

    @property
    def key(self) -> Key:
        """The two ids, whatever their order."""
        return frozenset(self.ids)


def candidates(memories: Iterable[PairCandidate], rules: PairRules) -> list[PairCandidate]:
    """Return the memories that matter enough, the most significant of them, oldest first."""
    able = [memory for memory in memories if memory.significance > rules.min_significance]
    best = sorted(able, key=lambda memory: (-memory.significance, memory.id))[:CANDIDATES]
    return sorted(best, key=lambda memory: (memory.at, memory.id))


def distinct(texts: Sequence[str], names: Iterable[str]) -> list[str]:
    """Return each text without the names, and without the words that most of the texts share.

    Tellings are alike in their form: "Sam told me that …" makes any two of them similar, whatever
    was told. A text of which nothing would be left stays as it is.

    Args:
        texts: What memories say.
        names: Of the entity and of those it knows.
    """
    words = [_WORD.findall(text) for text in texts]
    counts = Counter(
        word for text_words in words for word in {token.casefold() for token in text_words}
    )
    most = max(LEAST_SHARED, len(texts) / 2)
    dropped = {word for word, count in counts.items() if count > most}
    dropped |= {word.casefold() for name in names for word in _WORD.findall(name)}

    def left(match: re.Match[str]) -> str:
        return "" if match[0].casefold() in dropped else match[0]

    stripped_texts = (one_line(_WORD.sub(left, text)) for text in texts)
    return [
        own if _WORD.search(own) else text for own, text in zip(stripped_texts, texts, strict=True)
    ]


def eligible(
    memories: Iterable[PairCandidate],
    rules: PairRules,
    vectors: Mapping[str, Floats] | None,
    scaled: Callable[[Floats], Floats] = lambda cosine: cosine,
) -> tuple[Pair, ...]:
    """Return all pairs that keep the rules, in an order that depends on the memories alone.

    Args:
        memories: In any order; of a great many the candidates.
        rules: What makes a pair.
        vectors: By id, of length 1; a memory that has none is left out. None: time alone decides.
        scaled: Takes cosines to the scale of `max_similarity`.
    """
    best = candidates(memories, rules)
    if vectors is not None:
        best = [memory for memory in best if memory.id in vectors]
    if len(best) < 2:
        return ()
    first, second = _far_apart(best, rules.min_gap_hours)
    if vectors is None:
        return tuple(_pair(best[a], best[b], None) for a, b in zip(first, second, strict=True))
    matrix = np.stack([vectors[memory.id] for memory in best])
    likeness = scaled((matrix @ matrix.T)[first, second])
    mask = _mask_allowed(likeness, rules)
    return tuple(
        _pair(best[a], best[b], float(alike))
        for a, b, alike in zip(first[mask], second[mask], likeness[mask], strict=True)
    )


def _far_apart(best: Sequence[PairCandidate], hours: float) -> tuple[Places, Places]:
    """Return the places of all pairs, older and newer, that time and audience let meet."""
    at = np.array([memory.at.timestamp() for memory in best])
    older, newer = np.triu_indices(len(best), 1)
    far = at[newer] - at[older] >= hours * 3600
    circles = [tuple(sorted(memory.audience)) for memory in best]
    circle_numbers = {circle: n for n, circle in enumerate(sorted({(), *circles}))}  # 0: everyone
    circle = np.array([circle_numbers[circle] for circle in circles])
    older_circle, other = circle[older], circle[newer]
    together = far & ((older_circle == other) | (older_circle == 0) | (other == 0))
    return older[together], newer[together]


def _mask_allowed(likeness: Floats, rules: PairRules) -> Mask:
    if not rules.band or not likeness.size:
        return np.asarray(likeness <= rules.max_similarity)
    low, high = np.quantile(likeness, rules.band)
    return np.asarray((likeness >= low) & (likeness <= high))


def _pair(older: PairCandidate, newer: PairCandidate, similarity: float | None) -> Pair:
    weight = older.significance * newer.significance
    return Pair((older.id, newer.id), weight, similarity, older.audience or newer.audience)


def choose(
    pairs: Sequence[Pair], dreamt: Collection[Key], count: int, rng: random.Random
) -> tuple[Pair, ...]:
    """Choose the pairs of one dream, all of one circle, by chance weighted by significance.

    A pair that was dreamt before comes only when none is left that was not.

    Args:
        pairs: Those that may meet.
        dreamt: The pairs of earlier dreams.
        count: At most this many.
        rng: Where chance comes from.
    """
    fresh = [pair for pair in pairs if pair.key not in dreamt]
    circle = _circle(fresh or pairs, rng)
    chosen: list[Pair] = []
    for pool in (fresh, [pair for pair in pairs if pair.key in dreamt]):
        left = [pair for pair in pool if fits(pair.audience, circle)]
        while left and len(chosen) < count:
            inside = {id_ for pair in chosen for id_ in pair.ids}
            weights = [pair.weight * (SHARED if inside & pair.key else 1) for pair in left]
            chosen.append(left.pop(_draw_index(weights, rng)))
    return tuple(chosen)


def _circle(pairs: Sequence[Pair], rng: random.Random) -> Audience:
    """Choose for whom the dream is, by how much there is to dream of."""
    weights: dict[Audience, float] = {}
    for pair in pairs:
        circle = tuple(sorted(pair.audience))
        weights[circle] = weights.get(circle, 0.0) + pair.weight
    circles = sorted(weights)
    return circles[_draw_index([weights[circle] for circle in circles], rng)] if circles else ()


def _draw_index(weights: Sequence[float], rng: random.Random) -> int:
    return rng.choices(range(len(weights)), weights)[0]
