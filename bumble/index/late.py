"""Late interaction: each token of a query is matched with those of a text, and the best counts.

Query tokens are floats, those of texts one bit a dimension. Tokens that stand in few texts count
more, stop words little; small shares come from the turns before and around, how a text is put, and
who is named, chosen on the development half of LoCoMo and on thirty talks of other writers
(docs/log.md). Pure functions over arrays, a row a chunk and a column a unit: a turn with all its
chunks, or a chunk of another record by itself.

Source:
    Khattab & Zaharia, "ColBERT: efficient and effective passage search via contextualized late
    interaction over BERT" (2020); Robertson & Zaragoza, "The probabilistic relevance framework"
    (2009) for the weights.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bumble.index import terms
from bumble.models.embed.protocol import Bits, Floats, QueryTokens
from bumble.text import stop_words

STOP_WEIGHT = 0.2  # of a stop word's rarity
MOST_TOKENS = 128  # of a query: a longer message is looked for by its rarest
TOKENS_AT_ONCE = 2_048  # of texts: so many, unpacked, stay in the cache of a core
# BLAS gives a larger product to several threads, which then wait for each other: on two busy cores
# that took five times as long.
ROWS_A_PRODUCT = 64
_STOP_WORDS = stop_words.WORDS | terms.MORE_STOP_WORDS


def rarities(query: str, tokens: QueryTokens, counts: Mapping[int, int], texts: int) -> Floats:
    """Say how rare the tokens of a query are.

    Args:
        query: Its text.
        tokens: Its tokens.
        counts: In how many texts each piece of the vocabulary stands.
        texts: How many texts there are.

    Returns:
        Shape (t,), 1 for a token that stands in no text, and less for a stop word; all but the
        MOST_TOKENS rarest are 0.
    """
    rarity = rarity_of(tokens.pieces, counts, texts)
    rarity[_stop_tokens(query, tokens)] *= STOP_WEIGHT
    rarity[np.argsort(-rarity, kind="stable")[MOST_TOKENS:]] = 0
    shares: Floats = (rarity / np.log1p((texts + 0.5) / 0.5)).astype(np.float32)
    return shares


def rarity_of(
    pieces: NDArray[np.uint32], counts: Mapping[int, int], texts: int
) -> NDArray[np.float64]:
    """Say how rare pieces of the vocabulary are among so many texts. Same shape, each > 0."""
    frequency = np.array([counts.get(piece, 0) for piece in pieces.tolist()], np.float64)
    return np.log1p((np.maximum(texts - frequency, 0) + 0.5) / (frequency + 0.5))


def distinct(pieces: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], Numbers]:
    """Return each piece once, in order, and where each stands: numpy's own imports all masked."""
    ordered = np.sort(pieces)
    once = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return once, np.searchsorted(once, pieces)


def _stop_tokens(query: str, tokens: QueryTokens) -> list[int]:
    """Return which tokens belong to a word that says little."""
    stops = [
        word.span()
        for word in stop_words.WORD.finditer(query)
        if terms.fold(word[0]) in _STOP_WORDS or terms.fold(word[0]).split("'")[0] in _STOP_WORDS
    ]
    begins = [first for first, _ in stops]
    before = [bisect_right(begins, start) - 1 for start, _ in tokens.spans]  # words never overlap
    return [
        row
        for row, ((_, end), stop) in enumerate(zip(tokens.spans, before, strict=True))
        if stop >= 0 and end <= stops[stop][1]
    ]


