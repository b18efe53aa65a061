from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bumble.entity.folder import Entity
from bumble.jobs import working_memory
from bumble.llm.scripted import Reply
from bumble.records import episodes, journal, working
from bumble.records.base import Provenance
from bumble.runtime import job
from bumble.runtime.job import JobResult
from bumble.runtime.runtime import Runtime
from tests.support import newborns, nights
from tests.support.living import write
from tests.support.nights import LISBON, NIGHT

MINE = "# Notes\n\n## Niche\n\nI keep the garden diary.\n- Never promise anything.\n\n"
BOND = ["Sam trusts me with his worries about his brother", "Sam and I like whales"]
LINE = "the tomatoes behind the shed need water and somebody who looks after them each evening"


def page(**sections: list[str]) -> dict[str, list[str]]:
    return {key: sections.get(key, []) for key in working_memory.KEYS}


FULL = page(
    phenotype=["I feel calm after the storm"],
    bond=BOND,
    active_context=["Sam bakes bread that does not rise"],
    pointers=["e1", "e2"],
)
LONG = page(
    bond=BOND,
    **{
        key: [f"{word}: {LINE}, {LINE}" for word in ("first", "then", "again", "later")]
        for key in ("phenotype", "active_context", "curiosity_gaps")
    },
)


def remember(entity: Entity, number: int, text: str, at: datetime) -> None:
    origin = Provenance("remember", trust="owner", audience=("sam",))
    one = episodes.new(f"ep_{number:02}", at, 0.6, text, people=("sam",), provenance=origin)
    write(entity, episodes.EPISODE.plan_new(one, ""))


@pytest.fixture
def entity(tmp_path: Path) -> Entity:
    return newborns.copy(_remembers, tmp_path / "ada")


def _remembers(root: Path) -> Entity:
    one = nights.newborn(root)
    for number, text in enumerate(nights.TEXTS):
        remember(one, number, f"{text} {LINE}", NIGHT - timedelta(days=9 - number))
    return one


def asleep(entity: Entity, night: int, **answer: Any) -> Runtime:
    """The entity some nights on, with a model that writes that page."""
    reply = Reply(json.dumps(answer), purpose=working_memory.PURPOSE, always=True)
    at = NIGHT + timedelta(days=night)
    return nights.runtime_of(entity, [reply], at, overrides=nights.ON)


def dreamt(runtime: Runtime) -> JobResult:
    due = working_memory.check(runtime)
    assert due.due, due.conditions
    outcome = working_memory.run(runtime, due.jobs[0])
    job.apply(runtime, outcome)
    return outcome


def text(entity: Entity) -> str:
    return working.read(entity.working_memory)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (page(bond=BOND), "characters would be left"),
        (page(), "characters of substance"),
        (page(bond=BOND, pointers=[f"e{n}" for n in range(30)]), "30 pointers, more than 20"),
        (
            {**LONG, "bond": ["bread rises in the power of zero and a fugue"]},
            "of the words of Bond",
        ),
        ({"phenotype": "a wall of words"}, "no usable answer"),
    ],
    ids=["shrinks", "empties", "floods", "rewrites", "breaks"],
)
def test_a_night_that_would_spoil_the_page_leaves_it_and_says_why(
    entity: Entity, answer: dict[str, Any], reason: str
) -> None:
    entity.working_memory.parent.mkdir()
    entity.working_memory.write_text(MINE)
    dreamt(asleep(entity, 0, **LONG))
    before = entity.working_memory.read_bytes()
    assert len(before) > 2000
    remember(entity, 50, "Sam talked of whales.", NIGHT + timedelta(hours=9))
    outcome = dreamt(asleep(entity, 1, **answer))
    assert entity.working_memory.read_bytes() == before
    assert reason in outcome.lines[0]
    assert reason in outcome.title  # as the history and the run ledger tell it
    assert not working_memory.check(asleep(entity, 1, **answer)).due
    assert not working_memory.check(asleep(entity, 2, **LONG)).due  # for the same, it would again
    remember(entity, 51, "Sam talked of owls.", NIGHT + timedelta(days=1, hours=9))
    assert working_memory.check(asleep(entity, 2, **LONG)).due


def test_three_good_nights_keep_what_is_the_owners_and_take_in_what_is_new(entity: Entity) -> None:
    entity.working_memory.parent.mkdir()
    entity.working_memory.write_text(MINE)
    dreamt(asleep(entity, 0, **FULL))
    first = text(entity)
    assert MINE.rstrip("\n") in first
    link = re.search(r"^- \[[^\]]+\]\((\.\./episodes/[^)]*ep_00\.md)\)", first, re.MULTILINE)
    assert link is not None
    assert (entity.working_memory.parent / link[1]).resolve().is_file()
    assert link[0] in working.shown(first, ["sam"])
    assert [kept.read_text() for kept in entity.root.glob(".history/**/*.md")] == [MINE]
    for night, new in ((1, "Sam mended the oven"), (2, "Sam plants beans")):
        remember(entity, 50 + night, f"{new}.", NIGHT + timedelta(days=night, hours=-9))
        dreamt(asleep(entity, night, **{**FULL, "active_context": [new]}))
    last = text(entity)
    assert "I keep the garden diary." in last
    assert "Never promise anything." in last
    assert "Sam plants beans" in last
    assert "bread that does not rise" not in last
    assert [line.section for line in working.own(last)].count("Bond") == 2
    titles = [line[3:] for line in last.splitlines() if line.startswith("## ")]
    assert sorted(titles) == sorted(working.SECTIONS)


def test_what_nobody_said_is_left_out_and_the_page_is_for_those_of_its_sources(
    entity: Entity,
) -> None:
    outcome = dreamt(asleep(entity, 0, **{**FULL, "niche": ["Barnaby pays me 4711 euros"]}))
    assert outcome.data["dropped"] == 1
    assert "Barnaby" not in text(entity)
    assert {line.origin.audience for line in working.own(text(entity))} == {("sam",)}
    assert "Sam" not in working.shown(text(entity), ["kim"])


def test_notes_are_taken_in_and_go_to_the_journal(entity: Entity) -> None:
    origin = Provenance("chat", trust="owner", audience=("sam",))
    note = working.plan_note(NIGHT, "directive", "Sam wants it short.", LISBON, origin, "")
    write(entity, note)
    runtime = asleep(entity, 0, **FULL)
    dreamt(runtime)
    assert "Sam wants it short." in nights_asked(runtime)
    assert not working.scratch_lines(entity.root / working.SCRATCH_PATH)
    entries = journal.read(entity.journal, LISBON).entries
    assert "Sam wants it short." in entries[-1].text


def nights_asked(runtime: Runtime) -> str:
    return runtime.model.requests[-1].messages[-1].content  # type: ignore[attr-defined, no-any-return]
