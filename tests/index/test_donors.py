from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from msgspec import Struct, field
from msgspec.structs import replace

from bumble.index import place, sync
from bumble.index.sqlite import open_to_read
from bumble.models.embed.protocol import Embedder, Floats
from tests.support.hashing import HashingEmbedder

if TYPE_CHECKING:
    from tests.support.notes import Notes


class Asked(Struct):
    """The texts that an embedder was asked for."""

    texts: list[str] = field(default_factory=list)


class ListeningEmbedder(HashingEmbedder):
    """Writes down what it is asked for."""

    def __init__(self, asked: Asked, dimensions: int = 64) -> None:
        super().__init__(dimensions)
        self.asked = asked

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        self.asked.texts += texts
        return super().embed_documents(texts)


def rows(database: Path) -> list[tuple[object, ...]]:
    with closing(open_to_read(database)) as opened:
        return [
            *opened.rows("select hash, vector from embeddings order by hash"),
            *opened.rows("select hash, pieces, signs from tokens order by hash"),
            *opened.rows("select id, vector from vectors order by id"),
            *opened.rows("select piece, texts from pieces order by piece"),
        ]


def test_what_another_index_has_is_not_embedded_again(notes: Notes, tmp_path: Path) -> None:
    for n in range(5):
        notes.episode(f"{n}", f"The tide number {n} came with a lantern.", day=n)
    zone = ZoneInfo("UTC")

    live = place.of(notes.entity)
    other = replace(place.elsewhere(tmp_path / "other"), donors=(live.database,))

    def index(where: place.Place, embedder: Embedder) -> None:
        sync.sync(notes.entity, embedder, name="Ada", zone=zone, where=where)

    index(live, HashingEmbedder(64))
    asked = Asked()
    index(other, ListeningEmbedder(asked))
    assert asked.texts == []
    assert rows(other.database) == rows(live.database)
    notes.episode("new", "A heron stood in the harbour.", day=7)
    index(other, ListeningEmbedder(asked))
    assert len(asked.texts) == 1 and "heron" in asked.texts[0]


def test_vectors_of_another_model_and_broken_indexes_are_left_alone(
    notes: Notes, tmp_path: Path
) -> None:
    notes.episode("1", "The tide came with a lantern.")
    live = place.of(notes.entity)
    sync.sync(notes.entity, HashingEmbedder(32), name="Ada", zone=ZoneInfo("UTC"))
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"no database")
    asked = Asked()
    donors = (broken, tmp_path / "none.db", live.database)
    other = replace(place.elsewhere(tmp_path / "other"), donors=donors)
    embedder = ListeningEmbedder(asked)
    report = sync.sync(notes.entity, embedder, name="Ada", zone=ZoneInfo("UTC"), where=other)
    assert (report.embedded, len(asked.texts)) == (1, 1)
