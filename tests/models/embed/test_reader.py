"""The reader: how its head is stored and run, and what it gets right with the real weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bumble.models.embed import reader
from bumble.models.embed.reader import HeadReader, MessageReading
from bumble.models.weights import catalog, embedders

MESSAGES = Path(__file__).parents[3] / "training" / "messages.jsonl"
SAMPLE = 21  # every so many of the messages that nothing was learned from
WIDTH = 3 * 384  # of the states: two inner layers and the last


class Words:
    """An embedder of words: a state each, the same for the same word."""

    multilingual = True

    def states(self, text: str) -> tuple[Any, list[tuple[int, int]]]:
        offsets, at = [], 0
        for word in text.split():
            start = text.index(word, at)
            offsets.append((start, at := start + len(word)))
        rows = [
            np.random.default_rng(sum(map(ord, text[a:b]))).normal(size=WIDTH) for a, b in offsets
        ]
        return np.array(rows, np.float32).reshape(-1, WIDTH), offsets


def stored() -> dict[str, Any]:
    found = reader.weights("multilingual-e5-small")
    assert found is not None
    return dict(found)


def test_a_reading_says_what_shows_and_what_shows_most() -> None:
    one = MessageReading(1.0, {"tell": 0.2, "joke": 0.9, "task": -0.1})
    assert (one.main, one.has("task"), one.has("task", "tell")) == ("joke", False, True)
    assert MessageReading(1.0, {"joke": -0.1}).main == "joke"  # a guess is better than none
    assert MessageReading().main == "tell"


@pytest.fixture(scope="module")
def real(weights_folder: Path) -> HeadReader:
    known = catalog.load()
    name = "multilingual-e5-small"
    if not (weights_folder / name).is_dir():
        pytest.skip(f"{name} is not here: `bumble model pull {name}`")
    found = reader.over(embedders.open_embedder(weights_folder, known.entry(name)))
    assert found is not None
    return found


def test_it_tells_what_is_worth_keeping_of_writers_it_has_not_learned_from(
    real: HeadReader,
) -> None:
    if not MESSAGES.is_file():
        pytest.skip("the labelled messages don't come with a release")
    rows = [json.loads(line) for line in MESSAGES.read_text(encoding="utf-8").splitlines()]
    known = [row for row in rows if row["split"] == "test" and row.get("keep") is not None]
    sample = known[::SAMPLE]
    said = [real.read(row["text"], row.get("previous", "")).keep > 0 for row in sample]
    right = [row["keep"] for row in sample]
    hits = sum(s and r for s, r in zip(said, right, strict=True))
    assert 2 * hits / (sum(said) + sum(right)) >= 0.75  # .85 of all of them


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("remind me tomorrow at 9 to ring the vet", "remind"),
        ("what do you know about me", "ask_known"),
        ("whats my name", "ask_name"),
        ("translate 'good night' into Finnish", "task"),
        ("wann war nochmal der termin von Lena?", "ask_memory"),
    ],
)
def test_it_tells_what_is_asked(real: HeadReader, text: str, intent: str) -> None:
    assert real.read(text).has(intent)


def test_it_finds_who_introduces_themselves_and_when_a_reminder_is_due(real: HeadReader) -> None:
    assert real.read("hello, I'm Wilfred and I fix clocks").name == "Wilfred"
    assert real.read("im tove, i bake. who am i talking to then").introduced == "Tove"
    read = real.read("remind me tomorrow at 9 to ring the vet")
    assert "tomorrow" in read.when
    assert "vet" in read.what


@pytest.mark.parametrize(
    "before", ["not a word to Ola about it", "lunch was ok", "was sind 4 mal 5"]
)
def test_what_was_said_before_makes_no_confidence_or_correction(
    real: HeadReader, before: str
) -> None:
    for text in ("the hens are laying again", "hast du auch geschwister?", "i fixed the gutter"):
        assert not real.read(text, before).has("confide", "correct")


def test_who_names_somebody_else_introduces_nobody(real: HeadReader) -> None:
    for text in (
        *("Meine Frau heißt Ludmilla.", "my boss is called Ahmed", "Mijn zus heet Trijn."),
        *("Hello Ada, my cat is Tom", "Hello, my problem is Anna", "Hej, min hund heter Rex"),
        *("Hello Tom", "Hi, my wife is Lena", "Bonjour, mon chat s'appelle Félix"),
    ):
        assert real.read(text).introduced == ""


def test_over_an_embedder_of_english_other_languages_are_not_read() -> None:
    embedder = Words()
    embedder.multilingual = False
    reads = reader.HeadReader(embedder, stored())
    assert reads.read("Meine Schwester ist letzte Woche nach Lyon gezogen.") == MessageReading()
    assert reads.read("My sister has moved to Lyon with the children.").scores


def test_a_span_is_whole_words_and_without_spaces_whole_tokens() -> None:
    sure, unsure = (3.0, -9.0), (-9.0, -9.0)
    parts = ["今", "日は", "千", "早", "です"]  # the reader knows which are the name
    offsets = [(0, 1), (1, 3), (3, 4), (4, 5), (5, 7)]
    scores = np.array([unsure, unsure, sure, sure, unsure])
    assert reader.spans("".join(parts), offsets, scores, (-1.0, -1.0)) == ["千早", ""]
    offsets = [(0, 2), (3, 5), (5, 8), (8, 9)]
    scores = np.array([unsure, unsure, sure, unsure])
    assert reader.spans("im marlow.", offsets, scores, (-1.0, -1.0)) == ["marlow", ""]


def test_a_word_belongs_to_one_span() -> None:
    scores = np.array([(2.0, -9.0), (1.0, -0.5), (-0.5, 3.0)])
    found = reader.spans("at noon soup", [(0, 2), (3, 7), (8, 12)], scores, (-1.0, -1.0))
    assert found == ["at noon", "soup"]


@pytest.mark.weights
def test_a_name_is_found_in_a_script_without_spaces(real: HeadReader) -> None:
    assert real.read("我是林小雨，住在杭州").introduced == "林小雨"
    assert real.read("下周五下午三点提醒我交房租").when == "下周五下午三点"


def test_a_matrix_of_eight_bits_is_read_by_the_scale_of_its_columns() -> None:
    stored = {"a.w": np.array([[127, -64]], np.int8), "a.w.scale": np.array([0.5, 2], np.float16)}
    read = reader.unpacked(stored | {"a.b": np.ones(2, np.float16)})
    assert read["a.w"].tolist() == [[63.5, -128.0]]
    assert sorted(read) == ["a.b", "a.w"]
