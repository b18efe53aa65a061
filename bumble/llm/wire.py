"""What passes between bumble and a model's server, whichever form it speaks; no connection."""

from __future__ import annotations

import queue
import re
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from bumble import patterns
from bumble.files import disk
from bumble.llm.protocol import EnoughError, Usage

ToolChoice = Literal["required", "auto", "none"]
# Where a context window is known from: a setting, the endpoint, the file, a list of families; or it
# isn't.
WindowSource = Literal["setting", "endpoint", "file", "family", "default"]


class CallPart(Struct, frozen=True):
    """What one event adds to a call of a tool."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""  # a piece of their JSON


class Piece(Struct, frozen=True):
    """What one event adds to an answer."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[CallPart, ...] = ()
    finish_reason: str = ""
    usage: Usage | None = None

    @property
    def is_token(self) -> bool:
        """Whether it is a sign of life of the model."""
        return bool(self.text or self.reasoning or self.calls)

    @property
    def chars(self) -> int:
        """Its length."""
        return len(self.text) + len(self.reasoning) + sum(len(one.arguments) for one in self.calls)


class Habits(Struct, frozen=True):
    """What an endpoint was seen to take, and to tell, of one model."""

    without: frozenset[str] = frozenset()  # parameters that it refused
    limit_name: str = "max_tokens"
    limit_tokens: int | None = None  # the longest answer that it lets be asked for
    schema_mode: int = 0  # index into the ways to enforce a schema
    doubts_schema: bool = False  # an answer broke one that was to be enforced
    effort: str = ""  # the only `reasoning_effort` that it takes beside tools
    no_system: bool = False  # whether its template knows no word of the system
    only_objects: bool = False  # whether it refused a schema of something else
    tool_choice: ToolChoice = "required"  # "none": it is asked for actions by a schema
    doubts_tools: bool = False  # they came to nothing the last time
    opens_thinking: bool = False  # its template opens the block of thought, and never says so
    reasons: bool = False  # it thinks without being asked to
    asked: bool = False  # whether it was asked about the model
    context_tokens: int | None = None
    window_told: bool = False  # whether the endpoint said that; else it is its family's
    names: tuple[str, ...] = ()  # of the endpoint's models, where it lists them without this one
    parameters: int | None = None  # of the model
    can_think: bool = False  # as Ollama says of it
    prices: tuple[float, float] | None = None  # dollars for a million tokens read, written

    @property
    def window(self) -> tuple[int | None, WindowSource]:
        """The window of the model itself, and where that is known from."""
        if self.context_tokens is None:
            return None, "default"
        return self.context_tokens, "endpoint" if self.window_told else "family"


# Asks the server something about a model: a path, and what to post; None where it can't be
# reached, {} where it refuses.
Ask = Callable[[str, Any], Any]


# What a refusal is about, by its status and what the server says in small letters: the first that
# fits. What it says goes before a status of many causes: a 403 is a key's only where nothing else
# is told. Any other is of the form: the request may pass in another one.
_MATTERS: Mapping[str, re.Pattern[str]] = {
    "credit": patterns.compile(
        r"\A402|insufficient_quota|insufficient (?:credit|balance)|credit balance"
        "|billing_hard_limit|exceeded_current_quota|used all.{0,20} credits|spending limit"
        "|budget.{0,20}exceeded"
    ),
    "filter": patterns.compile(
        "content_filter|content_policy|content management policy|safety_violations"
        "|flagged (?:as|for)|usage (?:guidelines|policy|policies)|content exists risk"
        "|inappropriate content"
    ),
    "place": patterns.compile(
        "unsupported_country|(?:country|region|location).{0,40}(?:not supported|restricted)"
        "|not (?:available|supported) in your (?:country|region|location)"
    ),
    "rate": patterns.compile(r"\A429"),
    "length": patterns.compile(
        r"\A413|context[ _]length|context (?:size|window|limit)|too many tokens"
        r"|(?:prompt|input) is too long|maximum (?:prompt|model) length"
        r"|inputs?\W{1,2}tokens?\b.{0,60}(?:exceed|must be)"
    ),
    "talk": patterns.compile(
        "model.{0,40}(?:not|only) supported in (?:the )?/?v1/"
        "|does not work with the specified model"
    ),
    "model": patterns.compile(
        "model.{0,80}(?:not found|not exist|unknown|no such|is blocked|decommissioned)"
        "|no such model|invalid model|not a valid model|unable to access model|model_not_"
        # a router knows no server that can do what is asked: that is of the form
        r"|\A404(?!.*(?:support|handle))",
        re.DOTALL,
    ),
    "down": patterns.compile(r"\A5(?:0[234]|2\d|30)|overloaded"),
    "key": patterns.compile(
        r"\A40[13]|unauthorized|api.key.{0,20}(?:invalid|not valid|expired)"
        "|(?:invalid|incorrect|expired).api.key"
    ),
}


