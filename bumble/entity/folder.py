"""The entity's folder: how it is found, and the name of every file and folder in it.

Knows nothing of what the files hold, `entity.yaml` excepted.
"""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from bumble.files import disk

ENTITY_FILE = "entity.yaml"
PRIVATE = ".bumble"
INDEX = "memory.db"
INDEX_ENDINGS = ("", "-journal", "-wal", "-shm")  # of the index and of what SQLite has beside it
# What is made of the other files, or of this machine only: what comes from elsewhere is not used.
DERIVED = (PRIVATE, *(f"{INDEX}{ending}" for ending in INDEX_ENDINGS))


class Approval(Struct, frozen=True):
    """What the user's own config says of a folder's rules."""

    home: Path  # the folder; that of now, where an entity is looked at as it was
    is_listed: bool = False  # among the trusted
    digests: frozenset[str] = frozenset()  # of the rules that were approved


class _Place:
    """A file or folder of an entity, by its name there."""

    def __init__(self, name: str, *, own: bool = False) -> None:
        """Name it.

        Args:
            name: Relative to the folder.
            own: Whether its text reaches prompts, or is written: no link may lead out to it.
        """
        self._name, self._own = name, own

    def __get__(self, entity: Entity, _: type[Entity]) -> Path:
        """Return where it lies.

        Raises:
            UnsafePathError: If it is an entity's own and a link leads out.
        """
        place = entity.root / self._name
        if self._own:
            disk.settled(place)
        return place


class Entity(Struct, frozen=True):
    """An entity folder. Paths only; nothing is read until somebody asks a store."""

    root: Path  # absolute
    approval: Approval | None = None  # None: nobody asked whose its rules are, and all count

    file = _Place(ENTITY_FILE)  # who the entity is, and every setting it overrides
    knowledge = _Place("knowledge.md", own=True)  # durable facts, a `##` section each
    journal = _Place("journal.md", own=True)  # the append-only diary
    narrative = _Place("narrative.md", own=True)  # the self-story
    # living notes for the coming days, which the dream rewrites
    working_memory = _Place("working/MEMORY.md", own=True)
    soma = _Place("soma.yaml", own=True)  # the body: values with the time they were true
    state = _Place("state.yaml", own=True)  # cursors, counters and pending work of the cycles
    episodes = _Place("episodes")  # `<year>/<month>/<id>.md`
    beliefs = _Place("beliefs")  # `<id>.md`
    relationships = _Place("relationships")  # `<person>.md`
    skills = _Place("skills")  # `<slug>.md` or `<slug>/SKILL.md`
    dreams = _Place("dreams")  # `<id>.md`
    topics = _Place("topics")  # `<slug>.md`
    sessions = _Place("sessions")  # `<id>/messages.jsonl` and what belongs to that conversation
    reminders = _Place("reminders")  # `<id>.md`
    automations = _Place("automations")  # `<id>.md`
    checks = _Place("checks")  # `<name>.yaml`
    questions = _Place("questions")  # `<id>.md`
    anchors = _Place("anchors")  # `<slug>.yaml`
    projects = _Place("projects")  # `<slug>.md`
    self_model = _Place("self_model.yaml", own=True)  # how its tools have served
    evolution = _Place("evolution")  # `<id>.md`
    workspace = _Place("workspace", own=True)  # the only place file and command tools may touch
    vectors = _Place(INDEX, own=True)  # derived: the vectors
    # derived, or of this machine only: lock, intents, caches, ledger; git-ignored
    private = _Place(PRIVATE, own=True)
    ledger = _Place(".bumble/log/calls.jsonl", own=True)  # one JSON line a model call
    # what models were asked and what they answered, where the owner wants that kept
    prompts = _Place(".bumble/log/prompts.jsonl", own=True)
    # what was typed in conversations at the terminal, for its arrow keys
    typed = _Place(".bumble/history", own=True)
    # marks of what a model was asked and gave no usable answer to
    vain = _Place(".bumble/cache/vain.json", own=True)
    # what was said of files that can't be read: it is said once
    told = _Place(".bumble/cache/told.json", own=True)
    # one JSON line a run of what happens between turns
    runs = _Place(".bumble/log/runs.jsonl", own=True)

    def __post_init__(self) -> None:
        disk.enclose(self.root)

    def relative(self, path: Path) -> str:
        """Return a path of the folder as change sets and git name it."""
        return path.relative_to(self.root).as_posix()


def find(start: Path) -> Path | None:
    """Return the nearest folder from `start` upward that holds an `entity.yaml`."""
    place = Path(os.path.abspath(start))  # noqa: PTH100  (links are kept: the user's name for it)
    return next(
        (folder for folder in (place, *place.parents) if (folder / ENTITY_FILE).is_file()), None
    )
