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

SIGNS = ["<|im_end|>", "<|user|>", "<|x|>", "<|im_start|>", "assistant", "<answer>", "</answer>"]
SIGNS += [". ", "```", "`", "analysis", "Final", "assistantfinal", "</s>", "<s>", "[INST]"]
SIGNED = st.lists(st.sampled_from([*FRAGMENTS, *SIGNS]), max_size=12).map("".join)


def run(pieces: list[str], *, opened: bool = False) -> tuple[str, str, str]:
    thinking = ThinkFilter(opened=opened)
    shown = "".join([thinking.feed(piece) for piece in pieces]) + thinking.finish()
    return shown, thinking.text, thinking.reasoning


@given(TEXTS | SIGNED, st.lists(st.integers(0, 60)), st.booleans())
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


HEARD = "A calm day."


@pytest.mark.parametrize(
    "text",
    [
        "<|thinking|>hm<|/thinking|>{}",
        "<|thinking|>hm<|end_thinking|>{}",
        "<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>{}<|END_RESPONSE|>",
        "<thinking>hm</thinking><reflection>hm</reflection><output>{}</output>",
        "<think>hm</think><answer>{}</answer>",
        "<think>hm</think>\n<|begin_of_box|>{}<|end_of_box|>",
        "{}<think>hm</think>",
        "{}<think>hm</think><think>hm</think>\n<|im_end|>",
        "<|channel|>commentary<|message|>hm<|end|><|start|>assistant"
        "<|channel|>final <|constrain|>text<|message|>{}",
        "analysisHm, a greeting.assistantfinal{}",
    ],
)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_thoughts_are_told_in_every_notation(text: str, size: int) -> None:
    whole = text.format(HEARD)
    shown, kept, _ = run([whole[at : at + size] for at in range(0, len(whole), size)])
    assert shown.strip() == kept.strip() == HEARD


@pytest.mark.parametrize(
    "text",
    [
        "<|im_start|>assistant\n{}<|im_end|>",
        "<start_of_turn>model\n{}<end_of_turn>",
        "<|start_header_id|>assistant<|end_header_id|>\n\n{}",
        "<|begin_of_text|>{}",
        "<s> {}</s>",
        "{}<SPECIAL_12>",
        "{}[e~[",
        "{}<|END_RESPONSE|><|END_OF_TURN_TOKEN|>",
        "{}<|end|><|user|>And you?",
        "{}</s>[INST] And you? [/INST]",
        "{}<|im_end|>\n<|im_start|>user\nAnd you?<|im_end|>\n<|im_start|>assistant\nMe too.",
    ],
)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_the_template_around_an_answer_and_turns_made_up_behind_it_are_left_out(
    text: str, size: int
) -> None:
    whole = text.format(HEARD)
    shown, kept, _ = run([whole[at : at + size] for at in range(0, len(whole), size)])
    assert shown.strip() == kept.strip() == HEARD


@pytest.mark.parametrize(
    "text",
    [
        "<p>Hola</p>",
        "<answer>42</answer>",
        "<response>\n<name>Ada</name>\n</response>",
        "Jetzt <s>9,99</s>",
        "<s>9.99</s> 5.00",
        "The token <|im_start|> begins a message.",
        "```\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nYo<|im_end|>\n```",
        "```xml\n<answer>4</answer>\n```",
        "[img]a.png[/img]",
        "cp <source> <filename>",
        "a < b, c > d; f(a[i], List<String>)",
        "analysisResults holds the sums.",
        "It is so. <think> opens a thought, </think> ends it.",
        "It looks so: <think>x</think>",
        "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>",
        "こんにちは。<ruby>漢</ruby>",
        "Привет <3",
        "¿Qué tal? <em>bien</em>",
        "<!DOCTYPE html>\n<html><output>3</output></html>",
    ],
)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_markup_that_was_asked_for_stays(text: str, size: int) -> None:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert run(pieces) == (text, text, "")
    behind = [*"<think>hm</think>", *pieces]
    if not text.startswith("<answer>"):
        assert run(behind)[0] == text
