from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.fake_server import FakeServer


@pytest.fixture
def server() -> Iterator[FakeServer]:
    fake = FakeServer()
    yield fake
    fake.close()


@pytest.fixture
def naps() -> list[float]:
    return []  # what was slept, in place of sleeping
