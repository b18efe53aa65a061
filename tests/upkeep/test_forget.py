from __future__ import annotations

import hashlib
from datetime import UTC
from pathlib import Path

import pytest

from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.portraits import reflect
from bumble.records import (
    beliefs,
    episodes,
    journal,
    knowledge,
    relationships,
    scratch,
    session_files,
    sessions,
    state,
)
from bumble.records.base import Provenance
from bumble.records.episodes import Imprint
from bumble.records.relationships import Note
from bumble.records.sessions import Appraised, Compaction
from bumble.upkeep import forget
from bumble.upkeep.check_records import CheckContext, check
from tests.support.living import NOON, ada, known, life_of, talked, told, write

SECRET = "marzipan"
BOTH = ("sam", "bo")


def origin(*sources: str, audience: tuple[str, ...] = ("sam",)) -> Provenance:
    return Provenance("distill", "m", sources, "person", audience)


@pytest.fixture
def entity(tmp_path: Path) -> Entity:
    """Sam, who told Ada a secret; Bo, who did not; and both together."""
    folder = ada(tmp_path)
    known(folder, "Sam", f"Sam steals {SECRET}.")
    note = Note(f"Sam spoke of {SECRET}.", NOON, origin("ses_1", "msg_1000"))
    known(folder, "Bo", "Bo bakes.", pending=(note, Note("Bo sings.")))
    talk = talked(folder, "ses_1", ("sam", f"I steal {SECRET}."), ("ada", f"Your {SECRET}!"))
    felt = Appraised(NOON, "msg_1000", {"comfort": 2}, f"Sweet {SECRET}.", "amused", 0.4, SECRET)
    cut = Compaction("cmp_1", NOON, f"Sam and {SECRET}.", "msg_1000", "msg_1001")
    write(folder, sessions.plan_append(talk, [felt, cut], ""))
    write(folder, session_files.plan_blob("ses_1", SECRET.encode(), "")[1])
    lines = (("bo", "I bake, Sam."), ("ada", "Sam hears you, Bo."), ("sam", f"Oh {SECRET}."))
    talked(folder, "ses_2", *lines, by="bo", present=("sam",))
    talked(folder, "ses_3", ("bo", "I met Sam."), ("ada", "Good."), by="bo")
    trip = "Sam and Bo ran. Samuel won, said Sam's aunt."
    planned = [
        episodes.plan_new(
            episodes.new("ep_1", NOON, 0.5, SECRET, people=("sam",), provenance=origin("ses_1")), ""
        ),
        episodes.plan_new(
            episodes.new(
                "ep_2",
                NOON,
                0.5,
                trip,
                people=BOTH,
                imprints=(Imprint("amused", 0.5, "Sam fell"),),
                provenance=origin("ses_2", audience=BOTH),
            ),
            "",
        ),
        beliefs.plan_new(
            beliefs.new(
                "bel_1",
                SECRET,
                "preference",
                0.5,
                NOON,
                evidence=("msg_2002",),
                provenance=origin("ses_2", "msg_2002", audience=BOTH),
            ),
            "",
        ),
        beliefs.plan_new(
            beliefs.new(
                "bel_2",
                "Sam and Bo bake.",
                "preference",
                0.5,
                NOON,
                evidence=("msg_2000", "msg_2002"),
                provenance=origin("ses_2", audience=BOTH),
            ),
            "",
        ),
    ]
    write(folder, *planned)
    for title, text, whose in (("Night", SECRET, origin("ses_1")), ("Bread", "At six.", None)):
        book = knowledge.read(folder.knowledge)
        write(folder, knowledge.plan_set(book, title, text, "", by_entity=False, provenance=whose))
    jotted = ((SECRET, origin("ses_1")), ("Sam and Bo ran.", origin("ses_2", audience=BOTH)))
    for text, whose in jotted:
        write(folder, scratch.plan_add(NOON, "experience", text, UTC, whose, ""))
        write(folder, journal.plan_add(NOON, text, UTC, "", provenance=whose))
    drawn = {"distill": {one: {"hash": "00"} for one in ("ses_1", "ses_2")}}
    write(folder, state.plan_write(state.read(folder.state), drawn, ""))
    return folder


