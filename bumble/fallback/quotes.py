"""Quotes: words of a person as they were said, with name and date.

Pure: words in, lines out. Knows neither files nor models.
"""

from __future__ import annotations

from datetime import datetime, tzinfo

from msgspec import Struct

from bumble import patterns
from bumble.fallback.templates import Templates
from bumble.guard import excerpt
from bumble.records.sessions import Message
from bumble.text import stop_words, words

QUOTE_TOKENS = 120  # of one message; of a longer one the sentences that say most
MARK = "> "  # before a line that is quoted
CUT = " … "
_HEADING = patterns.compile(r"#{1,6}\s+(.*?)\s*#*")
_STOPPED = patterns.compile(r"([.!?…][”“»\"]*)\.(?=\s)")  # a full stop behind another


class Quote(Struct, frozen=True):
    """What somebody said."""

    message: str  # id
    name: str  # of who said it
    at: datetime  # in the entity's time zone
    words: str  # as they were said, on one line
    trust: str = ""  # of the message, one of records.TRUSTS


def of(message: Message, zone: tzinfo | None) -> Quote:
    """Return a message as it is quoted, in the entity's time zone."""
    name = message.extra.get("name") or message.speaker.replace("-", " ").title()
    at = message.at.astimezone(zone)
    return Quote(message.id, str(name), at, words_of(message.text), message.trust)


def words_of(text: str) -> str:
    """Return what is quoted of a message: all of it, or its sentences that say most."""
    line = words.one_line(text)
    parts = [excerpt.SpokenLine(str(n), "", part) for n, part in enumerate(excerpt.parts(text))]
    chosen = excerpt.choose(parts, QUOTE_TOKENS)
    if len(line) <= QUOTE_TOKENS * 4 or not chosen:
        return words.shorten(line, QUOTE_TOKENS * 4, at_word=True)
    gapped = ""
    for before, part in zip([None, *chosen[:-1]], chosen, strict=True):
        gap = CUT if int(part.message) - int(before.message if before else -1) > 1 else " "
        gapped += f"{gap}{words.one_line(part.text)}"
    return gapped.strip() + (CUT.rstrip() if chosen[-1].message != parts[-1].message else "")


def marked(text: str, template: Templates) -> str:
    """Put quotation marks around words."""
    opening, closing = template.marks
    return f"{opening}{text}{closing}"


def day(at: datetime, template: Templates, *, year: bool) -> str:
    """Write a day as the language does."""
    month = template.months[at.month - 1]
    named = template.date if year else template.day
    return named.format(day=at.day, month=month, year=at.year, iso=f"{at:%Y-%m-%d}")


def weekday(at: datetime, template: Templates, *, year: bool, timed: bool = False) -> str:
    """Write a day with its weekday, and the time of it; without commas where words have no spaces.

    Args:
        at: When, in the entity's time zone.
        template: The wordings of the language.
        year: Whether the year is told.
        timed: Whether the hour and minute are.
    """
    named, date = template.weekdays[at.weekday()], day(at, template, year=year)
    is_unspaced = stop_words.is_unspaced(named)
    written = f"{date}{named}" if is_unspaced else f"{named}, {date}"
    return f"{written}{' ' if is_unspaced else ', '}{at:%H:%M}" if timed else written


def line(quote: Quote, template: Templates, *, year: bool = True) -> str:
    """Word a quote as one line; where no date of its own stands beside it, with the year."""
    date = day(quote.at, template, year=year)
    text = marked(quote.words, template)
    return MARK + template.quote.format(name=quote.name, date=date, words=text)


def plainly(quote: Quote, *, named: bool) -> str:
    """Word a quote as a line below a title that says when, and who, unless several spoke."""
    return f"{MARK}{f'{quote.name}: ' * named}{quote.words}"


def plain(text: str) -> str:
    """Return a text as one line of a prompt: headings end in a colon, quotes have no mark.

    Over quotes the heading is quoted: "Jana: I am tired" would read as if Jana had said so.
    """
    rows, mark = text.splitlines(), MARK.strip()
    named = "“{}” –" if any(row.startswith(mark) for row in rows) else "{}:"
    told = (
        named.format(heading[1]) if (heading := _HEADING.fullmatch(row)) else row.removeprefix(mark)
        for row in rows
    )
    return words.one_line(" ".join(told))


def since(newer: str, template: Templates) -> str:
    """Lead from words, quoted, to those that they put right."""
    return _STOPPED.sub(r"\1", template.since.format(words=newer))


def is_in(words_said: str, text: str) -> bool:
    """Whether a text holds these words, however they are spaced, in capitals or pointed."""
    return f" {stop_words.bare(words_said)} " in f" {stop_words.bare(text)} "
