from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bumble.text import yaml_edit, yaml_read
from bumble.text.yaml_edit import SourceError

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
WORDS = """yes no null ~ 1.10 0x1F 010 1e5 12:30:45 2026-05-24 - a: b# 'x' "y" &a *a !t
| > %x @x , [] {} << --- ... é 🐝 don't 1_000 .inf -0 +1 = ? : :x x: a#b"""
SPACED = ["", " ", "\n", "\n\n", "a\nb", "a\nb\n", " x\ny", "\t", "\u2028", "\x85", "a\n \nb"]
TRICKY = st.sampled_from([*WORDS.split(), "\ufeff", *SPACED])
TEXT = ANY_TEXT | TRICKY
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXT
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)
KEYS = ("at", "people", "note", "deep", "x y", "über")

# values as a person may write them, each to stand behind `key:` at some indentation
WRITTEN = [
    " 1",
    " 1.10 # exact",
    "",
    " # nothing yet",
    " plain words, with a comma",
    " 'single ''quoted'''",
    ' "double \\" quoted" # so',
    " [a, b]",
    " [a,\n    b,  # two\n  ]",
    " {a: 1, b: [2]}",
    "\n  - a\n  - b # second",
    " # why\n  # between\n  - a\n\n  - {b: 1}",
    "\n- a\n- b",
    " |\n  text\n\n  more",
    " |- # folded?\n  text",
    " >\n  folded\n  text\n",
    "\n  one: 1\n  # inside\n  two:\n    three: 3",
    " words that\n  go on",
    " yes",
    " 2026-05-24T03:12:47+02:00",
    " ~",
    " é 🐝",
]
BETWEEN = st.sampled_from(["", "", "", "\n", "# a comment\n", "\n# two: lines\n#\n\n", "  \n"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    keys = draw(st.lists(st.sampled_from(KEYS), unique=True, max_size=5))
    parts = [draw(BETWEEN)]
    for key in keys:
        written = draw(st.sampled_from(WRITTEN))
        parts += [f"{key}:{written}\n", draw(BETWEEN)]
    source = "".join(parts)
    if draw(st.booleans()) and not re.search(r"[|>]", source):
        source = source.rstrip("\n")
    return draw(st.sampled_from([source, source, source.replace("\n", "\r\n")]))


def changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    while old and new and old[0] == new[0]:
        old, new = old[1:], new[1:]
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    return old, new


@given(st.dictionaries(TEXT, VALUES, max_size=5))
def test_what_is_dumped_reads_back_the_same(values: dict[str, Any]) -> None:
    assert yaml_edit.parse_mapping(yaml_edit.dump(values)) == values


@given(documents(), st.sampled_from([*KEYS, "new"]), VALUES)
def test_setting_a_value_gives_what_was_wanted(source: str, key: str, value: Any) -> None:
    before = yaml_edit.parse_mapping(source)
    after = yaml_edit.set_value(source, [key], value)
    assert yaml_edit.parse_mapping(after) == {**before, key: value}
    assert list(yaml_edit.parse_mapping(after)) == list({**before, key: value})


@given(documents(), st.sampled_from([*KEYS, "new"]), VALUES)
def test_setting_a_value_changes_no_other_key_and_no_comment_above(
    source: str, key: str, value: Any
) -> None:
    after = yaml_edit.set_value(source, [key], value)
    spans = {name: text for name, text in key_spans(source).items() if name != key}
    kept = {name: text for name, text in key_spans(after).items() if name != key}
    assert {name: text.rstrip("\r\n") for name, text in kept.items()} == {
        name: text.rstrip("\r\n") for name, text in spans.items()
    }
    assert ("\r\n" in after) >= ("\r\n" in source)


def key_spans(source: str) -> dict[str, str]:
    """Return each top-level key with the comments above it and its own lines."""
    found: dict[str, str] = {}
    above, current = "", ""
    for line in source.splitlines(keepends=True):
        match = re.match(r"([^\s#\-\]][^:]*):", line)
        if match:
            current = match[1]
            found[current], above = above + line, ""
        elif line.startswith("#") or not line.strip():
            above += line
        elif current:
            found[current] += above + line
            above = ""
    return found


@given(documents(), st.sampled_from(KEYS))
def test_setting_what_is_there_changes_no_byte(source: str, key: str) -> None:
    before = yaml_edit.parse_mapping(source)
    if key in before:
        assert yaml_edit.set_value(source, [key], before[key]) == source


@given(documents(), st.sampled_from(KEYS))
def test_removing_takes_the_key_and_leaves_the_others(source: str, key: str) -> None:
    after = yaml_edit.remove(source, [key])
    before = yaml_edit.parse_mapping(source)
    before.pop(key, None)
    assert yaml_edit.parse_mapping(after) == before
    if key not in yaml_edit.parse_mapping(source):
        assert after == source


@given(documents(), st.sampled_from(KEYS), st.sampled_from(["one", "new"]), VALUES)
def test_a_nested_value_is_set_or_refused(source: str, key: str, below: str, value: Any) -> None:
    before = yaml_edit.parse_mapping(source)
    there = before.get(key)
    if there is not None and not isinstance(there, dict):
        with pytest.raises(SourceError, match="not further keys"):
            yaml_edit.set_value(source, [key, below], value)
        return
    after = yaml_edit.set_value(source, [key, below], value)
    assert yaml_edit.parse_mapping(after) == {**before, key: {**(there or {}), below: value}}


@given(documents(), st.sampled_from(KEYS), st.sampled_from(["one", "a", "new"]))
def test_a_nested_value_is_removed(source: str, key: str, below: str) -> None:
    before = yaml_edit.parse_mapping(source)
    after = yaml_edit.remove(source, [key, below])
    if isinstance(before.get(key), dict):
        before[key] = {name: item for name, item in before[key].items() if name != below}
    assert yaml_edit.parse_mapping(after) == before


@given(st.text("ab:-[]{}\"'\\#&*!|>%@`?, \n\t01.~", max_size=30))
def test_any_text_reads_or_is_a_source_error(source: str) -> None:
    try:
        values = yaml_edit.parse_mapping(source)
    except SourceError:
        return
    try:
        after = yaml_edit.set_value(source, ["new"], "x")
    except SourceError:
        return
    assert yaml_edit.parse_mapping(after) == {**values, "new": "x"}


LINES = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["", "", "  ", "    ", "      ", " "]),
        st.sampled_from(
            [
                *("a:", "b:", "a: 1", "b: x", "- a", "- {k: v}", "- a: 1", "# c", "no: 1", ""),
                *("b: |", "a: |", "a: |-  # c", "text, more", "a: 1 # c", "b: x, y: #", "#c"),
                *("- # c", "a: x:", "a: {b: [1,", "2], c: x", "}", "a: [x,", "y]"),
            ]
        ),
    ),
)


