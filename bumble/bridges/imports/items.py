"""What is read of other programs' files, and the report of it.

Values only, the same for every format; they say what stands in a file, not where it goes. A reader
makes an `ImportedBlock` of each piece of a message, also of what it doesn't know; `talk` is the one
way from blocks to what is imported, so that every block is taken, or left out for a reason and
counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from itertools import pairwise
from typing import Any, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from bumble.text import words

PERSON, OTHER = "person", "other"


class ImportContext(Struct, frozen=True):
    """What a reader has to know beside the files."""

    zone: tzinfo  # the entity's: it decides where a day ends
    named: Callable[[str], str]  # puts names in the place of the macros of a card


class ImportedTurn(Struct, frozen=True):
    """One message of a talk, or one text that lay with it."""

    id: str  # its own where it comes from, unique in its talk
    at: datetime | None  # None: as the one before it
    by: str  # PERSON: whose export it is; OTHER: an assistant, or a file
    text: str
    name: str = ""  # of an assistant or a file
    model: str = ""  # that wrote it
    blocks: int = 1  # pieces of the message it was made of
    changed: datetime | None = None  # when its words were last; a later wording has this time


class ImportedTalk(Struct, frozen=True):
    """A conversation, or a dated text: a talk of one turn."""

    id: str  # its own where it comes from, unique in its format
    title: str
    at: datetime | None  # when it began; None: when its first turn was
    turns: tuple[ImportedTurn, ...]
    beside: frozenset[str] = frozenset()  # of a note: the ids of all that lie there
    is_dated: bool = False  # of a note: it says itself of when it is
    below: str = ""  # of a note: how the ids begin of all that lie where the import is from


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


ASIDE = "on branches that were not shown last"
CALLS, RESULTS = "calls of tools", "answers of tools"
ERRORS, HIDDEN = "errors", "hidden messages"
MEDIA = "sounds and videos"
SYSTEM = "messages of the system, and instructions to the assistant"
THOUGHTS = "thoughts of the assistant"
MAX_KIND_CHARS = 40


class ImportedBlock(Struct, frozen=True):
    """One piece of a message: what of it is taken, or why it isn't."""

    text: str = ""  # stands in the message
    why: str = ""  # it is left out; worded the same for all of a kind
    file: str = ""  # the name of a text of its own: a file
    inside: str = ""  # what stands in that file
    is_mark: bool = False  # its text only names something
    is_made: bool = False  # a document of the assistant's: taken from whatever branch


class ImportedMessage(Struct, frozen=True):
    """A message of another program: its head, and all that stands in it."""

    head: ImportedTurn
    blocks: Sequence[ImportedBlock]
    is_aside: bool = False  # on a branch that was not shown last


def unknown(kind: str) -> ImportedBlock:
    """Leave out what nobody knows, by the name of its kind."""
    name = " ".join(kind.split())[:MAX_KIND_CHARS]
    return ImportedBlock(why=f"blocks of a kind that is not known: {name or 'without a name'}")


def head(
    turn_id: str, at: datetime | None, assistant: str, model: str = "", *, own: bool
) -> ImportedTurn:
    """Make the head of a message: the person's own, or the assistant's."""
    if own:
        return ImportedTurn(turn_id, at, PERSON, "")
    return ImportedTurn(turn_id, at, OTHER, "", assistant, model)


def branch(parents: Mapping[str, str], leaf: str) -> dict[str, None]:
    """Return the ids that lead from a root to a leaf, in order; a circle ends where it closes."""
    way: dict[str, None] = {}
    while leaf in parents and leaf not in way:
        way[leaf] = None
        leaf = parents[leaf]
    return dict.fromkeys(reversed(way))


def of_branches(
    parents: Mapping[str, str], leaf: str, make: Callable[[str], ImportedMessage]
) -> Iterator[ImportedMessage]:
    """Yield the messages of the branch that was shown last; of all others what is left out.

    Documents of the assistant's are taken from whatever branch: they are nowhere else.

    Args:
        parents: The id that each message follows, by its own.
        leaf: The last message of that branch.
        make: Reads a message.
    """
    shown = branch(parents, leaf)
    yield from map(make, shown)
    for message in (make(one) for one in parents if one not in shown):
        kept = [one if one.is_made else ImportedBlock(why=ASIDE) for one in message.blocks]
        yield ImportedMessage(message.head, kept, is_aside=True)


def newest_leaf(parents: Mapping[str, str], times: Mapping[str, datetime | None]) -> str:
    """Return the last message of a tree of messages: of those without an answer the newest."""
    leaves = [one for one in parents if one not in set(parents.values())] or list(parents)
    return max(leaves, key=lambda leaf: at.timestamp() if (at := times[leaf]) else 0.0)


def mark(what: str, name: str = "") -> ImportedBlock:
    """Name something in the place where it stood: `[picture: tide.png]`."""
    return ImportedBlock(marked(what, name), is_mark=True)


def marked(what: str, name: str = "") -> str:
    """Return the words that name something."""
    shown = " ".join(name.replace("[", "(").replace("]", ")").split())
    return f"[{what}: {shown}]" if shown else f"[{what}]"


def titled(what: str, name: str, text: str) -> ImportedBlock:
    """Take a text that the assistant made, with its name above it."""
    return ImportedBlock(f"{marked(what, name)}\n\n{text}", is_made=True)


def to_memory(text: str) -> ImportedBlock:
    """Take what the assistant noted of the person, to remember."""
    return ImportedBlock(f"(to its memory) {text}")


def fenced(text: str, language: str = "") -> str:
    """Return code between fences longer than any in it."""
    ticks = "```"
    while ticks in text:
        ticks += "`"
    name = language if language.isalnum() and language != "unknown" else ""
    return f"{ticks}{name}\n{text}\n{ticks}"


