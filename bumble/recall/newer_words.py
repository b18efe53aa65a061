"""What is recalled and was put right since: the newer word stands before it.

A correction that was kept by form is a belief that names the message it rests on, and behind that
the one it puts right. Until it is kept, the notice of its message names that. Adds to what was
found; ranks nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import tzinfo

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity import secrets
from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError, UserError
from bumble.fallback import quotes, templates
from bumble.index.search import Hit
from bumble.recall.belief_strength import CORRECTION
from bumble.records import base, beliefs, episodes, session_files, sessions, state
from bumble.records.provenance import BY_FORM
from bumble.records.sessions import Message, Notice
from bumble.runtime import cursors
from bumble.text import words

LATEST_TALKS = 50  # of those that nothing was kept of yet


class NewerWord(Struct, frozen=True):
    """What somebody said later about the same thing."""

    message: str  # id of what was said later
    text: str  # quoted, with name and date


def beside(
    entity: Entity, hits: Sequence[Hit], readers: Sequence[str], zone: tzinfo | None
) -> list[Hit]:
    """Put before each memory the newest word on it that its readers may meet.

    Args:
        entity: Whose memories.
        hits: The memories.
        readers: Ids of all who will read them.
        zone: Of the days that are named.
    """
    newer = {**_noticed(entity, readers, zone), **_kept(entity, readers)} if hits else {}
    return [_with_newer(entity, hit, newer) for hit in hits] if newer else list(hits)


def _noticed(entity: Entity, readers: Sequence[str], zone: tzinfo | None) -> dict[str, NewerWord]:
    """Return the corrections in talks of which nothing has been kept yet."""
    newer = {}
    for name in _unkept(entity):
        for message, notice in _corrections(entity, name, readers):
            template = templates.load(words.language(message.text))
            line = quotes.plain(quotes.line(quotes.of(message, zone), template))
            newer[notice.corrects[0]] = NewerWord(message.id, line)
    return newer


def _unkept(entity: Entity) -> list[str]:
    """Return the ids of the latest talks of which nothing was kept; none if that can't be read."""
    with suppress(UserError):  # doctor says so; what is remembered is found all the same
        return list(cursors.waiting(state.read(entity.state)))[-LATEST_TALKS:]
    return []


def _corrections(
    entity: Entity, session_id: str, readers: Sequence[str]
) -> list[tuple[Message, Notice]]:
    """Return the messages of a conversation that put others right and may be quoted."""
    with suppress(UserError):
        session = session_files.load(entity.sessions / session_id / sessions.FILE)
        if base.may_read(session.people, readers):
            return [
                (message, notice)
                for message in session.messages
                if (notice := session.notices.get(message.id)) is not None
                and notice.keep
                and notice.corrects
                and secrets.find_secret(message.text) is None
            ]
    return []


def _kept(entity: Entity, readers: Sequence[str]) -> dict[str, NewerWord]:
    """Return the corrections that some people may meet, by the message each puts right."""
    newer = {}
    for belief in beliefs.readable(entity.beliefs):
        origin = belief.provenance
        cited = [name for name in origin.sources if name.startswith(sessions.MESSAGE_PREFIX)]
        if (
            belief.category == CORRECTION
            and origin.by.endswith(BY_FORM)
            and len(cited) == 2
            and not belief.archived
            and base.may_read(origin.audience, readers)
        ):
            newer[cited[1]] = NewerWord(cited[0], belief.text)
    return newer


def _with_newer(entity: Entity, hit: Hit, newer: Mapping[str, NewerWord]) -> Hit:
    sources = _sources(entity, hit)
    word = next((newer[name] for name in sources if name in newer), None)
    seen: set[str] = set()
    while word is not None and word.message in newer and word.message not in seen:
        seen.add(word.message)
        word = newer[word.message]
    if word is None or word.message in sources:
        return hit
    template = templates.load(words.language(word.text))
    return replace(hit, newer=quotes.since(word.text, template))


def _sources(entity: Entity, hit: Hit) -> tuple[str, ...]:
    """Return the ids of the messages that a memory quotes; none of a text that may not be read."""
    if hit.id.startswith(sessions.MESSAGE_PREFIX):
        return (hit.id,)
    if hit.kind != "episode":
        return ()
    try:
        return base.load(entity.root / hit.path, episodes.parse).provenance.sources
    except RecordInvalidError:
        return ()
