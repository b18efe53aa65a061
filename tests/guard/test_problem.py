from __future__ import annotations

import pytest

from bumble.guard import verifier
from bumble.guard.speakers import Speakers

SAID = [
    "Ich wohne seit März mit meinen zwei Katzen in Leipzig.",
    "Meine Tochter Lena geht in die dritte Klasse und spielt gern Schach.",
]
SPEAKERS = Speakers(entity="Ada", statements={"Sam": SAID, "Kim": ["I have a boat."]})


@pytest.mark.parametrize(
    "sentence",
    [
        "Sam wohnt in Leipzig mit zwei Katzen.",
        "Sam hat mir erzählt, dass Lena gern Schach spielt.",
        "Sam sagte, dass er heute mit seinen Katzen in Leipzig wohnt.",
        "Sams Tochter Lena ist in der dritten Klasse.",
    ],
)
def test_what_was_said_in_german_stands(sentence: str) -> None:
    assert verifier.problem(sentence, SAID, SPEAKERS, messages=SAID) is None


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("Sam wohnt in Dresden.", "nobody said Dresden"),
        ("Sam hat vier Katzen.", "nobody said vier"),
        ("Ich wohne in Leipzig.", "\"wohne\" is another's, not Ada's"),
        ("Sam züchtet und verkauft viele Hunde.", "most of it was not said, or not together"),
        ("Sam told me that Kim's Katzen live in Leipzig.", "what Sam told of their own is made"),
    ],
)
def test_what_nobody_said_has_a_reason(sentence: str, reason: str) -> None:
    assert (verifier.problem(sentence, SAID, SPEAKERS, messages=SAID) or "").startswith(reason)


def test_a_name_may_be_said_in_another_language_but_is_no_other_name() -> None:
    assert verifier.problem("She lives in Lisboa.", ["I live in Lisbon."], Speakers()) is None
    assert verifier.problem("She is German.", ["I come from Germany."], Speakers()) is None
    assert verifier.problem("It is Christopher's.", ["I am Christina."], Speakers()) is not None


def test_every_word_counts_in_what_is_written_down_on_a_person_s_word() -> None:
    said = ["I enjoyed everything."]
    assert not verifier.was_said("Sam wants you to share everything, trust and love", said, ["Sam"])


def test_words_of_several_messages_are_not_put_together_to_what_nobody_said() -> None:
    said = ["Do you know Robin?", "I might sell my old car.", "The house is cold, who owns it?"]
    assert not verifier.was_said("Robin owns the house Sam might sell.", said, ["Sam"])
    assert verifier.was_said("Sam might sell the old car.", said, ["Sam"])
    assert verifier.was_said("Robin\nSam's old car, which Sam might sell.", said, ["Sam"])
