from __future__ import annotations

from datetime import timedelta

import pytest

from bumble.body import noise
from bumble.body.noise import Fragment, Kind
from tests.support.body_defaults import NOON


def thought(text: str, hours: float = 0, kind: Kind = "thought") -> Fragment:
    return Fragment(text, kind, 0.5, NOON + timedelta(hours=hours))


NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


def ring_of(count: int, kind: Kind = "thought") -> tuple[Fragment, ...]:
    ring: tuple[Fragment, ...] = ()
    for number in NUMBERS[:count]:
        ring = noise.push(ring, thought(number, kind=kind))
    return ring


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("the sea is calm", "The SEA, is calm!", 1.0),
        ("a b c", "a b c d e", 0.6),
        ("a b c", "a b c d e f", 0.5),
        ("bees", "tide", 0.0),
    ],
)
def test_likeness_is_the_share_of_words_in_common(one: str, other: str, expected: float) -> None:
    assert noise.jaccard(one, other) == expected


def test_a_full_ring_loses_its_oldest() -> None:
    ring = noise.push(ring_of(8), thought("eight"))
    assert [held.text for held in ring] == NUMBERS[1:9]


def test_a_young_dream_outlasts_younger_thoughts_and_an_old_one_does_not() -> None:
    ring = (thought("tide", kind="dream"), *ring_of(7))
    early = noise.push(ring, thought("eight", hours=11.9))
    assert "tide" in [held.text for held in early]
    assert "zero" not in [held.text for held in early]
    late = noise.push(ring, thought("eight", hours=12))
    assert "tide" not in [held.text for held in late]


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("- the tide pulls", "the tide pulls"),
        ("[dream] the tide\n pulls", "the tide pulls"),
        ("* [Dream] - the tide", "the tide"),
        ("word " * 60, ("word " * 39).strip() + "…"),
    ],
)
def test_a_fragment_is_one_plain_line(written: str, stored: str) -> None:
    assert noise.fragment(written, "dream", 0.5, NOON).text == stored


@pytest.mark.parametrize("text", ["  ", "…!"])
def test_what_is_no_fragment_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="fragment"):
        noise.fragment(text, noise.DREAM, 0.5, NOON)


def test_a_thought_is_due_after_its_interval() -> None:
    assert noise.due(None, NOON, 90)
    assert not noise.due(NOON, NOON + timedelta(seconds=89), 90)
    assert noise.due(NOON, NOON + timedelta(seconds=90), 90)
    assert noise.due(NOON + timedelta(days=900), NOON, 90)
