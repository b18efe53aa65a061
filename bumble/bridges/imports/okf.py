"""Bundles of the Open Knowledge Format: a folder of Markdown, each file with a `type`.

`parse` reads a file, `is_reserved` names those that are none; both serve an export too.

Source: Open Knowledge Format 0.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bumble.bridges.imports import chat_export, lenient, notes
from bumble.bridges.imports.ledger import OTHER, Fact, ImportContext, Item, LeftOut, Recipe
from bumble.bridges.imports.notes import NoteFile
from bumble.bridges.imports.source import ImportSource
from bumble.text.words import one_line

VERSION = "0.2"
RESERVED = ("index.md", "log.md")
FACTS = ("belief", "knowledge", "person")  # types that are held to be so
SKILL = "skill"
STATUSES = ("draft", "stable", "deprecated")
_LOOKED_AT = 20  # files, to see whether a folder is a bundle


class Concept(Struct, frozen=True):
    """A file of a bundle."""

    type: str
    title: str
    description: str
    body: str
    generated_by: str  # the actor; empty where nothing says so
    status: str  # one of STATUSES, or empty
    meta: Mapping[str, Any]  # all of the front matter


def is_reserved(name: str) -> bool:
    """Whether a file of that name is no concept."""
    return PurePosixPath(name).name in RESERVED


def parse(meta: Mapping[str, Any], body: str, stem: str) -> Concept:
    """Read a concept.

    Raises:
        ValueError: If it has no type.
    """
    kind = one_line(lenient.text(meta.get("type")))
    if not kind:
        raise ValueError("it has no `type`")
    status = lenient.text(meta.get("status"))
    return Concept(
        type=kind,
        title=one_line(lenient.text(meta.get("title"))) or stem,
        description=one_line(lenient.text(meta.get("description"))),
        body=body,
        generated_by=lenient.text(lenient.mapping(meta.get("generated")).get("by")),
        status=status if status in STATUSES else "",
        meta=meta,
    )


def fits(source: ImportSource) -> bool:
    """Whether the files are a bundle: its index says so, or its files have a type."""
    for name in source.matching("index.md"):
        if b"okf_version" in source.head(name, 2000):
            return True
    names = [name for name in source.matching("*.md") if not is_reserved(name)][:_LOOKED_AT]
    loaded = [notes.load(source, name) for name in names]
    return bool(loaded) and all(
        isinstance(note, NoteFile) and bool(lenient.text(note.meta.get("type"))) for note in loaded
    )


def read(source: ImportSource, context: ImportContext) -> Iterator[Item]:
    """Read the concepts."""
    names = source.matching("*.md")
    for name in names:
        if is_reserved(name):
            continue
        note = notes.load(source, name)
        if isinstance(note, LeftOut):
            yield note
            continue
        try:
            concept = parse(note.meta, note.body, PurePosixPath(name).stem)
        except ValueError as error:
            yield LeftOut(name, str(error), broken=True)
            continue
        yield from _items(note, concept)
    yield from chat_export.others(source, names)


def _items(note: NoteFile, concept: Concept) -> Iterator[Item]:
    text = "\n\n".join(part for part in (concept.description, concept.body.strip()) if part)
    if concept.status == "deprecated":
        yield LeftOut(note.name, "what its bundle calls deprecated")
    elif not text:
        yield LeftOut(note.name, "notes without a text")
    elif concept.type.casefold() == SKILL and concept.body.strip():
        yield Recipe(concept.title, concept.description, concept.body)
    elif concept.type.casefold() in FACTS and len(text) <= notes.MAX_FACT_CHARS:
        yield Fact(f"{concept.title} ({concept.type})", text)
    else:
        at = lenient.moment(lenient.mapping(concept.meta.get("generated")).get("at")) or note.at
        yield from notes.dated(replace(note, at=at), OTHER, concept.generated_by or concept.type)
