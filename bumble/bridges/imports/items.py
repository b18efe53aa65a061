"""What is read out of other programs' files: talks, facts, skills, who somebody is, what is left.

Values only, the same for every format; they say what stands in a file, not where it goes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, tzinfo
from typing import Any, TypeAlias

from msgspec import Struct, field

PERSON, OTHER, GUEST = "person", "other", "guest"


class ImportContext(Struct, frozen=True):
    """What a reader has to know beside the files."""

    zone: tzinfo  # the entity's: it decides where a day ends
    person: str  # what the person is called whose files they are
    # Whether an id or a name is of somebody whom the entity has forgotten.
    is_forgotten: Callable[[str], bool] = lambda _: False


class ImportedTurn(Struct, frozen=True):
    """One message of a talk, or one text that lay with it."""

    id: str  # its own where it comes from, unique in its talk
    at: datetime | None  # None: as the one before it
    by: str  # PERSON: whose export it is; GUEST: another person; OTHER: an assistant, or a file
    text: str
    name: str = ""  # of a guest, an assistant or a file
    model: str = ""  # that wrote it
    blocks: int = 1  # pieces of the message it was made of


class ImportedTalk(Struct, frozen=True):
    """A conversation, or a dated text: a talk of one turn."""

    id: str  # its own where it comes from, unique in its format
    title: str
    at: datetime | None  # when it began; None: when its first turn was
    turns: tuple[ImportedTurn, ...]


class Fact(Struct, frozen=True):
    """Something that another assistant held to be so, or that a card says of its world."""

    title: str
    text: str
    public: bool = False  # for everybody, not for the person alone


class Recipe(Struct, frozen=True):
    """How to do something."""

    name: str
    description: str
    text: str


class ImportedPersona(Struct, frozen=True):
    """Who somebody is."""

    name: str  # empty where nothing says it
    monologue: str
    voice: str = ""
    greeting: str = ""  # what it says first in a new talk
    card: Mapping[str, Any] = field(default_factory=dict)  # all that stood there, for an export


class LeftOut(Struct, frozen=True):
    """Something that is not imported."""

    what: str  # which: the name of a file, the title of a talk
    why: str  # worded the same for all of a kind, so that they can be counted
    broken: bool = False  # it should have been readable
    count: int = 1
    is_block: bool = False  # pieces of messages are counted, not files or conversations


Item: TypeAlias = ImportedTalk | Fact | Recipe | ImportedPersona | LeftOut
