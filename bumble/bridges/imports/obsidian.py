"""An Obsidian vault, or any folder of Markdown: the person's own notes, each a dated text."""

from __future__ import annotations

from collections.abc import Iterator

from bumble.bridges.imports import lenient, notes
from bumble.bridges.imports.ledger import OTHER, PERSON, ImportContext, Item, LeftOut
from bumble.bridges.imports.notes import NoteFile
from bumble.bridges.imports.source import ImportSource

CLIPPED = ("source", "url", "link")  # keys of notes that were clipped from the web


def fits(source: ImportSource) -> bool:
    """Whether the files are a vault."""
    return bool(source.below(".obsidian/*", "*/.obsidian/*"))


def read(source: ImportSource, context: ImportContext) -> Iterator[Item]:
    """Read the notes."""
    own = [name for name in source.names if ".obsidian" not in name.split("/")]
    texts = [name for name in own if name.casefold().endswith((".md", ".markdown"))]
    source.wanted = sum(source.members[name].size for name in texts)
    for name in texts:
        note = notes.load(source, name)
        if isinstance(note, LeftOut):
            yield note
        elif not note.body.strip():
            yield LeftOut(name, "notes without a text")
        elif clipped := _clipped(note):
            yield from notes.dated(note, OTHER, clipped)
        else:
            yield from notes.dated(note, PERSON)
    known = set(texts)
    rest = [name for name in own if name not in known]
    if rest:
        yield LeftOut(rest[0], "files that are no Markdown", count=len(rest))


def _clipped(note: NoteFile) -> str:
    """Return where a note was clipped from; empty for the person's own words."""
    for key in CLIPPED:
        for address in lenient.texts(note.meta.get(key)):
            if address.startswith(("http://", "https://")):
                return address.split("/")[2][:80] or "the web"
    return ""
