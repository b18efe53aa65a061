"""Merging texts: line by line as git does, files of sections by section, transcripts by line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from datetime import UTC, datetime
from typing import TypeAlias

from msgspec import Struct

from bumble.files import disk, git
from bumble.records import fields, jsonl, sessions
from bumble.records import journal as journal_store
from bumble.records import knowledge as knowledge_store
from bumble.records.base import provenance
from bumble.text import markdown, merge_marks, words


class Merged(Struct, frozen=True):
    """What two versions become."""

    text: str
    clean: bool  # no markers were left
    # headings of the parts that hold what one side changed and the other took out; empty: the file
    stands: tuple[str, ...] = ()


def merge_union(base: str, current: str, incoming: str) -> Merged:
    """Join lists of lines under headings, as git's union merge does: nothing can clash."""
    return merge_lines(base, current, incoming, "--union")


def merge_lines(base: str, current: str, incoming: str, *options: str) -> Merged:
    """Join what each side changed of a base."""
    if current == incoming or incoming == base:
        return Merged(current, True)
    if current == base:
        return Merged(incoming, True)
    sides = {"ours": current, "base": base, "theirs": incoming}
    with disk.temporary_folder() as folder:
        for name, text in sides.items():
            (folder / name).write_bytes(text.encode(errors="surrogateescape"))
        labels = [word for name in sides for word in ("-L", name)]
        result = git.merge_file(folder, "-p", *options, *labels, *sides)
    if 0 <= result.code < git.NOT_INSTALLED:
        if any(map(merge_marks.looks_marked, sides.values())):  # whose mark is whose: unknown
            return Merged(result.text, result.code == 0)
        text = merge_marks.replaced(result.text, _settled, fenced=True)
        stands = ("",) * (text != result.text)
        return Merged(text, result.code == 0 or not merge_marks.has_any(text), stands)
    return apart(current, incoming)


def apart(current: str, incoming: str) -> Merged:
    """Leave two sides apart, each whole."""
    markers = f"<<<<<<< ours\n{_ended(current)}=======\n{_ended(incoming)}>>>>>>> theirs\n"
    return Merged(markers, False)


def merge_notes(base: str, current: str, incoming: str) -> Merged:
    """Join lists of which each line stands for itself: nothing can clash."""
    before, ours, added = (
        _ended(text).splitlines(keepends=True) for text in (base, current, incoming)
    )
    left = [line for line in ours if line in added or line not in before]
    new = [line for line in added if line not in before and line not in ours]
    return Merged("".join((*left, *new)), True)


def _settled(clash: re.Match[str]) -> str:
    """Keep what one side changed and the other took out; else both sides, with their marks."""
    return clash[0] if clash[1] and clash[3] else clash[1] or clash[3]


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


Parts: TypeAlias = Mapping[object, str]


# What stands before the first section of a file, and the sources of its sections by what tells
# them apart, in its order.
SplitFile: TypeAlias = tuple[str, Parts]


def knowledge(base: str, current: str, incoming: str) -> Merged:
    """Merge durable facts, a section each.

    Raises:
        ValueError: If a side can't be read, or has two sections of one title.
    """
    books = [knowledge_store.parse(text) for text in (base, current, incoming)]
    by_title = _called_alike([_by_title(book.sections) for book in books])
    agreed: list[dict[object, str]] = [{}, {}, {}]
    for title in dict.fromkeys(key for side in by_title for key in side):
        three = [side.get(title) for side in by_title]
        for side, source in zip(agreed, _with_one_origin(three), strict=True):
            if source is not None:
                side[title] = source
    sides = [(book.preamble, parts) for book, parts in zip(books, agreed, strict=True)]
    return _joined(sides, list(dict.fromkeys(key for parts in agreed for key in parts)))


Sections: TypeAlias = dict[str, knowledge_store.KnowledgeSection]  # by what a title comes to


def _by_title(
    sections: tuple[knowledge_store.KnowledgeSection, ...],
) -> Sections:
    keyed = {knowledge_store.key(section.title): section for section in sections}
    if len(keyed) != len(sections):
        raise ValueError("two sections have the same title")
    return keyed


