from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from bumble.entity.folder import Entity
from bumble.fallback import notices
from bumble.records import sessions
from bumble.records.sessions import Message, Session
from tests.support.lives import NOON, runtime_of
from tests.support.reading import reading, with_reader

TOLD, HUSH = "I lost my job at the mill", "keep that to yourself ok"


def talk(*texts: str, minutes: float = 1) -> Session:
    messages = [
        Message(f"msg_{n}", NOON + timedelta(minutes=minutes * n), "user", text, "sam")
        for n, text in enumerate(texts)
    ]
    return sessions.appended(sessions.new("ses_1", NOON, "sam"), messages)


def test_a_message_is_read_once_beside_what_was_said_before(ada: Entity) -> None:
    runtime = with_reader(runtime_of(ada), {TOLD: reading("tell", keep=True, heavy=1)})
    session = talk(TOLD, "lovely day")
    found = notices.notices(runtime, session, session.messages)
    kept, fleeting = found.of["msg_0"], found.of["msg_1"]
    assert (kept.keep, kept.why, kept.heavy) == (True, "tell", 1)
    assert not fleeting.keep
    again = notices.notices(runtime, sessions.appended(session, found.new), session.messages)
    assert again.new == ()
    assert runtime.memory.reader.asked == [(TOLD, ""), ("lovely day", TOLD)]  # type: ignore[union-attr]


def test_a_request_to_be_silent_is_about_what_was_said_before_it(ada: Entity) -> None:
    runtime = with_reader(
        runtime_of(ada), {TOLD: reading("tell", keep=True), HUSH: reading("confide")}
    )
    found = notices.notices(runtime, (session := talk(TOLD, HUSH)), session.messages).of
    assert found["msg_0"].confided
    far = talk(TOLD, HUSH, minutes=20)
    assert not notices.notices(runtime, far, far.messages).of["msg_0"].confided


def test_a_sentence_that_asks_for_silence_makes_all_of_it_a_confidence(ada: Entity) -> None:
    ask = "And now something private, keep it to yourself."
    both = f"{ask} I'm seeing the stonemason."
    known = {both: reading("tell", keep=True), ask: reading("confide")}
    runtime = with_reader(runtime_of(ada), known)
    session = talk(both, "The oak fell. It was old.")
    found = notices.notices(runtime, session, session.messages).of
    assert (found["msg_0"].confided, found["msg_1"].confided) == (True, False)


def test_what_is_asked_to_be_kept_is_kept(ada: Entity) -> None:
    runtime = with_reader(runtime_of(ada), {TOLD: reading("remember")})
    assert notices.notices(runtime, (session := talk(TOLD)), session.messages).of["msg_0"].keep


def test_a_correction_names_what_it_puts_right(ada: Entity) -> None:
    old, new = "Frank comes on the 12th of December", "Frank comes on the 15th of December now"
    known = {old: reading("tell", keep=True), new: reading("correct", "tell", keep=True)}
    runtime = with_reader(runtime_of(ada), known)
    found = notices.notices(runtime, (session := talk(old, new)), session.messages).of
    assert found["msg_1"].corrects == ("msg_0",)
    assert found["msg_0"].corrects == ()


def test_what_another_value_is_given_for_goes_before_what_was_said_last(ada: Entity) -> None:
    old = "three hens and a goat. my brother comes on the 12th of december"
    last, new = (
        "evening. the fox took our brother of a goat",
        "my brothers flight, its the 15th now",
    )
    known = {text: reading("tell", keep=True) for text in (old, last)}
    known[new] = reading("correct", "tell", keep=True)
    runtime = with_reader(runtime_of(ada), known)
    found = notices.notices(runtime, (session := talk(old, last, new)), session.messages).of
    assert found["msg_2"].corrects[0] == "msg_0"


def test_what_was_only_asked_is_not_put_right(ada: Entity) -> None:
    old, ask, new = "Frank comes on the 12th", "remind me to ring Frank", "Frank: the 15th now"
    known = {
        old: reading("tell", keep=True),
        ask: reading("remind"),
        new: reading("correct", "tell", keep=True),
    }
    runtime = with_reader(runtime_of(ada), known)
    found = notices.notices(runtime, (session := talk(old, ask, new)), session.messages).of
    assert found["msg_2"].corrects == ("msg_0",)


def test_what_puts_a_kept_word_right_is_kept_as_well(ada: Entity) -> None:
    old, new = "the match is on the 13th", "the match is on the 14th, sorry, not the 13th"
    known = {old: reading("tell", keep=True), new: reading("correct")}
    runtime = with_reader(runtime_of(ada), known)
    found = notices.notices(runtime, (session := talk(old, new)), session.messages).of
    assert (found["msg_1"].keep, found["msg_1"].corrects) == (True, ("msg_0",))
    alone = talk(new)
    assert not notices.notices(runtime, alone, alone.messages).of["msg_0"].keep


def test_another_value_for_what_was_told_puts_it_right_though_nobody_says_so(ada: Entity) -> None:
    old, new = (
        "my nephew Bero comes on the 8th of December",
        "Bero comes on the 9th, no train before",
    )
    other = "Bero turns six on the 3rd of March"
    known = {text: reading("tell", keep=True) for text in (old, new, other)}
    runtime = with_reader(runtime_of(ada), known)
    found = notices.notices(runtime, (session := talk(old, new)), session.messages).of
    assert found["msg_1"].corrects == ("msg_0",)
    surely_not = reading("tell", keep=True)
    surely_not = replace(surely_not, scores={**surely_not.scores, "correct": -6.0})
    runtime = with_reader(runtime_of(ada), known | {new: surely_not})
    found = notices.notices(runtime, (session := talk(old, new)), session.messages).of
    assert found["msg_1"].corrects == ()
    found = notices.notices(runtime, (session := talk(old, other)), session.messages).of
    assert found["msg_1"].corrects == ()
