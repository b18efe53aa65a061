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


def test_shares_count_quotes_as_supported(tmp_path: Path) -> None:
    sheet = filled(tmp_path / "a.yaml", fine="yes", roles="right", statement="wrong")
    entry = MemoryEntry("beliefs/a.md", "Mira is ill.\nAna: mira has a nut allergy")

    counted = truth_judging.shares([lived(entry, turns=[turn(0)])], truth_judging.verdicts(sheet))

    assert counted["fine"] == {"yes": 1}
    assert counted["statement"] == {"wrong": 1, "supported": 1}


def test_a_verdict_that_was_not_offered_is_refused(tmp_path: Path) -> None:
    sheet = tmp_path / "a.yaml"
    sheet.write_text("- {id: x, kind: reply, fine: maybe}\n")

    with pytest.raises(ValueError, match="maybe"):
        truth_judging.verdicts(sheet)


@pytest.mark.parametrize(
    ("pairs", "kappa"),
    [
        ([], None),
        ([("a", "a"), ("a", "a")], 1.0),
        ([("a", "b"), ("b", "a")], -1.0),
        ([("a", "a")] * 20 + [("a", "b")] * 5 + [("b", "a")] * 10 + [("b", "b")] * 15, 0.4),
    ],
)
def test_kappa(pairs: list[tuple[str, str]], kappa: float | None) -> None:
    measured = truth_judging.kappa(pairs)

    assert measured == (kappa if kappa is None else pytest.approx(kappa))


def test_agreement_is_counted_where_both_have_judged() -> None:
    first = {("x", "fine"): "yes", ("y", "fine"): "no", ("x", "roles"): "right"}
    second = {("x", "fine"): "yes", ("y", "fine"): "no"}

    agreed = truth_judging.agreement(first, second)

    assert agreed["fine"] == (2, 1.0)
    assert agreed["roles"] == (0, None)
