from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bumble.body import significance
from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.jobs import consolidate
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.records import beliefs, episodes, narrative, state
from bumble.records.base import Provenance
from bumble.runtime import job
from bumble.runtime.job import JobResult
from tests.support.nights import (
    NIGHT,
    dreamer,
    remember,
    runtime_of,
    spoken,
    truth,
)
from tests.support.story import telling

INTERVAL = timedelta(hours=2)
MUSED = ("consolidate: noise: no new thought",)  # the scripted model has none


@pytest.fixture
def ada(tmp_path: Path) -> Entity:
    return dreamer(tmp_path)


def once(
    entity: Entity, at: datetime = NIGHT, replies: list[Reply] | None = None, **more: Any
) -> list[JobResult]:
    """Consolidate, if it is due."""
    runtime = runtime_of(entity, replies or [], at)
    found = consolidate.check(runtime, **more)
    done = []
    for step in found.jobs if found.due else ():
        outcome = consolidate.run(runtime, step)
        job.apply(runtime, outcome)
        done.append(outcome)
    return done


def count(entity: Entity) -> int:
    return int(state.read(entity.state).get("consolidate", "count", default=0))


def test_twice_in_a_row_the_second_changes_no_byte_and_asks_nothing(ada: Entity) -> None:
    remember(ada, 20, "Faint.", 10, significance=0.01)
    assert [one.title for one in once(ada)] == [
        "consolidate: 1 memory faded",
        *MUSED,
        "consolidate: looked through memory",
    ]
    before = truth(ada.root)
    assert once(ada) == []
    assert once(ada, NIGHT + INTERVAL) == []
    assert once(ada, NIGHT + timedelta(days=9)) == []
    assert truth(ada.root) == before


@pytest.mark.parametrize("change", ["episode", "belief", "person", "session"])
def test_whatever_is_new_makes_it_due(ada: Entity, change: str) -> None:
    once(ada)
    if change == "episode":
        remember(ada, 20, "New.", 0.1)
    elif change == "belief":
        belief = beliefs.new("bel_1", "So.", "preference", 0.5, NIGHT)
        changes.apply(ada.root, ChangeSet("", (beliefs.BELIEF.plan_new(belief, ""),)))
    elif change == "person":
        (ada.relationships / "bo.md").parent.mkdir(exist_ok=True)
        (ada.relationships / "bo.md").write_text("---\nnames: [Bo]\n---\n")
    else:
        spoken(ada, NIGHT + timedelta(hours=1))
    assert once(ada, NIGHT + INTERVAL)


def test_ten_days_fade_as_much_as_120_periods_and_nothing_is_written(ada: Entity) -> None:
    runtime = runtime_of(ada)
    fading = runtime.config.memory
    stepped = 0.6
    for _ in range(120):
        stepped = significance.decayed(stepped, fading.consolidation_interval, fading)
    whole = significance.decayed(0.6, timedelta(days=10).total_seconds(), fading)
    assert whole == pytest.approx(stepped)
    before = {name: data for name, data in truth(ada.root).items() if name.startswith("episodes")}
    once(ada)
    once(ada, NIGHT + timedelta(days=10))
    after = {name: data for name, data in truth(ada.root).items() if name.startswith("episodes")}
    assert after == before


def test_what_has_faded_sleeps_and_only_its_own_lines_change(ada: Entity) -> None:
    remember(ada, 20, "Faint.", 3, significance=0.06)
    assert [one.title for one in once(ada)] == [*MUSED, "consolidate: looked through memory"]
    before = truth(ada.root)
    done = once(ada, NIGHT + timedelta(days=30))
    assert done[0].title == "consolidate: 1 memory faded"
    after = truth(ada.root)
    changed = {name for name in after if after[name] != before[name]}
    names = ("episodes/2026/05/ep_20.md", "sources/episodes/2026/05/ep_20.yaml")
    assert changed == {*names, "state.yaml"}
    episode = episodes.find(ada, "ep_20")
    assert (episode.dormant, episode.significance) == (True, 0.06)


def test_what_a_person_wrote_of_long_ago_stays_in_recall(ada: Entity) -> None:
    belief = ada.beliefs / "Ohio.md"
    belief.parent.mkdir(exist_ok=True)
    belief.write_text("---\nformed: 1952-03-17T12:00:00+01:00\n---\n\nKarl went to Ohio.\n")
    page = ada.episodes / "1951" / "03" / "Stapellauf.md"
    page.parent.mkdir(parents=True)
    source = "---\nat: 1951-03-17T12:00:00+01:00\n{}---\n\nThe ship was launched.\n"
    page.write_text(source.format(""))
    once(ada)
    assert page.read_text() == source.format("")
    assert not any(one.archived for one in beliefs.BELIEF.readable(ada.beliefs))
    page.write_text(source.format("dormant: true\nfaded: 0.5\n"))  # as earlier versions left it
    assert once(ada, NIGHT + INTERVAL)[0].title == "consolidate: 1 memory came back"
    assert page.read_text() == source.format("")


