"""The file `forgotten.jsonl`: whom an entity has forgotten, so that no merge brings them back.

One JSON object a line, only added to: when that was, the ids of what went, and a keyed hash of each
name. The key stands beside it: who has the folder can try a name, but nobody reads one out of it.
What they say later, to an entity that knows of it, names the line: a clone that does not know of it
writes no such message. Knows nothing of how forgetting is done.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from bumble.entity import changes
from bumble.files import disk
from bumble.records import base, fields, jsonl, sessions

PATH = "forgotten.jsonl"
TYPE = "forgotten"
PREFIX = "fgt"
MET_AFTER = "met_after"  # of a message: ids of lines that name who says it, met anew since


def _texts(meta: fields.Meta, key: str) -> frozenset[str]:
    return frozenset(base.texts(meta, key))


def _key(meta: fields.Meta, key: str) -> str:
    return bytes.fromhex(base.field(meta, key, str)).hex()


class Forgotten(Struct, frozen=True):
    """One person who was forgotten."""

    at: datetime
    key: Annotated[str, fields.Key(read=_key)]  # of the hashes, hexadecimal
    people: Annotated[frozenset[str], fields.Key(read=_texts)]  # hashes of their id and names
    # of the messages, conversations and records that went
    ids: Annotated[frozenset[str], fields.Key(read=_texts)]
    id: str = ""  # empty: an older version's; then all that was said later is of one met anew

    def is_named(self, name: str) -> bool:
        """Whether somebody of this id or name is meant, however it is spelt."""
        return bool(name) and _hash(self.key, name) in self.people

    def is_met_after(self, message: sessions.Message) -> bool:
        """Whether a message of somebody who is named was said to an entity that knew of this."""
        if not self.id:
            return message.at > self.at
        known = message.extra.get(MET_AFTER)
        return isinstance(known, list) and self.id in known


def met_after(entries: Iterable[Forgotten], *names: str) -> dict[str, list[str]]:
    """Return the field of a message of somebody who was forgotten and is met anew, if they were."""
    known = [entry.id for entry in entries if entry.id and any(map(entry.is_named, names))]
    return {MET_AFTER: known} if known else {}


def _hash(key: str, name: str) -> str:
    return hmac.new(bytes.fromhex(key), disk.same_name(name).encode(), hashlib.sha256).hexdigest()


def parse(source: str, stem: str = "") -> tuple[Forgotten, ...]:
    """Read all lines.

    Raises:
        SourceError: If one is not what it should be.
    """
    lines, _ = jsonl.read(source)
    own = (line for line in lines if line.data.get("type") == TYPE)
    return tuple(dict.fromkeys(jsonl.record(Forgotten, line) for line in own))


def read(root: Path) -> tuple[Forgotten, ...]:
    """Read whom an entity has forgotten; no file is nobody.

    Raises:
        RecordInvalidError: If the file is not what it should be.
    """
    return base.load(root / PATH, parse) if (root / PATH).exists() else ()


def plan_add(
    at: datetime, names: Iterable[str], ids: Iterable[str], key: str, why: str
) -> changes.Change:
    """Plan to add a person.

    Args:
        at: When they said something last, or the present.
        names: Their id, and what they are called.
        ids: Of all that goes.
        key: Of the hashes, hexadecimal, made of chance.
        why: For the change set.
    """
    line = {
        "type": TYPE,
        "id": base.stable_id(PREFIX, at, key),
        "at": at.isoformat(timespec="milliseconds"),
        "key": key,
        "people": sorted({_hash(key, name) for name in names if name.strip()}),
        "ids": sorted(ids),
    }
    return changes.add(PATH, jsonl.dumped(line), why)
