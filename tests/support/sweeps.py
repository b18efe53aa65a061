"""Sweeps over many values of one kind: some of them in the gate, the others by `just slow`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def every(step: int, values: Iterable[Any]) -> list[Any]:
    """Mark all but each `step`-th value, beginning with the first, as slow."""
    return [
        pytest.param(value, marks=pytest.mark.slow) if n % step else value
        for n, value in enumerate(values)
    ]


# the step from one kill to the next: in the gate not every call is one
kill_steps = pytest.mark.parametrize("step", every(2, (5, 1)))
