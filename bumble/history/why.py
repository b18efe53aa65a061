"""Where something the entity holds comes from, walked back to messages and commits.

A claim names the cycle that wrote it and what that was given; those name theirs; at a message the
walk ends. A line of a portrait has a mark of its own, and so has a sentence of knowledge; for one
of any other record, all that it rests on is searched for its words. Reads the files alone, without
the index, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity import companions
from bumble.errors import HistoryUnreadableError
from bumble.files import disk
from bumble.guard import origins
from bumble.history import log
from bumble.history.lookup import MESSAGE, Library, LibraryRecord
from bumble.records import base, journal, kinds, relationships, session_files
from bumble.records.kind import Kind
from bumble.text import markdown, stop_words, words


def find(
    library: Library, query: str, kind: str | None, may_see: Callable[[base.Provenance], bool]
) -> list[LibraryRecord]:
    """Return the records that hold a sentence.

    Args:
        library: Where to look.
        query: Words of it.
        kind: Of the record; None for any.
        may_see: Whether whoever asks may see what has such an origin.
    """
    if kinds.of_id(query) or not stop_words.telling_words(query):
        return []
    searched = [
        each
        for each in kinds.KINDS  # a talk's messages are looked through, last
        if each.explained and each is not session_files.SESSION and kind in (None, each.name)
    ]
    # what tells of somebody first, then what else is told as true
    searched.sort(key=lambda each: (each is not relationships.PERSON, not each.claims))
    held = (item for each in searched for item in _holding(library, each, query))
    items = [item for item in held if may_see(item.origin)]
    if items or kind not in (None, MESSAGE):
        return items
    return [item for item in _messages(library, query) if may_see(item.origin)]


def _holding(library: Library, kind: Kind, query: str) -> Iterator[LibraryRecord]:
    """Yield the records of a kind whose text holds some words, each with its line of them."""
    for item in library.items(kind):
        if _holds(item.text, query):
            line = next((row for row in item.text.splitlines() if _holds(row, query)), query)
            parts = [part for part in words.sentences(line) if _holds(part, query)]
            yield _sentence(library, item, parts[0] if parts else line, line)
            continue
        for note in item.notes:
            if _holds(note.text, query):
                yield replace(note, sentence=note.text)


def _messages(library: Library, query: str) -> Iterator[LibraryRecord]:
    for path in library.messages.paths.values():
        # whether a transcript is worth reading for some words
        text = (disk.read_if_there(path) or b"").decode(errors="replace").casefold()
        if not all(word in text for word in stop_words.words(query) if word.isascii()):
            continue
        session = library.messages.session(path.parent.name)
        said = (one.id for one in (session.messages if session else ()) if _holds(one.text, query))
        yield from filter(None, (library.item(MESSAGE, message_id) for message_id in said))


def _holds(text: str, query: str) -> bool:
    """Whether a text holds words in their order, however they are spaced and pointed."""
    wanted, own = (f" {' '.join(stop_words.words(one))} " for one in (query, text))
    return wanted in own


def _sentence(
    library: Library, item: LibraryRecord, sentence: str, line: str = ""
) -> LibraryRecord:
    """Return a record as one sentence of it is meant: where that stands, and what it rests on."""
    whole = line or sentence
    # where a line of a record stands in its file
    rows = markdown.lines(base.read_shown(library.entity.root / item.path))
    wanted, start = whole.strip(), (item.line or 1) - 1
    number = next((n for n, row in enumerate(rows, 1) if n > start and wanted in row), None)
    item = replace(item, sentence=sentence.strip(), line=number or item.line)
    origin = item.origin.of_sentence(item.sentence)
    if item.kind == relationships.PERSON.name:
        page = relationships.find(library.entity.relationships, item.id)
        origin = replace(page.origin_of(whole), audience=page.audience)
    elif origin == item.origin:
        return item
    return replace(item, origin=origin, sources=origin.sources, notes=())


def sayers(library: Library, sentence: str, messages: list[LibraryRecord]) -> list[str]:
    """Return the ids of the messages that say a sentence, the nearest first.

    What people said goes before what the entity answered: it may have been wrong.
    """
    names = (library.name, *library.people_names)
    by_others = [item for item in messages if not _is_own(library, item)]
    for some in (by_others, [item for item in messages if item not in by_others]):
        if places := origins.nearest(sentence, [item.text for item in some], names):
            return [some[place].id for place in places]
    return []


def _is_own(library: Library, item: LibraryRecord) -> bool:
    message = library.messages.find(item.id)
    return message is not None and getattr(message.record, "role", "") == "assistant"


# their file holds others too
SHARED = [*(kind.name for kind in kinds.KINDS if kind.forgetting == "parts"), "note", MESSAGE]


class SourceNode(Struct, frozen=True):
    """A record, and the records that it rests on."""

    item: LibraryRecord
    resolved: bool = True  # False: nothing of that id is here
    again: bool = False  # it is told above already, and what it rests on
    rests_on: tuple[SourceNode, ...] = ()
    written: log.Commit | None = None  # the commit it came with, as it stands
    changed: log.Commit | None = None  # the last commit to its file, where that is another

    def walk(self) -> Iterator[SourceNode]:
        """Yield this and everything below it."""
        yield self
        for below in self.rests_on:
            yield from below.walk()

    @property
    def missing(self) -> tuple[str, ...]:
        """Ids that lead nowhere, each once."""
        return tuple(dict.fromkeys(node.item.id for node in self.walk() if not node.resolved))


def _written(library: Library, item: LibraryRecord) -> log.Commit | None:
    """Return the commit that what is meant came with, as it stands; None where git can't tell."""
    root = library.entity.root
    if not item.sentence and item.kind not in SHARED:
        return _commit(root, (item.path,), "--diff-filter=A")
    text = f'"id":"{item.id}"' if item.kind == MESSAGE else item.sentence or item.text
    rows, joint = text.splitlines(), "|"
    if item.kind == journal.JOURNAL.name:  # it says the same on many days: sought with its heading
        entry = library.item(item.kind, item.id) or item
        end = _sentence(library, entry, rows[-1] if rows else "").line
        shown = markdown.lines(base.read_shown(root / item.path))[(entry.line or 1) - 1 : end]
        rows, joint = [row.strip() for row in shown], "[[:space:]]+"
    sought = joint.join(log.escaped(row) for row in rows if row.strip())
    return _commit(root, _files(item), "--pickaxe-regex", f"-S{sought}") if sought else None


