"""The tables of indexes in Postgres, by numbered migrations, and the walls between entities.

Every table is keyed by entity. Row level security lets a session see the rows of the one entity it
names, and of those only what was put there by a role it belongs to; it holds for the owner of the
tables as well. Knows nothing of connections.
"""
# ruff: noqa: S608  (statements are put together from constants)

from __future__ import annotations

SCHEMA = "bumble"
TABLES = (
    *("meta", "files", "stamps", "chunks", "texts", "words", "terms", "embeddings", "loose"),
    *("tokens", "pieces", "vectors", "links", "linked"),
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
  entity integer not null, id bigint generated always as identity, path text not null collate "C",
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
  timed smallint, hash text collate "C", recipe text, primary key (entity, id)
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
create table bumble.terms (
  entity integer not null, term text not null collate "C", chunks integer not null,
  primary key (entity, term)
) with (fillfactor = 80);
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
create table bumble.links (
  entity integer not null, catalyst bigint not null, chunk bigint not null,
  similarity double precision not null, primary key (entity, catalyst, chunk)
);
create table bumble.linked (
  entity integer not null, id bigint not null, primary key (entity, id)
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
# In order; the number of a migration is its place, counted from 1. Each is run once, in the
# transaction that counts it; what stands here is never changed, only added to.
MIGRATIONS = (_FIRST, _SECOND, _THIRD)
