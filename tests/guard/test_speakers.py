from __future__ import annotations

import pytest

from bumble.guard import speakers

SAID = [
    "I have a small dog called Biscuit. I live in Lisbon and I love sailing.",
    "My sister's boat is green, and I was afraid. I asked my boss.",
]


@pytest.mark.parametrize(
    ("sentence", "word"),
    [
        ("I have a dog.", "dog"),
        ("I have a small dog.", "small"),
        ("My dog is ill.", "dog"),
        ("I lived in Lisbon for years.", "lived"),
        ("I love sailing too.", "sailing"),
        ("It made me think of my sister.", "sister"),
        ("I've been afraid.", "afraid"),
    ],
)
def test_what_a_person_said_of_themselves_is_not_said_of_oneself(
    sentence: str, word: str | None
) -> None:
    assert speakers.borrowed(sentence, SAID) == word


@pytest.mark.parametrize(
    "sentence",
    [
        "Sam told me that he has a small dog.",
        "I asked Sam where his small dog was.",
        "I was glad to hear it.",
        'Sam said: "I live in Lisbon."',
        "Sam said 'I live in Lisbon' to me.",
        "Sam's sister has a green boat.",
        "I loved hearing about it.",
    ],
)
def test_what_is_told_of_the_person_is_kept(sentence: str) -> None:
    assert speakers.borrowed(sentence, SAID) is None


TOLD = ["Sam told me that his dog Biscuit was ill.", "I felt sorry for Sam."]


@pytest.mark.parametrize(
    ("sentence", "word"),
    [
        ("I have a dog named Biscuit and want to help", "dog"),
        ("does my dog sleep?", "dog"),
        ("what does a dog dream of?", None),
        ("I felt sorry, why?", None),
        ("I want to hear the sea", None),
    ],
)
def test_what_is_told_of_somebody_else_is_not_the_entitys(sentence: str, word: str | None) -> None:
    assert speakers.taken_over(sentence, TOLD) == word


@pytest.mark.parametrize(
    ("sentence", "told", "whose"),
    [
        ("Sam told me that Ada's dog ran away.", "My dog ran away.", "Ada"),
        ("Sam told me that Kim’s dog ran away.", "My dog ran away.", "Kim"),
        ("Sam told me that Kim's dog ran away.", "Kim's dog ran away.", None),
        ("Sam told me that he likes Ada's story.", "I like your story.", None),
        ("Sam told me that Sam's dog ran away.", "My dog ran away.", None),
    ],
)
def test_what_somebody_told_of_their_own_is_nobody_else_s(
    sentence: str, told: str, whose: str | None
) -> None:
    assert speakers.given_away(sentence, [told], "Ada", ["Kim"]) == whose
