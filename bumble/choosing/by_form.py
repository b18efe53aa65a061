"""Memories by form: whether a model may write them, and what is kept and quoted where it may not.

The one place where the memory tier decides. Of a stretch, what is worth keeping in the words of
those who said it, and the wordings of their language; never what the entity said, nor what holds a
secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bumble.choosing import quotes
from bumble.choosing.quotes import Quote
from bumble.forms import forms
from bumble.forms.forms import MemoryForms
from bumble.grounding import secrets
from bumble.records import session_files
from bumble.records.notices import Notice
from bumble.records.sessions import Message, Session
from bumble.runtime import people, spoken
from bumble.runtime.runtime import Runtime
from bumble.text import words

WHY = "note what is worth remembering"  # of a change that adds notices to a transcript
MARK = "form"  # in front matter, where other texts have `excerpt`: put together of quotes


@dataclass(frozen=True)
class Wording:
    """How a memory is worded that no model writes."""

    language: str  # its code
    forms: MemoryForms
    names: tuple[str, ...]  # of the entity, which tell nothing in a title

    def title(self, sayings: Sequence[Saying]) -> str:
        """Return a title of words of some messages; the date, where they hold none that tells."""
        texts = [saying.quote.words for saying in sayings]
        names = [*self.names, *(saying.quote.name for saying in sayings)]
        title = quotes.title(texts, self.forms, self.language, names)
        return title or quotes.day(sayings[0].quote.at, self.forms, year=True)


@dataclass(frozen=True)
class Saying:
    """A message of a person that is worth keeping, ready to be quoted."""

    quote: Quote
    message: Message
    notice: Notice


@dataclass(frozen=True)
class Noticed:
    """What was noticed of some messages."""

    of: Mapping[str, Notice]  # by message id
    new: tuple[Notice, ...] = ()  # noticed just now: lines that the transcript lacks


def wording(life: Runtime, session: Session, messages: Sequence[Message]) -> Wording | None:
    """Return how the memories of a stretch are worded; None where the model writes them.

    In the language of who speaks first in it.
    """
    speakers = [message.speaker for message in messages if message.role == "user"]
    person = next(filter(None, speakers), session.by)
    return in_language(life, spoken.language(life, session, person))


def of_person(life: Runtime, person: str) -> Wording | None:
    """Return how memories of somebody are worded, by what was last said to or by them."""
    latest = session_files.newest(life.entity.sessions, person)
    if latest is None:
        return in_language(life, words.DEFAULT_LANGUAGE)
    session = session_files.find(life.entity.sessions, latest.id)
    return in_language(life, spoken.language(life, session, person))


def of_owner(life: Runtime) -> Wording | None:
    """Return how memories are worded that are of no conversation: in the owner's language."""
    return of_person(life, people.owner_id(life.entity, life.identity))


def in_language(life: Runtime, language: str) -> Wording | None:
    """Return how memories are worded in a language; None where the model writes them."""
    if life.abilities.tier("memory", language) == "write":
        return None
    worded = forms.load(language, life.entity.root, life.tell)
    return Wording(language, worded.memory, (life.identity.name,))


def notices(life: Runtime, session: Session, messages: Sequence[Message]) -> Noticed:
    """Return what was noticed of the messages of people, now where it wasn't yet."""
    return Noticed(session.notices)


def sayings(life: Runtime, messages: Sequence[Message], noticed: Noticed) -> list[Saying]:
    """Return what is worth keeping of some messages, oldest first."""
    return [
        Saying(quote_of(life, message), message, notice)
        for message in messages
        if message.role == "user"
        and (notice := noticed.of.get(message.id)) is not None
        and notice.keep
        and secrets.find_secret(message.text) is None
    ]


def quote_of(life: Runtime, message: Message) -> Quote:
    """Return a message as it is quoted."""
    name = message.extra.get("name") or message.speaker.replace("-", " ").title()
    at = message.at.astimezone(life.zone)
    return Quote(message.id, str(name), at, quotes.words_of(message.text))
