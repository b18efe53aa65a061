"""Forgetting a person: everything they said, and all that rests on it alone.

The one thing that rewrites transcripts: lines and ids stay, the words go. What others wrote or said
stays theirs; what a program can't decide is named. Everything is one change set. Git's history is
not touched.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from itertools import accumulate
from pathlib import Path
from typing import Any

from bumble import files
from bumble.entity import changes
from bumble.entity.changes import Change
from bumble.entity.folder import Entity
from bumble.records import (
    base,
    jsonl,
    kinds,
    origin_comments,
    relationships,
    session_files,
    sessions,
    state,
)
from bumble.records.kinds import Forgetting as Way
from bumble.records.kinds import Kind, RecordView
from bumble.records.sessions import Session
from bumble.text import markdown
from bumble.text.markdown import Document

SOMEBODY = "somebody"  # in the place of a name
REDACTED = "redacted"  # field of a message whose words are gone
HISTORY = str(changes.HISTORY)
STILL_NAMED = "it still has the name, in words that are a person's to edit"
NAMED_BEFORE = "the name is gone from it; whether its words still tell of them is yours to see"
RESTS_IN_PART = "it rests in part on what is forgotten"
FILE_NAMED = "its file is named for them"
_WORDS = ("text", "summary", "felt", "trigger", "emotion", "tool_calls", "name", "blob", "blobs")


@dataclass(frozen=True)
class Undecided:
    """A file that stays and may still tell of the person: somebody has to look at it."""

    path: str
    kind: str  # name of a kind of record, or `settings`
    reason: str


@dataclass(frozen=True)
class Forgetting:
    """The changes that forget a person."""

    changes: tuple[Change, ...]
    counts: Mapping[str, int]  # of records by kind
    undecided: tuple[Undecided, ...]

    @property
    def mentions(self) -> tuple[str, ...]:
        """Files that still hold a name and are a person's to edit."""
        return tuple(entry.path for entry in self.undecided if entry.reason == STILL_NAMED)

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
    zone: tzinfo
    gone: set[str] = field(default_factory=set)  # ids of messages, sessions and records
    views: dict[str, list[tuple[Path, Sequence[RecordView]]]] = field(default_factory=dict)
    planned: dict[str, Change] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, change: Change | None, label: str) -> None:
        if change is not None:
            self.planned[change.path] = change
            self.counts[label] += 1

    def replace_names(self, text: str) -> str:
        """Put "somebody" in the place of every name, as a whole word, as it is written."""
        for name in sorted(self.names, key=len, reverse=True):
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", SOMEBODY, text)
        return text

    def is_own(self, view: RecordView) -> bool:
        """Whether something is of or for them alone, or rests on nothing but what goes."""
        if {self.person} in (set(view.origin.audience), set(view.people)):
            return True
        ids = set(view.sources)
        mark = f"{sessions.PREFIX}_"
        rests_on = {record_id for record_id in ids if not record_id.startswith(mark)} or ids
        return bool(rests_on) and rests_on <= self.gone


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
    draft = _Draft(entity, person, spelt, zone)
    _forget_sessions(draft, kinds.SESSION)
    _read_views(draft)
    for kind in kinds.KINDS:
        if kind is not kinds.SESSION:  # first: what goes with it decides of the others
            FORGETTERS[kind.forgetting](draft, kind)
    _forget_history(draft)
    return Forgetting(
        tuple(draft.planned.values()), dict(draft.counts), tuple(_find_undecided(draft))
    )


def _read_views(draft: _Draft) -> None:
    """Read every record but the transcripts, and find all that goes: one may rest on another."""
    for kind in kinds.KINDS:
        if kind is not kinds.SESSION:
            draft.views[kind.name] = [
                (path, kind.read(path, draft.zone)) for path in kind.paths(draft.entity)
            ]
    named = [
        view
        for kind in kinds.KINDS
        if kind.prefix
        for _, views in draft.views.get(kind.name, ())
        for view in views
    ]
    while more := {view.id for view in named if draft.is_own(view)} - draft.gone:
        draft.gone |= more


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


def _forget_sessions(draft: _Draft, kind: Kind) -> None:
    for path in kind.paths(draft.entity):
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
            draft.add(_rewrite(path, relative, new, why), kind.plural)
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
    for path in (*blobs, folder / session_files.HANDOVER):
        if path.is_file():
            draft.add(_removal(draft.entity, path), "files beside conversations")


def _removal(entity: Entity, path: Path) -> Change:
    return Change(entity.relative(path), "forget it", None, files.sha256(files.read(path)))


def _forget_state(draft: _Draft, kind: Kind) -> None:
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


def _forget_files(draft: _Draft, kind: Kind) -> None:
    """Remove the files that are theirs alone; the others lose the id, and the name in its words."""
    for path, views in draft.views[kind.name]:
        relative = draft.entity.relative(path)
        for view in views:
            if relative in draft.planned or view.document is None:
                continue
            if draft.is_own(view):
                change = base.plan_remove(relative, view.document, "forget it")
                draft.add(change, kind.plural)
                continue
            document = _without_id(draft, kind, view.document)
            if view.origin.by or kind.own_words:
                document = _without_name(draft, kind, document)
            edit = base.plan_edit(relative, view.document, document, "forget a name")
            draft.add(edit, f"{kind.plural} with the name")


