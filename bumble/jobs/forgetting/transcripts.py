"""Forgetting in transcripts: lines and ids stay, the words go, and the originals beside them.

The one thing that rewrites transcripts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bumble.entity.changes import Change
from bumble.files import disk
from bumble.jobs.forgetting.draft import (
    ForgettingDraft,
    Remark,
    speech_of,
    without_sentences,
)
from bumble.records import base, fields, jsonl, reminders, session_files, sessions
from bumble.text import moments

# What a line of a transcript keeps when its words go; a later version may add words of any name.
_BARE = {
    "message": (
        *("type", "id", "at", "role", "tool_call_id", "trust", "unanswered", "unprompted", "after"),
    ),
    "appraisal": ("type", "at", "message", "points"),
    "compaction": ("type", "id", "at", "kind", "first", "last", "message_tokens", "result_tokens"),
}
_BLOBS = ("blob", "blobs")  # fields of a message that name originals beside the transcript


def hear(draft: ForgettingDraft) -> None:
    """Find what they said, what was answered to it, and what of it nobody else said."""
    own: list[Remark] = []
    of_others: list[Remark] = []
    draft.gone |= {  # what they had said to others goes with the words by which that was done
        one.id
        for one in reminders.REMINDER.readable(draft.entity.reminders)
        if one.asked_by == draft.person and draft.is_past(base.time_of(one.id))
    }
    for path in session_files.SESSION.paths(draft.entity):
        session = session_files.load(path)
        lost = _lost_messages(draft, session)
        for message in session.messages:
            mine = speaker(session, message) == draft.person
            if mine and message.id in lost:
                own.append((message.at, message.text))
                draft.last = max(draft.last or message.at, message.at)
            elif mine:
                draft.is_back = True
            elif message.role == "user" or draft.person not in session.people:
                # who says it where they were not quotes nobody, whatever the clock says
                alone = message.role == "user" and draft.person not in session.people
                of_others.append((moments.FIRST if alone else message.at, message.text))
        draft.gone |= lost
        if lost and session.people == (draft.person,) and len(lost) == len(session.messages):
            draft.gone.add(session.id)
    draft.speech = speech_of(own, of_others)


def speaker(session: sessions.Session, message: sessions.Message) -> str:
    """Return the id of who said a message; empty for the entity and its tools."""
    return (message.speaker or session.by) if message.role == "user" else ""


def is_emptied(message: sessions.Message) -> bool:
    """Whether nothing is left of a message's words."""
    return message.extra.get(jsonl.EMPTIED) is True


def _lost_messages(draft: ForgettingDraft, session: sessions.Session) -> set[str]:
    """Return the ids of the messages that go: theirs, and what was answered to them alone."""
    lost: set[str] = set()
    answers = anew = False  # whether the entity is answering them, and whether as one met anew
    alone = session.people == (draft.person,)
    for message in session.messages:
        if message.role == "user":
            answers = speaker(session, message) == draft.person
            entry = draft.entry  # of the forgetting that they were met anew after
            anew = answers and entry is not None and entry.is_met_after(message)
        elif message.unprompted:
            answers = False
        is_theirs = not draft.gone.isdisjoint((message.id, message.extra.get("reminder")))
        if ((answers or alone) and not anew) or is_theirs:
            lost.add(message.id)
    return lost


def forget(draft: ForgettingDraft, path: Path) -> None:
    """Take their words out of a transcript, and remove what lies beside it and holds them."""
    session = session_files.load(path)
    alone = session.people == (draft.person,) and session.id in draft.gone
    originals = _doomed_originals(draft, session, path.parent, alone=alone)
    new = _redact(draft, session, originals, alone=alone)
    if new != session.source:
        data, old = new.encode(errors="surrogateescape"), disk.sha256(disk.read(path))
        change = Change(draft.entity.relative(path), "forget what was said", data, old)
        draft.add(change, session_files.SESSION.plural)
        draft.counts["messages"] += sum(
            message.id in draft.gone and not is_emptied(message) for message in session.messages
        )
    beside = [path.parent / "blobs" / name for name in originals]
    brief = path.parent / session_files.HANDOVER_FILE
    told = (disk.read_if_there(brief) or b"").decode(errors="replace")
    ended = session.messages[-1].at if session.messages else None
    if (draft.is_past(ended) and draft.tells_of(told)) or any(
        message.id in draft.gone for message in session.messages
    ):
        beside.append(brief)
    for file in filter(Path.is_file, beside):
        draft.remove(file, "files beside conversations")


def _doomed_originals(
    draft: ForgettingDraft, session: sessions.Session, folder: Path, *, alone: bool
) -> list[str]:
    """Return the names of the originals beside a transcript that go with what is forgotten."""
    place = folder / "blobs"
    names = sorted(path.name for path in place.iterdir()) if place.is_dir() else []
    if alone or not names:
        return names
    lost, kept = set[str](), set[str]()
    for message in session.messages:
        named = (value for key in _BLOBS for value in _listed(message.extra.get(key)))
        texts = {value for value in named if isinstance(value, str) and value}
        (lost if message.id in draft.gone else kept).update(texts)
    return [
        name
        for name in names
        if (name.startswith(tuple(lost)) and not name.startswith(tuple(kept)))
        or draft.speech.quotes((disk.read_if_there(place / name) or b"").decode(errors="replace"))
    ]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _redact(
    draft: ForgettingDraft, session: sessions.Session, originals: Sequence[str], *, alone: bool
) -> str:
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


def _redact_line(
    draft: ForgettingDraft, data: dict[str, Any], *, near: bool, alone: bool
) -> dict[str, Any]:
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
        plain = without_sentences(text, draft.speech.quotes) if isinstance(text, str) else text
        return data if plain == text else {**data, "text": plain, jsonl.EMPTIED: jsonl.IN_PART}
    if not draft.is_past(fields.moment(data.get("at"))):
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


def _redact_head(draft: ForgettingDraft, data: dict[str, Any], *, near: bool) -> dict[str, Any]:
    """Take them out of the first line of a conversation."""
    is_theirs = data.get("id") in draft.gone
    if not near or (
        draft.is_back and not is_theirs and not draft.is_past(fields.moment(data.get("at")))
    ):
        return data
    new = {key: draft.scrub_values(value, near=True) for key, value in data.items()}
    new["by"] = "" if data.get("by") == draft.person else data.get("by", "")
    if "with" in data:
        new["with"] = [name for name in base.texts(data, "with") if name != draft.person]
    return {key: value for key, value in new.items() if key != "with" or value}
