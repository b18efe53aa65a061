"""Markdown of other programs: front matter read leniently, dates found, sections as facts."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

import frontmatter
from frontmatter.default_handlers import BaseHandler, JSONHandler, YAMLHandler
from msgspec import Struct
from msgspec.structs import replace

from bumble.bridges.imports import chat_export, lenient
from bumble.bridges.imports.ledger import (
    OTHER,
    PERSON,
    Fact,
    ImportContext,
    ImportedTalk,
    ImportedTurn,
    Item,
    LeftOut,
    Recipe,
)
from bumble.bridges.imports.source import ImportSource
from bumble.text import markdown, yaml_read
from bumble.text.words import one_line

DATES = ("created", "date", "created_at", "at", "day", "timestamp")  # keys of front matter
MAX_FACT_CHARS = 12_000  # longer ones are dated texts, so that knowledge stays short
UNDATED = datetime(2000, 1, 1, tzinfo=UTC)  # of what nothing dates, so that it is the same again
_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)-?([01]\d)-?([0-3]\d)(?!\d)")


class NoteFile(Struct, frozen=True):
    """A Markdown file."""

    name: str  # of the file, from the top of the import
    key: str  # the same with the name of the top, which tells two folders apart
    title: str  # the file's, or that of its front matter
    meta: Mapping[str, Any]  # front matter; empty where there is none, or none that can be read
    body: str
    at: datetime  # by its front matter, its name, or when the file was changed


def load(source: ImportSource, name: str) -> NoteFile | LeftOut:
    """Read a Markdown file."""
    try:
        text = lenient.cleaned(source.text(name))
    except ValueError as error:
        return LeftOut(name, str(error), broken=True)
    meta, body = split(text)
    title = one_line(lenient.text(meta.get("title")) or lenient.text(meta.get("name")))
    at = _at(meta, name) or source.members[name].modified
    key = f"{source.path.resolve().stem}/{name}"
    return NoteFile(name, key, title or PurePosixPath(name).stem, meta, body, at)


class _Yaml(YAMLHandler):
    """YAML between `---`, read as in every file of bumble's: `no` is no boolean."""

    def load(self, fm: str, **kwargs: object) -> Any:
        return yaml_read.parse(fm)


class _Toml(BaseHandler):
    """TOML between `+++`, as Hugo and Zola write it."""

    FM_BOUNDARY = re.compile(r"^\+{3,}\s*$", re.MULTILINE)
    START_DELIMITER = END_DELIMITER = "+++"

    def load(self, fm: str, **kwargs: object) -> Any:
        return tomllib.loads(fm)


HANDLERS = (_Yaml(), _Toml(), JSONHandler())


def split(text: str) -> tuple[Mapping[str, Any], str]:
    """Return front matter, of YAML, TOML or JSON, and body; what is none, or broken, is text."""
    handler = frontmatter.detect_format(text, HANDLERS)
    try:
        meta, body = frontmatter.parse(text, handler=handler) if handler else ({}, text)
    except (ValueError, RecursionError):
        return {}, text
    return (meta, body) if meta else ({}, text)  # a text between two rules is no front matter


def described(text: str) -> tuple[str, str]:
    """Return the description that a skill's text brings in front matter, and the rest."""
    meta, body = split(text)
    return one_line(lenient.text(meta.get("description"))), body


def recipe(note: NoteFile) -> Recipe:
    """Read a skill, in the form that agents share."""
    place = PurePosixPath(note.name)
    name = lenient.text(note.meta.get("name")) or (
        place.parent.name if place.name.casefold() == "skill.md" else place.stem
    )
    return Recipe(one_line(name), one_line(lenient.text(note.meta.get("description"))), note.body)


def _at(meta: Mapping[str, Any], name: str) -> datetime | None:
    for key in DATES:
        at = lenient.moment(meta.get(key))
        if at is not None:
            return at
    match = _DAY.search(PurePosixPath(name).stem)
    if match is None:
        return None
    try:
        return datetime(int(match[1]), int(match[2]), int(match[3]), 12, tzinfo=UTC)
    except ValueError:
        return None


