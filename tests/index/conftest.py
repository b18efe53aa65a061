"""A small entity folder that tests fill with real files, and its index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hashing import HashingEmbedder
from tests.support.notes import Notes
from tests.support.postgres import Postgres, running


@pytest.fixture(params=["folder", pytest.param("server", marks=pytest.mark.slow)])
def notes(request: pytest.FixtureRequest, tmp_path: Path) -> Notes:
    """An empty entity folder; its index stands in it or, in `just slow`, on a server as well."""
    (tmp_path / "entity.yaml").write_text("name: Ada\n")
    in_folder = Notes(tmp_path)
    if request.param == "folder":
        return in_folder
    if request.node.get_closest_marker("in_the_folder"):
        pytest.skip("about the files of an index in a folder")
    server: Postgres = request.getfixturevalue("postgres")
    return server.serving(in_folder)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A server that runs as long as the tests do; skips where there is none to run."""
    with running() as server:
        yield server


@pytest.fixture
def embedder() -> HashingEmbedder:
    """An embedder without weights."""
    return HashingEmbedder(64)
