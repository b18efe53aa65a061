"""The index in Postgres: its tables by numbered migrations, and the store of one entity in them.

Every table is keyed by entity. Row level security lets a session see the rows of the one entity it
names, and of those only what was put there by a role it belongs to; it holds for the owner of the
tables as well. Every statement names the entity by its number, too. Floats are kept in half
precision, and all of an entity are compared. The terms of a chunk are the lexemes of a `tsvector`:
how often one stands there is its label, D for once to A for four times or more, which `ts_rank`
gives back.
"""
# ruff: noqa: S608  (statements are put together from constants; values are bound)

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from math import log
from typing import Any, LiteralString

import numpy as np
from psycopg import Connection

from bumble import patterns
from bumble.index.rows import FileRow, Row
from bumble.index.store import Store, on_meeting
from bumble.models.embed.protocol import Floats

SCHEMA = "bumble"
TABLES = (
    *("meta", "files", "stamps", "chunks", "texts", "words", "embeddings", "loose", "tokens"),
    *("pieces", "vectors"),
)
_OWN = "entity = (select bumble.me())"
# Text that is sorted or compared is so by its bytes, as everywhere else in the index.
_FIRST = """
create table bumble.entities (
  id integer generated always as identity primary key,
  key text not null collate "C",
  role oid not null default to_regrole(quote_ident(session_user))::oid,
  unique (role, key)
);
create function bumble.me() returns integer language sql stable set search_path = pg_catalog as $$
  select id from bumble.entities
  where key = current_setting('bumble.entity', true) and pg_has_role(session_user, role, 'member')
  order by role = to_regrole(quote_ident(session_user))::oid desc, id limit 1
$$;
create function bumble.saturated(rank real, norm double precision) returns double precision
language sql immutable parallel safe as $$
  -- `ts_rank` of a lone position is its label's weight, a tenth for each time, by pi squared / 6
  select 2.2 * round(rank * 16.4493406685) / (round(rank * 16.4493406685) + norm)
$$;
create table bumble.meta (
  entity integer not null, key text not null collate "C", value text not null,
  primary key (entity, key)
);
create table bumble.files (
  entity integer not null, id bigint not null, path text not null collate "C",
  kind text not null collate "C", sha256 text not null, problem text not null,
  problem_line integer, primary key (entity, id), unique (entity, path)
);
create table bumble.stamps (
  entity integer not null, place text not null collate "C", path text not null collate "C",
  mtime_ns bigint not null, ctime_ns bigint not null, size bigint not null, sha256 text not null,
  primary key (entity, place, path)
);
create table bumble.chunks (
  entity integer not null, id bigint not null, file bigint not null, kind text collate "C",
  record text collate "C", ordinal integer, line integer, at text collate "C", people text,
  tags text, audience text, trust text, session text, speaker text, active smallint, language text,
  own_terms integer, around_terms integer, turn integer, asks double precision, own smallint,
  hash text collate "C", recipe text, primary key (entity, id)
);
create index chunks_file on bumble.chunks (entity, file, turn);
create index chunks_hash on bumble.chunks (entity, hash);
create table bumble.texts (
  entity integer not null, id bigint not null, text text, embedded text, terms text, around text,
  primary key (entity, id)
);
create table bumble.words (
  entity integer not null, id bigint not null, length integer not null, lexemes tsvector not null,
  primary key (entity, id)
);
create table bumble.embeddings (
  entity integer not null, hash text not null collate "C", vector bytea not null,
  primary key (entity, hash)
);
create table bumble.loose (
  entity integer not null, hash text not null collate "C", primary key (entity, hash)
);
create table bumble.tokens (
  entity integer not null, hash text not null collate "C", pieces bytea, signs bytea,
  primary key (entity, hash)
);
create table bumble.pieces (
  entity integer not null, piece bigint not null, texts integer not null,
  primary key (entity, piece)
) with (fillfactor = 80);
create table bumble.vectors (
  entity integer not null, id bigint not null, vector halfvec not null, primary key (entity, id)
);
alter table bumble.tokens alter column signs set storage external;
alter table bumble.vectors alter column vector set storage plain;
alter table bumble.entities enable row level security, force row level security;
create policy own on bumble.entities using (
  key = current_setting('bumble.entity', true) and pg_has_role(session_user, role, 'member')
) with check (
  key = current_setting('bumble.entity', true)
  and role = to_regrole(quote_ident(session_user))::oid
);
""" + "".join(
    f"alter table bumble.{table} enable row level security, force row level security;\n"
    f"create policy own on bumble.{table} using ({_OWN}) with check ({_OWN});\n"
    for table in TABLES
)
# Postgres would read, sort and keep samples of what no plan depends on: vectors, texts, tokens.
_UNSAMPLED = (
    *(("texts", column) for column in ("text", "embedded", "terms", "around")),
    *(("words", "lexemes"), ("embeddings", "vector"), ("vectors", "vector")),
    *(("tokens", "pieces"), ("tokens", "signs")),
)
_SECOND = "".join(
    f"alter table bumble.{table} alter column {column} set statistics 0;\n"
    for table, column in _UNSAMPLED
)
# Of an entity that is new to the samples Postgres would expect a row or none, and look through all
# it has again and again; without samples it expects as many as of any other.
_THIRD = "".join(
    f"alter table bumble.{table} alter column entity set statistics 0;\n" for table in TABLES
)
# What the first version had beside these tables; ids of files were counted there.
_FOURTH = """
drop table if exists bumble.terms, bumble.links, bumble.linked;
alter table bumble.files alter column id drop identity if exists;
alter table bumble.chunks drop column if exists timed;
"""
# Tokens had each piece once, not a piece a token: texts are embedded anew.
_FIFTH = "truncate bumble.tokens, bumble.pieces, bumble.embeddings, bumble.vectors;"
# In order; the number of a migration is its place, counted from 1. Each is run once, in the
# transaction that counts it.
MIGRATIONS = (_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH)

