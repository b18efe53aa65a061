from __future__ import annotations

from bumble.records import state

OLD, MINE, YOURS = (f"2026-05-2{n}T09:00:00+01:00 note timer" for n in (3, 4, 5))


def test_the_wakes_of_both_clones_count() -> None:
    base = {"wake": {"recent": [OLD], "reason": "gap"}}
    current = {"wake": {"recent": [OLD, MINE], "reason": "woke"}}
    incoming = {"wake": {"recent": [OLD, YOURS], "reason": "silence"}}
    merged = state.STATE.join(base, current, incoming)["wake"]
    assert merged == state.STATE.join(base, incoming, current)["wake"]
    assert merged["recent"] == [OLD, MINE, YOURS]


def test_what_either_clone_asked_in_vain_is_asked_by_neither() -> None:
    past, later = "2026-05-23T03:00:00+01:00", "2026-05-24T03:00:00+01:00"
    base = {"consolidate": {"at": past, "count": 1, "vain": {"gone": past}}}
    current = {"consolidate": {"at": past, "count": 2, "vain": {"gone": past, "a": past}}}
    incoming = {"consolidate": {"at": later, "count": 2, "vain": {"a": later, "b": later}}}
    merged = state.STATE.join(base, current, incoming)["consolidate"]
    assert merged["vain"] == {"a": later, "b": later}
    assert merged == state.STATE.join(base, incoming, current)["consolidate"]
