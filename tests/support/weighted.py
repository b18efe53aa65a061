"""An embedder that passes for one with weights, and counts what it embeds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from msgspec.structs import replace

from bumble.models.embed.protocol import Floats
from tests.support.hashing import HashingEmbedder


class Weighted(HashingEmbedder):
    """A hashing embedder that passes for one with weights."""

    def __init__(self) -> None:
        super().__init__()
        self.identity = replace(self.identity, sha256="0" * 64)
        self.texts = 0

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        self.texts += len(texts)
        return super().embed_documents(texts)


@cache
def embedder() -> Weighted:
    """One for all tests: a process learns once."""
    return Weighted()
