"""Quotes: words of a person as they were said, with name and date; titles made of such words.

Pure: words in, lines out. Knows neither files nor models.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo

from msgspec import Struct

from bumble.choosing import language_file
from bumble.forms.forms import MemoryForms
from bumble.grounding import claims, excerpt
from bumble.grounding.excerpt import SpokenLine
from bumble.records.sessions import Message
from bumble.text import stop_words, words

QUOTE_TOKENS = 120  # of one message; of a longer one the sentences that say most
TITLE_WORDS = 3
LEAST_LETTERS = 4  # of a word in a title that is no name
LONG = 8  # letters beyond these make a word tell no more
NAME, KIN = -20, -15  # ranks before any other word's
MARK = "> "  # before a line that is quoted
CUT = " … "
_WORD = re.compile(r"[^\W\d_][^\W_]*(?:[-'’][^\W_]+)*")
_HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*")
_CITED = re.compile(r"> ?([^,:]+)[,:].*?[„“«\"](.+)[“”»\"]")
_ASKING = ("requested", "confided")  # cues of what is asked of the listener
_STOPPED = re.compile(r"([.!?…][”“»\"]*)\.(?=\s)")  # a full stop behind another
_NOT_IN_TITLES = re.compile(r"https?://\S+|(?<!\S)\S+@\S+")


class Quote(Struct, frozen=True):
    """What somebody said."""

    message: str  # id
    name: str  # of who said it
    at: datetime  # in the entity's time zone
    words: str  # as they were said, on one line
    trust: str = ""  # of the message, one of records.TRUSTS
    asked: str = ""  # id of the message before it with the question that it answers

    @property
    def ids(self) -> tuple[str, ...]:
        """The messages that its words stand in, itself first."""
        return (self.message, self.asked) if self.asked else (self.message,)


def of(message: Message, zone: tzinfo | None) -> Quote:
    """Return a message as it is quoted, in the entity's time zone."""
    name = message.extra.get("name") or message.speaker.replace("-", " ").title()
    at = message.at.astimezone(zone)
    return Quote(message.id, str(name), at, words_of(message.text), message.trust)


def words_of(text: str) -> str:
    """Return what is quoted of a message: all of it, or its sentences that say most."""
    line = words.one_line(text)
    parts = [SpokenLine(str(n), "", part) for n, part in enumerate(excerpt.parts(text))]
    chosen = excerpt.choose(parts, QUOTE_TOKENS)
    if len(line) <= QUOTE_TOKENS * 4 or not chosen:
        return words.shorten(line, QUOTE_TOKENS * 4, at_word=True)
    gapped = ""
    for before, part in zip([None, *chosen[:-1]], chosen, strict=True):
        gap = CUT if int(part.message) - int(before.message if before else -1) > 1 else " "
        gapped += f"{gap}{words.one_line(part.text)}"
    return gapped.strip() + (CUT.rstrip() if chosen[-1].message != parts[-1].message else "")


def marked(text: str, forms: MemoryForms) -> str:
    """Put quotation marks around words."""
    opening, closing = forms.quotation_marks
    return f"{opening}{text}{closing}"


def day(at: datetime, forms: MemoryForms, *, year: bool) -> str:
    """Write a day as the language does."""
    month = forms.months[at.month - 1]
    if not year:
        return forms.day.format(day=at.day, month=month)
    return forms.date.format(day=at.day, month=month, year=at.year)


def line(quote: Quote, forms: MemoryForms, *, year: bool = True) -> str:
    """Word a quote as one line; where no date of its own stands beside it, with the year."""
    date = day(quote.at, forms, year=year)
    text = marked(quote.words, forms)
    return MARK + forms.quote.format(name=quote.name, date=date, words=text)


def plain(text: str) -> str:
    """Return a text as one line of a prompt: headings end in a colon, quotes have no mark."""
    rows = []
    for row in text.splitlines():
        heading = _HEADING.fullmatch(row)
        rows.append(f"{heading[1]}:" if heading else row.removeprefix(MARK.strip()))
    return words.one_line(" ".join(rows))