def edit(entity: Entity, episode_id: str, old: str, new: str) -> None:
    (file,) = episodes.EPISODE.locate(entity, episode_id)
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def test_a_memory_that_a_person_gives_weight_again_comes_back(ada: Entity) -> None:
    remember(ada, 20, "Faint.", 10, significance=0.01)
    once(ada)
    edit(ada, "ep_20", "people:", "significance: 0.9\npeople:")
    done = once(ada, NIGHT + INTERVAL)
    assert done[0].title == "consolidate: 1 memory came back"
    assert not episodes.find(ada, "ep_20").dormant
    assert "faded" not in episodes.find(ada, "ep_20").source.text
    assert once(ada, NIGHT + 2 * INTERVAL) == []


def test_weak_beliefs_are_archived_by_their_strength_now(ada: Entity) -> None:
    drawn = Provenance("distill")
    for name, confidence in (("bel_1", 0.5), ("bel_2", 0.09)):
        belief = beliefs.new(
            name, f"{name} is so.", "preference", confidence, NIGHT, provenance=drawn
        )
        changes.apply(ada.root, ChangeSet("", (beliefs.BELIEF.plan_new(belief, ""),)))
    done = once(ada)
    assert done[0].title == "consolidate: 1 belief archived"
    assert [one.archived for one in beliefs.BELIEF.readable(ada.beliefs)] == [False, True]
    once(ada, NIGHT + timedelta(days=3000))
    assert [one.archived for one in beliefs.BELIEF.readable(ada.beliefs)] == [True, True]


def test_the_story_is_told_every_third_time(ada: Entity) -> None:
    for n in range(1, 7):
        at = NIGHT + n * INTERVAL
        remember(ada, 20 + n, f"Hour {n}.", 0.01)
        titles = [one.title for one in once(ada, at, [telling()])]
        told_now = any(title.startswith("consolidate: narrate: ") for title in titles)
        assert told_now == (n % 3 == 0)
    assert count(ada) == 6
    told = narrative.read(ada.narrative)
    assert told is not None
    assert told.at == NIGHT + 6 * INTERVAL


def test_a_story_that_could_not_be_used_is_not_asked_for_again_before_there_is_more(
    ada: Entity,
) -> None:
    ada.narrative.write_text("I was here before.\n")
    asked = []
    for n in range(12):  # every third tells the story
        at = NIGHT + n * INTERVAL
        spoken(ada, at - timedelta(minutes=5))
        if n == 10:
            remember(ada, 60, "Sam bought a cello.", 0.1)
        done = once(ada, at, [Reply("no", always=True)])
        asked += [n for each in done if each.data["part"] == "story"]
    assert asked == [2, 11]


def test_one_job_that_fails_stops_no_other(ada: Entity) -> None:
    for n in range(2):
        remember(ada, 20 + n, f"Hour {n}.", 0.01)
        once(ada, NIGHT + n * INTERVAL)
    remember(ada, 30, "Hour 3.", 0.01)
    done = once(ada, NIGHT + 2 * INTERVAL, [Reply("no", always=True, purpose="narrate")])
    assert [one.title for one in done] == [
        "consolidate: story waits",
        *MUSED,
        "consolidate: looked through memory",
    ]


def test_of_two_runs_at_once_one_is_counted(ada: Entity) -> None:
    lives = [runtime_of(ada), runtime_of(ada, seed=2)]
    found = [consolidate.check(life) for life in lives]
    for life, check in zip(lives, found, strict=True):
        for step in check.jobs:
            job.apply(life, consolidate.run(life, step))
    assert count(ada) == 1


def test_a_run_that_was_killed_goes_on_where_it_stopped(ada: Entity) -> None:
    remember(ada, 20, "Faint.", 10, significance=0.01)
    runtime = runtime_of(ada)
    first, *_ = consolidate.check(runtime).jobs
    job.apply(runtime, consolidate.run(runtime, first))
    assert [one.title for one in once(ada)] == [*MUSED, "consolidate: looked through memory"]


def test_checking_writes_nothing_and_asks_nothing(ada: Entity) -> None:
    remember(ada, 20, "Faint.", 10, significance=0.01)
    before = truth(ada.root)
    model = ScriptedModel([])
    found = consolidate.check(runtime_of(ada, model))
    assert found.due
    assert [gate.name for gate in found.conditions] == ["interval", "changed"]
    assert truth(ada.root) == before
    assert model.requests == []
