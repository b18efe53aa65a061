"""Sweeps over many values: some of them in the gate, others at each commit, all by `just slow`."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

RARER = 2  # how many times rarer each is in the gate than its sweep says
WHOLE = os.environ.get("BUMBLE_TESTS") == "whole"  # `just slow` sets it
EXAMPLES = 8  # of a property in the gate: other ones each time


@cache
def turn() -> int:
    """Return the number of the commit, by which each has another turn; 0 without git."""
    words = ["git", "rev-list", "--count", "HEAD"]
    place = Path(__file__).parent
    try:
        done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return 0
    return int(done.stdout) if done.stdout.strip().isdigit() else 0


def turns(step: int, values: Iterable[Any]) -> list[Any]:
    """Return parameters of which each `step`-th is for the gate, and the others are slow.

    A tuple is taken for the values of several arguments.
    """
    step *= RARER
    return [
        _param(value, is_slow=WHOLE or (n - turn()) % step != 0) for n, value in enumerate(values)
    ]


def in_turn(number: int, of: int) -> pytest.MarkDecorator:
    """Mark one of several tests that are much alike: for the gate at one commit of so many."""
    return pytest.mark.slow if (number - turn()) % (of * RARER) else pytest.mark.sampled


def some(values: Sequence[T], most: int) -> list[T]:
    """Return the first, the last and a few more of some values; all of them by `just slow`."""
    if WHOLE or len(values) <= most:
        return list(values)
    step = max(1, len(values) // (most - 1))
    return [values[0], *values[1 + turn() % step : -1 : step], values[-1]]


def examples(count: int) -> int:
    """Return how many examples a property is tried with that in all should have so many."""
    return count if WHOLE else min(count, EXAMPLES)


def stride(step: int) -> tuple[int, int]:
    """Return where to begin and how far to go on, for kills at some calls; (1, 1): at every one."""
    return (1, 1) if WHOLE else (1 + turn() % step, step)


def _param(value: Any, *, is_slow: bool) -> Any:
    given = value if isinstance(value, tuple) else (value,)
    return pytest.param(*given, marks=[pytest.mark.slow] if is_slow else [])


# for a test that itself takes `some`, or goes by a `stride`: `just slow` runs it once more
sampled = pytest.mark.sampled

# the step from one kill to the next: in the gate not every call is one
kill_steps = pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.slow)])
