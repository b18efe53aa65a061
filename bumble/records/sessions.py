"""Transcripts: messages, appraisals and compactions, one JSON object a line, only added to.

A message names the one it follows (`after`): by that they are in order, whatever the clocks said.
Layout: `sessions/<id>/messages.jsonl`; originals too long for a prompt lie in
`sessions/<id>/blobs/` under their SHA-256, the brief for the next session in `handover.md`. Lines:
`session` (the first), `message`, `appraisal` (what a message did to the body), `notice` (what it is
worth remembering for), `compaction`, `undo` (takes back a compaction), `end`, `distilled` (how far
an imported conversation was learnt from), `moved` (where it comes from since), and whatever a later
version adds. Knows nothing of models or prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Annotated, Any, TypeAlias, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from bumble.entity import changes
from bumble.records import base, fields, jsonl
from bumble.text.words import one_line, shorten
from bumble.text.yaml_edit import SourceError


def _share(meta: fields.Meta, key: str) -> float | None:
    return None if meta.get(key) is None else base.unit(meta, key)


class Notice(Struct, frozen=True):
    """What one message of a person is worth remembering for."""

    at: datetime
    message: str  # its id
    keep: bool  # whether it is worth keeping for months
    why: str = ""  # what the message is: `tell`, `joke`, `ask_memory`
    share: Annotated[float | None, fields.Key(read=_share)] = None  # how likely it is, in [0, 1]
    confided: bool = False  # told in confidence: stays with those who heard it
    heavy: int = 0  # 1: a burden, 2: grave
    glad: int = 0  # 1: pleased, 2: big good news
    corrects: tuple[str, ...] = ()  # ids of earlier messages it may put right, likeliest first
    extra: Mapping[str, Any] = field(default_factory=dict)  # who was asked; fields we don't know


PREFIX, MESSAGE_PREFIX, COMPACTION_PREFIX = "ses", "msg", "cmp"
FOLDER = "sessions"
FILE = "messages.jsonl"
COMPACTION_KINDS = ("summary", "prune", "cut")  # prune: tool results are cleared
ROLES = ("user", "assistant", "tool")
REPLACES = "replaces"  # of a message: the id of that whose place it takes, an edited note's
MAX_TITLE_CHARS = 60  # of what an imported conversation is called


def _mapping(meta: fields.Meta, key: str) -> dict[str, Any]:
    return base.field(meta, key, dict, {})


class ToolCall(Struct, frozen=True):
    """A call of a tool that a message made."""

    id: str
    name: str
    arguments: Annotated[Mapping[str, Any], fields.Key(read=_mapping)]


def _calls(meta: fields.Meta, key: str) -> tuple[ToolCall, ...]:
    listed = base.field(meta, key, list, [])
    if not all(isinstance(item, dict) for item in listed):
        raise ValueError(f"`{key}` should be a list of {{id, name, arguments}}")
    return tuple(fields.read_struct(ToolCall, item) for item in listed)


class Message(Struct, frozen=True):
    """One message."""

    id: str  # `msg_<ULID>`
    at: datetime
    role: Annotated[str, fields.Key(read=fields.one_of(ROLES))]
    text: str = ""
    speaker: str = ""  # a person's id for role "user"; empty otherwise
    tool_calls: Annotated[tuple[ToolCall, ...], fields.Key(read=_calls)] = ()
    tool_call_id: str = ""  # role "tool": the call this answers
    trust: Annotated[str, fields.Key(read=fields.one_of(("", *base.TRUSTS), ""))] = ""
    unanswered: bool = False  # nobody replied: the turn crashed, or was cut off
    after: str = ""  # id of the message it follows; empty: of the one before it in the file
    extra: Mapping[str, Any] = field(default_factory=dict)  # fields this version doesn't know

    @property
    def unprompted(self) -> bool:
        """Whether the entity spoke by itself, as with a reminder: that answers nobody."""
        return bool(self.extra.get("unprompted"))

    @property
    def is_example(self) -> bool:
        """Whether a model is shown it: a reply that failed a check, or refused, would be copied."""
        return self.extra.get("example") is not False

    def called(self, entity: str = "", people: Mapping[str, str] = {}) -> str:
        """Return what who said it is called.

        Args:
            entity: What the entity is called; in what was imported another assistant spoke.
            people: What those are called whose name the message doesn't say, by their ids.
        """
        others = {"assistant": entity, "tool": self.extra.get("tool") or "a tool"}
        name = self.extra.get("name") or others.get(self.role) or people.get(self.speaker)
        return one_line(str(name or self.speaker))


def _points(meta: fields.Meta, key: str) -> dict[str, float]:
    points = base.field(meta, key, dict, {})
    return {name: base.field(points, name, float) for name in points}


class Appraised(Struct, frozen=True):
    """What a turn did to the body, once it was appraised."""

    at: datetime
    message: str  # id of the person's message
    points: Annotated[Mapping[str, float], fields.Key(read=_points)]  # by bar
    felt: str = ""
    emotion: str = ""  # of the imprint; empty: nothing is left behind
    intensity: Annotated[float, fields.Key(read=fields.unit(0.0))] = (
        0.0  # of the imprint, in [0, 1]
    )
    trigger: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


def _text(meta: fields.Meta, key: str) -> str:
    return base.field(meta, key, str, "")


class Compaction(Struct, frozen=True):
    """How a stretch of messages is shown from now on: the lines themselves stay as they are."""

    id: str  # `cmp_<ULID>`
    at: datetime
    summary: Annotated[str, fields.Key(read=_text)]  # stands for them; empty for the other kinds
    first: str  # ids of the first and last message it is about
    last: str
    kind: Annotated[str, fields.Key(read=fields.one_of(COMPACTION_KINDS, "summary"))] = "summary"
    message_tokens: int = 0  # "cut": of a message
    result_tokens: int = 0  # and of a tool's result
    extra: Mapping[str, Any] = field(default_factory=dict)


class Undo(Struct, frozen=True):
    """Takes back a compaction; the line of the compaction stays."""

    at: datetime
    undoes: str


class End(Struct, frozen=True):
    """The conversation was ended; a later message opens it again."""

    at: datetime
    after: str = ""  # id of the last message; empty: of the one before it in the file
    extra: Mapping[str, Any] = field(default_factory=dict)


class Distilled(Struct, frozen=True):
    """How far an imported conversation was learnt from; one that was lived has a cursor instead."""

    at: datetime
    last: str  # id of the last message


class Moved(Struct, frozen=True):
    """Where what an imported conversation comes from lies since: a note that was named anew."""

    at: datetime
    imported: Annotated[Mapping[str, Any], fields.Key(read=_mapping)]  # as in the first line


class SessionHead(Struct, frozen=True):
    """The first line: whose conversation it is."""

    id: str  # `ses_<ULID>`
    at: datetime  # when it began
    by: str = ""  # id of the person it was begun with
    present: Annotated[tuple[str, ...], fields.Key("with")] = ()  # ids of the others who hear it
    extra: Mapping[str, Any] = field(default_factory=dict)


Id = TypeVar("Id", bound=Hashable)
Rank: TypeAlias = tuple[bool, datetime, str]
Record: TypeAlias = Message | Appraised | Notice | Compaction | Undo | End | Distilled | Moved
LINES: Mapping[str, type[Record]] = {  # by the type of a line
    "message": Message,
    "appraisal": Appraised,
    "notice": Notice,
    "compaction": Compaction,
    "undo": Undo,
    "end": End,
    "distilled": Distilled,
    "moved": Moved,
}


class Session(SessionHead, frozen=True, kw_only=True):
    """One conversation; `extra` has further fields of its first line."""

    messages: tuple[Message, ...]  # each behind the one it follows
    appraisals: Mapping[str, Appraised]  # by the id of the message, the last of each
    notices: Mapping[str, Notice]  # likewise
    compactions: tuple[Compaction, ...]  # as they were made, those taken back left out
    ended: datetime | None  # when it was ended; None while it goes on
    torn_line: int | None  # a last line that a crash or a copy cut off; it is not read
    source: str  # the text of the file
    distilled: str = ""  # id of the last message that was learnt from, of an imported one

    @property
    def last_at(self) -> datetime:
        """When somebody last said something; when it began, if nobody has."""
        return self.messages[-1].at if self.messages else self.at

    @property
    def imported(self) -> Mapping[str, Any] | None:
        """Where it comes from, if it was had elsewhere: {from, id, title}; None: it was lived."""
        return imported(self.extra)

    @property
    def people(self) -> tuple[str, ...]:
        """Ids of those who took part, the one who began first."""
        speakers = (message.speaker for message in self.messages if message.role == "user")
        return tuple(filter(None, dict.fromkeys((self.by, *self.present, *speakers))))

    @property
    def replaced(self) -> frozenset[str]:
        """Ids of the messages in whose place another stands: earlier wordings of a note."""
        return frozenset(str(message.extra.get(REPLACES, "")) for message in self.messages)

    @property
    def unanswered(self) -> tuple[Message, ...]:
        """The messages at the end that have no reply yet; an imported one waits for none."""
        if self.imported is not None:
            return ()
        waiting: list[Message] = []
        for message in reversed(self.messages):
            spoke = message.text.strip() or not message.tool_calls  # both may come in one step
            if message.role == "assistant" and spoke and not message.unprompted:
                break
            waiting += [message] if message.role == "user" else []
        return tuple(reversed(waiting))


def parse(source: str, stem: str = "") -> Session:
    """Read a session from the text of its file.

    Lines that a merge doubled count once, and messages are put in order (`in_order`). A last line
    that was cut off is skipped and named in `torn_line`; kinds of lines and fields we don't know
    are kept in the file and passed over.

    Raises:
        SourceError: If a line is not what it should be.
    """
    lines, torn_line = jsonl.read(source)
    if not lines or lines[0].data.get("type") != "session":
        raise SourceError('the first line should be the session\'s own: {"type": "session", …}', 1)
    head = jsonl.record(SessionHead, lines[0])
    known = [(LINES.get(str(line.data.get("type"))), line) for line in jsonl.unique(lines[1:])]
    records: list[Record] = [jsonl.record(kind, line) for kind, line in known if kind]
    messages = _messages(records)
    undone = {record.undoes for record in records if isinstance(record, Undo)}
    compactions = [record for record in records if isinstance(record, Compaction)]
    learnt = [record.last for record in records if isinstance(record, Distilled)]
    moved = [{"imported": record.imported} for record in records if isinstance(record, Moved)]
    return Session(
        id=head.id,
        at=head.at,
        by=head.by,
        present=head.present,
        messages=messages,
        appraisals={record.message: record for record in records if isinstance(record, Appraised)},
        notices={record.message: record for record in records if isinstance(record, Notice)},
        compactions=tuple(record for record in compactions if record.id not in undone),
        ended=_ended(records, messages),
        torn_line=torn_line,
        extra={**head.extra, **moved[-1]} if moved else head.extra,
        source=source,
        distilled=learnt[-1] if learnt else "",
    )


def _messages(records: Sequence[Record]) -> tuple[Message, ...]:
    by_id = {record.id: record for record in records if isinstance(record, Message)}
    follows: dict[str, str] = {}
    before = ""  # files of earlier versions say nothing else
    for id_, message in by_id.items():
        follows[id_] = message.after if message.after in by_id else before
        before = id_
    in_line = in_order(follows, lambda id_: rank(by_id[id_].role, by_id[id_].at, id_))
    return tuple(by_id[id_] for id_ in in_line)


def rank(role: str, at: datetime, name: str) -> Rank:
    """Say what comes first of all that was said side by side: what answers, then the earlier."""
    return role == "user", at, name


def in_order(follows: Mapping[Id, Id], rank_of: Callable[[Id], Rank]) -> list[Id]:
    """Put each behind the one it follows, whatever the clocks said.

    Args:
        follows: What each follows, in the order of the file; nothing, if that is not among them.
        rank_of: Decides between those that were said side by side, as on two machines.
    """
    ids = list(follows)
    if all(follows[later] == earlier for earlier, later in pairwise(ids)):
        return ids
    places = {id_: place for place, id_ in enumerate(ids)}
    behind: dict[Id, list[Id]] = {}
    for id_, before in follows.items():
        behind.setdefault(before, []).append(id_)
    found: dict[Id, None] = {}
    ready = [(rank_of(id_), places[id_]) for id_ in ids if follows[id_] not in places]
    heapify(ready)
    for place, id_ in enumerate(ids):
        if not ready and id_ not in found:  # a hand made a ring of them, into which nothing leads
            ready = [(rank_of(id_), place)]
        while ready:
            next_id = ids[heappop(ready)[1]]
            if next_id not in found:
                found[next_id] = None
                for one in behind.get(next_id, ()):
                    heappush(ready, (rank_of(one), places[one]))
    return list(found)


def imported(head: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return where a conversation comes from, by its first line; None if it was lived here."""
    origin = head.get("imported")
    return origin if isinstance(origin, dict) else None


