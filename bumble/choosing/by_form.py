"""Memories by form: whether a model may write them, and what is kept and quoted where it may not.

The one place where the memory tier decides. Of a stretch, what is worth keeping in the words of
those who said it, and the wordings of their language; never what the entity said, nor what holds a
secret.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from bumble.choosing import notice, quotes
from bumble.choosing.quotes import Quote
from bumble.entity.changes import Change
from bumble.errors import RecordInvalidError
from bumble.forms import forms
from bumble.forms.forms import MemoryForms
from bumble.grounding import secrets
from bumble.records import base, session_files, sessions
from bumble.records.base import Provenance
from bumble.records.notices import Notice
from bumble.records.provenance import BY_FORM
from bumble.records.sessions import Message, Session
from bumble.runtime import people, spoken
from bumble.runtime.runtime import Runtime
from bumble.text import words

MARK = "form"  # in front matter, where other texts have `excerpt`: put together of quotes


class Wording(Struct, frozen=True):
    """How a memory is worded that no model writes."""

    language: str  # its code
    forms: MemoryForms
    entity: str  # its name, which tells nothing in a title
    people: tuple[str, ...]  # names of those it knows, however they are written

    def line(self, saying: Saying, *, year: bool = True) -> str:
        """Word a saying; above what it puts right, with a line that says which is newer."""
        newer = quotes.line(saying.quote, self.forms, year=year)
        if saying.older is None:
            return newer
        older = quotes.line(saying.older, self.forms, year=year)
        return f"{newer}\n\n{self.forms.newer}\n\n{older}"

    def block(self, sayings: Sequence[Saying], *, year: bool = True) -> str:
        """Word sayings one below the other; what another puts right stands below that alone."""
        older_ids = {saying.older.message for saying in sayings if saying.older}
        shown = [saying for saying in sayings if saying.message.id not in older_ids]
        return "\n\n".join(self.line(saying, year=year) for saying in shown)

    def telling(self, message: Message) -> set[str]:
        """Return the stems of what a message of a person is about; none of another message."""
        if message.role != "user":
            return set()
        names = [self.entity, str(message.extra.get("name", ""))]
        return quotes.telling(message.text, self.forms, self.language, names)

    def title(self, sayings: Sequence[Saying]) -> str:
        """Return a title of words of some messages; the date, where they hold none that tells."""
        texts = [saying.quote.words for saying in sayings]
        names = [self.entity, *(saying.quote.name for saying in sayings)]
        title = quotes.title(texts, self.forms, self.language, without=names, people=self.people)
        return title or quotes.day(sayings[0].quote.at, self.forms, year=True)


class Saying(Struct, frozen=True):
    """A message of a person that is worth keeping, ready to be quoted."""

    quote: Quote
    message: Message
    notice: Notice
    older: Quote | None = None  # what it puts right, where all who heard it heard that too

    @property
    def quotes(self) -> tuple[Quote, ...]:
        """What is quoted of it, the newer first."""
        return (self.quote, self.older) if self.older else (self.quote,)


class Noticed(Struct, frozen=True):
    """What was noticed of some messages."""

    of: Mapping[str, Notice] = field(default_factory=dict)  # by message id
    new: tuple[Notice, ...] = ()  # noticed just now: lines that the transcript lacks


NOTHING = Noticed()


def plan_noticed(session: Session, noticed: Noticed) -> Change | None:
    """Plan to note in the transcript what was noticed just now."""
    return (
        sessions.plan_append(session, noticed.new, "note what is worth remembering")
        if noticed.new
        else None
    )


def wording(runtime: Runtime, session: Session, messages: Sequence[Message]) -> Wording | None:
    """Return how the memories of a stretch are worded; None where the model writes them.

    In the language of who speaks first in it, of those whom the model can't write of.
    """
    speakers = [message.speaker or session.by for message in messages if message.role == "user"]
    for person in dict.fromkeys(speakers or [session.by]):
        worded = in_language(runtime, spoken.language(runtime, session, person))
        if worded is not None:
            return worded
    return None


def of_conversation(runtime: Runtime, session: Session) -> Wording | None:
    """Return how the memories of a whole conversation are worded; None where the model writes them.

    Of the whole, so that every pass decides the same of each part.
    """
    return wording(runtime, session, session.messages)


def of_person(runtime: Runtime, person: str) -> Wording | None:
    """Return how memories of somebody are worded, by what was last said to or by them."""
    latest = session_files.newest(runtime.entity.sessions, person, runtime.now())
    if latest is None:
        return in_language(runtime, words.DEFAULT_LANGUAGE)
    session = session_files.find(runtime.entity.sessions, latest.id)
    return in_language(runtime, spoken.language(runtime, session, person))


def of_owner(runtime: Runtime) -> Wording | None:
    """Return how memories are worded that are of no conversation: in the owner's language."""
    return of_person(runtime, people.owner_id(runtime.entity, runtime.identity))