class Citation(Struct, frozen=True):
    """A quote as it stands in a text: who said it, and what."""

    name: str
    words: str


def citations(text: str) -> list[Citation]:
    """Return the quotes in a text, whatever their quotation marks."""
    matches = (_CITED.match(row) for row in text.splitlines())
    return [Citation(match[1].strip(), match[2].strip()) for match in matches if match]


def cited(citation: Citation, forms: MemoryForms, max_chars: int) -> str:
    """Word a citation where no day matters, cut to a length."""
    text = words.shorten(citation.words, max_chars, at_word=True)
    return f"{citation.name}: {marked(text, forms)}"


def since(newer: str, forms: MemoryForms) -> str:
    """Lead from words, quoted, to those that they put right."""
    return _STOPPED.sub(r"\1", forms.since.format(words=newer))


def is_in(words_said: str, text: str) -> bool:
    """Whether a text holds these words, however they are spaced, in capitals or pointed."""
    return f" {_bare(words_said)} " in f" {_bare(text)} "


def _bare(text: str) -> str:
    return " ".join(stop_words.words(text))


def telling(text: str, forms: MemoryForms, language: str, without: Iterable[str] = ()) -> set[str]:
    """Return the stems of the words of a text that tell what it is about.

    Args:
        text: What was said.
        forms: The wordings of its language.
        language: Its code.
        without: Names that tell nothing.
    """
    passing = _passing(forms, without)
    return {
        words.stem(word, language)
        for word in stop_words.telling_words(text)
        if word not in passing and words.folded(word) not in passing and not word[0].isdigit()
    }


def _passing(forms: MemoryForms, without: Iterable[str]) -> set[str]:
    """Return the words that tell nothing, as they are and folded."""
    passing = {word for row in forms.passing for word in row.split()} | stop_words.WORDS
    passing |= {word.replace("'", "") for word in stop_words.WORDS}  # as many type them
    passing |= {words.folded(part) for name in without for part in name.split()}
    return passing | {words.folded(month) for month in forms.months}


def title(
    texts: Sequence[str],
    forms: MemoryForms,
    language: str,
    *,
    without: Iterable[str] = (),
    people: Iterable[str] = (),
) -> str:
    """Make a title of words that were said, names first; empty where none would tell anything.

    Args:
        texts: What was said.
        forms: The wordings of its language.
        language: Its code.
        without: Names of those who talk, which tell nothing.
        people: Names of others, however they are written.
    """
    passing = _passing(forms, without)
    called = {words.folded(part) for name in people for part in name.split()}
    ranks: dict[str, tuple[int, int, str]] = {}  # by the folded word: rank, place, as it stood
    for text in texts:
        line = _NOT_IN_TITLES.sub(" ", words.one_line(text))
        capitals = [word for word in claims.claims(line, language) if word[:1].isupper()]
        names = called | {words.folded(word) for word in capitals}
        kin = _words_of(line, language, "kin")
        asking = _words_of(line, language, *_ASKING) - names - kin
        for word in _WORD.findall(line):
            key = words.folded(word)
            if key in ranks or key in passing | asking or word.casefold() in passing:
                continue
            if key in names or key in kin or len(word) >= LEAST_LETTERS:
                rank = NAME if key in names else KIN if key in kin else -min(len(word), LONG)
                ranks[key] = (rank, len(ranks), word)
    best = sorted(ranks.values())[:TITLE_WORDS]
    ordered = sorted(best, key=lambda entry: (entry[0] > KIN, entry[1]))
    shown = ", ".join(word for _, _, word in ordered)
    return shown[:1].upper() + shown[1:]


def _words_of(line: str, language: str, *names: str) -> set[str]:
    """Return the words of some cues in a text: `kin` are a daughter, a dog."""
    cues = language_file.load(language)
    hits = (hit for name in names for hit in cues.hits(name, cues.line(line)))
    return {words.folded(word) for hit in hits for word in stop_words.telling_words(hit[0])}
