from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from bumble.errors import IndexUnusableError
from bumble.index import bits, database
from bumble.index.database import Database
from bumble.index.filters import Allowed
from bumble.models.embed.protocol import Floats

RNG = np.random.default_rng(5)
VECTORS = RNG.standard_normal((300, 64)).astype(np.float32)
QUERY = RNG.standard_normal(64).astype(np.float32)


def by_hand(vectors: dict[int, Floats], count: int) -> list[int]:
    differing = {key: int(((QUERY > 0) != (vector > 0)).sum()) for key, vector in vectors.items()}
    return sorted(differing, key=lambda key: (differing[key], key))[:count]


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Database:
    monkeypatch.setattr(bits, "BLOCK_CHUNKS", 32)
    return database.create(tmp_path / "memory.db")


def test_the_nearest_by_bits_come_in_order_over_all_blocks(stored: Database) -> None:
    with closing(stored):
        for start in range(0, 300, 45):
            stored.put_vectors([(n, VECTORS[n]) for n in range(start, min(start + 45, 300))])
        assert stored.rows("select count(*) from blocks") == [(10,)]
        every = dict(enumerate(VECTORS))
        assert bits.nearest(stored, QUERY, 25, None) == by_hand(every, 25)
        assert bits.nearest(stored, QUERY, 1000, None) == by_hand(every, 300)


def test_what_a_filter_lets_through_is_enough_however_far_it_lies(stored: Database) -> None:
    with closing(stored):
        stored.put_vectors(list(enumerate(VECTORS)))
        far = set(by_hand(dict(enumerate(VECTORS)), 300)[-7:])
        nearest = bits.nearest(stored, QUERY, 5, Allowed(far.intersection))
        assert nearest == by_hand({n: VECTORS[n] for n in far}, 5)


def test_bits_follow_their_chunks(stored: Database) -> None:
    with closing(stored):
        stored.put_vectors(list(enumerate(VECTORS)))
        stored.put_vectors([(7, QUERY), (290, -QUERY)])
        bits.drop(stored, [*range(40, 110), 1, 12345])
        left = {n: VECTORS[n] for n in range(300) if n != 1 and not 40 <= n < 110}
        left |= {7: QUERY, 290: -QUERY}
        assert bits.nearest(stored, QUERY, 300, None) == by_hand(left, 300)
        assert stored.rows("select count(*) from placed") == [(len(left),)]
        bits.clear(stored)
        assert bits.nearest(stored, QUERY, 3, None) == []


def test_an_older_index_gets_its_blocks_and_loses_no_vector(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(database.create(path)) as stored:
        stored.put_vectors(list(enumerate(VECTORS)))
        for change in ("drop table placed", "drop table blocks", "create table coarse (id, bits)"):
            stored.run(change)
    with pytest.raises(IndexUnusableError):
        database.open_to_read(path)
    with closing(database.open_to_write(path)) as moved:
        every = dict(enumerate(VECTORS))
        assert bits.nearest(moved, QUERY, 300, None) == by_hand(every, 300)
    database.open_to_read(path).close()
