"""An embedder without weights: words and letter triples, hashed; for tests and no model.

For tests. Texts that share words lie close, texts that share none do not; it knows nothing of
meaning. The same text gives the same vector everywhere.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from bumble.models.embed.protocol import DocumentTokens, EmbedderIdentity, Floats, QueryTokens

_WORD = re.compile(r"\w+")
_TRIPLE_WEIGHT = 0.3  # inflected forms meet in their triples, but whole words decide
_PLACES = 8  # of a feature: two words then never meet by chance in all they have


class HashingEmbedder:
    """An embedder by feature hashing, for tests.

    Source:
        Weinberger et al., "Feature hashing for large scale multitask learning" (2009).
    """

    multilingual = True  # as little as any
    unrelated_cosine = 0.0  # signed hashing leaves unrelated texts at right angles on average

    def __init__(self, dimensions: int = 256) -> None:
        self.identity = EmbedderIdentity(
            model="hashing",
            sha256="",
            tokenizer_sha256="",
            dimensions=dimensions,
            document_prefix="",
            query_prefix="",
            pooling="mean",
            tokens_beside="",
            layer_norm=False,
            max_tokens=0,
        )

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Embed texts to be found. Returns shape (n, d), rows of length 1."""
        if not texts:
            return np.zeros((0, self.identity.dimensions), np.float32)
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Floats:
        """Embed a text to search with. Returns shape (d,), of length 1."""
        vector = np.zeros(self.identity.dimensions, np.float32)
        for feature, weight in _features(text):
            for number in _numbers(feature):
                vector[(number >> 1) % len(vector)] += weight if number & 1 else -weight
        if not vector.any():  # no words at all: any fixed direction will do
            vector[0] = 1
        unit: Floats = vector / np.linalg.norm(vector)
        return unit

    def embed_documents_by_token(self, texts: Sequence[str]) -> tuple[Floats, list[DocumentTokens]]:
        """Embed texts to be found: vectors as `embed_documents` gives them, and words."""
        found = [self._by_word(text) for text in texts]
        return self.embed_documents(texts), [
            DocumentTokens(words.pieces, np.packbits(words.vectors > 0, axis=1)) for words in found
        ]

    def embed_query(self, text: str) -> tuple[Floats, QueryTokens]:
        """Embed a text to search with: its vector as `_vector` gives it, and words."""
        return self._vector(text), self._by_word(text)

    def _by_word(self, text: str) -> QueryTokens:
        """Give each word a direction of its own; the same word lies the same way everywhere."""
        words = list(_WORD.finditer(text))
        vectors = np.empty((len(words), self.identity.dimensions), np.float32)
        pieces = np.empty(len(words), np.uint32)
        for row, word in enumerate(words):
            pieces[row], vectors[row] = _direction(word[0].lower(), self.identity.dimensions)
        signs: Floats = (2 * vectors - 1) / np.sqrt(np.float32(self.identity.dimensions))
        return QueryTokens(pieces, signs, tuple(word.span() for word in words))


@lru_cache(maxsize=65536)
def _numbers(feature: str) -> Sequence[int]:
    data = feature.encode("utf-8", "replace")
    digest = hashlib.blake2b(data, digest_size=4 * _PLACES).digest()
    return tuple(np.frombuffer(digest, ">u4").tolist())


@lru_cache(maxsize=65536)
def _direction(word: str, dimensions: int) -> tuple[int, np.ndarray]:
    digest = hashlib.shake_128(word.encode("utf-8", "replace")).digest(4 + dimensions // 8)
    bits = np.unpackbits(np.frombuffer(digest[4:], np.uint8))
    return int.from_bytes(digest[:4], "big"), bits


def _features(text: str) -> Iterator[tuple[str, float]]:
    for word, count in sorted(Counter(_WORD.findall(text.lower())).items()):
        weight = 1 + np.log(count)
        yield word, float(weight)
        padded = f"^{word}$"
        for start in range(len(padded) - 2):
            yield f"3:{padded[start : start + 3]}", float(_TRIPLE_WEIGHT * weight)
