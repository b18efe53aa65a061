"""Calibrated similarity: cosines of different embedding models on one scale.

Embedding models put unrelated texts at different cosines, some near 0, some near .5, so a
threshold means nothing by itself. Here 0 is what unrelated texts get under the model at hand, and
1 is equality.
"""

from __future__ import annotations

from importlib import resources

import numpy as np
from numpy.typing import NDArray

from bumble.models.embed.protocol import Floats


def similarity(cosine: Floats, unrelated_cosine: float) -> Floats:
    """Put cosines on the calibrated scale.

    Args:
        cosine: Any shape, each in [-1, 1].
        unrelated_cosine: The model's mean cosine of unrelated texts, in [-1, 1).

    Returns:
        The same shape; 1 for equal directions, 0 for what unrelated texts get, below 0 for less.

    Raises:
        ValueError: If `unrelated_cosine` leaves no room above it.
    """
    _check(unrelated_cosine)
    scaled: Floats = (cosine - np.float32(unrelated_cosine)) / np.float32(1 - unrelated_cosine)
    return scaled


def cosine(threshold: float, unrelated_cosine: float) -> float:
    """Give the raw cosine at which the calibrated similarity reaches `threshold`."""
    _check(unrelated_cosine)
    return unrelated_cosine + threshold * (1 - unrelated_cosine)


def mean_cosine(vectors: Floats) -> float:
    """Average the cosine over all pairs of different rows.

    Args:
        vectors: Shape (n, d), n >= 2, no row zero; rows need not have length 1.
    """
    if len(vectors) < 2:
        raise ValueError("a mean over pairs needs two vectors at least")
    exact: NDArray[np.float64] = vectors.astype(np.float64)
    units = exact / np.linalg.norm(exact, axis=1, keepdims=True)
    count = len(units)
    # Every pair once is the squared length of the sum, less the diagonal.
    return float((np.square(units.sum(axis=0)).sum() - count) / (count * (count - 1)))


def unrelated_sentences() -> list[str]:
    """Read the built-in sentences that have nothing to do with each other."""
    source = resources.files("bumble.models.embed").joinpath("data", "unrelated.txt")
    return [line for line in source.read_text(encoding="utf-8").splitlines() if line]


def _check(unrelated_cosine: float) -> None:
    if not -1 <= unrelated_cosine < 1:
        raise ValueError(f"mean cosine of unrelated texts not in [-1, 1): {unrelated_cosine}")
