"""Sayings: what people said that is kept in their own words, where no model may write of it.

The one place where the tier of a model decides, in talk and in memory. Of a stretch, what is worth
keeping in the words of those who said it, and the wordings of their language; never what the entity
said, nor what holds a secret.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from bumble.entity import secrets
from bumble.fallback import due_time, quotes, templates
from bumble.fallback.notices import Noticed
from bumble.fallback.quotes import Quote
from bumble.guard import clauses
from bumble.records import episodes, session_files
from bumble.records.episodes import Episode
from bumble.records.sessions import Message, Notice, Session
from bumble.runtime import job, people, spoken
from bumble.runtime.runtime import Runtime
from bumble.text import titles, words

TITLE, TITLE_TOKENS, TITLE_WORDS = "title", 16, 6
MARK = "form"  # in front matter, where other texts have `excerpt`: put together of quotes


class Wording(Struct, frozen=True):
    """How a memory is worded that no model writes."""

    language: str  # its code
    template: templates.Templates

    def line(self, saying: Saying, *, named: bool) -> str:
        """Word a saying; above what it puts right, with a line that says which is newer."""
        newer = quotes.plainly(saying.quote, named=named)
        if saying.older is None:
            return newer
        older = quotes.line(saying.older, self.template)
        return f"{newer}\n\n{self.template.newer}\n\n{older}"

    def title(self, sayings: Sequence[Saying]) -> str:
        """Name sayings by who said them, where no model names what they are about."""
        return ", ".join(dict.fromkeys(saying.quote.name for saying in sayings))


class Saying(Struct, frozen=True):
    """A message of a person that is worth keeping, ready to be quoted."""

    quote: Quote
    message: Message
    older: Quote | None = None  # what it puts right, where all who heard it heard that too


def writes(runtime: Runtime) -> job.Condition:
    """Return the condition of what only a model that may write makes: a dream, the story."""
    passes = of_owner(runtime) is None
    return job.Condition(
        "model", "may write" if passes else "may not write", "one that writes", passes
    )


def wording(runtime: Runtime, session: Session, messages: Sequence[Message]) -> Wording | None:
    """Return how the memories of a stretch are worded; None where the model writes them.

    In the language in which who speaks first said most of it, if the model can't write of them.
    """
    speakers = [message.speaker or session.by for message in messages if message.role == "user"]
    spoke = dict.fromkeys(speakers or [session.by])
    worded = (in_language(runtime, spoken.mostly(runtime, session, person)) for person in spoke)
    return next((one for one in worded if one is not None), None)


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
    if runtime.abilities().tier("memory", language) == "write":
        return None
    return Wording(language, templates.load(language))


def may_write(runtime: Runtime, text: str) -> bool:
    """Whether the model writes memories in the language of a text."""
    return in_language(runtime, words.language(text)) is None


def named(runtime: Runtime, wording: Wording, told: str) -> str:
    """Have a model that may not write name what was told, in its words; empty: it has not.

    Most small models can do that, in any language; what they take from elsewhere is seen.
    """
    if runtime.abilities().tier("talk", wording.language) == "none":
        return ""
    question = job.request(runtime, TITLE, {"told": told}, max_tokens=TITLE_TOKENS, temperature=0.0)
    try:
        title = titles.named(runtime.model.complete(question).text, told)
    except job.NO_ANSWER:
        return ""
    said, own = (words.stems(text, wording.language) for text in (told, title))
    denied = " ".join(" ".join(part.denied) for part in clauses.of(told, wording.language))
    is_so = own.isdisjoint(words.stems(denied, wording.language))  # "I am not pregnant"
    is_short = len(title.split()) <= TITLE_WORDS and len(title) < titles.MAX_CHARS
    is_theirs = is_short and is_so and own <= said and not due_time.is_all(title, wording.language)
    return title[:1].upper() + title[1:] if is_theirs else ""


def met(runtime: Runtime, session: Session, person: str) -> str:
    """Return the sentence that the entity and somebody meet today, in the language they speak."""
    template = templates.load(spoken.language(runtime, session, person))
    return template.met.format(date=quotes.day(runtime.now(), template, year=True))


def lived(episode: Episode, language: str) -> str:
    """Return the line of somebody's page that leads to what was lived with them on a day."""
    day = quotes.day(episode.at, templates.load(language), year=True)
    if episode.is_unnamed:
        return episodes.link(episode, "../", day)
    return f"{day}: {episodes.link(episode, '../')}"


def sayings(
    runtime: Runtime,
    session: Session,
    messages: Sequence[Message],
    noticed: Noticed,
) -> list[Saying]:
    """Return what is worth keeping of some messages of a conversation, oldest first."""
    return [
        Saying(quotes.of(message, runtime.zone), message, _older(runtime, session, line))
        for message in messages
        if message.role == "user"
        and (line := noticed.of.get(message.id)) is not None
        and line.keep
        and secrets.find_secret(message.text) is None
    ]


def _older(runtime: Runtime, session: Session, line: Notice) -> Quote | None:
    """Return what a message puts right, if all who take part have heard it."""
    for message_id in line.corrects:
        holder = session if _holds(session, message_id) else _holder(runtime, message_id)
        if holder is None or not set(session.people) <= set(holder.people):
            continue
        older = next(each for each in holder.messages if each.id == message_id)
        if secrets.find_secret(older.text) is None:
            return quotes.of(older, runtime.zone)
    return None


def _holds(session: Session, message_id: str) -> bool:
    return any(message.id == message_id for message in session.messages)


def _holder(runtime: Runtime, message_id: str) -> Session | None:
    """Return the conversation that a message was said in; one that can't be read is none."""
    talks = session_files.talks(reversed(session_files.paths(runtime.entity.sessions)))
    return next((session for session in talks if _holds(session, message_id)), None)
