from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bumble.entity.folder import Entity
from bumble.jobs import dream
from bumble.records import state
from bumble.runtime.runtime import Runtime
from tests.support.nights import LISBON, NIGHT, ON, dreamer, night, runtime_of, spoken


@pytest.fixture
def ada(tmp_path: Path) -> Entity:
    return dreamer(tmp_path)


def gate(runtime: Runtime, name: str) -> bool:
    return {one.name: one.passes for one in dream.check(runtime).conditions}[name]


def test_dreams_are_off_until_somebody_wants_them(ada: Entity) -> None:
    found = dream.check(runtime_of(ada))
    assert not found.due
    assert [one.name for one in found.conditions if not one.passes] == ["enabled"]
    assert [one.name for one in found.conditions] == [
        "enabled",
        "silence",
        "cooldown",
        "hours",
        "daily cap",
        "model",
    ]


def test_silence_counts_from_the_newest_message_of_any_conversation(ada: Entity) -> None:
    assert gate(runtime_of(ada), "silence")
    spoken(ada, NIGHT - timedelta(hours=9))
    spoken(ada, NIGHT - timedelta(minutes=59))
    spoken(ada, NIGHT - timedelta(days=3))
    assert not gate(runtime_of(ada), "silence")
    assert gate(runtime_of(ada, at=NIGHT + timedelta(minutes=1)), "silence")


def test_the_cooldown_and_the_cap_survive_the_process(ada: Entity) -> None:
    early = datetime(2026, 5, 24, 0, 30, tzinfo=LISBON)
    night(ada, early)
    assert not dream.check(runtime_of(ada, at=early + timedelta(hours=3.9), overrides=ON)).due
    night(ada, early + timedelta(hours=4))
    later = runtime_of(
        ada, at=early + timedelta(hours=5.4), overrides=ON | {"soma.dreams.min_gap_seconds": 60}
    )
    assert not gate(later, "daily cap")
    assert state.read(ada.state).get("dream", "count") == 2


def test_the_day_ends_at_midnight_where_the_entity_lives(ada: Entity) -> None:
    late = datetime(2026, 5, 23, 23, 50, tzinfo=LISBON)  # 22:50 in UTC, also the 23rd
    more: dict[str, Any] = {
        "soma.dreams.max_cycles_per_day": 1,
        "soma.dreams.min_gap_seconds": 0,
        "soma.dreams.dream_hours": [22, 23, 0, 1],
    }
    night(ada, late, settings=more)
    assert state.read(ada.state).get("dream", "day") == "2026-05-23"
    assert not gate(
        runtime_of(ada, at=late + timedelta(minutes=9), overrides=ON | more), "daily cap"
    )
    night(ada, late + timedelta(minutes=11), settings=more)  # 23:01 in UTC: still the 23rd there
    assert state.read(ada.state).get("dream", "count") == 1


@pytest.mark.parametrize(
    ("at", "hours", "passes"),
    [
        ("2026-05-24T00:00:00+01:00", [0, 1, 2, 3, 4, 5], True),
        ("2026-05-24T05:59:59+01:00", [0, 1, 2, 3, 4, 5], True),
        ("2026-05-24T06:00:00+01:00", [0, 1, 2, 3, 4, 5], False),
        ("2026-05-24T03:00:00+00:00", [3], False),  # four o'clock in Lisbon
        ("2026-05-24T23:30:00+01:00", [22, 23, 0, 1], True),
        ("2026-05-25T00:30:00+01:00", [22, 23, 0, 1], True),
        ("2026-05-24T12:00:00+01:00", [22, 23, 0, 1], False),
        ("2026-03-29T00:59:00+00:00", [1], False),  # one o'clock never comes on this night
        ("2026-03-29T01:00:00+00:00", [1], False),
        ("2026-03-29T01:00:00+00:00", [2], True),
        ("2026-10-25T00:30:00+00:00", [1], True),  # one o'clock, summer time
        ("2026-10-25T01:30:00+00:00", [1], True),  # one o'clock again
        ("2026-05-24T03:00:00+01:00", [], False),
    ],
)
def test_the_hours_are_those_of_the_entity_s_zone(
    ada: Entity, at: str, hours: list[int], passes: bool
) -> None:
    runtime = runtime_of(
        ada, at=datetime.fromisoformat(at), overrides={"soma.dreams.dream_hours": hours}
    )
    assert gate(runtime, "hours") == passes