def matches(
    query: Floats, signs: Bits, weights: NDArray[np.float64], lengths: Numbers
) -> tuple[Floats, Floats]:
    """Return how well a query is matched in each text, and each text in the query.

    Args:
        query: Shape (t, d), rows of length 1.
        signs: Of the tokens of all texts, text by text, shape (n, d / 8).
        weights: How much each of them counts, shape (n,), > 0.
        lengths: How many of them each text has, shape (texts,).

    Returns:
        Shape (t, texts), the best cosine of a query token with the signs of a text's tokens; and
        shape (texts,), the mean of the best cosines of its tokens. 0 in a text without tokens.
    """
    best = np.zeros((len(query), len(lengths)), np.float32)
    covered = np.zeros(len(lengths), np.float32)
    filled, ends = np.flatnonzero(lengths), np.cumsum(lengths)
    for part in np.split(filled, np.flatnonzero(np.diff(ends[filled] // TOKENS_AT_ONCE)) + 1):
        if len(part):
            first = ends[part] - lengths[part]
            each, starts = weights[first[0] : ends[part[-1]]], first - first[0]
            cosines = _cosines(query, signs[first[0] : ends[part[-1]]])
            best[:, part] = np.maximum.reduceat(cosines, starts, axis=1)
            sums = np.add.reduceat(each * cosines.max(axis=0, initial=-1), starts)
            covered[part] = sums / np.add.reduceat(each, starts)
    return best, covered


def _cosines(query: Floats, signs: Bits) -> Floats:
    """Return the cosines of query tokens with tokens given by their signs, shape (t, n)."""
    width = query.shape[1]
    bits = np.zeros((-(-len(signs) // ROWS_A_PRODUCT) * ROWS_A_PRODUCT, width), np.float32)
    bits[: len(signs)] = np.unpackbits(signs, axis=1, count=width)
    scaled = query.T / np.sqrt(np.float32(width))
    products = np.matmul(bits.reshape(-1, ROWS_A_PRODUCT, width), np.ascontiguousarray(2 * scaled))
    # The sum of q over the bits that are 1, less that over the others, is 2 q·bits - sum(q).
    token_by_token = products.reshape(len(bits), -1)[: len(signs)].T
    cosines: Floats = np.subtract(token_by_token, scaled.sum(axis=0)[:, np.newaxis], order="C")
    return cosines


BEFORE = 2  # turns that a turn is understood by
AROUND = 5  # turns to each side that are its surroundings
BEST_AROUND = 3  # of these count
# A long turn is understood by itself, and a long one before it has something of anything; counted
# in terms, those that say when and who included.
OWN_TERMS, TERMS_BEFORE = 18, 33

Numbers = NDArray[np.int64]


class Shares(Struct, frozen=True):
    """How much each thing counts, beside a match by tokens, which counts 1."""

    # Of how well a text is matched in the query, a token of it beside one of the text: a long
    # message says much that a memory need not have, a short question little.
    covered: float = 0.5
    before: tuple[float, ...] = (0.5, 0.3)  # of what the turns before match better, nearest first
    words: float = 0.04  # BM25, divided by the best of the query
    around: float = 0.6  # the mean of the best around
    asks: float = -0.1  # a turn that is nothing but questions; else its share of them
    own: float = 0.04  # says I, my or we; whatever is no turn is a statement anyway
    named: float = 0.045  # who speaks, or whom it is about, is named in the query
    period: float = 0.1  # from the time that the query names


class Units(Struct, frozen=True):
    """Chunks in order of file, turn and passage, and the units that they make."""

    of: Numbers  # shape (chunks,): the unit of each, counted from 0, never less than the one before
    starts: Numbers  # shape (units,): the first chunk of each
    file: Numbers  # shape (units,)
    turn: Numbers  # shape (units,): -1 for what is no turn

    def shifted(self, step: int) -> Numbers:
        """Return for each unit the one that many turns after it; -1 if that is not here."""
        count = len(self.turn)
        places = np.arange(count) + step
        inside = (places >= 0) & (places < count)
        places = np.where(inside, places, 0)
        near = inside & (self.turn >= 0) & (self.file[places] == self.file)
        return np.where(near & (self.turn[places] == self.turn + step), places, -1)


def units(files: Numbers, turns: Numbers) -> Units:
    """Put chunks together that are of one turn; `turns` is -1 for what is no turn."""
    new = np.ones(len(files), bool)
    new[1:] = (files[1:] != files[:-1]) | (turns[1:] != turns[:-1]) | (turns[1:] < 0)
    starts = np.flatnonzero(new)
    return Units(np.cumsum(new) - 1, starts, files[starts], turns[starts])


def with_before(matched: Floats, lengths: Numbers, each: Units, shares: Sequence[float]) -> Floats:
    """Add to each match of a query token what the turns before match better.

    Args:
        matched: Shape (tokens, chunks).
        lengths: Shape (chunks,): their own terms.
        each: The units.
        shares: Of the gain, for the nearest turn first.

    Returns:
        Shape (tokens, chunks).
    """
    best = np.maximum.reduceat(matched, each.starts, axis=1)
    terms_of = np.add.reduceat(lengths, each.starts)
    total = matched.copy()
    for step, share in enumerate(shares, 1):
        place = each.shifted(-step)[each.of]
        scale = share * reach(lengths, terms_of[place]) * (place >= 0)
        total += scale.astype(np.float32) * np.maximum(0, best[:, place] - matched)
    return total


def reach(own: Numbers, other: Numbers) -> NDArray[np.float64]:
    """Return how much the terms around a chunk may say about it, in [0, 1]: less for long ones."""
    return np.minimum(1, OWN_TERMS / np.maximum(own, 1)) * np.minimum(
        1, TERMS_BEFORE / np.maximum(other, 1)
    )


def surroundings(scores: Floats, each: Units) -> Floats:
    """Return how well the turns around each chunk match: the mean of the best.

    What has none around it, a belief or a single remark, gets the median of those that have.
    """
    best = np.maximum.reduceat(scores, each.starts)
    steps = [step for step in range(-AROUND, AROUND + 1) if step]
    places = np.stack([each.shifted(step) for step in steps])
    near = np.where(places >= 0, best[places], -np.inf)
    top = -np.sort(-near, axis=0)[:BEST_AROUND]
    present = np.isfinite(top)
    count = present.sum(axis=0)
    means = np.where(present, top, 0).sum(axis=0) / np.maximum(count, 1)
    usual = median(means[count > 0]) if count.any() else 0.0
    return np.where(count > 0, means, usual)[each.of].astype(np.float32)


def median(values: Floats | NDArray[np.float64]) -> float:
    """Return the middle of values, at least one: numpy's own imports all that is masked."""
    ordered = np.sort(values)
    return float((ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2)


def asked_about(query: str, name: str) -> bool:
    """Say whether a query names somebody, by any part of the name that is no common word."""
    asked = set(stop_words.WORD_PART.findall(terms.fold(query)))
    parts = set(stop_words.WORD_PART.findall(terms.fold(name))) - _STOP_WORDS
    return any(part in asked for part in parts if len(part) > 1)
