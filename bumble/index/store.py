"""The index of one entity, asked and written: each statement stands here once, for every database.

A store keeps what a sync hands it and names candidates; how well they match is worked out above
it, alike for every store. Statements are SQLite's, with four signs that a database replaces by its
own words: `@chunks` is what the entity has in a table, `@own` the condition that rows are its,
`in ??` stands for a list, and `moment(at)` for a time that can be compared.
"""
# ruff: noqa: S608  (statements are put together from constants; values are bound)

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bumble.index.chunks import Chunk
from bumble.index.rows import (
    ALL_TEXTS,
    CHUNK_COLUMNS,
    HASH,
    TEXT_COLUMNS,
    FileRow,
    Filter,
    Row,
    Stamp,
    packed,
    passage_id,
    recipe_of,
    row_of,
    texts_of,
)
from bumble.models.embed.protocol import DocumentTokens, Floats
from bumble.text.words import folded_tag

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OF_CHUNK = ("texts", "vectors")  # tables with a row a chunk, beside `chunks`
_FILES = (
    "select path, id, kind, mtime_ns, ctime_ns, size, sha256, problem, problem_line from @files"
)


class Store(ABC):
    """An open index. What is derived from the files can be thrown away and made anew."""

    FLOAT: str  # how numbers of vectors are kept
    VECTORS: tuple[str, ...]  # tables with a row for each vector
    WORDS: str  # what has a row for each chunk of which the terms are known
    WORD: str  # where the table of words has the id of a chunk
    COSINE: str  # the cosine of a stored vector with one that is bound
    DISTRUSTED: str  # what makes a file look other than it is
    SCANNED = ""  # before a column that is not to be looked up by its index
    KEEPS_SEEN = True  # whether nobody else writes stamps of files

    def __init__(self) -> None:
        self._meta: dict[str, str] | None = None  # facts about the index itself, once read
        self._chunks: list[tuple[int, Row, Row]] = []  # that are put when the transaction ends
        self._worded: list[tuple[int, Row]] = []  # new ones, or of other terms, with their texts
        self._inside = False  # a transaction

    # what each database does in its own words

    def close(self) -> None:  # noqa: B027  (a connection to a server is for who comes next)
        """Leave it; safe to call twice."""

    @abstractmethod
    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a query and return all rows.

        Raises:
            IndexUnusableError: If the database can't be read.
            IndexServerError: If its server does not answer, or refuses.
        """

    @abstractmethod
    def run(self, sql: str, values: Sequence[Any] = ()) -> None:
        """Run a statement that writes."""

    @abstractmethod
    def put(
        self, table: str, columns: Sequence[str], rows: Iterable[Row], *, adds: bool = False
    ) -> None:
        """Put rows in the place of those with the same key, which is the first of the columns.

        With `adds`, numbers are added to those that stand there.
        """

    @abstractmethod
    def atomic(self) -> Any:
        """Return a context in which all that is written is kept, or none of it."""

    @abstractmethod
    def vector(self, vector: Floats) -> Any:
        """Return a vector as it is bound to be compared."""

    @abstractmethod
    def put_words(self, rows: Sequence[tuple[int, Row]]) -> None:
        """Store which terms stand in chunks, given by their texts, and around them."""

    @abstractmethod
    def counts(self, terms: Iterable[str]) -> dict[str, int]:
        """Return in how many chunks each term stands."""

    @abstractmethod
    def best(
        self, terms: Iterable[str], depth: int, where: str = "", values: Sequence[Any] = ()
    ) -> list[int]:
        """Return the chunks that BM25 puts first, of those a condition lets through; ties by id."""

    @abstractmethod
    def shred(self) -> str:
        """Leave no byte of what was taken out. Returns what may be left of it all the same."""

    def settle(self) -> None:  # noqa: B027  (a file needs no more)
        """Do what a sync ends with."""

    # what every database does alike

    def nearest(
        self, query: Floats, depth: int, where: str = "", values: Sequence[Any] = ()
    ) -> list[tuple[int, float]]:
        """Return the chunks nearest to a vector with their cosines, nearest first, ties by id."""
        inside = f"id in (select id from @chunks where {where})" if where else "true"
        return self._scored(query, depth, inside, values)

    def _scored(
        self, query: Floats, depth: int, inside: str, values: Sequence[Any]
    ) -> list[tuple[int, float]]:
        rows = self.rows(
            f"select id, {self.COSINE} as cosine from @vectors where {inside}"
            f" order by cosine desc, id limit {int(depth)}",
            (self.vector(query), *values),
        )
        return [(int(key), float(cosine)) for key, cosine in rows]

    def drop_words(self, ids: Sequence[int]) -> None:
        """Forget the terms of chunks, while their texts are still there."""
        if ids:
            self.run(f"delete from words where @own and {self.WORD} in ??", (list(ids),))

    def words_size(self) -> int:
        """Return how many chunks' terms are known."""
        return self.ids(f"select count(*) from {self.WORDS}")[0]

    def ids(self, sql: str, values: Sequence[Any] = ()) -> list[int]:
        """Return the first column of a query."""
        return [int(row[0]) for row in self.rows(sql, values)]

    # facts about the index itself

    def meta(self, key: str) -> str:
        """Return a stored fact about the index itself, empty if there is none."""
        if self._meta is None:  # all at once: each question may cross over to a server
            rows = self.rows("select key, value from @meta")
            self._meta = {str(name): str(value) for name, value in rows}
        return self._meta.get(key, "")

    def set_meta(self, key: str, value: str) -> None:
        """Store a fact about the index itself."""
        self.put("meta", ("key", "value"), [(key, value)])
        self._meta = None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside is kept, or none of it; chunks of many files at once."""
        if self._inside:
            yield
            return
        self._inside = True
        try:
            with self.atomic():
                yield
                self._flush()
        finally:
            self._inside, self._meta = False, None
            self._chunks.clear()
            self._worded.clear()

    # files

    def files(self, where: str = "true", values: Sequence[Any] = ()) -> dict[str, FileRow]:
        """Return indexed files by path, in its order."""
        rows = self.rows(f"{_FILES} where {where} order by path", values)
        return {str(row[0]): FileRow(*row[1:]) for row in rows}

    def file(self, path: str) -> FileRow | None:
        """Return what is known of a file."""
        return self.files("path = ?", (path,)).get(path)

    def stamps(self) -> dict[str, Stamp]:
        """Return how each file was when it was last looked at, by path."""
        rows = self.rows("select path, mtime_ns, ctime_ns, size from @files")
        return {path: (mtime_ns, ctime_ns, size) for path, mtime_ns, ctime_ns, size in rows}

    def seen(self) -> str:
        """Return the digest of all stamps when each was as it is stored; empty: that is unknown."""
        return self.meta("seen") if self.KEEPS_SEEN else ""

    def set_seen(self, digest: str) -> None:
        """Store the digest of all stamps; empty, as soon as one of them is to change."""
        if self.KEEPS_SEEN and self.seen() != digest:
            self.set_meta("seen", digest)

    def put_file(self, path: str, row: FileRow) -> None:
        """Store what is known of a file."""
        self.put("files", ("path", *FileRow._fields), [(path, *row)])

    def drop_file(self, path: str) -> None:
        """Forget a file and its chunks."""
        if row := self.file(path):
            self.put_chunks(row.id, path, [])
            self.run("delete from files where @own and path = ?", (path,))

    def distrust_files(self, where: str = "true", values: Sequence[Any] = ()) -> None:
        """Have files read again, whatever their stamps."""
        self.set_seen("")
        self.run(f"update files set {self.DISTRUSTED} where @own and {where}", values)

    # chunks

    def size(self) -> int:
        """Return how many chunks there are."""
        return self.ids("select count(*) from @chunks")[0]

    def waiting(self) -> int:
        """Return how many chunks have no vector yet."""
        return self.size() - self.ids("select count(*) from @placed")[0]

    def orphans(self) -> int:
        """Return how many rows belong to no file, or no chunk."""
        lost = ["select count(*) from @chunks where file not in (select id from @files)"]
        lost += [
            f"select count(*) from @{table} where id not in (select id from @chunks)"
            for table in OF_CHUNK
        ]
        return self.ids("select " + " + ".join(f"({sql})" for sql in lost))[0]

    def lengths(self) -> list[Row]:
        """Return kind, language, count, terms and terms around of all chunks, by both."""
        return self.rows(
            "select kind, language, count(*), sum(own_terms), sum(around_terms) from @chunks"
            " group by kind, language order by kind, language"
        )

    def conditions(self, only: Filter) -> tuple[str, list[Any]]:
        """Write a filter as SQL over chunks; empty if everything passes."""
        parts = ["active <> 0"] if not only.dormant and self.has_dormant() else []
        values = list[Any]()
        # most of what there is are messages: to go from an index to each of them takes longer
        kind = f"{self.SCANNED}kind" if "message" in only.kinds else "kind"
        for column, listed in ((kind, only.kinds), ("session", only.sessions)):
            if listed:
                parts.append(f"{column} in ??")
                values.append(list(listed))
        tags = [folded_tag(tag) for tag in only.tags]
        for column, names, join in (("people", only.people, "or"), ("tags", tags, "and")):
            if names:
                parts.append("(" + f" {join} ".join([f"instr({column}, ?) > 0"] * len(names)) + ")")
                values += [packed((name,)) for name in names]
        if only.audience:
            allowed = " and ".join(["instr(audience, ?) > 0"] * len(only.audience))
            parts.append(f"(audience = '' or ({allowed}))")
            values += [packed((person,)) for person in only.audience]
        if only.not_session:
            parts.append("(session <> ? or record in ??)")
            values += [only.not_session, list(only.unseen)]
        if only.after is not None:
            parts.append("(at <> '' and moment(at) >= moment(?))")
            values.append(only.after.isoformat())
        if only.before is not None:
            parts.append("(at = '' or moment(at) < moment(?))")
            values.append(only.before.isoformat())
        return " and ".join(parts), values

    def has_dormant(self) -> bool:
        """Whether there are chunks of dormant or archived records."""
        return bool(self.rows("select 1 from @chunks where active = 0 limit 1"))

    def keeps_from(self, readers: Sequence[str]) -> bool:
        """Whether there are chunks that one of these people may not read."""
        allowed, values = self.conditions(Filter(audience=tuple(readers), dormant=True))
        sql = f"select 1 from @chunks where not ({allowed or 'true'}) limit 1"
        return bool(self.rows(sql, values))

    def passing(self, where: str = "", values: Sequence[Any] = ()) -> list[int]:
        """Return the chunks that a condition lets through, oldest first; empty: all."""
        order = "order by at, file, turn, ordinal, id"
        return self.ids(f"select id from @chunks where {where or 'true'} {order}", values)

    def holding(self, text: str, depth: int, where: str, values: Sequence[Any]) -> list[int]:
        """Return chunks that hold a text as it is, whatever its case."""
        return self.ids(
            "select id from @texts where instr(lower(text), ?) > 0"
            f" and id in (select id from @chunks where {where or 'true'})"
            f" order by id limit {int(depth)}",
            (text.lower(), *values),
        )

    def hit_rows(self, ids: Sequence[int]) -> list[Row]:
        """Return chunks as hits show them, and their terms, by id."""
        return self.rows(
            "select chunks.id, chunks.kind, record, files.path, ordinal, line, text, at, people,"
            " audience, trust, session, speaker, terms, around, active, language from @chunks"
            " join @texts on texts.id = chunks.id join @files on files.id = chunks.file"
            " where chunks.id in ?? order by chunks.id",
            (list(ids),),
        )

    def token_rows(self, ids: Sequence[int]) -> list[Row]:
        """Return chunks as `rerank` matches them, their tokens' signs among it."""
        return self.rows(
            "select chunks.id, chunks.kind, chunks.file, turn, own_terms, around_terms, asks, own,"
            " speaker, people, terms, around, signs, files.path, at, pieces from @chunks"
            " join @texts on texts.id = chunks.id join @files on files.id = chunks.file"
            " left join @tokens on tokens.hash = chunks.hash where chunks.id in ??",
            (list(ids),),
        )

    def of_turns(self, turns: Sequence[tuple[int, int]]) -> list[int]:
        """Return the chunks of some turns of transcripts, given by file and turn."""
        if not turns:
            return []
        listed = ", ".join(f"({int(file)}, {int(turn)})" for file, turn in turns)
        # all that a transcript holds are messages: a condition on the kind would be looked up first
        return self.ids(f"select id from @chunks where (file, turn) in (values {listed})")

    def places(self, ids: Sequence[int]) -> list[Row]:
        """Return id, kind, file and turn of some chunks."""
        return self.rows("select id, kind, file, turn from @chunks where id in ??", (list(ids),))

    def passages(self) -> list[Row]:
        """Return all passages, those of a record one after the other, the oldest record first.

        Each with kind, record, path, line, at, text, speaker, session, audience, trust, tags
        and whether it is active.
        """
        return self.rows(
            "select chunks.kind, record, files.path, line, at, text, speaker, session, audience,"
            " trust, tags, active from @chunks join @texts on texts.id = chunks.id"
            " join @files on files.id = chunks.file"
            " order by at, files.path, turn, record, ordinal"
        )

    def put_chunks(
        self, file: int, path: str, chunks: Sequence[Chunk], *, is_new: bool = False
    ) -> None:
        """Make these the chunks of a file; what is as it was is not touched."""
        new = {
            passage_id(path, chunk.record, chunk.ordinal): (row_of(file, chunk), texts_of(chunk))
            for chunk in chunks
        }
        old = {} if is_new else self._chunks_of(file)
        gone = sorted(old.keys() - new.keys())
        changed = [key for key in new if old.get(key) != new[key]]
        remixed = [key for key in changed if key in old and old[key][0][-1] != new[key][0][-1]]
        reworded = [key for key in changed if key not in old or old[key][1][2:] != new[key][1][2:]]
        loose = [  # hashes of texts that a chunk let go of
            (row[HASH],)
            for key, (row, _) in old.items()
            if key not in new or row[HASH] != new[key][0][HASH]
        ]
        with self.transaction():
            self.drop_words([key for key in (*gone, *reworded) if key in old])
            self.drop_vectors([*gone, *remixed])
            for table in ("chunks", "texts") if gone else ():
                self.run(f"delete from {table} where @own and id in ??", (gone,))
            self.put("loose", ("hash",), loose)
            self._chunks += [(key, *new[key]) for key in changed]
            self._worded += [(key, new[key][1]) for key in reworded]

    def _chunks_of(self, file: int) -> dict[int, tuple[Row, Row]]:
        """Return the chunks of a file by id, each with its row and its texts."""
        columns = ", ".join((*CHUNK_COLUMNS, *TEXT_COLUMNS))
        rows = self.rows(
            f"select chunks.id, {columns} from @chunks"
            " left join @texts on texts.id = chunks.id where file = ?",
            (file,),
        )
        end = 1 + len(CHUNK_COLUMNS)
        return {int(row[0]): (tuple(row[1:end]), tuple(row[end:])) for row in rows}

    def _flush(self) -> None:
        """Put the chunks that wait."""
        rows = self._chunks
        self.put("chunks", ("id", *CHUNK_COLUMNS), [(key, *row) for key, row, _ in rows])
        self.put("texts", ("id", *TEXT_COLUMNS), [(key, *texts) for key, _, texts in rows])
        self.put_words(self._worded)

    # texts by hash, their embeddings and tokens

    def recipes(self, ids: Sequence[int]) -> list[tuple[int, tuple[tuple[str, float], ...]]]:
        """Return how the vectors of some chunks are made, in the order given."""
        rows = self.rows("select id, recipe from @chunks where id in ??", (list(ids),))
        recipes = {int(key): recipe_of(recipe) for key, recipe in rows}
        return [(key, recipes[key]) for key in ids]

    def texts_by_hash(self, hashes: Sequence[str]) -> dict[str, str]:
        """Return the texts to embed, by hash."""
        rows = self.rows(
            "select hash, embedded from @chunks join @texts on texts.id = chunks.id"
            " where hash in ??",
            (list(hashes),),
        )
        return {str(key): str(text) for key, text in rows}

    def embeddings(self, hashes: Sequence[str]) -> dict[str, Floats]:
        """Return the stored embeddings of some texts, by hash; those not there are left out."""
        import numpy as np

        rows = self.rows("select hash, vector from @embeddings where hash in ??", (list(hashes),))
        return {str(key): np.frombuffer(row, self.FLOAT).astype("f4") for key, row in rows}

    def put_embeddings(self, vectors: Iterable[tuple[str, Floats]]) -> None:
        """Store the embeddings of texts by hash."""
        rows = ((key, vector.astype(self.FLOAT).tobytes()) for key, vector in vectors)
        self.put("embeddings", ("hash", "vector"), rows)

    def put_tokens(self, tokens: Sequence[tuple[str, DocumentTokens]]) -> None:
        """Store the tokens of texts by hash, and count in how many texts each piece stands."""
        rows = (
            (key, text_tokens.pieces.astype("<u4").tobytes(), text_tokens.signs.tobytes())
            for key, text_tokens in tokens
        )
        self.put("tokens", ("hash", "pieces", "signs"), rows)
        self._count_pieces([text_tokens.pieces for _, text_tokens in tokens], 1)

    def tokens(self, hashes: Sequence[str], width: int) -> dict[str, DocumentTokens]:
        """Return the tokens of some texts, so many bytes of signs each, by hash."""
        import numpy as np

        sql = "select hash, pieces, signs from @tokens where hash in ??"
        return {
            str(key): DocumentTokens(
                np.frombuffer(pieces, np.uint32), np.frombuffer(signs, np.uint8).reshape(-1, width)
            )
            for key, pieces, signs in self.rows(sql, (list(hashes),))
        }

    def _count_pieces(self, each: Sequence[NDArray[np.uint32]], step: int) -> None:
        """Count texts, each given by its pieces, in or out."""
        import numpy as np

        kinds = [np.unique(pieces) for pieces in each]
        pieces, texts = np.unique(np.concatenate([*kinds, []]), return_counts=True)
        counted = [(int(piece), step * int(n)) for piece, n in zip(pieces, texts, strict=True)]
        counted.append((ALL_TEXTS, step * len(each)))
        self.put("pieces", ("piece", "texts"), counted, adds=True)

    def piece_counts(self, pieces: Iterable[int]) -> Mapping[int, int]:
        """Return in how many texts each piece of the vocabulary stands, and how many there are."""
        rows = self.rows(
            "select piece, texts from @pieces where piece in ??", ([ALL_TEXTS, *pieces],)
        )
        return {int(piece): int(texts) for piece, texts in rows}

    def forget_vectors(self) -> None:
        """Drop every vector: another model's can't be compared with them."""
        self.drop_vectors(None)
        for table in ("embeddings", "tokens", "pieces"):
            self.run(f"delete from {table} where @own")

    def drop_unused_embeddings(self) -> None:
        """Drop the embeddings and tokens of texts that no chunk holds any more."""
        if not self.rows("select 1 from @loose limit 1"):
            return
        unused = "hash in (select hash from @loose) and hash not in (select hash from @chunks)"
        with self.transaction():
            rows = self.rows(f"select pieces from @tokens where {unused}")
            if rows:
                import numpy as np

                self._count_pieces([np.frombuffer(row[0], "<u4") for row in rows], -1)
            for table in ("tokens", "embeddings"):
                self.run(f"delete from {table} where @own and {unused}")
            self.run("delete from loose where @own")

    # vectors of chunks

    def unembedded(self) -> list[int]:
        """Return the chunks that have no vector yet, newest first."""
        return self.ids(
            "select id from @chunks where id not in (select id from @placed) order by at desc, id"
        )

    def put_vectors(self, vectors: Iterable[tuple[int, Floats]]) -> None:
        """Store the vectors of chunks, each of length 1."""
        self.put("vectors", ("id", "vector"), ((key, self.vector(each)) for key, each in vectors))

    def drop_vectors(self, ids: Sequence[int] | None) -> None:
        """Drop the vectors of chunks; None: every one."""
        for table in self.VECTORS if ids is None or ids else ():
            where, values = ("", ()) if ids is None else (" and id in ??", (list(ids),))
            self.run(f"delete from {table} where @own{where}", values)

    def sample(self, count: int) -> list[int]:
        """Return some chunks that have a vector: ids are hashes, so the first are any."""
        return self.ids(f"select id from @placed order by id limit {int(count)}")

    def cosines(self, query: Floats, ids: Iterable[int]) -> dict[int, float]:
        """Return the cosines of some chunks; those without a vector are left out."""
        rows = self.rows(
            f"select id, {self.COSINE} from @vectors where id in ??",
            (self.vector(query), list(ids)),
        )
        return {int(chunk_key): float(cosine) for chunk_key, cosine in rows}


def on_meeting(table: str, columns: Sequence[str], *, adds: bool) -> str:
    """Return what an `insert` does where a row with the key, the first column, is there."""
    updates = ", ".join(
        f"{name} = " + (f"{table}.{name} + " if adds else "") + f"excluded.{name}"
        for name in columns[1:]
    )
    return f"update set {updates}" if updates else "nothing"
