from __future__ import annotations

from datetime import UTC

from bumble.jobs.facts.extract_window import Window
from tests.support.talks import message

CHATTER = "It was a day like any other, with this and that and then a little more of it."
LINES = [
    ("Sam", f"{CHATTER} My cousin Ilse moved to Porto with 3 cats."),
    ("Ada", CHATTER),
    *[("Sam", CHATTER), ("Ada", "I see, go on.")] * 10,
    ("Sam", "The key to the shed is S3CR3T-KEY, password: hunter2hunter2. See you."),
]


def window(*lines: tuple[str, str]) -> Window:
    messages = tuple(message(n, *line) for n, line in enumerate(lines, 1))
    return Window("ses_1", ("sam",), {"sam": "Sam"}, "Ada", messages, UTC)


def test_a_window_within_its_length_is_shown_whole() -> None:
    seen = window(*LINES)
    assert seen.text(6000, 100_000) == seen.text(6000)
    assert seen.text(6000).count(CHATTER) == 12


def test_of_a_long_window_the_lines_that_say_most_are_shown_by_their_numbers() -> None:
    text = window(*LINES).text(6000, 200)
    assert len(text) < 300
    first = text.splitlines()[0]
    assert first.startswith("[1] Sam: ")
    assert "My cousin Ilse moved to Porto with 3 cats." in first
    assert "hunter2" not in text
    assert text.count(CHATTER) <= 1
