"""Claude Code's memory: a folder a project, an index `MEMORY.md` and a note a memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from bumble.bridges.imports import lenient, notes
from bumble.bridges.imports.ledger import OTHER, Fact, ImportContext, Item, LeftOut
from bumble.bridges.imports.notes import NoteFile
from bumble.bridges.imports.source import ImportSource
from bumble.text.words import one_line

ORIGIN = "Claude Code"
INDEX = "MEMORY.md"
TYPES = ("user", "feedback", "project", "reference")


def fits(source: ImportSource) -> bool:
    """Whether the files are such a memory."""
    folders = {str(PurePosixPath(name).parent) for name in source.matching(INDEX)}
    if any(PurePosixPath(folder).name == "memory" for folder in folders):
        return not source.matching("SOUL.md")
    return bool(folders) and any(
        _type(note)
        for name in _notes(source)
        if isinstance(note := notes.load(source, name), NoteFile)
    )


def _notes(source: ImportSource) -> list[str]:
    folders = {str(PurePosixPath(name).parent) for name in source.matching(INDEX)}
    return [
        name
        for name in source.matching("*.md")
        if str(PurePosixPath(name).parent) in folders and PurePosixPath(name).name != INDEX
    ]


def _type(note: NoteFile) -> str:
    kind = lenient.mapping(note.meta.get("metadata")).get("type", note.meta.get("type"))
    return kind if kind in TYPES else ""


def read(source: ImportSource, context: ImportContext) -> Iterator[Item]:
    """Read the memories; an index that has notes beside it says nothing of its own."""
    names = _notes(source)
    folders = {str(PurePosixPath(name).parent) for name in names}
    for name in source.matching(INDEX):
        if str(PurePosixPath(name).parent) in folders:
            yield LeftOut(name, "an index of the notes beside it")
        else:
            note = notes.load(source, name)
            yield from [note] if isinstance(note, LeftOut) else notes.facts(note, ORIGIN, OTHER)
    for name in names:
        note = notes.load(source, name)
        yield from [note] if isinstance(note, LeftOut) else _memory(note)
    known = {*names, *source.matching(INDEX)}
    rest = [name for name in source.names if name not in known]
    if rest:
        yield LeftOut(rest[0], "files that are no memory", count=len(rest))


def _memory(note: NoteFile) -> Iterator[Item]:
    if not note.body.strip():
        return
    if len(note.body) > notes.MAX_FACT_CHARS:
        yield from notes.dated(note, OTHER, ORIGIN)
        return
    description = one_line(lenient.text(note.meta.get("description")))
    text = f"{description}\n\n{note.body.strip()}" if description else note.body.strip()
    yield Fact(f"{note.title} ({ORIGIN})", text)
