"""Forgetting a person: everything they said, what was answered, and all that rests on it alone.

The one thing that rewrites transcripts: lines and ids stay, the words go. What others wrote or said
stays theirs, but for sentences that quote; what a program can't decide is named. Everything is one
change set, and `again` does it once more for what a merge or an import brought back. Git's history
is not touched.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from itertools import accumulate
from pathlib import Path
from typing import Any

from bumble import files
from bumble.entity import changes
from bumble.entity.changes import Change
from bumble.entity.folder import Entity
from bumble.episodes import episode_text
from bumble.episodes.episode_text import Scene
from bumble.history import review as proposed
from bumble.records import (
    base,
    episodes,
    forgotten,
    jsonl,
    kinds,
    origin_comments,
    relationships,
    scratch,
    session_files,
    sessions,
    soma,
    state,
)
from bumble.records.forgotten import Forgotten
from bumble.records.kinds import Forgetting as Way
from bumble.records.kinds import Kind, RecordView
from bumble.records.sessions import Message, Session
from bumble.runtime import review
from bumble.text import markdown
from bumble.text.markdown import Document
from bumble.upkeep import speech
from bumble.upkeep.speech import Remark, Speech

NOBODY = "?"  # in the place of an id that is not known: no id is like it
SOMEBODY = "somebody"  # in the place of a name
HISTORY = str(changes.HISTORY)
ARCHIVE = ".zip"
STILL_NAMED = "it still has the name, in words that are a person's to edit"
NAMED_BEFORE = "the name is gone from it; whether its words still tell of them is yours to see"
RESTS_IN_PART = "it rests in part on what is forgotten"
FILE_NAMED = "its file is named for them"
STILL_QUOTED = "it has words of theirs, in what a person wrote"
# What a line of a transcript keeps when its words go; a later version may add words of any name.
_BARE = {
    "message": ("type", "id", "at", "role", "tool_call_id", "trust", "unanswered", "unprompted"),
    "appraisal": ("type", "at", "message", "points"),
    "compaction": ("type", "id", "at", "kind", "first", "last", "message_tokens", "result_tokens"),
}
_BLOBS = ("blob", "blobs")  # fields of a message that name originals beside the transcript
_LARGEST_LOOKED_INTO = 4_000_000  # of files that no kind of record reads, in bytes


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
    names: tuple[str, ...] = ()  # the person's id, and what they are called
    ids: frozenset[str] = frozenset()  # of all that goes
    speech: Speech = speech.SILENT  # theirs alone
    last: datetime | None = None  # when they last said something; None: never

    def tells_of(self, text: str) -> bool:
        """Whether a text names them, or holds words that only they said."""
        named = any(
            re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)
            for name in self.names
            if name
        )
        return named or self.speech.echoes(text)

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
    until: datetime | None = None  # what they said later stays; None: nothing does
    gone: set[str] = field(default_factory=set)  # ids of messages, sessions and records
    speech: Speech = speech.SILENT
    last: datetime | None = None  # when they last said something that goes
    is_back: bool = False  # they talk with the entity again
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

    def is_named(self, text: str) -> bool:
        """Whether a text has one of their names."""
        return self.replace_names(text) != text

    def is_past(self, at: datetime | None) -> bool:
        """Whether something was said or written by the time that is forgotten."""
        return self.until is None or (not self.is_back if at is None else at <= self.until)

    def is_own(self, view: RecordView) -> bool:
        """Whether something is of or for them alone, or rests on nothing but what goes."""
        if {self.person} in (set(view.origin.audience), set(view.people)):
            return view.id in self.gone or self.is_past(view.at)
        ids = set(view.sources)
        mark = f"{sessions.PREFIX}_"
        rests_on = {record_id for record_id in ids if not record_id.startswith(mark)} or ids
        return bool(rests_on) and rests_on <= self.gone

    def touches(self, view: RecordView) -> bool:
        """Whether something rests on what goes, or was for them too."""
        listed = {*view.origin.audience, *view.people}
        return not self.gone.isdisjoint(view.sources) or (
            self.person in listed and self.is_past(view.at)
        )

    def scrub(self, text: str, *, near: bool, drops_named: bool = False) -> str:
        """Take their words out of a text of the entity's, and the name out of what is left.

        Args:
            text: Of any number of sentences; one that has their words goes as a whole.
            near: Whether it was said among them, so that a single word of theirs is enough.
            drops_named: Whether a sentence that names them goes too.
        """

        def goes(sentence: str) -> bool:
            named = self.is_named(sentence)
            if named and drops_named:
                return True
            repeats = self.speech.echoes if near or named else self.speech.quotes
            return repeats(sentence)

        return self.replace_names(speech.without(text, goes))

    def scrub_values(self, value: Any, *, near: bool, drops_named: bool = False) -> Any:
        """Do the same to all texts of a value, and drop what that leaves empty from lists."""
        if isinstance(value, str):
            return self.scrub(value, near=near, drops_named=drops_named)
        if isinstance(value, list):
            new = [self.scrub_values(element, near=near) for element in value]
            return [element for element, old in zip(new, value, strict=True) if element or not old]
        if isinstance(value, dict):
            return {key: self.scrub_values(inner, near=near) for key, inner in value.items()}
        return value


def plan(
    entity: Entity,
    person: str,
    names: Sequence[str],
    zone: tzinfo,
    *,
    until: datetime | None = None,
    ids: frozenset[str] = frozenset(),
) -> Forgetting:
    """Plan to forget a person; a second time there is nothing left to plan.

    Args:
        entity: Whose memory.
        person: Their id.
        names: What they are called; each is looked for as it is written.
        zone: The entity's time zone.
        until: What they said later stays; None: nothing of them does.
        ids: Of messages and records that go whoever they are from.

    Raises:
        RecordInvalidError: If a file can't be read: nothing may be forgotten by half.
    """
    spelt = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    draft = _Draft(entity, person, spelt, zone, until, set(ids))
    _hear(draft)
    _forget_sessions(draft, kinds.SESSION)
    _read_views(draft)
    for kind in kinds.KINDS:
        if kind is not kinds.SESSION:  # first: what goes with it decides of the others
            FORGETTERS[kind.forgetting](draft, kind)
    _forget_body(draft)
    _forget_history(draft)
    return Forgetting(
        tuple(draft.planned.values()),
        dict(draft.counts),
        tuple(_find_undecided(draft)),
        (person, *spelt),
        frozenset(draft.gone),
        draft.speech,
        draft.last,
    )


def plan_record(plan: Forgetting, now: datetime, key: str) -> Change:
    """Plan to keep in mind whom a plan forgets, so that no merge and no import brings them back.

    Args:
        plan: What is forgotten.
        now: The present.
        key: Of the hashes of their names, hexadecimal, made of chance.
    """
    at = max(now, plan.last) if plan.last else now  # of two machines one may be ahead
    return forgotten.plan_add(at, plan.names, plan.ids, key, "keep in mind what is forgotten")


def again(entity: Entity, zone: tzinfo) -> Forgetting:
    """Plan to forget once more what a merge, an import or a copy brought back.

    Raises:
        RecordInvalidError: If a file can't be read: nothing may be forgotten by half.
    """
    planned: dict[str, Change] = {}
    counts: Counter[str] = Counter()
    undecided: list[Undecided] = []
    for entry in forgotten.read(entity.root):
        for person, names in _returned(entity, entry).items():
            more = plan(entity, person, names, zone, until=entry.at, ids=entry.ids)
            if planned.keys().isdisjoint(change.path for change in more.changes):
                planned |= {change.path: change for change in more.changes}
                counts.update(more.counts)
                undecided += more.undecided if more.changes else ()
    return Forgetting(tuple(planned.values()), dict(counts), tuple(undecided))


def _returned(entity: Entity, entry: Forgotten) -> dict[str, list[str]]:
    """Return whom of the forgotten the folder holds something of again, with their names.

    Where only messages or records are back, without their names, the id is NOBODY.
    """
    names: dict[str, list[str]] = {}
    for path in kinds.PERSON.paths(entity):
        person = base.load(path, relationships.parse)
        met = person.first_met
        if any(map(entry.is_named, (person.id, *person.names))) and not (met and met > entry.at):
            names[person.id] = list(person.names)
    for path in kinds.SESSION.paths(entity):
        session = session_files.load(path)
        if jsonl.doubles(jsonl.read(session.source)[0]):
            names.setdefault(NOBODY, [])
        for message in session.messages:
            speaker = _speaker(session, message)
            if _is_emptied(message) or message.at > entry.at:
                continue
            if entry.is_named(speaker):
                called = str(message.extra.get("name") or "")
                names.setdefault(speaker, []).append(called)
            elif message.id in entry.ids:
                names.setdefault(NOBODY, [])
    of_ids = (kind for kind in kinds.KINDS if kind.prefix and kind is not kinds.SESSION)
    if any(kind.stem(path) in entry.ids for kind in of_ids for path in kind.paths(entity)):
        names.setdefault(NOBODY, [])
    if len(names) > 1:
        names.pop(NOBODY, None)  # their ids go with the first of them
    return names


def _is_emptied(message: Message) -> bool:
    """Whether nothing is left of a message's words."""
    return message.extra.get(jsonl.EMPTIED) is True


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


