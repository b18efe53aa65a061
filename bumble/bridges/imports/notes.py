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

from bumble.bridges.imports import lenient
from bumble.bridges.imports.ledger import Fact, ImportedTalk, ImportedTurn, Item, LeftOut, Recipe
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
