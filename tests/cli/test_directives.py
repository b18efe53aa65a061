from __future__ import annotations

import pytest

from bumble.cli.talk import turn_view
from bumble.cli.talk.turn_view import Wishes


@pytest.mark.parametrize(
    ("text", "left", "wishes"),
    [
        ("Hello", "Hello", Wishes()),
        ("/think", "", Wishes(think=True)),
        ("/think off", "", Wishes(think=False)),
        ("please /think harder", "please", Wishes(think=True)),
        ("please /think harder, now", "please, now", Wishes(think=True)),
        ("/think about it", "about it", Wishes(think=True)),
        ("a /verbose b /reasoning off c", "a b c", Wishes(verbose=True, reasoning=False)),
        ("see /think/notes and /thinking", "see /think/notes and /thinking", Wishes()),
        ("and/think", "and/think", Wishes()),
        ("/think max", "", Wishes(think=True)),
        ("/verbose full and /elevated ask", "and", Wishes(verbose=True)),
        ("/queue collect", "", Wishes()),
        ("line\n/think on\nmore", "line\n\nmore", Wishes(think=True)),
    ],
)
def test_directives_are_taken_out(text: str, left: str, wishes: Wishes) -> None:
    typed = turn_view.parse(text, shortcuts=False)
    assert (typed.text, typed.wishes) == (left, wishes)


def test_a_model_and_what_means_nothing_here_are_ignored() -> None:
    found = turn_view.parse("Hi /model qwen3-4b there /queue off", shortcuts=False)
    assert (found.text, found.ignored) == ("Hi there", ("queue", "model"))
