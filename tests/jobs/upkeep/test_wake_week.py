"""A week with wake on, lived through the real commands: talks, a tick each half hour, nights."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bumble.entity import settings
from bumble.records import reminders
from tests.support import month
from tests.support.fake_server import FakeServer
from tests.support.month import LISBON, START, Stretch

CONFIG = settings.load().config.wake
Decisions = list[tuple[datetime, dict[str, Any]]]


def live(lived: Stretch, days: int) -> Decisions:
    """Live some days with wake on; return what each tick decided, exactly one thing."""
    lived.ok(START, "config", "set", "wake.enabled", "true")
    decisions: Decisions = []
    for moment in month.moments(days, talks=days, by_night=timedelta(hours=2)):
        if moment.person:
            lived.ok(moment.at, "chat", "--as", moment.person, moment.text)
            continue
        done = lived.data(moment.at, "tick", "--all")["done"]
        (decision,) = (each for each in done if each["pass"] == "wake")
        decisions.append((moment.at, decision))
    return decisions


def held_against(lived: Stretch, decisions: Decisions, days: int) -> None:
    """Hold what was decided against every limit."""
    assert lived.findings == []
    for _, decision in decisions:
        assert " because of " in decision["title"] or ": stays asleep, " in decision["title"]
    wakes = [(at, decision) for at, decision in decisions if decision["woke"]]
    assert len(wakes) > 2 * days
    by_day = Counter(at.astimezone(LISBON).date() for at, _ in wakes)
    assert max(by_day.values()) <= CONFIG.max_per_day
    gap = timedelta(seconds=CONFIG.min_gap_seconds)
    assert all(after - before >= gap for (before, _), (after, _) in pairwise(wakes))
    quiet = set(CONFIG.quiet_hours)
    assert not [at for at, _ in wakes if at.astimezone(LISBON).hour in quiet]
    left = [
        each
        for each in reminders.REMINDER.readable(lived.entity.reminders)
        if each.provenance.by == "wake"
    ]
    assert left and max(decision["messages"] for _, decision in wakes) <= 2
    spoken = [message for message in lived.messages() if message.unprompted]
    assert spoken
    # who begins to talk at night hears what waits; nobody is begun with
    talked = [message.at for message in lived.messages() if message.role == "user"]
    minute = timedelta(minutes=1)
    begun = [one for one in spoken if not any(abs(one.at - at) <= minute for at in talked)]
    assert not [one for one in begun if one.at.astimezone(LISBON).hour in quiet]
    lived.check(START + timedelta(days=days, hours=1))
    assert lived.findings == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_week_awake_keeps_every_limit_and_addresses_nobody_at_night(
    tmp_path: Path, home: Path, served: FakeServer
) -> None:
    lived = month.born(tmp_path / "ada", served, home, git=False)
    held_against(lived, live(lived, 7), 7)
