"""The file `state.yaml`: cursors, counters and pending work of the jobs; its form.

A cursor is the id of the first message of a conversation of which nothing was made yet; it and all
after it wait. Ids alone tell no order: a message stands where it stands in its conversation.

    sessions:
      ses_01J…: msg_01J…

Under `quoted` stand the first and the last message of a conversation that were only quoted: by a
model that writes, they are to be read.

Knows nothing of the cycles but the form in which they keep the file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from msgspec.structs import replace

from bumble.entity.changes import Change
from bumble.records import base, sessions
from bumble.records.fields import (
    ABSENT,
    Rule,
    by_kind,
    counted,
    either,
    joined,
    later,
    mapping,
    moved,
    nested,
    newer,
)
from bumble.records.kind import Kind
from bumble.text import words, yaml_edit

PATH = "state.yaml"
HEAD = "How far its work has come. Only bumble needs this: no memory stands here."
Keys = tuple[str, ...]
EACH = ""  # any key of a mapping
FORM: Mapping[str, Any] = {  # what is not named is passed over
    "sessions": {},  # ids by conversation; nested in folders of earlier versions
    "quoted": {EACH: str},
    "distill": {EACH: {"at": datetime, "hash": str, "tried": str, "failed": int}},
    "consolidate": {"at": datetime, "count": int},
    "dream": {"last_at": datetime, "empty_at": datetime, "count": int},
    "working": {"at": datetime},
    "wake": {"recent": list, "reason": str},
    "evolve": {"interactions": int, "at": datetime},
    "review": {"waiting": {EACH: datetime}},
}


def parse(source: str, stem: str = "") -> base.MappingFile:
    """Read the state from the text of its file.

    Raises:
        SourceError: If it is not a YAML mapping, or a value of another form.
    """
    file = base.parse_mapping(source, stem)
    _check(file.values, FORM, (), source)
    return file


def _check(values: Mapping[Any, Any], form: Mapping[str, Any], above: Keys, source: str) -> None:
    for key, value in values.items():
        kind, keys = form.get(key, form.get(EACH)), (*above, str(key))
        try:
            if not isinstance(key, str):
                raise ValueError(f"the key `{key}` is not text; put it in quotes")
            if kind is not None and value is not None:
                base.field(values, key, dict if isinstance(kind, Mapping) else kind)
        except ValueError as error:
            raise yaml_edit.SourceError(str(error), yaml_edit.line_of(source, keys)) from error
        if isinstance(kind, Mapping) and value is not None:
            _check(value, kind, keys, source)


read = partial(base.read_mapping, parse=parse)
plan_write: Callable[..., Change | None] = partial(base.plan_mapping, PATH, head=HEAD)


def oldest(marks: Mapping[str, Any], new: Collection[str], most: int) -> list[str]:
    """Return which of some marks, each with its time, make room for new ones."""
    left = sorted((mark for mark in marks if mark not in new), key=lambda one: str(marks[one]))
    return left[: max(0, len(left) + len(new) - most)]


def _review(base: Any, current: Any, incoming: Any) -> Any:
    """Merge what waits for review: what either side has decided no longer does."""
    merged = mapping(base, current, incoming, {"waiting": _dated, "dealt": _dated})
    return {key: value for key, value in merged.items() if value} or ABSENT


# Names that have a time each: what either side took out is gone.
_dated = partial(mapping, rules={}, otherwise=later)


def _consolidation(base: Any, current: Any, incoming: Any) -> Any:
    """Merge when memory was last put in order; what there was to see goes with the later time."""
    if not (isinstance(current, Mapping) and isinstance(incoming, Mapping)):
        return by_kind(base, current, incoming)
    last = newer(current, incoming, "at")
    rules: dict[str, Rule] = {"seen": lambda *_: last.get("seen", ABSENT)}
    return mapping(base, current, incoming, rules, by_kind)


def _dream_count(base: Any, current: Any, incoming: Any) -> Any:
    """Merge the count of dreams: those of one day add up, of two days the later one counts."""
    if not (isinstance(current, Mapping) and isinstance(incoming, Mapping)):
        return by_kind(base, current, incoming)
    sides = [side if isinstance(side, Mapping) else {} for side in (base, current, incoming)]
    day = max(str(side.get("day", "")) for side in sides[1:])
    merged = mapping(base, current, incoming, {"day": lambda *_: day, "count": counted}, by_kind)
    counts = [side.get("count", 0) if side.get("day") == day else 0 for side in sides]
    return {**merged, "count": counted(*counts)} if "count" in merged else merged


STATE = Kind(
    name="state",
    singular="bookkeeping",
    plural="bookkeeping",
    key="state",
    patterns=(PATH,),
    parser=parse,
    teller=lambda *_: iter(("bookkeeping of the cycles",)),
    # cursors that moved on, later times, counts added up
    joiner=partial(
        mapping,
        rules={
            "sessions": nested({}, moved),
            "quoted": nested({}, moved),
            "consolidate": _consolidation,
            "dream": _dream_count,
            "wake": nested({"recent": joined, "reason": either}),
            "review": _review,
        },
        otherwise=by_kind,
    ),
    forgetting="values",
    merging="bumble",
    file_name="bookkeeping",
    of_now=True,
)


SECTION, QUOTED = "sessions", "quoted"
MOST_QUOTED = 20  # conversations, the newest, that a model which writes reads again


def quoted(file: base.MappingFile) -> dict[str, tuple[str, str]]:
    """Return the first and the last message of each conversation that were only quoted."""
    listed = file.get(QUOTED, default={})
    ends = {name: str(listed[name]).split() for name in sorted(listed)}
    return {name: (each[0], each[-1]) for name, each in ends.items() if each}


def waiting(file: base.MappingFile) -> dict[str, str]:
    """Return the first message that waits of each conversation, oldest conversation first."""
    listed = file.get(SECTION, default={})
    return {name: first for name in sorted(listed) if (first := _earliest(listed[name]))}


def _earliest(value: Any) -> str:
    """Return the id in a value; folders made before one cursor told all have several, nested."""
    if isinstance(value, Mapping):
        return min(filter(None, map(_earliest, value.values())), default="")
    return value if isinstance(value, str) else ""


def first_waiting(file: base.MappingFile, session_id: str) -> str | None:
    """Return the id of the first message that waits, None if none does."""
    return _earliest(file.get(SECTION, session_id)) or None


def waiting_messages(
    file: base.MappingFile, session: sessions.Session
) -> tuple[sessions.Message, ...]:
    """Return the messages that wait, oldest first, without what people only passed on in them."""
    start = first_waiting(file, session.id)
    found = () if start is None else session.messages[_before(session, start) :]
    return tuple(map(own_words, found))


def own_words(message: sessions.Message) -> sessions.Message:
    """Return a message without what whoever said it only passed on."""
    is_said = message.role == "user"
    return replace(message, text=words.own_words(message.text)) if is_said else message


def merged_waiting(
    session: sessions.Session, sides: Sequence[tuple[sessions.Session | None, str | None]]
) -> str | None:
    """Return the first message of a merged conversation that no side has dealt with.

    Cursors alone don't tell it: what one side heard may stand before where the other one is.

    Args:
        session: As it was merged.
        sides: The conversation on each side, and its first message that waits there.
    """
    dealt = {
        message.id
        for side, first in sides
        if side is not None
        for message in side.messages[: None if first is None else _before(side, first)]
    }
    return next((message.id for message in session.messages if message.id not in dealt), None)


def between(session: sessions.Session, first: str, last: str) -> Sequence[sessions.Message]:
    """Return the messages from one to another."""
    return session.messages[_before(session, first) : _before(session, last) + 1]


def is_behind(session: sessions.Session, message_id: str, other_id: str) -> bool:
    """Whether a message comes after another."""
    return _before(session, message_id) > _before(session, other_id)


def _before(session: sessions.Session, message_id: str) -> int:
    """Return how many messages come before one; where it is gone, by its id, which holds its time.

    Otherwise by its place: ids of one millisecond are in no order.
    """
    ids = [message.id for message in session.messages]
    return ids.index(message_id) if message_id in ids else sum(id_ < message_id for id_ in ids)


def plan_heard(
    file: base.MappingFile, session: sessions.Session, message_id: str, why: str
) -> Change | None:
    """Plan to let a new message wait, behind the older ones that wait already."""
    if first_waiting(file, session.id) is not None:
        return None
    return plan_write(file, {SECTION: {session.id: message_id}}, why)


def plan_cursor_moved(
    file: base.MappingFile,
    session: sessions.Session,
    last: str,
    why: str,
    *,
    is_quoted: bool = False,
) -> Change | None:
    """Plan to move the cursor behind a message that was dealt with.

    Args:
        file: As it was read.
        session: With all its messages as they are now.
        last: Id of the last message that was dealt with.
        why: For the change set.
        is_quoted: Whether all of it was only quoted.
    """
    start = first_waiting(file, session.id)
    rest = session.messages[_before(session, last) :]
    rest = rest[1:] if rest and rest[0].id == last else rest
    if start is None or _before(session, start) > _before(session, last):
        return None  # another process was faster
    there, values = quoted(file), dict[str, Any]()
    if is_quoted:
        first, _ = there.get(session.id, (start, ""))
        values = {QUOTED: {session.id: f"{first} {last}"}}
    older = [name for name in there if name != session.id]
    full = [(QUOTED, name) for name in older[: -MOST_QUOTED + 1]] if is_quoted else []
    if rest:
        values = {**values, SECTION: {session.id: rest[0].id}}
        return plan_write(file, values, why, remove=full)
    return plan_write(file, values, why, remove=[_place(file, SECTION, session.id), *full])


def plan_read_again(
    file: base.MappingFile, session: sessions.Session, last: str, why: str
) -> Change | None:
    """Plan to move the cursor of what was only quoted; None: another process has."""
    (start, end), ids = quoted(file).get(session.id, ("", "")), [one.id for one in session.messages]
    if not start or _before(session, start) > _before(session, last):
        return None
    rest = ids[_before(session, last) + 1 : _before(session, end) + 1]
    if rest:
        return plan_write(file, {QUOTED: {session.id: f"{rest[0]} {end}"}}, why)
    return plan_write(file, {}, why, remove=[_place(file, QUOTED, session.id)])


def _place(file: base.MappingFile, section: str, session_id: str) -> Keys:
    """Return what is to be removed for a conversation: the section, where it is the only one."""
    return (section,) if len(file.get(section, default={})) == 1 else (section, session_id)
