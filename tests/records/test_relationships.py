from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.errors import RecordMissingError
from bumble.records import relationships
from bumble.records.relationships import PendingNote, Relationship

AT = datetime(2026, 5, 24, 3, 12, 47, tzinfo=UTC)
BY_HAND = """---
names: [Sam Fox, Sammy]   # what he likes
scores: {warmth: 0.5, mine: 9}
interaction_count: 7
pending:
  - he moved
  - {text: "new job", at: 2026-05-01T00:00:00Z, weight: 3}  # big
---

I met Sam by the sea.

## Always

He laughs.
"""


def sam() -> Relationship:
    return relationships.PERSON.parse(BY_HAND, "sam-fox")


def after(change: object) -> Relationship:
    data = getattr(change, "data", None)
    assert isinstance(data, bytes)
    return relationships.PERSON.parse(data.decode(), "sam-fox")


@pytest.mark.parametrize(
    "name", ["../../x", "CON", "con.md", "🐝", "a/b", "", ".", "Zoë", "x" * 500]
)
def test_any_name_gives_an_id_that_is_a_safe_file_name(name: str) -> None:
    person = relationships.person_id(name)
    assert person and person not in (".", "..") and person.casefold() == person
    assert not set(person) & set('/\\:*?"<>|.\0')
    assert len(person.encode()) <= 100
    assert person.upper() not in ("CON", "NUL")


def test_a_person_is_found_by_id_and_any_name_in_any_spelling(tmp_path: Path) -> None:
    folder = tmp_path / "relationships"
    for name in ("Sam Fox", "Kim"):
        person = relationships.new(name, AT)
        changes.apply(tmp_path, ChangeSet("meet", (relationships.PERSON.plan_new(person, "meet"),)))
    (folder / "sam-fox.md").write_text(BY_HAND)
    for name in ("sam-fox", "SAM  FOX", "sammy", "Ｓａｍｍｙ"):
        assert relationships.find(folder, name).id == "sam-fox"
    with pytest.raises(RecordMissingError, match="Sammy"):
        relationships.find(folder, "Samy")


def test_an_id_goes_before_a_name_and_a_first_name_before_a_later_one() -> None:
    one = relationships.PERSON.parse("---\nnames: [Kim, Sam]\n---\n", "kim")
    two = relationships.PERSON.parse("---\nnames: [Sam]\n---\n", "sam-2")
    three = relationships.PERSON.parse("---\nnames: [Other]\n---\n", "sam")
    assert relationships.match([one, two], "sam") is two
    assert relationships.match([one, two, three], "sam") is three
    assert relationships.match([one], "sam") is one
    assert relationships.match([one], "nobody") is None


def test_only_the_last_twelve_notes_wait_and_reflection_clears_them() -> None:
    person = sam()
    for n in range(15):
        pending = (*person.pending, PendingNote(f"note {n}"))
        person = after(relationships.plan_update(person, "heard", pending=pending))
    assert [note.text for note in person.pending] == [f"note {n}" for n in range(3, 15)]
    cleared = after(relationships.plan_update(person, "reflect", pending=(), text="New."))
    assert (cleared.pending, cleared.text) == ((), "New.")
    assert "pending" not in cleared.source.meta