def _called_alike(sides: list[Sections]) -> list[Sections]:
    """Return the sections of three sides, one that a side renamed under its first title.

    It is the one that has most of the sentences. What both renamed stays apart, and so does what
    has a title that the other side gave as well, or can't be merged: it may have been split.
    """
    base, alike = sides[0], [sides[0]]
    for side, other in zip(sides[1:], sides[:0:-1], strict=True):
        first = {
            new: old
            for new, old in _renamed(base, side).items()
            if old in other and new not in other and _are_one(base[old], side[new], other[old])
        }
        alike.append({first.get(title, title): section for title, section in side.items()})
    return alike


def _are_one(*three: knowledge_store.KnowledgeSection) -> bool:
    """Whether a section merges without a clash with what each side has made of it."""
    return merge_lines(*(_spaced(source or "") for source in _with_one_origin([*three]))).clean


def _renamed(base: Sections, side: Sections) -> dict[str, str]:
    """Return the first titles of the sections that a side renamed, by the new ones."""
    found = dict[str, str]()
    for title in (one for one in base if one not in side):
        said = set(words.sentences(base[title].text))
        for new in (one for one in side if one not in base and one not in found):
            if len(said & set(words.sentences(side[new].text))) * 2 > len(said):
                found[new] = title
                break
    return found


def _with_one_origin(three: list[knowledge_store.KnowledgeSection | None]) -> list[str | None]:
    """Return the sources of a section, those that both sides changed with a joined origin.

    One that both made says what either said.
    """
    base, current, incoming = three
    if current is None or incoming is None:
        return [section.source if section else None for section in three]
    start = base.provenance.meta() if base else {}
    meta = fields.origin(start, current.provenance.meta(), incoming.provenance.meta())
    if fields.CLASHED in meta.values():  # nobody may meet both
        return [section.source if section else None for section in three]
    origin, alike = provenance(meta), current.provenance == incoming.provenance
    sources = [
        (one.source if alike else knowledge_store.with_origin(one, origin)) if one else None
        for one in three
    ]
    heads = {markdown.lines(source)[0] for source in sources if source}
    if base is None and len(heads) == 1:
        both = merge_union(heads.pop(), *(_spaced(source or "") for source in sources[1:])).text
        return [None, both, both]
    return sources


def journal(base: str, current: str, incoming: str) -> Merged:
    """Merge diaries: the entries of both, by time.

    Raises:
        ValueError: If a side can't be read.
    """
    diaries = [journal_store.parse(text, zone=UTC) for text in (base, current, incoming)]
    same_second = _same_second(diaries)
    numbered = [_numbered(diary.entries, same_second) for diary in diaries]
    parts = [{key: entry.source for key, entry in rows} for rows in numbered]
    sides = [(diary.preamble, part) for diary, part in zip(diaries, parts, strict=True)]
    times = {key: entry.at for rows in numbered for key, entry in rows}
    base_keys = list(parts[0])
    new = sorted({*parts[1], *parts[2]} - set(base_keys), key=lambda key: (times[key], str(key)))
    order = [*base_keys, *new]
    if sorted(base_keys, key=lambda key: times[key]) == base_keys:
        order.sort(key=lambda key: times[key])
    return _joined(sides, order)


def _same_second(diaries: Sequence[journal_store.Journal]) -> set[str]:
    """Return the headings that more than one entry has: of one side, or new on both."""
    texts: list[dict[str, list[str]]] = [{}, {}, {}]
    for diary, by_heading in zip(diaries, texts, strict=True):
        for entry in diary.entries:
            by_heading.setdefault(_heading(entry), []).append(entry.text)
    base, current, incoming = texts
    repeated = {heading for side in texts for heading, listed in side.items() if len(listed) > 1}
    new = (current.keys() & incoming.keys()) - base.keys()
    return repeated | {heading for heading in new if current[heading] != incoming[heading]}


def _heading(entry: journal_store.JournalEntry) -> str:
    return markdown.lines(entry.source)[0].strip()


def _numbered(
    entries: tuple[journal_store.JournalEntry, ...], same_second: Set[str]
) -> list[tuple[object, journal_store.JournalEntry]]:
    """Tell entries apart: by heading, and by text where two were written within one second."""
    headings = [_heading(entry) for entry in entries]
    return [
        ((heading, entry.text if heading in same_second else ""), entry)
        for heading, entry in zip(headings, entries, strict=True)
    ]


