"""What people said last, word for word: the material of what is filled in without a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from bumble.errors import RecordInvalidError
from bumble.records import provenance, session_files, sessions
from bumble.records.sessions import Message, Session
from bumble.runtime import people
from bumble.runtime.runtime import Runtime
from bumble.text.words import one_line, shorten

SESSIONS = 6  # the newest conversations that are looked into
LEAST_WORDS = 4  # of a message that says something
QUOTE_CHARS = 160


@dataclass(frozen=True)
class Quote:
    """One message of a person."""

    person: str  # id
    name: str
    at: datetime
    text: str  # one line
    message_id: str
    trust: str
    audience: tuple[str, ...]  # ids of all who heard it

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return self.text.rstrip("\"'»”“ ").endswith(("?", "？", "؟"))

    @property
    def line(self) -> str:
        """Who said it, when, and the words themselves."""
        words = shorten(self.text, QUOTE_CHARS, at_word=True)
        return f"{self.name}, {self.at:%Y-%m-%d}: “{words}”"


def newest(life: Runtime) -> list[Quote]:
    """Return what people said in the newest conversations, the newest first."""
    infos = sorted(
        session_files.infos(life.entity.sessions), key=lambda info: info.last_at, reverse=True
    )
    quotes: list[Quote] = []
    for info in infos[:SESSIONS]:
        try:
            session = session_files.load(life.entity.sessions / info.id / sessions.FILE)
        except RecordInvalidError:  # what can't be read is quoted by nobody
            continue
        quotes += _of_session(life, session)
    return sorted(quotes, key=lambda quote: (quote.at, quote.message_id), reverse=True)


def _of_session(life: Runtime, session: Session) -> Iterator[Quote]:
    for message in session.messages:
        if message.role == "user" and _says_something(message):
            person = people.find_person(life, message.speaker)
            yield Quote(
                message.speaker,
                person.name if person else message.speaker,
                message.at.astimezone(life.zone),
                one_line(message.text),
                message.id,
                message.trust,
                session.people,
            )


def _says_something(message: Message) -> bool:
    return (
        len(message.text.split()) >= LEAST_WORDS
        and not message.text.startswith("/")
        and not provenance.is_untrusted(message.trust)
    )
