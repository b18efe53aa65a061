"""The period that a question names: days, months, seasons, feasts, years, spans, ranges.

Its words are those of `dateparser`, as they lie in that package (`guard/values`), so a question is
understood in any of its languages; seasons are those of the northern half. A month or a season
without its year is the latest that has begun. Knows nothing of memories.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from functools import cache
from itertools import pairwise

from dateutil.easter import easter
from dateutil.relativedelta import relativedelta
from msgspec import Struct

from bumble import patterns
from bumble.guard import number_words, values
from bumble.index import form
from bumble.index.rows import Period
from bumble.text import stop_words, words

BEFORE, AFTER = timedelta(days=1), timedelta(days=10)  # in which people tell of it, too
MOST_CHARS = 1_000  # of a question that are read
SHORT = 3  # letters of a month's name that stands alone only behind a preposition: `in May`
_IN = frozenset(("in", "im", "en", "em"))
_FIRST_YEAR = 1950
_DAY = timedelta(days=1)
_MONTH_END = relativedelta(day=31)
_UNITS = {unit: relativedelta(**{f"{unit}s": 1}) for unit in ("day", "week", "month")}
EASTER = (0, 0, 4)  # its days are another year's others: Good Friday to Easter Monday
_SEASONS = {  # by their first month
    3: "spring fruhling fruhjahr printemps primavera lente voorjaar var forar kevat wiosna wiosne"
    " весна весной весны ilkbahar بهار الربيع אביב 春 봄",
    6: "summer sommer ete estate verano verao zomer sommar kesa kesalla lato latem lecie"
    " лето летом лета yaz الصيف קיץ 夏 여름",
    9: "autumn fall herbst automne autunno otono outono herfst host efterar syksy syksylla jesien"
    " jesienia осень осенью осени sonbahar الخريف סתיו 秋 가을",
    12: "winter hiver inverno invierno talvi talvella zima zime зима зимой зимы kis الشتاء חורף"
    " 冬 겨울",
}
_FEASTS = {  # by the month and day of their first day, and how many there are
    (12, 24, 3): "christmas xmas weihnachten weihnacht heiligabend noel navidad nochebuena natale"
    " kerst kerstmis julen joulu joulun vanoce рождество рождества craciun 圣诞"
    " クリスマス 크리스마스",
    (12, 31, 2): "silvester nochevieja capodanno reveillon sylwester sylwestra",
    (10, 31, 1): "halloween",
    EASTER: "easter ostern paques pascua pasqua pascoa pasen paske pask paasiainen wielkanoc пасха"
    " пасху пасхе 复活节",
}
_OCCASIONS = {word: days for days, row in _FEASTS.items() for word in row.split()} | {
    word: (month, 1, 0) for month, row in _SEASONS.items() for word in row.split()
}
_WORD = patterns.compile(r"[^\W_]+")
_A_NUMBER = patterns.compile(r"\(\\d\+\+.*?\)")
_AGO = patterns.compile(r"(\d+|\\1) (day|week|month|year) ago")  # as `dateparser` says it
_YEAR = r"(?:19|20)\d\d"
_KANA = patterns.compile(r"[\u3040-\u30ff]")
# with something that happened, whose day is looked up: "around her birthday"
_AROUND = patterns.compile(
    r"\b(?:around|rund um|herum|alrededor|en torno|autour|alentours|intorno|em torno|por volta|rond"
    r"|rondom|omkring|около|вокруг)\b|前後|前后|の頃"
)
_NUMERIC = patterns.compile(
    rf"(?<!\d)(?:(?P<iso>{_YEAR})[-/.](?P<iso_month>\d\d?)[-/.](?P<iso_day>\d\d?)"
    r"|(?P<one>\d\d?)[./](?P<two>\d\d?)[./](?P<year>\d{4}|\d\d))(?![\d])"
)
_LONE_YEAR = patterns.compile(rf"(?<![\d.,:-])({_YEAR})(?![\d:]|[.,]\d)")


class _Named(Struct, frozen=True):
    """Some days that a text names."""

    first: date
    last: date
    at: int = 0  # where it stands in the text, if it can lack a year, or lend another one its own
    yearless: bool = False


def read(text: str, now: datetime) -> Period | None:
    """Return the period that a question names, with the days around it; None: it names none.

    Args:
        text: The question.
        now: When it is asked, in the zone that its days are of.
    """
    named = _Reading(text[:MOST_CHARS], now.date()).named()
    if not named:
        return None
    first, last = min(each.first for each in named), max(each.last for each in named)
    start, end = (datetime.combine(day, time(), now.tzinfo) for day in (first, last + _DAY))
    return Period(start - BEFORE, end + AFTER, BEFORE, AFTER)


def is_around(text: str) -> bool:
    """Whether a question is about the days around something that happened."""
    return _AROUND.search(words.folded(text[:MOST_CHARS])) is not None


def around(at: datetime) -> Period:
    """Return the days around one."""
    return Period(at - AFTER, at + AFTER)


class _Reading:
    """A question that is read; what was understood is blanked out, so nothing counts twice."""

    def __init__(self, text: str, today: date) -> None:
        self.today = today
        self.capitals = frozenset(
            words.folded(word[0])
            for word in _WORD.finditer(text)
            if word.start() and word[0][0].isupper()
        )
        self.codes = _codes(text)
        self.text = _counted(words.folded(text), self.codes[0])

    def named(self) -> list[_Named]:
        """Return all days that it names, the most exact first."""
        year = self._relative_year()
        found = [
            *self._numeric(),
            *self._months(year),
            *self._occasions(year),
        ]
        if not found:  # "the last week of August" is of August
            found = [*self._back(), *self._relative()] or [*self._years()]
        if not found and year is not None:
            found = [_whole_year(year)]
        return _with_years(found)

    def _take(self, start: int, end: int) -> None:
        self.text = self.text[:start] + " " * (end - start) + self.text[end:]

    def _numeric(self) -> Iterator[_Named]:
        """Find 2024-05-12, 12.5.2024 and 5/12/2024."""
        for match in list(_NUMERIC.finditer(self.text)):
            if match["iso"]:
                parts = [match["iso"], match["iso_month"], match["iso_day"]]
            else:
                day, month = match["one"], match["two"]
                order = values.time_words(self.codes[0]).get("date_order", "DMY")
                if ("/" in match[0] and order == "MDY") or int(month) > 12:
                    day, month = month, day
                year = match["year"]
                parts = [year if len(year) == 4 else f"20{year}", month, day]
            self._take(*match.span())
            if found := _day(*map(int, parts)):
                yield _Named(found, found, match.start())

    def _months(self, year: int | None) -> Iterator[_Named]:
        """Find months, with the day and the year beside them."""
        months = {word: n for code in self.codes for word, n in _months(code).items()}
        if not months:
            return
        for match in list(_month_pattern(tuple(sorted(months))).finditer(self.text)):
            named, day = match["month"], match["day"] or match["day_behind"]
            written = match["year"] or match["year_behind"]
            is_word = len(named) <= SHORT or named == "march"
            if not day and not written and is_word and not self._is_month(match):
                continue
            self._take(*match.span())
            own = int(written) if written else year
            of_year = own or self.today.year - (months[named] > self.today.month)
            start = _day(of_year, months[named], int(day) if day else 1)
            if start is None:
                continue
            end = start if day else start + _MONTH_END
            yield _Named(start, end, match.start(), yearless=own is None)

    def _is_month(self, match: re.Match[str]) -> bool:
        before = _WORD.findall(self.text[: match.start("month")])
        if not match["month"].isascii():
            return True
        return match["month"] in self.capitals or bool(before and before[-1] in _IN)

    def _occasions(self, year: int | None) -> Iterator[_Named]:
        """Find seasons and feasts: the last that has begun; of "last summer" the last that is over.

        A season has no number of days.
        """
        for match in list(_WORD.finditer(self.text)):
            days = _occasion(match[0])
            if days is None:
                continue
            before, behind = self.text[: match.start()], self.text[match.end() :]
            near = [*_WORD.findall(before)[-1:], *_WORD.findall(behind)[:1]]
            beside = {words.stem(word, self.codes[0]) for word in near}
            written = _LONE_YEAR.search(self.text[match.end() : match.end() + 9])
            ended = not days[2] and not _last_words(self.codes).isdisjoint(beside)
            own = int(written[1]) if written else None if ended else year
            self._take(*match.span())
            if written:
                self.text = self.text.replace(written[1], " " * len(written[1]), 1)
            first, last = _occasion_days(days, own or self.today.year)
            if own is None and (last >= self.today if ended else first > self.today):
                first, last = _occasion_days(days, self.today.year - 1)
            yield _Named(first, last, match.start(), yearless=own is None and not ended)

    def _years(self) -> Iterator[_Named]:
        for match in _LONE_YEAR.finditer(self.text):
            year, behind = int(match[1]), _WORD.match(self.text[match.end() :].lstrip())
            is_sum = behind is not None and values.CURRENCIES.fullmatch(behind[0])
            if _FIRST_YEAR <= year <= self.today.year and not is_sum:
                yield _whole_year(year)

    def _relative_year(self) -> int | None:
        """Return the year of "last year" or "this year", which may stand beside a month."""
        for count, unit, span in self._relative_phrases():
            if unit == "year":
                self._take(*span)
                return self.today.year - count
        return None

    def _relative(self) -> Iterator[_Named]:
        """Find "yesterday", "this week", "last month"."""
        for count, unit, _ in self._relative_phrases():
            if unit in ("day", "week", "month"):
                yield _unit_back(self.today, count, unit)

    def _relative_phrases(self) -> Iterator[tuple[int, str, tuple[int, int]]]:
        """Yield how many of which unit ago a phrase means, and where it stands."""
        tokens = list(_WORD.finditer(self.text))
        for code in self.codes:
            stems = [words.stem(token[0], code) for token in tokens]
            for phrase, (count, unit) in _phrases(code).items():
                key = tuple(words.stem(word, code) for word in phrase.split())
                if stop_words.is_unspaced(phrase):
                    at = self.text.find(phrase)
                    if at >= 0:
                        yield count, unit, (at, at + len(phrase))
                    continue
                for n in range(len(stems) - len(key) + 1):
                    if tuple(stems[n : n + len(key)]) == key:
                        yield count, unit, (tokens[n].start(), tokens[n + len(key) - 1].end())

    def _back(self) -> Iterator[_Named]:
        """Find "three weeks ago" and "the last three weeks"."""
        for code in self.codes:
            for pattern, unit in _ago(code):
                if back := pattern.search(self.text):
                    self._take(*back.span())
                    yield _days_ago(self.today, int(back[1]), unit)
        tokens = list(_WORD.finditer(self.text))
        for lead, count, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
            if not count[0].isdigit() or len(count[0]) >= 4:
                continue
            days = values.calendar_words(self.codes[0]).units.get(after[0], 0)
            if days >= 1 and words.stem(lead[0], self.codes[0]) in _last_words(self.codes):
                start = self.today - timedelta(days=int(days) * int(count[0]))
                yield _Named(start, self.today)


def _with_years(found: Sequence[_Named]) -> list[_Named]:
    """Give what has no year that of what stands behind it: "between March and May 2024"."""
    settled, following = list[_Named](), None
    for each in sorted(found, key=lambda each: each.at, reverse=True):
        if each.yearless and following is not None and not following.yearless:
            years = following.first.year - each.first.year
            years -= each.first + relativedelta(years=years) > following.first
            shift = relativedelta(years=years)
            each = _Named(each.first + shift, each.last + shift, each.at)
        settled.append(each)
        following = each
    return settled


def _codes(text: str) -> tuple[str, ...]:
    """Return the languages a question may be in, the likeliest first."""
    if stop_words.is_unspaced(text):
        return ("ja",) if _KANA.search(text) else ("zh", "ja")
    fitting = form.languages(text)
    if len(fitting) == 1 and text.isascii():
        return (fitting[0],)
    return tuple(dict.fromkeys((words.language(text), *fitting)))  # takes twenty times as long


def _counted(text: str, code: str) -> str:
    """Write the numbers before units of time in digits."""
    tokens = list(_WORD.finditer(text))
    for token, behind in reversed(list(pairwise(tokens))):
        number = number_words.value(token[0], code)
        if number is None or number != int(number):
            continue
        if behind[0] in values.calendar_words(code).units:
            text = f"{text[: token.start()]}{int(number)}{text[token.end() :]}"
    return text


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _occasion(word: str) -> tuple[int, int, int] | None:
    """Return what season or feast a word names, or begins with in a script without spaces."""
    own = (
        key
        for key in _OCCASIONS
        if not key.isascii() and word.startswith(key) and (len(key) == 1 or _OCCASIONS[key][2])
    )
    return _OCCASIONS.get(word) or _OCCASIONS.get(next(own, ""))


def _occasion_days(days: tuple[int, int, int], year: int) -> tuple[date, date]:
    """Return the first and the last day of a season or a feast in a year."""
    if not days[2]:
        start = date(year, days[0], 1)
        return start, start + relativedelta(months=3) - _DAY
    start = easter(year) - 2 * _DAY if days == EASTER else date(year, *days[:2])
    return start, start + (days[2] - 1) * _DAY


def _whole_year(year: int) -> _Named:
    return _Named(date(year, 1, 1), date(year, 12, 31))


def _unit_back(today: date, count: int, unit: str) -> _Named:
    """Return the day, the week or the month of the calendar that many back."""
    monday = today - today.weekday() * _DAY
    began = {"day": today, "week": monday, "month": today.replace(day=1)}[unit]
    first = began - count * _UNITS[unit]
    return _Named(first, first + _UNITS[unit] - _DAY)


def _days_ago(today: date, count: int, unit: str) -> _Named:
    """Return the days that somebody may mean by so many of a unit ago."""
    if unit == "year":
        return _whole_year(max(1, today.year - count))
    unit_days = int(values.UNIT_DAYS[unit])
    day, slack = today - min(count, 5000) * unit_days * _DAY, unit_days // 2 * _DAY
    return _Named(day - slack, day + slack)


@cache
def _months(code: str) -> dict[str, int]:
    info, months = values.time_words(code), dict[str, int]()
    for number, name in enumerate(values.MONTH_NAMES, 1):
        for word in (words.folded(each) for each in info.get(name, ())):
            if len(word) >= SHORT or not word.isascii():
                months.setdefault(word, number)
    return months


@cache
def _month_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """Match a month with its day and year on either side: "8 de mayo de 2024", "2024年5月8日"."""
    spaced = [re.escape(name) for name in names if not stop_words.is_unspaced(name)]
    unspaced = [re.escape(name) for name in names if stop_words.is_unspaced(name)]
    either = list[str]()
    if spaced:
        either.append(rf"(?<!\w)(?:{'|'.join(sorted(spaced, key=len, reverse=True))})(?![^\W\d_])")
    if unspaced:
        either.append(rf"(?<!\d)(?:{'|'.join(sorted(unspaced, key=len, reverse=True))})")
    joint = r"\W{1,2}(?:\w{1,3}\W+){0,2}"
    return re.compile(
        rf"(?:(?P<year>{_YEAR})[\W年년]{{0,2}})?"
        rf"(?:(?<!\d)(?P<day>\d\d?)(?:st|nd|rd|th|er|[ºª])?{joint})?"
        rf"(?P<month>{'|'.join(either)})"
        r"(?:\W{0,3}(?P<day_behind>\d\d?)(?:st|nd|rd|th|日|일)?(?![\d:]))?"
        rf"(?:\W{{1,3}}(?:\w{{1,3}}\W+){{0,1}}(?P<year_behind>{_YEAR})(?!\d))?"
    )


@cache
def _phrases(code: str) -> dict[str, tuple[int, str]]:
    """Return what words such as "yesterday" and "this week" mean: so many of a unit ago."""
    return {
        words.folded(phrase): (int(back[1]), back[2])
        for meaning, said in values.time_words(code).get("relative-type", {}).items()
        if (back := _AGO.fullmatch(meaning)) and back[1].isdigit()
        for phrase in said
    }


@cache
def _ago(code: str) -> list[tuple[re.Pattern[str], str]]:
    """Return the patterns of "three weeks ago", the longest first, each with its unit."""
    found = [
        (_A_NUMBER.sub(r"(\\d{1,4})", words.folded(each)), back[2])
        for meaning, told in values.time_words(code).get("relative-type-regex", {}).items()
        if (back := _AGO.fullmatch(meaning)) and not back[1].isdigit()
        for each in told
    ]
    found.sort(key=lambda each: -len(each[0]))
    return [(re.compile(rf"(?<!\w){pattern}(?![a-z])"), unit) for pattern, unit in found]


@cache
def _last_words(codes: tuple[str, ...]) -> frozenset[str]:
    """Return the stems of "last", as in "last month", which leads other times, too."""
    found = set[str]()
    for code in codes:
        units = {words.stem(unit, code) for unit in values.calendar_words(code).units}
        for phrase, (count, unit) in _phrases(code).items():
            if count == 1 and unit != "day":
                stems = {words.stem(word, code) for word in phrase.split() if len(word) > SHORT}
                found |= stems - units
    return frozenset(found)