def _hear(draft: _Draft) -> None:
    """Find what they said, what was answered to it, and what of it nobody else said."""
    own: list[Remark] = []
    of_others: list[Remark] = []
    for path in kinds.SESSION.paths(draft.entity):
        session = session_files.load(path)
        lost = _lost_messages(draft, session)
        for message in session.messages:
            mine = _speaker(session, message) == draft.person
            if mine and message.id in lost:
                own.append((message.at, message.text))
                draft.last = max(draft.last or message.at, message.at)
            elif mine:
                draft.is_back = True
            elif message.role == "user" or draft.person not in session.people:
                of_others.append((message.at, message.text))
        draft.gone |= lost
        if lost and session.people == (draft.person,) and draft.is_past(session.last_at):
            draft.gone.add(session.id)
    draft.speech = speech.of(own, of_others)


def _speaker(session: Session, message: Message) -> str:
    """Return the id of who said a message; empty for the entity and its tools."""
    return (message.speaker or session.by) if message.role == "user" else ""


def _lost_messages(draft: _Draft, session: Session) -> set[str]:
    """Return the ids of the messages that go: theirs, and what was answered to them alone."""
    lost: set[str] = set()
    answers = False  # whether the entity is answering them
    alone = session.people == (draft.person,)
    for message in session.messages:
        if message.role == "user":
            answers = _speaker(session, message) == draft.person
        elif message.unprompted:
            answers = False
        wanted = (answers or alone) and draft.is_past(message.at)
        if wanted or message.id in draft.gone:
            lost.add(message.id)
    return lost


