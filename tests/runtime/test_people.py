from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bumble.entity.folder import Entity
from bumble.records import relationships, sessions
from bumble.records.base import Provenance
from bumble.records.relationships import Scores
from bumble.records.sessions import Message
from bumble.runtime import audiences, people
from bumble.runtime.runtime import Runtime
from tests.support.living import NOON, ada, known, runtime_of, write

OFF: dict[str, Any] = {"memory__relational__enabled": False}


@pytest.fixture
def entity(tmp_path: Path) -> Entity:
    return ada(tmp_path)


def met(
    runtime: Runtime, text: str = "Hello there, I came by to tell you something long."
) -> Scores:
    said = Message("msg_1", runtime.now(), "user", text, "sam")
    talk = sessions.appended(sessions.new("ses_1", runtime.now(), "sam"), [said])
    write(runtime.entity, people.plan_met(runtime, "sam", "Sam", runtime.now(), talk, "We met."))
    return relationships.find(runtime.entity.relationships, "sam").scores


def test_every_exchange_makes_somebody_more_familiar(entity: Entity) -> None:
    runtime = runtime_of(entity, **OFF)
    first = met(runtime)
    assert (first.warmth, first.trust) == (0.5, 0.5)
    assert first.familiarity == pytest.approx(0.017)
    assert met(runtime, "ok").familiarity == pytest.approx(0.024)
    assert relationships.find(entity.relationships, "sam").interaction_count == 2


def test_scores_read_off_a_portrait_are_not_moved_by_counting(entity: Entity) -> None:
    scores = Scores(0.4, 0.7, 0.6, 0.1, 0.5)
    known(entity, "Sam", scores=scores, last_scored=NOON, interaction_count=60)
    assert met(runtime_of(entity)) == scores
    assert met(runtime_of(entity, **OFF)).familiarity > 0.4


@pytest.mark.parametrize(("points", "step"), [({"comfort": 4.0}, 0.02), ({"tension": 4.0}, -0.02)])
def test_what_an_exchange_did_to_the_body_moves_warmth_and_trust(
    entity: Entity, points: dict[str, float], step: float
) -> None:
    runtime = runtime_of(entity, **OFF)
    before = met(runtime)
    write(
        entity,
        people.plan_felt(runtime, relationships.find(entity.relationships, "sam"), points, {}),
    )
    one = relationships.find(entity.relationships, "sam")
    assert one.scores.warmth == pytest.approx(before.warmth + step)
    assert one.scores.trust == pytest.approx(before.trust + step)
    way = people.standing(one, NOON).trajectory
    assert way == ("warming" if step > 0 else "cooling")


@pytest.mark.parametrize(
    ("count", "stage"), [(0, "forming"), (10, "developing"), (50, "established"), (150, "deep")]
)
def test_a_stage_begins_where_the_one_before_ends(count: int, stage: str) -> None:
    assert people.stage(count) == stage


def test_the_health_line_says_stage_health_way_and_silence(entity: Entity) -> None:
    one = known(
        entity,
        "Sam",
        scores=Scores(0.5, 0.8, 0.7, 0.2, 0.6),
        interaction_count=12,
        previous_health=0.5,
        last_interaction=NOON - timedelta(hours=3),
    )
    assert people.standing(one, NOON).line == (
        "developing, health 0.80, warming, last talk 3 hours ago"
    )
    stranger = known(entity, "Bo")
    assert people.standing(stranger, NOON).line == "forming, health 0.00, never talked"


def test_an_owner_of_another_name_is_who_spoke_as_the_owner_last(entity: Entity) -> None:
    runtime = runtime_of(entity)
    owner = replace(runtime.identity, owner=replace(runtime.identity.owner, name="Alexandra"))
    for n, (speaker, trust) in enumerate((("sam", "owner"), ("kim", "person"))):
        said = Message(f"msg_{n}", NOON, "user", "Good morning.", speaker, trust=trust)
        talk = sessions.new(f"ses_{n}", NOON, speaker)
        write(entity, sessions.plan_start(talk, "test"))
        write(entity, sessions.plan_append(talk, [said], "test"))
    assert people.owner_id(entity, owner) == "alexandra"  # nobody has a file
    known(entity, "Kim")
    assert people.owner_id(entity, owner) == "alexandra"
    known(entity, "Sam")
    assert people.owner_id(entity, owner) == "sam"


HIDDEN = Provenance(audience=("mara",))


def test_a_file_that_is_named_for_what_it_tells_is_named_by_its_id_to_others() -> None:
    record_id = "ep_01M69K1840MBH51DWEYZWA04ZT"
    path = f"episodes/2026/10/31-maras-left-hand-{record_id}.md"
    assert audiences.named(path, None) == path
    assert audiences.named(path, HIDDEN) == f"episodes/2026/10/{record_id}.md"
    talk = "sessions/ses_01M69K1840Q1QSJ97MGYJ3979B/messages.jsonl"
    assert audiences.named(talk, HIDDEN) == talk
    assert audiences.named("topics/hens.md", HIDDEN) == "topics/only-for-mara.md"
