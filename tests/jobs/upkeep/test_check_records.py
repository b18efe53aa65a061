from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from bumble.cli import check_records
from bumble.entity.folder import Entity
from tests.support.record_files import NOW, found, message, talk, write


@pytest.fixture
def entity(tmp_path: Path) -> Entity:
    return Entity(tmp_path)


def places(entity: Entity) -> list[tuple[str, str, int | None]]:
    return [(one.code, one.path, one.line) for one in found(entity)]


def test_transcript_that_is_none_ends_the_search_for_lines(entity: Entity) -> None:
    write(entity, "sessions/ses_1/messages.jsonl", "oops\n" * 500)
    assert places(entity) == [("record-invalid", "sessions/ses_1/messages.jsonl", 1)]
    talk(entity, *["oops"] * 500)
    assert len(found(entity)) == check_records.MOST_LINES


@pytest.mark.parametrize(
    ("ahead", "is_found"), [(timedelta(hours=23), False), (timedelta(days=2), True)]
)
def test_clocks_may_differ_by_a_day(entity: Entity, ahead: timedelta, is_found: bool) -> None:
    at = (NOW + ahead).isoformat()
    talk(entity, message(1), message(2, at=at))
    wrong = [("clock-ahead", "sessions/ses_1/messages.jsonl", 3)] if is_found else []
    assert places(entity) == wrong


def test_what_a_wrong_clock_dated_is_told_once_a_file(entity: Entity) -> None:
    at = (NOW + timedelta(days=2)).isoformat()
    talk(entity, message(1), *(message(n, at=at) for n in range(2, 9)))
    (told,) = found(entity)
    assert (told.code, told.line) == ("clock-ahead", 3)
    assert told.sentence.startswith(f"7 times, the last {at}, lie more than a day ahead")


def test_every_kind_of_record_is_held_against_the_clock(entity: Entity) -> None:
    late = "2031-01-01T00:00:00+00:00"
    belief = f"---\ncategory: preference\nconfidence: 0.5\nformed: {late}\n---\n\nTea.\n"
    write(entity, "beliefs/bel_1.md", belief)
    write(entity, "relationships/kim.md", f"---\nnames: [Kim]\nlast_interaction: {late}\n---\n")
    write(entity, "narrative.md", f"---\nat: {late}\n---\n\nOnce.\n")
    write(entity, "dreams/drm_1.md", f"---\nat: {late}\n---\n\nx\n")
    write(entity, "journal.md", "## 2026-05-01 10:00:00\n\nx\n\n## 2031-01-01 10:00:00\n\nx\n")
    assert {(path, line) for code, path, line in places(entity) if code == "clock-ahead"} == {
        ("journal.md", 5),
        ("narrative.md", 2),
        ("beliefs/bel_1.md", 4),
        ("relationships/kim.md", 3),
        ("dreams/drm_1.md", 2),
    }


def test_skill_in_both_forms_is_there_twice(entity: Entity) -> None:
    write(entity, "skills/tea.md", "Boil.\n")
    write(entity, "skills/tea/SKILL.md", "Boil.\n")
    assert [one.code for one in found(entity)] == ["record-twice"]


def test_portraits_that_share_a_name_are_named(entity: Entity) -> None:
    write(entity, "relationships/kim.md", "---\nnames: [Kim]\n---\n")
    write(entity, "relationships/kimberly.md", "---\nnames: [Kimberly, KIM]\n---\n")
    write(entity, "relationships/Oma.md", "---\naliases: [Kimberly]\n---\n")
    assert places(entity) == [
        ("person-twice", "relationships/kimberly.md", None),
        ("person-twice", "relationships/kimberly.md", None),
    ]


def test_headings_of_the_diary_that_are_no_days_are_named(entity: Entity) -> None:
    write(entity, "journal.md", "# Mine\n\n## 2026-05-20 Wednesday\n\nx\n\n## 21 May 2026\n\ny\n")
    assert places(entity) == [("heading-undated", "journal.md", 7)]


def test_files_that_no_store_reads_are_named(entity: Entity) -> None:
    write(entity, "beliefs/old/bel_1.md", "x")
    write(entity, "episodes/2026/ep_1.md", "x")
    write(entity, "relationships/kim.txt", "x")
    write(entity, "relationships/.DS_Store", "x")
    write(entity, "skills/tea/notes.md", "x")
    assert [one.path for one in found(entity)] == [
        "beliefs/old/bel_1.md",
        "episodes/2026/ep_1.md",
        "relationships/kim.txt",
        "skills/tea",
    ]
