from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bumble.entity import changes, companions
from bumble.entity.changes import Change, ChangeSet
from bumble.entity.secrets import HIDDEN
from bumble.records import (
    base,
    beliefs,
    dreams,
    episodes,
    journal,
    knowledge,
    narrative,
    relationships,
    session_files,
    sessions,
    skills,
    working,
)
from bumble.records.base import Provenance
from bumble.records.relationships import PendingNote
from bumble.runtime import review_queue

AT = datetime(2026, 5, 24, 12, tzinfo=UTC)
TOLD = "Sam said: my password: hunter2secret, and my card 4111 1111 1111 1111. And he sails."
BY = Provenance("distill", "m", ("msg_1",), "person", ("sam",))


def planned() -> list[Change | None]:
    """A change of every kind of memory that has the secrets in it."""
    sam = relationships.new("Sam", AT)
    talk = sessions.new("ses_1", AT, "sam")
    brief = session_files.plan_handover("ses_1", None, TOLD, AT, BY, "")
    cut = sessions.Compaction("cmp_1", AT, TOLD, "msg_1", "msg_1")
    felt = sessions.Appraised(AT, "msg_1", {}, TOLD, "amused", 0.5, TOLD)
    imprints = (episodes.Imprint("amused", 0.5, TOLD),)
    return [
        episodes.EPISODE.plan_new(
            episodes.new("ep_1", AT, 0.5, f"> {TOLD}", imprints=imprints, provenance=BY), ""
        ),
        beliefs.BELIEF.plan_new(
            beliefs.new("bel_1", TOLD, "preference", 0.5, AT, provenance=BY), ""
        ),
        relationships.PERSON.plan_new(sam, ""),
        relationships.plan_update(
            sam, "", text=TOLD, dynamic=TOLD, topics=(TOLD,), pending=(PendingNote(TOLD, AT, BY),)
        ),
        dreams.DREAM.plan_new(dreams.new("drm_1", AT, (), (TOLD,), TOLD, provenance=BY), ""),
        knowledge.plan_set(
            knowledge.Knowledge("", (), None), "Sam", TOLD, "", by_entity=True, provenance=BY
        ),
        journal.plan_add(AT, TOLD, UTC, "", provenance=BY),
        working.plan_note(AT, "experience", TOLD, UTC, BY, ""),
        narrative.plan_tell(None, TOLD, AT, BY, ""),
        skills.plan_set([], "Sail", TOLD, TOLD, "", overwrite=False, provenance=BY),
        base.plan_mapping("soma.yaml", base.MappingFile({}, None), {"felt": {"text": TOLD}}, ""),
        sessions.plan_start(talk, ""),
        sessions.plan_append(talk, [cut, felt], ""),
        brief,
    ]


def test_no_writer_of_memory_gets_a_secret_past_the_gate(tmp_path: Path) -> None:
    given = ChangeSet(TOLD, tuple(change for change in planned() if change))
    files = changes.apply(tmp_path, review_queue.cleared(given, tmp_path))
    shown = [file for file in files if tmp_path / "sources" not in file.parents]
    assert (len(shown), len(files)) == (12, 21)
    for file in shown:
        beside = tmp_path / str(companions.place(file.relative_to(tmp_path).as_posix()))
        text = file.read_text() + (beside.read_text() if beside.is_file() else "")
        assert "hunter2" not in text, file
        assert "4111" not in text, file
        assert file.name == "sam.md" or HIDDEN in text, file
        assert "sails" in text, file
    title = review_queue.cleared(given, tmp_path).title
    assert "hunter2" not in title
    assert sessions.parse((tmp_path / sessions.path("ses_1")).read_text()).compactions
    relationships.PERSON.parse((tmp_path / "relationships/sam.md").read_text(), "sam")
    base.parse_mapping((tmp_path / "soma.yaml").read_text())


def test_what_was_said_stays_as_it_was_said_in_the_transcript(tmp_path: Path) -> None:
    talk = sessions.new("ses_1", AT, "sam")
    message = sessions.Message("msg_1", AT, "user", TOLD, "sam")
    given = ChangeSet("", (sessions.plan_append(talk, [message], ""),))
    assert review_queue.cleared(given, tmp_path).changes == given.changes


@pytest.mark.parametrize("line", ["my password: hunter2secret", "- PIN: 4821 (by hand)"])
def test_what_a_person_wrote_by_hand_stays(tmp_path: Path, line: str) -> None:
    before = f"# Facts\n\n## By hand\n\n{line}\n"
    (tmp_path / "knowledge.md").write_text(before)
    book = knowledge.read(tmp_path / "knowledge.md")
    change = knowledge.plan_set(book, "Card", "It is 4111 1111 1111 1111.", "", by_entity=True)
    assert change is not None
    cleared = review_queue.cleared(ChangeSet("", (change,)), tmp_path)
    changes.apply(tmp_path, cleared)
    text = (tmp_path / "knowledge.md").read_text()
    assert line in text
    assert "4111" not in text
