from __future__ import annotations

import pytest

from bumble.body import hormones
from bumble.body.hormones import Hormones
from tests.support.body_defaults import NOON

LEVELS = Hormones(NOON, {"dopamine": 0.15, "cortisol": 0.5, "oxytocin": 0.4})


def section(*, phenotype: str = "", interactions: int = 200, show_names: bool = True) -> str:
    return hormones.section(
        LEVELS, phenotype=phenotype, interactions=interactions, named=show_names
    )


def test_the_section_of_a_young_entity() -> None:
    text = section(phenotype="I ask before I answer. I like bees.", interactions=12)
    assert text == (
        "## Endocrine State\n"
        "Levels: dopamine 0.15 (baseline), cortisol 0.50 (DOMINANT), oxytocin 0.40 (active).\n"
        "Tone: be focused and concise, minimize tangents; let some warmth show.\n"
        "Embody this state naturally, without mentioning it.\n"
        "Self: I ask before I answer.\n"
        "You are still young: be curious, explore, ask, and try things out. (maturity 0.06)"
    )


def test_the_names_of_hormones_can_be_hidden() -> None:
    text = section(show_names=False)
    assert "strain 0.50 (DOMINANT)" in text
    assert not any(name in text.lower() for name in ("dopamine", "cortisol", "oxytocin"))


@pytest.mark.parametrize(
    ("interactions", "grown", "young"),
    [(0, 0.0, True), (29, 0.145, True), (30, 0.15, False), (200, 1.0, False), (999, 1.0, False)],
)
def test_maturity_grows_with_exchanges(interactions: int, grown: float, young: bool) -> None:
    assert hormones.maturity(interactions) == grown
    assert ("still young" in section(interactions=interactions)) is young


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("I am calm", "I am calm"),
        ("I am\ncalm. And slow.", "I am calm."),
        ("Am I? Yes.", "Am I?"),
        ("one two three four", "one two…"),
        ("one two thr, four", "one two…"),
    ],
)
def test_the_phenotype_is_one_sentence_cut_at_a_word(text: str, expected: str) -> None:
    assert hormones.phenotype_sentence(text, 11) == expected
