from __future__ import annotations

import io

import numpy as np
import pytest

from bumble.embed import answering
from bumble.embed.answering import Answering, Asked
from bumble.embed.hashing import HashingEmbedder

EMBEDDER = HashingEmbedder()
SAID = ["the ferry leaves at nine", "grandma takes insulin", "the key hangs by the barn"]
# In other words than it was told in: nothing but what is learned joins them.
ASKS = ["when must we board", "which injections does nan need", "how do I unlock the shed"]
AGAIN = ["what time do we board", "nan and her injections", "unlock the shed, how"]


def asked(questions: list[str]) -> Asked:
    vectors = np.array([EMBEDDER.embed_query(text) for text in questions])
    return Asked(EMBEDDER.embed_documents(SAID), vectors, np.arange(len(questions)))


def ahead(question: np.ndarray, right: int) -> float:
    """Return by how much the right answer is nearer than any other."""
    near = EMBEDDER.embed_documents(SAID) @ question
    return float(near[right] - np.delete(near, right).max())


def test_a_question_in_other_words_comes_nearer_to_what_answers_it() -> None:
    known = answering.fit([asked(ASKS)])
    for right, text in enumerate(AGAIN):
        question = EMBEDDER.embed_query(text)
        assert ahead(known.moved(question), right) > max(0.1, ahead(question, right))


def test_a_moved_question_has_length_one() -> None:
    known = answering.fit([asked(ASKS)])
    for text in [*ASKS, "something else"]:
        assert np.linalg.norm(known.moved(EMBEDDER.embed_query(text))) == pytest.approx(1)


def test_the_same_is_learned_again_and_read_as_it_was_written() -> None:
    known, again = answering.fit([asked(ASKS)]), answering.fit([asked(ASKS)])
    file = io.BytesIO()
    known.write(file)
    file.seek(0)
    assert np.array_equal(known.matrix, again.matrix)
    same = answering.read(file)
    assert np.array_equal(known.matrix, same.matrix)
    assert known.floor == same.floor


@pytest.mark.parametrize("data", [b"", b"damaged", b"PK\x03\x04"])
def test_a_damaged_file_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"nothing about answers|pickle"):
        answering.read(io.BytesIO(data))


def test_nothing_learned_moves_nothing() -> None:
    question = EMBEDDER.embed_query("when must we board")
    still = Answering(np.zeros((len(question), len(question)), np.float16), floor=0.0)
    assert np.allclose(still.moved(question), question, atol=1e-6)
