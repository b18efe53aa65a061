from __future__ import annotations

from bumble.guard import origins

SAID = [
    "My dog Biscuit was ill last night. I was really afraid that he would die.",
    "The vet, Doctor Moreira, says it was only chocolate.",
    "We lost a patient, Mr Alves.",
    "He was 84 and he always told me about his pigeons.",
    "I think I will plant something for him on my balcony. Maybe lavender.",
]


def test_the_share_is_of_the_one_source_that_has_most_of_it() -> None:
    assert origins.share("Sam has a boat.", []) == 0.0
    assert origins.share("Sam's dog Biscuit was ill.", SAID, ["Sam"]) == 1.0
    assert origins.share("Sam gave chocolate to Mr Alves.", SAID, ["Sam"]) < 1.0
