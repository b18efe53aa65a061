from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bumble.text import stop_words


def test_words_that_say_nothing_are_left_out() -> None:
    assert stop_words.telling_words("What is it that I don't know about THE sea?") == [
        "know",
        "sea",
    ]
    assert stop_words.telling_words("Was weißt du über das Meer?") == ["weisst", "meer"]


def test_typographic_spellings_are_one_word() -> None:
    assert stop_words.words("Don’t don't ＤＯＮ'Ｔ") == ["don't"] * 3


def test_scripts_without_spaces_give_pairs() -> None:
    assert stop_words.words("泡茶的 x") == ["泡茶", "茶的", "x"]


def test_the_list_is_spelt_as_words_are() -> None:
    assert all(stop_words.words(word) == [word] for word in stop_words.WORDS)


@given(st.text())
def test_any_text_has_words_without_spaces(text: str) -> None:
    assert all(word and not any(c.isspace() for c in word) for word in stop_words.words(text))
