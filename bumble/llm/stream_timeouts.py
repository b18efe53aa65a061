"""Deadlines for streams that may hang: read in a thread, waited for so long.

A socket's own timeout is not enough: it starts anew with every keep-alive, and it is the same
before the first token, where a prompt is evaluated, and between tokens, where silence is trouble.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable
from typing import Generic, TypeVar

from msgspec import Struct

from bumble.llm.protocol import EnoughError

T = TypeVar("T")


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


class _Item(Struct, Generic[T], frozen=True):
    value: T


class _End(Struct, frozen=True):
    problem: Exception | None = None


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
    items: queue.SimpleQueue[_Item[T] | _End] = queue.SimpleQueue()

    def pump() -> None:
        end = _End(RuntimeError("the reading thread died"))
        try:
            for item in read():
                items.put(_Item(item))
            end = _End()
        except problems as problem:
            end = _End(problem)
        finally:
            items.put(end)

    # A daemon: a stream that hangs for good must not keep the process from ending.
    threading.Thread(target=pump, daemon=True, name="model-stream").start()
    ended = False
    try:
        yield from _until_end(items, is_token, timeouts, until)
        ended = True
    finally:
        if not ended:
            stop()


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
    items: queue.SimpleQueue[_Item[T] | _End] = queue.SimpleQueue()

    def run() -> None:
        end: _Item[T] | _End = _End(RuntimeError("the asking thread died"))
        try:
            end = _Item(call())
        except problems as problem:
            end = _End(problem)
        finally:
            items.put(end)

    threading.Thread(target=run, daemon=True, name="model-question").start()
    try:
        item = items.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"no whole answer within {seconds:g} s") from None
    if isinstance(item, _Item):
        return item.value
    raise item.problem or RuntimeError("it neither returned nor failed")


def _until_end(
    items: queue.SimpleQueue[_Item[T] | _End],
    is_token: Callable[[T], bool],
    timeouts: Timeouts,
    until: float | None,
) -> Generator[T, None, None]:
    began, patience = False, timeouts.first_token_seconds
    deadline = time.monotonic() + patience
    while True:
        try:
            nearest = deadline if until is None else min(deadline, until)
            item = items.get(timeout=max(0.0, nearest - time.monotonic()))
        except queue.Empty:
            if until is not None and until <= deadline:
                raise EnoughError from None
            raise SilentError(patience, began=began) from None
        if isinstance(item, _End):
            if item.problem is not None:
                raise item.problem
            return
        if until is not None and time.monotonic() >= until:
            raise EnoughError
        if is_token(item.value):
            began, patience = True, timeouts.silence_seconds
            deadline = time.monotonic() + patience
        yield item.value
