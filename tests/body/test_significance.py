from __future__ import annotations

import pytest

from bumble.body import significance


@pytest.mark.parametrize(
    ("meaningful", "familiarity", "appraisal", "novelty", "expected"),
    [
        (False, 0.0, 0.0, 0.0, 0.10),
        (True, 0.0, 0.0, 0.0, 0.25),
        (False, 1.0, 0.0, 0.0, 0.20),
        (False, 0.0, 1.0, 0.0, 0.45),
        (False, 0.0, 0.0, 1.0, 0.40),
        (True, 0.5, 0.5, 0.5, 0.625),
        (True, 1.0, 1.0, 1.0, 1.0),
    ],
)
def test_significance_is_the_table(
    meaningful: bool, familiarity: float, appraisal: float, novelty: float, expected: float
) -> None:
    found = significance.significance(
        meaningful=meaningful,
        familiarity=familiarity,
        appraisal=appraisal,
        novelty=novelty,
    )
    assert found.total == pytest.approx(expected)


@pytest.mark.parametrize(
    ("content", "used_tool", "expected"),
    [("x" * 40, False, False), ("x" * 41, False, True), (" " * 60, False, False), ("", True, True)],
)
def test_substance_is_length_or_a_tool(content: str, used_tool: bool, expected: bool) -> None:
    assert significance.is_meaningful(content, used_tool=used_tool) is expected


@pytest.mark.parametrize(
    ("points", "expected"),
    [({}, 0.0), ({"social": 10, "tension": -10}, 0.5), (dict.fromkeys("abcde", 10), 1.0)],
)
def test_an_appraisal_is_as_strong_as_all_it_moved(
    points: dict[str, float], expected: float
) -> None:
    assert significance.appraisal_strength(points) == expected


@pytest.mark.parametrize(
    ("similarities", "expected"),
    [([], 1.0), ([0.2, 0.7, 0.1], 0.3), ([-0.4], 1.0), ([1.0], 0.0), ([1.3], 0.0)],
)
def test_novelty_is_the_distance_to_the_nearest(similarities: list[float], expected: float) -> None:
    assert significance.novelty(similarities) == pytest.approx(expected)


def test_the_reason_names_the_threshold_and_every_share() -> None:
    found = significance.significance(meaningful=False, familiarity=0.5, appraisal=0, novelty=0.4)
    assert found.why_too_little(0.3) == (
        "significance 0.27 is below 0.30 (base 0.10, meaningful 0.00, familiarity 0.05, "
        "appraisal 0.00, novelty 0.12)"
    )
