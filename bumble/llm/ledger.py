"""The call ledger: what each call to a model cost, one JSON line a call; the token ratio.

Holds counts and times, never what was said; that goes to a file of its own, if the owner asks for
it. Lines are written whole: processes may share a ledger.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import islice, takewhile
from pathlib import Path
from typing import Annotated, Any, TypeVar
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import asdict, replace

from bumble import patterns
from bumble.errors import (
    CredentialsError,
    LimitReachedError,
    ModelUnreachableError,
    UnsafePathError,
    UserError,
    WeightsMissingError,
)
from bumble.files import disk
from bumble.llm.protocol import Completion, EnoughError, Model, OnText, Request, Usage, Wrapper
from bumble.text import moments, tokens

_BLOCK_BYTES = 65_536
_NOT_THERE = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
_OUTLANDISH = patterns.compile(r"[^\w .,:/@+=~\\-]")  # in the name of a model or of its file
# How the ratio of a model's own counts to our estimates is learnt.
CHAT = "chat"  # other requests have other schemas, which a server may count too
RATIO_CALLS, LEAST_CALLS, LEAST_TOKENS = 20, 3, 100
LOWEST_RATIO, HIGHEST_RATIO = 0.5, 4.0  # beyond, it was not all of the prompt that was counted
RATIO_STEP = 0.05  # so that it seldom changes, and with it what of a conversation is shown


Prices = tuple[float, float]  # dollars for a million tokens read, written


MOST = 1 << 53  # of what is counted: a larger whole number is no exact float
Amount = Annotated[int, Meta(ge=0, lt=MOST)]
Dollars = Annotated[float, Meta(ge=0, lt=MOST)]


class LedgerEntry(Struct, frozen=True):
    """One call."""

    at: Annotated[datetime, Meta(tz=True)]  # when it began
    purpose: str
    model: str
    ms: Amount  # all of it, loading the weights included
    finish_reason: str  # of the completion; "warm" for a warm-up, "failed" for none
    prompt_tokens: Amount | None = None
    estimated_tokens: Amount | None = None  # of the same messages, by `tokens`
    cached_tokens: Amount | None = None
    completion_tokens: Amount | None = None
    reasoning_tokens: Amount | None = None  # of these, what the model thought
    dollars: Dollars | None = None  # as the endpoint says, else by prices
    first_token_ms: Amount | None = None  # loading excluded
    max_tokens: Amount | None = None  # what the answer was allowed
    thinking: bool = False  # whether it was asked to reason first
    error: str | None = None  # the class of what went wrong
    detail: Mapping[str, str] = field(default_factory=dict)  # what the caller added


class Recorded(Wrapper):
    """A wrapper that writes each call into a ledger."""

    def __init__(
        self,
        model: Model,
        path: Path | None,
        clock: Callable[[], datetime],
        *,
        detail: Mapping[str, str] | None = None,
        prompts: Path | None = None,
        prices: Callable[[], Prices | None] = lambda: None,
        stopwatch: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Wrap a model.

        Args:
            model: Answers the calls.
            path: The ledger; None keeps the entries in memory only.
            clock: Tells the time, timezone-aware.
            detail: Added to every entry, as `{"session": ID}`.
            prompts: Where requests and answers are kept in full; None keeps none.
            prices: What a million tokens cost, where an answer doesn't say its own cost.
            stopwatch: Counts seconds from anywhere.
        """
        super().__init__(model)
        self.entries: list[LedgerEntry] = []  # of this process, oldest first
        self._path, self._clock, self._prompts = path, clock, prompts
        self._detail, self._prices, self._stopwatch = dict(detail or {}), prices, stopwatch

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        """Answer a request and record what it cost, also when it fails or is interrupted."""
        at, started = self._clock(), self._stopwatch()
        completion: Completion | None = None
        error: str | None = None
        try:
            completion = self._priced(super().complete(request, on_text))
            return completion
        except (UserError, KeyboardInterrupt, EnoughError) as problem:
            error = type(problem).__name__
            raise
        finally:
            self._record(at, started, request, completion, error or "")

    def warm(self, request: Request) -> None:
        """Warm the wrapped model and record how long it took."""
        at, started = self._clock(), self._stopwatch()
        super().warm(request)
        if request.stop is not None and request.stop.is_set():
            return  # nothing came of it
        nothing = Completion("", "stop", self.name)
        self._record(at, started, request, nothing, "", finish_reason="warm")

    def _priced(self, completion: Completion) -> Completion:
        """Work out what an answer cost, where it doesn't say so itself."""
        usage, prices = completion.usage, self._prices()
        if usage.dollars is not None or prices is None or usage.prompt_tokens is None:
            return completion
        read, written = prices
        dollars = (usage.prompt_tokens * read + (usage.completion_tokens or 0) * written) / 1e6
        return replace(completion, usage=replace(usage, dollars=dollars))

    def _record(
        self,
        at: datetime,
        started: float,
        request: Request,
        completion: Completion | None,
        error: str,
        finish_reason: str | None = None,
    ) -> None:
        usage = completion.usage if completion else Usage()
        first = completion.first_token_seconds if completion else None
        entry = LedgerEntry(
            at=at,
            purpose=request.purpose,
            model=plain_name(self.name),
            ms=round((self._stopwatch() - started) * 1000),
            finish_reason=finish_reason or (completion.finish_reason if completion else "failed"),
            prompt_tokens=usage.prompt_tokens,
            estimated_tokens=sum(tokens.estimate_message(one.content) for one in request.messages),
            cached_tokens=usage.cached_tokens,
            completion_tokens=usage.completion_tokens,
            reasoning_tokens=usage.reasoning_tokens,
            dollars=usage.dollars,
            first_token_ms=None if first is None else round(first * 1000),
            max_tokens=request.max_tokens,
            thinking=request.thinking,
            error=error or (None if completion else "bug"),
            detail=self._detail,
        )
        self.entries.append(entry)
        # A full disk must not cost the answer that these lines are about.
        with contextlib.suppress(OSError, UnsafePathError):
            if self._path is not None:
                append(self._path, entry)
        with contextlib.suppress(OSError, UnsafePathError):
            if self._prompts is not None and completion is not None:
                shown = [{"role": one.role, "content": one.content} for one in request.messages]
                append_line(
                    self._prompts,
                    {
                        "at": entry.at.isoformat(),
                        "purpose": entry.purpose,
                        "model": entry.model,
                        "messages": shown,
                        "schema": request.schema,
                        "temperature": request.temperature,
                        "seed": request.seed,
                        "answer": completion.text,
                        "finish_reason": completion.finish_reason,
                    },
                )


