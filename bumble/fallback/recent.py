"""What people said last, ready to be quoted: the material of what is filled in by rule.

What was noticed not to be worth keeping, was put right since, or holds a secret, is left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from bumble.errors import RecordInvalidError
from bumble.fallback import quotes, templates
from bumble.fallback.quotes import Quote
from bumble.guard import secrets
from bumble.records import provenance, session_files, sessions
from bumble.records.sessions import Message, Session
from bumble.runtime import people, spoken
from bumble.runtime.runtime import Runtime

SESSIONS = 6  # the newest conversations that are looked into
LEAST_WORDS = 4  # of a message that says something
QUESTION_ENDS = ("?", "？", "؟")


class Remark(Struct, frozen=True):
    """One message of a person, as it is quoted."""

    person: str  # id
    quote: Quote
    line: str  # who said it, when, and the words themselves
    audience: tuple[str, ...]  # ids of all who heard it
    asks: bool  # whether it is a question


def remarks(runtime: Runtime) -> list[Remark]:
    """Return what people said in the newest conversations, the newest first."""
    infos = session_files.by_recency(session_files.infos(runtime.entity.sessions), runtime.now())
    found: list[Remark] = []
    for info in infos[: -SESSIONS - 1 : -1]:
        try:
            session = session_files.load(runtime.entity.sessions / info.id / sessions.FILE)
        except RecordInvalidError:  # what can't be read is quoted by nobody
            continue
        found += _of_session(runtime, session)
    return sorted(found, key=lambda one: (one.quote.at, one.quote.message), reverse=True)


def _of_session(runtime: Runtime, session: Session) -> Iterator[Remark]:
    corrected = session.corrected
    for message in session.messages:
        asks = message.text.rstrip("\"'»”“ ").endswith(QUESTION_ENDS)
        notice = session.notices.get(message.id)
        dropped = notice is not None and not notice.keep and not asks
        if dropped or message.id in corrected or not _says_something(message):
            continue
        person = people.find_person(runtime, message.speaker)
        quote = Quote(
            message.id,
            person.name if person else message.speaker,
            message.at.astimezone(runtime.zone),
            quotes.words_of(message.text),
            message.trust,
        )
        language = spoken.language(runtime, session, message.speaker)
        line = quotes.line(quote, templates.load(language)).removeprefix(quotes.MARK)
        yield Remark(message.speaker, quote, line, session.people, asks)


def _says_something(message: Message) -> bool:
    return (
        message.role == "user"
        and len(message.text.split()) >= LEAST_WORDS
        and not message.text.startswith("/")
        and not provenance.is_untrusted(message.trust)
        and secrets.find_secret(message.text) is None
    )