def _forget_sessions(draft: _Draft, kind: Kind) -> None:
    for path in kind.paths(draft.entity):
        session = session_files.load(path)
        alone = session.people == (draft.person,) and session.id in draft.gone
        originals = _doomed_originals(draft, session, path.parent, alone=alone)
        new = _redact(draft, session, originals, alone=alone)
        if new != session.source:
            why = "forget what was said"
            relative = draft.entity.relative(path)
            draft.add(_rewrite(path, relative, new, why), kind.plural)
            draft.counts["messages"] += sum(
                message.id in draft.gone and not _is_emptied(message)
                for message in session.messages
            )
        beside = [path.parent / "blobs" / name for name in originals]
        if any(message.id in draft.gone for message in session.messages):
            beside.append(path.parent / session_files.HANDOVER)
        for file in beside:
            if file.is_file():
                draft.add(_removal(draft.entity, file), "files beside conversations")


def _rewrite(path: Path, relative: str, new: str, why: str) -> Change:
    old = files.read(path)
    return Change(relative, why, new.encode(errors="surrogateescape"), files.sha256(old))


def _doomed_originals(draft: _Draft, session: Session, folder: Path, *, alone: bool) -> list[str]:
    """Return the names of the originals beside a transcript that go with what is forgotten."""
    place = folder / "blobs"
    names = sorted(path.name for path in place.iterdir()) if place.is_dir() else []
    if alone or not names:
        return names
    lost, kept = set[str](), set[str]()
    for message in session.messages:
        (lost if message.id in draft.gone else kept).update(_references(message.extra))
    return [
        name
        for name in names
        if (_refers(lost, name) and not _refers(kept, name))
        or draft.speech.quotes((files.read_if_there(place / name) or b"").decode(errors="replace"))
    ]