def _without_id(draft: _Draft, kind: Kind, document: Document) -> Document:
    """Take a person out of a record's lists of ids; others stand in each, so none is emptied."""
    for key in kind.people_keys:
        if draft.person in (listed := base.texts(document.meta, key)):
            left = [person_id for person_id in listed if person_id != draft.person]
            document = base.with_values(document, {key: left or None})
    return document


def _without_name(draft: _Draft, kind: Kind, document: Document) -> Document:
    """Put "somebody" in the place of the name, in the text and where the front matter has words."""
    for key in kind.text_keys:
        value = document.meta.get(key)
        if value is not None and (new := _replace_names(draft, value)) != value:
            document = base.with_values(document, {key: new})
    body = draft.replace_names(document.body)
    return document.with_body(body) if body != document.body else document


def _forget_parts(draft: _Draft, kind: Kind) -> None:
    """Take out of a file the parts that are theirs alone; all other bytes but the name's stay."""
    for path, views in draft.views[kind.name]:
        old = base.read_text(path)
        starts = [0, *accumulate(len(line) for line in markdown.lines(old))]
        pieces, end = list[str](), 0
        for view in views:
            start = old.index(view.source, starts[(view.line or 1) - 1])
            part = "" if draft.is_own(view) else _strip_part(draft, view)
            pieces += [old[end:start], part]
            end = start + len(view.source)
        new = "".join((*pieces, old[end:]))
        if new != old:
            relative = draft.entity.relative(path)
            change = changes.write(relative, new, old, f"forget {kind.plural}")
            draft.add(change, f"files of {kind.plural}")


def _strip_part(draft: _Draft, view: RecordView) -> str:
    """Take a person out of what others heard too; the words of a hand stay as they are."""
    text, audience = view.source, list(view.origin.audience)
    if draft.person in audience:
        left = [person_id for person_id in audience if person_id != draft.person]
        text = origin_comments.with_values(text, {"audience": left})
    return draft.replace_names(text) if view.origin.by else text


def _forget_portrait(draft: _Draft, kind: Kind) -> None:
    """Remove their portrait, and what the notes in those of others hold of them alone."""
    for path, views in draft.views[kind.name]:
        relative = draft.entity.relative(path)
        for view in views:
            if view.document is None:
                continue
            if view.id == draft.person:
                change = base.plan_remove(relative, view.document, "forget the portrait")
                draft.add(change, "portrait")
                continue
            document = _without_notes(draft, _without_id(draft, kind, view.document), view.notes)
            edit = base.plan_edit(relative, view.document, document, "forget notes")
            draft.add(edit, "files with notes")


def _without_notes(draft: _Draft, document: Document, notes: Sequence[RecordView]) -> Document:
    raw = base.field(document.meta, "pending", list, [])
    left = []
    for note, value in zip(notes, raw, strict=True):
        if draft.is_own(note):
            continue
        audience = [person_id for person_id in note.origin.audience if person_id != draft.person]
        is_named = draft.person in note.origin.audience
        left.append({**value, "audience": audience} if is_named else value)
    return document if left == raw else base.with_values(document, {"pending": left or None})


def _leave(draft: _Draft, kind: Kind) -> None:
    """Change nothing: a name in it is shown."""


# how each way of forgetting is done
FORGETTERS: Mapping[Way, Callable[[_Draft, Kind], None]] = {
    "lines": _forget_sessions,
    "beside": _forget_files,
    "file": _forget_files,
    "parts": _forget_parts,
    "portrait": _forget_portrait,
    "values": _forget_state,
    "listed": _leave,
}


def _forget_history(draft: _Draft) -> None:
    """Remove earlier versions kept in `.history/`: of files that go, and parts of the person's.

    Those of files that merely lose the name stay, and may hold it.
    """
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
            or _is_of_person(draft, kinds.of_path(original), path)
        )
        if holds:
            draft.add(_removal(draft.entity, path), "earlier versions")


def _is_of_person(draft: _Draft, kind: Kind | None, path: Path) -> bool:
    """Whether an earlier version of a file of several parts holds one that is theirs alone."""
    parts = kind.read(path, draft.zone) if kind and kind.forgetting == "parts" else ()
    return any(draft.is_own(part) for part in parts)


def _find_undecided(draft: _Draft) -> Iterator[Undecided]:
    """Find what stays and may still tell of them, with what speaks for that."""
    entity = draft.entity
    yield from _judge(draft, entity.file, "settings", ())
    for kind in kinds.KINDS:
        for path in kind.paths(entity):
            views = next(
                (views for place, views in draft.views.get(kind.name, ()) if place == path), ()
            )
            yield from _judge(draft, path, kind.name, views)


def _judge(
    draft: _Draft, path: Path, kind: str, views: Sequence[RecordView]
) -> Iterator[Undecided]:
    relative = draft.entity.relative(path)
    change, old = draft.planned.get(relative), files.read_if_there(path) or b""
    new = old if change is None else change.data
    if new is None:
        return
    reasons = {
        STILL_NAMED: _is_named(draft, new),
        NAMED_BEFORE: bool(views) and _is_named(draft, old),
        RESTS_IN_PART: any(
            draft.gone & set(view.sources) for view in views if not draft.is_own(view)
        ),
        FILE_NAMED: bool(views) and f"-{draft.person}-" in f"-{kinds.BY_NAME[kind].stem(path)}-",
    }
    reason = next((text for text, holds in reasons.items() if holds), None)
    if reason:
        yield Undecided(relative, kind, reason)


def _is_named(draft: _Draft, data: bytes) -> bool:
    text = data.decode(errors="replace")
    return draft.replace_names(text) != text
