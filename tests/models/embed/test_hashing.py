from __future__ import annotations

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from bumble.models.embed.protocol import Embedder
from tests.support.hashing import HashingEmbedder

EMBEDDER: Embedder = HashingEmbedder(256)


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


def test_another_process_gives_the_same_vector() -> None:
    code = (
        "from tests.support.hashing import HashingEmbedder as H;"
        "print(H(256).embed_query('hello bees').tobytes().hex())"
    )
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert printed.strip() == EMBEDDER.embed_query("hello bees").tobytes().hex()
