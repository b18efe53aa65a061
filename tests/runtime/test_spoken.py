from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bumble.entity.folder import Entity
from bumble.records import session_files
from bumble.runtime import spoken
from tests.support.living import ada, known, runtime_of, talked

NOW = datetime(2026, 5, 24, 20, tzinfo=UTC)
GERMAN = "gestern war ich mit meiner schwester am see, das wasser war noch viel zu kalt"
ENGLISH = "I think I will stay at home with the kids this weekend, it rains anyway"


@pytest.fixture
def entity(tmp_path: Path) -> Entity:
    return ada(tmp_path)


def heard(
    entity: Entity, *lines: tuple[str, str], session: str = "ses_9", setting: str = "auto"
) -> str:
    talk = talked(entity, session, *lines)
    return spoken.language(runtime_of(entity, language=setting), talk, "sam")


def test_each_is_heard_by_what_they_say_themselves(entity: Entity) -> None:
    talk = talked(entity, "ses_1", ("sam", GERMAN), ("bo", ENGLISH), ("sam", "ok"))
    runtime = runtime_of(entity)
    assert spoken.language(runtime, talk, "sam") == "de"
    assert spoken.language(runtime, talk, "bo") == "en"


def test_a_short_message_is_in_the_language_of_the_last_conversation(entity: Entity) -> None:
    talked(entity, "ses_1", ("sam", GERMAN))
    assert heard(entity, ("sam", "moin")) == "de"


def test_a_new_language_is_heard_whatever_was_spoken_before(entity: Entity) -> None:
    talked(entity, "ses_1", ("sam", GERMAN))
    assert heard(entity, ("sam", ENGLISH)) == "en"


def test_a_question_in_another_language_changes_the_answer_and_no_note(entity: Entity) -> None:
    asked = ("sam", "Was hast du dir denn gestern noch von mir gemerkt?")
    talk = talked(entity, "ses_1", *[("sam", ENGLISH)] * 4, asked)
    runtime = runtime_of(entity)
    assert spoken.language(runtime, talk, "sam") == "de"
    assert spoken.mostly(runtime, talk, "sam") == "en"


def test_the_owners_word_goes_before_the_setting_and_that_before_what_is_heard(
    entity: Entity,
) -> None:
    assert heard(entity, ("sam", GERMAN), setting="fr") == "fr"
    person = known(entity, "Sam")
    file = entity.relationships / "sam.md"
    file.write_text(file.read_text().replace("names:", "language: pt\nnames:"))
    assert heard(entity, ("sam", GERMAN), session="ses_8", setting="fr") == "pt"
    assert spoken.by_person(entity, "fr", person.id, NOW) == "pt"


def test_a_broken_transcript_does_not_end_a_talk(entity: Entity) -> None:
    talked(entity, "ses_1", ("sam", GERMAN))
    file = session_files.paths(entity.sessions)[0]
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0], "{broken", *lines[1:]]) + "\n")
    assert spoken.by_person(entity, "auto", "sam", NOW) == "en"


def test_who_is_new_is_taken_to_speak_what_is_spoken_here(entity: Entity) -> None:
    french = "Je garde les jumeaux du cinquième le mercredi, et le soir je lis un roman."
    talked(entity, "ses_1", ("sam", french))
    new = talked(entity, "ses_2", ("bo", "slt ada c bo tkt"))
    assert spoken.language(runtime_of(entity), new, "bo") == "fr"
    clear = talked(entity, "ses_3", ("kim", ENGLISH))
    assert spoken.language(runtime_of(entity), clear, "kim") == "en"
