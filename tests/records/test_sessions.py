from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bumble.records import sessions
from bumble.records.sessions import Compaction, End, Message, Notice, Session, ToolCall, Undo
from bumble.text.yaml_edit import SourceError

AT = datetime(2026, 5, 24, 3, 12, 47, 123000, tzinfo=UTC)


def said(n: int, role: str = "user", text: str = "hi", **more: object) -> Message:
    speaker = "sam" if role == "user" else ""
    message = Message(f"msg_{n}", AT + timedelta(seconds=n), role, text, speaker=speaker)
    return replace(message, **more)


def talk(*lines: sessions.Record, torn: str = "") -> Session:
    source = sessions.new("ses_1", AT, "sam").source
    return sessions.parse(source + "".join(map(sessions.render, lines)) + torn)


MESSAGES = st.builds(
    Message,
    id=st.uuids().map(lambda identifier: f"msg_{identifier.hex}"),
    at=st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)).map(
        lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000, tzinfo=UTC)
    ),
    role=st.sampled_from(sessions.ROLES),
    text=st.text(),
    speaker=st.text(max_size=5),
    tool_calls=st.lists(
        st.builds(
            ToolCall,
            st.text(min_size=1, max_size=5),
            st.text(min_size=1, max_size=5),
            st.dictionaries(st.text(max_size=4), st.text(max_size=4) | st.integers(), max_size=2),
        ),
        max_size=2,
    ).map(tuple),
    tool_call_id=st.text(max_size=4),
    trust=st.sampled_from(["", "owner", "tool"]),
    unanswered=st.booleans(),
    extra=st.dictionaries(st.sampled_from(["x", "mood"]), st.integers(), max_size=2),
)


@given(st.lists(MESSAGES, max_size=5, unique_by=lambda one: one.id))
def test_every_message_reads_back_as_it_was_written(messages: list[Message]) -> None:
    found = talk(*messages)
    assert found.messages == tuple(messages)
    assert found.source.count("\n") == len(messages) + 1


def test_a_message_is_one_line_of_plain_json() -> None:
    call = ToolCall("c1", "recall", {"query": "sea"})
    line = sessions.render(said(1, "assistant", "é\n🐝", tool_calls=(call,), trust="entity"))
    assert line == (
        '{"type":"message","id":"msg_1","at":"2026-05-24T03:12:48.123+00:00","role":"assistant",'
        '"text":"é\\n🐝","tool_calls":[{"id":"c1","name":"recall","arguments":{"query":"sea"}}],'
        '"trust":"entity"}\n'
    )


def test_appending_changes_no_line_that_is_there() -> None:
    before = talk(said(1))
    change = sessions.plan_append(before, [said(2, "assistant")], "answer")
    assert change.adds and change.data is not None
    assert change.path == "sessions/ses_1/messages.jsonl"
    after = sessions.appended(before, [said(2, "assistant")])
    assert after.source == before.source + change.data.decode()
    assert [one.id for one in after.messages] == ["msg_1", "msg_2"]


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_last_line_that_was_cut_off_is_passed_over_and_named(cut: int) -> None:
    found = talk(said(1), torn=sessions.render(said(2))[:cut])
    assert found.torn_line == 3
    assert [one.id for one in found.messages] == ["msg_1"]


def test_a_transcript_goes_on_behind_a_line_that_was_cut_off() -> None:
    found = talk(said(1), torn='{"type":"mess')
    after = sessions.appended(found, [said(3)])
    assert after.source.startswith(found.source + "\n")
    assert after.torn_line is None
    assert [one.id for one in after.messages] == ["msg_1", "msg_3"]
    assert sessions.parse(after.source).messages == after.messages


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ("{broken", "not a line of JSON"),
        ("[1]", "should be an object"),
        ('{"type":"message","id":"m","at":"noon","role":"user"}', "should be a time"),
        ('{"type":"message","id":"m","at":"2026-05-24T03:12:47","role":"user"}', "no UTC offset"),
        ('{"type":"message","id":"m","at":"2026-05-24T03:12:47Z","role":"god"}', "one of user"),
        ('{"type":"message","at":"2026-05-24T03:12:47Z","role":"user"}', "`id` is missing"),
        ('{"type":"compaction","id":"c","at":"2026-05-24T03:12:47Z"}', "`first` is missing"),
        ("[" * 100_000, "not a line of JSON"),
    ],
)
def test_a_broken_line_in_the_middle_names_its_line(bad: str, problem: str) -> None:
    source = talk(said(1)).source + bad + "\n" + sessions.render(said(2))
    with pytest.raises(SourceError, match=problem) as caught:
        sessions.parse(source)
    assert caught.value.line == 3


@pytest.mark.parametrize("source", ["", "\n", '{"type":"message"}\n', "{}"])
def test_a_file_without_its_first_line_is_refused(source: str) -> None:
    with pytest.raises(SourceError, match="first line"):
        sessions.parse(source)


