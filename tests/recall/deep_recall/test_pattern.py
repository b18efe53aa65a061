from __future__ import annotations

import time

import pytest

from bumble.errors import UsageError
from bumble.recall.deep_recall import search_scope


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("lighthouse", "We saw the Lighthouse."),
        ("light*", "We saw the lighthouses."),
        ("*keep*", "Two housekeepers, one house."),
        ("pier | quay", "Down at the quay"),
        ("old pier", "at the Old  Pier, again"),
        ("cafe", "Im Café war es laut."),
        ("o'brien", "Mrs O’Brien came"),
        ("東京", "昨日東京へ"),
        ("東京都", "昨日東京都へ"),
        ("well-known", "A well known pier"),
    ],
)
def test_words_phrases_alternatives_and_letters_match(source: str, text: str) -> None:
    assert search_scope.parse(source).matches(text)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("light", "We saw the lighthouse."),
        ("old pier", "the pier is old"),
        ("a*b*c", "acb"),
        ("ab*ba", "aba"),
    ],
)
def test_what_stands_otherwise_does_not(source: str, text: str) -> None:
    assert not search_scope.parse(source).matches(text)


@pytest.mark.parametrize("source", ["", "*", "| *", "x" * 201])
def test_a_pattern_without_a_word_or_too_long_is_refused(source: str) -> None:
    with pytest.raises(UsageError):
        search_scope.parse(source)


def test_no_pattern_keeps_a_search_busy() -> None:
    started = time.perf_counter()
    assert not search_scope.parse("*a" * 99).matches("b" + "a" * 90 + "b" * 100_000)
    assert not search_scope.parse("a " * 100).matches("a b " * 25_000)
    assert time.perf_counter() - started < 2
