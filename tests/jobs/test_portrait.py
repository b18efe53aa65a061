from __future__ import annotations

import pytest

from bumble.jobs import portrait
from bumble.records import relationships

OLD = "Sam mends old clocks in Lisbon.\nHis dog is Biscuit, his sister Ana.\nWe met in May 2024."


@pytest.mark.parametrize(
    ("new", "lost"),
    [
        (OLD, False),
        (OLD.replace("Lisbon", "Porto"), False),
        (OLD[: len(OLD) // 2], True),
        (OLD.replace("Biscuit", "a good dog").replace("Ana", "someone"), True),
    ],
)
def test_loss_is_of_length_or_of_facts_and_one_fact_may_be_corrected(new: str, lost: bool) -> None:
    assert (portrait.loss(OLD, new, ["Sam"]) > portrait.MOST_LOSS) is lost


def test_a_portrait_is_refused_that_is_too_short_or_loses_too_much() -> None:
    half = OLD[: len(OLD) // 2]
    assert "too little" in portrait.refusal("", "Sam.", (), allow_shrink=True)
    assert "lose" in portrait.refusal(OLD, half, (), allow_shrink=False)
    assert portrait.refusal(OLD, half, (), allow_shrink=True) == ""
    longer = "Bo bakes.\nBo sings."
    assert portrait.refusal("Bo bakes.", longer, (), allow_shrink=False) == ""


def test_own_words_stand_under_their_heading_and_come_apart_again() -> None:
    quotes = tuple(f'> 2026-05-{n:02}: "Word {n}."' for n in range(1, 11))
    text = relationships.with_quotes(OLD, quotes)
    assert text.startswith(f"{OLD}\n\n## In their own words\n\n> 2026-05-03")
    assert relationships.split_quotes(text) == (OLD, quotes[-relationships.MAX_QUOTES :])
    assert relationships.split_quotes(f"{OLD}\n\n## Always\n\nHe laughs.") == (
        f"{OLD}\n\n## Always\n\nHe laughs.",
        (),
    )
