"""Finding people by the names a user gives on the command line."""

from __future__ import annotations

from pathlib import Path

from bumble.cli import listing, text_input
from bumble.cli.listing import Listing
from bumble.cli.opening import Opened
from bumble.files import disk
from bumble.records import base, relationships
from bumble.records.relationships import Relationship


def everybody(opened: Opened) -> Listing[Relationship]:
    """Read everybody whose file can be read; a warning tells of the rest."""
    return listing.readable(opened, relationships.paths(opened.entity.relationships), _load)


def _load(path: Path) -> Relationship:
    return base.load(path, relationships.parse)


def find(opened: Opened, name: str) -> Relationship:
    """Return one person by id or any name.

    Raises:
        RecordMissingError: If nobody is called that.
        RecordInvalidError: If the file of that id can't be read.
    """
    named = _file(opened, name)
    if named is not None:
        return _load(opened.within(named))
    people = everybody(opened).records
    person = relationships.match(people, name) or relationships.match(people, _owner(opened, name))
    if person is None:
        raise listing.missing(
            "person", name, [n for person in people for n in (person.id, *person.names)]
        )
    return person


def _owner(opened: Opened, name: str) -> str:
    """Return the owner's id if they are called so now; else the name."""
    if disk.same_name(name) != disk.same_name(opened.identity.owner.name):
        return name
    from bumble.runtime.people import owner_id

    return owner_id(opened.entity, opened.identity)


def _file(opened: Opened, name: str) -> Path | None:
    """Return the file that is named so, whatever it holds."""
    paths = relationships.paths(opened.entity.relationships)
    wanted = disk.same_name(name)
    return next((path for path in paths if disk.same_name(path.stem) == wanted), None)


def path(opened: Opened, name: str) -> Path:
    """Return the file of a person, which may be one that can't be read.

    Raises:
        RecordMissingError: If nobody is called that.
    """
    path = _file(opened, name)
    path = path or opened.entity.root / relationships.path(find(opened, name).id)
    return opened.within(path)


def id_of(opened: Opened, name: str) -> str:
    """Return the id of somebody the entity knows, or the one a new name would get."""
    from bumble.cli.talk import speakers

    return speakers.person(opened, text_input.one_line(name, "name")).id


def names(opened: Opened) -> dict[str, str]:
    """Return what to call people, by id; the owner and everybody the entity knows."""
    owner = opened.identity.owner.name
    owner_names = {relationships.person_id(owner): owner} if owner else {}
    return owner_names | {record.id: record.name for record in everybody(opened).records}
