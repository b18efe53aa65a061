"""The daily budget of calls and tokens for what happens between turns.

What a person asks is always answered; what nobody waits for is left for later where the budget is
spent, or no model can be had.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar
from zoneinfo import ZoneInfo

from msgspec import Struct

from bumble.errors import (
    BudgetSpentError,
    CredentialsError,
    ModelUnreachableError,
    WeightsMissingError,
)
from bumble.llm import ledger
from bumble.llm.protocol import Completion, Model, OnText, Request
from bumble.llm.wrappers import Wrapper

T = TypeVar("T")
NO_MODEL = (CredentialsError, ModelUnreachableError, WeightsMissingError)
LONGEST_CALL = timedelta(hours=1)  # a line has the time its call began, and is written at its end


class DaySpending(Struct, frozen=True):
    """The calls and tokens of a day up to now."""

    calls: int = 0  # warm-ups left out
    tokens: int = 0  # of prompts, cached ones included, and of answers
    dollars: float = 0.0  # as far as it is known


def today(path: Path, now: datetime, zone: ZoneInfo) -> DaySpending:
    """Add up the ledger of a day, reading it from its end.

    Args:
        path: The call ledger.
        now: Any time of that day.
        zone: Where its day begins.
    """
    midnight = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    calls, tokens, dollars = 0, 0, 0.0
    for entry in ledger.read_newest(path):
        if entry.at < midnight - LONGEST_CALL:
            break
        if entry.at.astimezone(zone).date() == midnight.date() and entry.finish_reason != "warm":
            calls += 1
            tokens += (entry.prompt_tokens or 0) + (entry.completion_tokens or 0)
            dollars += entry.dollars or 0.0
    return DaySpending(calls, tokens, dollars)


class Limits(Struct, frozen=True):
    """The limits of calls and tokens, and how to read what is spent."""

    calls: int | None  # of this run; None: no limit
    tokens_per_day: int | None  # None: no limit
    spent: Callable[[], DaySpending]  # today, by everybody

    def problem(self, calls: int) -> str | None:
        """Say which limit is reached after so many calls of this run; None if none is."""
        if self.calls is not None and calls >= self.calls:
            return f"{calls} calls were made, the most of one run (limits.calls_per_turn)"
        if self.tokens_per_day is not None:
            tokens = self.spent().tokens
            if tokens >= self.tokens_per_day:
                limit = f"{self.tokens_per_day:,} (limits.tokens_per_day)"
                return f"today took {tokens:,} tokens of {limit}"
        return None


class Tally(Struct):
    """The calls and tokens of one run, of whatever models."""

    calls: int = 0  # answered, or tried
    tokens: int = 0  # of prompts and answers, where the model tells


class Budgeted(Wrapper):
    """A wrapper for what nobody waits for: it answers while the budget lasts.

    Once no model could be had, it is not looked for again: what needs one fails at once, and what
    needs none goes on.
    """

    def __init__(self, model: Model, limits: Limits, tally: Tally | None = None) -> None:
        """Wrap a model.

        Args:
            model: Answers the calls.
            limits: What may be spent.
            tally: What has been asked in this run already.
        """
        super().__init__(model)
        self._limits, self._tally = limits, tally or Tally()
        self._missing: CredentialsError | ModelUnreachableError | WeightsMissingError | None = None

    def instead(self, model: Model) -> Budgeted:
        """Return another model under this budget; what it answers counts here too."""
        return Budgeted(model, self._limits, self._tally)

    @property
    def calls(self) -> int:
        """How many calls the run has made."""
        return self._tally.calls

    @property
    def tokens(self) -> int:
        """How many tokens these took, prompts and answers."""
        return self._tally.tokens

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        """Answer a request.

        Raises:
            BudgetSpentError: If a limit is reached; nothing was asked.
        """
        problem = self._limits.problem(self.calls)
        if problem is not None:
            raise BudgetSpentError(
                f"{problem[:1].upper()}{problem[1:]}: {request.purpose} was left for later\n"
                "It is made up for when there is room again, or raise the limit."
            )
        self._tally.calls += 1
        completion = super().complete(request, on_text)
        self._tally.tokens += (completion.usage.prompt_tokens or 0) + (
            completion.usage.completion_tokens or 0
        )
        return completion

    def _ask(self, question: Callable[[Model], T]) -> T:
        if self._missing is not None:
            raise self._missing
        try:
            return super()._ask(question)
        except NO_MODEL as error:
            self._missing = error
            raise
