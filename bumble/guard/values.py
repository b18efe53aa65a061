"""Numbers and dates in a sentence, held against messages: given, following by counting, or made up.

A message's own time says what "Monday" and "the 8th" mean in it. Words of time are known in
English, German, French, Spanish, Italian and Portuguese; digits in any language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import combinations

from msgspec import Struct

from bumble.guard import numbers
from bumble.text import words
from bumble.text.words import MONTHS, WEEKDAYS

_MONTH = {word: n for n, row in enumerate(MONTHS, 1) for word in row.split()}
_WEEKDAY = {word: n for n, row in enumerate(WEEKDAYS) for word in row.split()}
# Days of each unit of time, by its words without accents.
_UNITS = {
    1: "day days tag tage tagen jour jours dia dias giorno giorni",
    7: "week weeks woche wochen semaine semaines semana semanas settimana settimane",
    30: "month months monat monate monaten mois mes meses mese mesi",
    365: "year years jahr jahre jahren an ans annee annees ano anos anni anno",
}
_UNIT = {word: days for days, row in _UNITS.items() for word in row.split()}
_TOKEN = re.compile(r"\d+(?:[.,]\d{3})*(?:[.,]\d+)?|[^\W\d_]+(?:-[^\W\d_]+)*")
_ISO = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")
_SHORT_DATE = re.compile(r"\b(\d{1,2})[./](\d{1,2})\.?(?:(\d{4}|\d{2}))?(?![\d:])")
_AND, _LARGE = ("and", "und", "et", "y", "e"), (100, 1000)
_NEAR = 2  # words from a day to the month behind it: "21 de junio"
_ENDINGS = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\b")
_HALF_WORDS = "half halb halber demi media mezza"
_HALVES = dict.fromkeys(_HALF_WORDS.split(), 30) | {"quarter": 15, "viertel": 15}
_ORDINAL = re.compile(  # a day without its month: "the 8th", "am 8.", "le 8"
    r"\b(\d{1,2})(?:st|nd|rd|th)\b|\b(\d{1,2})\.(?=\s+[^\W\d_]|\s*$)"
    r"|\b(?:le|el|il|dia|día|o) (\d{1,2})\b",
    re.IGNORECASE,
)
_YEARS = range(1000, 3000)
_MOST_DAYS = 31
_MOST_AMOUNTS = 6
_OLDEST, _TEN = 120, 10


class Values(Struct, frozen=True):
    """What numbers and dates a text gives."""

    numbers: frozenset[Decimal] = frozenset()
    days: frozenset[tuple[int, int]] = frozenset()  # month and day
    months: frozenset[int] = frozenset()
    named_months: frozenset[int] = frozenset()  # those that stand there
    ordinals: frozenset[int] = frozenset()  # days without a month
    weekdays: frozenset[int] = frozenset()  # Monday is 0
    spans: frozenset[Decimal] = frozenset()  # numbers of days, weeks, years

    def __or__(self, other: Values) -> Values:
        """Join what two texts give."""
        return Values(
            self.numbers | other.numbers,
            self.days | other.days,
            self.months | other.months,
            self.named_months | other.named_months,
            self.ordinals | other.ordinals,
            self.weekdays | other.weekdays,
            self.spans | other.spans,
        )


class _Number(Struct, frozen=True):
    """A number in a text."""

    value: Decimal
    index: int  # of its word
    word: str
    claimed: bool  # whether it says an amount, and is no article or figure of speech


class _Text(Struct, frozen=True):
    """A text, read for its numbers and dates."""

    tokens: Sequence[str]  # folded
    found: Sequence[_Number]
    dated: Sequence[tuple[int, int]]  # month and day, as the text says them
    ordinals: frozenset[int]  # days without a month
    in_dates: frozenset[int]  # indexes of the words of these
    months: frozenset[int]
    weekdays: frozenset[int]


def without_endings(text: str) -> str:
    """Return a text with "8" for "8th"."""
    return _ENDINGS.sub(r"\1", text)


def _read(text: str) -> _Text:
    tokens = [words.folded(token) for token in _TOKEN.findall(without_endings(text))]
    found = list(_numbers(tokens))
    dated, used = _dates(tokens, found)
    dated += [(int(month), int(day)) for _, month, day in _ISO.findall(text)]
    for first, second, _ in _SHORT_DATE.findall(text):
        dated += [(int(m), int(d)) for d, m in ((first, second), (second, first)) if int(m) <= 12]
    named = {_MONTH[token] for token in tokens if token in _MONTH and len(token) > 3}
    weekdays = frozenset(_WEEKDAY[token] for token in tokens if token in _WEEKDAY)
    months = frozenset(month for month, _ in dated) | named
    ordinals = frozenset(int(next(filter(None, match))) for match in _ORDINAL.findall(text))
    return _Text(tokens, found, dated, ordinals, frozenset(used), months, weekdays)


def _numbers(tokens: Sequence[str]) -> Iterator[_Number]:
    """Find numbers; those of several words ("four hundred and twenty") as one."""
    index = 0
    while index < len(tokens):
        value = numbers.value(tokens[index])
        if value is None:
            index += 1
            continue
        claimed, start, index = numbers.claims(tokens, index, capital=False), index, index + 1
        while index < len(tokens):
            joint = tokens[index] in _AND and index + 1 < len(tokens)
            following = numbers.value(tokens[index + joint])
            if following is None or tokens[index + joint][0].isdigit():
                break
            if following in _LARGE and value < following and not joint:
                value *= following
            elif value >= 20 and value % _step(value) == 0 and following < _step(value):
                value += following
            else:
                break
            claimed, index = True, index + joint + 1
        yield _Number(value, start, tokens[start], claimed)


def _step(value: Decimal) -> int:
    """Return what a number of words counts in: tens, hundreds, thousands."""
    return next((step for step in (1000, 100, 10) if value % step == 0), 1)


def _dates(
    tokens: Sequence[str], found: Sequence[_Number]
) -> tuple[list[tuple[int, int]], set[int]]:
    """Find days beside a month; return them, and the indexes of their words."""
    dated, used = [], set[int]()
    for number in found:
        if not 1 <= number.value <= _MOST_DAYS or number.value != int(number.value):
            continue
        behind = range(number.index + 1, min(number.index + _NEAR + 1, len(tokens)))
        low = number.index - (_NEAR if number.word[0].isdigit() else 0)
        before = range(number.index - 1, max(-1, low - 1), -1)
        for index in (*behind, *before):
            if tokens[index] in _MONTH and index not in used:
                dated.append((_MONTH[tokens[index]], int(number.value)))
                used |= {number.index, index}
                break
    return dated, used


def of_message(text: str, at: datetime) -> Values:
    """Return what a message gives, its times of day and week counted from when it was said."""
    read = _read(text)
    days = {*read.dated, *(_day(at, n) for n in (-1, 0, 1))}
    weekdays = {*read.weekdays, *((at.date() + timedelta(n)).weekday() for n in (-1, 0, 1))}
    for weekday in read.weekdays:
        days |= {_day(at, n) for n in range(-8, 15) if _date(at, n).weekday() == weekday}
    days |= {(month, day) for day in read.ordinals for month in _months_around(at)}
    for ahead in _spans(read):
        for month, day in read.dated:
            if start := _whole(at.year, month, day):
                days |= {_month_day(start, near) for near in (ahead, -ahead) if ahead < 400}
        days |= {_day(at, near) for near in _around(ahead)}
        days |= {_day(at, -near) for near in _around(ahead)}
    for month, day in read.dated:
        weekdays |= _weekdays_of(at.year, month, day)
    given = {number.value for number in read.found}
    given |= {Decimal(_HALVES[token]) for token in read.tokens if token in _HALVES}
    given |= {Decimal(at.year + n) for n in (-1, 0, 1)}
    return Values(
        frozenset(given),
        frozenset(days),
        frozenset({*read.months, *(month for month, _ in days)}),
        read.months,
        read.ordinals,
        frozenset(weekdays),
        frozenset(one.value for one in read.found if _unit_of(read, one)),
    )


def of_known(text: str) -> Values:
    """Return what a sentence gives that is remembered already: it says its days in full."""
    read = _read(text)
    return Values(
        frozenset(number.value for number in read.found),
        frozenset(read.dated),
        read.months,
        read.months,
        read.ordinals,
        read.weekdays,
    )


def times_in(text: str) -> list[str]:
    """Return the words of a text that name a weekday or a number."""
    return [
        token
        for token in map(words.folded, _TOKEN.findall(without_endings(text)))
        if token in _WEEKDAY or numbers.value(token) is not None
    ]


def kinds_in(text: str, language: str) -> set[tuple[str, str]]:
    """Return the values of a text by kind: dates, weekdays, numbers by the noun behind them."""
    read = _read(text)
    found = {("date", f"{month}-{day}") for month, day in read.dated}
    if not read.dated:
        found |= {("date", f"day {day}") for day in read.ordinals}
    found |= {("weekday", str(weekday)) for weekday in read.weekdays}
    for number in read.found:
        if number.claimed and number.index not in read.in_dates:
            behind = read.tokens[number.index + 1 : number.index + 2]
            unit = words.stem(behind[0], language) if behind else ""
            found.add((f"number {unit}", f"{number.value:f}"))
    return found


def is_value(word: str) -> bool:
    """Whether a word is a number, a month or a weekday."""
    plain = words.folded(word)
    return (
        any(char.isdigit() for char in plain)
        or plain in _MONTH
        or plain in _WEEKDAY
        or numbers.value(plain) is not None
    )


def _date(at: datetime, days: int) -> date:
    return at.date() + timedelta(days)


def _day(at: datetime, days: int) -> tuple[int, int]:
    day = _date(at, days)
    return day.month, day.day


def _whole(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _month_day(start: date, days: int) -> tuple[int, int]:
    day = start + timedelta(days)
    return day.month, day.day


def _months_around(at: datetime) -> set[int]:
    return {(at.month + n - 1) % 12 + 1 for n in (-1, 0, 1)}


def _unit_of(read: _Text, number: _Number) -> int:
    """Return the days of the unit of time behind a number; 0: it counts something else."""
    behind = read.tokens[number.index + 1 : number.index + 3]
    return next((_UNIT[token] for token in behind if token in _UNIT), 0)


def _spans(read: _Text) -> Iterator[int]:
    """Yield the days of each span of time that a text names: "in three weeks", "next week"."""
    for index, token in enumerate(read.tokens):
        if token in _UNIT:
            counted = [one.value for one in read.found if 0 < index - one.index <= 2]
            yield int(_UNIT[token] * (counted[-1] if counted and counted[-1] < 400 else 1))


def _around(days: int) -> range:
    """Return the days that a span may mean: the longer, the less exactly."""
    slack = 0 if days < 7 else 6 if days < 28 else 15
    return range(max(1, days - slack), days + slack + 1) if days < 800 else range(0)


def _weekdays_of(year: int, month: int, day: int) -> set[int]:
    try:
        return {date(year + n, month, day).weekday() for n in (0, 1)}
    except ValueError:
        return set()


def made_up(sentence: str, given: Values, cited: Values) -> tuple[str, bool]:
    """Tell which number or date of a sentence nobody gave.

    Args:
        sentence: As a model wrote it.
        given: All that may be said.
        cited: What the messages give that it cites: what follows from them by counting may be too.

    Returns:
        The word that nobody gave, empty if there is none; whether something follows by counting.
    """
    read, counted = _read(sentence), False
    for month, day in read.dated:
        joined = month in given.named_months and day in given.ordinals
        if (month, day) not in given.days and not joined:
            return f"{day} {MONTHS[month - 1].split()[0].title()}", False
    for month in read.months - given.months:
        return MONTHS[month - 1].split()[0].title(), False
    for weekday in read.weekdays - given.weekdays:
        return WEEKDAYS[weekday].split()[0].title(), False
    for number in read.found:
        if not number.claimed or number.index in read.in_dates or number.value in given.numbers:
            continue
        if number.value in read.ordinals and any(day == number.value for _, day in given.days):
            continue
        if number.value not in _following(cited.numbers, cited.spans):
            return number.word, False
        counted = True
    return "", counted


def _following(given: frozenset[Decimal], spans: frozenset[Decimal]) -> set[Decimal]:
    """Return what follows from numbers by counting: spans of years, sums, differences, weeks."""
    plain = {value for value in given if value not in _YEARS}
    years = {value for value in given if value in _YEARS}
    following = {abs(one - other) for one, other in combinations(years, 2)}
    amounts = {value for value in plain if value > 1}
    following |= {year - value for year in years for value in amounts if value < _OLDEST}
    following |= {value * 2 for value in amounts if value >= _TEN}
    following |= {value / 2 for value in amounts if value >= _TEN}
    if len(amounts) <= _MOST_AMOUNTS:  # of many, nearly every number follows
        for one, other in combinations(amounts, 2):
            if (one in spans) == (other in spans):  # days and euros make no sum
                following |= {one + other, abs(one - other)}
    return following | {value * 7 for value in amounts} | {value * 12 for value in amounts}
