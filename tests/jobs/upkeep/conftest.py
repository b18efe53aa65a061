"""A mind that every test may ask, and a home that is nobody's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import mind
from tests.support.fake_server import FakeServer


@pytest.fixture
def served() -> Iterator[FakeServer]:
    """The mind by rules, on this machine."""
    with mind.serving() as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder; nothing of the real one shows through."""
    place = tmp_path / "home"
    monkeypatch.setenv("HOME", str(place))
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "BUMBLE_ENTITY"):
        monkeypatch.delenv(name, raising=False)
    return place
