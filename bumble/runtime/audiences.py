"""For whom is what changed in a file: the origins of its records that came, went or differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from bumble.entity import companions
from bumble.entity.changes import HISTORY, Change, Version
from bumble.records import (
    anchors,
    base,
    checks,
    journal,
    jsonl,
    kinds,
    knowledge,
    projects,
    provenance,
    relationships,
    session_files,
    skills,
    soma,
    topics,
    working,
)
from bumble.text import markdown

Part = tuple[base.Provenance, str]  # where a part of a file comes from, and the part
PORTRAIT = (
    "dynamic",
    "topics",
    "unresolved",
)  # of a person's front matter: what is thought of them


def hides(
    reader: provenance.Reader, versions: Iterable[Version], *, lines: bool = True
) -> base.Provenance | None:
    """Return the origin of something that changed and is not for a reader; None: all is.

    Args:
        reader: Who looks.
        versions: What changed.
        lines: Whether its lines are told; else what a title tells of it.
    """
    origins = (origin for version in versions for origin in origins_of(version, lines=lines))
    return next((origin for origin in origins if not reader.may_read(origin)), None)


def origins_of(version: Version, *, lines: bool = True) -> list[base.Provenance]:
    """Return where the records come from that differ between two states of a file."""
    old, new = (parts(version.path, data) for data in (version.before, version.after))
    if not lines and kinds.of_path(version.path) is soma.SOMA:  # no title tells what was felt
        return [origin for origin, text in {*new} - {*old}]
    return [origin for origin, text in {*old} ^ {*new}]


def of_changes(
    root: Path, changes: Iterable[Change], *, lines: bool = True
) -> tuple[base.Provenance, ...]:
    """Return where the records come from that some changes make, change or remove; see `hides`."""
    found: list[base.Provenance] = []
    for change in changes:
        before = companions.read(root, change.path)
        after = (before or b"") + (change.data or b"") if change.adds else change.data
        found += origins_of(Version(change.path, before, after), lines=lines)
    return tuple(dict.fromkeys(found))


def parts(path: str, data: bytes | None) -> list[Part]:
    """Return the parts of a file that are each for somebody; a broken file has none."""
    kind = kinds.of_path(path)
    of_kind = READERS.get(kind.name, _document) if kind else None
    reader = _file if path.startswith(companions.FILES) else of_kind
    if reader is None or data is None:
        return []
    try:
        return list(reader(data.decode(errors="replace")))
    except ValueError:  # not what it should be
        return []


def named(path: str, hidden: base.Provenance | None) -> str:
    """Return what to call a file for whom what it tells is hidden from, which its name may tell."""
    kind, place = kinds.of_path(path), PurePosixPath(path)
    if hidden is None:
        return path
    if kind is None or kind.name in NAMED_BY_WORDS:
        folder = place.parent if kind else PurePosixPath(place.parts[0])
        return str(folder / f"only-for-{'-'.join(hidden.audience)}{place.suffix}")
    return str(place.with_stem(base.id_of(place.stem))) if kind.prefix else path


def seen(reader: provenance.Reader, version: Version) -> Version:
    """Return two states of a file without what is not for a reader."""
    kind, sides = kinds.of_path(version.path), (version.before, version.after)
    if kind is not None and kind.name in SECTIONED:
        return Version(version.path, *(_without(version.path, data, reader) for data in sides))
    is_copy = PurePosixPath(version.path).is_relative_to(HISTORY)  # of whatever it was a version of
    is_hidden = (reader.id and is_copy) or hides(reader, [version]) is not None
    return Version(version.path, None, None) if is_hidden else version


def _without(path: str, data: bytes | None, reader: provenance.Reader) -> bytes | None:
    """Return a file of sections without those that are not for a reader."""
    text = (data or b"").decode(errors="replace")
    for origin, part in parts(path, data):
        if not reader.may_read(origin):
            above, _, below = text.partition(part)
            text = above + below.lstrip("\r\n")
    return None if data is None else text.encode()


def _document(text: str) -> Iterator[Part]:
    yield base.provenance(markdown.parse(text).meta), text


def _file(text: str) -> Iterator[Part]:
    yield base.provenance(companions.commented(text) or {}), text


def _yaml(text: str) -> Iterator[Part]:
    yield base.provenance(base.parse_mapping(text).values), text


def _session(text: str) -> Iterator[Part]:
    lines, _ = jsonl.read(text)
    head = lines[0].data if lines else {}
    heard = (head.get("by"), *(head.get("present") or ()))
    spoke = (line.data.get("speaker") for line in lines if line.data.get("role") == "user")
    people = tuple(str(one) for one in dict.fromkeys((*heard, *spoke)) if one)
    yield base.Provenance(audience=people), text


def _sections(text: str, parse: Callable[[str], Any], records: str) -> Iterator[Part]:
    for record in getattr(parse(text), records):
        yield record.provenance, record.source.rstrip()  # what follows moves the end


def _lines(text: str) -> Iterator[Part]:
    yield from ((line.origin, line.source.rstrip()) for line in working.parse(text))


def _person(text: str) -> Iterator[Part]:
    person = relationships.PERSON.parse(text, "")
    portrait = (person.text, *(person.source.meta.get(key) for key in PORTRAIT))
    yield person.provenance, repr(portrait)
    yield from ((note.provenance, note.text) for note in person.pending)


def _body(text: str) -> Iterator[Part]:
    values = base.parse_mapping(text).values
    noise, felt = values.get("noise"), values.get("felt")
    thoughts = noise.get("fragments") if isinstance(noise, Mapping) else None
    for one in (*(thoughts or ()), felt):
        if isinstance(one, Mapping):
            yield base.Provenance(audience=base.texts(one, "audience")), str(one.get("text"))


READERS: Mapping[str, Callable[[str], Iterable[Part]]] = {  # by kind; else a file is one record
    session_files.SESSION.name: _session,
    knowledge.KNOWLEDGE.name: partial(_sections, parse=knowledge.parse, records="sections"),
    journal.JOURNAL.name: partial(
        _sections, parse=partial(journal.parse, zone=UTC), records="entries"
    ),
    relationships.PERSON.name: _person,
    soma.SOMA.name: _body,
    working.SCRATCH.name: _lines,
    working.WORKING.name: _lines,
    anchors.ANCHOR.name: _yaml,
    checks.CHECK.name: _yaml,
}
# Files that are called by words of theirs.
NAMED_BY_WORDS = tuple(
    kind.name
    for kind in (skills.SKILL, projects.PROJECT, anchors.ANCHOR, topics.TOPIC, checks.CHECK)
)
SECTIONED = (
    knowledge.KNOWLEDGE.name,
    journal.JOURNAL.name,
)  # what is left without a part, can be shown