def _references(data: Mapping[str, Any]) -> set[str]:
    values = [value for key in _BLOBS for value in _listed(data.get(key))]
    return {value for value in values if isinstance(value, str) and value}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _refers(references: set[str], name: str) -> bool:
    return any(name.startswith(reference) for reference in references)


def _redact(draft: _Draft, session: Session, originals: Sequence[str], *, alone: bool) -> str:
    """Return a transcript without a person's words; lines of others stay as they are."""
    present = draft.person in session.people
    doubles = jsonl.doubles(jsonl.read(session.source)[0])  # of git's union merge
    out = []
    for number, line in enumerate(session.source.split("\n"), 1):
        if number in doubles:
            continue
        try:
            data = json.loads(line.removeprefix("\ufeff"))
        except (ValueError, RecursionError):  # blank, or cut off: it may hold their words
            out.append("" if present else line)
            continue
        new = _redact_line(draft, data, near=present, alone=alone)
        for key in _BLOBS:
            left = [name for name in _listed(new.get(key)) if name and not _named(originals, name)]
            if key in new and left != _listed(new[key]):
                new = {name: value for name, value in new.items() if name != key}
                new |= {key: left} if left else {}
        out.append(line if new == data else jsonl.dumped(new).rstrip("\n"))
    return "\n".join(out)


def _named(originals: Sequence[str], reference: object) -> bool:
    return isinstance(reference, str) and any(name.startswith(reference) for name in originals)


def _redact_line(draft: _Draft, data: dict[str, Any], *, near: bool, alone: bool) -> dict[str, Any]:
    """Return a line of a transcript without their words.

    Args:
        draft: Whose.
        data: The line.
        near: Whether they took part in the conversation.
        alone: Whether it was theirs alone.
    """
    kind = data.get("type")
    if kind == "session":
        return _redact_head(draft, data, near=near)
    about = data.get("message") if kind == "appraisal" else data.get("id")
    if kind in _BARE and (alone or (kind != "compaction" and about in draft.gone)):
        new = {key: data[key] for key in _BARE[str(kind)] if key in data}
        words = {"message": {"text": ""}, "compaction": {"summary": ""}}.get(str(kind))
        return new | ({**words, jsonl.EMPTIED: True} if words else {})
    if kind == "message" and data.get("role") == "user":  # another person's words are theirs
        text = data.get("text")
        plain = speech.without(text, draft.speech.quotes) if isinstance(text, str) else text
        return data if plain == text else {**data, "text": plain, jsonl.EMPTIED: jsonl.IN_PART}
    if not draft.is_past(_at(data)):
        return data
    if not near:
        told = json.dumps(data, ensure_ascii=False)
        if not (draft.is_named(told) or draft.speech.quotes(told)):
            return data
    summary = kind == "compaction"
    new = {
        key: draft.scrub_values(value, near=near, drops_named=summary and key == "summary")
        for key, value in data.items()
    }
    return new if new == data else {**new, jsonl.EMPTIED: jsonl.IN_PART}


def _redact_head(draft: _Draft, data: dict[str, Any], *, near: bool) -> dict[str, Any]:
    """Take them out of the first line of a conversation."""
    if not near or (draft.is_back and not draft.is_past(_at(data))):
        return data
    new = {key: draft.scrub_values(value, near=True) for key, value in data.items()}
    new["by"] = "" if data.get("by") == draft.person else data.get("by", "")
    if "with" in data:
        new["with"] = [name for name in base.texts(data, "with") if name != draft.person]
    return {key: value for key, value in new.items() if key != "with" or value}


