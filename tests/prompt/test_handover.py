from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from bumble.entity.folder import Entity
from bumble.prompt import handover
from bumble.records import episodes, session_files, sessions, state
from bumble.records.base import Provenance
from bumble.records.sessions import Appraised, Message, Session
from bumble.runtime.job import apply
from bumble.runtime.runtime import Runtime
from bumble.text import tokens
from tests.support import living
from tests.support.living import NOON, ada, heard, runtime_of, talked, write

LINES = (
    ("sam", "The loudspeaker of the Philips radio is torn, and plan.md says Friday."),
    ("ada", "Can it be saved?"),
    ("sam", "I will order a new one from Porto for 40 euros."),
    ("ada", "Then the radio will play again."),
)
STORY = "# The Philips radio and its torn loudspeaker\n\nSam told me of the loudspeaker."
RELATED = "Did I tell you that the loudspeaker of the Philips radio has come from Porto?"
UNRELATED = "What should I cook tonight?"


@pytest.fixture
def folder(tmp_path: Path) -> Entity:
    return ada(tmp_path)


def remembered(entity: Entity, session: Session, text: str = STORY) -> None:
    """Put what was remembered of a conversation into the folder."""
    origin = Provenance(by="remember", audience=session.people)
    made = episodes.new(
        f"ep_{session.id[4:]}", session.at, 0.6, text, session=session.id, provenance=origin
    )
    write(entity, episodes.EPISODE.plan_new(made, ""))


def brief(entity: Entity) -> tuple[Runtime, Session]:
    """Let a conversation leave a brief."""
    runtime = runtime_of(entity)
    felt = Appraised(NOON, "msg_1002", {}, felt="I am hopeful about that radio.")
    session = talked(entity, "ses_1", *LINES, felt=felt)
    remembered(entity, session)
    apply(runtime, handover.run(runtime, session))
    return runtime, session


def begun(text: str, by: str = "sam", present: tuple[str, ...] = ()) -> Session:
    """A new conversation, in which only its first message was said."""
    first = Message("msg_9", NOON, "user", text, by, extra={"name": by.title()})
    return sessions.appended(sessions.new("ses_9", NOON, by, present), [first])


def test_a_brief_links_to_what_was_remembered_and_says_what_that_does_not(folder: Entity) -> None:
    runtime, _ = brief(folder)
    document = session_files.read_handover(folder.sessions, "ses_1")
    assert document is not None
    place = f"../../{episodes.EPISODE.place(episodes.EPISODE.readable(folder.episodes)[0])}"
    assert document.text == (
        f"[The Philips radio and its torn loudspeaker]({place})\n\n"
        "I am hopeful about that radio.\n\n`plan.md`"
    )
    assert document.provenance.by == "handover"
    assert document.provenance.sources == ("ses_1",)
    assert document.audience == ("sam",)
    assert living.asked(runtime) == []


def test_a_brief_tells_what_was_put_right_since_and_nothing_that_is_gone(folder: Entity) -> None:
    runtime, _ = brief(folder)
    (file,) = episodes.EPISODE.locate(folder, "ep_1")
    file.write_text(file.read_text().replace("the loudspeaker.", "the loudspeaker from Faro."))
    told = handover.brief(runtime, begun(RELATED))
    assert told is not None and "Sam told me of the loudspeaker from Faro." in told.text
    file.write_text(file.read_text().replace("[sam]", "[kim]"))
    others = handover.brief(runtime, begun(RELATED))
    assert others is not None and "Faro" not in others.text
    file.unlink()
    left = handover.brief(runtime, begun(RELATED))
    assert left is not None and left.text == "I am hopeful about that radio.\n\n`plan.md`"


def test_a_brief_with_too_little_in_it_is_not_written(folder: Entity) -> None:
    runtime = runtime_of(folder)
    session = talked(folder, "ses_1", *LINES, at=NOON - timedelta(days=1))
    assert not handover.check(runtime).due
    outcome = handover.run(runtime, session)
    apply(runtime, outcome)
    assert session_files.read_handover(folder.sessions, "ses_1") is None
    assert outcome.data["written"] is False
    assert "quality 0.00, wants 0.40" in outcome.lines[0]


def test_it_waits_until_the_talk_is_remembered(folder: Entity) -> None:
    session = talked(folder, "ses_1", *LINES, at=NOON - timedelta(days=1))
    runtime, first = runtime_of(folder), session.messages[0].id
    heard = state.plan_heard(state.read(folder.state), session, first, "")
    write(folder, heard)
    assert not handover.check(runtime).due
    outcome = handover.run(runtime, session)
    apply(runtime, outcome)
    assert not outcome.ran and "once the talk is remembered" in outcome.lines[0]
    assert session_files.read_handover(folder.sessions, "ses_1") is None


def test_until_it_is_remembered_the_last_words_stand_for_it_whatever_is_said_next(
    folder: Entity,
) -> None:
    session = talked(folder, "ses_1", ("sam", "It is benign."), ("ada", "What a relief."))
    runtime = runtime_of(folder)
    assert handover.brief(runtime, begun(UNRELATED)) is None  # dealt with, and short
    file = state.read(folder.state)
    write(folder, state.plan_heard(file, session, session.messages[0].id, ""))
    left = handover.brief(runtime, begun(UNRELATED))
    assert left is not None and left.waits
    assert "Sam said: It is benign." in handover.prompt_text(left, NOON, 350)
    assert handover.brief(runtime, begun(UNRELATED, present=("kim",))) is None


