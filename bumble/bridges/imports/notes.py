"""Folders of Markdown: notes of any program, Obsidian's vaults.

Front matter is read leniently, dates are found, sections become facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from pathlib import PurePosixPath
from typing import Any

import frontmatter
from frontmatter.default_handlers import YAMLHandler
from msgspec import Struct
from msgspec.structs import replace

from bumble import patterns
from bumble.bridges.exports.destination import MARK
from bumble.bridges.imports import foreign, items
from bumble.bridges.imports.source import ImportSource
from bumble.entity.folder import ENTITY_FILE
from bumble.text import markdown, yaml_edit, yaml_read
from bumble.text.words import one_line

DATES = ("created", "date", "created_at", "at", "day", "timestamp")  # keys of front matter
TAGS = ("tags", "tag")
MAX_FACT_CHARS = 12_000  # longer ones are dated texts, so that knowledge stays short
CLIPPED = ("source", "url", "link")  # keys of notes that were clipped from the web
_DAY = patterns.compile(r"(?<!\d)((?:19|20)\d\d)-?([01]\d)-?([0-3]\d)(?!\d)")


class NoteFile(Struct, frozen=True):
    """A Markdown file."""

    name: str  # of the file, from the top of the import
    title: str  # the file's, or that of its front matter
    meta: Mapping[str, Any]  # front matter; empty where there is none, or none that can be read
    body: str
    at: datetime  # by its front matter, its name, or when the file was changed
    changed: datetime
    given: Mapping[str, datetime | None]  # times of its front matter; None: one that can't be read
    id: str = ""  # of its talk: where it lies
    beside: frozenset[str] = frozenset()  # ids of all notes of the import
    is_dated: bool = False  # by its front matter or its name
    below: str = ""  # how the ids begin of all that lie where the import is from


def load(
    source: ImportSource,
    name: str,
    zone: tzinfo = UTC,
    note_id: str = "",
    beside: frozenset[str] = frozenset(),
    below: str = "",
) -> NoteFile | items.LeftOut:
    """Read a Markdown file; a time that names no zone is in one."""
    try:
        meta, body = split(foreign.cleaned(source.text(name)))
    except ValueError as error:
        return items.LeftOut(name, str(error), broken=True)
    given = {key: _time(meta[key], zone) for key in DATES if meta.get(key)}
    day, changed = _DAY.search(PurePosixPath(name).stem), source.members[name].modified
    times = (*given.values(), _time(day[0], zone) if day else None)
    told = next(filter(None, times), None)
    return NoteFile(
        name,
        one_line(foreign.first(meta, "title", "name")) or PurePosixPath(name).stem,
        meta,
        body,
        at=told or changed,
        changed=changed,
        given=given,
        id=note_id,
        beside=beside,
        is_dated=told is not None,
        below=below,
    )


def each(
    source: ImportSource,
    names: Iterable[str],
    zone: tzinfo,
    make: Callable[[NoteFile], Iterator[items.Item]],
) -> Iterator[items.Item]:
    """Make something of each Markdown file; what can't be read is said."""
    ids = _ids(source, names)
    beside = frozenset(one for one, _ in ids.values())
    for note in (load(source, name, zone, one, beside, top) for name, (one, top) in ids.items()):
        if isinstance(note, NoteFile) and None in note.given.values():
            yield items.LeftOut(note.name, "dates that can't be read")
        yield from [note] if isinstance(note, items.LeftOut) else make(note)