ROWS_AT_ONCE = 1_000  # put by one statement
# New chunks after which Postgres is told to look at its tables again, of all entities at once.
ANALYZED_ROWS, ANALYZED_SHARE = 1_000, 0.1
K1, B = 1.2, 0.75  # as SQLite's, which names the candidates elsewhere
MOST_TERMS = 32  # of a query: a long message is looked for by its rarest
_LABELS = "DCBA"  # of 1, 2, 3, 4 and more
_LABEL_WEIGHTS = "{0.1,0.2,0.3,0.4}"  # D, C, B, A
REMAINS = (
    "The rows are deleted from the server of the index, and their space there is free again. Their"
    " bytes may stay in its free pages, write-ahead log and backups until these are used anew;"
    " whoever runs the server overwrites the pages with: vacuum full"
)
_UNSWEPT = (
    "The rows are deleted from the server of the index. Its vacuum, which frees their space, comes"
    " by itself; the owner of the tables may hurry it with: vacuum"
)
_SIGNS = patterns.compile(r"@own\b|@\w+|in \?\?|moment\((?:at|\?)\)|instr\(|\?")
_IN_POSTGRES = {
    "in ??": "= any(%s)",
    "moment(at)": "nullif(at, '')::timestamptz",
    "moment(?)": "%s::timestamptz",
    "instr(": "strpos(",
    "?": "%s",
}


