from __future__ import annotations

import pytest

from bumble.guard import verifier
from bumble.guard.verifier import ClaimSources

SAID = (
    "Ich wohne seit März mit meinen zwei Katzen in Leipzig.",
    "Meine Tochter Lena geht in die dritte Klasse und spielt gern Schach.",
)
GROUNDS = ClaimSources(known=SAID, names=("Sam", "Ada", "Kim"))


@pytest.mark.parametrize(
    "sentence",
    [
        "Sam wohnt in Leipzig mit zwei Katzen.",
        "Sam hat mir erzählt, dass Lena gern Schach spielt.",
        "Sams Tochter Lena ist in der dritten Klasse.",
    ],
)
def test_what_was_said_in_german_stands(sentence: str) -> None:
    assert GROUNDS.bear(sentence)


@pytest.mark.parametrize("sentence", ["Sam wohnt in Dresden.", "Sam hat vier Katzen."])
def test_what_nobody_said_does_not(sentence: str) -> None:
    assert not GROUNDS.bear(sentence)


def test_a_name_may_be_said_in_another_language_but_is_no_other_name() -> None:
    assert ClaimSources(known=("I live in Lisbon.",)).bear("She lives in Lisboa.")
    assert ClaimSources(known=("I come from Germany.",)).bear("She is German.")
    assert not ClaimSources(known=("I am Christina.",)).bear("It is Christopher's.")


def test_every_word_counts_in_what_is_written_down_on_a_person_s_word() -> None:
    said = ClaimSources(known=("I enjoyed everything.",), names=("Sam",))
    assert not verifier.was_said("Sam wants you to share everything, trust and love", said)


def test_words_of_several_messages_are_not_put_together_to_what_nobody_said() -> None:
    told = ("Do you know Robin?", "I might sell my old car.", "The house is cold, who owns it?")
    said = ClaimSources(known=told, names=("Sam",))
    assert not verifier.was_said("Robin owns the house Sam might sell.", said)
    assert verifier.was_said("Sam might sell the old car.", said)
    assert verifier.was_said("Robin\nSam's old car, which Sam might sell.", said)
