"""What a search asks of `memory.db`: files, chunks, texts and vectors in SQLite with sqlite-vec.

Ties are settled by the ids of chunks. Knows nothing of tantivy or of ranking.
"""
# ruff: noqa: S608  (statements are put together from constants; values are bound)

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from bumble.index import bits
from bumble.index.database_file import readable
from bumble.index.filters import Allowed, Filter
from bumble.index.rows import ALL_TEXTS, FileRow, Row, packed, recipe_of
from bumble.index.scan import Stamp
from bumble.models.embed.protocol import Floats
from bumble.text.words import folded_tag

EXACT_ROWS = 20_000  # beyond, bits choose the candidates and floats score them
COARSE_FACTOR = 10  # candidates chosen by bits, for each that is wanted
TAKEN = "taken"  # the key under which stands how far the full-text index has come


class DatabaseReader:
    """An open `memory.db`, asked; what may stand open where nothing may be written."""

    def __init__(self, path: Path, connection: apsw.Connection) -> None:
        self.path, self._db = path, connection

    def close(self) -> None:
        """Close it; safe to call twice."""
        self._db.close()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a query and return all rows.

        Raises:
            IndexUnusableError: If the database can't be read.
        """
        with readable(self.path):
            return list(self._db.execute(sql, values))

    def stream(self, sql: str) -> Iterator[Row]:
        """Run a query and yield its rows one by one; nothing may be written meanwhile."""
        with readable(self.path):
            yield from self._db.execute(sql)

    def _ids(self, sql: str, values: Sequence[Any] = ()) -> list[int]:
        return [int(row[0]) for row in self.rows(sql, values)]

    def meta(self, key: str) -> str:
        """Return a stored fact about the index itself, empty if there is none."""
        rows = self.rows("select value from meta where key = ?", (key,))
        return str(rows[0][0]) if rows else ""

    def generation(self) -> int:
        """Return how often chunks have changed."""
        return int(self.meta("generation") or 0)

    def fulltext_generation(self) -> int:
        """Return the generation that the full-text index had when its queue was last empty."""
        return int(self.meta(TAKEN) or 0)

    def has_table(self, name: str) -> bool:
        """Whether it has a table; an index from an earlier version may lack one."""
        return bool(self.rows("select count(*) from sqlite_master where name = ?", (name,))[0][0])

    def files(self) -> dict[str, FileRow]:
        """Return all indexed files by path."""
        rows = self.rows(
            "select path, id, kind, mtime_ns, ctime_ns, size, sha256, problem, problem_line"
            " from files"
        )
        return {str(row[0]): FileRow(*row[1:]) for row in rows}

    def stamps(self) -> dict[str, Stamp]:
        """Return how each file was when it was last looked at, by path."""
        rows = self.rows("select path, mtime_ns, ctime_ns, size from files")
        return {path: (mtime_ns, ctime_ns, size) for path, mtime_ns, ctime_ns, size in rows}

    def seen(self) -> str:
        """Return the digest of all stamps when each was as it is stored; empty: that is unknown."""
        return self.meta("seen")

    def file(self, path: str) -> FileRow | None:
        """Return what is known of a file."""
        rows = self.rows(
            "select id, kind, mtime_ns, ctime_ns, size, sha256, problem, problem_line"
            " from files where path = ?",
            (path,),
        )
        return FileRow(*rows[0]) if rows else None

    def digests(self) -> list[Row]:
        """Return path and hash of every file, by path."""
        return self.rows("select path, sha256 from files order by path")

    def problems(self) -> list[tuple[str, str, int | None]]:
        """Return the files that could not be read, and why and in which line, by path."""
        rows = self.rows(
            "select path, problem, problem_line from files where problem <> '' order by path"
        )
        return [(str(path), str(problem), line) for path, problem, line in rows]

    def size(self) -> int:
        """Return how many chunks there are, counted anew: the totals may be damaged."""
        return int(self.rows("select count(*) from chunks")[0][0])

    def waiting(self) -> int:
        """Return how many chunks have no vector yet."""
        total = int(self.rows("select coalesce(sum(chunks), 0) from totals")[0][0])
        return total - bits.count(self)

    def queued(self) -> int:
        """Return how many chunks the full-text index has yet to take."""
        return int(self.rows("select count(*) from queue")[0][0])

    def orphans(self) -> int:
        """Return how many rows belong to no file, or no chunk."""
        counted = self.rows(
            "select (select count(*) from chunks where file not in (select id from files))"
            " + (select count(*) from vectors where id not in (select id from chunks))"
            " + (select count(*) from texts where id not in (select id from chunks))"
        )
        return int(counted[0][0])

    def lengths(self) -> list[Row]:
        """Return kind, language, count, terms and terms around of all chunks, by both."""
        return self.rows(
            "select kind, language, chunks, own_terms, around_terms from totals where chunks > 0"
        )

    def conditions(self, only: Filter) -> tuple[str, list[Any]]:
        """Write a filter as SQL over chunks; empty if everything passes."""
        parts = ["active"] if not only.dormant and self.has_dormant() else []
        values = list[Any]()
        if only.kinds:
            parts.append(f"kind in ({', '.join('?' * len(only.kinds))})")
            values += only.kinds
        if only.people:
            parts.append("(" + " or ".join(["instr(people, ?)"] * len(only.people)) + ")")
            values += [packed((person,)) for person in only.people]
        if only.tags:
            parts.append("(" + " and ".join(["instr(tags, ?)"] * len(only.tags)) + ")")
            values += [packed((folded_tag(tag),)) for tag in only.tags]
        if only.audience:
            allowed = " and ".join(["instr(audience, ?)"] * len(only.audience))
            parts.append(f"(audience = '' or ({allowed}))")
            values += [packed((person,)) for person in only.audience]
        if only.sessions:
            parts.append(f"session in ({', '.join('?' * len(only.sessions))})")
            values += only.sessions
        if only.not_session:
            parts.append("(session <> ? or record in (select value from json_each(?)))")
            values += [only.not_session, json.dumps(only.unseen)]
        if only.after is not None:
            parts.append("(at <> '' and julianday(at) >= julianday(?))")
            values.append(only.after.isoformat())
        if only.before is not None:
            parts.append("(at = '' or julianday(at) < julianday(?))")
            values.append(only.before.isoformat())
        return " and ".join(parts), values

    def has_dormant(self) -> bool:
        """Whether there are chunks of dormant or archived records."""
        return bool(self.rows("select exists (select 1 from chunks where not active)")[0][0])

    def passing(self, where: str = "", values: Sequence[Any] = ()) -> list[int]:
        """Return the chunks that a condition lets through; empty: all."""
        return self._ids(f"select id from chunks where {where or 1}", values)

    def allowed(self, ids: Sequence[int], where: str, values: Sequence[Any]) -> set[int]:
        """Return those of some chunks that a condition lets through."""
        sql = f"select id from chunks where id in (select value from json_each(?)) and {where}"
        return set(self._ids(sql, (json.dumps(ids), *values)))

    def in_time(self, where: str = "", values: Sequence[Any] = ()) -> list[int]:
        """Return the chunks that a condition lets through, oldest first."""
        sql = f"select id from chunks where {where or 1} order by at, file, turn, ordinal"
        return self._ids(sql, values)

    def holding(self, text: str, depth: int, where: str, values: Sequence[Any]) -> list[int]:
        """Return chunks that hold a text as it is, whatever its case."""
        return self._ids(
            "select id from texts where instr(lower(text), ?)"
            f" and id in (select id from chunks where {where or 1}) order by id limit {depth}",
            (text.lower(), *values),
        )

    def hit_rows(self, ids: Sequence[int]) -> list[Row]:
        """Return chunks as hits show them, and their terms, by id."""
        return self.rows(
            "select chunks.id, chunks.kind, record, files.path, ordinal, line, text, at, people,"
            " audience, trust, session, speaker, terms, around, active from chunks"
            " join texts using (id)"
            " join files on files.id = chunks.file"
            " where chunks.id in (select value from json_each(?)) order by chunks.id",
            (json.dumps(ids),),
        )

    def token_rows(self, ids: Sequence[int]) -> list[Row]:
        """Return chunks as `rerank` matches them, their tokens' signs among it."""
        return self.rows(
            "select chunks.id, chunks.kind, chunks.file, turn, own_terms, around_terms, asks, own,"
            " timed, speaker, people, terms, around, signs, files.path"
            " from json_each(?) as wanted cross join chunks on chunks.id = wanted.value"
            " join texts on texts.id = chunks.id join files on files.id = chunks.file"
            " left join tokens on tokens.hash = chunks.hash",
            (json.dumps(ids),),
        )

    def of_turns(self, turns: Sequence[tuple[int, int]]) -> list[int]:
        """Return the chunks of some turns of transcripts, given by file and turn."""
        return self._ids(
            "select chunks.id from json_each(?) as wanted cross join chunks"
            " where file = wanted.value ->> 0 and turn = wanted.value ->> 1 and kind = 'message'",
            (json.dumps(turns),),
        )

    def places(self, ids: Sequence[int]) -> list[Row]:
        """Return id, kind, file and turn of some chunks."""
        return self.rows(
            "select id, kind, file, turn from chunks where id in (select value from json_each(?))",
            (json.dumps(ids),),
        )

    def records(self) -> list[Row]:
        """Return every record: kind, id, path, line, at, text, speaker, talk, who, trust, tags."""
        return self.rows(
            "select chunks.kind, record, files.path, min(line), at, group_concat(text, ' '),"
            " speaker, session, audience, trust, tags from chunks join texts using (id)"
            " join files on files.id = chunks.file"
            " group by chunks.kind, record, files.path order by at, files.path, min(line)"
        )

    def recipes(self, ids: Sequence[int]) -> list[tuple[int, tuple[tuple[str, float], ...]]]:
        """Return how the vectors of some chunks are made, in the order given."""
        rows = self.rows(
            "select chunks.id, recipe from json_each(?) as wanted"
            " cross join chunks on chunks.id = wanted.value order by wanted.key",
            (json.dumps(ids),),
        )
        return [(int(chunk_key), recipe_of(recipe)) for chunk_key, recipe in rows]

    def texts_by_hash(self, hashes: Sequence[str]) -> dict[str, str]:
        """Return the texts to embed, by hash."""
        rows = self.rows(
            "select hash, embedded from chunks join texts using (id)"
            " where hash in (select value from json_each(?))",
            (json.dumps(hashes),),
        )
        return {str(key): str(text) for key, text in rows}

    def embeddings(self, hashes: Sequence[str]) -> dict[str, Floats]:
        """Return the stored embeddings of some texts, by hash; those not there are left out."""
        rows = self.rows(
            "select hash, vector from embeddings where hash in (select value from json_each(?))",
            (json.dumps(hashes),),
        )
        return {str(key): np.frombuffer(blob, np.float32) for key, blob in rows}

    def stored_tokens(self, hashes: Sequence[str]) -> list[tuple[str, bytes, bytes]]:
        """Return the tokens of some texts as they are stored: hash, pieces, signs."""
        rows = self.rows(
            "select hash, pieces, signs from tokens where hash in (select value from json_each(?))",
            (json.dumps(hashes),),
        )
        return [(str(key), bytes(pieces), bytes(signs)) for key, pieces, signs in rows]

    def piece_counts(self, pieces: Iterable[int]) -> dict[int, int]:
        """Return in how many texts each piece of the vocabulary stands, and how many there are."""
        rows = self.rows(
            "select piece, texts from pieces where piece in (select value from json_each(?))",
            (json.dumps([ALL_TEXTS, *pieces]),),
        )
        return {int(piece): int(texts) for piece, texts in rows}

    def keeps_tokens(self) -> bool:
        """Whether the tokens of a text are kept wherever its vector is."""
        return bool(self.meta("tokens"))

    def has_loose(self) -> bool:
        """Whether a chunk has let go of a text since unused embeddings were dropped."""
        return bool(self.rows("select exists (select 1 from loose)")[0][0])

    def unembedded(self) -> list[int]:
        """Return the chunks that have no vector yet, newest first."""
        rows = self.rows(
            "select id from chunks where id not in (select id from placed) order by at desc, id"
        )
        return [int(row[0]) for row in rows]

    def vectors(self, ids: Sequence[int]) -> Floats:
        """Return the vectors of some chunks, each of length 1, in the order given."""
        rows = self.rows(
            "select vector from json_each(?) as wanted cross join vectors"
            " on vectors.id = wanted.value order by wanted.key",
            (json.dumps(ids),),
        )
        return np.stack([np.frombuffer(row[0], "<f4") for row in rows])

    def sample(self, count: int) -> list[int]:
        """Return some chunks that have a vector: ids are hashes, so the first are any."""
        return self._ids(f"select id from vectors order by id limit {count}")

    def with_vector(self, where: str) -> list[int]:
        """Return the chunks that have a vector and meet a condition, by id."""
        sql = f"select id from vectors join chunks using (id) where {where} order by id"
        return self._ids(sql)

    def nearest(
        self, query: Floats, depth: int, where: str = "", values: Sequence[Any] = ()
    ) -> list[tuple[int, float]]:
        """Return the chunks nearest to a vector with their cosines, nearest first, ties by id."""
        blob = query.astype("<f4").tobytes()
        inside = f"id in (select id from chunks where {where})" if where else "1"
        if bits.count(self) > EXACT_ROWS:
            asked = list(values)
            allowed = Allowed(lambda ids: self.allowed(ids, where, asked)) if where else None
            likely = bits.nearest(self, query, depth * COARSE_FACTOR, allowed)
            inside, values = "id in (select value from json_each(?))", (json.dumps(likely),)
        rows = self.rows(
            f"select id, round(1 - vec_distance_cosine(vector, ?), 6) as cosine from vectors"
            f" where {inside} order by cosine desc, id limit {depth}",
            (blob, *values),
        )
        return [(int(chunk_key), float(cosine)) for chunk_key, cosine in rows]

    def cosines(self, query: Floats, ids: Sequence[int]) -> dict[int, float]:
        """Return the cosines of some chunks; those without a vector are left out."""
        rows = self.rows(
            "select id, round(1 - vec_distance_cosine(vector, ?), 6) from vectors"
            " where id in (select value from json_each(?))",
            (query.astype("<f4").tobytes(), json.dumps(list(ids))),
        )
        return {int(chunk_key): float(cosine) for chunk_key, cosine in rows}

    def has_links(self) -> bool:
        """Whether it can hold which texts catalysts point to."""
        return self.has_table("linked")

    def unlinked(self) -> set[int]:
        """Return the chunks that catalysts have not been compared with."""
        return set(self._ids("select id from vectors except select id from linked"))

    def pointed_to(
        self, catalysts: Sequence[int], where: str, values: Sequence[Any]
    ) -> dict[int, list[tuple[int, float]]]:
        """Return the texts that some catalysts point to with their likeness, by catalyst.

        Args:
            catalysts: Ids of their chunks.
            where: A condition on the chunks of the texts; empty: all.
            values: Of the condition.
        """
        rows = self.rows(
            "select catalyst, chunk, similarity from links where catalyst in"
            " (select value from json_each(?))"
            + (f" and chunk in (select id from chunks where {where})" if where else "")
            + " order by catalyst, similarity desc, chunk",
            (json.dumps(list(catalysts)), *values),
        )
        pointed: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for catalyst, chunk, similarity in rows:
            pointed[int(catalyst)].append((int(chunk), float(similarity)))
        return dict(pointed)