class PostgresStore(Store):
    """An open index on a server."""

    FLOAT = "<f2"
    VECTORS = ("vectors",)
    WORDS, WORD = "@words", "id"
    COSINE = "round((1 - (vector <=> ?::halfvec))::numeric, 6)::float8"
    DISTRUSTED = "sha256 = ''"
    KEEPS_SEEN = False  # what other machines put has to be looked up

    def __init__(
        self,
        connection: Connection[Any],
        translated: Callable[[], AbstractContextManager[None]],
        number: int,
        place: str,
    ) -> None:
        """Set up without asking anything.

        Args:
            connection: To the server; it sees this entity's rows alone.
            translated: Makes errors that people can act on of those of the server.
            number: The entity's on this server.
            place: Names this folder on this machine: stamps of files hold there alone.
        """
        super().__init__()
        self._connection, self._translated = connection, translated
        self._me, self._place = int(number), place
        self._new = 0  # chunks put since it was opened
        self._known: dict[str, int] = {}  # in how many chunks terms stand that were asked for

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        with self._translated():
            bound = tuple(map(_storable, values))
            return self._connection.execute(self._sql(sql), bound, binary=True).fetchall()

    def run(self, sql: str, values: Sequence[Any] = ()) -> None:
        with self._translated():
            self._connection.execute(self._sql(sql), tuple(map(_storable, values)) or None)

    def _sql(self, text: str) -> LiteralString:
        def word(sign: re.Match[str]) -> str:
            if sign[0] == "@own":
                return f"entity = {self._me}"
            return self._table(sign[0][1:]) if sign[0][0] == "@" else _IN_POSTGRES[sign[0]]

        return _SIGNS.sub(word, text)

    def _table(self, name: str) -> str:
        """Return what the entity has in a table, under its name."""
        if name == "placed":
            return f"(select id from vectors where entity = {self._me}) as placed"
        if name != "files":
            return f"(select * from {name} where entity = {self._me}) as {name}"
        # What another machine has put since this one looked is to be looked at.
        return (
            "(select f.*, coalesce(s.mtime_ns, -1) as mtime_ns, coalesce(s.ctime_ns, -1) as"
            " ctime_ns, coalesce(s.size, -1) as size from files f left join stamps s"
            f" on s.entity = f.entity and s.path = f.path and s.place = '{self._place}'"
            f" and s.sha256 = f.sha256 where f.entity = {self._me}) as files"
        )

    def put(
        self, table: str, columns: Sequence[str], rows: Iterable[Row], *, adds: bool = False
    ) -> None:
        names, rest = ", ".join(columns), iter(rows)
        key = "place, path" if table == "stamps" else columns[0]
        meeting = on_meeting(table, columns, adds=adds)
        while some := list(islice(rest, ROWS_AT_ONCE)):
            # One statement for many rows: planned once, and crossing over once.
            listed = [dict(zip(columns, map(_in_json, row), strict=True)) for row in some]
            self.run(
                f"insert into {table} (entity, {names}) select {self._me}, {names}"
                f" from json_populate_recordset(null::bumble.{table}, ?::json)"
                f" on conflict (entity, {key}) do {meeting}",
                (json.dumps(listed),),
            )

    @contextmanager
    def atomic(self) -> Iterator[None]:
        with self._translated(), self._connection.transaction():
            yield

    def empty(self) -> None:
        """Throw away all there is of the entity."""
        with self.transaction():
            for table in TABLES:
                self.run(f"delete from {table} where @own")

    def _owns(self) -> bool:
        """Whether the role owns the tables."""
        return bool(
            self.rows(
                "select 1 from pg_class where oid = to_regclass('bumble.chunks')"
                " and pg_has_role(current_user, relowner, 'usage')"
            )
        )

    def shred(self) -> str:
        """Have the server free what was taken out. Returns what may be left of it."""
        if not self._owns():
            return _UNSWEPT
        for table in TABLES:
            self.run(f"vacuum bumble.{table}")
        return REMAINS

    def settle(self) -> None:
        """Have the server look at tables that grew."""
        if not self._owns():
            return
        ((rows,),) = self.rows(
            "select reltuples from pg_class where oid = 'bumble.chunks'::regclass"
        )
        if self._new >= max(ANALYZED_ROWS, ANALYZED_SHARE * rows):
            for table in ("chunks", "texts", "words", "vectors", "tokens", "files", "stamps"):
                self.run(f"analyze bumble.{table}")

    def put_file(self, path: str, row: FileRow) -> None:
        """Store what is known of a file, and how it was here."""
        stamp = (path, self._place, row.mtime_ns, row.ctime_ns, row.size, row.sha256)
        columns = ("path", "place", "mtime_ns", "ctime_ns", "size", "sha256")
        self.put("stamps", columns, [stamp])
        columns = ("path", "id", "kind", "sha256", "problem", "problem_line")
        values = (path, row.id, row.kind, row.sha256, row.problem, row.problem_line)
        self.put("files", columns, [values])

    def drop_file(self, path: str) -> None:
        """Forget a file, its chunks, and how it was anywhere."""
        super().drop_file(path)
        self.run("delete from stamps where @own and path = ?", (path,))

    def vector(self, vector: Floats) -> Any:
        """Write a vector as Postgres reads it, in half precision."""
        numbers = vector.astype(np.float16).tolist()
        return f"[{','.join(map('{:.5g}'.format, numbers))}]"  # five digits hold all of a half

    def put_words(self, rows: Sequence[tuple[int, Row]]) -> None:
        self._new += len(rows)
        self._known.clear()
        terms_of = ((key, f"{texts[2]} {texts[3]}".split()) for key, texts in rows)
        words = ((key, len(terms), lexemes(terms)) for key, terms in terms_of)
        self.put("words", ("id", "length", "lexemes"), words)

    def drop_words(self, ids: Sequence[int]) -> None:
        self._known.clear()
        super().drop_words(ids)

    def counts(self, terms: Iterable[str]) -> dict[str, int]:
        wanted = list(dict.fromkeys(terms))
        if new := [term for term in wanted if term not in self._known]:
            each = ", ".join(["count(*) filter (where lexemes @@ ?::tsquery)"] * len(new))
            ((*found,),) = self.rows(f"select {each} from @words", [*map(quoted, new)])
            self._known |= dict(zip(new, map(int, found), strict=True))
        return {term: self._known[term] for term in wanted}

    def best(
        self, terms: Iterable[str], depth: int, where: str = "", values: Sequence[Any] = ()
    ) -> list[int]:
        counts = {term: count for term, count in self.counts(terms).items() if count > 0}
        rarest = sorted(counts, key=lambda term: (counts[term], term))[:MOST_TERMS]
        if not rarest:
            return []
        ((total, length),) = self.rows("select count(*), sum(length) from @words")
        rank = f"ts_rank('{_LABEL_WEIGHTS}', lexemes, ?::tsquery)"
        score = " + ".join([f"?::float8 * bumble.saturated({rank}, norm)"] * len(rarest))
        inside = f" and id in (select id from @chunks where {where})" if where else ""
        weights = [
            (log(1 + (total - counts[term] + 0.5) / (counts[term] + 0.5)), quoted(term))
            for term in rarest
        ]
        return self.ids(
            f"select id from (select id, lexemes, {K1} * ({1 - B} + {B} * length / ?::float8)"
            f" as norm from @words where lexemes @@ ?::tsquery{inside}) as met"
            f" order by round(({score})::numeric, 6) desc, id limit {int(depth)}",
            (
                max(float(length or 0), 1.0) / max(total, 1),
                " | ".join(map(quoted, rarest)),
                *values,
                *(value for weight in weights for value in weight),
            ),
        )


def lexemes(terms: Sequence[str]) -> str:
    """Write the terms of a chunk, own ones and those around, as a `tsvector`."""
    return " ".join(
        f"{quoted(term)}:1{_LABELS[min(count, len(_LABELS)) - 1]}"
        for term, count in Counter(terms).items()
    )


def quoted(term: str) -> str:
    """Write a term so that text search takes it as it is."""
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"


def _in_json(value: Any) -> Any:
    """Return a value as JSON holds it for Postgres: bytes as it reads them."""
    return f"\\x{value.hex()}" if isinstance(value, bytes) else _storable(value)


def _storable(value: Any) -> Any:
    """Return a text without what Postgres can't hold: a NUL."""
    if isinstance(value, list):
        return [_storable(item) for item in value]
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value
