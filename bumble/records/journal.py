"""The journal file: the entity's diary, one heading an entry, which only ever grows.

One file, `journal.md`: `## 2026-05-24 03:12 #tag` in the entity's time zone, a blank line, the
entry; by hand a day alone will do, a link to it, and words behind it. Where an entry comes from,
who may meet it, and the tags that a program gave it, stand in an HTML comment under its heading, in
the whole of the file. Knows nothing of models.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from functools import partial
from pathlib import Path

from msgspec import Struct

from bumble import patterns
from bumble.entity import changes
from bumble.errors import UsageError
from bumble.records import base, fields, kind
from bumble.records.provenance import harmless, lines_in, origin_comment, split_meta
from bumble.text import markdown, moments

PATH = "journal.md"
STAMP, MINUTE = "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"
_HEADING = patterns.compile(
    r"(?:\[\[)?(\d{4}-\d\d-\d\d)(?:(?:\|[^\]]*)?\]\])?"
    r"(?:,?[ T](\d\d?:\d\d(?::\d\d)?)(?: ?([AaPp])\.?[Mm]\.?| Uhr)?)?"
    r"((?:[,:](?!\d)| (?!\d\d?:\d)).*)?"
)
_TAG = patterns.compile(r"(?<!\S)#([^\s#]+)")
_NUMBER = patterns.compile(r"\d+")


class JournalEntry(Struct, frozen=True):
    """One entry."""

    at: datetime  # in the entity's time zone
    tags: tuple[str, ...]  # without `#`
    text: str  # Markdown, without the comment and surrounding blank lines
    line: int  # of the heading, in the file
    source: str  # heading, comment and text, byte for byte
    provenance: base.Provenance = base.BY_HAND

    @property
    def audience(self) -> tuple[str, ...]:
        """Who may meet it in a prompt; empty: everyone."""
        return self.provenance.audience


class Journal(Struct, frozen=True):
    """The file as it stands."""

    preamble: str  # what stands before the first entry, front matter included
    entries: tuple[JournalEntry, ...]  # in the order of the file
    source: str


def parse(source: str, stem: str = "", *, zone: tzinfo) -> Journal:
    """Read the entries of the file; preamble and entries joined give the same bytes back.

    A heading of any other form belongs to the entry it stands in: `undated` names it.
    """
    document = markdown.parse_parts(source)
    head, found = markdown.sections(source[document.body_start :])
    above = document.body_line - 1
    preamble = source[: document.body_start] + head
    parts = list[tuple[_Heading, int, str, str]]()  # with its line, what stands below, and all
    for one in found:
        if heading := _heading(one.title, zone):
            parts.append((heading, one.line + above, one.own, one.source))
        elif parts:
            heading, line, own, whole = parts.pop()
            parts.append((heading, line, own + one.source, whole + one.source))
        else:
            preamble += one.source
        above -= lines_in(one.source)
    return Journal(preamble, tuple(_entry(*part) for part in parts), source)


def undated(source: str) -> Iterator[tuple[int, str]]:
    """Yield the headings that look like an entry's and name no day that is read, with their lines.

    A deeper heading is a part of an entry; so is the first of all the title of the file, unless it
    has the numbers of a date.
    """
    document = markdown.parse_parts(source)
    found = markdown.headings(source[document.body_start :])
    for place, one in enumerate(found):
        is_entry = one.level == markdown.LEVEL and _heading(one.title, UTC)
        is_title = not place and one.level < markdown.LEVEL
        is_title &= len(_NUMBER.findall(one.title)) < 2
        if one.level <= markdown.LEVEL and not (is_entry or is_title):
            yield document.body_line + one.start, one.title


class _Heading(Struct, frozen=True):
    """What a heading says."""

    at: datetime
    tags: tuple[str, ...]
    words: str  # a weekday or a title, behind the day


def _heading(title: str, zone: tzinfo) -> _Heading | None:
    match = _HEADING.fullmatch(title)
    if not match:
        return None
    day, hour, half, rest = match[1], match[2] or "00:00", match[3], match[4] or ""
    try:
        at = datetime.fromisoformat(f"{day}T{hour if hour[2] == ':' else f'0{hour}'}")
    except ValueError:  # a 31st of February
        return None
    if half:  # 3:12 pm
        at = at.replace(hour=at.hour % 12 + 12 * (half in "Pp"))
    at = at.replace(tzinfo=zone)
    words = _TAG.sub("", rest).strip(" ,:–—-")
    return _Heading(at, tuple(_TAG.findall(rest)), words) if moments.is_sane(at) else None


def _entry(heading: _Heading, line: int, own: str, source: str) -> JournalEntry:
    """Read what stands under a heading."""
    meta, below = split_meta(own)
    tags = kind.unite(heading.tags, base.texts(meta, "tags"))
    text = "\n\n".join(filter(None, (heading.words, markdown.trimmed(below))))
    return JournalEntry(heading.at, tags, text, line, source, base.provenance(meta))


def read(file: Path, zone: tzinfo) -> Journal:
    """Read the file; none at all counts as an empty one.

    Raises:
        RecordInvalidError: If it can't be read as text.
    """
    return base.load_or(file, partial(parse, zone=zone), Journal("", (), ""))


def _views(path: Path, zone: tzinfo) -> Sequence[kind.RecordView]:
    return [
        kind.RecordView(
            id=f"{entry.at:{STAMP}}",
            text=entry.text,
            origin=entry.provenance,
            sources=entry.provenance.sources,
            at=entry.at,
            line=entry.line,
            source=entry.source,
            times={"at": entry.at},
        )
        for entry in read(path, zone).entries
    ]


def _told(before: str | None, after: str | None) -> kind.Told:
    old, new = (parse(text or "", zone=UTC).entries for text in (before, after))
    was, now = ([entry.source.strip() for entry in side] for side in (old, new))
    for mark, entries, others in (("journal", new, was), ("gone: journal", old, now)):
        for entry in entries:
            if entry.source.strip() not in others:
                tags = "".join(f" #{tag}" for tag in entry.tags)
                yield f"{mark} {entry.at:%Y-%m-%d %H:%M}{tags}"
                yield from kind.quoted(entry.text)


JOURNAL = kind.Kind(
    name="journal",
    singular="journal entry",
    plural="journal entries",
    key="journal",
    patterns=(PATH,),
    parser=partial(parse, zone=UTC),
    viewer=_views,
    teller=_told,
    joiner=fields.parts,
    forgetting="parts",
    merging="bumble",
    file_name="journal",
    passages="journal",
    explained=True,
    counted=True,
    page=True,
    edit="bumble journal edit",
)


def plan_add(
    at: datetime,
    text: str,
    zone: tzinfo,
    why: str,
    *,
    tags: tuple[str, ...] = (),
    provenance: base.Provenance | None = None,
) -> changes.Change:
    """Plan to add an entry at the end; what is there stays, byte for byte.

    Headings in the text become `###`, or deeper, so that it stays one entry.

    Args:
        at: When it is written, or when that was which it tells of.
        text: Markdown.
        zone: The entity's time zone.
        why: For the change set.
        tags: With or without `#`; those of a program stand beside the file.
        provenance: Where the text comes from; none for the owner's own words.

    Raises:
        UsageError: If the text is empty.
    """
    if not text.strip():
        raise UsageError("A journal entry needs a text.")
    named = [tag for tag in map(_tag, tags) if tag]
    marks = "" if provenance else "".join(f" #{tag}" for tag in named)
    head = f"## {at.astimezone(zone):{MINUTE}}{marks}"
    body = markdown.contained(harmless(text))
    return changes.add(PATH, f"\n{head}\n{origin_comment(provenance, tags=named)}\n{body}\n", why)


def _tag(text: str) -> str:
    return re.sub(r"[\s#]+", "-", text.strip().lstrip("#"))
