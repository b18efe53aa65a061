"""The people an entity meets: counting talks, and who may read what."""

from __future__ import annotations

from datetime import datetime

from bumble.cycles.life import Life
from bumble.entity.changes import Change
from bumble.entity.config import Identity
from bumble.entity.folder import Entity
from bumble.stores import records, relationships
from bumble.stores.records import Provenance
from bumble.stores.sessions import Session


def plan_met(life: Life, person: str, name: str, at: datetime, session: Session) -> Change | None:
    """Plan to count one more exchange with somebody, who gets a file at the first."""
    file = life.entity.root / relationships.path(person)
    if file.exists():
        known = records.load(file, relationships.parse)
        return relationships.plan_met(known, at, f"talked with {known.name}")
    origin = Provenance(by="chat", sources=(session.id,), audience=(person,))
    stub = relationships.new(name, at, provenance=origin, id=person)
    met = relationships.plan_met(stub, at, f"meet {name}")
    if met is None:
        raise TypeError("a first talk always changes the count")
    return Change(met.path, met.why, met.data)


def owner_id(entity: Entity, identity: Identity) -> str:
    """Return the id of the person the entity belongs to."""
    owner = identity.owner.name or "you"
    match = relationships.match(list(relationships.read(entity.relationships)), owner)
    return match.id if match else relationships.person_id(owner)


def interactions(life: Life) -> int:
    """Return how many exchanges the entity has had in its whole life."""
    return sum(one.interaction_count for one in relationships.read(life.entity.relationships))
