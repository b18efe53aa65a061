"""What was said lately: when somebody last spoke, and in which language each does."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError
from bumble.records import base, relationships, session_files, sessions
from bumble.text import languages, moments, words

if TYPE_CHECKING:
    from bumble.runtime.runtime import Runtime

LATEST_MESSAGES = 8  # of the person, which tell their language
MAX_MESSAGE_CHARS = 2000  # what is pasted needn't be read to its end
LATEST_TALKS = 6  # that are read at most, until enough was said
ENOUGH_CHARS = 60  # said in a conversation; with less it matters what was spoken before
ENOUGH_MESSAGES = 3  # in a conversation, likewise: a single one may look like another language
LATEST_CONVERSATIONS = 5  # in which is looked for the languages that are spoken
AUTO = "auto"  # the setting that leaves it to them


def language(runtime: Runtime, session: sessions.Session, person: str) -> str:
    """Return the code of the language somebody speaks, `de`, by their latest messages.

    Args:
        runtime: Whose conversation.
        session: The conversation, with the message that is to be answered.
        person: Id of who speaks.
    """
    return _in_talk(runtime.entity, runtime.config.language, session, person, runtime.now())


def mostly(runtime: Runtime, session: sessions.Session, person: str) -> str:
    """Return the code of the language in which somebody said most of a conversation lately.

    A question in another one changes what they are answered in, not what their notes are in.
    """
    overruled = _overruled(runtime.entity, runtime.config.language, person)
    said = "\n".join(_texts(session, person))
    return overruled or languages.language(said) or language(runtime, session, person)


def _in_talk(
    entity: Entity, setting: str, session: sessions.Session, person: str, now: datetime
) -> str:
    if set_language := _overruled(entity, setting, person):
        return set_language
    texts = _texts(session, person)
    enough = len(texts) >= ENOUGH_MESSAGES and sum(map(len, texts)) >= ENOUGH_CHARS
    before = "" if enough else _before(entity, person, now, not_session=session.id)
    here = "" if enough or before else _here(entity, session, now)
    return languages.spoken(texts, before or here, is_others=bool(here)) or words.DEFAULT_LANGUAGE


def latest(entity: Entity, setting: str, now: datetime) -> list[str]:
    """Return the languages that people spoke in the latest conversations, the newest first.

    Args:
        entity: Whom they speak with.
        setting: `language` of the settings.
        now: The present.
    """
    codes: dict[str, None] = {}
    latest_paths = session_files.paths(entity.sessions)[::-1][:LATEST_CONVERSATIONS]
    for session in session_files.talks(latest_paths):
        speakers = {one.speaker or session.by for one in session.messages if one.role == "user"}
        told = (_in_talk(entity, setting, session, one, now) for one in sorted(speakers))
        codes |= dict.fromkeys(told)
    return list(codes)


def by_person(entity: Entity, setting: str, person: str, now: datetime) -> str:
    """Return the code of the language somebody speaks, whatever is going on.

    Args:
        entity: Whom they speak with.
        setting: `language` of the settings.
        person: Their id.
        now: The present.
    """
    owners_word = _overruled(entity, setting, person)
    return owners_word or _before(entity, person, now) or words.DEFAULT_LANGUAGE


def _overruled(entity: Entity, setting: str, person: str) -> str:
    """Return the language that the owner set for a person, or for all; empty if they did not."""
    record = _record(entity, person)
    owners_word = record.language if record else ""
    return owners_word or ("" if setting == AUTO else setting)


def _record(entity: Entity, person: str) -> relationships.Relationship | None:
    """Read the file of a person; None where there is none that can be read."""
    file = entity.root / relationships.PERSON.path(person)
    with suppress(RecordInvalidError):  # a talk tells of it, and goes on
        return base.load(file, relationships.PERSON.parse) if file.exists() else None
    return None


def _texts(session: sessions.Session, person: str) -> list[str]:
    texts = [message.text for message in session.messages if message.speaker == person]
    return [text[:MAX_MESSAGE_CHARS] for text in texts[-LATEST_MESSAGES:]]


def _here(entity: Entity, session: sessions.Session, now: datetime) -> str:
    """Return what others last spoke: who is new most likely speaks the language of the house."""
    others = session_files.latest(entity.sessions, now, lambda info: info.id != session.id)
    talk = next(others, None)
    return languages.spoken(_texts(talk, talk.by)) if talk else ""


def _before(entity: Entity, person: str, now: datetime, *, not_session: str = "") -> str:
    """Return what somebody spoke until a session: in the last ones, else by a portrait."""

    def was_there(info: session_files.SessionInfo) -> bool:
        return info.id != not_session and person in (info.by, *info.present)

    texts: list[str] = []
    for talk in islice(session_files.latest(entity.sessions, now, was_there), LATEST_TALKS):
        texts = _texts(talk, person) + texts
        if sum(map(len, texts)) >= ENOUGH_CHARS:
            break
    if heard := languages.spoken(texts):
        return heard
    record = _record(entity, person)
    portrait = record.text if record else ""
    return languages.language(portrait[:MAX_MESSAGE_CHARS])


def last_said(entity: Entity, now: datetime, *, unprompted: bool = True) -> datetime | None:
    """Return the time of the newest message; what cycles add to a transcript says nothing.

    Args:
        entity: Whose talks.
        now: The present.
        unprompted: Whether what the entity said by itself counts, too.
    """
    newest: datetime | None = None
    infos = session_files.infos(entity.sessions)
    for info in sorted(infos, key=lambda info: moments.gap(info.last_at, now)):
        if newest is not None and moments.gap(info.last_at, now) >= moments.gap(newest, now):
            break
        for talk in session_files.talks([entity.sessions / info.id / sessions.FILE]):
            said = [one.at for one in talk.messages if unprompted or not one.unprompted]
            times = said[-1:] + ([newest] if newest else [])
            newest = min(times, key=lambda at: moments.gap(at, now), default=None)
    return newest
