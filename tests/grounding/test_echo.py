from __future__ import annotations

import pytest

from bumble.grounding import echo

MESSAGE = "I prefer tea to coffee before a concert, coffee makes my hands shake. Good night!"
THEIRS = echo.own_sentences(MESSAGE)


def test_only_what_somebody_says_of_themselves_can_be_echoed() -> None:
    assert THEIRS == ("i prefer tea to coffee before a concert coffee makes my hands shake",)
    assert echo.own_sentences("My dog!") == ()


@pytest.mark.parametrize(
    ("answer", "own"),
    [
        (f"{MESSAGE[:70]} What is her name?", "What is her name?"),
        ("I prefer tea to coffee before a concert - coffee makes my hands shake!", ""),
        ("I prefer tea too.", "I prefer tea too."),
        ("Good night!", "Good night!"),
        ("Tea it is.", "Tea it is."),
        ("", ""),
    ],
)
def test_an_answer_loses_the_echo_it_begins_with(answer: str, own: str) -> None:
    assert echo.without(answer, THEIRS) == own


def test_a_beginning_is_held_back_only_as_long_as_it_may_be_an_echo() -> None:
    assert echo.may_become_one("I pref", THEIRS)
    assert echo.may_become_one("", THEIRS)
    assert not echo.may_become_one("I prefer rum", THEIRS)
    assert not echo.may_become_one("Tea", THEIRS)


def test_two_echoes_in_a_row_go_both() -> None:
    theirs = echo.own_sentences("I have a dog. My dog is very ill.")
    assert echo.without("My dog is very ill. I have a dog. Oh no!", theirs) == "Oh no!"


def test_a_language_without_spaces_is_read_too() -> None:
    theirs = ("".join(echo.own_sentences("Meine Katze ist krank.")),)
    assert echo.without("Meine Katze ist krank. Oje!", theirs) == "Oje!"
