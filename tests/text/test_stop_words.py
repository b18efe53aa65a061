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


@given(st.text())
def test_any_text_has_words_without_spaces(text: str) -> None:
    assert all(word and not any(c.isspace() for c in word) for word in stop_words.words(text))
