"""Finding people by the names a user gives."""

from __future__ import annotations

from pathlib import Path

from bumble.cli import bodies, records
from bumble.cli.opening import Opened
from bumble.cli.records import Found
from bumble.stores import records as stored
from bumble.stores import relationships
from bumble.stores.relationships import Relationship


def everybody(opened: Opened) -> Found[Relationship]:
    """Read everybody whose file can be read; a warning tells of the rest."""
    return records.readable(opened, relationships.paths(opened.entity.relationships), _load)


def _load(path: Path) -> Relationship:
    return stored.load(path, relationships.parse)


def find(opened: Opened, name: str) -> Relationship:
    """Return one person by id or any name.

    Raises:
        RecordMissingError: If nobody is called that.
    """
    known = everybody(opened).records
    person = relationships.match(known, name)
    if person is None:
        names = [other for one in known for other in (one.id, *one.names)]
        raise records.missing("person", name, names)
    return person


def path(opened: Opened, name: str) -> Path:
    """Return the file of a person, which may be one that can't be read.

    Raises:
        RecordMissingError: If nobody is called that.
    """
    paths = relationships.paths(opened.entity.relationships)
    named = next((one for one in paths if one.stem == name), None)
    found = named or opened.entity.root / relationships.path(find(opened, name).id)
    return records.within(opened, found)


def id_of(opened: Opened, name: str) -> str:
    """Return the id of somebody the entity knows, or the one a new name would get."""
    line = bodies.one_line(name, "name")
    person = relationships.match(everybody(opened).records, line)
    return person.id if person else relationships.person_id(line)


def names(opened: Opened) -> dict[str, str]:
    """Return what to call people, by id; the owner and everybody the entity knows."""
    owner = opened.identity.owner.name
    found = {relationships.person_id(owner): owner} if owner else {}
    return found | {one.id: one.name for one in everybody(opened).records}
