"""Conversations at the command, with a model that follows a script."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from bumble.records import sessions
from bumble.records.sessions import Message, Record, ToolCall
from tests.support.running import NOON, Run


def script(run: Run, *rules: str | dict[str, Any]) -> None:
    """Let these be the answers of Ada's model; she finds memories by their words alone."""
    path = run.entity.root.parent / "script.jsonl"
    path.write_text("".join(json.dumps(rule) + "\n" for rule in rules), encoding="utf-8")
    run.environ["BUMBLE_LLM_MODEL"] = f"script:{path}"
    run.environ["BUMBLE_EMBEDDING_MODEL"] = "none"
    run.environ["BUMBLE_LIMITS_SETTLE"] = "later"


def act(tool: str, **arguments: Any) -> dict[str, Any]:
    """An answer of the loop, given once."""
    return {
        "purpose": "chat",
        "text": json.dumps({"actions": [{"tool": tool, "arguments": arguments}]}),
    }


def talk(run: Run, lines: list[tuple[str, str]], session_id: str = "ses_long") -> str:
    """Write a transcript; a line is (speaker, text), `ada` being the entity, `tool` a result."""
    records: list[Record] = []
    for n, (speaker, text) in enumerate(lines):
        at = NOON - timedelta(hours=2) + timedelta(seconds=len(records))
        name = f"msg_{n:05}"
        if speaker == "tool":
            call = ToolCall(f"c{n}", "recall", {"query": "tea"})
            records.append(Message(f"{name}a", at, "assistant", "", tool_calls=(call,)))
            told = {"tool": "recall"}
            records.append(Message(name, at, "tool", text, tool_call_id=call.id, extra=told))
        elif speaker == "ada":
            records.append(Message(name, at, "assistant", text))
        else:
            told = {"name": speaker.title()}
            records.append(Message(name, at, "user", text, speaker, trust="owner", extra=told))
    head = sessions.new(session_id, NOON - timedelta(hours=2), "sam").source
    place = f"sessions/{session_id}/messages.jsonl"
    run.write(place, head + "".join(map(sessions.render, records)))
    return place


def long_talk(run: Run, turns: int = 80) -> str:
    """A conversation too long for a window of 4096 tokens, with two facts in its middle."""
    facts = {20: "My cousin Ilse lives in Porto.", 41: "The radio cost 240 euros."}
    lines: list[tuple[str, str]] = []
    for n in range(turns):
        chatter = f"It was a day like any other, with this and that and then some more, day {n}. "
        lines += [("sam", chatter * 2 + facts.get(n, "")), ("ada", "I see, go on, I listen.")]
    return talk(run, lines)
