"""Writing that is watched call by call, and forked processes that end in the middle of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CALLS = ("open", "write", "fsync", "replace", "rename", "unlink", "mkdir", "rmdir", "chmod")


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@contextmanager
def every_call(act: Callable[[int, bool], None]) -> Iterator[list[int]]:
    """Have `act(n, done)` called before and after the n-th call that changes a file."""
    real = {name: getattr(os, name) for name in CALLS}
    count = [0]

    def watched(name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if name == "open" and not args[1] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                return real[name](*args, **kwargs)  # to read: that changes nothing
            count[0] += 1
            n = count[0]
            act(n, False)
            try:
                return real[name](*args, **kwargs)
            finally:  # a call that fails, as `open` does where a file is, is a call too
                act(n, True)

        return call

    try:
        for name in CALLS:
            setattr(os, name, watched(name))
        yield count
    finally:
        for name, function in real.items():
            setattr(os, name, function)


def in_child(work: Callable[[], None]) -> int:
    """Run something in a forked process and return how it ended."""
    return ended(started(work))


def started(work: Callable[[], object]) -> int:
    """Begin something in a forked process and return its id."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return child


def ended(child: int) -> int:
    """Wait for a forked process and return how it ended."""
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)
