from __future__ import annotations

import random
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bumble.entity import changes
from bumble.entity.changes import Change, ChangeSet
from bumble.entity.folder import Entity
from bumble.errors import UserError
from bumble.history import lookup, why
from bumble.history.lookup import Library
from bumble.history.why import SourceNode
from bumble.records import (
    base,
    beliefs,
    dreams,
    episodes,
    journal,
    knowledge,
    narrative,
    relationships,
    sessions,
    skills,
)
from bumble.records.base import Provenance
from bumble.records.relationships import PendingNote
from bumble.records.sessions import Appraised, Message, Record
from tests.support import newborns

AT = datetime(2026, 5, 24, 12, tzinfo=UTC)
RNG = random.Random(3)
SES = base.new_id("ses", AT, RNG)
MSG = [base.new_id("msg", AT + timedelta(minutes=n), RNG) for n in range(4)]
EP, BEL, DRM = (base.new_id(prefix, AT, RNG) for prefix in ("ep", "bel", "drm"))


def write(entity: Entity, *planned: Change | None) -> None:
    changes.apply(entity.root, ChangeSet("", tuple(one for one in planned if one is not None)))


def origin(by: str, *sources: str) -> Provenance:
    return Provenance(by, "tiny", sources, "owner", ("sam",))


@pytest.fixture
def ada(tmp_path: Path) -> Entity:
    """A small life: a talk, an episode of it, and everything that was drawn from that."""
    return newborns.copy(_lived, tmp_path / "ada")


def _lived(root: Path) -> Entity:
    entity = Entity(root)
    entity.root.mkdir()
    said: list[Record] = [
        Message(MSG[0], AT, "user", "I have a dog.", "sam", trust="owner", extra={"name": "Sam"}),
        Message(MSG[1], AT, "assistant", "What is it called?", trust="entity"),
        Appraised(AT, MSG[0], {"social": 2.0}),
        Message(MSG[2], AT + timedelta(minutes=2), "user", "Biscuit.", "sam", trust="owner"),
    ]
    talk = sessions.new(SES, AT, "sam")
    told = episodes.new(
        EP, AT, 0.5, "Sam has a dog.", session=SES, provenance=origin("remember", *MSG[:3])
    )
    held = beliefs.new(
        BEL, "The dog is Biscuit.", "world_fact", 0.7, AT,
        evidence=(MSG[2],), provenance=origin("distill", EP),
    )  # fmt: skip
    dream = dreams.new(
        DRM, AT, ((EP, "ep_gone"),), ("A dog.",), "Dogs.", provenance=origin("dream")
    )
    sam = relationships.new("Sam", AT, provenance=origin("reflect", SES))
    note = PendingNote("He loves it.", AT, origin("chat", MSG[2]))
    book = knowledge.read(entity.knowledge)
    write(
        entity,
        sessions.plan_start(talk, ""),
        sessions.plan_append(talk, said, ""),
        episodes.EPISODE.plan_new(told, ""),
        beliefs.BELIEF.plan_new(held, ""),
        dreams.DREAM.plan_new(dream, ""),
        relationships.PERSON.plan_new(sam, ""),
        relationships.plan_update(sam, "", pending=(note,), text="Sam is kind."),
        knowledge.plan_set(
            book, "Biscuit", "A dog.", "", by_entity=True, provenance=origin("flush", MSG[0])
        ),
        journal.plan_add(AT, "A dog!", UTC, "", provenance=origin("chat", MSG[0])),
        narrative.plan_tell(None, "I know a dog.", AT, origin("narrate", EP), ""),
        skills.plan_set([], "Walk", "", "Go.", "", overwrite=False, provenance=note.provenance),
    )
    return entity


def explain(entity: Entity, given: str, kind: str | None = None) -> SourceNode:
    library = Library(entity, name="Ada", zone=UTC)
    return why.explain(library, library.look_up(given, kind))


def said(node: SourceNode) -> list[str]:
    return [one.item.text for one in node.walk() if one.item.kind == "message"]


@pytest.mark.parametrize(
    ("given", "kind", "by"),
    [
        (BEL, "belief", "distill"),
        (EP, "episode", "remember"),
        (DRM, "dream", "dream"),
        ("sam", "person", "reflect"),
        ("BISCUIT", "knowledge", "flush"),
        ("2026-05-24", "journal", "chat"),
        ("2026-05-24T12:00:00", "journal", "chat"),
        ("narrative", "narrative", "narrate"),
        ("walk", "skill", "chat"),
        (MSG[2], "message", ""),
        (SES, "session", ""),
    ],
)
def test_everything_is_found_and_says_who_wrote_it(
    ada: Entity, given: str, kind: str, by: str
) -> None:
    item = explain(ada, given).item
    assert (item.kind, item.origin.by) == (kind, by)
    assert item.path and item.line
    if kind not in ("session", "person"):
        lines = (ada.root / item.path).read_text().split("\n")
        assert item.text.split("\n")[0] in "\n".join(lines[item.line - 1 : item.line + 4])


def test_a_belief_leads_to_its_episode_and_the_words_that_were_said(ada: Entity) -> None:
    node = explain(ada, BEL)
    message, episode = node.rests_on
    assert (message.item.text, message.item.speaker) == ("Biscuit.", "sam")
    assert message.item.line == 5
    (talk,) = episode.rests_on
    assert [one.item.text for one in talk.rests_on] == [
        "I have a dog.",
        "What is it called?",
        "Biscuit.",
    ]
    assert [one.item.speaker for one in talk.rests_on] == ["Sam", "Ada", "sam"]
    assert talk.rests_on[2].again
    assert node.missing == ()


@pytest.mark.parametrize("given", [DRM, "sam", "narrative", "Biscuit", "Walk", "2026-05-24"])
def test_every_walk_ends_at_messages(ada: Entity, given: str) -> None:
    assert said(explain(ada, given))


