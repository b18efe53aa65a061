"""Forgetting a person: everything they said, and all that rests on it alone.

The one thing that rewrites transcripts: lines and ids stay, the words go. What others wrote or said
stays theirs. Everything is one change set. Git's history is not touched.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from pathlib import Path
from typing import Any

from bumble import files
from bumble.entity import changes
from bumble.entity.changes import Change
from bumble.entity.folder import Entity
from bumble.records import (
    base,
    beliefs,
    episodes,
    journal,
    jsonl,
    knowledge,
    origin_comments,
    relationships,
    scratch,
    session_files,
    sessions,
    state,
)
from bumble.records.base import Provenance
from bumble.records.sessions import Session
from bumble.text import markdown

SOMEBODY = "somebody"  # in the place of a name
REDACTED = "redacted"  # field of a message whose words are gone
HISTORY = str(changes.HISTORY)
_WORDS = ("text", "summary", "felt", "trigger", "emotion", "tool_calls", "name", "blob", "blobs")


@dataclass(frozen=True)
class Forgetting:
    """The changes that forget a person."""

    changes: tuple[Change, ...]
    counts: Mapping[str, int]  # of records by kind
    mentions: tuple[str, ...]  # files that still hold a name and are a person's to edit

    @property
    def summary(self) -> str:
        """The counts on one line: `2 episodes, 1 portrait`."""
        return ", ".join(f"{number} {kind}" for kind, number in self.counts.items() if number)


@dataclass
class _Draft:
    """The plan as it grows while the folder is read."""

    entity: Entity
    person: str
    names: tuple[str, ...]
    gone: set[str] = field(default_factory=set)  # ids of messages, sessions and episodes
    planned: dict[str, Change] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, change: Change | None, kind: str) -> None:
        if change is not None:
            self.planned[change.path] = change
            self.counts[kind] += 1

    def replace_names(self, text: str) -> str:
        """Put "somebody" in the place of every name, as a whole word, as it is written."""
        for name in sorted(self.names, key=len, reverse=True):
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", SOMEBODY, text)
        return text

    def is_own(self, origin: Provenance, evidence: Iterable[str] = ()) -> bool:
        """Whether something is for them alone, or rests on nothing but what goes."""
        ids = {*origin.sources, *evidence}
        rests_on = {
            record_id for record_id in ids if not record_id.startswith(f"{sessions.PREFIX}_")
        } or ids
        return origin.audience == (self.person,) or bool(rests_on and rests_on <= self.gone)


def plan(entity: Entity, person: str, names: Sequence[str], zone: tzinfo) -> Forgetting:
    """Plan to forget a person; a second time there is nothing left to plan.

    Args:
        entity: Whose memory.
        person: Their id.
        names: What they are called; each is looked for as it is written.
        zone: The entity's time zone.

    Raises:
        RecordInvalidError: If a file can't be read: nothing may be forgotten by half.
    """
    spelt = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    draft = _Draft(entity, person, spelt)
    _forget_sessions(draft)
    _forget_state(draft)
    _forget_episodes(draft)
    _forget_beliefs(draft)
    _forget_knowledge(draft)
    _forget_scratch(draft)
    _forget_journal(draft, zone)
    _forget_people(draft)
    _forget_history(draft)
    return Forgetting(tuple(draft.planned.values()), dict(draft.counts), _find_mentions(draft))


def drop_caches(entity: Entity, prompt_caches: Path) -> None:
    """Remove what is kept for speed, prompts as text and evaluated ones: it may hold what was said.

    Args:
        entity: Who forgets.
        prompt_caches: The evaluated prompts of all entities of this machine. Nothing in their names
            tells whose words a file holds, and they only cost time when they are gone.
    """
    files.clear(entity.private / "cache")
    files.remove(entity.prompts)  # it holds all that was said
    files.clear(prompt_caches)


def _forget_sessions(draft: _Draft) -> None:
    for path in session_files.paths(draft.entity.sessions):
        session = session_files.load(path)
        if draft.person not in session.people:
            continue
        alone = session.people == (draft.person,)
        draft.gone |= {
            message.id for message in session.messages if alone or message.speaker == draft.person
        }
        if alone:
            draft.gone.add(session.id)
        new = _redact(draft, session, alone=alone)
        if new != session.source:
            why = "forget what was said"
            relative = draft.entity.relative(path)
            draft.add(_rewrite(path, relative, new, why), "conversations")
            draft.counts["messages"] += sum(
                alone or message.speaker == draft.person for message in session.messages
            )
        _remove_beside(draft, path.parent, alone=alone)


def _rewrite(path: Path, relative: str, new: str, why: str) -> Change:
    old = files.read(path)
    return Change(relative, why, new.encode(errors="surrogateescape"), files.sha256(old))


def _redact(draft: _Draft, session: Session, *, alone: bool) -> str:
    """Return a transcript without a person's words; lines of others stay as they are."""
    out = []
    for line in session.source.split("\n"):
        try:
            data = json.loads(line.removeprefix("\ufeff"))
        except (
            ValueError,
            RecursionError,
        ):  # blank, or cut off: nobody reads it, but it may hold their words
            out.append("")
            continue
        new = _redact_line(draft, data, alone=alone)
        out.append(line if new == data else jsonl.dumped(new).rstrip("\n"))
    return "\n".join(out)


