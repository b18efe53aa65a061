"""How much of a question a statement answers: its meaning, the rare words they share, a number.

A word counts in whatever form, compound or synonym; without vectors words alone tell. Knows neither
where statements come from nor what is made of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import datetime
from statistics import fmean, pstdev

from msgspec import Struct
from msgspec.structs import replace

from bumble.choosing import language_file
from bumble.forms import forms
from bumble.grounding import speakers
from bumble.records import relationships
from bumble.runtime.runtime import Runtime
from bumble.text import synonyms, words
from bumble.text.stop_words import telling_words

COMPOUND = 5  # letters of a word that counts within another
INEXACT = 0.8  # what such a word counts
# Of the words of a question, in what answers it: where it has the number, is near, and else.
LEAST_SHARED, NEAR_SHARED, MOST_SHARED = 0.3, 0.45, 0.6
PASSING = 0.3  # what a word counts that stands in any talk
LEAST_LETTERS = 3  # of a word that tells what is asked
# What orders statements, fitted on the questions of fourteen lives (docs/log.md): how far a cosine
# is above those of the others, in their deviations, and beside that the share of the question's
# words, that a person said it, that it was worth keeping, and that it has a number where one is
# asked for.
MEANING, WORDS, SAID, KEPT, NUMBER = 2.5, 1.5, 1.5, 0.8, 0.5
FIRST = 1.0  # what the first place in the index counts; the second a half of it, and so on
# Points of a guess, where meaning tells, and statements from which on meaning does (docs/log.md).
LIKELY, MANY = 4.5, 8
# Points that a statement is ahead of all others, from which it is clear that none is nearer in
# meaning; how far below the cosine of answers it may lie then.
LEAD, CLEAR_BELOW = 2.5, 0.05
RARE_NUMBER = 1.0  # what a number counts beside a shared rare word, without vectors
LEAST_PART = 0.15  # of the words of a question, in a guess that is not near it by its meaning
GUESS_NEAR = 0.21  # nearness of a guess, where somebody asks for what was told
_TITLED = re.compile(
    r"(?<!mein )(?<!meine )(?<!meiner )(?<!deine )(?<!seine )(?<!unsere )"  # `my wife is away`
    r"\b(?:herrn?|frau|mr|mrs|ms|miss|dr|prof|sra?|senora?|don|dona|signora?|sig|mme|madame"
    r"|monsieur|senhora?|seu)\b\.? \w+"
)
_OWNING = re.compile(r"['’]s?$")  # `Roisin's`
_DATE = re.compile(r"\b\d{1,2}\.\s?(?P<month>\d{1,2})\b(?!\d*:)|\b\d{4}-(?P<iso>\d{2})-\d{2}\b")


class Excerpt(Struct, frozen=True):
    """Words that were said or written down."""

    text: str
    at: datetime | None
    speaker: str = ""  # id of the person; empty: it stands in the entity's own notes
    name: str = ""  # of the person
    newer: str = ""  # what puts it right, quoted: leads over to these words


class Question(Struct, frozen=True):
    """What is asked of memory."""

    text: str  # whose words tell what is asked
    language: str
    whole: str = ""  # the message, whose meaning is compared; empty: the text
    number: bool = False  # whether a number or a date is asked for
    of_memory: bool = True  # whether it asks for what was told, rather than for advice
    asks: Callable[[str], bool] = lambda text: text.rstrip().endswith(("?", "？"))
    counts: Callable[[str], bool] = lambda text: any(char.isdigit() for char in text)


class Statement(Struct, frozen=True):
    """What may answer: a message of a person, or words out of a note."""

    quote: Excerpt
    id: str  # of the message; empty: a note
    nearness: float
    is_near: bool
    # With what answers such a question, less the one that answers reach nearly always; None: no
    # vector.
    cosine: float | None = None
    worth: int = 0  # 1: held to be worth keeping, -1: to be a joke or the like; 0: open

    def comes_near(self, *, of_memory: bool) -> bool:
        """Whether it is near by its meaning: without vectors only words tell."""
        return self.nearness > 0 and (self.is_near or (of_memory and self.nearness >= GUESS_NEAR))


class Scored(Struct, frozen=True):
    """A statement with how much of a question it has."""

    statement: Statement
    place: int  # in what the index found
    points: float  # for which it goes before others
    part: float  # of the words that tell what is asked, in [0, 1]
    shares: bool  # whether it has one of these, beside the names of whom it is asked of
    shares_matter: bool  # and beside words for people: `gran`
    answers: bool  # whether it has enough to answer
    likely: bool = True  # whether it may answer by its meaning and all else
    is_clear: bool = False  # whether it is far ahead of all others, and not far from an answer

    def comes_near(self, confided: Set[str], *, of_memory: bool) -> bool:
        """Whether it is what a person said, and near enough to be offered as a guess."""
        said = self.statement
        if said.id and self.is_clear and of_memory:
            return True
        if not self.likely:
            return False
        by_name = self.part > 0 and not self.shares  # near for the name in both, perhaps
        is_near = said.comes_near(of_memory=of_memory and not by_name)
        if not said.id or not (is_near or (of_memory and self.part >= LEAST_PART)):
            return False
        return self.shares_matter if said.id in confided else self.shares or is_near


def score(runtime: Runtime, statements: Sequence[Statement], question: Question) -> list[Scored]:
    """Rank statements, best first: an answer shares a good part of what tells what is asked.

    Rare words tell most, and words that stand in any talk little. Meaning puts them in order where
    there are vectors.
    """
    code = question.language
    asked = telling_stems(question.text, code, beside=(runtime.identity.name, *speakers.IN_TALK))
    memory = forms.load(code, runtime.entity.root, runtime.tell).memory
    texts = [
        telling_stems(each.quote.text, code) | _dated(each.quote.text, memory.months)
        for each in statements
    ]
    called = names(runtime)
    telling = _telling(asked, called | _titled(question.text))
    matter = {stem for stem in telling if not _is_of_people(asked[stem], called, code)}
    weights = {
        stem: math.log(
            1 + len(texts) / max(1, sum(part_of(stem, word, text) > 0 for text in texts))
        )
        * (PASSING if word in memory.passing_words else 1.0)
        for stem, word in asked.items()
    }
    whole = sum(weights.values()) or 1.0
    above, heard = _above(statements), 0
    least_points = LIKELY if above is not None and len(statements) >= MANY else -math.inf
    rows = []
    for place, (each, text) in enumerate(zip(statements, texts, strict=True)):
        shares = {stem: part_of(stem, word, text) for stem, word in asked.items()}
        points = sum(weights[stem] * part for stem, part in shares.items())
        counts = question.number and question.counts(each.quote.text)
        least = LEAST_SHARED if counts else NEAR_SHARED if each.is_near else MOST_SHARED
        has_word, has_matter = (any(shares[stem] for stem in some) for some in (telling, matter))
        part = points / whole
        answers = part >= least and (has_word or not telling)
        points += RARE_NUMBER * counts
        if above is not None:
            of_person = bool(each.id)
            points = MEANING * above[place] + WORDS * part + NUMBER * counts
            points += SAID * of_person + KEPT * each.worth
            if of_person:
                heard += 1
                points += FIRST / heard
        likely = (each.cosine or 0) >= 0 and points >= least_points
        rows.append(Scored(each, place, points, part, has_word, has_matter, answers, likely))
    rows = sorted(rows, key=lambda each: -each.points)
    if above is None or len(rows) < MANY:
        return rows
    best, second, *others = rows
    is_near = (best.statement.cosine or 0) >= -CLEAR_BELOW
    is_clear = is_near and best.points - second.points >= LEAD
    return [replace(best, is_clear=is_clear), second, *others]


def _above(statements: Sequence[Statement]) -> list[float] | None:
    """Return how far the cosine of each is above their mean, in deviations; None without any."""
    cosines = [each.cosine for each in statements if each.cosine is not None]
    if not cosines:
        return None
    middle, deviation = fmean(cosines), pstdev(cosines) or 1.0
    weight = min(1.0, len(cosines) / MANY)  # of few one is always far above the others
    return [
        0.0 if each.cosine is None else weight * (each.cosine - middle) / deviation
        for each in statements
    ]


def _titled(text: str) -> set[str]:
    """Return the names that stand behind a title, and titles, folded: `herr kowalski`."""
    return {word for match in _TITLED.finditer(words.folded(text)) for word in match[0].split()}


def _telling(asked: Mapping[str, str], named: Set[str]) -> set[str]:
    """Return what is asked, without the names of whom it is asked of."""
    return {
        stem
        for stem, word in asked.items()
        if named.isdisjoint((word, word[:-1], _OWNING.sub("", word)))
    }


def _is_of_people(word: str, called: Set[str], language: str) -> bool:
    """Whether a word is for somebody: `gran`, or short for one of some names, `Cal`."""
    known = language_file.load(language)
    if known.has("kin", known.line(word)):
        return True
    return any(len(word) >= LEAST_LETTERS and name.startswith(word) for name in called)


def names(runtime: Runtime) -> set[str]:
    """Return the parts of the names of people, folded, as questions may hold them."""
    folder = runtime.entity.relationships
    return {part for path in relationships.paths(folder) for part in re.split(r"[\W_]", path.stem)}


def _dated(text: str, months: Sequence[str]) -> dict[str, str]:
    """Return the months that stand in a text as numbers: `1.7.`, `2026-07-01`."""
    numbers = (int(match["month"] or match["iso"]) for match in _DATE.finditer(text))
    names = [words.folded(months[number - 1]) for number in numbers if 1 <= number <= len(months)]
    return {name: name for name in names}


def telling_stems(text: str, language: str, *, beside: Sequence[str] = ()) -> dict[str, str]:
    """Return the stems of a text's telling words, each with a word as it is written, folded.

    What people say for one thing has one stem: `mum` that of `mother`.
    """
    passing = {words.stem(words.folded(word), language) for word in beside}
    written = language_file.load(language).spelled(text)
    telling = {synonyms.stem(word, language): words.folded(word) for word in telling_words(written)}
    return {
        stem: word
        for stem, word in telling.items()
        if stem not in passing and (len(word) >= LEAST_LETTERS or word.isdigit())
    }


def part_of(stem: str, word: str, there: Mapping[str, str]) -> float:
    """Say how much of a word stands in a text: itself, or as part of a compound."""
    if stem in there:
        return 1.0
    if any(_is_ending(word, other) for other in there.values()):
        return INEXACT
    if len(word) < COMPOUND:
        return 0.0
    within = any(
        word in other
        or (len(other) >= COMPOUND and other in word)
        or (len(stem) >= COMPOUND and stem in other)
        or words.akin(stem, another, COMPOUND)
        for another, other in there.items()
    )
    return INEXACT if within else 0.0


def _is_ending(word: str, other: str) -> bool:
    """Whether two words differ by an s, as a name does that owns: `Mira`, `Miras`."""
    short, long = sorted((word, other), key=len)
    return len(short) >= LEAST_LETTERS and long in (f"{short}s", f"{short}es")
