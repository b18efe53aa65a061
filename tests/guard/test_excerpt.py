from __future__ import annotations

import pytest

from bumble.guard import excerpt
from bumble.guard.excerpt import SpokenLine


def line(text: str, weight: float = 1.0) -> SpokenLine:
    return SpokenLine("msg_1", "Sam", text, weight)


def test_a_long_sentence_that_says_something_beats_many_short_ones_that_do_not() -> None:
    fact = (
        "Oh, and the letting agent rang, he is a Mr Pellow and wants 1450 pounds up front for it."
    )
    small = [line(f"That was quite a {word} thing.") for word in ("funny", "silly", "grey", "odd")]
    chosen = excerpt.choose([*small, line(fact)], 40)
    assert line(fact) in chosen


def test_what_the_entity_said_counts_less() -> None:
    own, theirs = line("Bo moved to Porto.", excerpt.OWN_WEIGHT), line("Bo moved to Faro.")
    assert excerpt.choose([own, theirs], 8) == [theirs]


def test_a_line_that_says_nothing_new_is_not_taken() -> None:
    lines = [line("Bo moved to Porto."), line("Bo moved to Porto!")]
    assert len(excerpt.choose(lines, 1000)) == 1
    assert excerpt.choose(lines, 1000, covered="It was Bo who moved, to Porto.") == []


@pytest.mark.parametrize("text", ["word " * 300, "a" * 1000, "x" * 241])
def test_what_has_no_full_stops_is_taken_in_pieces_and_none_is_lost(text: str) -> None:
    found = excerpt.parts(text)
    assert max(map(len, found)) <= excerpt.LINE_CHARS
    assert "".join(found).replace(" ", "") == text.replace(" ", "")


def test_who_writes_without_capitals_is_split_at_full_stops_and_no_abbreviation_is() -> None:
    assert excerpt.parts("hab tee. oma wird achtzig am 7 märz. egal") == [
        "hab tee.",
        "oma wird achtzig am 7 märz.",
        "egal",
    ]
    assert excerpt.parts("Es gibt z.B. das hier. Und das.") == [
        "Es gibt z.B. das hier.",
        "Und das.",
    ]
