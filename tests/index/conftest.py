"""A small entity folder that tests fill with real files, and its index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bumble.embed.hashing import HashingEmbedder
from tests.support.notes import Notes
from tests.support.postgres import Postgres, running


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    """An empty entity folder."""
    (tmp_path / "entity.yaml").write_text("name: Ada\n")
    return Notes(tmp_path)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A server that runs as long as the tests do; skips where there is none to run."""
    with running() as server:
        yield server


@pytest.fixture
def embedder() -> HashingEmbedder:
    """An embedder without weights."""
    return HashingEmbedder(64)
