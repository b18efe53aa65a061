"""The frozen encoder's token vectors of the labelled messages, and hashed character n-grams."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bumble.models.embed.onnx import OnnxEmbedder
from bumble.models.embed.reader import MOST_TOKENS, grams
from training.labels import SPANS, Example


class Features:
    """Features of some messages, in memory."""

    def __init__(self, embedder: OnnxEmbedder, examples: Sequence[Example], cache: Path) -> None:
        """Compute, or read what was computed before for the same texts."""
        texts = [example.text for example in examples]
        before = [example.previous for example in examples]
        key = hashlib.sha256("\0".join([embedder.identity.model, *texts, *before]).encode())
        file = cache / f"{key.hexdigest()[:16]}.npz"
        if not file.exists():
            cache.mkdir(parents=True, exist_ok=True)
            _compute(embedder, examples, file)
        with np.load(file) as stored:
            self.tokens, self.starts = stored["tokens"], stored["starts"]
            self.spans, self.previous = stored["spans"], stored["previous"]
        self.grams = np.stack([grams(text) for text in texts])


def _compute(embedder: OnnxEmbedder, examples: Sequence[Example], file: Path) -> None:
    rows: list[NDArray[np.float16]] = []
    spans: list[NDArray[np.int8]] = []
    lengths: list[int] = []
    width = embedder.states("a")[0].shape[1]
    previous = np.zeros((len(examples), width), np.float16)
    for number, example in enumerate(examples):
        states, offsets = embedder.states(example.text)
        states, offsets = states[:MOST_TOKENS], offsets[:MOST_TOKENS]
        rows.append(states.astype(np.float16))
        spans.append(_marked(example, offsets))
        lengths.append(len(states))
        if example.previous:
            previous[number] = embedder.states(example.previous)[0].mean(axis=0)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    np.savez(
        file,
        tokens=np.concatenate(rows),
        starts=starts,
        spans=np.concatenate(spans),
        previous=previous,
    )


def _marked(example: Example, offsets: Sequence[tuple[int, int]]) -> NDArray[np.int8]:
    """Mark the tokens of each span: 1 inside, 0 outside. Shape (tokens, 3)."""
    marks = np.zeros((len(offsets), len(SPANS)), np.int8)
    for column, field in enumerate(SPANS):
        wanted = getattr(example, field)
        start = example.text.find(wanted) if wanted else -1
        if start >= 0:
            inside = [end > start and begin < start + len(wanted) for begin, end in offsets]
            marks[:, column] = inside
    return marks