def _at(data: Mapping[str, Any]) -> datetime | None:
    try:
        return base.field(data, "at", datetime, None)
    except ValueError:
        return None


def _removal(entity: Entity, path: Path) -> Change:
    return Change(entity.relative(path), "forget it", None, files.sha256(files.read(path)))


def _forget_state(draft: _Draft, kind: Kind) -> None:
    """Take out what waits of their talks, and what is proposed for review and tells of them."""
    file = state.read(draft.entity.state)
    remove: list[list[str]] = []
    for session_id, keys in file.get("sessions", default={}).items():
        if session_id in draft.gone:
            remove.append(["sessions", session_id])
        elif isinstance(keys.get("reflect"), Mapping) and draft.person in keys["reflect"]:
            remove.append(["sessions", session_id, "reflect", draft.person])
    distilled = file.get("distill", default={})
    remove += [["distill", record_id] for record_id in distilled if record_id in draft.gone]
    telling = [
        proposal.name
        for proposal in proposed.waiting(draft.entity.root)
        if any(
            draft.is_named(text) or draft.speech.echoes(text)
            for text in (proposal.title, *proposal.added)
        )
    ]
    remove += [[review.SECTION, review.WAITING, name] for name in telling]
    if remove:
        draft.add(state.plan_write(file, {}, "forget what waits", remove=remove), "places in state")


def _forget_files(draft: _Draft, kind: Kind) -> None:
    """Remove the files that are theirs alone; the others lose the id, their words and the name."""
    for path, views in draft.views[kind.name]:
        relative = draft.entity.relative(path)
        for view in views:
            if relative in draft.planned or view.document is None:
                continue
            document = None if draft.is_own(view) else _without_words(draft, kind, view)
            if document is None:
                change = base.plan_remove(relative, view.document, "forget it")
                draft.add(change, kind.plural)
                continue
            edit = base.plan_edit(relative, view.document, document, "forget a name")
            draft.add(edit, f"{kind.plural} with the name")


def _without_words(draft: _Draft, kind: Kind, view: RecordView) -> Document | None:
    """Return a file that others share without what was theirs; None if nothing is left of it."""
    if view.document is None or not draft.is_past(view.at):
        return view.document
    document = _without_id(draft, kind, view.document)
    if not (view.origin.by or kind.own_words):
        return document
    near = draft.touches(view)
    for key in kind.text_keys:
        value = document.meta.get(key)
        if value is not None and (new := draft.scrub_values(value, near=near)) != value:
            document = base.with_values(document, {key: new or None})
    scene = _scene_without(draft, view) if kind is kinds.EPISODE and near else None
    if scene is not None:
        return _retold(document, scene)
    body = draft.scrub(document.body, near=near)
    if body == document.body:
        return document
    return document.with_body(body) if body.strip() or kind is kinds.PERSON else None


def _scene_without(draft: _Draft, view: RecordView) -> Scene | None:
    """Return the conversation of an episode as it is without them; None if it is not here."""
    if view.origin.by != episode_text.PURPOSE or view.document is None:
        return None
    session_id = episodes.of(view.document, view.id).session
    path = draft.entity.root / sessions.path(session_id)
    if not base.is_id(session_id) or not path.is_file():
        return None
    change = draft.planned.get(sessions.path(session_id))
    source = change.data.decode(errors="surrogateescape") if change and change.data else None
    session = sessions.parse(source) if source else session_files.load(path)
    messages = [message for message in session.messages if message.id in view.sources]
    names = {
        message.speaker: str(message.extra.get("name") or message.speaker)
        for message in messages
        if message.speaker
    }
    return Scene("", names, messages, {}, "")


def _retold(document: Document, scene: Scene) -> Document | None:
    """Tell an episode as an excerpt of what the others said; None if they said nothing.

    The next consolidation has the model tell it, from the same messages.
    """
    others = Scene("", scene.names, [m for m in scene.spoken_messages if m.role == "user"], {}, "")
    if not others.messages:
        return None
    values = {"summary_source": episodes.EXCERPT, "model": None, "tries": None}
    return base.with_values(document, values).with_body(episode_text.excerpt(others).text)