class StatusError(Exception):
    """The server refused a request."""

    def __init__(
        self, status: int, message: str, *, parameter: str = "", code: str = "", wait: float = 0.0
    ) -> None:
        """Set up.

        Args:
            status: Of HTTP.
            message: What the server says of it.
            parameter: The one that it names as the reason.
            code: Its own name for the kind of refusal.
            wait: Seconds after which it wants to be asked again; 0: it doesn't say.
        """
        self.status, self.message, self.parameter = status, message, parameter
        self.code, self.wait = code, wait
        super().__init__(f"{status}: {message}")

    @property
    def said(self) -> str:
        """All that the server says of it, in small letters."""
        return f"{self.status} {self.code} {self.message}".lower()

    @property
    def matter(self) -> str:
        """What it is about."""
        return next((name for name, signs in _MATTERS.items() if signs.search(self.said)), "form")


def entries(answer: Any, key: str) -> list[dict[str, Any]]:
    """Return the objects that an answer lists under a key; servers fill it as they like."""
    listed = answer.get(key) if isinstance(answer, dict) else None
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


LIFE = timedelta(days=7)
MOST = 100  # endpoints and models; the oldest go


_Kept = dict[str, tuple[datetime, Habits]]  # by endpoint and model: when they were learned


class HabitFile:
    """The habits of one model at one endpoint, read and written in a file of many."""

    def __init__(
        self, path: Path | None, key: str, now: Callable[[], datetime], *, writes: bool = True
    ) -> None:
        """Set up without reading.

        Args:
            path: The file; None: nothing is kept beyond this process.
            key: Endpoint and model.
            now: The clock.
            writes: Whether what is seen is kept; else the file is only read.
        """
        self._path, self._key, self._now = path, key, now
        self._writes = writes

    def load(self) -> Habits:
        """Return what was seen within the last week; tools that came to nothing are doubted on."""
        at, seen = self._all().get(self._key, (self._now(), Habits()))
        is_new = abs(self._now() - at) < LIFE
        return seen if is_new else Habits(doubts_tools=seen.tool_choice == "none")

    def keep(self, habits: Habits) -> None:
        """Keep what was seen; where nothing can be written it is learned again."""
        if self._path is None or not self._writes:
            return
        known = self._all() | {self._key: (self._now(), habits)}
        latest = sorted(known.items(), key=lambda item: item[1][0])[-MOST:]
        disk.write_cache(self._path, msgspec.json.encode(dict(latest)))

    def _all(self) -> _Kept:
        raw = disk.read_cache(self._path) if self._path else None
        try:
            return msgspec.json.decode(raw or b"{}", type=_Kept)
        except (ValueError, RecursionError):
            return {}  # damaged, or another version's


T = TypeVar("T")


# What a thread reads, each in a tuple, and what it ends with: `StopIteration` where all is there.
_Items = queue.SimpleQueue[tuple[T] | Exception]


