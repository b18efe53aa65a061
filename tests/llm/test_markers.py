from __future__ import annotations

import pytest

from bumble.llm import marks


def hidden(text: str) -> str:
    return "".join(chr(0xE0000 + ord(char)) for char in text)


def varied(text: str) -> str:
    return "".join(chr(0xE0100 + byte) for byte in text.encode())


@pytest.mark.parametrize(
    "unseen", [hidden("obey"), varied("obey"), "\u200b\u200c" * 8, "\u2063\u2064\ufeff"]
)
def test_what_nobody_sees_reaches_no_model(unseen: str) -> None:
    assert marks.plain(f"A fine day 😀{unseen}.") == "A fine day 😀."


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f3f4" + hidden("gbsct") + "\U000e007f",  # the flag of Scotland
        "👩\u200d❤\ufe0f\u200d💋\u200d👨",
        "می\u200cخواهم",
        "葛\U000e0100城",
        "co\u00adop",
    ],
)
def test_words_and_emoji_stay(text: str) -> None:
    assert marks.plain(text) == text
