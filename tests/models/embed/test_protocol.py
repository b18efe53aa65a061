from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bumble.models.embed import protocol
from bumble.models.embed.protocol import Embedder
from bumble.models.weights import embedders
from tests.support.hashing import HashingEmbedder


def test_the_mean_cosine_is_that_of_every_pair_once() -> None:
    vectors = np.array([[1, 0], [0, 2], [3, 3]], np.float32)
    expected = (0 + np.sqrt(0.5) + np.sqrt(0.5)) / 3
    assert embedders.mean_cosine(vectors) == pytest.approx(expected)


def test_hashed_unrelated_sentences_measure_near_nought() -> None:
    vectors = HashingEmbedder(1024).embed_documents(protocol.unrelated_sentences())
    assert abs(embedders.mean_cosine(vectors)) < 0.1


EMBEDDER: Embedder = HashingEmbedder(256)


@given(st.lists(st.text(max_size=20), max_size=4))
def test_a_document_is_embedded_as_it_is_alone(texts: list[str]) -> None:
    vectors = EMBEDDER.embed_documents(texts)
    assert vectors.shape == (len(texts), 256)
    for text, vector in zip(texts, vectors, strict=True):
        assert (vector == EMBEDDER.embed_query(text)[0]).all()


def test_texts_that_share_words_lie_closer_than_those_that_share_none() -> None:
    query = EMBEDDER.embed_query("the keeper of the lighthouse")[0]
    near, far = EMBEDDER.embed_documents(["a lighthouse keeper", "buttered toast, twice"])
    assert query @ near > 0.3 > query @ far


def test_another_process_gives_the_same_vector() -> None:
    code = (
        "from tests.support.hashing import HashingEmbedder as H;"
        "print(H(256).embed_query('hello bees')[0].tobytes().hex())"
    )
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert printed.strip() == EMBEDDER.embed_query("hello bees")[0].tobytes().hex()
