"""Late interaction: each token of a query is matched with those of a text, and the best counts.

Query tokens are floats, those of texts one bit a dimension. Tokens that stand in few texts count
more, stop words little. Pure functions over arrays; knows nothing of databases or of conversations.

Source:
    Khattab & Zaharia, "ColBERT: efficient and effective passage search via contextualized late
    interaction over BERT" (2020); Robertson & Zaragoza, "The probabilistic relevance framework"
    (2009) for the weights.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

import numpy as np

from bumble.index import terms
from bumble.models.embed.protocol import Bits, Floats, QueryTokens
from bumble.text import stop_words

STOP_WEIGHT = 0.2  # of a stop word's rarity
MOST_TOKENS = 32  # of a query: a long message is looked for by its rarest
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
    frequency = np.array([counts.get(int(piece), 0) for piece in tokens.pieces], np.float64)
    rarity = np.log1p((np.maximum(texts - frequency, 0) + 0.5) / (frequency + 0.5))
    rarity[_stop_tokens(query, tokens)] *= STOP_WEIGHT
    rarity[np.argsort(-rarity, kind="stable")[MOST_TOKENS:]] = 0
    shares: Floats = (rarity / np.log1p((texts + 0.5) / 0.5)).astype(np.float32)
    return shares


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


def matches(query: Floats, signs: Sequence[Bits]) -> Floats:
    """Return how well each token of a query is matched in each text.

    Args:
        query: Shape (t, d), rows of length 1.
        signs: For each text the tokens' signs, shape (n, d / 8); n may be 0.

    Returns:
        Shape (t, texts): the best cosine of a query token with the signs of a text's tokens; 0 in
        a text without tokens.
    """
    best = np.zeros((len(query), len(signs)), np.float32)
    lengths = np.array([len(each) for each in signs], np.int64)
    filled = np.flatnonzero(lengths)
    ends = np.cumsum(lengths[filled])
    for part in np.split(filled, np.flatnonzero(np.diff(ends // TOKENS_AT_ONCE)) + 1):
        if len(part):
            starts = np.concatenate([[0], np.cumsum(lengths[part])[:-1]])
            cosines = _cosines(query, np.concatenate([signs[row] for row in part]))
            best[:, part] = np.maximum.reduceat(cosines, starts, axis=0).T
    return best


def _cosines(query: Floats, signs: Bits) -> Floats:
    """Return the cosines of tokens given by their signs with query tokens, shape (n, t)."""
    width = query.shape[1]
    bits = np.zeros((-(-len(signs) // ROWS_A_PRODUCT) * ROWS_A_PRODUCT, width), np.float32)
    bits[: len(signs)] = np.unpackbits(signs, axis=1, count=width)
    scaled = query.T / np.sqrt(np.float32(width))
    products = np.matmul(bits.reshape(-1, ROWS_A_PRODUCT, width), np.ascontiguousarray(2 * scaled))
    # The sum of q over the bits that are 1, less that over the others, is 2 q·bits - sum(q).
    cosines: Floats = products.reshape(len(bits), -1)[: len(signs)] - scaled.sum(axis=0)
    return cosines
