"""The interface of every embedder (text in, vectors out), and what identifies one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class EmbedderIdentity:
    """All that decides which vector a text gets; vectors compare only under equal ones."""

    model: str  # name in the catalog
    sha256: str  # of the weights file
    tokenizer_sha256: str
    dimensions: int
    document_prefix: str
    query_prefix: str
    pooling: str  # "mean"
    layer_norm: bool
    max_tokens: int  # longer texts are cut here


class Embedder(Protocol):
    """An embedding model. A vector never depends on the texts embedded beside it."""

    @property
    def identity(self) -> EmbedderIdentity:
        """What its vectors may be compared with."""

    @property
    def unrelated_cosine(self) -> float:
        """Mean cosine of unrelated texts (mu in calibration), measured when it was pulled."""

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Embed texts to be found. Returns shape (n, d), rows of length 1."""

    def embed_query(self, text: str) -> Floats:
        """Embed a text to search with. Returns shape (d,), of length 1."""