def _joined(sides: Sequence[SplitFile], order: Sequence[object]) -> Merged:
    """Put the parts of three sides together, in a given order."""
    head = merge_lines(*(preamble for preamble, _ in sides))
    text, clean, stands = head.text, head.clean, head.stands
    for key in order:
        three = [_spaced(parts.get(key, "")) for _, parts in sides]
        if not three[0] and three[1] and three[2]:  # both made it
            # the heading two new parts share, so that only their texts can clash
            first = markdown.lines(three[1])[0]
            three[0] = first if markdown.lines(three[2])[0] == first else ""
        merged = merge_lines(*three)
        clean = clean and merged.clean
        if merged.stands:
            stands += (markdown.lines(merged.text)[0].strip("# \t\r\n"),)
        is_open = text != "" and not text.endswith(("\n", "\r"))
        text += markdown.newline_of(text) * is_open + merged.text
    end = {_end(side) for side in sides[1:]}
    text = text.rstrip("\r\n") + end.pop() if len(end) == 1 else text
    return Merged(text, clean, stands)


def _spaced(part: str) -> str:
    """End a part with a blank line: the last of a file has none, and that is no change."""
    return part.rstrip("\r\n") + "\n\n" if part else part


def _end(side: SplitFile) -> str:
    text = side[0] + "".join(side[1].values())
    return text[len(text.rstrip("\r\n")) :] or "\n"


Key = tuple[object, str]
NOTHING: Key = (None, "")  # what the first line follows


def transcript(base: str, current: str, incoming: str) -> Merged:
    """Join two versions of a transcript.

    Raises:
        ValueError: If a side can't be read.
    """
    before = _by_key(base) if base.strip() else {}
    sides = [_by_key(text) for text in sorted((current, incoming))]
    joined: dict[Key, tuple[jsonl.JsonLine, str]] = {}
    for key in (*before, *sides[0], *sides[1]):  # a line that a side took out was cut off there
        versions = [side[key] for side in sides if key in side]
        if versions and key not in joined:
            joined[key] = _chosen(before.get(key), versions)
    behind = _behind(sides[0]) | _behind(sides[1])
    behind |= _behind({key: joined[key] for key in joined if key in before})
    in_line = sessions.in_order(
        {key: behind[key] for key in joined}, lambda key: _rank(joined[key])
    )
    old = [key for key in joined if key in before]  # where they stand: lines are only added
    new = [key for key in in_line if key not in before]
    text = "".join(f"{joined[key][1]}\n" for key in (*old, *new))
    sessions.parse(text)
    return Merged(text, True)


def _by_key(text: str) -> dict[Key, tuple[jsonl.JsonLine, str]]:
    """Return the lines of a side by what tells them apart, each with its source."""
    sessions.parse(text)
    sources = text.removeprefix("\ufeff").split("\n")
    lines, _ = jsonl.read(text)
    named = ((jsonl.key(line), line) for line in jsonl.unique(lines))
    return {key: (line, sources[line.number - 1].rstrip("\r")) for key, line in named}


def _chosen(
    before: tuple[jsonl.JsonLine, str] | None, versions: list[tuple[jsonl.JsonLine, str]]
) -> tuple[jsonl.JsonLine, str]:
    """Return the version that stands: an emptied one, else one that a side changed."""
    emptied = [version for version in versions if jsonl.is_emptied(version[0].data)]
    changed = [version for version in versions if before is None or version[1] != before[1]]
    return max(emptied or changed or versions, key=lambda version: version[1])


def _behind(side: dict[Key, tuple[jsonl.JsonLine, str]]) -> dict[Key, Key]:
    """Return which line each follows: the message it names, else the one it stands behind."""
    behind: dict[Key, Key] = {}
    last = next(iter(side), NOTHING)
    for key, (line, _) in side.items():
        named = ("message", str(line.data.get("after", "")))
        behind[key] = NOTHING if key == last else named if named in side else last
        last = key if key[0] == "message" else last
    return behind


def _rank(line: tuple[jsonl.JsonLine, str]) -> sessions.Rank:
    """Order lines as a transcript does; what was noted of a message stays with it."""
    data = line[0].data
    at = fields.moment(data.get("at")) or datetime.min.replace(tzinfo=UTC)
    return sessions.rank(str(data.get("role", "")), at, str(data.get("id", line[1])))