def plain_name(name: str) -> str:
    """Return the name of a model as it is logged: a folder may name one, and mean more than a name.

    A line of the ledger is text that a shell or a terminal may meet.
    """
    return _OUTLANDISH.sub("_", name)


def append(path: Path, entry: LedgerEntry) -> None:
    """Add a line to a ledger, whole even if others write at the same time.

    Raises:
        OSError: If it cannot be written.
    """
    append_line(path, asdict(entry) | {"at": entry.at.isoformat()})


def append_line(path: Path, values: Mapping[str, Any]) -> None:
    """Add a line to a file of JSON lines, whole even if others write at the same time.

    Args:
        path: The file; it is made if need be, readable by its owner only.
        values: What the line holds; what is None or an empty mapping is left out.

    Raises:
        OSError: If it cannot be written.
    """
    kept = {name: value for name, value in values.items() if value not in (None, {})}
    disk.append(path, (json.dumps(kept, ensure_ascii=False) + "\n").encode(errors="replace"))


def read_newest(path: Path) -> Iterator[LedgerEntry]:
    """Yield the entries of a ledger, newest first, reading no more of it than is asked for."""
    for line in newest_lines(path):
        with contextlib.suppress(ValueError, RecursionError):  # no JSON, or no UTF-8
            entry = msgspec.json.decode(line, type=LedgerEntry)
            if moments.is_sane(entry.at):
                yield entry


