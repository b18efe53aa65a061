from __future__ import annotations

import numpy as np
import pytest

from bumble.models.embed import protocol
from bumble.models.embed.hashing import HashingEmbedder


@pytest.mark.parametrize("mean", [1.0, 1.5, -1.5, float("nan")])
def test_a_mean_that_leaves_no_room_is_refused(mean: float) -> None:
    with pytest.raises(ValueError, match="mean cosine"):
        protocol.similarity(np.zeros(1, np.float32), mean)


def test_the_mean_cosine_is_that_of_every_pair_once() -> None:
    vectors = np.array([[1, 0], [0, 2], [3, 3]], np.float32)
    expected = (0 + np.sqrt(0.5) + np.sqrt(0.5)) / 3
    assert protocol.mean_cosine(vectors) == pytest.approx(expected)


def test_hashed_unrelated_sentences_measure_near_nought() -> None:
    vectors = HashingEmbedder(1024).embed_documents(protocol.unrelated_sentences())
    assert abs(protocol.mean_cosine(vectors)) < 0.1
