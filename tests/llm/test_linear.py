"""What a model or another machine sends is read in time that grows with its length, no faster."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from functools import partial

import pytest

from bumble.bridges.imports import card
from bumble.chat import code_answers
from bumble.errors import AnswerInvalidError
from bumble.index import form
from bumble.jobs import portrait
from bumble.llm import actions, structured, written_calls
from bumble.llm.marks import ThinkFilter
from bumble.llm.protocol import Tool
from bumble.llm.say_reader import SayReader
from bumble.llm.structured import MOST_DEEP
from bumble.prompt import handover
from bumble.records import narrative
from tests.support.sweeps import turns

CHARS = 20_000
PATTERNS = [
    (code_answers._SUM, "1 "),
    (code_answers._PERCENT, "1"),
    (handover._FILE, "1."),
    (card._START, "\n"),
    (form._PARAGRAPH, "\t"),
    (portrait._GAPS, " "),
    (narrative._CITED, "\t"),
]


def seconds(work: Callable[[], object]) -> float:
    """Return how long something takes, at its best of three: a shared machine is slow at times."""
    best = float("inf")
    for _ in range(3):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


@pytest.mark.parametrize(("pattern", "unit"), PATTERNS)
def test_no_pattern_looks_at_one_place_again_and_again(pattern: re.Pattern[str], unit: str) -> None:
    text = (unit * CHARS)[:CHARS]
    assert seconds(lambda: sum(1 for _ in pattern.finditer(text))) < 0.4  # squared: 1.6 s


def fed(reader: SayReader | ThinkFilter, text: str) -> None:
    for start in range(0, len(text), 4):
        reader.feed(text[start : start + 4])


@pytest.mark.parametrize(
    "form",
    turns(2, ['{{"actions":[{{"tool":"say","arguments":{{"text":"{}', '{{"x":"{}', "{}", "[{}"]),
)
def test_a_stream_of_twice_the_length_takes_twice_the_time(form: str) -> None:
    short, long = (form.format("1,2 " * (chars // 4)) for chars in (40_000, 160_000))
    assert seconds(lambda: fed(SayReader(), long)) < 8 * seconds(lambda: fed(SayReader(), short))
    assert seconds(lambda: fed(ThinkFilter(), long)) < 8 * seconds(
        lambda: fed(ThinkFilter(), short)
    )


@pytest.mark.parametrize(
    "unit", ["<|a|>", "<|im_end|> ", "<s>", "Yes.<think>", "analysis", "<answer> ", "`", "[", " \n"]
)
def test_marks_without_end_are_read_in_time_that_grows_with_them(unit: str) -> None:
    long = unit * (80_000 // len(unit))
    for begin in ("", "Yes.", "Yes.<|a|>", "<think>a</think><answer>", "Yes.<think>a</think>"):
        assert seconds(partial(fed, ThinkFilter(), begin + long)) < 1.5


@pytest.mark.parametrize(
    "unit",
    [
        *("<tool_call>", "```", "say(", "[say(", '{"name": "say", "arguments": {', "say    "),
        *("<function=say>", "<parameter=a>b", "[TOOL_CALLS]say", "<|channel|>a to=say {", " "),
        '<tool_call>{"name": "say", "arguments": "{',
    ],
)
def test_written_calls_are_not_looked_for_again_and_again(unit: str) -> None:
    tools = [Tool("say", "speak", {"type": "object"})]
    for text in (unit * (80_000 // len(unit)), f"<tool_call>{unit * (80_000 // len(unit))}"):
        assert seconds(partial(written_calls.read, text, tools)) < 1.5


def test_a_hundred_thousand_brackets_are_no_answer_and_cost_nothing() -> None:
    text = "[" * 100_000

    def read() -> None:
        with pytest.raises(AnswerInvalidError):
            actions.parse(text)
        with pytest.raises(ValueError, match="no JSON"):
            structured.read(text, {"type": "object"})
        reader = SayReader()
        fed(reader, text)
        assert reader.texts == []

    assert seconds(read) < 0.2


@pytest.mark.parametrize(("deep", "is_read"), [(MOST_DEEP - 5, True), (MOST_DEEP + 1, False)])
def test_what_is_nested_deeper_than_the_limit_is_refused(deep: int, is_read: bool) -> None:
    nested = json.loads("[" * deep + "]" * deep)
    text = json.dumps({"actions": [{"tool": "note", "arguments": {"text": nested}}]})
    if is_read:
        assert actions.parse(text)[0].name == "note"
    else:
        with pytest.raises(AnswerInvalidError, match="could not be read"):
            actions.parse(text)
