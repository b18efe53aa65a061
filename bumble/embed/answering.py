"""Where the answers to a question lie, by vectors: learned from questions and what answers them.

Somebody asks in other words than they told it in. A question's vector is moved by a matrix so that
it comes near to what answers such questions, and texts keep the vectors they have.

Source:
    Bai et al., "Supervised semantic indexing" (2009): a bilinear form beside the identity.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from bumble.embed.protocol import Floats

RIDGE = 0.01  # how little the matrix may move a question; chosen with writers left out
SHARPNESS = 20.0  # by which likeness becomes a share of probability
STEPS, RATE = 60, 2e-4  # of the descent; more change nothing
_MOMENTUM, _DECAY, _TINY = 0.9, 0.99, 1e-6
LOW = 0.05  # share of the answers that are farther from their question than the floor
_MATRIX, _FLOOR = "answering", "floor"  # what a file holds


class Asked(Struct, frozen=True):
    """Texts, and questions of which each is answered by one of them."""

    texts: Floats  # shape (n, d), rows of length 1
    questions: Floats  # shape (m, d), rows of length 1
    answers: NDArray[np.int_]  # shape (m,): the row of the text


class Answering(Struct, frozen=True):
    """How questions are moved."""

    matrix: NDArray[np.float16]  # shape (d, d), beside the identity
    floor: float  # cosine that a moved question has with what answers it, at least nearly always

    def moved(self, question: Floats) -> Floats:
        """Move the vector of a question, shape (d,), toward what answers it; its length is 1."""
        moved = question + question @ self.matrix.astype(np.float32)
        return np.asarray(moved / np.linalg.norm(moved), np.float32)

    def write(self, file: BinaryIO) -> None:
        """Write it, so that `read` gives the same."""
        arrays: dict[str, NDArray[Any]] = {_MATRIX: self.matrix, _FLOOR: np.array(self.floor)}
        np.savez_compressed(file, allow_pickle=False, **arrays)


def read(file: BinaryIO) -> Answering:
    """Read what `write` wrote.

    Raises:
        ValueError: If the file holds something else.
    """
    try:
        with np.load(file, allow_pickle=False) as arrays:
            return Answering(arrays[_MATRIX], float(arrays[_FLOOR]))
    except (KeyError, EOFError, zipfile.BadZipFile) as problem:
        raise ValueError(f"nothing about answers: {problem}") from problem


def fit(asked: Sequence[Asked]) -> Answering:
    """Learn to tell what answers a question from the other texts beside it.

    Args:
        asked: Texts among which the answer is to be found, with their questions.
    """
    dimensions = asked[0].texts.shape[1]
    matrix = np.zeros((dimensions, dimensions))
    mean, square = np.zeros_like(matrix), np.zeros_like(matrix)
    count = sum(len(each.questions) for each in asked)
    for step in range(1, STEPS + 1):  # Adam, over everything at once
        slope = sum((_slope(each, matrix) for each in asked), np.zeros_like(matrix)) / count
        slope += RIDGE * matrix
        mean = _MOMENTUM * mean + (1 - _MOMENTUM) * slope
        square = _DECAY * square + (1 - _DECAY) * slope**2
        size = np.sqrt(square / (1 - _DECAY**step)) + _TINY
        matrix -= RATE * mean / (1 - _MOMENTUM**step) / size
    learned = Answering(matrix.astype(np.float16), floor=-1.0)
    near = [
        learned.moved(question) @ each.texts[row]
        for each in asked
        for question, row in zip(each.questions, each.answers, strict=True)
    ]
    return replace(learned, floor=float(np.quantile(near, LOW)))


def _slope(asked: Asked, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return where the surprise at the right answers grows."""
    moved = asked.questions + asked.questions @ matrix
    points = SHARPNESS * moved @ asked.texts.T
    shares = np.exp(points - points.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    shares[np.arange(len(asked.answers)), asked.answers] -= 1
    slope = SHARPNESS * asked.questions.T @ shares @ asked.texts
    return np.asarray(slope, np.float64)