def _ids(source: ImportSource, names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return where each note lies below its vault, and what is imported of that."""
    path = source.path.resolve()
    top = path.parent if [path.name] == source.names else path  # a note alone
    marks = source.matching(".obsidian/*", "*/.obsidian/*")
    vaults = {top / mark.partition(".obsidian/")[0] for mark in marks}
    vaults |= {folder for folder in top.parents if (folder / ".obsidian").is_dir()}
    roots = {name: next((p for p in (top / name).parents if p in vaults), top) for name in names}
    ids = dict[str, tuple[str, str]]()
    for name, root in roots.items():
        start = f"note {root.stem if root.is_file() else root.name}/"
        inside = "" if root == path or path in root.parents else path.relative_to(root).as_posix()
        below = f"{start}{inside}{'/' * (inside != '' and path == top)}"
        ids[name] = f"{start}{(top / name).relative_to(root).as_posix()}", below
    return ids


def _time(told: object, zone: tzinfo) -> datetime | None:
    """Read a time, or a day, of which noon stands for all."""
    day = _DAY.fullmatch(str(told).strip())
    return foreign.moment(f"{day[1]}-{day[2]}-{day[3]}T12:00" if day else told, zone=zone)


class _Yaml(YAMLHandler):
    """YAML between `---`, read as in every file of bumble's: `no` is no boolean."""

    def load(self, fm: str, **kwargs: object) -> Any:
        return yaml_read.parse(fm)


def split(source: str) -> tuple[Mapping[str, Any], str]:
    """Return front matter and body; what is none, or broken, is text."""
    handler = _Yaml()
    try:
        meta, body = (
            frontmatter.parse(source, handler=handler) if handler.detect(source) else ({}, "")
        )
    except (ValueError, RecursionError):
        return {}, source
    return (meta, body) if meta else ({}, source)  # a text between two rules is no front matter


def dated(note: NoteFile, by: str, author: str) -> Iterator[items.Item]:
    """Make a talk of one turn of a note: found by search, learnt from only when asked to.

    Args:
        note: The note; an empty one gives nothing.
        by: Whose words it is.
        author: Their name; empty where they are the person's.
    """
    told = "\n".join(_told(note))
    if (told + note.body).strip():
        has_title = note.body.lstrip().startswith("# ")
        whole = note.body if has_title else f"# {note.title}\n\n{note.body}"
        if told:
            title, _, below = whole.lstrip().partition("\n")
            whole = f"{title}\n\n{told}\n{below}"
        yield items.ImportedTalk(
            note.id,
            note.title,
            note.at,
            (items.ImportedTurn(whole, note.at, by, whole, author, changed=note.changed),),
            note.beside,
            is_dated=note.is_dated,
            below=note.below,
        )


def _told(note: NoteFile) -> Iterator[str]:
    """Yield what front matter says beside title and time, a line a key; tags as a text has them."""
    for key, value in note.meta.items():
        parts = [one for one in (value if isinstance(value, list) else [value]) if one is not None]
        texts = [one if isinstance(one, str) else yaml_edit.inline(one) for one in parts]
        if str(key).casefold() in TAGS:
            names = (name for text in texts for name in text.replace(",", " ").split())
            texts = [f"#{name.lstrip('#')}" for name in names]
        line = one_line(foreign.cleaned(", ".join(texts)))
        if line not in ("", note.title) and not note.given.get(key):
            yield f"{key}: {line}"


def facts(note: NoteFile, origin: str, by: str) -> Iterator[items.Item]:
    """Make a fact of each section of a note; of one without sections, one of all.

    Args:
        note: The note.
        origin: What remembered it, said behind each title.
        by: Whose words they are where they are too long for a fact.
    """
    before, sections = markdown.sections(note.body)
    lines = before.strip().split("\n")
    before = "\n".join(lines[1:] if lines[0].startswith("# ") else lines)
    for title, words in ((note.title, before), *((part.title, part.body) for part in sections)):
        if len(words) > MAX_FACT_CHARS:
            long = replace(note, id=f"{note.id}#{title}", title=title, body=words)
            yield from dated(long, by, origin)
        elif words.strip():
            yield items.Fact(f"{one_line(title)} ({origin})", words.strip())


def fits_vault(source: ImportSource) -> bool:
    """Whether the files are an Obsidian vault."""
    return bool(source.matching(".obsidian/*", "*/.obsidian/*"))


def read_vault(source: ImportSource, context: items.ImportContext) -> Iterator[items.Item]:
    """Read a vault, or any folder of Markdown: the person's own notes, each a dated text."""
    settings = [name for name in source.names if ".obsidian" in name.split("/")]
    marks = source.matching(MARK, ENTITY_FILE)
    written = tuple(mark.removesuffix(PurePosixPath(mark).name) for mark in marks)
    ours = [name for name in source.names if name.startswith(written)]
    passed = {*settings, *ours}
    texts = [name for name in source.matching("*.md", "*.markdown") if name not in passed]
    source.wanted = sum(source.members[name].size for name in texts)
    yield from each(source, texts, context.zone, _own)
    yield from (items.LeftOut(name, "files that bumble wrote itself") for name in ours)
    yield from foreign.others(source, [*texts, *passed], "files that are no Markdown")


def _own(note: NoteFile) -> Iterator[items.Item]:
    clipped = _clipped(note)
    found = [*dated(note, items.OTHER if clipped else items.PERSON, clipped)]
    yield from found or [items.LeftOut(note.name, "notes without a text")]


def _clipped(note: NoteFile) -> str:
    """Return where a note was clipped from; empty for the person's own words."""
    for address in (one for key in CLIPPED for one in foreign.texts(note.meta, key)):
        if address.startswith(("http://", "https://")):
            return address.split("/")[2][:80] or "the web"
    return ""
