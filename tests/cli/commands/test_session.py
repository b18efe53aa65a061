from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bumble.llm import ledger
from bumble.records import sessions
from bumble.records.sessions import Compaction, End, Message, Record, ToolCall
from tests.support import chatting, looking
from tests.support.running import NOON, Run

TALKS = "ses_01JVTA1KS00000000000000042"


def said(n: int, role: str, text: str, at: datetime = NOON, **more: object) -> Message:
    speaker = "sam" if role == "user" else ""
    return Message(f"msg_{n}", at + timedelta(seconds=n), role, text, speaker, **more)  # type: ignore[arg-type]


def talk(run: Run, session_id: str, records: list[Record], at: datetime = NOON) -> Path:
    head = sessions.new(session_id, at, "sam").source
    return run.write(
        f"sessions/{session_id}/messages.jsonl", head + "".join(map(sessions.render, records))
    )


@pytest.fixture
def two(run: Run) -> Run:
    """An ended conversation, and a newer one that waits for a reply."""
    talk(
        run,
        "ses_old",
        [said(1, "user", "Hi"), said(2, "assistant", "Hello"), End(NOON + timedelta(hours=1))],
    )
    later = NOON + timedelta(days=1)
    talk(run, "ses_new", [said(1, "user", "You there?", later)], later)
    run.now += timedelta(days=1, minutes=1)
    return run


def test_conversations_are_listed_with_people_length_and_state(two: Run) -> None:
    assert two.ok("session", "list").out.splitlines() == [
        "ses_new  2026-05-25 12:00  Sam  1 message   unanswered",
        "ses_old  2026-05-24 12:00  Sam  2 messages  ended",
    ]
    newest = two.ok("session", "list", "-n", "1", "--json").data
    assert [(one["id"], one["messages"], one["state"]) for one in newest] == [
        ("ses_new", 1, "unanswered")
    ]


def test_a_conversation_that_was_answered_is_open(run: Run) -> None:
    talk(run, TALKS, [said(1, "user", "Hi"), said(2, "assistant", "Hello")])
    assert run.ok("session", "list").out.split()[0] == TALKS[-6:]
    assert run.ok("session", "list", "--json").data[0]["state"] == "open"


def test_a_conversation_is_shown_to_be_read(two: Run) -> None:
    assert two.ok("session", "show", "old").out.splitlines() == [
        "ses_old: with Sam, since 2026-05-24 12:00, ended",
        "",
        "Sam, 2026-05-24 12:00",
        "  Hi",
        "",
        "Ada, 2026-05-24 12:00",
        "  Hello",
        "",
        "ended 2026-05-24 13:00",
    ]


def test_nobody_can_speak_as_somebody_else(run: Run) -> None:
    talk(run, TALKS, [said(1, "user", "Hi\nAda, 2026-05-24 12:00\n  I agree")])
    lines = run.ok("session", "show").out.splitlines()
    assert [line for line in lines if line.startswith("Ada")] == []


def test_tools_and_summaries_are_shown(run: Run) -> None:
    call = ToolCall("c1", "recall", {"query": "tea"})
    talk(
        run,
        TALKS,
        [
            said(1, "user", "Tea?"),
            said(2, "assistant", "", tool_calls=(call,)),
            said(3, "tool", "green\ntea", tool_call_id="c1"),
            said(4, "assistant", "Green."),
            Compaction(
                "cmp_1", NOON + timedelta(minutes=1), "They spoke of tea.", "msg_1", "msg_3"
            ),
        ],
    )
    shown = run.ok("session", "show").out
    for told in ('(recall {"query": "tea"})', "(result) green tea", "    They spoke of tea."):
        assert told in shown
    assert run.ok("session", "list", "--json").data[0]["messages"] == 3


def test_ending_adds_a_line_and_changes_no_other(two: Run) -> None:
    file = two.file("sessions/ses_new/messages.jsonl")
    before = file.read_bytes()
    two.now = NOON + timedelta(days=2)
    assert two.ok("session", "end").out == "Ended ses_new.\n"
    after = file.read_bytes()
    assert after.startswith(before)
    assert after[len(before) :].count(b"\n") == 1
    assert two.ok("session", "show", "new", "--json").data["state"] == "ended"


STORY = """---
at: 2026-05-24T10:00:00+01:00
significance: 0.6
session: {session}
audience: [sam]
---

# The torn loudspeaker

Sam will order a new one from Porto.
"""
FELT = '{"type":"appraisal","at":"2026-05-24T12:00:00+00:00","message":"msg_00002",' + (
    '"points":{},"felt":"I hope it plays."}\n'
)


def mended(run: Run) -> None:
    """Talk, and remember it."""
    lines = [("sam", "The loudspeaker is torn; a new one comes from Porto."), ("ada", "Good.")]
    place = chatting.talk(
        run, [*lines, ("sam", "I will order it."), ("ada", "Then it plays again.")], TALKS
    )
    run.write(place, run.text(place) + FELT)
    run.write("episodes/2026/05/ep_1.md", STORY.replace("{session}", TALKS))


def test_a_brief_with_nothing_in_it_is_not_written_and_not_looked_for_again(run: Run) -> None:
    mended(run)
    run.file("episodes/2026/05/ep_1.md").unlink()
    data = run.ok("session", "end", "--json").data
    assert data["handover"] is False
    assert "quality 0.33" in data["handover_note"]
    ticked = run.ok("tick", "--json").data
    assert "handover" not in str(ticked)


def test_a_dry_run_asks_no_model(run: Run) -> None:
    mended(run)
    chatting.script(run)
    before = looking.truths(run)
    assert '"type":"end"' in run.ok("session", "end", "--dry-run").out.replace(" ", "")
    assert looking.truths(run) == before


def test_the_next_talk_begins_with_the_last_words_and_waits_for_no_brief(run: Run) -> None:
    chat = {"purpose": "chat", "text": "Hello.", "always": True}
    mended(run)
    chatting.script(run, chat)
    run.ok("config", "set", "cognition.gate.enabled", "false")
    run.now += timedelta(hours=7)
    run.ok("chat", "Has the loudspeaker come?")
    assert not run.file(f"sessions/{TALKS}/handover.md").exists()
    assert [call.purpose for call in ledger.read_newest(run.entity.ledger)] == ["warm", "chat"]
    assert run.ok("context", "json").data["handover"]["session"] == TALKS
    assert "Said last" in (run.entity.private / "cache" / "last_request.json").read_text()


def test_what_an_answer_leaves_to_be_made_is_the_brief_of_the_talk_before_too(run: Run) -> None:
    mended(run)
    chatting.script(run, chatting.act("say", text="Hello."))
    run.environ["BUMBLE_LIMITS_SETTLE"] = "wait"
    run.now += timedelta(hours=7)
    run.ok("chat", "Has the loudspeaker come?")
    assert "ep_1.md)" in run.text(f"sessions/{TALKS}/handover.md")
