from __future__ import annotations

import pytest

from bumble.text import printable


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("a\x1b]0;owned\x07b\x1b[2Jc\x00d", "abcd"),
        ("Ctrl seq: \x1b] and then\nall of my notes", "Ctrl seq: ] and then\nall of my notes"),
        ("tab\tand\nline", "tab\tand\nline"),
    ],
)
def test_what_a_terminal_would_act_on_is_not_stored_and_nothing_else_is_lost(
    text: str, stored: str
) -> None:
    assert printable.whole(text) == stored
