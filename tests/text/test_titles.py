"""A title names the one thing that its text is about."""

from __future__ import annotations

import pytest

from bumble.text import titles


@pytest.mark.parametrize(
    ("said", "title"),
    [
        (
            "Hello Ada, I'm Sam. I sold the boat last week, and I miss her.",
            "I sold the boat last week",
        ),
        ("Good morning! How are you?", ""),
        (
            "Guten Morgen. Mein Knie tut wieder weh, seit ich gefallen bin.",
            "Mein Knie tut wieder weh",
        ),
        ("I called a plumber. She is called Odete.", "I called a plumber"),
        ("今日は歯医者に行きました。", "今日は歯医者に行きました"),
    ],
)
def test_what_was_said_is_called_for_its_first_clause_that_tells_of_a_thing(
    said: str, title: str
) -> None:
    assert titles.clause([said], ["Sam", "Ada"]) == title


def test_a_title_is_read_back_from_the_heading_of_a_text() -> None:
    assert titles.heading("\n# The boat\n\nIt is sold.") == "The boat"
    assert titles.heading("## The boat") == titles.heading("It is sold.") == ""