def told_origin(origin: Mapping[str, Any]) -> str:
    """Say for people where an imported conversation comes from."""
    title = shorten(str(origin.get("title") or ""), MAX_TITLE_CHARS)
    return f"imported from {origin.get('from')}{title and f': {title}'}"


def _ended(records: Sequence[Record], messages: Sequence[Message]) -> datetime | None:
    """Return when it was ended: after its last message, for a later one opens it again."""
    last, before, ended = messages[-1].id if messages else "", "", None
    for record in records:
        if isinstance(record, Message):
            before = record.id
        elif isinstance(record, End) and (record.after or before) == last:
            ended = record.at
    return ended


def render(record: Record) -> str:
    """Write a record as its line."""
    kind = next(name for name, type_ in LINES.items() if isinstance(record, type_))
    return jsonl.dumped({"type": kind, **fields.write_struct(record)})


def new(
    session_id: str, at: datetime, by: str, present: Sequence[str] = (), **extra: Any
) -> Session:
    """Make a session that is not in the folder yet; `plan_start` puts it there."""
    head = SessionHead(session_id, at, by, tuple(present), extra)
    return parse(jsonl.dumped({"type": "session", **fields.write_struct(head)}))


def path(session_id: str) -> str:
    """Return where a session's transcript lies, relative to the entity folder."""
    return f"{FOLDER}/{session_id}/{FILE}"


