"""Numbers and times in a text: what each counts, beside which words it stands, which days it means.

A message's own time says what "Monday", "yesterday" and "the 8th" mean in it. Words for months,
weekdays, units and days beside today are those of `dateparser`, read as they lie in that package:
its import takes longer than a look at a sentence. All words are compared folded.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache, lru_cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from bumble.text import stop_words, words

Kind = Literal["", "thing", "time", "money"]

_NUMBERS = {
    1: "one first once a an ein eine einen einem einer eins un una uno um uma une premier primero "
    "erste ersten erster een",
    2: "two second twice zwei zwo deux dos dois duas both beide due twee second zweite zweiten",
    3: "three third thrice drei dritte dritten dritter drittes trois tres tre drie",
    4: "four fourth vier quatre cuatro quatro quattro",
    5: "five fifth funf cinq cinco cinque vijf",
    6: "six sixth sechs seis sei zes",
    7: "seven seventh sieben siebte siebten sept siete sete sette zeven",
    8: "eight eighth acht huit ocho oito otto",
    9: "nine ninth neun neuf nueve nove negen",
    10: "ten tenth zehn dix diez dez dieci tien",
    11: "eleven eleventh elf onze once undici",
    12: "twelve twelfth zwolf douze doce doze dozen dutzend dodici twaalf",
    13: "thirteen dreizehn treize trece treze tredici dertien",
    14: "fourteen vierzehn quatorze catorce catorze quattordici veertien",
    15: "fifteen funfzehn quinze quince quindici vijftien",
    16: "sixteen sechzehn seize dieciseis dezesseis dezasseis sedici zestien",
    17: "seventeen siebzehn diecisiete dezassete dezessete diciassette zeventien",
    18: "eighteen achtzehn dieciocho dezoito diciotto achttien",
    19: "nineteen neunzehn diecinueve dezanove dezenove diciannove negentien",
    20: "twenty zwanzig vingt veinte vinte venti twintig",
    30: "thirty dreissig trente treinta trinta trenta dertig",
    40: "forty vierzig quarante cuarenta quarenta quaranta veertig",
    50: "fifty funfzig cinquante cincuenta cinquenta cinquanta vijftig",
    60: "sixty sechzig soixante sesenta sessenta sessanta zestig",
    70: "seventy siebzig setenta settanta zeventig",
    80: "eighty achtzig ochenta oitenta ottanta tachtig",
    90: "ninety neunzig noventa novanta negentig",
    100: "hundred hundert cent cien cem cento honderd",
    1000: "thousand tausend mille mil duizend",
}
_OF_WORD = {word: value for value, row in _NUMBERS.items() for word in row.split()}
# These mean something else more often, in one language or another: they support, but claim nothing.
_OFTEN_OTHERWISE = """
second twice third both beide dos once elf neuf sept seize dix sieben cent mil mille quince hundred
thousand hundert tausend dozen dutzend due sei tre otto
"""
_AMBIGUOUS = frozenset((_NUMBERS[1] + " " + _OFTEN_OTHERWISE).split())
_SPANISH = "veinti"  # veintidós
_GERMAN = re.compile(r"(\w{3,6})und(\w{5,8})")  # einundzwanzig
_ORDINAL_ENDING = re.compile(r"(?<=\w)(?:ste[nrsm]?|te[nrsm]?|th)\Z")
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_THOUSANDS = re.compile(r"[.,](?=\d{3}(?!\d))")
_GROUPED = re.compile(r"(?<=\d)[ \u00a0\u202f'’](?=\d{3}(?!\d))")  # 3 200, 3'200
_TENS = range(20, 100, 10)
_LARGE = (100, 1000)
_JOINTS = ("and", "und", "et", "y", "e")

_LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl")  # read beside the text's own
_MONTH_NAMES = tuple(month.casefold() for month in calendar.month_name[1:])
_WEEKDAY_NAMES = tuple(day.casefold() for day in calendar.day_name)
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365, "hour": 1 / 24, "minute": 1 / 1440}
_FULL_LETTERS = 5  # of a weekday's name that is no abbreviation
_LEAST_LETTERS = 3  # of the name of a month or weekday that is read as one without a day
_RELATIVE = re.compile(r"(?:in )?(\d) (day|week|month|year)(?: ago)?")
_CURRENCIES = re.compile(
    r"(?:€|\$|£|¥|euros?|eur|dollars?|usd|bucks|pounds?|gbp|quid|francs?|franken|chf|pfund|kr)"
)
_PRICE = re.compile(r"\d+[.,]\d\d")
_TOKEN = re.compile(
    r"[€$£¥%]|\d+(?:[.,]\d+)*|[^\W\d_]{1,2}['’](?=[^\W\d_]{3})"
    r"|[^\W\d_]+(?:['’\-][^\W\d_]+)*|[.!?…\n,;:()–—]"
)
_STOPS = frozenset(".!?…\n")
_BREAKS = _STOPS | frozenset(",;:()–—")
_ENDINGS = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\b")
_CLOCK = re.compile(r"\b(\d{1,2})[:.](?:00|15|30|45)\b(?![.\d])")  # the hour alone is compared
_ISO = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")
_SHORT_DATE = re.compile(r"\b(\d{1,2})[./](\d{1,2})\.?(?:(\d{4}|\d{2}))?(?![\d:])")
_ORDINAL = re.compile(  # a day without its month: "the 8th", "am 8.", "le 8"
    r"\b(\d{1,2})(?:st|nd|rd|th)\b|\b(\d{1,2})\.(?=\s+[^\W\d_]|\s*[,;]|\s*$)"
    r"|\b(?:le|el|il|dia|día|o|au|al|du) (\d{1,2})\b(?!\s*(?:[€$£%]|[:.,]\d))",
    re.IGNORECASE,
)
YEARS = range(1000, 3000)
YEAR_DAYS = 365
MOST_DAYS = 31
_NEAR = 2  # words from a day to the month behind it: "21 de junio"
CONTEXT = 6  # words on each side that tell what a number is of
_EARLY = 5  # until this hour "today" may be the day before
_SPAN_LIMIT = 800  # days of a span from which a day may follow


class Number(Struct, frozen=True):
    """A number in a text."""

    value: Decimal
    word: str
    kind: Kind  # what it counts; empty: nothing stands behind it
    unit: str  # stem of what it counts
    unit_days: float  # of a unit of time
    claimed: bool  # whether it says an amount, and is no article or figure of speech
    around: frozenset[str]  # stems of the telling words beside it


class Times(Struct, frozen=True):
    """What times a text names by itself."""

    dated: frozenset[tuple[int, int]] = frozenset()  # month and day
    ordinals: frozenset[int] = frozenset()  # days without a month
    months: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()  # Monday is 0
    full_weekdays: frozenset[int] = frozenset()  # those whose names stand there in full
    offsets: frozenset[tuple[int, int]] = frozenset()  # days from now: first and last
    spans: frozenset[int] = frozenset()  # days: "in three weeks"

    @property
    def are_there(self) -> bool:
        """Whether any day is named."""
        return bool(self.dated or self.ordinals or self.weekdays or self.offsets)


class Text(Struct, frozen=True):
    """A text, read for its numbers and times."""

    numbers: tuple[Number, ...]
    times: Times
    content: frozenset[str]  # stems of its telling words, names among them, without values


class _Calendar(Struct, frozen=True):
    """The words of time of some languages."""

    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    units: Mapping[str, float]  # days of each
    relative: Sequence[tuple[re.Pattern[str], tuple[int, int]]]


@cache
def _calendar(language: str) -> _Calendar:
    months: dict[str, int] = {}
    weekdays: dict[str, int] = {}
    units: dict[str, float] = {}
    relative: dict[str, tuple[int, int]] = {}
    for code in dict.fromkeys((*_LANGUAGES, language)):
        info = _language_info(code)
        _named(info, _MONTH_NAMES, months)
        _named(info, _WEEKDAY_NAMES, weekdays)
        for name, days in _UNIT_DAYS.items():
            units |= {words.folded(word): days for word in info.get(name, ()) if len(word) > 1}
        for said, told in info.get("relative-type", {}).items():
            if found := _RELATIVE.fullmatch(said):
                relative |= {words.folded(one): _offset(said, *found.groups()) for one in told}
    return _Calendar(months, weekdays, units, _patterns(relative))


def _language_info(code: str) -> Mapping[str, Any]:
    package = find_spec("dateparser")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("dateparser")
    file = Path(package.origin).parent / "data" / "date_translation_data" / f"{code}.py"
    spec = spec_from_file_location(f"dates_{code}", file)
    if not file.is_file() or spec is None or spec.loader is None:
        return {}
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    info: Mapping[str, Any] = module.info
    return info


def _named(info: Mapping[str, Any], names: Sequence[str], into: dict[str, int]) -> None:
    start = 1 if names is _MONTH_NAMES else 0
    for place, name in enumerate(names, start):
        for word in map(words.folded, info.get(name, ())):
            if len(word) >= _LEAST_LETTERS and word not in stop_words.WORDS:
                into.setdefault(word, place)
                into.setdefault(f"{word}s", place)  # on Sundays, sonntags


def _offset(said: str, count: str, unit: str) -> tuple[int, int]:
    days = int(count) * int(_UNIT_DAYS[unit]) * (-1 if said.endswith("ago") else 1)
    slack = 0 if unit == "day" else int(_UNIT_DAYS[unit]) - 1
    return days - slack, days + slack


def _patterns(relative: Mapping[str, tuple[int, int]]) -> list[tuple[re.Pattern[str], Any]]:
    by_offset: dict[tuple[int, int], list[str]] = {}
    for words_, offset in relative.items():
        if offset[1] - offset[0] < _UNIT_DAYS["year"]:
            by_offset.setdefault(offset, []).append(re.escape(words_))
    return [
        (re.compile(rf"\b(?:{'|'.join(sorted(told, key=len, reverse=True))})\b"), offset)
        for offset, told in by_offset.items()
    ]


@lru_cache(maxsize=1024)
def read(text: str, language: str) -> Text:
    """Read a text for its numbers and times.

    Args:
        text: Any.
        language: It is in, `de`.
    """
    terms = _calendar(language)
    plain = _CLOCK.sub(r"\1 ", _GROUPED.sub("", _ENDINGS.sub(r"\1", text)))
    tokens = [words.folded(token) for token in _TOKEN.findall(plain)]
    found = list(_runs(tokens))
    dated, used = _dates(tokens, found, terms)
    ordinals = frozenset(int(next(filter(None, match))) for match in _ORDINAL.findall(text))
    numbers = tuple(_number(tokens, run, terms, language) for run in found if run[0] not in used)
    numbers += tuple(number for run in found if run[0] in used for number in _year(run))
    times = _times(text, tokens, dated, ordinals, terms, found)
    return Text(numbers, times, _content(tokens, terms, language))


_Run = tuple[int, int, Decimal]  # first token, one behind the last, value


def _runs(tokens: Sequence[str]) -> Iterator[_Run]:
    """Find numbers; those of several words ("four hundred and twenty") as one."""
    index = 0
    while index < len(tokens):
        start, total = index, value(tokens[index])
        index += 1
        if total is None:
            continue
        while index < len(tokens):
            joint = tokens[index] in _JOINTS and index + 1 < len(tokens)
            following = value(tokens[index + joint])
            if following is None or tokens[index + joint][0].isdigit():
                break
            if following in _LARGE and total < following and not joint:
                total *= following
            elif total >= 20 and total % _step(total) == 0 and following < _step(total):
                total += following
            else:
                break
            index += joint + 1
        yield start, index, total


def _step(total: Decimal) -> int:
    """Return what a number of words counts in: tens, hundreds, thousands."""
    return next((step for step in (1000, 100, 10) if total % step == 0), 1)


def _number(tokens: Sequence[str], run: _Run, terms: _Calendar, language: str) -> Number:
    start, end, total = run
    word = tokens[start]
    before = tokens[start - 1] if start else ""
    behind = list(tokens[end : end + 2])
    kind: Kind = ""
    unit, unit_days = "", 0
    timed = next((token for token in behind if token in terms.units), "")
    sign = behind[0] if behind else ""
    if _CURRENCIES.fullmatch(before) or _CURRENCIES.fullmatch(sign) or _PRICE.fullmatch(word):
        kind = "money"
    elif timed and (timed == behind[0] or behind[0] not in stop_words.WORDS | _BREAKS):
        kind, unit, unit_days = "time", timed, terms.units[timed]
    elif behind and _is_noun(behind[0], terms):
        kind, unit = "thing", words.stem(behind[0], language)
    single = end - start == 1
    claimed = word[0].isdigit() or not single or word not in _AMBIGUOUS
    return Number(total, word, kind, unit, unit_days, claimed, _around(tokens, run, language))


def _is_noun(token: str, terms: _Calendar) -> bool:
    return token[0].isalpha() and not (
        token in stop_words.WORDS
        or token in terms.months
        or token in terms.weekdays
        or value(token) is not None
        or any(pattern.fullmatch(token) for pattern, _ in terms.relative)
    )


def _year(run: _Run) -> Iterator[Number]:
    """Yield a year that stands in a date, which may be asked for by itself."""
    if run[2] in YEARS:
        yield Number(run[2], str(run[2]), "", "", 0, claimed=True, around=frozenset())


def _around(tokens: Sequence[str], run: _Run, language: str) -> frozenset[str]:
    near = []
    for index in range(run[0] - 1, max(-1, run[0] - 1 - CONTEXT), -1):
        if tokens[index] in _STOPS:
            break
        near.append(tokens[index])
    for index in range(run[1], min(len(tokens), run[1] + CONTEXT)):
        if tokens[index] in _STOPS:
            break
        near.append(tokens[index])
    return _stems(near, language)


def _stems(tokens: Sequence[str], language: str) -> frozenset[str]:
    return frozenset(
        words.stem(part, language)
        for token in tokens
        for part in {token, *token.split("-")}
        if part and token not in stop_words.WORDS and token[0].isalpha() and value(token) is None
    )


def _content(tokens: Sequence[str], terms: _Calendar, language: str) -> frozenset[str]:
    told = [
        token
        for token in tokens
        if not (token in terms.months or token in terms.weekdays or token in terms.units)
    ]
    return _stems(told, language)


def _dates(
    tokens: Sequence[str], found: Sequence[_Run], terms: _Calendar
) -> tuple[set[tuple[int, int]], set[int]]:
    """Find days beside a month; return them, and the first tokens of their numbers."""
    dated, used, months = set[tuple[int, int]](), set[int](), set[int]()
    for start, end, total in found:
        if total in YEARS and start and tokens[start - 1] in terms.months:
            used.add(start)
        if not 1 <= total <= MOST_DAYS or total != int(total):
            continue
        after = _unbroken(tokens[end : end + _NEAR], ".")
        before = _unbroken(tokens[max(0, start - _NEAR) : start][::-1], "")
        places = [end + n for n in range(len(after))]
        if tokens[start][0].isdigit():
            places += [start - 1 - n for n in range(len(before))]
        for index in places:
            if tokens[index] in terms.months and index not in months:
                dated.add((terms.months[tokens[index]], int(total)))
                used.add(start)
                months.add(index)
                break
    return dated, used


def _unbroken(tokens: Sequence[str], but: str) -> list[str]:
    """Return the tokens up to a sign that parts them, but one."""
    return list(takewhile(lambda token: token not in _BREAKS or token == but, tokens))


def _times(
    text: str,
    tokens: Sequence[str],
    dated: set[tuple[int, int]],
    ordinals: frozenset[int],
    terms: _Calendar,
    found: Sequence[_Run],
) -> Times:
    dated |= {(int(month), int(day)) for _, month, day in _ISO.findall(text)}
    for first, second, _ in _SHORT_DATE.findall(text):
        for day, month in ((first, second), (second, first)):
            if 1 <= int(month) <= 12 and 1 <= int(day) <= MOST_DAYS:
                dated.add((int(month), int(day)))
    plain = " ".join(tokens)
    offsets = {offset for pattern, offset in terms.relative if pattern.search(plain)}
    named = {
        terms.months[token]
        for token in tokens
        if token in terms.months and len(token) > _LEAST_LETTERS
    }
    return Times(
        frozenset(dated),
        ordinals,
        frozenset({month for month, _ in dated} | named),
        frozenset(terms.weekdays[token] for token in tokens if token in terms.weekdays),
        frozenset(
            terms.weekdays[token]
            for token in tokens
            if token in terms.weekdays and len(token) >= _FULL_LETTERS
        ),
        frozenset(offsets),
        frozenset(_spans(tokens, found, terms)),
    )


def _spans(tokens: Sequence[str], found: Sequence[_Run], terms: _Calendar) -> Iterator[int]:
    """Yield the days of each span of time that a text names: "in three weeks", "a week later"."""
    for index, token in enumerate(tokens):
        if (days := terms.units.get(token, 0)) >= 1:
            counted = [total for _, end, total in found if 0 <= index - end < _NEAR]
            yield int(days * (counted[-1] if counted and counted[-1] < 400 else 1))


def days_of(times: Times, at: datetime) -> set[date]:
    """Return the days that a message means by its words of time."""
    today = at.date()
    days = {day for month, n in times.dated for day in near(today, month, n)}
    days |= {
        day
        for n in times.ordinals
        for month in _months_around(today)
        for day in near(today, month, n)
    }
    for weekday in times.weekdays:
        days |= {
            today + timedelta(n)
            for n in range(-7, 15)
            if (today + timedelta(n)).weekday() == weekday
        }
    for first, last in times.offsets:
        days |= {today + timedelta(n) for n in range(first, last + 1)}
    return days


def joined(parts: Sequence[Times]) -> Times:
    """Join the times of several parts of a text."""
    return Times(
        *(
            frozenset().union(*(getattr(part, field) for part in parts))
            for field in Times.__struct_fields__
        )
    )


def days_by_span(times: Times, days: set[date]) -> set[date]:
    """Return the days that follow from some by the spans of time that a message names."""
    return {
        day + timedelta(sign * ahead)
        for span in times.spans
        for day in days
        for ahead in _slack(span)
        for sign in (1, -1)
    }


def today_of(at: datetime) -> set[date]:
    """Return the day of a message: deep in the night also the one before."""
    today = at.date()
    return {today, today - timedelta(1)} if at.hour < _EARLY else {today}


def near(today: date, month: int, day: int) -> set[date]:
    """Return a day of the year in the years around today."""
    found = set()
    for year in (today.year - 1, today.year, today.year + 1):
        try:
            found.add(date(year, month, day))
        except ValueError:
            continue
    return found


def _months_around(today: date) -> set[int]:
    return {(today.month + n - 1) % 12 + 1 for n in (-1, 0, 1)}


def around(today: date) -> tuple[date, date, date]:
    """Return a day, and one of the month before it and of the month behind."""
    return today - timedelta(30), today, today + timedelta(30)


def _slack(days: int) -> range:
    """Return the days that a span may mean: the longer, the less exactly."""
    slack = 0 if days < 7 else 3 if days < 28 else 15
    return range(max(1, days - slack), days + slack + 1) if days < _SPAN_LIMIT else range(0)


def is_value(word: str) -> bool:
    """Whether a word is a number, a month or a weekday."""
    plain, terms = words.folded(word), _calendar(words.DEFAULT_LANGUAGE)
    return (
        any(char.isdigit() for char in plain)
        or plain in terms.months
        or plain in terms.weekdays
        or value(plain) is not None
    )


def value(word: str) -> Decimal | None:
    """Return the number a word stands for, in digits, as a word or as an ordinal; None: none.

    Args:
        word: Folded.
    """
    found = _value(word)
    if found is None and (stem := _ORDINAL_ENDING.sub("", word)) != word:
        found = _value(stem) if len(stem) > 2 else None
    for large in ("tausend", "hundert"):  # dreihundertzwanzig
        before, joint, behind = word.partition(large)
        if found is None and joint and (before or behind):
            times, more = (value(part) if part else None for part in (before, behind))
            if (times is None) == (not before) and (more is None) == (not behind):
                found = (times or Decimal(1)) * _OF_WORD[large] + (more or Decimal(0))
    if found is None and word.startswith(_SPANISH) and _OF_WORD.get(word[len(_SPANISH) :], 10) < 10:
        found = Decimal(20 + _OF_WORD[word[len(_SPANISH) :]])
    if found is None and (joined := _GERMAN.fullmatch(word)):
        unit, tens = (_OF_WORD.get(part, 0) for part in joined.groups())
        found = Decimal(tens + unit) if unit < 10 and tens in _TENS else None
    return found


def _value(word: str) -> Decimal | None:
    """Return the number a word stands for: its digits, or what it says."""
    if digits := _DIGITS.match(word):
        plain = _THOUSANDS.sub("", digits[0]).replace(",", ".")
        return Decimal(plain if plain.count(".") <= 1 else plain.replace(".", ""))
    if word in _OF_WORD:
        return Decimal(_OF_WORD[word])
    tens, joint, unit = word.partition("-")
    if joint and _OF_WORD.get(tens) in _TENS and _OF_WORD.get(unit, 10) < 10:
        return Decimal(_OF_WORD[tens] + _OF_WORD[unit])
    return None
