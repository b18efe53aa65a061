"""Any record by its id or name, or a part of it, in the same fields whatever its kind.

A message is found without the index: its id holds the time when it was said, which leaves few
transcripts to look into. Writes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import tzinfo
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bumble import patterns
from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError, RecordMissingError, RecordUnclearError
from bumble.files import disk
from bumble.records import base, journal, kinds, knowledge, relationships, session_files
from bumble.records.kind import Kind, RecordKind, RecordView
from bumble.records.sessions import Compaction, Message, Session
from bumble.text import titles

MaySee = Callable[[base.Provenance], bool]
_ID = patterns.compile(rb'"id"\s*:\s*"((?:msg|cmp)_[^"\\]+)"')


class FoundMessage(Struct, frozen=True):
    """A message or a summary, with the conversation and the line that hold it."""

    record: Message | Compaction
    session: Session
    line: int  # of the transcript


class MessageIndex:
    """Finds messages in the conversations of an entity; reads each once, when it is needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._sessions: dict[str, Session] = {}

    @cached_property
    def paths(self) -> dict[str, Path]:
        """Transcripts by the id of their conversation."""
        return {path.parent.name: path for path in session_files.paths(self.folder)}

    def session(self, session_id: str) -> Session | None:
        """Return a conversation; None if it is not here.

        Raises:
            RecordInvalidError: If its transcript can't be read.
        """
        if session_id not in self._sessions and session_id in self.paths:
            self._sessions[session_id] = session_files.load(self.paths[session_id])
        return self._sessions.get(session_id)

    def find(self, record_id: str) -> FoundMessage | None:
        """Return a message or a summary; None if no conversation holds it."""
        wanted, at, likely = record_id.encode(), base.time_of(record_id), list(self.paths)
        if at is not None:  # first those that began about when the id was made
            likely.sort(key=lambda one: abs(at - (base.time_of(one) or at)))
        for session_id in likely:
            if session_id in self._sessions or wanted in (
                disk.read_if_there(self.paths[session_id]) or b""
            ):
                session = self.session(session_id)
                if session and (found_message := _find_in(session, record_id)):
                    return found_message
        return None

    def ids(self) -> Iterator[str]:
        """Yield the ids of all messages and summaries, the oldest conversation first."""
        for path in self.paths.values():
            yield from (match.decode() for match in _ID.findall(disk.read_if_there(path) or b""))


def _find_in(session: Session, record_id: str) -> FoundMessage | None:
    entries: tuple[Message | Compaction, ...] = (*session.messages, *session.compactions)
    record = next((entry for entry in entries if entry.id == record_id), None)
    if record is None:
        return None
    mark = re.compile(rf'"id"\s*:\s*"{re.escape(record_id)}"')
    rows = enumerate(session.source.split("\n"), 1)
    return FoundMessage(
        record, session, next((line for line, text in rows if mark.search(text)), 1)
    )


MESSAGE = "message"
KINDS = (*(kind.name for kind in kinds.KINDS if kind.explained), MESSAGE)
WITH_IDS = (*(kind.name for kind in kinds.KINDS if kind.explained and kind.prefix), MESSAGE)
CLAIMS = tuple(kind.name for kind in kinds.KINDS if kind.claims)
LINES = tuple(kind.name for kind in kinds.KINDS if kind.is_lines)
_DAY = patterns.compile(r"\d{4}-\d\d-\d\d")


class LibraryRecord(RecordView, frozen=True, kw_only=True):
    """One record of any kind, with where it stands."""

    kind: str  # one of KINDS, `note` (a person's, pending) or `summary` (of a conversation)
    path: str = ""  # relative to the entity's folder
    speaker: str = ""  # of a message, as shown
    session: str = ""  # the conversation a message belongs to
    imported: Mapping[str, Any] | None = None  # where that comes from, if it was had elsewhere
    notes: tuple[LibraryRecord, ...] = ()  # what waits to be worked into a portrait
    sentence: str = ""  # that of its text which is asked about; empty: all of it

    @property
    def by_hand(self) -> bool:
        """Whether a person wrote it."""
        return self.kind not in ("message", "session", "summary") and not self.origin.by

    def data(self) -> dict[str, Any]:
        """Return it for JSON."""
        origin = self.origin
        return {
            "kind": self.kind or None,
            "id": self.id,
            "text": self.text,
            "at": self.at.isoformat() if self.at else None,
            "path": self.path or None,
            "line": self.line,
            "speaker": self.speaker or None,
            "imported": dict(self.imported) if self.imported else None,
            "by": origin.by or None,
            "model": origin.model or None,
            "trust": origin.trust or None,
        }


