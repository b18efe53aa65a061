from __future__ import annotations

import numpy as np
import pytest

from bumble.index import late
from bumble.index.late import units

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