def test_who_heard_a_talk_that_another_began_goes_on_from_it(folder: Entity) -> None:
    heard(folder, ("kim", "Six foot ten it is."), name="ses_1", by="kim", present=("sam",))
    left = handover.brief(runtime_of(folder), begun(UNRELATED))
    assert left is not None and "Six foot ten" in left.text
    assert handover.brief(runtime_of(folder), begun(UNRELATED, "bo")) is None


def test_of_longer_notes_the_newest_lines_are_shown() -> None:
    lines = [f"Sam said: the {n}th stone of the wall." for n in range(20)]
    left = handover.Brief("ses_1", "\n".join(lines), NOON, None, fits=True)
    assert lines[0] in handover.prompt_text(left, NOON, 350)
    short = handover.prompt_text(left, NOON, 60)
    assert lines[0] not in short and lines[-1] in short
    long = handover.Brief("ses_1", f"It is benign.\n{'a stone ' * 300}", NOON, None, fits=True)
    assert "It is benign." in (found := handover.prompt_text(long, NOON, 350))
    assert tokens.estimate(found) < 350


def test_only_the_last_conversation_that_is_over_waits_for_a_brief(folder: Entity) -> None:
    felt = Appraised(NOON, "msg_1002", {}, felt="I am glad.")
    hi = [("kim", "Hi")] * 4
    for session in (
        talked(folder, "ses_old", *LINES, at=NOON - timedelta(days=3), felt=felt),
        talked(folder, "ses_last", *LINES, at=NOON - timedelta(days=1), felt=felt),
        talked(folder, "ses_kim", *hi, by="kim", at=NOON - timedelta(days=2), felt=felt),
        talked(folder, "ses_now", *LINES, at=NOON - timedelta(minutes=5), felt=felt),
        talked(folder, "ses_short", *LINES[:2], by="bo", at=NOON - timedelta(days=2)),
    ):
        remembered(folder, session)
    runtime = runtime_of(folder)
    found = handover.check(runtime)
    assert [job.id for job in found.jobs] == ["ses_kim", "ses_last"]
    apply(runtime, handover.run(runtime, found.jobs[1]))
    assert [job.id for job in handover.check(runtime).jobs] == ["ses_kim"]


def test_a_first_message_that_goes_on_from_it_gets_the_brief_and_another_does_not(
    folder: Entity,
) -> None:
    runtime, _ = brief(folder)
    related, unrelated = (handover.brief(runtime, begun(text)) for text in (RELATED, UNRELATED))
    assert related is not None
    assert unrelated is not None
    assert related.likeness is not None
    assert unrelated.likeness is not None
    assert related.likeness >= runtime.config.session.continuity_threshold > unrelated.likeness
    assert (related.fits, unrelated.fits) == (True, False)
    assert "Philips" in handover.prompt_text(related, NOON, 350)
    assert handover.prompt_text(unrelated, NOON, 350) == ""


def test_a_greeting_of_the_entity_is_not_what_the_brief_is_held_against(folder: Entity) -> None:
    runtime, _ = brief(folder)
    greeting = Message("msg_0", NOON - timedelta(minutes=1), "assistant", UNRELATED)
    found = handover.brief(runtime, sessions.appended(begun(RELATED), [greeting]))
    alone = handover.brief(runtime, begun(RELATED))
    assert found is not None
    assert alone is not None
    assert (found.likeness, found.fits) == (alone.likeness, True)
    only = sessions.appended(sessions.new("ses_9", NOON, "sam"), [greeting])
    assert handover.brief(runtime, only) is None


def test_only_the_first_turns_of_a_conversation_see_the_brief(folder: Entity) -> None:
    runtime, _ = brief(folder)
    session = begun(RELATED)
    more = [
        Message(f"msg_9{n}", NOON + timedelta(minutes=n), "user", "And?", "sam")
        for n in range(1, handover.TURNS + 1)
    ]
    assert handover.brief(runtime, sessions.appended(session, more[:-1]))
    assert handover.brief(runtime, sessions.appended(session, more)) is None


def test_a_brief_is_for_those_who_were_there(folder: Entity) -> None:
    runtime, _ = brief(folder)
    assert handover.brief(runtime, begun(RELATED, by="kim")) is None
    assert handover.brief(runtime, begun(RELATED, present=("kim",))) is None
    assert handover.brief(runtime, begun(RELATED)) is not None


def test_a_brief_says_how_the_talk_ended_and_leaves_out_a_question_that_was_answered(
    folder: Entity,
) -> None:
    asked = ("sam", "Shall I glue it first?")
    told = " ".join(f"Sam told me of part {n} of the radio." for n in range(40))
    felt = Appraised(NOON, "msg_1002", {}, felt="I am hopeful.")
    said = (*LINES, asked, ("ada", "Yes, and let it dry."))
    session = talked(folder, "ses_1", *said, felt=felt)
    remembered(folder, session, f"# The radio\n\n{told} It was saved in the end.")
    runtime = runtime_of(folder)
    apply(runtime, handover.run(runtime, session))
    left = handover.brief(runtime, begun(RELATED))
    assert left is not None
    assert "part 39 of the radio. It was saved in the end." in left.text
    assert "part 0 of" not in left.text
    assert "glue" not in left.text


def test_the_entity_s_name_in_a_first_message_does_not_make_it_unlike_a_brief(
    folder: Entity,
) -> None:
    runtime, _ = brief(folder)
    plain, called = (handover.brief(runtime, begun(text)) for text in (RELATED, f"Ada! {RELATED}"))
    assert plain is not None and called is not None
    assert called.likeness == pytest.approx(plain.likeness, abs=0.02)
