"""A sentence that stands in a record, and the messages that say it: what `why` asks of a line.

A line of a portrait has a mark of its own; in every other record all that it rests on is looked
through for the words of the sentence. Reads the files alone, and writes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from bumble.errors import RecordMissingError, UserError
from bumble.files import disk
from bumble.guard import origins
from bumble.history.lookup import MESSAGE, Library, LibraryRecord
from bumble.records import base, kinds, relationships
from bumble.records.kind import Kind
from bumble.text import markdown, stop_words, words

LEAST_WORDS = 2  # fewer are a name or a title
_PLACE = re.compile(r"(?P<what>.+):(?P<line>[1-9]\d{0,5})", re.DOTALL)


def find(library: Library, query: str, kind: str | None) -> list[LibraryRecord]:
    """Return the records that hold a sentence, or have a line of that number.

    Args:
        library: Where to look.
        query: Words of a sentence, `PERSON:LINE`, or `PATH:LINE` as errors and `why` print it.
        kind: Of the record; None for any.

    Raises:
        UserError: If there is no such line, or several records are meant.
    """
    place = _PLACE.fullmatch(query)
    if place is not None:
        item = _at_line(library, place["what"], int(place["line"]), kind)
        if item is not None:
            return [item]
    if len(stop_words.words(query)) < LEAST_WORDS:
        return []
    searched = [each for each in kinds.KINDS if _is_searched(each) and kind in (None, each.name)]
    # what tells of somebody first, then what else is told as true
    holders = sorted(searched, key=lambda each: (each is not kinds.PERSON, not each.claims))
    items = [item for each in holders for item in _holding(library, each, query)]
    return items or (list(_messages(library, query)) if kind in (None, MESSAGE) else [])


def _is_searched(kind: Kind) -> bool:
    return kind.explained and kind is not kinds.SESSION  # its messages are looked through, last


def _at_line(library: Library, what: str, number: int, kind: str | None) -> LibraryRecord | None:
    """Return a line of a file, by its number there, or of a record, by that among its lines."""
    for each in kinds.KINDS:
        for path in each.paths(library.entity) if "/" in what or what.endswith(".md") else ():
            if each.explained and library.entity.relative(path) == what:
                return _in_file(library, each, what, number)
    try:
        item = library.look_up(what, kind)
    except RecordMissingError:
        return None
    lines = relationships.text_lines(item.text)
    if number > len(lines):
        name = f"{item.kind} {item.id}"
        raise UserError(f"{name} has no line {number}: it has {len(lines)}, blank ones left out.")
    return _sentence(library, item, lines[number - 1])


def _in_file(library: Library, kind: Kind, path: str, number: int) -> LibraryRecord | None:
    """Return the record of a file that has a line, with that line."""
    text = base.read_shown(library.entity.root / path)
    lines = markdown.lines(text)
    line = lines[number - 1].strip() if number <= len(lines) else ""
    items = [item for item in library.items(kind) if item.path == path and item.line]
    above = [item for item in items if (item.line or 0) <= number]
    if not line or not above:
        raise UserError(f"{path} has no line {number} that tells anything.")
    return _sentence(library, above[-1], line)


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
        if not _may_hold(disk.read_if_there(path) or b"", query):
            continue
        session = library.messages.session(path.parent.name)
        for message in session.messages if session else ():
            if _holds(message.text, query):
                item = library.item(MESSAGE, message.id)
                if item is not None:
                    yield item


def _may_hold(data: bytes, query: str) -> bool:
    """Whether a transcript is worth reading for some words."""
    text = data.decode(errors="replace").casefold()
    return all(word in text for word in stop_words.words(query) if word.isascii())


def _holds(text: str, query: str) -> bool:
    """Whether a text holds words in their order, however they are spaced and pointed."""
    wanted, own = (f" {' '.join(stop_words.words(one))} " for one in (query, text))
    return wanted in own


def _sentence(
    library: Library, item: LibraryRecord, sentence: str, line: str = ""
) -> LibraryRecord:
    """Return a record as one sentence of it is meant: where that stands, and what it rests on."""
    whole = line or sentence
    number = _line_number(library, item, whole)
    item = replace(item, sentence=sentence.strip(), line=number or item.line)
    if item.kind != kinds.PERSON.name:
        return item
    person = relationships.find(library.entity.relationships, item.id)
    origin = person.origin_of(whole)
    return replace(item, origin=origin, sources=origin.sources, notes=())


def _line_number(library: Library, item: LibraryRecord, line: str) -> int | None:
    """Return where a line of a record stands in its file."""
    rows = markdown.lines(base.read_shown(library.entity.root / item.path))
    wanted, start = line.strip(), (item.line or 1) - 1
    places = (n for n, row in enumerate(rows, 1) if n > start and wanted in row)
    return next(places, None)


def sayers(library: Library, sentence: str, messages: list[LibraryRecord]) -> list[str]:
    """Return the ids of the messages that say a sentence, the nearest first.

    What people said goes before what the entity answered: it may have been wrong.
    """
    names = (library.name, *library.people_names)
    by_others = [item for item in messages if not _is_own(library, item)]
    for some in (by_others, [item for item in messages if item not in by_others]):
        places = origins.nearest(sentence, [item.text for item in some], names)
        if places:
            return [some[place].id for place in places]
    return []


def _is_own(library: Library, item: LibraryRecord) -> bool:
    message = library.messages.find(item.id)
    return message is not None and getattr(message.record, "role", "") == "assistant"
