from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bumble.llm import actions
from bumble.prompt.transcript import CLEARED, render, view
from bumble.records import sessions
from bumble.records.sessions import Compaction, Message, Session, ToolCall

START = datetime(2026, 5, 24, 12, tzinfo=UTC)


def message(
    n: int, role: str, text: str, calls: tuple[ToolCall, ...] = (), **more: bool
) -> Message:
    extra = {"tool": "recall"} if role == "tool" else dict(more)
    return Message(f"msg_{n:04}", START + timedelta(seconds=n), role, text, "", calls, extra=extra)


roles = st.lists(
    st.tuples(st.sampled_from(["user", "assistant", "tool"]), st.text(max_size=400)), max_size=40
)


def transcript(spec: list[tuple[str, str]]) -> list[Message]:
    return [message(n, role, text) for n, (role, text) in enumerate(spec)]


def talk(stored: list[Message], *more: sessions.Record) -> Session:
    return sessions.appended(sessions.new("ses_1", START, "sam"), [*stored, *more])


@given(roles)
def test_roles_alternate_and_nothing_is_lost_within_the_budget(spec: list[tuple[str, str]]) -> None:
    stored = transcript(spec)
    seen = view(talk(stored), 10**9)
    shown = [one.role for one in seen.messages]
    assert seen.left_out == 0
    assert all(one != after for one, after in itertools.pairwise(shown))
    for one in stored:
        assert any(render(one).content in shown.content for shown in seen.messages)


@given(roles, st.integers(50, 3000))
def test_a_longer_transcript_begins_like_the_shorter_unless_the_window_is_full(
    spec: list[tuple[str, str]], budget: int
) -> None:
    stored = transcript(spec)
    for end in range(1, len(stored)):
        before, after = (
            view(talk(stored[:end]), budget),
            view(talk(stored[: end + 1]), budget),
        )
        if before.left_out == after.left_out:
            old = [(one.role, one.content) for one in before.messages]
            new = [(one.role, one.content) for one in after.messages]
            assert new[: len(old) - 1] == old[:-1]
            assert new[len(old) - 1][1].startswith(old[-1][1])


@given(roles, st.integers(50, 3000))
def test_the_view_fits_unless_a_single_turn_does_not(
    spec: list[tuple[str, str]], budget: int
) -> None:
    stored = transcript(spec)
    seen = view(talk(stored), budget)
    used = sum(len(one.content) // 4 for one in seen.messages)
    turns = sum(one.role == "user" for one in stored[seen.left_out + 1 :])
    assert used <= budget or turns == 0


@given(roles, st.integers(50, 3000), st.integers(0, 39), st.integers(0, 39))
def test_a_summary_outlasts_every_message_but_the_last_turn(
    spec: list[tuple[str, str]], budget: int, one: int, other: int
) -> None:
    stored = transcript([*spec, ("user", "And now?")])
    first, last = (min(n, len(stored) - 2) for n in sorted((one, other)))
    if first < 0:
        return
    summary = Compaction(
        "cmp_1",
        START,
        summary="What was said.",
        first=stored[first].id,
        last=stored[last].id,
    )
    session = talk(stored, summary)
    seen = view(session, budget)
    texts = [one.content for one in seen.messages]
    assert sum("What was said." in text for text in texts) == 1
    assert texts[-1].endswith("And now?")


def test_what_the_entity_did_is_shown_in_the_form_it_answers_in() -> None:
    call = ToolCall("call_1", "recall", {"query": "Biscuit"})
    spoken = render(message(1, "assistant", 'She said "hi"'))
    worked = render(message(2, "assistant", "", (call,)))
    assert [(one.name, one.arguments) for one in actions.parse(spoken.content)] == [
        ("say", {"text": 'She said "hi"'})
    ]
    assert [(one.name, one.arguments) for one in actions.parse(worked.content)] == [
        ("recall", {"query": "Biscuit"})
    ]


@pytest.mark.parametrize("plain", [False, True])
def test_the_results_of_a_call_that_is_not_shown_are_not_shown_either(plain: bool) -> None:
    call = ToolCall("call_1", "recall", {"query": "Biscuit"})
    hidden = [
        message(1, "assistant", "", (call,), example=False),
        replace(message(2, "tool", "A dog. " * 50), tool_call_id=call.id),
        message(3, "assistant", "I can't say.", example=False),
    ]
    stored = [message(0, "user", "Who is Biscuit?"), *hidden, message(4, "user", "Hm.")]
    seen = view(talk(stored), 10**9, plain=plain)
    assert [one.content for one in seen.messages] == ["Who is Biscuit?\n\nHm."]
    assert seen.unseen == ()


def test_no_result_is_shown_without_its_call_where_calls_have_the_same_id_in_each_turn() -> None:
    call = ToolCall("call_1", "recall", {"query": "Biscuit"})
    stored: list[Message] = []
    for n, is_example in enumerate([True, False, True]):
        stored += [
            message(10 * n, "user", "Who is Biscuit?"),
            message(10 * n + 1, "assistant", "", (call,), example=is_example),
            replace(message(10 * n + 2, "tool", f"Dog {n}."), tool_call_id=call.id),
        ]
    shown = "".join(one.content for one in view(talk(stored), 10**9).messages)
    assert [f"Dog {n}." in shown for n in range(3)] == [True, False, True]


def test_what_stands_for_a_cleared_result_names_the_tool_and_what_it_was_asked() -> None:
    calls = [
        ToolCall("call_1", "recall", {"query": "Biscuit\nthe dog", "register": "explore"}),
        ToolCall("call_2", "write_file", {"path": "a.md", "content": "word " * 500}),
    ]
    results = [
        replace(message(2, "tool", "A dog. " * 50), tool_call_id="call_1"),
        replace(
            message(3, "tool", "Written. " * 50),
            tool_call_id="call_2",
            extra={"tool": "write_file"},
        ),
    ]
    stored = [message(0, "user", "Well?"), message(1, "assistant", "", tuple(calls)), *results]
    pruned = Compaction("cmp_1", START, "", stored[2].id, stored[3].id, kind="prune")
    shown = view(talk(stored, pruned), 10**9).messages[-1].content
    assert f'{CLEARED} recall "Biscuit the dog", "explore", ref ' in shown
    assert f'{CLEARED} write_file "a.md", "word word' in shown
    assert len(shown) < 600
