"""The full-text index in tantivy: which chunks hold which terms.

It is handed terms, not texts. One process writes at a time; readers see the last commit. A stamp
beside it names the database it follows and how far, so that neither is used with a stranger.
Knows nothing of files or of SQL.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict
from tantivy import (
    Document,
    Filter,
    Index,
    Occur,
    Query,
    Schema,
    SchemaBuilder,
    Searcher,
    TextAnalyzerBuilder,
    Tokenizer,
)

from bumble.errors import FolderUnwritableError, IndexDamagedError, IndexUnusableError, is_full
from bumble.files import disk, unfinished
from bumble.index.filters import Allowed
from bumble.index.terms import MAX_TERM_BYTES

STAMP = "stamp.json"
HEAP_BYTES = 30_000_000
_TERMS = "terms"


class IndexedTerms(Struct, frozen=True):
    """A chunk as the full-text index holds it."""

    id: int
    terms: str  # separated by spaces, those of the turns around it included


class Stamp(Struct, frozen=True):
    """Which database a full-text index follows, and how far it has come."""

    token: str
    generation: int


def read_stamp(folder: Path) -> Stamp | None:
    """Return the stamp; None if there is none that can be read."""
    try:
        data = json.loads(disk.read(folder / STAMP))
        return Stamp(str(data["token"]), int(data["generation"]))
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def distrust(folder: Path) -> None:
    """Take the stamp away: the next sync makes the index anew, and nothing else."""
    with suppress(OSError):
        (folder / STAMP).unlink(missing_ok=True)


def write_stamp(folder: Path, stamp: Stamp) -> None:
    """Say which database the full-text index follows, and how far it has come.

    Its caller holds the lock of the index, so a temporary file beside it is a killed writer's.
    """
    for stray in folder.glob(f".{STAMP}.*{disk.TEMPORARY_SUFFIX}"):
        disk.remove(stray)
    disk.write_atomic(folder / STAMP, (json.dumps(asdict(stamp)) + "\n").encode())


def create(folder: Path) -> None:
    """Make an empty index; what is there is thrown away."""
    disk.clear(folder)
    try:
        disk.make_folder(folder)
        with disk.private(folder):
            Index(_schema(), path=str(folder))
    except (OSError, ValueError) as error:
        raise FolderUnwritableError(folder, str(error)) from error


def write(folder: Path, changed: Sequence[int], entries: Iterable[IndexedTerms]) -> None:
    """Take the changed chunks out and put the entries in, in one commit.

    Raises:
        IndexUnusableError: If the index is damaged, or another process writes to it.
    """
    with _sound(folder, "written"), disk.private(folder):
        writer = _open(folder).writer(HEAP_BYTES, 1)
        for number in changed:
            writer.delete_documents_by_term("id", number)
        for entry in entries:
            document = Document()
            document.add_integer("id", entry.id)
            document.add_text(_TERMS, entry.terms)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()


@contextmanager
def _sound(folder: Path, verb: str) -> Iterator[None]:
    """Make an error of what tantivy says of a damaged index; at times it panics."""
    try:
        yield
    except (OSError, ValueError) as error:
        if is_full(str(error)):
            raise FolderUnwritableError(folder, str(error)) from error
        damaged = IndexDamagedError if folder.is_dir() else IndexUnusableError
        raise damaged(folder, f"can't be {verb}: {error}") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # Rust's; its class can't be imported
            raise
        raise IndexDamagedError(folder, f"can't be {verb}: {error}") from error


class Fulltext:
    """The index as of its last commit, to read."""

    def __init__(self, searcher: Searcher, folder: Path) -> None:
        self._searcher, self._schema, self._folder = searcher, _schema(), folder

    @property
    def size(self) -> int:
        """How many chunks it holds."""
        return int(self._searcher.num_docs)

    def counts(self, terms: Iterable[str]) -> dict[str, int]:
        """Return in how many chunks each term stands; removed chunks do not count."""
        with _sound(self._folder, "searched"):
            return {
                term: int(self._searcher.search(self._term(term), 1).count)  # type: ignore[attr-defined]
                for term in dict.fromkeys(terms)
            }

    def best(
        self,
        terms: Sequence[str],
        depth: int,
        allowed: Allowed | None = None,
    ) -> list[int]:
        """Return the chunks that BM25 puts first, of those allowed; ties by id.

        Args:
            terms: What is looked for.
            depth: At most so many.
            allowed: Says which of some chunks count; None: all.

        Raises:
            IndexUnusableError: If the index is damaged.
        """
        if not terms or not self.size:
            return []
        with _sound(self._folder, "searched"):
            return self._best(terms, depth, allowed)

    def _best(
        self,
        terms: Sequence[str],
        depth: int,
        allowed: Allowed | None,
    ) -> list[int]:
        query = Query.boolean_query(
            [(Occur.Should, self._term(term)) for term in dict.fromkeys(terms)]
        )
        limit = min(depth + 1, self.size)
        while True:
            hits = self._searcher.search(query, limit).hits
            ids = self._searcher.fast_field_values("id", [address for _, address in hits])
            best = [
                (float(score), int(chunk_key))
                for (score, _), chunk_key in zip(hits, ids, strict=True)
                if chunk_key is not None
            ]
            passing = allowed([chunk_key for _, chunk_key in best]) if allowed else ()
            scored = [hit for hit in best if hit[1] in passing] if allowed else best
            complete = len(hits) < limit or limit >= self.size
            # Equal scores come in the order of insertion: a tie may not be cut in two.
            if complete or (len(scored) > depth and scored[-1][0] < scored[depth - 1][0]):
                return [
                    chunk_key for _, chunk_key in sorted(scored, key=lambda hit: (-hit[0], hit[1]))
                ][:depth]
            limit = min(limit * 4, self.size)

    def _term(self, term: str) -> Query:
        return Query.term_query(self._schema, _TERMS, term, "freq")


def open_to_read(folder: Path) -> Fulltext:
    """Open the index; where nothing may be written, a copy of it.

    Raises:
        IndexUnusableError: If there is none, or it is damaged.
    """
    try:
        with _sound(folder, "read"):
            return Fulltext(_open(folder).searcher(), folder)
    except IndexUnusableError:
        if not folder.is_dir():
            raise
    # tantivy takes a lock file even to read: on a read-only disk that fails, a copy does not.
    with unfinished.temporary_folder() as place:
        copy = place / "fulltext"
        with _sound(folder, "read"):
            locks = shutil.ignore_patterns("*.lock")
            shutil.copytree(folder, copy, copy_function=shutil.copyfile, ignore=locks)
            return Fulltext(_open(copy).searcher(), folder)


def _open(folder: Path) -> Index:
    """Open the index; tantivy follows links and waits at pipes: in its folder there may be none."""
    if folder.is_symlink() or (folder.is_dir() and not all(map(_is_plain, folder.iterdir()))):
        raise IndexUnusableError(folder, "there are links in it, or what is no plain file")
    with _sound(folder, "read"):
        index = Index.open(str(folder))
    index.register_tokenizer(
        "spaces",
        TextAnalyzerBuilder(Tokenizer.whitespace())
        .filter(Filter.remove_long(MAX_TERM_BYTES * 2))
        .build(),
    )
    return index


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _schema() -> Schema:
    builder = SchemaBuilder()
    builder.add_integer_field("id", indexed=True, fast=True)
    builder.add_text_field(_TERMS, tokenizer_name="spaces", index_option="freq")
    return builder.build()