def _files(item: LibraryRecord) -> tuple[str | None, ...]:
    return item.path, companions.place(item.path)


def _commit(root: Path, paths: Iterable[str | None], *options: str) -> log.Commit | None:
    """Return the last commit that changed some files."""
    wanted = [f":(literal){path}" for path in paths if path]
    with suppress(HistoryUnreadableError):
        return next(iter(log.read(root, limit=1, wanted=wanted, options=options)), None)
    return None


def explain(library: Library, item: LibraryRecord) -> SourceNode:
    """Walk from a record to everything it rests on.

    Args:
        library: Where its sources are looked up.
        item: The record.
    """
    root, node = library.entity.root, _build_node(library, item, set())
    if item.sentence and not item.origin.said:  # else it rests on nothing but what it names
        # leave of what a sentence rests on what leads to the messages that say it
        whole = _with_messages(library, node)
        inside = [below for below in whole.walk() if below.resolved and not below.again]
        messages = [below.item for below in inside if below.item.kind == "message"]
        node = _leading_to(whole, sayers(library, node.item.sentence, messages)) or node
    in_transcripts = (
        session_files.SESSION.name,
        *session_files.SESSION.inner_prefixes,
    )  # which only grow
    if item.kind in in_transcripts and not item.imported:
        return node
    written = _written(library, item)
    changed = None if item.kind in SHARED else _commit(root, _files(item))
    same = written and changed and written.id == changed.id
    return replace(node, written=written, changed=None if same else changed)


def _build_node(library: Library, item: LibraryRecord, visited: set[tuple[str, str]]) -> SourceNode:
    key = (item.kind, item.id)
    if key in visited:  # ids may lead in a circle, and two claims to one episode
        return SourceNode(item, again=True)
    visited.add(key)
    below = [_build_node(library, note, visited) for note in item.notes]
    below += _build_sources(library, item.sources, visited)
    hand = _written(library, item) if item.by_hand else None
    return SourceNode(item, rests_on=tuple(below), written=hand)


def _with_messages(library: Library, node: SourceNode) -> SourceNode:
    """Show the messages of conversations of which none is named."""
    below = tuple(_with_messages(library, inner) for inner in node.rests_on)
    if node.item.kind == "session" and not (below or node.again):
        session = library.messages.session(node.item.id)
        items = (library.item("message", one.id) for one in (session.messages if session else ()))
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
    library: Library, ids: Sequence[str], visited: set[tuple[str, str]]
) -> list[SourceNode]:
    """Look up what something rests on; messages stand under their conversation if it is named."""
    sources = [(source_id, library.source(source_id)) for source_id in ids]
    talks = {item.id for _, item in sources if item and item.kind == "session"}
    nodes = []
    for record_id, item in sources:
        if item is None:
            nodes.append(SourceNode(LibraryRecord(record_id, "", kind=""), resolved=False))
        elif item.session not in talks:
            inside = [message for _, message in sources if message and message.session == item.id]
            message_nodes = tuple(_build_node(library, message, visited) for message in inside)
            node = _build_node(library, item, visited)
            nodes.append(replace(node, rests_on=(*node.rests_on, *message_nodes)))
    return nodes
