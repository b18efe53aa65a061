from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bumble.llm import actions
from bumble.llm.say_reader import SayReader
from bumble.text.printable import whole

SAY = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUE: st.SearchStrategy[Any] = st.recursive(
    SAY | st.integers() | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SAY, inner, max_size=3),
    max_leaves=5,
)
NAME = st.sampled_from(["recall", "think", "text"])


@st.composite
def an_action(draw: st.DrawFn) -> dict[str, Any]:
    tool = draw(st.just("say") | NAME)
    arguments = {"text": draw(SAY)} if tool == "say" else draw(st.dictionaries(NAME, VALUE))
    members = [("tool", tool), ("arguments", arguments), ("note", draw(VALUE))]
    return dict(draw(st.permutations(members)))


ANSWERS = st.lists(an_action(), min_size=1, max_size=4).map(lambda actions: {"actions": actions})


def said(pieces: list[str]) -> list[str]:
    """Return what each text was while it came, which has to be what it is in the end."""
    reader, texts = SayReader(), dict[int, str]()
    for place, text in (one for piece in pieces for one in reader.feed(piece)):
        texts[place] = texts.get(place, "") + text
    assert [*texts.values()] == reader.texts[: len(texts)]
    return reader.texts


def split(text: str, cuts: list[int]) -> list[str]:
    edges = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[a:b] for a, b in pairwise(edges)]


@given(
    ANSWERS,
    st.booleans(),
    st.sampled_from([None, 0, 2]),
    st.lists(st.integers(0, 400), max_size=30),
)
def test_any_split_says_what_the_whole_json_says(
    answer: dict[str, Any], ascii_only: bool, indent: int | None, cuts: list[int]
) -> None:
    text = json.dumps(answer, ensure_ascii=ascii_only, indent=indent)
    says = [
        whole(action["arguments"]["text"])
        for action in json.loads(text)["actions"]
        if action["tool"] == "say" and list(action).index("tool") < list(action).index("arguments")
    ]
    assert said(split(text, cuts)) == says


def test_arguments_before_the_tool_wait_for_the_end() -> None:
    text = '{"actions":[{"arguments":{"text":"Hi"},"tool":"say"}]}'
    assert said(list(text)) == []
    assert actions.said_in(text) == "Hi"


def test_a_say_inside_the_arguments_of_another_tool_is_not_said() -> None:
    inner = {"tool": "say", "arguments": {"text": "secret"}}
    answer = {"actions": [{"tool": "write", "arguments": {"body": inner, "list": [[inner]]}}]}
    assert said([json.dumps(answer)]) == []


@pytest.mark.parametrize(
    "text", ["{smile} hello", "[laughs] hello", '{"a": 1} is JSON', "```py\nx\n```"]
)
def test_text_that_only_looks_like_json_at_first_is_said_whole(text: str) -> None:
    assert said(list(text)) == [text]


def test_a_broken_json_of_actions_is_never_shown() -> None:
    assert said(['{"actions": [{"tool"']) == []


def test_plain_text_waits_for_its_end_because_actions_may_follow() -> None:
    reader = SayReader()
    assert reader.feed("Let me ") + reader.feed("see.") == []
    assert reader.texts == ["Let me see."]
