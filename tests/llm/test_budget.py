from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bumble.errors import BudgetSpentError, ModelUnreachableError
from bumble.llm import ledger
from bumble.llm.ledger import Budgeted, DaySpending, LedgerEntry, Limits
from bumble.llm.protocol import PromptMessage, Request
from bumble.llm.scripted import Reply, ScriptedModel
from tests.support.absent_model import Absent

LISBON = ZoneInfo("Europe/Lisbon")
NOON = datetime(2026, 5, 24, 12, tzinfo=UTC)
ASK = Request([PromptMessage("user", "What was that?")], purpose="appraise")


def entry(at: datetime, tokens: int = 10, reason: str = "stop") -> LedgerEntry:
    return LedgerEntry(at, "chat", "m", 5, reason, prompt_tokens=tokens, completion_tokens=1)


def talkative() -> ScriptedModel:
    return ScriptedModel([Reply("Yes.", always=True)])


def test_a_day_begins_at_midnight_where_the_entity_lives(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    midnight = datetime(2026, 5, 23, 23, tzinfo=UTC)  # in Lisbon
    for at in (midnight - timedelta(seconds=1), midnight, NOON):
        ledger.append(path, entry(at))
    assert ledger.today(path, NOON, LISBON) == DaySpending(2, 22)
    assert ledger.today(path, NOON, ZoneInfo("UTC")) == DaySpending(1, 11)


def test_a_call_that_began_yesterday_and_was_written_today_hides_none_before_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "calls.jsonl"
    midnight = datetime(2026, 5, 24, tzinfo=UTC)
    ledger.append(path, entry(midnight + timedelta(minutes=1)))
    ledger.append(path, entry(midnight - timedelta(minutes=1)))
    assert ledger.today(path, NOON, ZoneInfo("UTC")).calls == 1


def test_a_ledger_of_a_year_is_read_from_its_end(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    line = (
        f'{{"at": "{(NOON - timedelta(days=9)).isoformat()}", "purpose": "chat", "model": "m", '
        '"ms": 5, "finish_reason": "stop", "prompt_tokens": 10}\n'
    )
    path.write_text(line * 100_000)
    for _ in range(50):
        ledger.append(path, entry(NOON))
    started = time.perf_counter()
    assert ledger.today(path, NOON, LISBON) == DaySpending(50, 550)
    assert time.perf_counter() - started < 0.2


def test_calls_beyond_the_limit_of_a_run_are_refused_and_not_made() -> None:
    inner = talkative()
    model = Budgeted(inner, Limits(2, None, DaySpending))
    model.complete(ASK)
    model.complete(ASK)
    with pytest.raises(BudgetSpentError, match=r"appraise was left for later") as caught:
        model.complete(ASK)
    assert caught.value.exit_code == 22
    assert (len(inner.requests), model.tally.calls) == (2, 2)


def test_tokens_of_the_day_are_looked_up_before_each_call() -> None:
    spent = [DaySpending(1, 99)]
    model = Budgeted(talkative(), Limits(None, 100, lambda: spent[0]))
    model.complete(ASK)
    spent[0] = DaySpending(2, 120)
    with pytest.raises(BudgetSpentError, match=r"120 tokens of 100 \(limits.tokens_per_day\)"):
        model.complete(ASK)


def test_a_model_that_was_not_there_is_not_looked_for_again() -> None:
    inner = Absent([])
    model = Budgeted(inner, Limits(None, None, DaySpending))
    for _ in range(3):
        with pytest.raises(ModelUnreachableError):
            model.complete(ASK)
    with pytest.raises(ModelUnreachableError):
        model.warm(ASK)
    assert len(inner.requests) == 1
