"""The ledger of a talk: every block of its messages is taken, or left out for a reason and counted.

A reader makes an `ImportedBlock` of each piece of a message, also of what it doesn't know; `talk`
is the one way from blocks to what is imported, so that nothing vanishes in between. Knows no
format.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from bumble.bridges.imports import lenient
from bumble.bridges.imports.items import OTHER, ImportedTalk, ImportedTurn, Item, LeftOut

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


def aside(head: ImportedTurn, blocks: Sequence[ImportedBlock]) -> ImportedMessage:
    """Leave out a message of another branch, but for documents, which are nowhere else."""
    kept = [block if block.is_made else ImportedBlock(why=ASIDE) for block in blocks]
    return ImportedMessage(head, kept, is_aside=True)


def unknown(kind: object) -> ImportedBlock:
    """Leave out what nobody knows, by the name of its kind."""
    name = " ".join(lenient.text(kind).split())[:MAX_KIND_CHARS]
    return ImportedBlock(why=f"blocks of a kind that is not known: {name or 'without a name'}")


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
    """Turn messages into a talk, and count what of them is left out."""
    turns: list[ImportedTurn] = []
    left: Counter[str] = Counter()
    for message in said:
        found = list(_turns(message))
        place = _place(turns, message) if message.is_aside else len(turns)
        turns[place:place] = found
        left.update(block.why for block in message.blocks if block.why)
    for why, count in left.items():
        yield LeftOut(title or talk_id, why, count=count, is_block=True)
    yield ImportedTalk(talk_id, title, begun, tuple(turns))


def _place(turns: Sequence[ImportedTurn], message: ImportedMessage) -> int:
    """Return where in a talk a message of another branch belongs, by its time."""
    at = message.head.at
    later = (n for n, turn in enumerate(turns) if at and turn.at and turn.at > at)
    return next(later, len(turns))


def _turns(message: ImportedMessage) -> Iterator[ImportedTurn]:
    """Yield a message, and the files that lay with it, which nobody said."""
    head, taken = message.head, [block for block in message.blocks if not block.why]
    text = "".join(_joined(taken))
    if text.strip():
        yield replace(head, text=text, blocks=len(taken))
    files = [block for block in taken if block.file]
    for number, block in enumerate(files):
        if block.inside.strip():
            file_id = f"{head.id} file {number}"
            yield ImportedTurn(file_id, head.at, OTHER, block.inside, block.file, blocks=0)


def _joined(blocks: Sequence[ImportedBlock]) -> Iterator[str]:
    if not blocks:
        return
    yield blocks[0].text
    for before, block in pairwise(blocks):
        yield "\n" if before.is_mark and block.is_mark else "\n\n"
        yield block.text