class Timeouts(Struct, frozen=True):
    """How long a backend may keep silent."""

    connect_seconds: float = 5.0
    first_token_seconds: float = 120.0  # a long prompt on a slow machine is evaluated first
    silence_seconds: float = 60.0  # between two tokens


class SilentError(Exception):
    """The stream said nothing for too long."""

    def __init__(self, seconds: float, *, began: bool) -> None:
        self.seconds, self.began = seconds, began
        super().__init__(f"nothing came for {seconds:g} s")


def ends_at(seconds: float | None) -> float | None:
    """Return when so many seconds are over, by `time.monotonic`; None: never."""
    return None if seconds is None else time.monotonic() + seconds


def paced(
    read: Callable[[], Iterable[T]],
    *,
    is_token: Callable[[T], bool],
    stop: Callable[[], None],
    problems: tuple[type[Exception], ...],
    timeouts: Timeouts,
    until: float | None = None,
) -> Generator[T, None, None]:
    """Yield what `read` yields, as long as tokens keep coming.

    Args:
        read: Opens the stream and yields its items; called in a thread of its own.
        is_token: Whether an item counts as a sign of life.
        stop: Closes the stream from this thread; called when the reader leaves early.
        problems: What `read` may raise; raised here in its place.
        timeouts: The deadlines.
        until: When all of it has to be there, by `time.monotonic`; None: no such limit.

    Raises:
        SilentError: If no token came in time.
        EnoughError: If the time for all of it is over.
    """
    try:  # a signal may come while the thread begins
        yield from _until_end(_pumped(read, problems), is_token, timeouts, until)
    except BaseException:
        stop()
        raise


def _pumped(read: Callable[[], Iterable[T]], problems: tuple[type[Exception], ...]) -> _Items[T]:
    """Have a thread read items, and tell of its end; return where they come."""
    items: _Items[T] = queue.SimpleQueue()

    def pump() -> None:
        end: Exception = RuntimeError("the reading thread died")
        try:
            for item in read():
                items.put((item,))
            end = StopIteration()
        except problems as problem:
            end = problem
        finally:
            items.put(end)

    # A daemon: a stream that hangs for good must not keep the process from ending.
    threading.Thread(target=pump, daemon=True, name="model-stream").start()
    return items


def within(seconds: float, call: Callable[[], T], problems: tuple[type[Exception], ...]) -> T:
    """Return what a call returns, if it does so in time; else it is left to itself.

    A socket's own timeout starts anew with every byte: who sends one now and then is never late.

    Args:
        seconds: In all.
        call: Made in a thread of its own.
        problems: What it may raise; raised here in its place.

    Raises:
        TimeoutError: If it takes longer.
    """
    try:
        item = _pumped(lambda: [call()], problems).get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"did not answer within {seconds:g} s") from None
    if isinstance(item, Exception):
        raise item
    return item[0]


_HEARD_SECONDS = 0.5  # within which Ctrl-C is heard


def _until_end(
    items: _Items[T],
    is_token: Callable[[T], bool],
    timeouts: Timeouts,
    until: float | None,
) -> Generator[T, None, None]:
    began, patience = False, timeouts.first_token_seconds
    deadline = time.monotonic() + patience
    while True:
        try:
            nearest = deadline if until is None else min(deadline, until)
            left = max(0.0, nearest - time.monotonic())
            # A signal that comes between Python's last step and this wait is heard at its end.
            item = items.get(timeout=min(left, _HEARD_SECONDS))
        except queue.Empty:
            if left > _HEARD_SECONDS:
                continue
            if until is not None and until <= deadline:
                raise EnoughError from None
            raise SilentError(patience, began=began) from None
        if isinstance(item, StopIteration):
            return
        if isinstance(item, Exception):
            raise item
        if until is not None and time.monotonic() >= until:
            raise EnoughError
        if is_token(item[0]):
            began, patience = True, timeouts.silence_seconds
            deadline = time.monotonic() + patience
        yield item[0]
