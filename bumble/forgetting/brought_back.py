"""What a merge, an import or a copy brought back of the forgotten, and how it goes again."""

from __future__ import annotations

from collections import Counter
from datetime import tzinfo

from bumble.entity.changes import Change
from bumble.entity.folder import Entity
from bumble.forgetting import forget, transcripts
from bumble.forgetting.forget import Forgetting
from bumble.forgetting.undecided import Undecided
from bumble.records import base, forgotten, jsonl, kinds, relationships, session_files
from bumble.records.forgotten import Forgotten

NOBODY = "?"  # in the place of an id that is not known: no id is like it


def plan(entity: Entity, zone: tzinfo) -> Forgetting:
    """Plan to forget once more what a merge, an import or a copy brought back.

    Raises:
        RecordInvalidError: If a file can't be read: nothing may be forgotten by half.
    """
    planned: dict[str, Change] = {}
    counts: Counter[str] = Counter()
    undecided: list[Undecided] = []
    for entry in forgotten.read(entity.root):
        for person, names in _returned(entity, entry).items():
            more = forget.plan(entity, person, names, zone, until=entry.at, ids=entry.ids)
            if planned.keys().isdisjoint(change.path for change in more.changes):
                planned |= {change.path: change for change in more.changes}
                counts.update(more.counts)
                undecided += more.undecided if more.changes else ()
    return Forgetting(tuple(planned.values()), dict(counts), tuple(undecided))


def _returned(entity: Entity, entry: Forgotten) -> dict[str, list[str]]:
    """Return whom of the forgotten the folder holds something of again, with their names.

    Where only messages or records are back, without their names, the id is NOBODY.
    """
    names: dict[str, list[str]] = {}
    for path in kinds.PERSON.paths(entity):
        person = base.load(path, relationships.parse)
        met = person.first_met
        if any(map(entry.is_named, (person.id, *person.names))) and not (met and met > entry.at):
            names[person.id] = list(person.names)
    for path in kinds.SESSION.paths(entity):
        session = session_files.load(path)
        if jsonl.doubles(jsonl.read(session.source)[0]):
            names.setdefault(NOBODY, [])
        for message in session.messages:
            speaker = transcripts.speaker(session, message)
            if transcripts.is_emptied(message) or message.at > entry.at:
                continue
            if entry.is_named(speaker):
                called = str(message.extra.get("name") or "")
                names.setdefault(speaker, []).append(called)
            elif message.id in entry.ids:
                names.setdefault(NOBODY, [])
    of_ids = (kind for kind in kinds.KINDS if kind.prefix and kind is not kinds.SESSION)
    if any(kind.stem(path) in entry.ids for kind in of_ids for path in kind.paths(entity)):
        names.setdefault(NOBODY, [])
    if len(names) > 1:
        names.pop(NOBODY, None)  # their ids go with the first of them
    return names