def plan_start(session: Session, why: str, new_records: Iterable[Record] = ()) -> changes.Change:
    """Plan to make the transcript of a new session; the same set may append to it."""
    lines = "".join(map(render, _linked(session, new_records)))
    return changes.write(path(session.id), session.source + lines, None, why)


def plan_append(session: Session, new_records: Iterable[Record], why: str) -> changes.Change:
    """Plan to add lines to the end of a transcript, whatever it holds by then."""
    return changes.add(path(session.id), _added(session, new_records), why)


def _added(session: Session, new_records: Iterable[Record]) -> str:
    text = "".join(map(render, _linked(session, new_records)))
    if session.torn_line is not None:  # says of the line before it that it is known to be cut off
        return jsonl.torn(session.torn_line) + text
    return text


def _linked(session: Session, new_records: Iterable[Record]) -> Iterator[Record]:
    """Let what is said name what it follows: the last message as its speaker knew them."""
    last = session.messages[-1].id if session.messages else ""
    for record in new_records:
        known = isinstance(record, Message | End) and not record.after
        yield replace(record, after=last) if known else record
        last = record.id if isinstance(record, Message) else last


def appended(session: Session, new_records: Iterable[Record]) -> Session:
    """Return a session as it is once `plan_append` is applied, without reading it again."""
    gap = "" if session.source.endswith("\n") else "\n"
    return replace(parse(session.source + gap + _added(session, new_records)), id=session.id)
