"""Any record by its id or name, or a part of it, in the same fields whatever its kind.

A message is found without the index: its id holds the time when it was said, which leaves few
transcripts to look into. Writes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta, tzinfo
from functools import cached_property
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError, RecordMissingError, UserError
from bumble.files import disk
from bumble.records import (
    base,
    journal,
    kinds,
    knowledge,
    relationships,
    session_files,
    skills,
)
from bumble.records.base import BY_HAND, Provenance
from bumble.records.kind import Kind, RecordView
from bumble.records.session_files import SessionInfo
from bumble.records.sessions import Compaction, Message, Session

SLACK = timedelta(minutes=5)  # the clocks of two clones
_ID = re.compile(rb'"id"\s*:\s*"((?:msg|cmp)_[^"\\]+)"')


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
        wanted = record_id.encode()
        for session_id in self._likely(record_id):
            if session_id in self._sessions or wanted in _read_bytes(self.paths[session_id]):
                session = self.session(session_id)
                found_message = _find_in(session, record_id) if session else None
                if found_message:
                    return found_message
        return None

    def ids(self) -> Iterator[str]:
        """Yield the ids of all messages and summaries, the oldest conversation first."""
        for path in self.paths.values():
            yield from (match.decode() for match in _ID.findall(_read_bytes(path)))

    def _likely(self, record_id: str) -> list[str]:
        """Order the conversations: first those that went on when the id was made."""
        at = base.time_of(record_id)
        if at is None:
            return list(self.paths)
        near = [info.id for info in self._infos if info.at - SLACK <= at <= info.last_at + SLACK]
        return [*near, *(session_id for session_id in self.paths if session_id not in set(near))]

    @cached_property
    def _infos(self) -> list[SessionInfo]:
        infos = []
        for path in self.paths.values():
            try:
                infos.append(session_files.read_info(path))
            except RecordInvalidError:  # still searched, after the others
                continue
        return infos


def _read_bytes(path: Path) -> bytes:
    return disk.read_if_there(path) or b""


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
SHORTEST_END = 6  # letters that may stand for a whole id
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


class LibraryRecord(Struct, frozen=True):
    """One record of any kind, in the fields that all kinds share."""

    kind: str  # one of KINDS, `note` (a person's, pending) or `summary` (of a conversation)
    id: str  # a title, for knowledge; a time, for the journal
    text: str = ""
    at: datetime | None = None  # when it was written, said or lived
    path: str = ""  # relative to the entity's folder
    line: int | None = None
    origin: Provenance = BY_HAND
    sources: tuple[str, ...] = ()  # ids of all it rests on
    speaker: str = ""  # of a message, as shown
    session: str = ""  # the conversation a message belongs to
    notes: tuple[LibraryRecord, ...] = ()  # what waits to be worked into a portrait
    sentence: str = ""  # that of its text which is asked about; empty: all of it

    @property
    def by_hand(self) -> bool:
        """Whether a person wrote it."""
        return self.kind not in ("message", "session", "summary") and not self.origin.by


class Library:
    """Finds the records of one entity."""

    def __init__(self, entity: Entity, *, name: str, zone: tzinfo) -> None:
        self.entity, self.name, self.zone = entity, name, zone
        self.messages = MessageIndex(entity.sessions)

    def look_up(self, query: str, kind: str | None = None) -> LibraryRecord:
        """Return the record a person means: by id, an end or a beginning of one, title or time.

        Raises:
            RecordMissingError: If there is none.
            UserError: If it could be more than one.
            RecordInvalidError: If its file can't be read.
        """
        wanted = query.strip()
        named = _kind_of(wanted)
        wanted_kinds = [name for name in (kind, named) if name][:1] or list(KINDS)
        matches = [
            (candidate, name)
            for candidate in wanted_kinds
            for name in self._find_exact(candidate, wanted)
        ]
        matches = matches or [
            (candidate, name)
            for candidate in wanted_kinds
            for name in self._find_partial(candidate, wanted)
        ]
        if len(matches) > 1:
            shown = ", ".join(f"{match_kind} {name}" for match_kind, name in matches[:4])
            more = ", …" if len(matches) > 4 else ""
            mixed = len({match_kind for match_kind, _ in matches}) > 1
            advice = "Say which with --kind." if mixed else "Give more of it."
            raise UserError(f'"{wanted}" could be {len(matches)} records: {shown}{more}\n{advice}')
        item = self.item(*matches[0]) if matches else None
        if item is None:
            raise RecordMissingError(
                kind or named or "record", query, self._nearest(wanted, wanted_kinds)
            )
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
        if kind == kinds.SESSION.name:
            return self._read_session(record_id)
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

    def _find_exact(self, kind: str, wanted: str) -> list[str]:
        if kind == "person":
            match = relationships.match(self._people, wanted)
            return [match.id] if match else []
        if kind == "knowledge":
            section = knowledge.find(self._book, wanted)
            return [section.title] if section else []
        if kind == "skill":
            skill = skills.match(skills.read(self.entity.skills), wanted)
            return [skill.slug] if skill else []
        if kind == "journal":
            times = (
                [f"{entry.at:{journal.STAMP}}" for entry in self._diary]
                if _DAY.match(wanted)
                else []
            )
            return [time for time in times if time.startswith(wanted.replace("T", " "))]
        if kind == "narrative":
            return ["narrative"] if disk.same_name(wanted) == kind else []
        if kind == MESSAGE:
            return [wanted] if _kind_of(wanted) and self.messages.find(wanted) else []
        if _is_titled(kinds.BY_NAME[kind]):
            stems = {path.stem for path in kinds.BY_NAME[kind].paths(self.entity)}
            return [stem for stem in (wanted, disk.file_name(wanted)) if stem in stems][:1]
        if kinds.BY_NAME[kind].is_lines:  # named by their place, or words of theirs
            asked = wanted.casefold()
            return [
                view.id
                for view in self._lines(kind)
                if asked in (view.id.casefold(), view.text.casefold())
            ]
        return [record_id for record_id in self._list_ids(kind) if record_id == wanted]

    def _find_partial(self, kind: str, wanted: str) -> list[str]:
        """Return the ids that begin so, or end so with enough letters."""
        part = wanted.casefold()
        if _kind_of(wanted):
            return [
                record_id
                for record_id in self._list_ids(kind)
                if record_id.casefold().startswith(part)
            ]
        if len(part) < SHORTEST_END:
            return []
        if kind != MESSAGE and kinds.BY_NAME[kind].is_lines:
            return [view.id for view in self._lines(kind) if part in view.text.casefold()]
        return [
            record_id for record_id in self._list_ids(kind) if record_id.casefold().endswith(part)
        ]

    def _list_ids(self, name: str) -> list[str]:
        """Return the generated ids of a kind."""
        if name == MESSAGE:
            return list(dict.fromkeys(self.messages.ids()))
        kind = kinds.BY_NAME[name]
        return [kind.stem(path) for path in kind.paths(self.entity)] if kind.prefix else []

    def _nearest(self, wanted: str, candidates: Sequence[str]) -> str | None:
        names = [record_id for name in candidates for record_id in self._list_ids(name)]
        if "person" in candidates:
            names += [name for person in self._people for name in (person.id, *person.names)]
        if "knowledge" in candidates:
            names += [section.title for section in self._book.sections]
        if "skill" in candidates:
            names += [skill.name for skill in skills.read(self.entity.skills)]
        spelt = {name.casefold(): name for name in names}
        near = base.nearest(wanted.casefold(), spelt)
        return spelt[near] if near else None

    def _lines(self, name: str) -> list[RecordView]:
        """Return the lines of a file of notes."""
        kind = kinds.BY_NAME[name]
        paths = kind.paths(self.entity)
        return [view for path in paths for view in kind.read(path, self.zone)]

    @cached_property
    def _people(self) -> list[relationships.Relationship]:
        return list(relationships.read(self.entity.relationships))

    @cached_property
    def _book(self) -> knowledge.Knowledge:
        return knowledge.read(self.entity.knowledge)

    @cached_property
    def _diary(self) -> tuple[journal.JournalEntry, ...]:
        return journal.read(self.entity.journal, self.zone).entries

    # one record

    def _read_record(self, kind: Kind, record_id: str) -> LibraryRecord | None:
        paths = kind.paths(self.entity) if kind.is_file else kind.locate(self.entity, record_id)
        for path in paths[:1]:
            for view in kind.read(path, self.zone):
                if _same_id(kind, view.id, record_id):
                    return self._of_view(kind.name, view, path)
        return None

    def _of_view(self, kind: str, view: RecordView, path: Path) -> LibraryRecord:
        return LibraryRecord(
            kind=kind,
            id=view.id,
            text=view.text,
            at=view.at,
            path=self.entity.relative(path),
            line=view.line or view.line_of(view.sources_key),
            origin=view.origin,
            sources=view.sources,
            notes=tuple(self._of_view("note", note, path) for note in view.notes),
        )

    def _read_session(self, session_id: str) -> LibraryRecord | None:
        session = self.messages.session(session_id)
        if session is None:
            return None
        view = session_files.view(session)
        return self._of_view(kinds.SESSION.name, view, self.messages.paths[session_id])

    def _read_message(self, message_id: str) -> LibraryRecord | None:
        found_message = self.messages.find(message_id)
        if found_message is None:
            return None
        record, people = found_message.record, found_message.session.people
        item = LibraryRecord(
            kind="message",
            id=record.id,
            at=record.at,
            path=self.entity.relative(self.messages.paths[found_message.session.id]),
            line=found_message.line,
            session=found_message.session.id,
        )
        if isinstance(record, Compaction):
            covered = tuple(_ids_between(found_message.session.messages, record.first, record.last))
            origin = Provenance(by="compact", sources=covered, audience=people)
            return replace(
                item, kind="summary", text=record.summary, origin=origin, sources=covered
            )
        model = str(record.extra.get("model", ""))
        origin = Provenance(model=model, trust=record.trust, audience=people)
        return replace(item, text=record.text, origin=origin, speaker=self._speaker(record))

    def _speaker(self, message: Message) -> str:
        if message.role == "assistant":
            return self.name
        if message.role == "tool":
            return str(message.extra.get("tool", "a tool"))
        return str(message.extra.get("name", "")) or message.speaker


def _is_titled(kind: Kind) -> bool:
    """Whether the files of a kind are named for their titles."""
    return not kind.is_file and not kind.prefix


def _same_id(kind: Kind, view_id: str, record_id: str) -> bool:
    """Whether an id is that of a record; titles have many spellings."""
    if kind is kinds.KNOWLEDGE:
        return knowledge.key(view_id) == knowledge.key(record_id)
    return view_id == record_id


def _kind_of(record_id: str) -> str:
    """Return the kind that a generated id, or a beginning of one, shows; else nothing."""
    name = kinds.of_id(record_id)
    name = MESSAGE if name in kinds.SESSION.inner_prefixes else name
    return name if name in KINDS else ""


def _ids_between(messages: Sequence[Message], first: str, last: str) -> Iterator[str]:
    ids = [message.id for message in messages]
    if first in ids and last in ids:
        yield from ids[ids.index(first) : ids.index(last) + 1]
