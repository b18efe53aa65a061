"""The tests of ranking by tokens, once more, with the index on a server."""

from __future__ import annotations

import pytest

from tests.index import test_rerank
from tests.support.notes import Notes
from tests.support.postgres import Postgres, cases

pytestmark = pytest.mark.slow
IN_THE_FOLDER = {"test_pieces_are_counted_as_a_new_index_would_count_them"}  # reads its tables
globals().update(cases(test_rerank, without=IN_THE_FOLDER))
filled = test_rerank.filled


@pytest.fixture
def notes(notes: Notes, postgres: Postgres) -> Notes:
    """An empty entity folder whose index stands on the server."""
    return postgres.serving(notes)
