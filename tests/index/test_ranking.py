from __future__ import annotations

import numpy as np

from bumble.index import rerank
from bumble.index.rerank import Lengths

LENGTHS = Lengths(100, {"message": 10.0})


def bm25(own: str, around: str = "", query: str = "tide lamp", **counts: int) -> float:
    asked = query.split()
    frequency = rerank.frequencies(asked, [own])
    frequency += rerank.AROUND_WEIGHT * rerank.frequencies(asked, [around])
    relative = LENGTHS.relative("message", len(own.split()), len(around.split()))
    stands_in = {"tide": 3, "lamp": 3} | counts
    (score,) = rerank.bm25(asked, frequency, np.array([relative]), stands_in, LENGTHS.chunks)
    return float(score)


def test_a_term_in_the_turn_counts_more_than_one_in_the_turns_before() -> None:
    assert bm25("tide x", "y z") > bm25("x y", "tide z") > 0


def test_a_term_that_stands_everywhere_never_counts_against_a_chunk() -> None:
    assert bm25("tide", tide=100, query="tide") > 0


def test_scores_that_are_all_alike_scale_to_one_if_anything_was_found() -> None:
    assert rerank.scaled([3.0, 3.0]) == [1.0, 1.0]
    assert rerank.scaled([0.0, 0.0]) == [0.0, 0.0]
