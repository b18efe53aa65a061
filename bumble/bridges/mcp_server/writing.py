"""What another program may leave with an entity: a note, and a reminder. Both stay quotations.

They are of the trust tier `tool`: shown in tags of their own, and never learnt on their own say-so.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from bumble.bridges.mcp_server.desk import Desk
from bumble.entity.changes import Change, ChangeSet
from bumble.errors import RefusedError, UsageError
from bumble.guard import secrets
from bumble.records import base, knowledge, reminders
from bumble.records.base import Provenance
from bumble.text import moments
from bumble.text.words import one_line, shorten

BY = "mcp"
TRUST = "tool"
MAX_TEXT_CHARS = 20_000
MAX_TITLE_CHARS = 80
MOST_ALIKE = 1000  # notes of one title
MAX_NOTES_BYTES = 1_000_000  # of all notes: the file has a limit, and is the owner's


def remember(desk: Desk, text: str, title: str = "") -> dict[str, Any]:
    """Keep a note as a section of knowledge of its own; nothing that is there is replaced.

    Raises:
        UsageError: If there is no text, or too much.
        RefusedError: If it holds a secret, or there are too many notes.
    """
    _check(text, title)
    book = knowledge.read(desk.runtime.entity.knowledge)
    head = shorten(one_line(title) or one_line(text), MAX_TITLE_CHARS)
    if desk.reader.trust != "owner":  # a number would tell of a section of that title, not shown
        head = f"{head} ({desk.reader.name})"
    own = (part for part in book.sections if part.provenance == _origin(desk))
    same = next((part for part in own if part.text == text.strip()), None)
    if same is not None:
        return {"changed": False, "id": same.title, "trust": TRUST}
    _check_room(book, text)
    name = _free_title(book, head)
    why = f"remember for another program: {shorten(one_line(text), 50)}"
    change = knowledge.plan_set(book, name, text, why, by_entity=True, provenance=_origin(desk))
    _apply(desk, "mcp remember", change)
    return {"changed": change is not None, "id": name, "trust": TRUST}


def _check_room(book: knowledge.Knowledge, text: str) -> None:
    notes = [part.source for part in book.sections if part.provenance.by == BY]
    if sum(len(note.encode()) for note in (*notes, text)) > MAX_NOTES_BYTES:
        raise RefusedError(
            f"{knowledge.PATH}: the notes of other programs would fill {MAX_NOTES_BYTES:,} bytes\n"
            "Its owner makes room with `bumble knowledge remove`, or makes them their own."
        )


def _free_title(book: knowledge.Knowledge, title: str) -> str:
    names = (title, *(f"{title} ({number})" for number in range(2, MOST_ALIKE)))
    for name in names:
        if knowledge.find(book, name) is None:
            return name
    raise UsageError(f'There are {MOST_ALIKE} notes called "{title}" already: give it a title.')


def remind(desk: Desk, text: str, at: str) -> dict[str, Any]:
    """Have something said to who asks, in their next talk once it is due.

    Raises:
        UsageError: If there is no text, too much, or the time is none.
        RefusedError: If it holds a secret.
    """
    _check(text)
    due = _moment(desk, at)
    runtime = desk.runtime
    reminder = reminders.new(
        base.new_id(reminders.PREFIX, desk.now(), runtime.rng),
        due,
        text.strip(),
        person=desk.reader.id,
        deliver=reminders.SESSION,
        provenance=_origin(desk),
    )
    _apply(desk, "mcp remind", reminders.plan_new(reminder, f"remind: {shorten(text, 50)}"))
    return {"changed": True, "id": reminder.id, "at": base.stamp(due), "trust": TRUST}


def _moment(desk: Desk, text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text}: no time like 2026-05-24T18:00") from None
    at = at if at.tzinfo else at.replace(tzinfo=desk.runtime.zone)
    if not moments.is_sane(at):
        raise UsageError(f"{text}: {moments.YEARS}")
    return at.astimezone(desk.runtime.zone)


def _check(text: str, title: str = "") -> None:
    if not text.strip():
        raise UsageError("There is nothing to keep: the text is empty.")
    if len(text) + len(title) > MAX_TEXT_CHARS:
        raise UsageError(f"That text is longer than {MAX_TEXT_CHARS:,} characters.")
    secrets.refuse(text, title)


def _origin(desk: Desk) -> Provenance:
    return Provenance(by=BY, trust=TRUST, audience=desk.readers)


def _apply(desk: Desk, title: str, change: Change | None) -> None:
    """Write a change; in a git folder it becomes a commit. No trust is renewed by it."""
    if change is None:
        return
    desk.runtime.apply(ChangeSet(f"{title}: {change.why}", (change,)))
