from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from bumble.jobs import tick
from bumble.records import beliefs, dreams, relationships
from tests.support import month, nights
from tests.support.fake_server import FakeServer
from tests.support.month import START


@pytest.mark.slow
def test_five_days_of_talks_ticks_and_dreams_break_no_rule(
    tmp_path: Path, home: Path, served: FakeServer
) -> None:
    lived = month.born(tmp_path / "ada", served, home, git=False)
    often = {"by_day": timedelta(hours=4), "by_night": timedelta(hours=1)}
    lived.live(list(month.moments(5, talks=4, **often)))
    lived.check(START + timedelta(days=5))
    assert lived.findings == []
    assert lived.repeated >= 10
    dreamt = lived.dreamt()
    assert len(dreamt) >= 2
    assert len({one.at.astimezone(month.LISBON).date() for one in dreamt}) >= 2
    rows = month.by_day(lived)
    assert [row["turns"] for row in rows] == [4, 8, 4, 8, 3]  # the last by night
    assert all(row["episodes"] and row["tokens"] for row in rows)
    assert {one.name for one in relationships.PERSON.readable(lived.entity.relationships)} == {
        "Sam",
        "Bo",
    }
    assert any(
        one.category == "dream_insight" for one in beliefs.BELIEF.readable(lived.entity.beliefs)
    )


def test_a_dream_in_a_tick_is_told_of_in_the_run_ledger_by_its_id(
    tmp_path: Path, home: Path, served: FakeServer
) -> None:
    lived = month.born(tmp_path / "ada", served, home, git=False)
    nights.lived(lived.entity)
    lived.tick(nights.NIGHT)
    (dream,) = dreams.DREAM.readable(lived.entity.dreams)
    events = [event for run in tick.read(lived.entity.runs) for event in run.events]
    assert ("dream_cycle_completed", dream.id) in [(one.event, one.id) for one in events]
    assert lived.findings == []
