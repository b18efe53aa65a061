from __future__ import annotations

import pytest


@pytest.fixture
def naps() -> list[float]:
    return []  # what was slept, in place of sleeping
