from __future__ import annotations

import time

import numpy as np
import pytest

from bumble.index import late
from bumble.index.late import units
from bumble.models.embed.protocol import Bits, Floats
from tests.support.hashing import HashingEmbedder

WIDTH = 64


def signs(embedder: HashingEmbedder, text: str) -> Bits:
    return embedder.embed_documents_by_token([text])[1][0].signs


def matched(query: str, *texts: str) -> tuple[Floats, Floats]:
    embedder = HashingEmbedder(WIDTH)
    _, tokens = embedder.embed_query(query)
    each = [signs(embedder, text) for text in texts]
    lengths = np.array([len(rows) for rows in each], np.int64)
    return late.matches(tokens.vectors, np.concatenate(each), np.ones(lengths.sum()), lengths)


def test_texts_matched_in_parts_match_as_they_do_together(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"number {n} and the lantern {n * n}" for n in range(20)]
    together = matched("the lantern number 7", *texts)
    monkeypatch.setattr(late, "TOKENS_AT_ONCE", 7)
    for part, whole in zip(matched("the lantern number 7", *texts), together, strict=True):
        assert part == pytest.approx(whole, abs=1e-5)


def test_a_text_is_covered_by_a_message_that_says_all_of_it_among_other_things() -> None:
    long = "rain came over the hill and the lantern went out at night"
    found, covered = matched(long, "the lantern went out", "the lantern was sold cheap")
    assert covered[0] > 0.7 > covered[1]
    assert found.mean(axis=0)[0] < 0.7
    assert matched(long, "")[1].tolist() == [0]


def test_rare_tokens_count_more_and_stop_words_little() -> None:
    query = "where is the lantern of the harbour"
    _, tokens = HashingEmbedder(WIDTH).embed_query(query)
    where, _, the, lantern, _, _, harbour = tokens.pieces.tolist()
    weights = late.rarities(query, tokens, {harbour: 50, the: 1, lantern: 1, where: 1}, 100)
    assert weights[1] == pytest.approx(late.STOP_WEIGHT)
    assert weights[3] > weights[6]
    assert weights[2] == pytest.approx(late.STOP_WEIGHT * weights[3])


def test_of_a_long_query_the_rarest_tokens_count() -> None:
    query = " ".join(f"word{n}" for n in range(300))
    _, tokens = HashingEmbedder(WIDTH).embed_query(query)
    counts = {int(piece): 300 - n for n, piece in enumerate(tokens.pieces)}
    weights = late.rarities(query, tokens, counts, 300)
    assert np.flatnonzero(weights).tolist() == list(range(300 - late.MOST_TOKENS, 300))


def test_a_message_of_many_pages_is_weighed_in_a_moment() -> None:
    query = "the tide of the harbour " * 6_000
    _, tokens = HashingEmbedder(WIDTH).embed_query(query)
    begun = time.process_time()
    late.rarities(query, tokens, {}, 100)
    assert time.process_time() - begun < 3  # it was minutes


SHARES = (0.5, 0.3)


def floats(*rows: list[float]) -> np.typing.NDArray[np.float32]:
    return np.array(rows, np.float32)


def test_a_turn_takes_from_those_before_what_they_match_better() -> None:
    each = units(np.array([1, 1, 1]), np.array([0, 1, 2]))
    matched = floats([0.9, 0.5, 0.1], [0.2, 0.4, 0.3])
    found = late.with_before(matched, np.array([9, 9, 9]), each, SHARES)
    assert found[0].tolist() == pytest.approx([0.9, 0.7, 0.1 + 0.2 + 0.24])
    assert found[1].tolist() == pytest.approx([0.2, 0.4, 0.35])


def test_a_turn_takes_nothing_from_another_conversation_or_across_a_gap() -> None:
    each = units(np.array([1, 2, 2]), np.array([0, 0, 3]))
    matched = floats([0.9, 0.5, 0.1])
    lengths = np.array([9, 9, 9])
    assert (late.with_before(matched, lengths, each, SHARES) == matched).all()


def test_surroundings_are_the_best_around_and_never_the_turn_itself() -> None:
    count = 2 * late.AROUND + 3
    each = units(np.ones(count, np.int64), np.arange(count))
    scores = np.zeros(count, np.float32)
    scores[5] = 0.9
    found = late.surroundings(scores, each)
    assert found[5] == 0
    assert found[4] == found[6] == pytest.approx(0.9 / late.BEST_AROUND)
    assert found[5 + late.AROUND + 1] == 0


@pytest.mark.parametrize(
    ("query", "name", "expected"),
    [
        ("What did Caroline research?", "Caroline", True),
        ("Was weiß Jürgen?", "Jürgen Groß", True),
        ("What did caroline's mother say?", "Caroline", True),
        ("What was said of a carol?", "Caroline", False),
        ("What is it that you will do?", "Will", False),
    ],
)
def test_somebody_is_asked_for_by_a_part_of_their_name(
    query: str, name: str, *, expected: bool
) -> None:
    assert late.asked_about(query, name) is expected
