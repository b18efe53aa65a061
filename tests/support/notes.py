"""A small entity folder that tests of the index fill with real files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity.folder import Entity
from bumble.index import place
from bumble.index.ingest import SyncReport
from bumble.index.place import Place
from bumble.index.rows import Filter
from bumble.index.search import Hit, opened, search
from bumble.index.sync import sync
from bumble.models.embed.protocol import Embedder

START = datetime(2026, 5, 1, 9, 0, tzinfo=UTC)

if TYPE_CHECKING:
    from bumble.index.postgres_server import PostgresServer


Row = tuple[str, str, str, int, float]


class Notes(Struct, frozen=True):
    """An entity folder with the few verbs that tests of the index need."""

    root: Path
    server: PostgresServer | None = None  # where the index stands, if not in the folder

    @property
    def entity(self) -> Entity:
        return Entity(self.root)

    @property
    def at(self) -> Place:
        return replace(place.of(self.entity), server=self.server)

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        return file

    def episode(self, stem: str, text: str, *, day: int = 0, **meta: Any) -> Path:
        at = START + timedelta(days=day)
        front = {"at": at.isoformat(), "significance": 0.5, **meta}
        lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in front.items())
        return self.write(f"episodes/{at:%Y}/{at:%m}/ep_{stem}.md", f"---\n{lines}---\n\n{text}\n")

    def session(self, stem: str, turns: Sequence[tuple[str, str]], *, day: int = 0) -> Path:
        at = START + timedelta(days=day)
        rows: list[dict[str, Any]] = [
            {"type": "session", "id": f"ses_{stem}", "at": at.isoformat(), "by": turns[0][0]}
        ]
        for n, (speaker, text) in enumerate(turns):
            who = (
                {"role": "assistant"} if speaker == "Ada" else {"role": "user", "speaker": speaker}
            )
            when = (at + timedelta(seconds=n)).isoformat()
            rows.append(
                {"type": "message", "id": f"msg_{stem}{n}", "at": when, **who, "text": text}
            )
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        return self.write(f"sessions/ses_{stem}/messages.jsonl", lines)

    def sync(self, embedder: Embedder | None = None, **options: Any) -> SyncReport:
        options = {"name": "Ada", "zone": UTC, "where": self.at, **options}
        return sync(self.entity, embedder, **options)

    def search(
        self, query: str, embedder: Embedder | None = None, *, limit: int = 10, **only: Any
    ) -> list[Hit]:
        with opened(self.entity, self.at) as index:
            return search(index, query, embedder, limit=limit, only=Filter(**only))

    def throw_away(self) -> None:
        """Do away with the index and all that goes with it."""
        if self.server is not None:
            self.server.to_write(self.entity, anew=True)
        self.entity.vectors.unlink(missing_ok=True)
        shutil.rmtree(self.entity.private, ignore_errors=True)

    def ranking(self, query: str, embedder: Embedder | None = None) -> list[Row]:
        hits = self.search(query, embedder, limit=50)
        return [(hit.kind, hit.id, hit.path, hit.line, hit.score) for hit in hits]
