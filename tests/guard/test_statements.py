"""Floors of the verifier on statements that were written before its rules were run on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.truth_able import judged, of_talks

STATEMENTS = Path(__file__).parents[2] / "bench/data/statements"
SEEN_BY_RULES = {"number", "name", "date", "outdated", "own"}
LEAST = 0.92


@pytest.mark.parametrize("path", sorted(STATEMENTS.glob("*.yaml")), ids=lambda path: path.stem)
def test_what_is_true_stands_and_what_nobody_said_does_not(path: Path) -> None:
    statements = of_talks(path)
    kept = {each["id"] for each in statements if judged(each)["verdict"] != "mend"}
    true = [each["id"] in kept for each in statements if each["true"]]
    false = [
        each["id"] not in kept
        for each in statements
        if not each["true"] and each["kind"] in SEEN_BY_RULES
    ]
    assert len(true) >= 30 and sum(true) >= LEAST * len(true)
    assert len(false) >= 30 and sum(false) >= LEAST * len(false)


def test_a_number_said_of_something_else_bears_nothing_out_whatever_is_cited() -> None:
    [first, *_] = of_talks(STATEMENTS / "fresh_en_de.yaml")
    everything = [each["id"] for each in first["window"] if each["who"] != "Ada"]
    for sentence in (
        "Nuala has two daughters.",
        "Eleven loaves were sold.",
        "Nuala has forty ovens.",
    ):
        assert judged({**first, "sentence": sentence, "cites": everything})["verdict"] == "mend"