@given(
    st.lists(LINES, max_size=7).map("\n".join)
    | st.text("ab:-[]{}\"'\\, \n01.#|", max_size=25).map(lambda text: f"k: {text}\nb:\n  - {text}")
    | st.dictionaries(st.from_regex("[a-z]{1,3}", fullmatch=True), VALUES).map(yaml_edit.dump)
)
def test_the_plain_reader_agrees_with_the_full_one_or_stands_back(source: str) -> None:
    plain = yaml_read.read_plain(source)
    if plain is not yaml_read.MISSING:
        assert repr(plain) == repr(yaml_edit.parse(source) or {})


def test_the_plain_reader_takes_what_bumble_writes() -> None:
    source = (
        "at: 2026-05-24T03:12:47+02:00\nsignificance: 0.62\npeople: [sam, ada]\nimprints:\n"
        '  - {emotion: curious, trigger: "the sea, again: \\"more\\""}\nscores:\n  warmth: 0.5\n'
    )
    assert yaml_read.read_plain(source) == yaml_edit.parse(source)


@pytest.mark.parametrize("source", ["a: 1\na: 2\n", "a: 1\nb:\n  c: 1\n  c: 2\n"])
def test_a_key_given_twice_is_an_error_with_its_line(source: str) -> None:
    with pytest.raises(SourceError, match="duplicate") as caught:
        yaml_edit.parse_mapping(source)
    assert caught.value.line == source.count("\n")