def _without_id(draft: _Draft, kind: Kind, document: Document) -> Document:
    """Take a person out of a record's lists of ids; others stand in each, so none is emptied."""
    for key in kind.people_keys:
        if draft.person in (listed := base.texts(document.meta, key)):
            left = [person_id for person_id in listed if person_id != draft.person]
            document = base.with_values(document, {key: left or None})
    return document


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
    if not draft.is_past(view.at):
        return text
    if draft.person in audience:
        left = [person_id for person_id in audience if person_id != draft.person]
        text = origin_comments.with_values(text, {"audience": left})
    if not view.origin.by:
        return text
    near = draft.touches(view)
    if text.startswith(scratch.MARK):  # a line that is a note of its own
        repeats = draft.speech.echoes if near or draft.is_named(text) else draft.speech.quotes
        return "" if repeats(view.text) else draft.replace_names(text)
    lines = markdown.lines(text)
    head = next((n for n, line in enumerate(lines) if not _is_head(line)), len(lines))
    body = draft.scrub("".join(lines[head:]), near=near)
    return draft.replace_names("".join(lines[:head])) + body if body.strip() else ""


def _is_head(line: str) -> bool:
    """Whether a line of a part is its heading, or says where it comes from."""
    return line.startswith(("#", "<!--")) or not line.strip()


def _forget_portrait(draft: _Draft, kind: Kind) -> None:
    """Remove their portrait, and what the notes in those of others hold of them alone."""
    for path, views in draft.views[kind.name]:
        relative = draft.entity.relative(path)
        for view in views:
            if view.document is None:
                continue
            if view.id == draft.person and draft.is_past(view.times.get("first_met")):
                change = base.plan_remove(relative, view.document, "forget the portrait")
                draft.add(change, "portrait")
                continue
            if view.id == draft.person:
                continue  # they have been met anew
            marks = relationships.of(view.document, view.id).lines
            if marks is None:
                document = _without_words(draft, kind, view) or view.document
            else:
                document = _without_lines(draft, kind, view, view.document, marks)
            document = _without_notes(draft, document, view.notes)
            edit = base.plan_edit(relative, view.document, document, "forget notes")
            draft.add(edit, "files with notes")


def _without_lines(
    draft: _Draft,
    kind: Kind,
    view: RecordView,
    document: Document,
    marks: Mapping[str, base.Provenance],
) -> Document:
    """Forget in a portrait line by line: what rests on them alone goes, a person's own stays."""
    if not draft.is_past(view.at):
        return document
    raw = base.field(document.meta, "lines", dict, {})
    left, rows = dict[str, Any](), list[str]()
    for line in markdown.lines(document.body):
        key = relationships.line_key(line)
        mark = marks.get(key)
        if mark is None or not line.strip():
            rows.append(line)
            continue
        sources = set(mark.sources)
        messages = {name for name in sources if kinds.of_id(name) != kinds.SESSION.name} or sources
        if messages and messages <= draft.gone:
            continue
        new = draft.scrub(line, near=not draft.gone.isdisjoint(sources))
        if new.strip():
            rows.append(new)
            left[relationships.line_key(new)] = raw[key]
    rows_text = "".join(rows)
    if rows_text.rstrip() != document.body:
        document = base.with_values(document, {"lines": left}).with_body(rows_text)
    document = _without_id(draft, kind, document)
    for key in kind.text_keys:
        value = document.meta.get(key)
        if value is None:
            continue
        if (new_value := draft.scrub_values(value, near=draft.touches(view))) != value:
            document = base.with_values(document, {key: new_value or None})
    return document