def _redact_line(draft: _Draft, data: dict[str, Any], *, alone: bool) -> dict[str, Any]:
    kind, by_person = data.get("type"), data.get("speaker") == draft.person
    new = dict(data)
    if kind == "session":
        new["by"] = "" if new.get("by") == draft.person else new.get("by", "")
        if "with" in new:
            new["with"] = [
                person_id for person_id in base.texts(new, "with") if person_id != draft.person
            ]
        return {key: value for key, value in new.items() if key != "with" or value}
    if alone or by_person:
        new = {key: value for key, value in data.items() if key not in _WORDS}
        if kind == "message":
            new |= {"text": "", REDACTED: True}
            new.pop("speaker", None)
        elif kind == "compaction":
            new["summary"] = ""
        return new
    if kind == "message" and data.get("role") == "user":
        return data  # another person's words are theirs
    if kind == "appraisal" and data.get("message") in draft.gone:
        return {key: value for key, value in data.items() if key not in _WORDS}
    return {key: _replace_names(draft, value) for key, value in data.items()}


def _replace_names(draft: _Draft, value: Any) -> Any:
    if isinstance(value, str):
        return draft.replace_names(value)
    if isinstance(value, list):
        return [_replace_names(draft, element) for element in value]
    if isinstance(value, dict):
        return {key: _replace_names(draft, inner) for key, inner in value.items()}
    return value


def _remove_beside(draft: _Draft, folder: Path, *, alone: bool) -> None:
    """Remove what lies beside a transcript and may hold their words."""
    blobs = sorted((folder / "blobs").glob("*")) if alone else []
    for path in (*blobs, folder / "handover.md"):
        if path.is_file():
            draft.add(_removal(draft.entity, path), "files beside conversations")


def _removal(entity: Entity, path: Path) -> Change:
    return Change(entity.relative(path), "forget it", None, files.sha256(files.read(path)))


def _forget_state(draft: _Draft) -> None:
    """Take out what waits of their talks."""
    file = state.read(draft.entity.state)
    remove: list[list[str]] = []
    for session_id, keys in file.get("sessions", default={}).items():
        if session_id in draft.gone:
            remove.append(["sessions", session_id])
        elif isinstance(keys.get("reflect"), Mapping) and draft.person in keys["reflect"]:
            remove.append(["sessions", session_id, "reflect", draft.person])
    distilled = file.get("distill", default={})
    remove += [["distill", record_id] for record_id in distilled if record_id in draft.gone]
    if remove:
        draft.add(state.plan_write(file, {}, "forget what waits", remove=remove), "places in state")


def _forget_episodes(draft: _Draft) -> None:
    for path in episodes.paths(draft.entity.episodes):
        episode = base.load(path, episodes.parse)
        if episode.people == (draft.person,) or draft.is_own(episode.provenance):
            draft.gone.add(episode.id)
            change = base.plan_remove(draft.entity.relative(path), episode.source, "forget it")
            draft.add(change, "episodes")
            continue
        text = _strip_person(draft, episode.source.text, _unite(episode.people, episode.audience))
        draft.add(_edit(draft, path, episode.source.text, text), "episodes with the name")


def _unite(*ids: tuple[str, ...]) -> set[str]:
    return {person_id for several in ids for person_id in several}


def _strip_person(draft: _Draft, source: str, ids: set[str]) -> str:
    """Return a record's file without the person: in its lists of ids, and by name in its text."""
    document = markdown.parse(source)
    for key in ("people", "audience"):
        listed = base.texts(document.meta, key)
        if draft.person in ids and draft.person in listed:
            left = [person_id for person_id in listed if person_id != draft.person]
            document = base.with_values(document, {key: left or None})
    for n, imprint in enumerate(base.field(document.meta, "imprints", list, [])):
        if isinstance(imprint, dict) and isinstance(imprint.get("trigger"), str):
            new = draft.replace_names(imprint["trigger"])
            if new != imprint["trigger"]:
                whole = list(base.field(document.meta, "imprints", list, []))
                whole[n] = imprint | {"trigger": new}
                document = base.with_values(document, {"imprints": whole})
    body = draft.replace_names(document.body)
    return (document.with_body(body) if body != document.body else document).text


def _edit(draft: _Draft, path: Path, old: str, new: str) -> Change | None:
    if new == old:
        return None
    return changes.write(draft.entity.relative(path), new, old, "forget a name")


