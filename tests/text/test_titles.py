"""A title names the one thing that its text is about."""

from __future__ import annotations

import pytest

from bumble.text import titles


@pytest.mark.parametrize(
    ("title", "text", "named"),
    [
        (
            "Roisin is a",
            "Roisin is a nurse in Galway, six years now.",
            "Roisin is a nurse in Galway",
        ),
        (
            "Obinna starts work at",
            "Obinna starts work at 4 a.m. each day.",
            "Obinna starts work at 4 a.m. each day",
        ),
        ("The boat", "The boat is sold.", "The boat"),
        (
            "Kim is flying to",
            "Kim is flying to Porto with her sister Aoife, who paid, on 3 October.",
            "Kim is flying to Porto with her sister Aoife",
        ),
        (
            "Kim has applied to",
            "Kim has applied to a school for pastry in Lyon and would move out by January.",
            "Kim has applied to a school for pastry in Lyon",
        ),
        ("Zegar pana Wojciuka", "Zegar pana Wojciuka znów bije.", "Zegar pana Wojciuka"),
        ("Zofia jedzie do", "Zofia jedzie do Gdańska.", "Zofia jedzie do Gdańska"),
        ("Frank's long visit", "Frank came.", "Frank's long visit"),
    ],
)
def test_the_beginning_of_a_sentence_becomes_its_clause(title: str, text: str, named: str) -> None:
    assert titles.named(title, text) == named


def test_a_title_is_read_back_from_the_heading_of_a_text() -> None:
    assert titles.heading("\n# The boat\n\nIt is sold.") == "The boat"
    assert titles.heading("## The boat") == titles.heading("It is sold.") == ""


def test_a_date_is_no_list() -> None:
    assert titles.named("Release on 27/11", "The release is on 27 November.") == "Release on 27/11"


def test_where_no_model_names_it_a_text_is_called_for_its_first_clause() -> None:
    text = "Kasia rend 380 euros, d'ici dimanche. Nadia est d'accord."
    assert titles.begun(text) == "Kasia rend 380 euros"
