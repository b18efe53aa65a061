from __future__ import annotations

import pytest

from bumble.guard import origins

SAID = [
    "My dog Biscuit was ill last night. I was really afraid that he would die.",
    "The vet, Doctor Moreira, says it was only chocolate.",
    "We lost a patient, Mr Alves.",
    "He was 84 and he always told me about his pigeons.",
    "I think I will plant something for him on my balcony. Maybe lavender.",
]


@pytest.mark.parametrize(
    "sentence",
    [
        "Sam has a dog named Biscuit.",
        "Sam was afraid that Biscuit would die.",
        "Sam told me that Biscuit was ill last night.",
        "Sam plans to plant lavender on the balcony.",
        "I was glad and relieved.",
    ],
)
def test_what_one_message_says_is_borne_out(sentence: str) -> None:
    assert origins.is_borne_out(sentence, SAID, ("Sam", "Ada"))


@pytest.mark.parametrize(
    "sentence",
    [
        "Sam likes chocolate.",
        "Sam is a patient who tells stories about his pigeons.",
        "Sam plans to take Biscuit to the vet for a check-up.",
        "Sam is a helpful and friendly assistant.",
        "Sam gave the chocolate to Mr Alves.",
    ],
)
def test_what_is_joined_or_made_up_is_not(sentence: str) -> None:
    assert not origins.is_borne_out(sentence, SAID, ("Sam", "Ada"))


def test_without_sources_nothing_but_feeling_is_borne_out() -> None:
    assert origins.share("Sam has a boat.", []) == 0.0


def test_a_part_that_nobody_said_is_not_carried_by_the_rest() -> None:
    said = ["I work as a nurse at the Santa Maria hospital in Lisbon, by the river."]
    true = "Sam is a nurse at the Santa Maria hospital in Lisbon"
    false = f"{true} by the river, who trains hounds."
    assert origins.share(false, said, ["Sam"]) >= origins.LEAST_SHARE
    assert not origins.is_borne_out(false, said, ["Sam"])
    assert origins.is_borne_out(f"{true}, by the river.", said, ["Sam"])
