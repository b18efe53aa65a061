from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from bench import truth_counting, truth_judging
from bench.truth_counting import MemoryEntry
from tests.support.planted import LIFE, lived, turn


def filled(path: Path, **verdicts: str) -> Path:
    """Fill in the sheet of a life."""
    entry = MemoryEntry("beliefs/a.md", "Mira is ill.\nAna: mira has a nut allergy")
    items = truth_judging.sheet([lived(entry, turns=[turn(0)])])
    for item in items:
        item.update({asked: verdicts[asked] for asked in item if asked in verdicts})
    truth_judging.write(path, items)
    return path


def test_a_sheet_is_blind_and_asks_nothing_that_a_rule_tells(tmp_path: Path) -> None:
    sheet = filled(tmp_path / "sheet.yaml")

    text = sheet.read_text()
    items = YAML(typ="safe").load(text)
    assert sorted((item["kind"], item["says"]) for item in items) == [
        ("reply", "Yes."),
        ("statement", "Mira is ill."),
    ]
    assert "beliefs/" not in text
    assert LIFE.name not in text.split("\n- id:", 1)[0]
    assert truth_judging.verdicts(sheet) == {}


def test_a_verdict_that_was_not_offered_is_refused(tmp_path: Path) -> None:
    sheet = tmp_path / "a.yaml"
    sheet.write_text("- {id: x, kind: reply, fine: maybe}\n")

    with pytest.raises(ValueError, match="maybe"):
        truth_judging.verdicts(sheet)


def test_a_fact_needs_all_of_its_texts_and_one_variant_in_one_entry() -> None:
    whole = MemoryEntry("beliefs/a.md", "Mira must not eat nuts.")
    halves = (MemoryEntry("a", "Mira is six."), MemoryEntry("b", "Nuts are bad."))

    assert truth_counting.count(lived(whole)).shares["facts kept"] == (1, 3)  # one was corrected
    assert truth_counting.count(lived(*halves)).shares["facts kept"] == (0, 3)


def test_of_a_correction_both_are_there_and_the_newer_comes_first() -> None:
    both = MemoryEntry("a", "2 july, not 30 june")
    asked = {"n": 0, "text": "when?", "person": "Ana", "reply": "", "hits": []}
    newer, older = "no, the fair is on 2 july", "(2026-06-01) Ana: fair is on the 30 june"
    asked["prompt"] = [f"It is 30 june.\n- {newer}. Before that: {older}"]

    counts = truth_counting.count(lived(both, questions=[asked]))

    assert counts.shares["corrections: both there"] == (1, 1)
    assert counts.shares["corrections: newer first in a prompt"] == (1, 1)
    for wrong in (f"- {older}\n- {newer}", f"2 july\n- {older}"):
        asked["prompt"] = [wrong]
        counts = truth_counting.count(lived(both, questions=[asked]))
        assert counts.shares["corrections: newer first in a prompt"] == (0, 1)


def test_a_joke_in_memory_is_counted() -> None:
    counts = truth_counting.count(lived(MemoryEntry("a", "The cuckoo has left.")))

    assert counts.shares["jokes kept"] == (1, 1)


def test_a_confidence_crosses_where_another_gets_it() -> None:
    safe = {"n": 0, "text": "is she well?", "person": "Bo", "reply": "Yes.", "hits": ["nothing"]}
    safe |= {"prompt": ["a prompt"]}
    leak = safe | {"reply": "She owes 9300.", "prompt": ["she owes 9300"]}
    known = leak | {"text": "does she owe 9300?"}

    counts = truth_counting.count(lived(questions=[safe, leak, known]))

    assert counts.shares["confidences crossed: replies"] == (1, 3)
    assert counts.shares["confidences crossed: prompts"] == (1, 3)
    assert counts.shares["confidences crossed: searches"] == (0, 3)


@pytest.mark.parametrize(
    ("sentence", "person", "is_quote"),
    [
        ("Ana said: “mira has a nut allergy”.", "", True),
        ("2026-06-15: \"Mira has a nut allergy\"", "ana", True),
        ("Ana: mira has a nut allergy", "", True),
        ("mira has a nut allergy", "ana", True),
        ("mira has a nut allergy", "bo", False),
        ("Bo said: “mira has a nut allergy”.", "", False),
        ("mira has a nut allergy", "", False),  # who says so?
        ("Ana said: “mira has a cat”.", "", False),
        ("“nut allergy”, she whispered.", "ana", False),  # too little to be a quote
        ("Ana told me at length, while we sat in the kitchen and she wept, “mira has a nut"
         " allergy”.", "", False),
    ],
)  # fmt: skip
def test_a_quote_of_the_right_person_is_supported(
    sentence: str, person: str, is_quote: bool
) -> None:
    entry = MemoryEntry("relationships/x.md", sentence, person)

    assert truth_counting.is_quote(sentence, entry, lived()) is is_quote
