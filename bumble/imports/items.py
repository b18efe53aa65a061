"""What is read out of other programs' files: talks, facts, skills, who somebody is, what is left.

Values only, the same for every format; they say what stands in a file, not where it goes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any, TypeAlias

PERSON, OTHER, GUEST = "person", "other", "guest"


@dataclass(frozen=True)
class ImportContext:
    """What a reader has to know beside the files."""

    zone: tzinfo  # the entity's: it decides where a day ends
    person: str  # what the person is called whose files they are
    # Whether an id or a name is of somebody whom the entity has forgotten.
    is_forgotten: Callable[[str], bool] = lambda _: False


@dataclass(frozen=True)
class ImportedTurn:
    """One message of a talk, or one text that lay with it."""

    id: str  # its own where it comes from, unique in its talk
    at: datetime | None  # None: as the one before it
    by: str  # PERSON: whose export it is; GUEST: another person; OTHER: an assistant, or a file
    text: str
    name: str = ""  # of a guest, an assistant or a file
    model: str = ""  # that wrote it


@dataclass(frozen=True)
class ImportedTalk:
    """A conversation, or a dated text: a talk of one turn."""

    id: str  # its own where it comes from, unique in its format
    title: str
    at: datetime | None  # when it began; None: when its first turn was
    turns: tuple[ImportedTurn, ...]


@dataclass(frozen=True)
class Fact:
    """Something that another assistant held to be so, or that a card says of its world."""

    title: str
    text: str
    public: bool = False  # for everybody, not for the person alone


@dataclass(frozen=True)
class Recipe:
    """How to do something."""

    name: str
    description: str
    text: str


@dataclass(frozen=True)
class ImportedPersona:
    """Who somebody is."""

    name: str  # empty where nothing says it
    monologue: str
    voice: str = ""
    greeting: str = ""  # what it says first in a new talk
    card: Mapping[str, Any] = field(default_factory=dict)  # all that stood there, for an export


@dataclass(frozen=True)
class LeftOut:
    """Something that is not imported."""

    what: str  # which: the name of a file, the title of a talk
    why: str  # worded the same for all of a kind, so that they can be counted
    broken: bool = False  # it should have been readable
    count: int = 1


Item: TypeAlias = ImportedTalk | Fact | Recipe | ImportedPersona | LeftOut