def _without_notes(draft: _Draft, document: Document, notes: Sequence[RecordView]) -> Document:
    raw = base.field(document.meta, "pending", list, [])
    left = []
    for note, value in zip(notes, raw, strict=True):
        if draft.is_own(note):
            continue
        text = draft.scrub(note.text, near=draft.touches(note)) if note.origin.by else note.text
        if not text.strip():
            continue
        audience = [person_id for person_id in note.origin.audience if person_id != draft.person]
        new = {**value, "text": text} if text != note.text else value
        is_listed = draft.person in note.origin.audience
        left.append({**new, "audience": audience} if is_listed else new)
    return document if left == raw else base.with_values(document, {"pending": left or None})


def _leave(draft: _Draft, kind: Kind) -> None:
    """Change nothing: a name in it is shown."""


def _forget_body(draft: _Draft) -> None:
    """Take the thoughts and feelings out of the body that are of them."""
    file = soma.read(draft.entity.soma)
    values: dict[str, Any] = {}
    remove: list[list[str]] = []
    thoughts = file.get("noise", "fragments", default=[])
    if isinstance(thoughts, list):
        left = [entry for entry in map(_thought_without(draft), thoughts) if entry is not None]
        if left != thoughts:
            values["noise"] = {"fragments": left}
    felt = file.get("felt")
    if isinstance(felt, Mapping) and _thought_without(draft)(felt) != felt:
        remove.append(["felt"])
    if values or remove:
        change = soma.plan_write(file, values, "forget a thought", remove=remove)
        draft.add(change, "places in the body")


def _thought_without(draft: _Draft) -> Callable[[Any], Any]:
    """Return what makes a thought or a feeling be without them: None if nothing is left."""

    def stripped(entry: Any) -> Any:
        if not isinstance(entry, Mapping) or not draft.is_past(_at(entry)):
            return entry
        audience = base.texts(entry, "audience")
        if set(audience) == {draft.person}:
            return None
        new = draft.scrub_values(dict(entry), near=draft.person in audience)
        if any(not new[key] and entry[key] for key in entry):
            return None
        if draft.person in audience:
            new["audience"] = [name for name in audience if name != draft.person]
        return new

    return stripped


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
    """Remove earlier versions kept in `.history/`: of files that change, and what tells of them."""
    history = draft.entity.root / HISTORY
    if not (draft.planned or history.is_dir()):
        return
    changed = {*draft.planned, relationships.path(draft.person)}
    for path in sorted(history.rglob("*")) if history.is_dir() else []:
        if not path.is_file():
            continue
        place = path.relative_to(history)
        original = place.with_name(f"{place.stem.rsplit('.', 1)[0]}{place.suffix}").as_posix()
        cut_off = place.name.partition(".")[2]  # what a kill kept from being written
        data = files.read_if_there(path) or b""
        holds = (
            original in changed
            or path.suffix == ARCHIVE  # the folder before a migration: packed, and whole
            or cut_off in {Path(changed_path).name for changed_path in changed}
            or _is_named(draft, data)
            or draft.speech.echoes(data.decode(errors="replace"))
        )
        if holds:
            draft.add(_removal(draft.entity, path), "earlier versions")


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
    for path in _other_files(draft):
        yield from _judge(draft, path, "file", ())


def _other_files(draft: _Draft) -> Iterator[Path]:
    """Yield the files that no kind of record reads, those of the workspace among them."""
    entity = draft.entity
    read = {path for kind in kinds.KINDS for path in kind.paths(entity)} | {entity.file}
    derived, derived_names = {".git", ".bumble", HISTORY}, ("memory.db", forgotten.PATH)
    for path in sorted(entity.root.rglob("*")):
        place = path.relative_to(entity.root)
        beside = len(place.parts) > 2 and place.parts[2] == "blobs"  # looked at with the transcript
        if beside or path in read or not derived.isdisjoint(place.parts):
            continue
        if path.is_symlink() or not path.is_file() or place.name.startswith(derived_names):
            continue
        if path.stat().st_size <= _LARGEST_LOOKED_INTO:
            yield path


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
        STILL_QUOTED: _is_quoted(draft, new),
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
    return draft.is_named(data.decode(errors="replace"))


def _is_quoted(draft: _Draft, data: bytes) -> bool:
    return draft.speech.quotes(data.decode(errors="replace"))
