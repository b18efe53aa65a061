"""Who speaks and who is present, which session a message goes to, and storing it first."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct

from bumble import patterns
from bumble.entity.changes import Change, ChangeSet
from bumble.errors import RefusedError, UnsafePathError
from bumble.fallback import sayings
from bumble.files import disk
from bumble.llm import prompts
from bumble.records import base, forgotten, session_files, sessions
from bumble.runtime import people
from bumble.runtime.runtime import Runtime
from bumble.text import moments

BEGINNING = "beginning"  # below `.bumble/`: the lock of who begins a conversation


def open_session(
    runtime: Runtime,
    who: people.Person,
    at: datetime,
    *,
    session_id: str | None = None,
    new: bool = False,
    present: Sequence[people.Person] = (),
) -> tuple[sessions.Session, bool]:
    """Find the conversation to go on with, or begin one.

    Those who hear a conversation are the same from its beginning to its end, so that what was said
    in it is known to all of them and to nobody else.

    Args:
        runtime: Whose conversations.
        who: Who speaks.
        at: The present.
        session_id: Of the one to go on with; its people must be these.
        new: Begin one in any case.
        present: Who else hears it.

    Returns:
        The session, and whether it has yet to be written.

    Raises:
        RefusedError: If the session named was had with other people, or elsewhere.
    """
    folder = runtime.entity.sessions
    other_ids = tuple(dict.fromkeys(person.id for person in present if person.id != who.id))
    if session_id is not None:
        session = session_files.find(folder, session_id)
        if session.imported is not None:
            raise RefusedError(
                f"{session.id} was had with another assistant and imported; it is only read\n"
                f"`bumble session show {session.id}` shows it. Begin another with --new-session."
            )
        strangers = [each for each in (who.id, *other_ids) if each not in session.people]
        if strangers:  # nobody reads what they did not hear from the beginning
            listeners = ", ".join(session.people)
            raise RefusedError(
                f"{session.id} was had with {listeners}; {strangers[0]} would read what was said"
                " in it.\n"
                "Begin another with --new-session; --with NAME names who else is there."
            )
        return session, False
    latest = session_files.newest(folder, who.id, at, other_ids)
    if not new and (going_on := _going_on(runtime, latest, at)):
        return going_on, False
    new_id = base.new_id(sessions.PREFIX, at, runtime.rng)
    after = base.filled({"after": latest.last if latest else ""})
    return sessions.new(new_id, at, who.id, other_ids, **after), True


def _going_on(
    runtime: Runtime, latest: session_files.SessionInfo | None, at: datetime
) -> sessions.Session | None:
    """Return the conversation that has not ended, by itself or because nobody said anything."""
    idle = timedelta(hours=runtime.config.session.idle_hours)
    if latest is None or latest.ended or moments.gap(latest.last_at, at) > idle:
        return None
    return session_files.find(runtime.entity.sessions, latest.id)


class Delivery(Struct, frozen=True):
    """What the entity has to say before anybody speaks, and the changes that note it was said."""

    messages: tuple[sessions.Message, ...] = ()
    changes: tuple[Change, ...] = ()


NOTHING = Delivery()


def listen(
    runtime: Runtime,
    session: sessions.Session,
    is_new: bool,
    who: people.Person,
    text: str,
    *,
    joins: bool = False,
    delivery: Delivery = NOTHING,
    listeners: Sequence[people.Person] = (),
) -> sessions.Session:
    """Store what was said, before anything is made of it.

    Who says the same words again, since no answer came of them, has said them once.

    Args:
        runtime: Who hears it.
        session: In which conversation.
        is_new: Whether that has yet to be written; with `joins`, one that was begun since with
            the same people is gone on with instead.
        who: Who said it.
        text: What.
        joins: Whether that is so; not where a new conversation was asked for.
        delivery: What the entity said just before.
        listeners: Who else hears it; each of them has a file from then on.
    """
    last = [(one.role, one.speaker, one.text) for one in session.messages[-1:]]
    if last == [("user", who.id, text)] and not (delivery.messages or session.imported):
        return session
    told = (who, text, delivery, listeners)
    if not (runtime.writes and is_new):
        return _store(runtime, session, is_new, *told)
    place, wait = runtime.entity.private / BEGINNING, runtime.config.limits.lock_timeout_seconds
    with disk.lock(place, place=runtime.entity.root, timeout_seconds=wait):
        at, folder = runtime.clock(), runtime.entity.sessions
        latest = session_files.newest(folder, who.id, at, session.present) if joins else None
        begun = _going_on(runtime, latest, at)
        # others who begin at the same time have made those files by now, or will wait
        return _store(runtime, begun or session, begun is None, *told)


def _store(
    runtime: Runtime,
    session: sessions.Session,
    is_new: bool,
    who: people.Person,
    text: str,
    delivery: Delivery,
    listeners: Sequence[people.Person],
) -> sessions.Session:
    at = runtime.clock()
    known = runtime.read_or(
        lambda: forgotten.read(runtime.entity.root), tuple[forgotten.Forgotten, ...]()
    )
    message = sessions.Message(
        id=base.new_id(sessions.MESSAGE_PREFIX, at, runtime.rng),
        at=at,
        role="user",
        text=text,
        speaker=who.id,
        trust=who.trust,
        extra={"name": who.name, **forgotten.met_after(known, who.id, who.name)},
    )
    messages = [*delivery.messages, message]
    if runtime.writes:
        planned = [sessions.plan_start(session, f"begin to talk with {who.name}")] if is_new else []
        planned.append(sessions.plan_append(session, messages, f"{who.name} said something"))
        now = runtime.now()
        met = (  # a file for each who only listens and has none
            people.plan_heard_of(
                runtime, one.id, one.name, now, session, sayings.met(runtime, session, one.id)
            )
            for one in listeners
        )
        changes = (*planned, *delivery.changes, *filter(None, met))
        runtime.apply(ChangeSet(f"chat: {who.name} says something", changes, opens=True))
    return sessions.appended(session, messages)


UTF_8 = getincrementaldecoder("utf-8")
MOST_FILES, MOST_BYTES = 4, 12_000  # `@path` in a message; of all of them together
_REFERENCE = patterns.compile(r"(?<![\w@/.])@((?:[\w~-]|[./](?=\S))[\w./~-]*)")
_ENDS = ".,"  # of the sentence, not of the name


class Attached(Struct, frozen=True):
    """What goes with a message."""

    text: str = ""  # for the prompt
    notes: tuple[str, ...] = ()  # what the person should hear


def read_attached(message: str, folder: Path) -> Attached:
    """Read the files that a message points to.

    Args:
        message: What was said.
        folder: Where its paths begin.
    """
    parts, notes, left = list[str](), list[str](), MOST_BYTES
    for name in dict.fromkeys(name.rstrip(_ENDS) for name in _REFERENCE.findall(message)):
        try:
            path = _file(name, folder)
        except ValueError as problem:
            if "/" in name or "." in name:  # else it may be somebody's name
                notes.append(f"@{name} {problem}")
            continue
        if len(parts) == MOST_FILES:
            notes.append(f"@{name} was left out: {len(parts)} files go with a message at most")
        elif left <= 0:
            notes.append(f"@{name} was left out: the files before it are as long as may be")
        elif (found := _beginning(path, left)) is None:
            notes.append(f"@{name} is no text")
        else:
            text, goes_on = found
            if goes_on:
                text += "\n[cut here]"
                notes.append(f"@{name} is longer than may go with a message; it was cut")
            left -= len(text.encode())
            parts.append(prompts.tagged("file", text, f' name="{prompts.harmless(name)}"'))
    return Attached("\n".join(parts), tuple(notes))


def _file(name: str, folder: Path) -> Path:
    """Return the file that is meant.

    Raises:
        ValueError: If there is none; says so, to be read after its name.
    """
    try:
        path = disk.inside(folder, name)
    except UnsafePathError:
        raise ValueError("leads out of the folder you are in; it was not read") from None
    if not path.is_file():
        raise ValueError("is a folder" if path.is_dir() else "is not there")
    return path


def _beginning(path: Path, most: int) -> tuple[str, bool] | None:
    """Read so many bytes of a file, and whether there is more; None if it is no text."""
    try:
        with path.open("rb") as stream:
            data = stream.read(most + 1)
        # what is cut within a character ends before it
        text = UTF_8().decode(data[:most], final=len(data) <= most)
    except (OSError, UnicodeDecodeError):
        return None
    return None if "\0" in text else (text, len(data) > most)
