from __future__ import annotations

import pytest

from bumble.cli.talk import turn_view


@pytest.mark.parametrize(
    ("text", "left", "wishes"),
    [
        ("Hello", "Hello", {}),
        ("/think", "", {"think": True}),
        ("/think off", "", {"think": False}),
        ("please /think harder", "please", {"think": True}),
        ("please /think harder, now", "please, now", {"think": True}),
        ("/think about it", "about it", {"think": True}),
        ("a /verbose b /reasoning off c", "a b c", {"verbose": True, "reasoning": False}),
        ("see /think/notes and /thinking", "see /think/notes and /thinking", {}),
        ("and/think", "and/think", {}),
        ("/think max", "", {"think": True}),
        ("/verbose full and /elevated ask", "and", {"verbose": True}),
        ("/queue collect", "", {}),
        ("line\n/think on\nmore", "line\n\nmore", {"think": True}),
    ],
)
def test_directives_are_taken_out(text: str, left: str, wishes: dict[str, bool]) -> None:
    typed = turn_view.parse(text, shortcuts=False)
    assert (typed.text, typed.wishes) == (left, wishes)


def test_a_model_and_what_means_nothing_here_are_ignored() -> None:
    found = turn_view.parse("Hi /model qwen3-4b there /queue off", shortcuts=False)
    assert (found.text, found.ignored) == ("Hi there", ("queue", "model"))
