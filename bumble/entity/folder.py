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


class Entity(Struct, frozen=True):
    """An entity folder. Paths only; nothing is read until somebody asks a store."""

    root: Path  # absolute
    approval: Approval | None = None  # None: nobody asked whose its rules are, and all count

    def __post_init__(self) -> None:
        disk.enclose(self.root)

    @property
    def file(self) -> Path:
        """Who the entity is, and every setting it overrides."""
        return self.root / ENTITY_FILE

    @property
    def knowledge(self) -> Path:
        """Durable facts, a `##` section each."""
        return self._own("knowledge.md")

    @property
    def journal(self) -> Path:
        """The append-only diary."""
        return self._own("journal.md")

    @property
    def narrative(self) -> Path:
        """The self-story."""
        return self._own("narrative.md")

    @property
    def working_memory(self) -> Path:
        """Living notes for the coming days, which the dream rewrites."""
        return self._own("working/MEMORY.md")

    @property
    def soma(self) -> Path:
        """The body: values with the time they were true."""
        return self._own("soma.yaml")

    @property
    def state(self) -> Path:
        """Cursors, counters and pending work of the cycles."""
        return self._own("state.yaml")

    @property
    def episodes(self) -> Path:
        """`<year>/<month>/<id>.md`."""
        return self.root / "episodes"

    @property
    def beliefs(self) -> Path:
        """`<id>.md`."""
        return self.root / "beliefs"

    @property
    def relationships(self) -> Path:
        """`<person>.md`."""
        return self.root / "relationships"

    @property
    def skills(self) -> Path:
        """`<slug>.md` or `<slug>/SKILL.md`."""
        return self.root / "skills"

    @property
    def dreams(self) -> Path:
        """`<id>.md`."""
        return self.root / "dreams"

    @property
    def topics(self) -> Path:
        """`<slug>.md`."""
        return self.root / "topics"

    @property
    def sessions(self) -> Path:
        """`<id>/messages.jsonl` and what belongs to that conversation."""
        return self.root / "sessions"

    @property
    def reminders(self) -> Path:
        """`<id>.md`."""
        return self.root / "reminders"

    @property
    def automations(self) -> Path:
        """`<id>.md`."""
        return self.root / "automations"

    @property
    def checks(self) -> Path:
        """`<name>.yaml`."""
        return self.root / "checks"

    @property
    def questions(self) -> Path:
        """`<id>.md`."""
        return self.root / "questions"

    @property
    def anchors(self) -> Path:
        """`<slug>.yaml`."""
        return self.root / "anchors"

    @property
    def projects(self) -> Path:
        """`<slug>.md`."""
        return self.root / "projects"

    @property
    def self_model(self) -> Path:
        """How its tools have served."""
        return self._own("self_model.yaml")

    @property
    def evolution(self) -> Path:
        """`<id>.md`."""
        return self.root / "evolution"

    @property
    def workspace(self) -> Path:
        """The only place file and command tools may touch."""
        return self._own("workspace")

    @property
    def vectors(self) -> Path:
        """Derived: the vectors."""
        return self._own(INDEX)

    @property
    def private(self) -> Path:
        """Derived, or of this machine only: lock, intents, caches, ledger; git-ignored."""
        return self._own(PRIVATE)

    @property
    def ledger(self) -> Path:
        """One JSON line a model call."""
        return self._own(".bumble/log/calls.jsonl")

    @property
    def prompts(self) -> Path:
        """What models were asked and what they answered, where the owner wants that kept."""
        return self._own(".bumble/log/prompts.jsonl")

    @property
    def typed(self) -> Path:
        """What was typed in conversations at the terminal, for its arrow keys."""
        return self._own(".bumble/history")

    @property
    def runs(self) -> Path:
        """One JSON line a run of what happens between turns."""
        return self._own(".bumble/log/runs.jsonl")

    def _own(self, name: str) -> Path:
        """Name a file whose text reaches prompts, or that is written: no link may lead out to it.

        Raises:
            UnsafePathError: If one does.
        """
        disk.settled(self.root / name)
        return self.root / name

    def relative(self, path: Path) -> str:
        """Return a path of the folder as change sets and git name it."""
        return path.relative_to(self.root).as_posix()


def find(start: Path) -> Path | None:
    """Return the nearest folder from `start` upward that holds an `entity.yaml`."""
    place = Path(os.path.abspath(start))  # noqa: PTH100  (links are kept: the user's name for it)
    return next(
        (folder for folder in (place, *place.parents) if (folder / ENTITY_FILE).is_file()), None
    )
