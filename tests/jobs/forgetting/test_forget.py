from __future__ import annotations

from datetime import UTC, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from bumble.chat import workspace
from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.jobs import stretch
from bumble.jobs.forgetting import forget
from bumble.jobs.forgetting.draft import ForgettingDraft
from bumble.records import (
    base,
    beliefs,
    checks,
    dreams,
    episodes,
    journal,
    knowledge,
    narrative,
    projects,
    relationships,
    reminders,
    session_files,
    sessions,
    skills,
    state,
    topics,
    working,
)
from bumble.records.base import Provenance
from bumble.records.episodes import Imprint
from bumble.records.kind import Kind
from bumble.records.relationships import PendingNote
from bumble.records.sessions import Appraised, Compaction
from tests.support import record_files
from tests.support.living import NOON, ada, known, runtime_of, talked, write
from tests.support.stretches import Citing, makes, seen

SECRET = "marzipan"
BOTH = ("sam", "bo")


def origin(*sources: str, audience: tuple[str, ...] = ("sam",), by: str = "distill") -> Provenance:
    return Provenance(by, "m", sources, "person", audience)


@pytest.fixture
def entity(tmp_path: Path) -> Entity:
    """Sam, who told Ada a secret; Bo, who did not; and both together."""
    folder = ada(tmp_path)
    known(folder, "Sam", f"Sam steals {SECRET}.")
    note = PendingNote(f"Sam spoke of {SECRET}.", NOON, origin("ses_1", "msg_1000"))
    known(folder, "Bo", "Bo bakes.", pending=(note, PendingNote("Bo sings.")))
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
        episodes.EPISODE.plan_new(
            episodes.new("ep_1", NOON, 0.5, SECRET, people=("sam",), provenance=origin("ses_1")), ""
        ),
        episodes.EPISODE.plan_new(
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
        beliefs.BELIEF.plan_new(
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
        beliefs.BELIEF.plan_new(
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
        write(folder, working.plan_note(NOON, "experience", text, UTC, whose, ""))
        write(folder, journal.plan_add(NOON, text, UTC, "", provenance=whose))
    drawn = {"distill": {one: {"hash": "00"} for one in ("ses_1", "ses_2")}}
    write(folder, state.plan_write(state.read(folder.state), drawn, ""))
    return folder


def forgotten(entity: Entity) -> forget.Forgetting:
    plan = forget.plan(entity, "sam", ["Sam"], UTC)
    changes.apply(entity.root, ChangeSet("forget", plan.changes))
    return plan


def test_a_file_that_was_written_with_them_alone_goes(entity: Entity) -> None:
    (entity.workspace / "own.md").write_text("Sam owes me.\n")  # Bo's hand
    theirs, both = origin("ses_1", by="chat"), origin("ses_2", audience=BOTH, by="chat")
    write(entity, workspace.plan_write(entity, "theirs.md", f"Sam has {SECRET}.", theirs))
    write(entity, workspace.plan_write(entity, "both.md", "Run.", both))
    plan = forgotten(entity)
    assert plan.counts["files of the workspace"] == 1
    left = [path.name for path in entity.workspace.glob("*.md")]
    beside = [path.name for path in (entity.root / "sources" / "workspace").iterdir()]
    assert (sorted(left), beside) == (["both.md", "own.md"], ["both.md.yaml"])
    assert "workspace/own.md" in [one.path for one in plan.undecided]


def test_nothing_that_was_told_is_left_in_any_file(entity: Entity) -> None:
    portrait = seen("Sam", f"Sam steals {SECRET} at night, he said.")
    model = Citing([makes(f"Sam told me of {SECRET}.", people=[portrait])])
    runtime = replace(runtime_of(entity), model=model)
    waits = {"sessions": {"ses_1": "msg_1000"}}
    write(entity, state.plan_write(state.read(entity.state), waits, ""))
    (job, *_) = stretch.check(runtime, force=True).jobs
    runtime.apply(
        stretch.run(runtime, job).planned()[1]
    )  # an earlier portrait lies in .history now
    forgotten(entity)
    for path in entity.root.rglob("*"):
        if path.is_file() and ".bumble" not in path.parts and path.name != "memory.db":
            assert SECRET not in path.read_text(), path


def test_what_another_process_writes_meanwhile_is_left_to_it(
    entity: Entity, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = forget._read_views

    def late(draft: ForgettingDraft) -> list[tuple[Kind, Path]]:
        files = read(draft)
        said = beliefs.new("bel_3", "Bo bakes.", "preference", 0.5, NOON)
        write(entity, beliefs.BELIEF.plan_new(said, ""))
        return files

    monkeypatch.setattr(forget, "_read_views", late)
    forgotten(entity)
    assert "bel_3" in [one.id for one in beliefs.BELIEF.readable(entity.beliefs)]


def test_a_conversation_of_somebody_else_keeps_every_byte(entity: Entity) -> None:
    file = entity.root / sessions.path("ses_3")
    before = file.read_bytes()
    forgotten(entity)
    assert file.read_bytes() == before


def test_what_another_says_where_they_were_not_is_no_quotation(entity: Entity) -> None:
    said = "Thank you very much, that was all for today."
    thanks = dict.fromkeys(("ses_4", "ses_5", "ses_6"), ("sam", said)) | {"ses_5": ("bo", said)}
    for day, (session_id, line) in enumerate(thanks.items()):
        talked(entity, session_id, line, by=line[0], at=NOON + timedelta(days=day))
    told = episodes.new(
        "ep_3",
        NOON,
        0.5,
        f"> Bo: {said}",
        people=("bo",),
        provenance=origin("ses_5", audience=("bo",), by="form"),
    )
    write(entity, episodes.EPISODE.plan_new(told, ""))
    before = (entity.root / sessions.path("ses_5")).read_bytes()
    plan = forgotten(entity)
    assert (entity.root / sessions.path("ses_5")).read_bytes() == before
    assert not any("ses_5" in one.path for one in plan.undecided)
    kept = {one.id: one.text for one in episodes.EPISODE.readable(entity.episodes)}
    assert kept["ep_3"] == f"> Bo: {said}"
    gone = session_files.find(entity.sessions, "ses_6")
    assert [message.text for message in gone.messages] == [""]


def test_what_is_shared_loses_the_name_and_what_is_theirs_goes(entity: Entity) -> None:
    forgotten(entity)
    (trip,) = episodes.EPISODE.readable(entity.episodes)
    assert trip.text == "somebody and Bo ran. Samuel won, said somebody's aunt."
    assert (trip.people, trip.audience) == (("bo",), ("bo",))
    assert trip.imprints[0].trigger == "somebody fell"
    (belief,) = beliefs.BELIEF.readable(entity.beliefs)
    assert (belief.text, belief.audience) == ("somebody and Bo bake.", ("bo",))
    titles = [one.title for one in knowledge.read(entity.knowledge).sections]
    assert "Night" not in titles and "Bread" in titles
    (bo,) = relationships.PERSON.readable(entity.relationships)
    assert [note.text for note in bo.pending] == ["Bo sings."]


def test_notes_and_diary_keep_what_others_heard_without_the_name(entity: Entity) -> None:
    with (entity.root / working.SCRATCH_PATH).open("a") as notes:
        notes.write("- Sam, by hand.\n")
    by_hand = journal.plan_add(NOON, "Sam, by hand.", UTC, "")
    changes.apply(entity.root, ChangeSet("", (by_hand,)))
    plan = forgotten(entity)
    for path in (entity.root / working.SCRATCH_PATH, entity.journal):
        text = path.read_text()
        assert "somebody and Bo ran." in text
        assert "Sam, by hand." in text
        assert entity.relative(path) in plan.mentions
    assert state.read(entity.state).get("distill", default={}).keys() == {"ses_2"}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("saw SAM and sam's dog, not Samuel", "saw somebody and somebody's dog, not Samuel"),
        ("Will says he will come", "somebody says he will come"),
        (
            "R.B. sings; R.B's lamp; r-b-848096c0",
            "somebody sings; somebody's lamp; somebody-848096c0",
        ),
    ],
)
def test_a_name_goes_in_any_case_and_spelling_but_where_it_is_a_word_of_grammar(
    ada: Entity, text: str, left: str
) -> None:
    assert ForgettingDraft(ada, "sam", ("Sam", "Will", "R.B."), UTC).replace_names(text) == left


def test_where_a_first_name_stands_that_nobody_else_has_somebody_has_to_look(
    tmp_path: Path,
) -> None:
    folder = ada(tmp_path)
    known(folder, "Sam", "Sam hums.")
    for name in ("Kieran Doyle", "Rose Adair", "Ada Byrne", "Sam Doyle"):
        known(folder, name, "Pays rent.")
    text = "Kieran and Rose and Ada and Sam Doyle owe 95 pounds."
    before = knowledge.read(folder.knowledge)
    after = knowledge.with_section(before, "Rent", text, by_entity=True, provenance=origin("ses_9"))
    write(folder, knowledge.plan(before, after, ""))

    def told(name: str) -> tuple[str, list[str]]:
        page = relationships.find(folder.relationships, name)
        found = forget.plan(folder, page.id, page.names, UTC)
        new = {one.path: one.data for one in found.changes}
        data = new.get("knowledge.md", folder.knowledge.read_bytes())
        listed = [one.path for one in found.undecided]
        return (data or b"").decode(), listed

    for name in ("Kieran Doyle", "Rose Adair", "Sam Doyle"):
        assert "Kieran and Rose and Ada" in told(name)[0]  # it may be a word, or somebody else's
    assert "knowledge.md" in told("Kieran Doyle")[1] and "knowledge.md" in told("Rose Adair")[1]
    book = knowledge.with_section(after, "Rent", "Sam owes.", by_entity=True)
    write(folder, knowledge.plan(after, book, ""))
    assert "knowledge.md" not in told("Sam Doyle")[1]


def test_what_is_called_by_their_name_alone_goes_whole(tmp_path: Path) -> None:
    folder = ada(tmp_path)
    patient = known(folder, "R.B.", "R.B. is a patient.")
    mine = origin("ses_1", audience=("sam",))
    for title, text, whose in (
        ("R.B", "R.B. is 71.", mine),
        ("R.B (Sam)", "He is frightened of the dark.", mine),
        ("Patients", "Sam sat with R.B. at night.", mine),
        ("R.B.", "By hand.", None),
    ):
        book = knowledge.read(folder.knowledge)
        new = knowledge.with_added(book, [knowledge.new_section(title, text, whose)])
        write(folder, knowledge.plan(book, new, ""))
    topic = topics.new("R.B", (topics.Catalyst("What of the lamp?"),), NOON, provenance=mine)
    walk = episodes.new("ep_1", NOON, 0.5, "We spoke. R.B. sang.", tags=("R.B", "song"),
                        inferences=("R.B. sang.",), provenance=mine)  # fmt: skip
    write(folder, topics.TOPIC.plan_new(topic, ""), episodes.EPISODE.plan_new(walk, ""))
    write(folder, *forget.plan(folder, patient.id, ("R.B.",), UTC).changes)
    book = knowledge.read(folder.knowledge)
    told = {one.title: one.text for one in book.sections if one.text}
    assert told["Patients"] == "Sam sat with somebody at night."
    assert told["R.B."] == "By hand."
    assert not {"R.B", "R.B (Sam)"} & set(told)
    assert not list(folder.root.glob("topics/*"))
    (kept,) = episodes.EPISODE.readable(folder.episodes)
    assert (kept.tags, kept.source.meta["inferences"]) == (("song",), ["somebody sang."])


@pytest.mark.parametrize(
    ("name", "other", "text"),
    [
        ("Änne", "Anne Schulz", "Anne Schulz works on Mondays."),
        ("Zoé", "Bo", "Zoe is what Sam calls me."),
        ("Hà", "Bo", "Ha comprato il pane."),
        ("Rosé", "Bo", "Die Rose im Garten."),
        ("José", "Bo", "Bo flew to San Jose."),
    ],
)
def test_a_word_that_is_a_name_but_for_its_marks_is_another_word(
    tmp_path: Path, name: str, other: str, text: str
) -> None:
    folder = ada(tmp_path)
    known(folder, name)
    known(folder, other)
    one = episodes.new("ep_1", NOON, 0.5, text, provenance=origin("ses_1", audience=("sam",)))
    write(folder, episodes.EPISODE.plan_new(one, ""))
    plan = forget.plan(folder, relationships.person_id(name), (name,), UTC)
    write(folder, *plan.changes)
    (kept,) = episodes.EPISODE.readable(folder.episodes)
    assert kept.text == text
    assert not any("anne-schulz" in path for path in plan.mentions)


def test_a_page_of_whom_they_alone_have_told_goes_when_nothing_is_left(entity: Entity) -> None:
    told = PendingNote("Eli bought a lathe.", NOON, origin("ses_1", "msg_1000"))
    for name, hand in (("Eli", ""), ("Ida", "By hand.\n")):
        page = relationships.new(name, NOON, provenance=origin("ses_1"))
        write(entity, relationships.PERSON.plan_new(page, ""))
        write(entity, relationships.plan_update(page, "", **relationships.told_of(page, [told])))
        with (entity.root / relationships.PERSON.path(name.lower())).open("a") as file:
            file.write(hand)
    assert forgotten(entity).counts["pages of those they told of"] == 1
    names = {one.name for one in relationships.PERSON.readable(entity.relationships)}
    assert names == {"Bo", "Ida"}


@pytest.mark.parametrize(
    ("name", "title", "text"),
    [
        ("Will", "Will", "Sam wrote his last will on 3 May."),
        ("Hope", "Hope", "Sam hopes for rain."),
        ("Iris", "Iris (the flower)", "Sam planted it."),
    ],
)
def test_what_is_called_by_a_word_that_is_a_name_too_and_does_not_name_them_stays(
    tmp_path: Path, name: str, title: str, text: str
) -> None:
    folder = ada(tmp_path)
    known(folder, name)
    mine = origin("ses_1", audience=("sam",))
    section = knowledge.new_section(title, text, mine)
    book = knowledge.read(folder.knowledge)
    write(folder, knowledge.plan(book, knowledge.with_added(book, [section]), ""))
    write(folder, *forget.plan(folder, name.lower(), (name,), UTC).changes)
    assert text in (one.text for one in knowledge.read(folder.knowledge).sections)


def test_what_is_a_persons_own_to_edit_is_named(entity: Entity) -> None:
    entity.journal.write_text("## 2026-05-24 12:00:00\n\nSam came by.\n")
    before = entity.journal.read_bytes()
    plan = forgotten(entity)
    assert entity.journal.read_bytes() == before
    assert {"journal.md", "entity.yaml"} <= set(plan.mentions)


def test_dreams_skills_and_reminders_that_are_of_them_alone_go(entity: Entity) -> None:
    write(
        entity,
        dreams.DREAM.plan_new(
            dreams.new(
                *("drm_1", NOON, (("ep_1", "ep_1"),), (SECRET,), ""),
                provenance=origin("ep_1", by="dream"),
            ),
            "",
        ),
        skills.plan_set(
            [], "Bake", SECRET, SECRET, "", overwrite=False, provenance=origin("ses_1")
        ),
        reminders.REMINDER.plan_new(
            reminders.new("rem_1", NOON, SECRET, person="sam", provenance=origin(by="remind add")),
            "",
        ),
        beliefs.BELIEF.plan_new(
            beliefs.new("bel_3", SECRET, "dream_insight", 0.5, NOON, evidence=("drm_1",)), ""
        ),
    )
    counts = forgotten(entity).counts
    assert [counts[name] for name in ("dreams", "skills", "reminders")] == [1, 1, 1]
    for folder in (entity.dreams, entity.skills, entity.reminders):
        assert list(folder.rglob("*.md")) == []
    assert SECRET not in "".join(one.text for one in beliefs.BELIEF.readable(entity.beliefs))


def test_what_they_had_said_to_somebody_else_goes_with_the_message_that_said_it(
    entity: Entity,
) -> None:
    asked = reminders.new("rem_9", NOON, "The blue room.", person="bo", asked_by="sam")
    write(entity, reminders.REMINDER.plan_new(asked, ""))
    told = {"unprompted": True, "reminder": "rem_9"}
    line = sessions.Message("msg_9", NOON, "assistant", "Reminder: “The blue room.”", extra=told)
    there = session_files.load(entity.sessions / "ses_3" / sessions.FILE)
    write(entity, sessions.plan_append(there, [line], ""))
    assert forgotten(entity).counts["reminders"] == 1
    assert "blue room" not in "".join(
        path.read_text(encoding="utf-8") for path in entity.root.rglob("*.*") if path.is_file()
    )


def test_what_a_person_wrote_of_them_stays_word_for_word_and_is_named(entity: Entity) -> None:
    alone, told = Provenance(audience=("sam",)), f"Sam has {SECRET}."
    write(
        entity,
        projects.plan_new("Paint", {"people": ["sam"]}, told, ""),
        episodes.EPISODE.plan_new(episodes.new("ep_9", NOON, 0.5, told, people=("sam",)), ""),
        knowledge.plan_set(
            *(knowledge.read(entity.knowledge), "Knee", told, ""), by_entity=False, provenance=alone
        ),
    )
    plan = forgotten(entity)
    (painted,) = projects.PROJECT.readable(entity.root / projects.PROJECT.folder)
    assert (painted.source.body, painted.people) == (told, ())
    kept = {one.id: one for one in episodes.EPISODE.readable(entity.episodes)}["ep_9"]
    assert (kept.text, kept.people) == (told, ())
    section = knowledge.find(knowledge.read(entity.knowledge), "Knee")
    assert section and (section.text, section.provenance.audience) == (told, ("sam",))
    named = {one.path for one in plan.undecided}
    assert {"projects/paint.md", "knowledge.md"} <= named
    assert any("ep_9" in path for path in named)
    assert forget.plan(entity, "sam", ["Sam"], UTC).changes == ()


def test_one_of_a_kind_is_told_in_the_singular() -> None:
    counts = {"episodes with the name": 1, "files of sections of knowledge": 1, "messages": 2}
    told = "1 episode with the name, 1 file of sections of knowledge, 2 messages"
    assert forget.Forgetting((), counts, ()).summary == told


def test_what_cannot_be_decided_is_named_with_the_reason(entity: Entity) -> None:
    pairs = (("ep_1", "ep_2"),)
    shared = Provenance("distill", audience=BOTH)
    (entity.root / "skills" / "tea-for-sam").mkdir(parents=True)
    (entity.root / "skills" / "tea-for-sam" / "SKILL.md").write_text("Two sugars.\n")
    write(
        entity,
        dreams.DREAM.plan_new(dreams.new("drm_1", NOON, pairs, ("a wave",), ""), ""),
        skills.plan_set([], "Calm Sam", "When Sam sighs.", "Sing.", "", overwrite=False),
        skills.plan_set([], "Sing", "For Sam", "Hm.", "", overwrite=False, provenance=shared),
        reminders.REMINDER.plan_new(reminders.new("rem_1", NOON, "Call Sam.", person="bo"), ""),
    )
    entity.narrative.write_text("---\nby: narrate\nfrom: [ep_1, ep_2]\n---\n\nSam and I sang.\n")
    reasons = {entry.path: entry.reason for entry in forgotten(entity).undecided}
    assert reasons["dreams/drm_1.md"] == forget.RESTS_IN_PART
    assert reasons["skills/calm-sam.md"] == forget.STILL_NAMED
    assert reasons["skills/tea-for-sam/SKILL.md"] == forget.FILE_NAMED
    assert reasons["skills/sing.md"] == forget.NAMED_BEFORE
    assert reasons["reminders/rem_1.md"] == forget.STILL_NAMED
    assert reasons["narrative.md"] == forget.NAMED_BEFORE
    assert reasons["sessions/ses_3/messages.jsonl"] == forget.STILL_NAMED
    (sing,) = (one for one in skills.SKILL.readable(entity.skills) if one.id == "sing")
    assert (sing.description, sing.provenance.audience) == ("For somebody", ("bo",))
    assert "somebody and I sang." in entity.narrative.read_text()


def test_an_audience_that_loses_them_never_becomes_everyone(entity: Entity) -> None:
    twice = Provenance("distill", audience=("sam", "sam"))
    write(entity, skills.plan_set([], "Hush", "", SECRET, "", overwrite=False, provenance=twice))
    forgotten(entity)
    assert list(skills.SKILL.readable(entity.skills)) == []


def test_doctor_finds_who_is_left_in_a_list(entity: Entity) -> None:
    forgotten(entity)
    left = episodes.new("ep_9", NOON, 0.5, "x", people=("sam", "bo"))
    write(
        entity,
        episodes.EPISODE.plan_new(left, ""),
        reminders.REMINDER.plan_new(reminders.new("rem_9", NOON, "x", person="sam"), ""),
    )
    findings = record_files.found(entity, NOON, "bo")
    places = {(one.path, one.line) for one in findings if one.code == "person-missing"}
    assert places == {("episodes/2026/05/ep_9.md", 3), ("reminders/rem_9.md", 3)}


def test_what_a_file_is_named_for_goes_with_the_name_and_links_follow(tmp_path: Path) -> None:
    folder = ada(tmp_path)
    known(folder, "Sam", "Sam runs.")
    ran = episodes.new(
        base.stable_id("ep", NOON, "ran"),
        NOON,
        0.5,
        "# Sam’s race\n\nSam and Bo ran.",
        people=BOTH,
        provenance=origin("ses_9", audience=BOTH),
    )
    told = Provenance("narrate", "m", (ran.id,), "person", ("bo",))
    story = narrative.plan_tell(None, f"We ran.{narrative.cited([ran])}", NOON, told, "")
    bo = known(folder, "Bo")
    link = f"- Today: {episodes.link(ran, '../')}"
    page = relationships.unportrayed(bo, link, origin(ran.id, audience=BOTH, by="x by form"))
    write(
        folder, episodes.EPISODE.plan_new(ran, ""), story, relationships.plan_update(bo, "", **page)
    )
    assert any("-sams-race-" in path.name for path in folder.episodes.rglob("*.md"))
    plan = forget.plan(folder, "sam", ["Sam"], UTC)
    changes.apply(folder.root, ChangeSet("forget", plan.changes))
    (file,) = folder.episodes.rglob("*.md")
    assert file.name == f"{ran.id}.md"
    assert "Sam" not in file.read_text() and episodes.find(folder, ran.id)
    shown = folder.narrative.read_text()
    assert relationships.find(folder.relationships, "bo").met == []  # no link leads nowhere
    assert "sams" not in shown and f"/{ran.id}.md)" in shown
    assert file.relative_to(folder.root).as_posix() in {one.path for one in plan.undecided}


def test_a_title_that_tells_nothing_of_them_stays_in_the_name_of_its_file(tmp_path: Path) -> None:
    folder = ada(tmp_path)
    known(folder, "Sam", "Sam runs.")
    known(folder, "Bo")
    id_ = base.stable_id("ep", NOON, "ran")
    text, whose = "# A light on the line\n\nSam and Bo ran.", origin("ses_9", audience=BOTH)
    ran = episodes.new(id_, NOON, 0.5, text, people=BOTH, provenance=whose)
    write(folder, episodes.EPISODE.plan_new(ran, ""))
    changes.apply(
        folder.root, ChangeSet("forget", forget.plan(folder, "sam", ["Sam"], UTC).changes)
    )
    (file,) = folder.episodes.rglob("*.md")
    assert "-a-light-on-the-line-" in file.name
    assert "Sam" not in file.read_text()


def test_a_file_that_a_program_called_by_the_name_goes_with_it(tmp_path: Path) -> None:
    folder = ada(tmp_path)
    known(folder, "Bo", "Bo bakes.")
    talked(folder, "ses_1", ("bo", "I bake bread."), by="bo")
    checked = Provenance("eval draft", trust="person", audience=("sam",))
    asked = checks.new("bo-s-bread", "What of bread?", expect=("rye",), provenance=checked)
    own = skills.plan_set([], "Bo bread", "how", "Take rye.", "", overwrite=False)
    write(folder, checks.CHECK.plan_new(asked, ""), own)
    write(folder, *forget.plan(folder, "bo", ("Bo",), UTC).changes)
    assert not list(folder.root.glob("checks/*"))
    assert [path.name for path in folder.root.glob("skills/*")] == ["bo-bread.md"]  # by hand


def test_in_japanese_all_that_names_them_is_found_and_a_greeting_is_nobodys(
    tmp_path: Path,
) -> None:
    folder = ada(tmp_path)
    known(folder, "エマ")
    known(folder, "健一")
    talked(folder, "ses_1", ("エマ", "Let's go to the onsen. おやすみなさい!"), by="エマ")
    night = "おやすみなさい、健一さん。"
    talked(folder, "ses_2", ("健一", "嫁のエマにも話した"), ("ada", night), by="健一")
    talked(folder, "ses_3", ("健一", "シネマへ行く"), by="健一")
    both = Provenance("distill", "m", ("ses_9",), "person", ("健一", "エマ"))
    text = "エマは和子をonsenに連れて行きたい。和子は嫁のエマが好きだ。"
    book = knowledge.read(folder.knowledge)
    write(folder, knowledge.plan_set(book, "和子", text, "", by_entity=True, provenance=both))
    plan = forget.plan(folder, "エマ", ["エマ"], UTC)
    write(folder, *plan.changes)
    told = knowledge.read(folder.knowledge).sections[-1].text
    assert "エマ" not in told and "onsen" not in told and "和子は嫁の" in told
    assert night in (folder.sessions / "ses_2/messages.jsonl").read_text()
    named = {one.path for one in plan.undecided if one.reason == forget.STILL_NAMED}
    assert named == {"sessions/ses_2/messages.jsonl"}
    assert plan.tells_of("エマは来た") and not plan.tells_of("シネマ")
