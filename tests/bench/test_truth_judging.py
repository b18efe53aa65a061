from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from bench import truth_judging
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
