from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from bumble.errors import AnswerInvalidError
from bumble.llm import ledger
from bumble.llm.ledger import LedgerEntry, Recorded
from bumble.llm.protocol import Model, PromptMessage, Request
from bumble.llm.scripted import Reply, ScriptedModel

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
REQUEST = Request([PromptMessage("user", "Hi")], purpose="chat")


def seconds() -> Iterator[float]:
    return (float(number) for number in count())


def recorded(path: Path | None, *replies: Reply) -> Recorded:
    ticks = seconds()
    return Recorded(
        ScriptedModel(replies),
        path,
        lambda: NOON,
        detail={"session": "s1"},
        stopwatch=lambda: next(ticks),
    )


def test_each_call_is_one_line_with_its_costs(tmp_path: Path) -> None:
    path = tmp_path / ".bumble" / "calls.jsonl"
    model: Model = recorded(path, Reply(text="Hello"))
    model.complete(REQUEST)
    [entry] = ledger.read_newest(path)
    assert (entry.at, entry.purpose, entry.model) == (NOON, "chat", "scripted")
    assert (entry.ms, entry.finish_reason, entry.first_token_ms) == (1000, "stop", 0)
    assert (entry.prompt_tokens, entry.completion_tokens) == (10, 2)
    assert entry.detail == {"session": "s1"}
    assert "Hello" not in path.read_text(encoding="utf-8")


def test_a_failure_is_recorded_too(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    with pytest.raises(AnswerInvalidError):
        recorded(path).complete(REQUEST)
    [entry] = ledger.read_newest(path)
    assert (entry.finish_reason, entry.error) == ("failed", "AnswerInvalidError")


def test_an_interrupt_is_recorded_and_passed_on(tmp_path: Path) -> None:
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "calls.jsonl"
    with pytest.raises(KeyboardInterrupt):
        recorded(path, Reply(text="Hello")).complete(REQUEST, interrupt)
    assert [entry.error for entry in ledger.read_newest(path)] == ["KeyboardInterrupt"]


def test_what_was_asked_and_answered_is_kept_in_full_where_it_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "log" / "prompts.jsonl"
    model = Recorded(ScriptedModel([Reply(text="Hello")]), None, lambda: NOON, prompts=path)
    model.complete(REQUEST)
    with pytest.raises(AnswerInvalidError):
        model.complete(REQUEST)
    [line] = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert line["messages"] == [{"role": "user", "content": "Hi"}]
    assert (line["answer"], line["purpose"], line["at"]) == ("Hello", "chat", NOON.isoformat())
    assert path.stat().st_mode & 0o077 == 0


def test_a_torn_line_spoils_neither_those_before_nor_those_after(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    recorded(path, Reply(text="Hello")).complete(REQUEST)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"at": "2026-11-21T12:00')
    assert len(list(ledger.read_newest(path))) == 1
    recorded(path, Reply(text="Hello")).complete(REQUEST)
    assert len(list(ledger.read_newest(path))) == 2


def test_a_ledger_that_cannot_be_written_costs_no_answer(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("in the way")
    model = Recorded(ScriptedModel([Reply("Hi")]), tmp_path / "log" / "calls.jsonl", lambda: NOON)
    done = model.complete(Request([PromptMessage("user", "Hello")], max_tokens=7, thinking=True))
    assert done.text == "Hi"
    assert [(one.max_tokens, one.thinking) for one in model.entries] == [(7, True)]


def test_a_ledger_that_cannot_be_written_costs_no_prompt(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    model = Recorded(ScriptedModel([Reply("Hi")]), tmp_path, lambda: NOON, prompts=path)
    model.complete(REQUEST)
    assert json.loads(path.read_text(encoding="utf-8"))["answer"] == "Hi"


def chats(path: Path, *counts: tuple[int, int], model: str = "m", purpose: str = "chat") -> None:
    for counted, estimated in counts:
        entry = LedgerEntry(NOON, purpose, model, 1, "stop", counted, estimated)
        ledger.append(path, entry)


def test_the_ratio_is_the_median_of_a_models_newest_chats(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    chats(path, *[(4000, 1000)] * 9)
    chats(path, *[(1190, 1000)] * 11, (4000, 1000), (700, 1000), *[(1210, 1000)] * 8)
    assert ledger.token_ratio(path, "m") == 1.2
    assert ledger.token_ratio(path, "other") == 1.0


def test_a_ledger_is_read_for_its_ratio_only_once_it_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    chats(path, *[(1200, 1000)] * 9)
    status = path.stat()
    assert ledger.token_ratio(path, "m") == 1.2
    path.write_text("x" * status.st_size)  # so that whoever reads it again finds nothing
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert ledger.token_ratio(path, "m") == 1.2
    chats(path, (1200, 1000))
    assert ledger.token_ratio(path, "m") == 1.0
