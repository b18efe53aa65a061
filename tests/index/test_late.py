from __future__ import annotations

import time

import numpy as np
import pytest

from bumble.index import late
from bumble.models.embed.protocol import Bits, Floats
from tests.support.hashing import HashingEmbedder

WIDTH = 64


def signs(embedder: HashingEmbedder, text: str) -> Bits:
    return embedder.embed_documents_by_token([text])[1][0].signs


def matched(query: str, *texts: str) -> Floats:
    embedder = HashingEmbedder(WIDTH)
    _, tokens = embedder.embed_query_by_token(query)
    return late.matches(tokens.vectors, [signs(embedder, text) for text in texts])


def test_texts_matched_in_parts_match_as_they_do_together(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"number {n} and the lantern {n * n}" for n in range(20)]
    together = matched("the lantern number 7", *texts)
    monkeypatch.setattr(late, "TOKENS_AT_ONCE", 7)
    assert matched("the lantern number 7", *texts) == pytest.approx(together, abs=1e-5)


def test_rare_tokens_count_more_and_stop_words_little() -> None:
    query = "where is the lantern of the harbour"
    _, tokens = HashingEmbedder(WIDTH).embed_query_by_token(query)
    where, _, the, lantern, _, _, harbour = tokens.pieces.tolist()
    weights = late.rarities(query, tokens, {harbour: 50, the: 1, lantern: 1, where: 1}, 100)
    assert weights[1] == pytest.approx(late.STOP_WEIGHT)
    assert weights[3] > weights[6]
    assert weights[2] == pytest.approx(late.STOP_WEIGHT * weights[3])


def test_of_a_long_query_the_rarest_tokens_count() -> None:
    query = " ".join(f"word{n}" for n in range(100))
    _, tokens = HashingEmbedder(WIDTH).embed_query_by_token(query)
    counts = {int(piece): 100 - n for n, piece in enumerate(tokens.pieces)}
    weights = late.rarities(query, tokens, counts, 100)
    assert np.flatnonzero(weights).tolist() == list(range(100 - late.MOST_TOKENS, 100))


def test_a_message_of_many_pages_is_weighed_in_a_moment() -> None:
    query = "the tide of the harbour " * 6_000
    _, tokens = HashingEmbedder(WIDTH).embed_query_by_token(query)
    begun = time.process_time()
    late.rarities(query, tokens, {}, 100)
    assert time.process_time() - begun < 3  # it was minutes