def token_ratio(path: Path, model: str) -> float:
    """Return what a model's own counts of its prompts are to our estimates.

    The median of its newest chats; 1 as long as there are too few. A turn asks for it several
    times: the ledger is read again only once it has changed.
    """
    with contextlib.suppress(*_NOT_THERE):
        status = path.stat()
        return _ratio(path, plain_name(model), status.st_size, status.st_mtime_ns)
    return 1.0


@lru_cache(maxsize=8)
def _ratio(path: Path, model: str, _size: int, _changed_ns: int) -> float:
    pairs = (
        (entry.prompt_tokens or 0, entry.estimated_tokens or 0)
        for entry in read_newest(path)
        if entry.model == model and entry.purpose == CHAT
    )
    usable = (
        min(counted / estimated, HIGHEST_RATIO)
        for counted, estimated in pairs
        if estimated >= LEAST_TOKENS and counted >= LOWEST_RATIO * estimated
    )
    ratios = sorted(islice(usable, RATIO_CALLS))
    if len(ratios) < LEAST_CALLS:
        return 1.0
    median = (ratios[(len(ratios) - 1) // 2] + ratios[len(ratios) // 2]) / 2
    return round(round(median / RATIO_STEP) * RATIO_STEP, 2)


def newest_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file from its end, reading a block at a time; none if there is none."""
    with contextlib.suppress(*_NOT_THERE), disk.reading(path) as stream:
        at, rest = stream.seek(0, os.SEEK_END), b""
        while at > 0:
            size = min(_BLOCK_BYTES, at)
            at -= size
            stream.seek(at)
            rest, *lines = (stream.read(size) + rest).split(b"\n")
            yield from (line.decode(errors="replace") for line in reversed(lines) if line)
        if rest:
            yield rest.decode(errors="replace")


T = TypeVar("T")
NO_MODEL = (CredentialsError, ModelUnreachableError, WeightsMissingError)
LONGEST_CALL = timedelta(hours=1)  # a line has the time its call began, and is written at its end


class DaySpending(Struct):
    """The calls and tokens of a day up to now, or of one run, of whatever models."""

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
    late = takewhile(lambda entry: entry.at >= midnight - LONGEST_CALL, read_newest(path))
    calls = [
        entry
        for entry in late
        if entry.at.astimezone(zone).date() == midnight.date() and entry.finish_reason != "warm"
    ]
    counts = (count or 0 for one in calls for count in (one.prompt_tokens, one.completion_tokens))
    return DaySpending(len(calls), sum(counts), sum(one.dollars or 0.0 for one in calls))


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


class Budgeted(Wrapper):
    """A wrapper for what nobody waits for: it answers while the budget lasts.

    Once no model could be had, it is not looked for again: what needs one fails at once, and what
    needs none goes on.
    """

    def __init__(self, model: Model, limits: Limits, tally: DaySpending | None = None) -> None:
        """Wrap a model.

        Args:
            model: Answers the calls.
            limits: What may be spent.
            tally: What has been asked in this run already.
        """
        super().__init__(model)
        self._limits, self.tally = limits, tally or DaySpending()
        self._missing: CredentialsError | ModelUnreachableError | WeightsMissingError | None = None
        self._answered = ""  # its name, once it has

    @property
    def name(self) -> str:
        """Its name; what it answered keeps it, though it can't be reached since."""
        return self._answered or super().name

    def instead(self, model: Model) -> Budgeted:
        """Return another model under this budget; what it answers counts here too."""
        return Budgeted(model, self._limits, self.tally)

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        """Answer a request.

        Raises:
            LimitReachedError: If a limit is reached; nothing was asked.
        """
        problem = self._limits.problem(self.tally.calls)
        if problem is not None:
            raise LimitReachedError(
                f"{problem[:1].upper()}{problem[1:]}: {request.purpose} was left for later\n"
                "It is made up for when there is room again, or raise the limit."
            )
        self.tally.calls += 1
        completion = super().complete(request, on_text)
        self._answered = super().name
        self.tally.tokens += (completion.usage.prompt_tokens or 0) + (
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
