from __future__ import annotations

from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from bumble.entity import changes, companions
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.history import merge
from bumble.jobs import portrait, stretch
from bumble.jobs.forgetting import forget
from bumble.records import relationships, state
from bumble.records.base import Provenance
from bumble.records.relationships import Relationship
from bumble.records.sessions import Session
from bumble.runtime.job import apply
from tests.support.living import ada, known, runtime_of, talked, write
from tests.support.stretches import Citing, makes, seen

DOG = "Sam has a dog called Biscuit."
RIVER = "Sam lives by the river in Lisbon."
OFF: dict[str, Any] = {"memory__relational__score_derivation": False}


@pytest.fixture
def entity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Entity:
    monkeypatch.setattr(portrait, "LEAST_CHARS", 1)
    return ada(tmp_path)


def sam(entity: Entity) -> Relationship:
    return relationships.find(entity.relationships, "sam")


def reflected(entity: Entity, session: str, said: str, portrait: str) -> Session:
    talk = talked(entity, session, ("sam", said), ("ada", "I see."))
    write(entity, state.plan_heard(state.read(entity.state), talk, talk.messages[0].id, ""))
    runtime = runtime_of(entity, **OFF)
    model = Citing([makes("Sam told me of it.", people=[seen("Sam", portrait)])])
    runtime = replace(runtime, model=model)
    job = next(job for job in stretch.check(runtime).jobs if job.session_id == session)
    apply(runtime, stretch.run(runtime, job))
    return talk


@pytest.fixture
def drawn(entity: Entity) -> tuple[Entity, Session, Session]:
    """Sam's portrait, drawn of one talk and gone on with after another."""
    known(entity, "Sam")
    first = reflected(entity, "ses_1", "I have a dog called Biscuit.", DOG)
    both = f"{DOG}\n{RIVER}"
    second = reflected(entity, "ses_2", "I live by the river in Lisbon.", both)
    return entity, first, second


def test_each_line_keeps_its_source_through_an_amendment(
    drawn: tuple[Entity, Session, Session],
) -> None:
    entity, first, second = drawn
    assert sam(entity).text.splitlines() == [DOG, RIVER]
    assert sam(entity).origin_of(DOG).sources == ("ses_1", first.messages[0].id)
    assert sam(entity).origin_of(RIVER).sources == ("ses_2", second.messages[0].id)
    assert sam(entity).origin_of(RIVER).model == "scripted"


def by_hand(entity: Entity, old: str, new: str) -> None:
    file = entity.relationships / "sam.md"
    file.write_text(file.read_text().replace(old, new))


def test_a_line_that_the_owner_edits_is_the_owners(drawn: tuple[Entity, Session, Session]) -> None:
    entity, _, _ = drawn
    by_hand(entity, DOG, "Sam has two dogs.")
    assert sam(entity).origin_of("Sam has two dogs.") == Provenance()
    assert sam(entity).origin_of(RIVER).by == "reflect"


def test_a_portrait_written_anew_keeps_the_owners_lines(
    drawn: tuple[Entity, Session, Session],
) -> None:
    entity, _, _ = drawn
    by_hand(entity, DOG, "## Family\n\nSam has two dogs.")
    lines = ["Sam lives by the river.", "Sam is tired."]
    reflected(entity, "ses_3", "I am tired.", "\n".join(lines))
    assert sam(entity).text == "## Family\n\nSam has two dogs.\n" + "\n".join(lines)
    assert sam(entity).origin_of("Sam has two dogs.") == Provenance()


def test_what_a_hand_wrote_of_somebody_for_all_stays_so_on_a_page_that_is_theirs(
    entity: Entity,
) -> None:
    known(entity, "Sam", "Sam is Kim's cousin.", provenance=Provenance())
    first = "Sam is Kim's cousin.\n" + DOG
    reflected(entity, "ses_1", "I have a dog called Biscuit.", first)
    reflected(entity, "ses_2", "I live by the river in Lisbon.", f"{first}\n{RIVER}")
    assert sam(entity).audience == ("sam",)
    assert sam(entity).for_all == "Sam is Kim's cousin."
    by_hand(entity, DOG, "Sam has two dogs.")
    assert sam(entity).for_all == "Sam is Kim's cousin."


def test_a_portrait_without_marks_is_of_one_origin_until_it_is_amended(entity: Entity) -> None:
    old = Provenance("reflect", "tiny", ("ses_0", "msg_7"), "owner", ("sam",))
    known(entity, "Sam", DOG, provenance=old)
    assert sam(entity).origin_of(DOG) == old
    reflected(entity, "ses_2", "I live by the river in Lisbon.", f"{DOG}\n{RIVER}")
    assert sam(entity).origin_of(DOG) == replace(old, audience=())
    assert "msg_7" in sam(entity).provenance.sources


def test_a_merge_joins_the_marks_of_both_sides(drawn: tuple[Entity, Session, Session]) -> None:
    entity, _, _ = drawn
    path = relationships.PERSON.path("sam")
    names = (path, str(companions.place(path)))
    bases = [(entity.root / name).read_text() for name in names]
    reflected(entity, "ses_3", "I like tea.", f"{DOG}\n{RIVER}\nSam likes tea.")
    amended = [(entity.root / name).read_text() for name in names]
    edited = [text.replace(DOG, "Sam has two dogs.") for text in bases]
    sides = zip(names, bases, edited, amended, strict=True)
    shown, beside = (merge.merge(*side) for side in sides)
    assert shown.clean and beside.clean
    person = relationships.PERSON.parse(companions.joined(path, shown.text, beside.text), "sam")
    assert person.text.splitlines() == ["Sam has two dogs.", RIVER, "Sam likes tea."]
    assert [person.origin_of(line).by for line in person.text.splitlines()] == [
        "", "reflect", "reflect",
    ]  # fmt: skip


def test_forgetting_another_takes_the_lines_that_rest_on_them_alone(entity: Entity) -> None:
    talk = talked(entity, "ses_1", ("bo", "Sam plays the cello."), ("ada", "I see."), by="bo")
    bo, own = "Sam plays the cello.", "Bo told me of Sam."
    known(entity, "Bo")
    mark = Provenance("reflect", "tiny", ("ses_1", talk.messages[0].id))
    marks = {relationships.line_key(bo): mark}
    lines = {**marks, relationships.line_key(RIVER): replace(mark, sources=("msg_7",))}
    known(entity, "Sam", f"{bo}\n{RIVER}\n{own}", lines=lines, provenance=mark)
    plan = forget.plan(entity, "bo", ("Bo",), ZoneInfo("UTC"))
    changes.apply(entity.root, ChangeSet("", plan.changes))
    assert sam(entity).text.splitlines() == [RIVER, own]  # the owner's stays, and is told of
    assert sam(entity).lines == {relationships.line_key(RIVER): replace(mark, sources=("msg_7",))}
    assert "relationships/sam.md" in plan.mentions