def _forget_beliefs(draft: _Draft) -> None:
    for path in beliefs.paths(draft.entity.beliefs):
        belief = base.load(path, beliefs.parse)
        if draft.is_own(belief.provenance, belief.evidence):
            change = base.plan_remove(draft.entity.relative(path), belief.source, "forget it")
            draft.add(change, "beliefs")
        elif belief.provenance.by:
            text = _strip_person(draft, belief.source.text, _unite(belief.audience))
            draft.add(_edit(draft, path, belief.source.text, text), "beliefs with the name")


def _forget_knowledge(draft: _Draft) -> None:
    book = knowledge.read(draft.entity.knowledge)
    text = _remaining_text(draft, book)
    if book.source is not None and text != book.source:
        change = changes.write(knowledge.PATH, text, book.source, "forget facts")
        draft.add(change, "files of knowledge")


def _remaining_text(draft: _Draft, book: knowledge.Knowledge) -> str:
    """Return the file without the sections that are theirs alone; all other bytes stay."""
    texts = [
        section.tail if draft.is_own(section.provenance) else section.source
        for section in book.sections
    ]
    return book.preamble + "".join(texts)


def _forget_scratch(draft: _Draft) -> None:
    """Take out notes that are theirs alone, and the name in the entity's others."""
    path = draft.entity.root / scratch.PATH
    if not path.is_file():
        return
    old, kept_lines = base.read_text(path), []
    for line in old.splitlines(keepends=True):
        origin = scratch.origin(line)
        if not draft.is_own(origin):
            kept_lines.append(_strip_audience(draft, line, origin))
    if (new := "".join(kept_lines)) != old:
        draft.add(changes.write(scratch.PATH, new, old, "forget notes"), "files of scratch notes")


def _forget_journal(draft: _Draft, zone: tzinfo) -> None:
    """Take out entries that were made of their talks alone, and the name in the entity's others."""
    book = journal.read(draft.entity.journal, zone)
    parts = [book.preamble]
    for entry in book.entries:
        if not draft.is_own(entry.provenance):
            parts.append(_strip_audience(draft, entry.source, entry.provenance))
    if (new := "".join(parts)) != book.source:
        draft.add(changes.write(journal.PATH, new, book.source, "forget entries"), "journal")


def _strip_audience(draft: _Draft, text: str, origin: Provenance) -> str:
    """Take a person out of what the entity wrote and others heard too; a hand's stays as it is."""
    if not origin.by:
        return text
    left = replace(
        origin,
        audience=tuple(person_id for person_id in origin.audience if person_id != draft.person),
    )
    return draft.replace_names(
        text.replace(origin_comments.render(origin), origin_comments.render(left), 1)
    )


def _forget_people(draft: _Draft) -> None:
    for path in relationships.paths(draft.entity.relationships):
        person = base.load(path, relationships.parse)
        if person.id == draft.person:
            draft.add(relationships.plan_forget(person, "forget the portrait"), "portrait")
            continue
        left = tuple(note for note in person.pending if not draft.is_own(note.provenance))
        if left != person.pending:
            why = "forget notes"
            draft.add(relationships.plan_update(person, why, pending=left), "files with notes")


def _forget_history(draft: _Draft) -> None:
    """Remove earlier versions of what goes, kept in `.history/`."""
    history = draft.entity.root / HISTORY
    removed = {path for path, change in draft.planned.items() if change.data is None}
    removed.add(relationships.path(draft.person))
    for path in sorted(history.rglob("*")) if history.is_dir() else []:
        if not path.is_file():
            continue
        place = path.relative_to(history)
        original = place.with_name(f"{place.stem.rsplit('.', 1)[0]}{place.suffix}").as_posix()
        cut_off = place.name.partition(".")[2]  # what a kill kept from being written
        holds = (
            original in removed
            or cut_off in {Path(removed_path).name for removed_path in removed}
            or (original == knowledge.PATH and _holds_own_section(draft, path))
        )
        if holds:
            draft.add(_removal(draft.entity, path), "earlier versions")


def _holds_own_section(draft: _Draft, path: Path) -> bool:
    book = base.load(path, knowledge.parse)
    return any(draft.is_own(section.provenance) for section in book.sections)


def _find_mentions(draft: _Draft) -> tuple[str, ...]:
    """Find files that keep a name, because what stands there is somebody's own."""
    entity = draft.entity
    own: list[Path] = [entity.file, entity.knowledge, entity.journal, entity.narrative, entity.soma]
    own.append(entity.root / scratch.PATH)
    own += [*beliefs.paths(entity.beliefs), *relationships.paths(entity.relationships)]
    mentions = []
    for path in own:
        relative = entity.relative(path)
        change = draft.planned.get(relative)
        data = change.data if change else files.read_if_there(path)
        text = (data or b"").decode(errors="replace")
        if draft.replace_names(text) != text:
            mentions.append(relative)
    return tuple(mentions)
