from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.forgetting import forget
from bumble.history import merge
from bumble.llm.scripted import Reply
from bumble.portraits import reflect
from bumble.records import relationships
from bumble.records.base import Provenance
from bumble.records.relationships import Relationship
from bumble.records.sessions import Appraised, Session
from bumble.runtime.job import apply
from bumble.runtime.runner import Pass
from tests.support import noticing
from tests.support.living import NOON, ada, known, runtime_of, talked, told

DOG = "Sam has a dog called Biscuit."
RIVER = "Sam lives by the river in Lisbon."
OFF: dict[str, Any] = {
    "memory__relational__score_derivation": False,
    "memory__relational__min_document_chars": 1,
    "memory__relational__reflection_min_gap_seconds": 0,
}


@pytest.fixture
def entity(tmp_path: Path) -> Entity:
    return ada(tmp_path)


def sam(entity: Entity) -> Relationship:
    return relationships.find(entity.relationships, "sam")


def reflected(entity: Entity, session: str, said: str, *replies: Any, calm: bool = True) -> Session:
    number = int(session.rpartition("_")[2]) * 1000
    felt = Appraised(NOON, f"msg_{number}", {}, emotion="content", intensity=0.1 if calm else 0.9)
    talk = talked(entity, session, ("sam", said), ("ada", "I see."), felt=felt)
    runtime = runtime_of(entity, *replies, **OFF)
    job = next(job for job in reflect.check(runtime, "sam").jobs if job.session_id == session)
    apply(runtime, reflect.run(runtime, job))
    return talk


@pytest.fixture
def drawn(entity: Entity) -> tuple[Entity, Session, Session]:
    """Sam's portrait, drawn of one talk and amended after another."""
    known(entity, "Sam")
    first = reflected(
        entity, "ses_1", "I have a dog called Biscuit.", told("reflect", about=[DOG], mine="")
    )
    edit = {"op": "insert", "line": 1, "text": RIVER}
    second = reflected(
        entity, "ses_2", "I live by the river in Lisbon.", told("amend", edits=[edit])
    )
    return entity, first, second


def test_each_line_keeps_its_source_through_an_amendment(
    drawn: tuple[Entity, Session, Session],
) -> None:
    entity, first, second = drawn
    assert sam(entity).text.splitlines() == [DOG, RIVER]
    assert sam(entity).origin_of(DOG).sources == ("ses_1", first.messages[0].id)
    assert sam(entity).origin_of(RIVER).sources == ("ses_2", second.messages[0].id)
    assert sam(entity).origin_of(RIVER).model == "scripted"


def test_the_portrait_rests_on_all_that_its_lines_do(
    drawn: tuple[Entity, Session, Session],
) -> None:
    entity, first, second = drawn
    assert set(sam(entity).provenance.sources) == {
        "ses_1", "ses_2", first.messages[0].id, second.messages[0].id,
    }  # fmt: skip


def test_a_line_that_is_worded_anew_rests_on_what_it_did(
    drawn: tuple[Entity, Session, Session],
) -> None:
    entity, first, _ = drawn
    new = "Sam has a dog, Biscuit."
    reflected(
        entity, "ses_3", "It is warm today.", told("reflect", about=[new, RIVER], mine=""),
        calm=False,
    )  # fmt: skip
    assert sam(entity).origin_of(new).sources == ("ses_1", first.messages[0].id)


def test_a_pass_that_fails_leaves_every_line_its_source(
    drawn: tuple[Entity, Session, Session],
) -> None:
    entity, _, _ = drawn
    before = sam(entity)
    third = reflected(entity, "ses_3", "My sister sails.", Reply("?", purpose="amend"))
    after = sam(entity)
    assert [after.origin_of(line) for line in (DOG, RIVER)] == [
        before.origin_of(line) for line in (DOG, RIVER)
    ]
    quote = next(line for line in after.text.splitlines() if line.startswith(">"))
    assert after.origin_of(quote).sources == ("ses_3", third.messages[0].id)
    assert after.origin_of(quote).model == ""
    assert set(before.provenance.sources) <= set(after.provenance.sources)