def dated(note: NoteFile, by: str, author: str = "") -> Iterator[Item]:
    """Make a talk of one turn of a note: found by search, learnt from only when asked to.

    Args:
        note: The note; an empty one gives nothing.
        by: Whose words it is.
        author: Their name, if they are not the person's.
    """
    if note.body.strip():
        text = (
            note.body if note.body.lstrip().startswith("# ") else f"# {note.title}\n\n{note.body}"
        )
        turn = ImportedTurn(f"text {hash_of(text)}", note.at, by, text, author)
        yield ImportedTalk(f"note {note.key}", note.title, note.at, (turn,))


def hash_of(text: str) -> str:
    """Return what tells one wording of a note from another."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:24]


def facts(note: NoteFile, origin: str, by: str) -> Iterator[Item]:
    """Make a fact of each section of a note; of one without sections, one of all.

    Args:
        note: The note.
        origin: What remembered it, said behind each title.
        by: Whose words they are where they are too long for a fact.
    """
    before, sections = markdown.sections(note.body)
    parts = [(note.title, _without_title(before))]
    parts += [(section.title, section.body) for section in sections]
    for title, text in parts:
        if not text.strip():
            continue
        if len(text) > MAX_FACT_CHARS:
            long = replace(note, key=f"{note.key}#{title}", title=title, body=text)
            yield from dated(long, by, origin)
        else:
            yield Fact(f"{one_line(title)} ({origin})", text.strip())


def _without_title(text: str) -> str:
    lines = text.strip().split("\n")
    return "\n".join(lines[1:] if lines[0].startswith("# ") else lines)


CLIPPED = ("source", "url", "link")  # keys of notes that were clipped from the web


def fits_vault(source: ImportSource) -> bool:
    """Whether the files are a vault."""
    return bool(source.below(".obsidian/*", "*/.obsidian/*"))


def read_vault(source: ImportSource, context: ImportContext) -> Iterator[Item]:
    """Read the notes."""
    own = [name for name in source.names if ".obsidian" not in name.split("/")]
    texts = [name for name in own if name.casefold().endswith((".md", ".markdown"))]
    source.wanted = sum(source.members[name].size for name in texts)
    for name in texts:
        note = load(source, name)
        if isinstance(note, LeftOut):
            yield note
        elif not note.body.strip():
            yield LeftOut(name, "notes without a text")
        elif clipped := _clipped(note):
            yield from dated(note, OTHER, clipped)
        else:
            yield from dated(note, PERSON)
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


OKF_VERSION = "0.2"
RESERVED = ("index.md", "log.md")
OKF_FACTS = ("belief", "knowledge", "person")  # types that are held to be so
OKF_SKILL = "skill"
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


def concept(meta: Mapping[str, Any], body: str, stem: str) -> Concept:
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


def fits_okf(source: ImportSource) -> bool:
    """Whether the files are a bundle: its index says so, or its files have a type."""
    for name in source.matching("index.md"):
        if b"okf_version" in source.head(name, 2000):
            return True
    names = [name for name in source.matching("*.md") if not is_reserved(name)][:_LOOKED_AT]
    loaded = [load(source, name) for name in names]
    return bool(loaded) and all(
        isinstance(note, NoteFile) and bool(lenient.text(note.meta.get("type"))) for note in loaded
    )


def read_okf(source: ImportSource, context: ImportContext) -> Iterator[Item]:
    """Read the concepts."""
    names = source.matching("*.md")
    for name in names:
        if is_reserved(name):
            continue
        note = load(source, name)
        if isinstance(note, LeftOut):
            yield note
            continue
        try:
            concept = concept(note.meta, note.body, PurePosixPath(name).stem)
        except ValueError as error:
            yield LeftOut(name, str(error), broken=True)
            continue
        yield from _okf_items(note, concept)
    yield from chat_export.others(source, names)


def _okf_items(note: NoteFile, concept: Concept) -> Iterator[Item]:
    text = "\n\n".join(part for part in (concept.description, concept.body.strip()) if part)
    if concept.status == "deprecated":
        yield LeftOut(note.name, "what its bundle calls deprecated")
    elif not text:
        yield LeftOut(note.name, "notes without a text")
    elif concept.type.casefold() == OKF_SKILL and concept.body.strip():
        yield Recipe(concept.title, concept.description, concept.body)
    elif concept.type.casefold() in OKF_FACTS and len(text) <= MAX_FACT_CHARS:
        yield Fact(f"{concept.title} ({concept.type})", text)
    else:
        at = lenient.moment(lenient.mapping(concept.meta.get("generated")).get("at")) or note.at
        yield from dated(replace(note, at=at), OTHER, concept.generated_by or concept.type)