def everything(entity: Entity) -> dict[str, str]:
    return {
        path.relative_to(entity.root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(entity.root.rglob("*"))
        if path.is_file()
    }


def forgotten(entity: Entity) -> forget.Forgetting:
    plan = forget.plan(entity, "sam", ["Sam"], UTC)
    changes.apply(entity.root, ChangeSet("forget", plan.changes))
    return plan


def test_nothing_that_was_told_is_left_in_any_file(entity: Entity) -> None:
    life = life_of(
        entity, told("reflect", about=[f"Sam steals {SECRET} at night, he said."], mine="")
    )
    (job, *_) = reflect.check(life).jobs
    life.apply(reflect.run(life, job).change_set())  # an earlier portrait lies in .history now
    forgotten(entity)
    for path in entity.root.rglob("*"):
        if path.is_file() and ".bumble" not in path.parts:
            assert SECRET not in path.read_text(), path


def test_lines_and_ids_of_a_conversation_stay(entity: Entity) -> None:
    before = session_files.find(entity.sessions, "ses_1")
    forgotten(entity)
    after = session_files.find(entity.sessions, "ses_1")
    assert [one.id for one in after.messages] == [one.id for one in before.messages]
    assert all(one.text == "" and one.extra["redacted"] for one in after.messages)
    assert after.people == ()
    assert after.source.count("\n") == before.source.count("\n")


def test_in_company_the_words_of_others_stay_theirs(entity: Entity) -> None:
    forgotten(entity)
    both = session_files.find(entity.sessions, "ses_2")
    assert [one.text for one in both.messages] == ["I bake, Sam.", "somebody hears you, Bo.", ""]
    assert both.people == ("bo",)


def test_a_conversation_of_somebody_else_keeps_every_byte(entity: Entity) -> None:
    file = entity.root / sessions.path("ses_3")
    before = file.read_bytes()
    forgotten(entity)
    assert file.read_bytes() == before


def test_what_is_shared_loses_the_name_and_what_is_theirs_goes(entity: Entity) -> None:
    forgotten(entity)
    (trip,) = episodes.read(entity.episodes)
    assert trip.text == "somebody and Bo ran. Samuel won, said somebody's aunt."
    assert (trip.people, trip.audience) == (("bo",), ("bo",))
    assert trip.imprints[0].trigger == "somebody fell"
    (belief,) = beliefs.read(entity.beliefs)
    assert (belief.text, belief.audience) == ("somebody and Bo bake.", ("bo",))
    titles = [one.title for one in knowledge.read(entity.knowledge).sections]
    assert "Night" not in titles and "Bread" in titles
    (bo,) = relationships.read(entity.relationships)
    assert [note.text for note in bo.pending] == ["Bo sings."]


def test_nothing_waits_to_be_thought_of_them(entity: Entity) -> None:
    forgotten(entity)
    assert "sam" not in str(state.read(entity.state).values)
    assert {job.person for job in reflect.check(life_of(entity)).jobs} == {"bo"}


def test_notes_and_diary_keep_what_others_heard_without_the_name(entity: Entity) -> None:
    with (entity.root / scratch.PATH).open("a") as notes:
        notes.write("- Sam, by hand.\n")
    by_hand = journal.plan_add(NOON, "Sam, by hand.", UTC, "")
    changes.apply(entity.root, ChangeSet("", (by_hand,)))
    plan = forgotten(entity)
    for path in (entity.root / scratch.PATH, entity.journal):
        text = path.read_text()
        assert "somebody and Bo ran." in text
        assert "Sam, by hand." in text
        assert entity.relative(path) in plan.mentions
    assert state.read(entity.state).get("distill", default={}).keys() == {"ses_2"}


def test_a_second_time_changes_nothing(entity: Entity) -> None:
    forgotten(entity)
    before = everything(entity)
    assert forgotten(entity).changes == ()
    assert everything(entity) == before


def test_the_folder_is_sound_afterwards(entity: Entity) -> None:
    forgotten(entity)
    context = CheckContext(entity, NOON, UTC)
    assert [one for one in check(context, lambda at, of: None) if one.code != "file-unread"] == []


def test_what_is_a_persons_own_to_edit_is_named(entity: Entity) -> None:
    entity.journal.write_text("## 2026-05-24 12:00:00\n\nSam came by.\n")
    before = entity.journal.read_bytes()
    plan = forgotten(entity)
    assert entity.journal.read_bytes() == before
    assert {"journal.md", "entity.yaml"} <= set(plan.mentions)


def test_a_cut_off_line_goes_too(entity: Entity) -> None:
    file = entity.root / sessions.path("ses_1")
    file.write_bytes(file.read_bytes() + f'{{"type":"message","text":"{SECRET}é'.encode()[:-1])
    forgotten(entity)
    assert SECRET.encode() not in file.read_bytes()
    session_files.load(file)
