"""The journal: the entity's diary, which only ever grows.

One file, `journal.md`: `## 2026-05-24 03:12:47 #dream #consolidation` in the entity's time zone, a
blank line, the entry. What is not for everyone says for whom, in a comment under its heading:
`<!-- {audience: [sam]} -->`. Knows nothing of models.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import partial
from pathlib import Path

from bumble import markdown, yamltext
from bumble.entity import changes
from bumble.entity.changes import Change
from bumble.errors import UsageError
from bumble.stores import records

PATH = "journal.md"
_COMMENT = re.compile(r"\s*<!--[ \t]*(\{.*\})[ \t]*-->[ \t]*(?:\r?\n|\Z)")
_HEADING = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)((?: #[^\s#]+)*)")


@dataclass(frozen=True)
class Entry:
    """One entry."""

    at: datetime  # in the entity's time zone
    tags: tuple[str, ...]  # without `#`
    text: str  # Markdown, without heading, comment and surrounding blank lines
    line: int  # of the heading, in the file
    source: str  # heading and text, byte for byte
    audience: tuple[str, ...] = ()  # who may meet it in a prompt; empty: everyone


@dataclass(frozen=True)
class Journal:
    """The file as it stands."""

    preamble: str  # what stands before the first entry, front matter included
    entries: tuple[Entry, ...]  # in the order of the file
    source: str


def parse(source: str, stem: str = "", *, zone: tzinfo) -> Journal:
    """Read the entries of the file; preamble and entries joined give the same bytes back.

    A heading of any other form belongs to the entry it stands in.
    """
    document = markdown.parse(source)
    head, found = markdown.sections(source[document.body_start :])
    above = document.body_line - 1
    preamble, entries = source[: document.body_start] + head, list[Entry]()
    for one in found:
        heading = _heading(one.title, zone)
        if heading:
            at, tags = heading
            entries.append(Entry(at, tags, one.body, one.line + above, one.source))
        elif entries:
            entries[-1] = _joined(entries[-1], one.source)
        else:
            preamble += one.source
    return Journal(preamble, tuple(_with_audience(entry) for entry in entries), source)


def _with_audience(entry: Entry) -> Entry:
    """Read for whom an entry is; a comment of another kind is part of the text."""
    comment = _COMMENT.match(entry.text)
    if comment is None:
        return entry
    try:
        origin = records.provenance(yamltext.parse_mapping(comment[1]))
    except ValueError:
        return entry
    rest = entry.text[comment.end() :].strip("\r\n").rstrip()
    return replace(entry, text=rest, audience=origin.audience)


def _heading(title: str, zone: tzinfo) -> tuple[datetime, tuple[str, ...]] | None:
    match = _HEADING.fullmatch(title)
    if not match:
        return None
    try:
        at = datetime.fromisoformat(match[1]).replace(tzinfo=zone)
    except ValueError:  # a 31st of February
        return None
    return at, tuple(tag[1:] for tag in match[2].split())


def _joined(entry: Entry, more: str) -> Entry:
    whole = entry.source + more
    heading = markdown.lines(entry.source)[0]
    text = whole[len(heading) :].strip("\r\n").rstrip()
    return Entry(entry.at, entry.tags, text, entry.line, whole)


def read(file: Path, zone: tzinfo) -> Journal:
    """Read the file; none at all counts as an empty one.

    Raises:
        RecordInvalidError: If it can't be read as text.
    """
    if not file.exists():
        return Journal("", (), "")
    return records.load(file, partial(parse, zone=zone))


def plan_add(
    at: datetime,
    text: str,
    zone: tzinfo,
    why: str,
    *,
    tags: tuple[str, ...] = (),
    audience: tuple[str, ...] = (),
) -> Change:
    """Plan to add an entry at the end; what is there stays, byte for byte.

    Headings in the text become `###`, or deeper, so that it stays one entry.

    Raises:
        UsageError: If the text is empty.
    """
    if not text.strip():
        raise UsageError("A journal entry needs a text.")
    marks = "".join(f" #{tag}" for tag in map(_tag, tags) if tag)
    head = f"## {at.astimezone(zone):%Y-%m-%d %H:%M:%S}{marks}"
    if audience:
        head += f"\n<!-- {yamltext.inline({'audience': list(audience)})} -->"
    return changes.add(PATH, f"\n{head}\n\n{markdown.contained(text)}\n", why)


def _tag(text: str) -> str:
    return re.sub(r"[\s#]+", "-", text.strip().lstrip("#"))
