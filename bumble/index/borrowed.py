"""An embedder that takes the vectors of texts over from other indexes, by the hash of the text.

For an index of the same memories elsewhere: what was embedded once is not embedded again.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import numpy as np

from bumble.errors import IndexUnusableError
from bumble.index.chunks import text_hash
from bumble.index.rows import encoded
from bumble.index.sqlite import open_to_read
from bumble.models.embed.protocol import (
    DocumentTokens,
    Embedder,
    EmbedderIdentity,
    Floats,
    QueryTokens,
)


class BorrowingEmbedder:
    """Embeds what no other index has."""

    def __init__(self, embedder: Embedder, databases: Sequence[Path]) -> None:
        """Set up without reading anything.

        Args:
            embedder: Makes what is missing.
            databases: Files of other indexes, the likeliest first; one of another model is no help.
        """
        self._embedder, self._databases = embedder, databases

    @property
    def identity(self) -> EmbedderIdentity:
        """That of the embedder."""
        return self._embedder.identity

    @property
    def unrelated_cosine(self) -> float:
        """That of the embedder."""
        return self._embedder.unrelated_cosine

    @property
    def multilingual(self) -> bool:
        """Whether it understands other languages as well as English."""
        return self._embedder.multilingual

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Embed texts to be found. Returns shape (n, d), rows of length 1."""
        return self._embedder.embed_documents(texts)

    def embed_documents_by_token(self, texts: Sequence[str]) -> tuple[Floats, list[DocumentTokens]]:
        """Embed texts to be found, in one pass: as `embed_documents`, and by token."""
        vectors, tokens = self._borrowed(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in tokens]
        if missing:
            made, made_tokens = self._embedder.embed_documents_by_token(missing)
            vectors |= dict(zip(missing, made, strict=True))
            tokens |= dict(zip(missing, made_tokens, strict=True))
        return np.stack([vectors[text] for text in texts]), [tokens[text] for text in texts]

    def embed_query(self, text: str) -> Floats:
        """Embed a text to search with. Returns shape (d,), of length 1."""
        return self._embedder.embed_query(text)

    def embed_query_by_token(self, text: str) -> tuple[Floats, QueryTokens]:
        """Embed a text to search with, in one pass: as `embed_query`, and by token."""
        return self._embedder.embed_query_by_token(text)

    def _borrowed(
        self, texts: Sequence[str]
    ) -> tuple[dict[str, Floats], dict[str, DocumentTokens]]:
        """Return what other indexes have of some texts, where they have their tokens, too."""
        by_hash = {text_hash(text): text for text in texts}
        width = (self.identity.dimensions + 7) // 8
        vectors: dict[str, Floats] = {}
        tokens: dict[str, DocumentTokens] = {}
        for path in self._databases:
            missing = [key for key, text in by_hash.items() if text not in vectors]
            if not missing or not path.exists():
                continue
            with suppress(IndexUnusableError), closing(open_to_read(path)) as store:
                if store.meta("identity") != encoded(self.identity):
                    continue
                present, present_tokens = store.embeddings(missing), store.tokens(missing, width)
                for key in present.keys() & present_tokens.keys():
                    vectors[by_hash[key]] = present[key]
                    tokens[by_hash[key]] = present_tokens[key]
        return vectors, tokens
