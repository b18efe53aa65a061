"""Any record by its id or name, or a part of it, in the same fields whatever its kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import cached_property
from pathlib import Path

from bumble import files
from bumble.entity.folder import Entity
from bumble.errors import RecordMissingError, UserError
from bumble.records import (
    base,
    beliefs,
    dreams,
    episodes,
    journal,
    knowledge,
    narrative,
    relationships,
    sessions,
    skills,
)
from bumble.records.base import BY_HAND, Provenance
from bumble.records.sessions import Compaction, Message
from bumble.text.markdown import Document
from bumble.upkeep.message_index import MessageIndex

KINDS = (
    *("belief", "episode", "dream", "person", "knowledge", "skill", "journal", "narrative"),
    *("session", "message"),
)
STAMP = "%Y-%m-%d %H:%M:%S"
SHORTEST_END = 6  # letters that may stand for a whole id
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True)
class LibraryRecord:
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
        kinds = [candidate for candidate in (kind, named) if candidate][:1] or list(KINDS)
        matches = [
            (candidate, name) for candidate in kinds for name in self._find_exact(candidate, wanted)
        ]
        matches = matches or [
            (candidate, name)
            for candidate in kinds
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
            raise RecordMissingError(kind or named or "record", query, self._nearest(wanted, kinds))
        return item

    def source(self, record_id: str) -> LibraryRecord | None:
        """Return what a record names as its source; None if it is not here."""
        kind = _kind_of(record_id)
        kinds = [kind] if kind else [name for name in KINDS if name != "message"]
        return next(
            (item for candidate in kinds if (item := self.item(candidate, record_id)) is not None),
            None,
        )

    def item(self, kind: str, record_id: str) -> LibraryRecord | None:
        """Return the record of a kind and an id; None if there is none."""
        readers: Mapping[str, Callable[[str], LibraryRecord | None]] = {
            "belief": self._read_belief,
            "episode": self._read_episode,
            "dream": self._read_dream,
            "person": self._read_person,
            "knowledge": self._read_knowledge,
            "skill": self._read_skill,
            "journal": self._read_journal,
            "narrative": self._read_narrative,
            "session": self._read_session,
            "message": self._read_message,
        }
        return readers[kind](record_id)

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
            times = [f"{entry.at:{STAMP}}" for entry in self._diary] if _DAY.match(wanted) else []
            return [time for time in times if time.startswith(wanted.replace("T", " "))]
        if kind == "narrative":
            return ["narrative"] if files.same_name(wanted) == kind else []
        if kind == "message":
            return [wanted] if _kind_of(wanted) and self.messages.find(wanted) else []
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
        return [
            record_id for record_id in self._list_ids(kind) if record_id.casefold().endswith(part)
        ]

    def _list_ids(self, kind: str) -> list[str]:
        match kind:
            case "belief":
                return [path.stem for path in beliefs.paths(self.entity.beliefs)]
            case "episode":
                return [path.stem for path in episodes.paths(self.entity.episodes)]
            case "dream":
                return [path.stem for path in dreams.paths(self.entity.dreams)]
            case "session":
                return list(self.messages.paths)
            case "message":
                return list(dict.fromkeys(self.messages.ids()))
        return []

    def _nearest(self, wanted: str, kinds: Sequence[str]) -> str | None:
        names = [record_id for kind in kinds for record_id in self._list_ids(kind)]
        if "person" in kinds:
            names += [name for person in self._people for name in (person.id, *person.names)]
        if "knowledge" in kinds:
            names += [section.title for section in self._book.sections]
        if "skill" in kinds:
            names += [skill.name for skill in skills.read(self.entity.skills)]
        spelt = {name.casefold(): name for name in names}
        near = base.nearest(wanted.casefold(), spelt)
        return spelt[near] if near else None

    @cached_property
    def _people(self) -> list[relationships.Relationship]:
        return list(relationships.read(self.entity.relationships))

    @cached_property
    def _book(self) -> knowledge.Knowledge:
        return knowledge.read(self.entity.knowledge)

    @cached_property
    def _diary(self) -> tuple[journal.Entry, ...]:
        return journal.read(self.entity.journal, self.zone).entries

    # one record

    def _read_belief(self, belief_id: str) -> LibraryRecord | None:
        path = self.entity.root / beliefs.path(belief_id)
        if not base.is_id(belief_id) or not path.is_file():
            return None
        belief = base.load(path, beliefs.parse)
        dreamt = (
            [belief.origin.removeprefix("dream:")] if belief.origin.startswith("dream:") else []
        )
        sources = _unite(belief.evidence, belief.provenance.sources, dreamt)
        return self._of_file("belief", belief.id, path, belief.source, belief.formed, sources)

    def _read_episode(self, episode_id: str) -> LibraryRecord | None:
        path = episodes.locate(self.entity.episodes, episode_id)
        if path is None:
            return None
        episode = base.load(path, episodes.parse)
        sources = _unite((episode.session,), episode.provenance.sources)
        return self._of_file("episode", episode.id, path, episode.source, episode.at, sources)

    def _read_dream(self, dream_id: str) -> LibraryRecord | None:
        path = self.entity.root / dreams.path(dream_id)
        if not base.is_id(dream_id) or not path.is_file():
            return None
        dream = base.load(path, dreams.parse)
        sources = _unite(*dream.pairs, dream.provenance.sources)
        return self._of_file("dream", dream.id, path, dream.source, dream.at, sources)

    def _read_person(self, person_id: str) -> LibraryRecord | None:
        person = next((person for person in self._people if person.id == person_id), None)
        if person is None:
            return None
        path = self.entity.root / relationships.path(person.id)
        sources = person.provenance.sources
        item = self._of_file(
            "person", person.id, path, person.source, person.last_reflection, sources
        )
        notes = tuple(
            LibraryRecord(
                kind="note",
                id=f"{person.id}, note {n}",
                text=note.text,
                at=note.at,
                path=item.path,
                line=person.source.line_of("pending"),
                origin=note.provenance,
                sources=note.provenance.sources,
            )
            for n, note in enumerate(person.pending, 1)
        )
        return replace(item, notes=notes)

    def _read_knowledge(self, title: str) -> LibraryRecord | None:
        section = knowledge.find(self._book, title)
        if section is None:
            return None
        return LibraryRecord(
            kind="knowledge",
            id=section.title,
            text=section.text,
            path=knowledge.PATH,
            line=section.line,
            origin=section.provenance,
            sources=section.provenance.sources,
        )

    def _read_skill(self, slug: str) -> LibraryRecord | None:
        skill = next(
            (skill for skill in skills.read(self.entity.skills) if skill.slug == slug), None
        )
        if skill is None:
            return None
        path = self.entity.root / skill.path
        return self._of_file(
            "skill", skill.slug, path, skill.source, None, skill.provenance.sources
        )

    def _read_journal(self, stamp: str) -> LibraryRecord | None:
        entry = next((entry for entry in self._diary if f"{entry.at:{STAMP}}" == stamp), None)
        if entry is None:
            return None
        return LibraryRecord(
            kind="journal",
            id=stamp,
            text=entry.text,
            at=entry.at,
            path=journal.PATH,
            line=entry.line,
            origin=entry.provenance,
            sources=entry.provenance.sources,
        )

    def _read_narrative(self, _: str) -> LibraryRecord | None:
        story = narrative.read(self.entity.narrative)
        if story is None:
            return None
        path, sources = self.entity.narrative, story.provenance.sources
        return self._of_file("narrative", "narrative", path, story.source, story.at, sources)

    def _read_session(self, session_id: str) -> LibraryRecord | None:
        session = self.messages.session(session_id)
        if session is None:
            return None
        path = self.entity.relative(self.messages.paths[session_id])
        count = len(session.messages)
        text = f"{count} message{'' if count == 1 else 's'} with {', '.join(session.people)}"
        return LibraryRecord(
            "session", session_id, text, session.at, path, 1, Provenance(audience=session.people)
        )

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

    def _of_file(
        self,
        kind: str,
        record_id: str,
        path: Path,
        document: Document,
        at: datetime | None,
        sources: tuple[str, ...],
    ) -> LibraryRecord:
        """Return a record that has a file of its own; its line is the first of its text."""
        behind = document.source[document.body_start :]
        blank = behind[: len(behind) - len(behind.lstrip("\r\n"))].count("\n")
        return LibraryRecord(
            kind=kind,
            id=record_id,
            text=document.body,
            at=at,
            path=self.entity.relative(path),
            line=document.body_line + (blank if document.body else 0),
            origin=base.provenance(document.meta),
            sources=sources,
        )


_PREFIXES = {
    "belief": f"{beliefs.PREFIX}_",
    "episode": f"{episodes.PREFIX}_",
    "dream": f"{dreams.PREFIX}_",
    "session": f"{sessions.PREFIX}_",
    "message": f"{sessions.MESSAGE_PREFIX}_",
    "summary": f"{sessions.COMPACTION_PREFIX}_",
}


def _kind_of(record_id: str) -> str:
    """Return the kind that a generated id, or a beginning of one, shows; else nothing."""
    kind = next((name for name, prefix in _PREFIXES.items() if record_id.startswith(prefix)), "")
    return "message" if kind == "summary" else kind


def _unite(*lists: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(record_id for part in lists for record_id in part if record_id))


def _ids_between(messages: Sequence[Message], first: str, last: str) -> Iterator[str]:
    ids = [message.id for message in messages]
    if first in ids and last in ids:
        yield from ids[ids.index(first) : ids.index(last) + 1]
