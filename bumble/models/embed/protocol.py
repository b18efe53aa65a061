"""The interface of every embedder (text in, vectors out), and what identifies one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    import numpy as np  # most commands compare no vectors, and don't wait for it
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float32]"
# eight dimensions a byte, as numpy packs them; a bit says "above 0"
Bits: TypeAlias = "NDArray[np.uint8]"


class EmbedderIdentity(Struct, frozen=True):
    """All that decides which vector a text gets; vectors compare only under equal ones."""

    model: str  # name in the catalog
    sha256: str  # of the weights file
    tokenizer_sha256: str
    dimensions: int
    document_prefix: str
    query_prefix: str
    pooling: str  # "mean"
    tokens_beside: str  # the middle layer by which tokens are matched, beside the last; "": none
    layer_norm: bool
    max_tokens: int  # longer texts are cut here


class DocumentTokens(Struct, frozen=True):
    """The tokens of a text to be found: what the model took each for, one bit a dimension."""

    pieces: NDArray[np.uint32]  # shape (t,): which piece of the model's vocabulary each is
    signs: Bits  # shape (t, d / 8)


class QueryTokens(Struct, frozen=True):
    """The tokens of a text to search with."""

    pieces: NDArray[np.uint32]  # shape (t,)
    vectors: Floats  # shape (t, d), rows of length 1
    spans: tuple[tuple[int, int], ...]  # where each stands in the text


class Embedder(Protocol):
    """An embedding model. A vector never depends on the texts embedded beside it.

    Prefixes, marks that the model adds, and punctuation are not among the tokens it gives.
    """

    @property
    def identity(self) -> EmbedderIdentity:
        """What its vectors may be compared with."""

    @property
    def unrelated_cosine(self) -> float:
        """Mean cosine of unrelated texts (mu in calibration), measured when it was pulled."""

    @property
    def multilingual(self) -> bool:
        """Whether it understands other languages as well as English."""

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Embed texts to be found. Returns shape (n, d), rows of length 1."""

    def embed_documents_by_token(self, texts: Sequence[str]) -> tuple[Floats, list[DocumentTokens]]:
        """Embed texts to be found, in one pass: as `embed_documents`, and by token."""

    def embed_query(self, text: str) -> tuple[Floats, QueryTokens]:
        """Embed a text to search with, in one pass: shape (d,), of length 1, and by token."""


def similarity(cosine: Floats, unrelated_cosine: float) -> Floats:
    """Put cosines on the calibrated scale.

    Args:
        cosine: Any shape, each in [-1, 1].
        unrelated_cosine: The model's mean cosine of unrelated texts, in [-1, 1).

    Returns:
        The same shape; 1 for equal directions, 0 for what unrelated texts get, below 0 for less.
    """
    return (cosine - unrelated_cosine) / (1 - unrelated_cosine)


def unrelated_sentences() -> list[str]:
    """Read the built-in sentences that have nothing to do with each other."""
    source = Path(__file__).with_name("data") / "unrelated.txt"
    return [line for line in source.read_text(encoding="utf-8").splitlines() if line]