class Library:
    """Finds the records of one entity."""

    def __init__(self, entity: Entity, *, name: str, zone: tzinfo) -> None:
        self.entity, self.name, self.zone = entity, name, zone
        self.messages = MessageIndex(entity.sessions)

    def look_up(
        self,
        query: str,
        kind: str | None = None,
        may_see: MaySee = lambda _: True,
    ) -> LibraryRecord:
        """Return the record a person means: by id, an end or a beginning of one, title or time.

        Args:
            query: What they wrote.
            kind: Of the record; None for any.
            may_see: Whether other records may be named to them.

        Raises:
            RecordMissingError: If there is none.
            RecordUnclearError: If it could be more than one.
            RecordInvalidError: If its file can't be read.
        """
        wanted = query.strip()
        chosen = kind or _kind_of(wanted)
        among = [chosen] if chosen else KINDS
        matches = self._matches(wanted, among)
        if len(matches) > 1:
            matches = [each for each in matches if self._is_seen(each, may_see)] or matches[:1]
            # what is told as true goes before a topic, say, that was drawn from it
            matches = [each for each in matches if each[0] in CLAIMS] or matches
        if len(matches) > 1:
            advice = "Say which with --kind." if len(dict(matches)) > 1 else "Give more of it."
            raise RecordUnclearError(wanted, [" ".join(match) for match in matches], advice)
        if not matches or (item := self.item(*matches[0])) is None:
            named = {name: (each, found) for each in among for name, found in self._names(each)}
            near = base.nearest(wanted, named)
            may_name = near is not None and self._is_seen(named[near], may_see)
            raise RecordMissingError(chosen or "record", query, near if may_name else None)
        return item

    def source(self, record_id: str) -> LibraryRecord | None:
        """Return what a record names as its source; None if it is not here."""
        kind = _kind_of(record_id)
        candidates = [kind] if kind else [name for name in KINDS if name != MESSAGE]
        return next(
            (
                item
                for candidate in candidates
                if (item := self.item(candidate, record_id)) is not None
            ),
            None,
        )

    def item(self, kind: str, record_id: str) -> LibraryRecord | None:
        """Return the record of a kind and an id; None if there is none."""
        if kind == MESSAGE:
            return self._read_message(record_id)
        if kind == session_files.SESSION.name:
            session = self.messages.session(record_id)
            if session is None:
                return None
            view, path = session_files.view(session), self.messages.paths[record_id]
            return replace(self._of_view(kind, view, path), imported=session.imported)
        return self._read_record(kinds.BY_NAME[kind], record_id)

    def items(self, kind: Kind) -> Iterator[LibraryRecord]:
        """Yield every record of a kind; a file that can't be read is passed over."""
        for path in kind.paths(self.entity):
            with suppress(RecordInvalidError):
                for view in kind.read(path, self.zone):
                    yield self._of_view(kind.name, view, path)

    @property
    def people_names(self) -> list[str]:
        """What those are called whom it knows."""
        return [name for person in self._people for name in (person.id, *person.names)]

    # what is asked for

    def _matches(self, wanted: str, among: Iterable[str]) -> list[tuple[str, str]]:
        """Return kind and id of what is meant: what is called so, else has that title or part."""
        for finding in (self._find_exact, self._find_titled, self._find_partial):
            if matches := [(kind, found) for kind in among for found in finding(kind, wanted)]:
                return matches
        return []

    def _is_seen(self, match: tuple[str, str], may_see: MaySee) -> bool:
        item = self.item(*match)
        return item is None or may_see(item.origin)

    def _find_exact(self, kind: str, wanted: str) -> list[str]:
        if kind == MESSAGE:
            return [wanted] if _kind_of(wanted) and self.messages.find(wanted) else []
        if kind == relationships.PERSON.name:
            match = relationships.match(self._people, wanted)
            return [match.id] if match else []
        same = knowledge.key if kind == knowledge.KNOWLEDGE.name else disk.same_name
        found = [record_id for name, record_id in self._names(kind) if same(name) == same(wanted)]
        return list(dict.fromkeys(found)) if kind in LINES else found[:1]

    def _find_titled(self, kind: str, wanted: str) -> list[str]:
        """Return the ids of the records that have a title, by their heading."""
        titled = kinds.BY_NAME.get(kind)
        if _kind_of(wanted) or not isinstance(titled, RecordKind) or not titled.prefix:
            return []
        records = titled.readable(self.entity.root / titled.folder)
        return [
            one.id
            for one in records
            if disk.same_name(titles.heading(one.source.body)) == disk.same_name(wanted)
        ]

    def _find_partial(self, kind: str, wanted: str) -> list[str]:
        """Return the ids of which it is part enough, entries of a time, lines that hold it."""
        if kind in WITH_IDS:
            return kinds.by_part(wanted, [record_id for _, record_id in self._names(kind)])
        if kind == journal.JOURNAL.name and _DAY.match(wanted):
            begun = wanted.upper().replace("T", " ")
            return [at for _, at in self._names(kind) if at.startswith(begun)]
        if kind not in LINES or len(wanted) < base.SHORTEST_END:
            return []
        part, named = wanted.casefold(), self._names(kind)
        return list(dict.fromkeys(one for text, one in named if part in text.casefold()))

    def _names(self, name: str) -> list[tuple[str, str]]:
        """Return what the records of a kind may be called, each with its id."""
        if name == MESSAGE:
            return [(one, one) for one in dict.fromkeys(self.messages.ids())]
        if name == relationships.PERSON.name:
            return [(called, one.id) for one in self._people for called in (one.id, *one.names)]
        kind = kinds.BY_NAME[name]
        if kind.is_file:
            views = [
                view for path in kind.paths(self.entity) for view in kind.read(path, self.zone)
            ]
            lines = [(view.text, view.id) for view in views if kind.is_lines]
            return [*((view.id, view.id) for view in views), *lines]
        stems = [(stem, stem) for path in kind.paths(self.entity) for stem in [kind.stem(path)]]
        if not isinstance(kind, RecordKind) or len(kind.named_by) < 2:
            return stems
        records = kind.readable(self.entity.root / kind.folder)
        return [*((getattr(one, kind.named_by[0]), one.id) for one in records), *stems]

    @cached_property
    def _people(self) -> list[relationships.Relationship]:
        return list(relationships.PERSON.readable(self.entity.relationships))

    # one record

    def _read_record(self, kind: Kind, record_id: str) -> LibraryRecord | None:
        paths = kind.paths(self.entity) if kind.is_file else kind.locate(self.entity, record_id)
        same = knowledge.key if kind is knowledge.KNOWLEDGE else str  # titles have many spellings
        views = ((view, path) for path in paths[:1] for view in kind.read(path, self.zone))
        meant = (pair for pair in views if same(pair[0].id) == same(record_id))
        return next((self._of_view(kind.name, *pair) for pair in meant), None)

    def _of_view(self, kind: str, view: RecordView, path: Path) -> LibraryRecord:
        notes = tuple(self._of_view("note", note, path) for note in view.notes)
        line = view.line or view.line_of(view.sources_key)
        shared = {name: getattr(view, name) for name in RecordView.__struct_fields__}
        shared |= {"notes": notes, "line": line}
        return LibraryRecord(**shared, kind=kind, path=self.entity.relative(path))

    def _read_message(self, message_id: str) -> LibraryRecord | None:
        found_message = self.messages.find(message_id)
        if found_message is None:
            return None
        record, session = found_message.record, found_message.session
        if isinstance(record, Compaction):
            kind, text, speaker = "summary", record.summary, ""
            ids = [message.id for message in session.messages]
            is_here = record.first in ids and record.last in ids
            sources = ids[ids.index(record.first) : ids.index(record.last) + 1] if is_here else []
            origin = base.Provenance(by="compact", sources=tuple(sources), audience=session.people)
        else:
            kind, text, speaker = "message", record.text, record.called(self.name)
            model = str(record.extra.get("model", ""))
            origin = base.Provenance(model=model, trust=record.trust, audience=session.people)
        return LibraryRecord(
            kind=kind,
            id=record.id,
            text=text,
            at=record.at,
            path=self.entity.relative(self.messages.paths[session.id]),
            line=found_message.line,
            origin=origin,
            sources=origin.sources,
            speaker=speaker,
            session=session.id,
            imported=session.imported,
        )


def _kind_of(record_id: str) -> str:
    """Return the kind that a generated id, or a beginning of one, shows; else nothing."""
    name = kinds.of_id(record_id)
    name = MESSAGE if name in session_files.SESSION.inner_prefixes else name
    return name if name in KINDS else ""
