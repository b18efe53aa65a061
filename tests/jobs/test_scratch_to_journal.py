from __future__ import annotations

from pathlib import Path

import pytest

from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.jobs import consolidate
from bumble.records import journal, working
from bumble.records.base import Provenance
from bumble.records.journal import JournalEntry
from bumble.runtime.job import apply
from tests.support.living import NOON, ada, runtime_of

SAMS = Provenance(by="chat", model="m", sources=("ses_1",), trust="owner", audience=("sam",))
KIMS = Provenance(by="chat", model="m", sources=("ses_2",), trust="person", audience=("kim",))
NOTES = next(part for part in consolidate.PASSES if part.name == "notes")


@pytest.fixture
def folder(tmp_path: Path) -> Entity:
    return ada(tmp_path)


def note(entity: Entity, text: str, origin: Provenance) -> None:
    zone = runtime_of(entity).zone
    change = working.plan_note(NOON, "directive", text, zone, origin, "note")
    changes.apply(entity.root, ChangeSet("note", (change,)))


def noted(entity: Entity) -> list[JournalEntry]:
    entries = journal.read(entity.journal, runtime_of(entity).zone).entries
    return [one for one in entries if consolidate.NOTE_TAG in one.tags]


def moved(entity: Entity) -> None:
    runtime = runtime_of(entity)
    for job in NOTES.check(runtime).jobs:
        apply(runtime, NOTES.run(runtime, job))


def test_notes_go_into_the_journal_word_for_word_with_where_they_come_from(folder: Entity) -> None:
    note(folder, "Sam wants short answers.", SAMS)
    note(folder, "The roof is decided.", SAMS)
    moved(folder)
    (entry,) = noted(folder)
    assert [line.split("] ")[1] for line in entry.text.splitlines()] == [
        "Sam wants short answers.",
        "The roof is decided.",
    ]
    assert (entry.provenance.by, entry.provenance.sources) == ("consolidate", ("ses_1",))
    assert (entry.provenance.trust, entry.provenance.audience) == ("owner", ("sam",))
    assert not (folder.root / working.SCRATCH_PATH).exists()


def test_what_one_person_told_does_not_come_into_an_entry_of_anothers(folder: Entity) -> None:
    note(folder, "Sam wants short answers.", SAMS)
    note(folder, "Kim is getting married.", KIMS)
    moved(folder)
    told = {one.provenance.audience: one.text for one in noted(folder)}
    assert "married" in told["kim",]
    assert "married" not in told["sam",]


def test_what_is_no_note_stays_and_nothing_is_done_twice(folder: Entity) -> None:
    place = folder.root / working.SCRATCH_PATH
    place.parent.mkdir()
    place.write_text("# Mine\n- by hand\n")
    note(folder, "Sam wants short answers.", SAMS)
    moved(folder)
    assert place.read_text() == "# Mine\n"
    assert {one.provenance.by for one in noted(folder)} == {"", "consolidate"}
    before = folder.journal.read_bytes()
    assert not NOTES.check(runtime_of(folder)).due
    moved(folder)
    assert folder.journal.read_bytes() == before


def test_a_note_written_meanwhile_is_moved_too_or_stays_but_is_never_lost(folder: Entity) -> None:
    note(folder, "One.", SAMS)
    runtime = runtime_of(folder)
    (job,) = NOTES.check(runtime).jobs
    outcome = NOTES.run(runtime, job)
    note(folder, "Two.", SAMS)
    apply(runtime, outcome)
    assert [len(one.text.splitlines()) for one in noted(folder)] == [2]