def test_what_a_merge_doubles_counts_once_and_keeps_the_order_of_a_file_without_links() -> None:
    found = talk(said(1), said(4), said(2), said(4), said(1), End(AT), End(AT), said(3))
    assert [one.id for one in found.messages] == ["msg_1", "msg_4", "msg_2", "msg_3"]


def test_a_message_stands_behind_the_one_it_follows_whatever_the_clock_said() -> None:
    session = sessions.new("ses_1", AT, "sam")
    for n in (9, 4, 1, 6):
        session = sessions.appended(session, [said(n), said(n, "assistant", id=f"msg_{n}a")])
    assert [one.id[4:] for one in session.messages] == ["9", "9a", "4", "4a", "1", "1a", "6", "6a"]
    head, first, *rest = session.source.splitlines(keepends=True)
    source = "".join((head, first, *sorted(rest)))
    assert sessions.parse(source).messages == session.messages


def test_what_was_said_side_by_side_stands_by_time_each_with_its_answer() -> None:
    begun = sessions.appended(sessions.new("ses_1", AT, "sam"), [said(1), said(2, "assistant")])
    here = sessions.appended(begun, [said(3), said(7, "assistant")])
    there = sessions.appended(begun, [said(5), said(6, "assistant")])
    first, second = (side.source.removeprefix(begun.source) for side in (here, there))
    for joined in (first + second, second + first):
        found = sessions.parse(begun.source + joined)
        assert [one.id[-1] for one in found.messages] == ["1", "2", "3", "7", "5", "6"]


def test_a_later_message_opens_a_conversation_again_whatever_the_clock_said() -> None:
    begun = sessions.appended(
        sessions.new("ses_1", AT, "sam"), [said(5), End(AT.replace(year=2036))]
    )
    assert begun.ended is not None
    here = sessions.appended(begun, [said(1)])
    assert here.ended is None
    assert sessions.appended(here, [End(AT)]).ended == AT


def test_a_compaction_is_taken_back_by_a_line_not_by_removing_one() -> None:
    first, second = (
        Compaction(f"cmp_{n}", AT + timedelta(seconds=n), "sum", "msg_1", "msg_2") for n in (1, 2)
    )
    found = talk(said(1), said(2), first, second)
    assert found.compactions == (first, second)
    undone = sessions.appended(found, [Undo(AT + timedelta(seconds=9), "cmp_2")])
    assert undone.compactions == (first,)
    assert undone.source.startswith(found.source)
    assert len(undone.messages) == 2


def test_what_waits_for_a_reply_is_known() -> None:
    call = (ToolCall("c", "recall", {}),)
    asked = talk(said(1), said(2, "assistant"), said(3), said(4))
    assert [one.id for one in asked.unanswered] == ["msg_3", "msg_4"]
    work = (said(5, "assistant", "", tool_calls=call), said(6, "tool"))
    at_work = sessions.appended(asked, work)
    assert [one.id for one in at_work.unanswered] == ["msg_3", "msg_4"]
    assert sessions.appended(at_work, [said(7, "assistant")]).unanswered == ()


def test_a_notice_comes_back_as_it_was_written() -> None:
    at = datetime(2026, 11, 23, 9, 0, tzinfo=UTC)
    notice = Notice(
        at, "msg_1", True, "confide", 0.8125, True, 1, 2, ("msg_0",), extra={"model": "m"}
    )
    session = sessions.new("ses_1", at, "sam")

    heard = sessions.appended(session, [Message("msg_1", at, "user", "…", "sam"), notice])

    assert heard.notices == {"msg_1": notice}
    assert heard.messages[0].id == "msg_1"


def test_the_last_notice_of_a_message_stands() -> None:
    at = datetime(2026, 11, 23, 9, 0, tzinfo=UTC)
    session = sessions.new("ses_1", at, "sam")

    heard = sessions.appended(
        session,
        [Notice(at, "msg_1", True, "model"), Notice(at + timedelta(1), "msg_1", False, "riddle")],
    )

    assert not heard.notices["msg_1"].keep


@pytest.mark.parametrize("field", ['"keep": 1', '"keep": true, "share": 2'])
def test_a_notice_that_is_none_is_told_with_its_line(field: str) -> None:
    source = (
        '{"type": "session", "id": "ses_1", "at": "2026-11-23T09:00:00Z", "by": "sam"}\n'
        f'{{"type": "notice", "at": "2026-11-23T09:00:00Z", "message": "msg_1", {field}}}\n'
    )

    with pytest.raises(SourceError) as error:
        sessions.parse(source)

    assert error.value.line == 2


def test_a_notice_whose_share_nobody_knows_closes_no_conversation() -> None:
    source = (
        '{"type": "session", "id": "ses_1", "at": "2026-11-23T09:00:00Z", "by": "sam"}\n'
        '{"type": "notice", "at": "2026-11-23T09:00:00Z", "message": "msg_1", "keep": true,'
        ' "share": null}\n'
    )
    assert sessions.parse(source).notices["msg_1"].share is None
