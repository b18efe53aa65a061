"""How like a text is to the labelled examples of a class, by their vectors.

Kernel ridge regression with a Gaussian kernel: an example counts the more, the nearer it is. A
plane between the classes (logistic regression) orders clearly worse (docs/log.md). scikit-learn has
this too and would bring SciPy along, 130 MB for the two formulas below.

Source:
    Saunders et al., "Ridge regression learning algorithm in dual variables" (1998).
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bumble.embed.protocol import Floats

RIDGE = 0.2  # how little a single example counts, where others say something else
_STEPS = 15  # to either side; finer ones order no better and make the file larger
_MEAN, _PACKED, _SCALE, _CLASS = "mean", "packed", "scale", "class_"  # what a file holds
_EXAMPLES = "examples"  # instead of packed, in files of before


class Class(Struct, frozen=True):
    """Which of the examples are of a class, and which are to be told from it."""

    members: NDArray[np.bool_]  # shape (n,)
    others: NDArray[np.bool_]  # shape (n,); what is in neither says nothing of the class


class Likeness(Struct, frozen=True):
    """Examples, and what each says for a class."""

    mean: Floats  # shape (d,), of all examples
    examples: NDArray[np.int8]  # shape (n, d): rows of length 1 without the mean, in steps
    scale: float  # length of a step
    weights: Mapping[str, Floats]  # shape (n,), by class

    def of(self, vector: Floats) -> dict[str, float]:
        """Return how like a text is to each class: about 1 as its members, -1 as the others.

        Args:
            vector: Of the text; shape (d,), of length 1.
        """
        near = _nearness(_centred(vector[None], self.mean), self.examples * np.float32(self.scale))
        return {name: float((near @ weights)[0]) for name, weights in self.weights.items()}

    def write(self, file: BinaryIO) -> None:
        """Write it, so that `read` gives the same."""
        arrays: dict[str, NDArray[Any]] = {
            _MEAN: self.mean,
            _PACKED: np.frombuffer(_packed(self.examples), np.uint8),
            _SCALE: np.array(self.scale),
        }
        classes = {f"{_CLASS}{name}": weights for name, weights in self.weights.items()}
        np.savez_compressed(file, allow_pickle=False, **arrays, **classes)


def read(file: BinaryIO) -> Likeness:
    """Read what `write` wrote.

    Raises:
        ValueError: If the file holds something else.
    """
    try:
        with np.load(file, allow_pickle=False) as arrays:
            weights = {
                name.removeprefix(_CLASS): arrays[name]
                for name in arrays.files
                if name.startswith(_CLASS)
            }
            scale = float(arrays[_SCALE])
            mean = arrays[_MEAN]
            if _EXAMPLES in arrays:
                return Likeness(mean, arrays[_EXAMPLES], scale, weights)
            steps = np.frombuffer(zlib.decompress(arrays[_PACKED].tobytes()), np.int8)
            return Likeness(mean, steps.reshape(-1, len(mean)), scale, weights)
    except (KeyError, EOFError, zipfile.BadZipFile, zlib.error) as problem:
        raise ValueError(f"no examples: {problem}") from problem


def _packed(examples: NDArray[np.int8]) -> bytes:
    """Pack without looking for what is said twice: in steps nothing is, and a seventh is saved."""
    packer = zlib.compressobj(strategy=zlib.Z_HUFFMAN_ONLY)
    return packer.compress(examples.tobytes()) + packer.flush()


def fit(vectors: Floats, classes: Mapping[str, Class]) -> Likeness:
    """Weigh examples so that they tell the members of each class from the others.

    Args:
        vectors: Of the examples; shape (n, d), rows of length 1.
        classes: By name; each has members and others, which weigh the same together.
    """
    mean = vectors.mean(axis=0).astype(np.float32)
    centred = _centred(vectors, mean)
    scale = float(np.abs(centred).max()) / _STEPS
    examples = np.round(centred / scale).astype(np.int8)
    near = _nearness(centred, examples * np.float32(scale)).astype(np.float64)
    weights = {name: _solved(near, wanted) for name, wanted in classes.items()}
    return Likeness(mean, examples, scale, weights)


def _solved(near: NDArray[np.float64], wanted: Class) -> Floats:
    there = wanted.members | wanted.others
    target = np.where(wanted.members, 1.0, -1.0)[there]
    share = wanted.others.sum() / wanted.members.sum()
    trust = np.where(wanted.members[there], max(1.0, share), max(1.0, 1 / share))
    weights = np.zeros(len(near))
    ridge = RIDGE * np.diag(1 / trust)
    weights[there] = np.linalg.solve(near[np.ix_(there, there)] + ridge, target)
    return weights.astype(np.float32)


def _centred(vectors: Floats, mean: Floats) -> Floats:
    """Take the mean away, which all texts have in common; rows have length 1 again."""
    rows = vectors - mean
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, np.finfo(np.float32).tiny), np.float32)


def _nearness(rows: Floats, others: Floats) -> Floats:
    """Return the kernel, shape (n, m): 1 where two are the same, e^-2 where they are unrelated."""
    return np.asarray(np.exp(2 * (np.minimum(rows @ others.T, 1) - 1)), np.float32)