def test_ids_that_lead_in_a_circle_end(ada: Entity) -> None:
    one = beliefs.new("bel_a", "A.", "world_fact", 0.5, AT, evidence=("bel_b",))
    other = beliefs.new("bel_b", "B.", "world_fact", 0.5, AT, evidence=("bel_a",))
    write(ada, beliefs.BELIEF.plan_new(one, ""), beliefs.BELIEF.plan_new(other, ""))
    assert [node.again for node in explain(ada, "bel_a").walk()] == [False, False, True]


def test_a_name_of_two_things_wants_a_kind(ada: Entity) -> None:
    book = knowledge.read(ada.knowledge)
    write(ada, knowledge.plan_set(book, "Sam", "Kind.", "", by_entity=False))
    with pytest.raises(UserError, match="Say which with --kind"):
        explain(ada, "Sam")
    assert explain(ada, "Sam", "knowledge").item.by_hand


def test_a_message_is_found_by_its_time_without_reading_other_talks(ada: Entity) -> None:
    for n in range(3):
        later = AT + timedelta(days=n + 1)
        other = sessions.new(base.new_id("ses", later, RNG), later, "sam")
        write(ada, sessions.plan_start(other, ""))
    (ada.sessions / other.id / "messages.jsonl").write_text("broken\n")
    found = lookup.MessageIndex(ada.sessions)
    there = found.find(MSG[0])
    assert there is not None and there.session.id == SES
    assert set(found._sessions) == {SES}
    assert found.find(MSG[3]) is None


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Sam", "-c", "user.email=sam@example.org")
    subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True
    )


def test_git_tells_which_commit_wrote_it_and_who_changed_it_by_hand(ada: Entity) -> None:
    git(ada.root, "init", "-q")
    git(ada.root, "add", "-A")
    git(ada.root, "commit", "-qm", "distill: a dog", "-m", f"Model: tiny\nEvidence: {EP}")
    node = explain(ada, BEL)
    assert node.written is not None and node.changed is None
    assert node.written.title == "distill: a dog"
    assert node.written.trailers == (("Model", "tiny"), ("Evidence", EP))
    (file,) = ada.beliefs.glob(f"*{BEL}.md")
    file.write_text(file.read_text().replace("Biscuit", "Crumb"))
    ada.knowledge.write_text(ada.knowledge.read_text() + "\n## By hand\n\nMine.\n")
    git(ada.root, "commit", "-qam", "correct the dog")
    node = explain(ada, BEL)
    assert node.written is not None and node.written.title == "distill: a dog"
    assert node.changed is not None and node.changed.title == "correct the dog"
    section, entry = explain(ada, "By hand"), explain(ada, "2026-05-24")
    assert section.item.by_hand
    assert section.written is not None and section.written.by == "Sam"
    assert section.written.title == "correct the dog"
    assert entry.written is not None and entry.written.title == "distill: a dog"


def test_a_sentence_names_the_commit_it_came_with_not_its_section(ada: Entity) -> None:
    git(ada.root, "init", "-q")
    git(ada.root, "add", "-A")
    ada.knowledge.write_text(f"{ada.knowledge.read_text()}\n## Rent\n\nThe rent is 640 euros.\n")
    git(ada.root, "add", "-A")
    git(ada.root, "commit", "-qm", "the rent")
    ada.knowledge.write_text(ada.knowledge.read_text().replace("640 euros", "690 now"))
    git(ada.root, "commit", "-qam", "the rent again")
    library = Library(ada, name="Ada", zone=UTC)
    (item,) = why.find(library, "The rent is 690 now", None, lambda _: True)
    written = why.explain(library, item).written
    assert written is not None and written.title == "the rent again"


@pytest.mark.parametrize("asked", ["Rent", "The rent is 690 now", "The rent is due"])
def test_the_commit_that_is_named_brought_the_text_as_it_stands(ada: Entity, asked: str) -> None:
    rent = "\n## Rent\n\nThe rent is {}.\nThe rent is due (monthly).\n"
    ada.knowledge.write_text(book := ada.knowledge.read_text() + rent.format("640 euros"))
    git(ada.root, "init", "-q")
    git(ada.root, "add", "-A")
    git(ada.root, "commit", "-qm", "the rent")
    ada.knowledge.write_text(book := book.replace("640 euros", "690 now"))
    git(ada.root, "commit", "-qam", "the rent again")
    # a later commit that touches the file tells of the same in another
    ada.knowledge.write_text(book + "\n## Else\n\nNothing.\n")
    (ada.root / "notes.md").write_text("The rent is 690 now.\nThe rent is due (monthly).\n")
    git(ada.root, "add", "-A")
    git(ada.root, "commit", "-qm", "something else")
    library = Library(ada, name="Ada", zone=UTC)
    item = (
        library.look_up(asked)
        if asked == "Rent"
        else why.find(library, asked, None, lambda _: True)[0]
    )
    written = why.explain(library, item).written
    expected = "the rent" if asked == "The rent is due" else "the rent again"
    assert written is not None and written.title == expected


def test_a_record_came_with_its_own_file_not_with_the_next_new_one(ada: Entity) -> None:
    git(ada.root, "init", "-q")
    git(ada.root, "add", "-A")
    git(ada.root, "commit", "-qm", "the dog")
    (file,) = ada.beliefs.glob(f"*{BEL}.md")
    file.write_text(file.read_text().replace("Biscuit", "Crumb"))
    (ada.root / "notes.md").write_text("New.\n")
    git(ada.root, "add", "-A")
    git(ada.root, "commit", "-qm", "correct the dog")
    written = explain(ada, BEL).written
    assert written is not None and written.title == "the dog"
