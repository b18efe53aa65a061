from __future__ import annotations

from bumble.history import merge_rules

OLD, MINE, YOURS = (f"2026-05-2{n}T09:00:00+01:00 note timer" for n in (3, 4, 5))


def test_the_wakes_of_both_clones_count() -> None:
    base = {"wake": {"recent": [OLD], "reason": "gap"}}
    current = {"wake": {"recent": [OLD, MINE], "reason": "woke"}}
    incoming = {"wake": {"recent": [OLD, YOURS], "reason": "silence"}}
    merged = merge_rules.state(base, current, incoming)["wake"]
    assert merged == merge_rules.state(base, incoming, current)["wake"]
    assert merged["recent"] == [OLD, MINE, YOURS]
