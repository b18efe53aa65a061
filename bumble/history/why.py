"""Where something the entity holds comes from, walked back to messages and commits.

A claim names the cycle that wrote it and what that was given; those name theirs; at a message the
walk ends. Reads the files alone, without the index, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity import companions
from bumble.files import git, gitdir
from bumble.history import log, sentences
from bumble.history.lookup import Library, LibraryRecord
from bumble.records import kinds

# their file came with them
BORN_WHOLE = [kind.name for kind in kinds.KINDS if kind.prefix and kind.forgetting == "file"]
# their file holds others too
SHARED = [*(kind.name for kind in kinds.KINDS if kind.forgetting == "parts"), "note"]
IN_TRANSCRIPTS = (kinds.SESSION.name, *kinds.SESSION.inner_prefixes)  # transcripts only grow
_FORMAT = "%x00".join(("%H", "%ad", "%an", "%s", "%(trailers:only,unfold,separator=%x00)"))


class RecordCommit(Struct, frozen=True):
    """A commit that wrote a record."""

    commit: str  # its hash
    at: datetime
    author: str
    subject: str
    trailers: tuple[tuple[str, str], ...]  # ("Model", "qwen3-4b")


class SourceNode(Struct, frozen=True):
    """A record, and the records that it rests on."""

    item: LibraryRecord
    resolved: bool = True  # False: nothing of that id is here
    again: bool = False  # it is told above already, and what it rests on
    rests_on: tuple[SourceNode, ...] = ()
    written: RecordCommit | None = None  # the commit it came with
    changed: RecordCommit | None = None  # the last commit to its file, where that is another

    def walk(self) -> Iterator[SourceNode]:
        """Yield this and everything below it."""
        yield self
        for below in self.rests_on:
            yield from below.walk()

    @property
    def missing(self) -> tuple[str, ...]:
        """Ids that lead nowhere, each once."""
        return tuple(dict.fromkeys(node.item.id for node in self.walk() if not node.resolved))


class GitHistory:
    """Looks up which commits wrote a file; finds none where there is no repository."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.is_there = gitdir.find(root) is not None

    def last(self, path: str) -> RecordCommit | None:
        """Return the last commit that changed a file."""
        return self._log((path, companions.place(path)))

    def written(self, item: LibraryRecord) -> RecordCommit | None:
        """Return the commit that a record came with."""
        if item.kind in BORN_WHOLE:
            return self._log((item.path,), "--diff-filter=A")
        sought = item.sources[0] if item.sources else item.text.split("\n")[0]
        paths = (item.path, companions.place(item.path))
        return self._log(paths, f"-S{sought}") if sought else None

    def _log(self, paths: Iterable[str | None], *options: str) -> RecordCommit | None:
        if not self.is_there:
            return None
        out = git.run(
            self.root,
            "log",
            "-1",
            "--date=raw",
            f"--format={_FORMAT}",
            *options,
            "--",
            *(f":(literal){path}" for path in paths if path),
        )
        parts = (out or "").rstrip("\n").split("\0")
        if len(parts) < 5:
            return None
        pairs = (line.partition(":") for line in parts[4:] if ":" in line)
        trailers = tuple((key.strip(), value.strip()) for key, _, value in pairs)
        return RecordCommit(parts[0], log.moment(parts[1]), parts[2], parts[3], trailers)


def explain(library: Library, item: LibraryRecord, history: GitHistory) -> SourceNode:
    """Walk from a record to everything it rests on.

    Args:
        library: Where its sources are looked up.
        item: The record.
        history: Tells which commits wrote it.
    """
    node = _build_node(library, item, history, set())
    if item.sentence:
        node = _narrowed(library, node)
    if item.kind in IN_TRANSCRIPTS:
        return node
    written = history.written(item)
    changed = None if item.kind in SHARED else history.last(item.path)
    same = written and changed and written.commit == changed.commit
    return replace(node, written=written, changed=None if same else changed)


def _build_node(
    library: Library, item: LibraryRecord, history: GitHistory, visited: set[tuple[str, str]]
) -> SourceNode:
    key = (item.kind, item.id)
    if key in visited:  # ids may lead in a circle, and two claims to one episode
        return SourceNode(item, again=True)
    visited.add(key)
    below = [_build_node(library, note, history, visited) for note in item.notes]
    below += _build_sources(library, item.sources, history, visited)
    hand = history.written(item) if item.by_hand else None
    return SourceNode(item, rests_on=tuple(below), written=hand)


def _narrowed(library: Library, node: SourceNode) -> SourceNode:
    """Leave of what a sentence rests on what leads to the messages that say it.

    Where no message has any of its words, all of it stays.
    """
    whole = _with_messages(library, node)
    inside = [below for below in whole.walk() if below.resolved and not below.again]
    messages = [below.item for below in inside if below.item.kind == "message"]
    return _leading_to(whole, sentences.sayers(library, node.item.sentence, messages)) or node


def _with_messages(library: Library, node: SourceNode) -> SourceNode:
    """Show the messages of conversations of which none is named."""
    below = tuple(_with_messages(library, inner) for inner in node.rests_on)
    if node.item.kind == "session" and not (below or node.again):
        session = library.messages.session(node.item.id)
        messages = session.messages if session else ()
        items = [library.item("message", message.id) for message in messages]
        below = tuple(SourceNode(item) for item in items if item)
    return replace(node, rests_on=below)


def _leading_to(node: SourceNode, wanted: Sequence[str]) -> SourceNode | None:
    """Return what is left of a tree that leads to some messages; None if nothing does."""
    below = [inner for branch in node.rests_on if (inner := _leading_to(branch, wanted))]
    below.sort(key=lambda branch: min(_ranks(branch, wanted), default=len(wanted)))
    if node.item.id in wanted and not node.again:
        return node
    return replace(node, rests_on=tuple(below)) if below else None


def _ranks(node: SourceNode, wanted: Sequence[str]) -> Iterator[int]:
    yield from (wanted.index(inner.item.id) for inner in node.walk() if inner.item.id in wanted)


def _build_sources(
    library: Library, ids: Sequence[str], history: GitHistory, visited: set[tuple[str, str]]
) -> list[SourceNode]:
    """Look up what something rests on; messages stand under their conversation if it is named."""
    sources = [(source_id, library.source(source_id)) for source_id in ids]
    talks = {item.id for _, item in sources if item and item.kind == "session"}
    nodes = []
    for record_id, item in sources:
        if item is None:
            nodes.append(SourceNode(LibraryRecord("", record_id), resolved=False))
        elif item.session not in talks:
            inside = [message for _, message in sources if message and message.session == item.id]
            message_nodes = tuple(
                _build_node(library, message, history, visited) for message in inside
            )
            node = _build_node(library, item, history, visited)
            nodes.append(replace(node, rests_on=(*node.rests_on, *message_nodes)))
    return nodes
