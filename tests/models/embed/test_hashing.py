from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bumble.models.embed.protocol import Embedder
from tests.support.hashing import HashingEmbedder

EMBEDDER: Embedder = HashingEmbedder(256)


@given(st.text())
def test_every_text_gets_a_vector_of_length_one(text: str) -> None:
    assert np.linalg.norm(EMBEDDER.embed_query(text)) == pytest.approx(1, abs=1e-5)


@given(st.lists(st.text(max_size=20), max_size=4))
def test_a_document_is_embedded_as_it_is_alone(texts: list[str]) -> None:
    vectors = EMBEDDER.embed_documents(texts)
    assert vectors.shape == (len(texts), 256)
    for text, vector in zip(texts, vectors, strict=True):
        assert (vector == EMBEDDER.embed_query(text)).all()


def test_texts_that_share_words_lie_closer_than_those_that_share_none() -> None:
    query = EMBEDDER.embed_query("the keeper of the lighthouse")
    near, far = EMBEDDER.embed_documents(["a lighthouse keeper", "buttered toast, twice"])
    assert query @ near > 0.3 > query @ far


def test_case_does_not_count() -> None:
    assert EMBEDDER.embed_query("Ada LOVELACE") == pytest.approx(
        EMBEDDER.embed_query("ada lovelace")
    )


def test_another_process_gives_the_same_vector() -> None:
    code = (
        "from tests.support.hashing import HashingEmbedder as H;"
        "print(H(256).embed_query('hello bees').tobytes().hex())"
    )
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert printed.strip() == EMBEDDER.embed_query("hello bees").tobytes().hex()
