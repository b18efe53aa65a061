"""The few words that stand where neither code, memory nor the model answers.

They claim nothing but what is so; which fit what was told, the reader says.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from bumble.chat import speech_filter
from bumble.chat.reply_writer import Turn
from bumble.fallback import notices, templates
from bumble.models.embed.reader import MessageReading
from bumble.records import session_files
from bumble.runtime.runtime import Runtime
from bumble.text import words

HOW_ARE_YOU, WHO_ARE_YOU, WHAT_CAN_YOU = "How are you?", "Who are you?", "What can you do?"
LISTENS, PICTURES, NOTED = "heard", "seen", "noted"  # where no reply is sure
REPLY_FROM = 1.0  # score from which a short reply is no guess
SORRY = ("sorry", "condole")  # what is surely heavy bears them out: 63 of 100 from 0 to 1
NOTED_FROM = -1.0  # likewise, that it is kept: seldom taken amiss
SURELY_LEAVES = 1.0  # likewise, that somebody goes who tells something, too


def hello(turn: Turn, template: templates.Templates, runtime: Runtime) -> str:
    """Greet; who says who they are, or is the first to come, hears who is there."""
    name = turn.reading.said.introduced if introduces(turn, runtime) else ""
    called = name or turn.heard.who.called
    hello = template.hello.format(who=f" {called}" if called else "")
    foreign = "" if templates.has(turn.reading.language) else template.foreign
    first = all(message.role == "user" for message in turn.heard.session.messages)
    is_new = first and not called and _is_first(runtime)
    own = template.self.format(name=runtime.identity.name) if name or is_new else ""
    return words.paragraph(filter(None, (hello, own, foreign if first else "")))


def welcome(runtime: Runtime, turn: Turn, template: templates.Templates) -> str:
    """Greet who says who they are; what else they tell has its word, where one is sure."""
    fitting = _fitting(turn.reading.said, keeps=runtime.writes, corrects=False)
    greeting = hello(turn, template, runtime)
    if fitting in (LISTENS, PICTURES, NOTED):  # it says by itself that it remembers
        return greeting
    return words.paragraph((greeting, _another(template.replies[fitting], turn, runtime)))


def worded(runtime: Runtime, turn: Turn, template: templates.Templates) -> str:
    """Return a few words that claim nothing but what is so."""
    reading, called = turn.reading.said, turn.heard.who.called
    asks = reading.main in notices.QUESTIONS
    if asks and reading.keep <= 0 and (reading.has(reading.main) or turn.heard.is_question):
        return template.unknown
    message = turn.heard.message
    noticed = notices.notices(runtime, turn.heard.session, [message]).of.get(message.id)
    corrects = bool(noticed and noticed.corrects)
    fitting = _fitting(reading, keeps=runtime.writes, corrects=corrects)
    said = [_another(template.replies[fitting], turn, runtime)]
    if reading.has("greet"):
        said = [hello(turn, template, runtime), *(() if reading.main == "greet" else said)]
    if reading.main == "leave" or reading.score("leave") > SURELY_LEAVES:
        bye = template.bye.format(who=f" {called}" if called else "")
        said = [*(() if reading.main in ("leave", "greet") else said), bye]
    return words.paragraph(said)


def _fitting(reading: MessageReading, *, keeps: bool, corrects: bool) -> str:
    """Return which of the short replies a friend would surest give.

    One that says what is done with a message is given only where that is so. Where none is sure,
    the person hears that it is kept, or only that somebody listens.

    Args:
        reading: What the message is.
        keeps: Whether what is worth keeping is kept.
        corrects: Whether it puts something right.
    """
    is_kept = keeps and reading.keep > 0
    is_so = {
        NOTED: is_kept or reading.has("remember"),
        "secret": reading.has("confide"),
        "corrected": corrects,
        "laugh": not reading.heavy,  # half of them at what was no joke
        "lovely": reading.heavy < 2,
    }
    fit = {name: sure for name, sure in reading.replies.items() if is_so.get(name, True)}
    surest = max(fit, key=lambda name: fit[name], default="")
    least = 0.0 if surest in SORRY and reading.heavy > 1 else REPLY_FROM
    if surest and fit[surest] > least:
        return surest
    if reading.has("remember") or fit.get(NOTED, NOTED_FROM) > NOTED_FROM:
        return NOTED
    return PICTURES if reading.keep < 0 else LISTENS


def _another(wordings: Sequence[str], turn: Turn, runtime: Runtime) -> str:
    """Return one of some wordings, not one that was just said."""
    said = [one.text for one in turn.heard.session.messages if one.role == "assistant"]
    fresh = [one for one in wordings if one not in said[-len(wordings) + 1 :]]
    return (fresh or list(wordings))[0] if not said else runtime.rng.choice(fresh or list(wordings))


def of_itself(runtime: Runtime, turn: Turn, template: templates.Templates) -> str:
    """Say what is so of any entity: a small model claims that it sleeps, and is a person."""
    own = template.self.format(name=runtime.identity.name)
    embedder, asked = runtime.memory.embedder, turn.heard.message.text
    if embedder is not None:
        lines = {HOW_ARE_YOU: template.well, WHO_ARE_YOU: own, WHAT_CAN_YOU: template.able}
        near = notices.likeness(embedder, asked, {one: one for one in lines})
        nearest = max(near, key=lambda one: near[one])
        if near[nearest] >= speech_filter.STOCK:
            return lines[nearest]
    said = [one.text for one in turn.heard.session.messages if one.role == "assistant"]
    return own if any(template.alive in one for one in said[-1:]) else template.alive


def introduces(turn: Turn, runtime: Runtime) -> bool:
    """Whether somebody says who they are who has no name yet, or has it and talks the first time.

    Another name is another's.
    """
    name, known = turn.reading.said.introduced.casefold(), turn.heard.who.called.casefold()
    is_theirs = not known or (bool(set(name.split()) & set(known.split())) and _is_first(runtime))
    return bool(name) and is_theirs


def _is_first(runtime: Runtime) -> bool:
    """Whether this is the first conversation of all."""
    return next(islice(session_files.infos(runtime.entity.sessions), 1, None), None) is None
