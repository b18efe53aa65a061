"""The tests of searching and syncing, once more, with the index on a server."""

from __future__ import annotations

import pytest

from tests.index import test_search, test_sync
from tests.support.notes import Notes
from tests.support.postgres import Postgres, cases

pytestmark = pytest.mark.slow
# About the files of an index in a folder: what becomes of them when damaged, or half written.
IN_THE_FOLDER = {
    "test_a_kill_between_two_commits_is_mended_by_the_next_sync",
    "test_a_full_text_index_of_another_database_is_made_anew",
    "test_a_damaged_database_is_made_anew",
    "test_a_damaged_full_text_index_is_made_anew",
    "test_two_syncs_at_once_end_in_one_whole_index",
    "test_an_index_elsewhere_leaves_the_folder_alone",
    "test_looking_counts_what_is_stale_and_writes_nothing",
    "test_where_no_lock_can_be_taken_a_copy_is_searched",
}
globals().update(cases(test_search, without=IN_THE_FOLDER))
globals().update(cases(test_sync, without=IN_THE_FOLDER))
filled = test_search.filled


@pytest.fixture
def notes(notes: Notes, postgres: Postgres) -> Notes:
    """An empty entity folder whose index stands on the server."""
    return postgres.serving(notes)
