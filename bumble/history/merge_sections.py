"""Merging files of sections: knowledge by title, the journal by entry.

What only one side added, changed or took out is taken over, what one changed and the other took out
stays; a section that both changed is merged line by line, so that a conflict stays within it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from datetime import UTC
from typing import TypeAlias

from msgspec import Struct

from bumble.history import merge_lines
from bumble.history.merge_lines import Merged
from bumble.records import journal as journal_store
from bumble.records import knowledge as knowledge_store
from bumble.records import merge_rules
from bumble.records.base import provenance
from bumble.records.journal import Journal, JournalEntry
from bumble.records.knowledge import KnowledgeSection
from bumble.records.merge_rules import CLASHED
from bumble.text import markdown

Parts: TypeAlias = Mapping[object, str]


class SplitFile(Struct, frozen=True):
    """A file split into what stands before its first section, and its sections."""

    preamble: str
    parts: Parts  # sources by what tells them apart, in the order of the file


def knowledge(base: str, current: str, incoming: str) -> Merged:
    """Merge durable facts, a section each.

    Raises:
        ValueError: If a side can't be read, or has two sections of one title.
    """
    books = [knowledge_store.parse(text) for text in (base, current, incoming)]
    by_title = [_by_title(book.sections) for book in books]
    agreed: list[dict[object, str]] = [{}, {}, {}]
    for title in dict.fromkeys(key for side in by_title for key in side):
        three = [side.get(title) for side in by_title]
        for side, source in zip(agreed, _with_one_origin(three), strict=True):
            if source is not None:
                side[title] = source
    sides = [SplitFile(book.preamble, parts) for book, parts in zip(books, agreed, strict=True)]
    order = list(dict.fromkeys(key for side in sides for key in side.parts))
    text, clean = _joined(sides, order)
    return Merged(text, clean)


def _by_title(sections: tuple[KnowledgeSection, ...]) -> dict[str, KnowledgeSection]:
    keyed = {knowledge_store.key(section.title): section for section in sections}
    if len(keyed) != len(sections):
        raise ValueError("two sections have the same title")
    return keyed


def _with_one_origin(three: list[KnowledgeSection | None]) -> list[str | None]:
    """Return the sources of a section, those that both sides changed with a joined origin."""
    base, current, incoming = three
    if current is None or incoming is None or current.provenance == incoming.provenance:
        return [section.source if section else None for section in three]
    start = base.provenance.meta() if base else {}
    meta = merge_rules.origin(start, current.provenance.meta(), incoming.provenance.meta())
    if CLASHED in meta.values():  # nobody may meet both
        return [section.source if section else None for section in three]
    origin = provenance(meta)
    return [knowledge_store.with_origin(section, origin) if section else None for section in three]


def journal(base: str, current: str, incoming: str) -> Merged:
    """Merge diaries: the entries of both, by time.

    Raises:
        ValueError: If a side can't be read.
    """
    diaries = [journal_store.parse(text, zone=UTC) for text in (base, current, incoming)]
    same_second = _same_second(diaries)
    numbered = [_numbered(diary.entries, same_second) for diary in diaries]
    sides = [
        SplitFile(diary.preamble, {key: entry.source for key, entry in rows})
        for diary, rows in zip(diaries, numbered, strict=True)
    ]
    times = {key: entry.at for rows in numbered for key, entry in rows}
    base_keys = list(sides[0].parts)
    new = sorted(
        {*sides[1].parts, *sides[2].parts} - set(base_keys), key=lambda key: (times[key], str(key))
    )
    order = [*base_keys, *new]
    if sorted(base_keys, key=lambda key: times[key]) == base_keys:
        order.sort(key=lambda key: times[key])
    text, clean = _joined(sides, order)
    return Merged(text, clean)


def _same_second(diaries: Sequence[Journal]) -> set[str]:
    """Return the headings that more than one entry has: of one side, or new on both."""
    texts: list[dict[str, list[str]]] = [{}, {}, {}]
    for diary, by_heading in zip(diaries, texts, strict=True):
        for entry in diary.entries:
            by_heading.setdefault(_heading(entry), []).append(entry.text)
    base, current, incoming = texts
    repeated = {heading for side in texts for heading, listed in side.items() if len(listed) > 1}
    new = (current.keys() & incoming.keys()) - base.keys()
    return repeated | {heading for heading in new if current[heading] != incoming[heading]}


def _heading(entry: JournalEntry) -> str:
    return markdown.lines(entry.source)[0].strip()


def _numbered(
    entries: tuple[JournalEntry, ...], same_second: Set[str]
) -> list[tuple[object, JournalEntry]]:
    """Tell entries apart: by heading, and by text where two were written within one second."""
    headings = [_heading(entry) for entry in entries]
    return [
        ((heading, entry.text if heading in same_second else ""), entry)
        for heading, entry in zip(headings, entries, strict=True)
    ]


def _joined(sides: list[SplitFile], order: list[object]) -> tuple[str, bool]:
    """Put the parts of three sides together, in a given order."""
    base, current, incoming = sides
    head = merge_lines.merge(base.preamble, current.preamble, incoming.preamble)
    text, clean = head.text, head.clean
    for key in order:
        three = [_spaced(side.parts.get(key, "")) for side in sides]
        if not three[0] and three[1] and three[2]:  # both made it
            three[0] = _common(three[1], three[2])
        merged = merge_lines.merge(*three)
        clean = clean and merged.clean
        text = _on_a_new_line(text, markdown.newline_of(text)) + merged.text
    end = {_end(side) for side in sides[1:]}
    return (text.rstrip("\r\n") + end.pop() if len(end) == 1 else text), clean


def _common(part: str, other: str) -> str:
    """Return the heading two new parts share, so that only their texts can clash."""
    first = markdown.lines(part)[0]
    return first if markdown.lines(other)[0] == first else ""


def _spaced(part: str) -> str:
    """End a part with a blank line: the last of a file has none, and that is no change."""
    return part.rstrip("\r\n") + "\n\n" if part else part


def _on_a_new_line(text: str, newline: str) -> str:
    return text if not text or text.endswith(("\n", "\r")) else text + newline


def _end(side: SplitFile) -> str:
    text = side.preamble + "".join(side.parts.values())
    return text[len(text.rstrip("\r\n")) :] or "\n"