def test_an_edit_touches_one_line() -> None:
    source = "# who\nname: Ada   # hers\n\n\nmood:   'calm'\nn: 0x10\n"
    assert changed_lines(source, yaml_edit.set_value(source, ["mood"], "wild")) == (
        ["mood:   'calm'\n"],
        ["mood: wild\n"],
    )


def test_an_anchor_that_is_used_elsewhere_is_refused() -> None:
    source = "base: &b {a: 1}\nother: *b\n"
    with pytest.raises(SourceError, match="by hand") as caught:
        yaml_edit.set_value(source, ["base"], 5)
    assert caught.value.line == 1
    assert yaml_edit.set_value(source, ["more"], 1) == source + "more: 1\n"


@pytest.mark.parametrize(
    "source",
    [
        "a: &a [*a]\n",
        "\n".join(
            ["a0: &a0 [x]"]
            + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
        ),
        "a: " + "[" * 3000,
    ],
    ids=["ring", "bomb", "deep"],
)
def test_what_would_blow_up_is_refused(source: str) -> None:
    with pytest.raises(SourceError):
        yaml_edit.parse_mapping(source)


@pytest.mark.parametrize(
    "text", ["yes", "1.10", "010", "2026-05-24", "~", "- a", "a: b", "", " x", "null"]
)
def test_text_that_looks_like_something_else_is_quoted(text: str) -> None:
    assert yaml_edit.scalar(text).startswith('"')


def test_a_block_text_that_a_new_line_end_would_change_is_refused() -> None:
    with pytest.raises(SourceError, match="by hand"):
        yaml_edit.set_value("a: |\n  text", ["b"], 1)


def test_the_blank_lines_that_a_block_keeps_are_its_own() -> None:
    source = "a: |+\n  kept\n\n"
    assert yaml_edit.set_value(source, ["b"], 1) == source + "b: 1\n"
    assert yaml_edit.parse_mapping(yaml_edit.set_value(source, ["a"], "x")) == {"a": "x"}


NAMES = st.from_regex("[a-z][a-z_]{0,3}", fullmatch=True)
NESTED = st.dictionaries(
    NAMES, SCALARS | st.dictionaries(NAMES, SCALARS | st.dictionaries(NAMES, SCALARS, max_size=2))
)


@given(NESTED, st.integers() | st.sampled_from(["x", "a: b", ""]), st.randoms())
def test_what_bumble_wrote_is_changed_on_one_line(
    values: dict[str, Any], value: Any, rng: Random
) -> None:
    keys, there = [], values
    while isinstance(there, dict) and there:
        keys.append(rng.choice(sorted(there)))
        there = there[keys[-1]]
    if isinstance(there, dict) or "\n" in str(there):
        return
    source = yaml_edit.dump(values)
    after = yaml_edit.set_value(source, keys, value)
    wanted: Any = yaml_edit.parse_mapping(after)
    for key in keys:
        wanted = wanted[key]
    assert wanted == value
    old, new = changed_lines(source, after)
    assert len(old) == len(new) <= 1
    assert yaml_edit.set_value(after, keys, there) in (source, yaml_edit.dump(values))


@pytest.mark.parametrize("head", ["%YAML 1.9\n---\n", "a: 1\nb:\n%YAML 9.9\n  c: d\n"])
def test_a_directive_of_another_version_is_no_yaml(head: str) -> None:
    with pytest.raises(SourceError, match="not valid YAML"):
        yaml_read.parse_mapping(f"{head}a: 1\n")
    assert yaml_read.compose(f"{head}a: 1\n") is None


def test_texts_as_many_as_a_folder_has_are_read_once() -> None:
    texts = [f"rows:\n  - {{n: {n}}}\n" for n in range(200)]
    yaml_read._kept.cache_clear()
    for _ in range(3):
        for n, text in enumerate(texts):
            value = yaml_read.parse(text)
            assert value == {"rows": [{"n": n}]}
            value["rows"].clear()  # it is the caller's own
    assert yaml_read._kept.cache_info().misses == len(texts)
    long = yaml_read.MAX_KEPT_CHARACTERS
    yaml_read.parse(f"{texts[0]}# {'x' * long}")
    assert yaml_read._kept.cache_info().misses == len(texts)
