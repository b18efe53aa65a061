"""The file `forgotten.jsonl`: whom an entity has forgotten, so that no merge brings them back.

One JSON object a line, only added to: until when what they said is forgotten, the ids of what went,
and a keyed hash of each name. The key stands beside it: who has the folder can try a name, but
nobody reads one out of it. Knows nothing of how forgetting is done.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from bumble import files
from bumble.entity import changes
from bumble.entity.changes import Change
from bumble.errors import RecordInvalidError
from bumble.records import base, jsonl
from bumble.text.yaml_edit import SourceError

PATH = "forgotten.jsonl"
TYPE = "forgotten"


class Forgotten(Struct, frozen=True):
    """One person who was forgotten."""

    at: datetime  # what they said later is not forgotten
    key: str  # of the hashes, hexadecimal
    people: frozenset[str]  # hashes of their id and names
    ids: frozenset[str]  # of the messages, conversations and records that went

    def is_named(self, name: str) -> bool:
        """Whether somebody of this id or name is meant, however it is spelt."""
        return bool(name) and _hash(self.key, name) in self.people


def _hash(key: str, name: str) -> str:
    return hmac.new(bytes.fromhex(key), files.same_name(name).encode(), hashlib.sha256).hexdigest()


def parse(source: str) -> tuple[Forgotten, ...]:
    """Read all lines.

    Raises:
        SourceError: If one is not what it should be.
    """
    lines, _ = jsonl.read(source)
    entries = []
    for line in lines:
        try:
            if line.data.get("type") == TYPE:
                key = base.field(line.data, "key", str)
                bytes.fromhex(key)
                entries.append(
                    Forgotten(
                        base.field(line.data, "at", datetime),
                        key,
                        frozenset(base.texts(line.data, "people")),
                        frozenset(base.texts(line.data, "ids")),
                    )
                )
        except ValueError as error:
            raise SourceError(str(error), line.number) from error
    return tuple(dict.fromkeys(entries))


def read(root: Path) -> tuple[Forgotten, ...]:
    """Read whom an entity has forgotten; no file is nobody.

    Raises:
        RecordInvalidError: If the file is not what it should be.
    """
    path = root / PATH
    if not path.exists():
        return ()
    try:
        return parse(base.read_text(path))
    except SourceError as error:
        raise RecordInvalidError(path, error.problem, error.line) from error


def plan_add(at: datetime, names: Iterable[str], ids: Iterable[str], key: str, why: str) -> Change:
    """Plan to add a person.

    Args:
        at: Until when what they said is forgotten.
        names: Their id, and what they are called.
        ids: Of all that goes.
        key: Of the hashes, hexadecimal, made of chance.
        why: For the change set.
    """
    hashes = sorted({_hash(key, name) for name in names if name.strip()})
    line = {
        "type": TYPE,
        "at": at.isoformat(timespec="milliseconds"),
        "key": key,
        "people": hashes,
        "ids": sorted(ids),
    }
    return changes.add(PATH, jsonl.dumped(line), why)