def in_language(runtime: Runtime, language: str) -> Wording | None:
    """Return how memories are worded in a language; None where the model writes them."""
    if runtime.abilities.tier("memory", language) == "write":
        return None
    worded = forms.load(language, runtime.entity.root, runtime.tell)
    name, *acquaintances = people.names(runtime)
    return Wording(language, worded.memory, name, tuple(acquaintances))


def notices(runtime: Runtime, session: Session, messages: Sequence[Message]) -> Noticed:
    """Return what was noticed of the messages of people, now where it wasn't yet.

    Raises:
        ModelUnreachableError: If the model has to be asked, and nothing answers; likewise what else
            stands in its way.
    """
    of, new = notice.of(runtime, session, messages)
    return Noticed(of, tuple(new))


def sayings(
    runtime: Runtime,
    session: Session,
    messages: Sequence[Message],
    noticed: Noticed,
    wording: Wording,
) -> list[Saying]:
    """Return what is worth keeping of some messages of a conversation, oldest first."""
    return [
        Saying(
            _quote(runtime, session, message, line),
            message,
            line,
            _older(runtime, session, message, line, wording),
        )
        for message in messages
        if message.role == "user"
        and (line := noticed.of.get(message.id)) is not None
        and line.keep
        and secrets.find_secret(message.text) is None
    ]


def _quote(runtime: Runtime, session: Session, message: Message, line: Notice) -> Quote:
    """Return a message as it is quoted, behind the question of its speaker that it answers."""
    quote = quotes.of(message, runtime.zone)
    question = next((each for each in session.messages if each.id == line.answers), None)
    if question is None or secrets.find_secret(question.text) is not None:
        return quote
    text = f"{quotes.words_of(question.text)}{quotes.CUT}{quote.words}"
    return replace(quote, words=text, asked=question.id)


def _older(
    runtime: Runtime, session: Session, message: Message, line: Notice, wording: Wording
) -> Quote | None:
    """Return what a message puts right, if all who take part have heard it.

    The likeliest that is about the same thing by a word of it: nothing is shown as put right that
    may be about something else. A word of a confidence may be whom it is not to reach.
    """
    own = wording.telling(message)
    least = 2 if line.confided else 1
    for message_id in line.corrects:
        holder = session if _holds(session, message_id) else _holder(runtime, message_id)
        if holder is None or not set(session.people) <= set(holder.people):
            continue
        older = next(each for each in holder.messages if each.id == message_id)
        shared = words.shared(own, wording.telling(older))
        if shared >= least and secrets.find_secret(older.text) is None:
            return quotes.of(older, runtime.zone)
    return None


def _holds(session: Session, message_id: str) -> bool:
    return any(message.id == message_id for message in session.messages)


def _holder(runtime: Runtime, message_id: str) -> Session | None:
    """Return the conversation that a message was said in; one that can't be read is none."""
    for path in reversed(session_files.paths(runtime.entity.sessions)):
        with contextlib.suppress(RecordInvalidError):
            session = session_files.load(path)
            if _holds(session, message_id):
                return session
    return None


def origin(
    by: str, session: Session, sayings: Sequence[Saying], audience: Sequence[str]
) -> Provenance:
    """Say where a text comes from that quotes sayings of a conversation: from their messages."""
    cited = [quote for saying in sayings for quote in saying.quotes]
    return Provenance(
        by=f"{by} {BY_FORM}",
        sources=tuple(dict.fromkeys((session.id, *(id_ for quote in cited for id_ in quote.ids)))),
        trust=base.lowest_trust(quote.trust for quote in cited),
        audience=tuple(audience),
    )
