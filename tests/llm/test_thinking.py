from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bumble.llm import marks
from bumble.llm.marks import ThinkFilter

FRAGMENTS = [
    "<think>",
    "</think>",
    "<thinking>",
    "</thinking>",
    "<",
    "</",
    "think>",
    "a",
    "\n",
    "é ",
]
TEXTS = st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join)


def run(pieces: list[str], *, opened: bool = False) -> tuple[str, str, str]:
    thinking = ThinkFilter(opened=opened)
    shown = "".join([thinking.feed(piece) for piece in pieces]) + thinking.finish()
    return shown, thinking.text, thinking.reasoning


@given(TEXTS, st.lists(st.integers(0, 60)), st.booleans())
def test_the_split_never_matters(text: str, cuts: list[int], opened: bool) -> None:
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[a:b] for a, b in pairwise(edges)]
    assert run(pieces, opened=opened)[1:] == run([text], opened=opened)[1:]


@given(TEXTS)
def test_a_thought_stands_first_and_all_else_is_visible(text: str) -> None:
    shown, kept, hidden = run(list(text))
    assert kept in shown  # a stray closing tag takes back nothing that was shown
    if not hidden.strip() and not text.lstrip().startswith(tuple(FRAGMENTS[:4])):
        assert kept == text


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


@pytest.mark.parametrize("sign", ["<|endoftext|>", "<|im_end|>", "<|eot_id|>", "<end_of_turn>"])
def test_what_ends_a_turn_is_no_part_of_the_answer(sign: str) -> None:
    assert run(list(f'{{"text": "A calm day. {sign}"}}{sign}'))[1] == '{"text": "A calm day. "}'
    assert run([f"It ends with `{sign}`."])[1] == f"It ends with `{sign}`."