def talk(
    talk_id: str, title: str, begun: datetime | None, said: Iterable[ImportedMessage]
) -> Iterator[Item]:
    """Turn messages into a talk, and count what of them is left out.

    Raises:
        ValueError: If it has no id.
    """
    if not talk_id:
        raise ValueError("a conversation without an id")
    turns: list[ImportedTurn] = []
    left: Counter[str] = Counter()
    for message in said:
        place = _place(turns, message) if message.is_aside else len(turns)
        turns[place:place] = list(_turns(message))
        left.update(block.why for block in message.blocks if block.why)
    for why, count in left.items():
        yield LeftOut(title or talk_id, why, count=count, is_block=True)
    yield ImportedTalk(talk_id, title, begun, tuple(turns))


def _place(turns: Sequence[ImportedTurn], message: ImportedMessage) -> int:
    """Return where in a talk a message of another branch belongs, by its time."""
    at = message.head.at
    return next((n for n, turn in enumerate(turns) if at and turn.at and turn.at > at), len(turns))


def _turns(message: ImportedMessage) -> Iterator[ImportedTurn]:
    """Yield a message, and the files that lay with it, which nobody said."""
    head, taken = message.head, [block for block in message.blocks if not block.why]
    text = "".join(_joined(taken))
    if text.strip():
        yield replace(head, text=text, blocks=len(taken))
    for number, block in enumerate(block for block in taken if block.file):
        if block.inside.strip():
            file_id = f"{head.id} file {number}"
            yield ImportedTurn(file_id, head.at, OTHER, block.inside, block.file, blocks=0)


def _joined(blocks: Sequence[ImportedBlock]) -> Iterator[str]:
    yield from (block.text for block in blocks[:1])
    for before, block in pairwise(blocks):
        yield ("\n" if before.is_mark and block.is_mark else "\n\n") + block.text


EXAMPLES = 5  # of what was left out for a reason
MAX_REASONS = 50  # what a broken file says may differ each time


class ImportReport(Struct):
    """The counts of an import."""

    read: bool = False  # whether anything could be, taken or not
    broken: int = 0  # things that should have been readable and were not
    new: int = 0  # conversations
    grown: int = 0
    unchanged: int = 0
    older: int = 0  # than was asked for
    messages: int = 0
    blocks: int = 0  # pieces of messages that were taken, also of those that are there already
    facts: int = 0
    skills: int = 0
    same: int = 0  # facts and skills that say so already
    persona: list[str] = field(default_factory=list)  # what was set: `identity.monologue`
    secrets: list[str] = field(default_factory=list)  # where one was hidden, a name a text
    left_out: dict[str, list[LeftOut]] = field(default_factory=dict)  # by reason

    @property
    def changed(self) -> bool:
        """Whether anything was written."""
        return bool(self.new or self.grown or self.facts or self.skills or self.persona)

    def leave(self, item: LeftOut) -> None:
        """Note what was left out."""
        why = item.why
        if why not in self.left_out and len(self.left_out) >= MAX_REASONS:
            why = "further kinds of blocks" if item.is_block else "further problems"
        self.left_out.setdefault(why, []).append(item)
        self.broken += item.count * item.broken

    def data(self) -> dict[str, Any]:
        """Return it for JSON."""
        every = (one for items in self.left_out.values() for one in items)
        return {
            "conversations": {
                "new": self.new,
                "grown": self.grown,
                "unchanged": self.unchanged,
                "older": self.older,
            },
            "messages": self.messages,
            "blocks": {
                "taken": self.blocks,
                "left_out": sum(one.count for one in every if one.is_block),
            },
            "facts": self.facts,
            "skills": self.skills,
            "same": self.same,
            "persona": self.persona,
            "secrets": len(self.secrets),
            "left_out": [
                {
                    "why": why,
                    "broken": items[0].broken,
                    "is_block": items[0].is_block,
                    "count": sum(one.count for one in items),
                    "examples": _examples(items),
                }
                for why, items in self.left_out.items()
            ],
        }

    def lines(self, holds: str) -> Iterator[str]:
        """Yield it for people, who are told of `conversation`s, say."""
        counted, grown = words.counted, f", {self.grown:,} that went on" if self.grown else ""
        kept = f"{counted(self.new, holds)}{grown}: {counted(self.messages, 'message')}"
        hidden = f"{counted(len(self.secrets), 'text')}{_shown(self.secrets)}"
        there = self.unchanged + self.same
        rows = (  # each where there is something to tell
            (self.new or self.grown, kept),
            (self.facts, f"{counted(self.facts, 'section')} of knowledge, quoted as imported"),
            (self.skills, f"{counted(self.skills, 'skill')}, quoted as imported"),
            (self.persona, f"who it is: {', '.join(self.persona)}"),
            (there, f"{there:,} already there, unchanged"),
            (self.older, f"{counted(self.older, holds)} older than --from"),
            (self.secrets, f"secrets were hidden in {hidden}"),
        )
        yield from (f"  {line}" for is_told, line in rows if is_told)
        for why, items in sorted(self.left_out.items(), key=lambda pair: not pair[1][0].broken):
            count = sum(one.count for one in items)
            yield f"  left out: {count:,} × {why}{_shown(_examples(items), count)}"


def _examples(items: Sequence[LeftOut]) -> list[str]:
    return [one.what[:160] for one in items if one.what][:EXAMPLES]


def _shown(names: Sequence[str], count: int = 0) -> str:
    """Show the first of some names, in brackets."""
    shown = ", ".join(list(dict.fromkeys(names))[:EXAMPLES])
    return f" ({shown}{' …' * (max(count, len(names)) > EXAMPLES)})" if shown else ""