def by_hand(entity: Entity, old: str, new: str) -> None:
    file = entity.relationships / "sam.md"
    file.write_text(file.read_text().replace(old, new))


def test_a_line_that_the_owner_edits_is_the_owners(drawn: tuple[Entity, Session, Session]) -> None:
    entity, _, _ = drawn
    by_hand(entity, DOG, "Sam has two dogs.")
    assert sam(entity).origin_of("Sam has two dogs.") == Provenance()
    assert sam(entity).origin_of(RIVER).by == "reflect"


def test_an_amendment_goes_below_the_owners_line_and_not_over_it(
    drawn: tuple[Entity, Session, Session],
) -> None:
    entity, _, _ = drawn
    by_hand(entity, DOG, "Sam has two dogs.")
    edit = {"op": "replace", "line": 1, "text": "Sam has a dog called Rex."}
    reflected(entity, "ses_3", "I have a dog called Rex.", told("amend", edits=[edit]))
    assert sam(entity).text.splitlines() == [
        "Sam has two dogs.", "Sam has a dog called Rex.", RIVER,
    ]  # fmt: skip
    assert sam(entity).origin_of("Sam has two dogs.") == Provenance()


def test_a_portrait_written_anew_keeps_the_owners_lines(
    drawn: tuple[Entity, Session, Session],
) -> None:
    entity, _, _ = drawn
    by_hand(entity, DOG, "## Family\n\nSam has two dogs.")
    lines = ["Sam lives by the river.", "Sam is tired."]
    told_anew = told("reflect", about=lines, mine="")
    reflected(entity, "ses_3", "I am tired.", told_anew, calm=False)
    assert sam(entity).text == "## Family\n\nSam has two dogs.\n" + "\n".join(lines)
    assert sam(entity).origin_of("Sam has two dogs.") == Provenance()


def test_a_portrait_without_marks_is_of_one_origin_until_it_is_amended(entity: Entity) -> None:
    old = Provenance("reflect", "tiny", ("ses_0", "msg_7"), "owner", ("sam",))
    known(entity, "Sam", DOG, provenance=old)
    assert sam(entity).origin_of(DOG) == old
    edit = {"op": "insert", "line": 1, "text": RIVER}
    reflected(entity, "ses_2", "I live by the river in Lisbon.", told("amend", edits=[edit]))
    assert sam(entity).origin_of(DOG) == replace(old, audience=())
    assert "msg_7" in sam(entity).provenance.sources


def test_quotes_by_form_rest_on_the_messages_they_quote(entity: Entity) -> None:
    lines = [
        noticing.Line("Kim", "my sister Ottoline teaches cello in Ghent"),
        noticing.Line("Kim", "what a day it was", keep=False),
        noticing.Line("Kim", "i am scared of the exam in Ghent"),
    ]
    noticing.talked(entity, "ses_b", NOON, lines)
    runtime = noticing.by_form(entity, NOON + timedelta(hours=9))
    noticing.all_of(runtime, Pass("reflect", reflect.check, reflect.run))
    kim = relationships.find(entity.relationships, "kim")
    quotes = [line for line in kim.text.splitlines() if line.startswith(">")]
    assert [kim.origin_of(line).sources for line in quotes] == [
        ("ses_b", "msg_b2"), ("ses_b", "msg_b0"),
    ]  # fmt: skip
    assert kim.origin_of(quotes[0]).by == "reflect by form"


def test_a_merge_joins_the_marks_of_both_sides(drawn: tuple[Entity, Session, Session]) -> None:
    entity, _, _ = drawn
    base = (entity.relationships / "sam.md").read_text()
    edit = {"op": "insert", "line": 2, "text": "Sam likes tea."}
    reflected(entity, "ses_3", "I like tea.", told("amend", edits=[edit]))
    amended = (entity.relationships / "sam.md").read_text()
    edited = base.replace(DOG, "Sam has two dogs.")
    merged = merge.merge("relationships/sam.md", base, edited, amended)
    assert merged.clean
    person = relationships.parse(merged.text, "sam")
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
