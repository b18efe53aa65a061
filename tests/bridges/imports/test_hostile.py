"""Whatever the parsers are given, they end, and raise nothing but what a person can act on."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bumble.bridges.imports import card, foreign, formats, source
from bumble.bridges.imports.items import (
    Fact,
    ImportContext,
    ImportedPersona,
    ImportedTalk,
    LeftOut,
    Recipe,
)
from bumble.errors import ImportInvalidError
from tests.support import exports

CONTEXT = ImportContext(ZoneInfo("Asia/Kathmandu"), str)
# Keys and values that mean something somewhere, in every place where they don't belong.
WORDS = st.sampled_from(
    [
        *("id", "mapping", "message", "parent", "author", "role", "user", "assistant", "content"),
        *("parts", "content_type", "text", "metadata", "create_time", "current_node", "uuid"),
        *("chat_messages", "sender", "human", "attachments", "time", "title", "header", "html"),
        *("conversation", "responses", "response", "agents", "blocks", "messages", "label"),
        *("spec", "data", "name", "chara_card_v3", "entries", "keys", "first_mes", "description"),
    ]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**15), 10**15),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    WORDS,
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=25,
)
SEEDS: tuple[Any, ...] = (
    [exports.gpt_moving()],
    [exports.claude_talk()],
    exports.gemini_records(),
    exports.grok_export(),
    exports.letta_agent(),
    exports.card(),
)


def broken_up(value: Any, draw: Any) -> Any:
    """Put something else in the place of some part of a value."""
    if draw(st.integers(0, 9)) == 0:
        return draw(VALUES)
    if isinstance(value, dict):
        return {key: broken_up(inner, draw) for key, inner in value.items()}
    return [broken_up(inner, draw) for inner in value] if isinstance(value, list) else value


@st.composite
def damaged(draw: Any) -> Any:
    return broken_up(draw(st.sampled_from(SEEDS)), draw)


def read(data: bytes, name: str, form: str) -> list[Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        with source.opened(path) as files:
            return list(formats.BY_NAME[form].read(files, CONTEXT))


@pytest.mark.parametrize(
    "form", ["chatgpt", "claude", "gemini", "grok", "letta", "card", "lorebook"]
)
@given(data=VALUES | damaged())
def test_no_json_of_any_shape_is_a_bug(form: str, data: Any) -> None:
    items = read(json.dumps(data).encode(), "conversations.json", form)
    kinds = (ImportedTalk, Fact, Recipe, ImportedPersona, LeftOut)
    assert all(isinstance(item, kinds) for item in items)
    for talk in (item for item in items if isinstance(item, ImportedTalk)):
        assert all(isinstance(turn.text, str) and isinstance(turn.id, str) for turn in talk.turns)


@pytest.mark.parametrize("form", list(formats.BY_NAME))
@given(data=st.binary(max_size=300))
def test_no_bytes_are_a_bug(form: str, data: bytes) -> None:
    for name in ("conversations.json", "MEMORY.md", "entity.yaml"):
        try:
            items = read(data, name, form)
        except ImportInvalidError as error:
            assert str(error)
            continue
        assert all(
            isinstance(item, ImportedTalk | Fact | Recipe | ImportedPersona | LeftOut)
            for item in items
        )


@given(data=st.binary(max_size=200), at=st.integers(0, 400))
def test_no_damaged_image_is_a_bug(data: bytes, at: int) -> None:
    whole = exports.png(ccv3=exports.encoded(exports.card()))
    image = exports.PNG + data if at > 300 else whole[:at] + data + whole[at + len(data) :]
    try:
        parsed = card.parse(card.from_png(image)[0])
    except ValueError as error:
        assert str(error)
    else:
        assert isinstance(parsed.name, str)


def streamed(stream: io.BytesIO) -> list[Any]:
    found = list[Any]()
    try:
        for _, item in foreign.items(stream, ""):
            found.append(item)
    except ValueError as error:
        found.append(error)
    return found


def test_what_is_nested_beyond_measure_is_passed_over() -> None:
    deep = "[" * 200_000 + "]" * 200_000
    items = streamed(io.BytesIO(f'[{{"a": {deep}}}, {{"b": 1}}]'.encode()))
    assert isinstance(items[0], ValueError)
    assert items[1] == {"b": 1}


def test_a_text_without_end_ends_the_file_and_not_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(foreign, "MAX_TEXT_BYTES", 200_000)
    stream = io.BytesIO(b'[{"a": 1}, {"b": "' + b"x" * 5_000_000 + b'"}]')
    items = streamed(stream)
    assert items[0] == {"a": 1}
    assert "breaks off" in str(items[-1])
    assert stream.tell() < 500_000


@pytest.mark.parametrize(
    "odd", ["9" * 4_301, "9" * 200_000, "nothing", "{", '"\\u12"', "\x00", "[1,,2]"]
)
def test_an_item_that_is_no_json_ends_nothing(odd: str) -> None:
    text = f"{'7' * 100_000}\\\\"
    items = streamed(io.BytesIO(f'[{{"a": "{text}"}}, {{"b": {odd}}}, {{"c": 1}}]'.encode()))
    assert len(items[0]["a"]) == 100_001
    assert isinstance(items[1], ValueError)
    assert odd == "{" or items[2] == {"c": 1}


def test_times_of_all_exports_are_read() -> None:
    values: tuple[object, ...] = (
        1_714_000_000,
        1_714_000_000_000,
        "1714000000",
        "2024-04-24T23:06:40Z",
        "2024-04-24T23:06:40",
        {"$date": {"$numberLong": "1714000000000"}},
        {"$date": "2024-04-25T00:06:40+01:00"},
    )
    for value in values:
        at = foreign.moment(value)
        assert at is not None
        assert at.timestamp() == 1_714_000_000
    unknown: tuple[object, ...] = (0, None, "", "soon", True, 1e300, [])
    assert [foreign.moment(value) for value in unknown] == [None] * 7
