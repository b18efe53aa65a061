"""Numbers and times in a text: what each counts, beside which words it stands, which days it means.

A message's own time says what "Monday", "yesterday" and "the 8th" mean in it. Words for months,
weekdays, units and days beside today are those of `dateparser`, read as they lie in that package:
its import takes longer than a look at a sentence. All words are compared folded.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache, lru_cache
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise, takewhile
from typing import Any, Literal

from dateutil.relativedelta import relativedelta
from msgspec import Struct

from bumble import patterns
from bumble.guard import clock, number_words
from bumble.guard.clock import Clock
from bumble.guard.number_words import Run, value
from bumble.text import languages, stop_words, words

Kind = Literal["", "thing", "time", "money", "clock"]

_GROUPED = patterns.compile(r"(?<=\d)[ \u00a0\u202f'’](?=\d{3}(?!\d))")  # 3 200, 3'200
_LISTED = patterns.compile(  # three and more; "1,234,567" and "12,34,567" are one
    r"(?<![\d.])(?<!\d,)(?!(?:\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d\d)+,\d{3})(?![\d,]))\d+(?:,\d+){2,}(?![\d,]*\.\d)"
)
_LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl")  # read beside the text's own
MONTH_NAMES = tuple(month.casefold() for month in calendar.month_name[1:])
_WEEKDAY_NAMES = tuple(day.casefold() for day in calendar.day_name)
_DECADES = (
    "decade decades jahrzehnt jahrzehnte jahrzehnten decada decadas decennie decennies decennio"
)
# In the languages of which `dateparser` lacks it.
_AFTER_TOMORROW = (
    *("pasado mañana", "depois de amanhã", "dopodomani", "pojutrze", "i övermorgon"),
    *("öbür gün", "모레"),
)
# Likewise, by its names.
_LACKING = {
    "ar": """in: بعد; week: أسابيع; month: أشهر, شهور; 0 day ago: الليلة, النهارده;
in 1 day: غد, بكرة, بكره; in 2 day: بعد غد, بعد الغد, بعد بكرة, بعد بكره;
in 1 week: الأسبوع المقبل; tuesday: ثلاثاء; wednesday: أربعاء; thursday: خميس;
friday: جمعة; saturday: سبت; skip: لو, سمحت, سمحتي, من, فضلك, رجاء""",
    "en": "thursday: thur, thurs; in 1 day: tmrw, tmr",
    "ja": """monday: 月曜; tuesday: 火曜; wednesday: 水曜; thursday: 木曜; friday: 金曜;
saturday: 土曜; sunday: 日曜""",
    "hi": """hour: घंटों, घण्टे, घण्टा; week: हफ़्ता, हफ़्ते, हफ़्तों; day: दिनों, रोज़;
in 1 week: अगले हफ़्ते, अगले सप्ताह; 0 week ago: इस हफ़्ते; sunday: इतवार;
thursday: बृहस्पतिवार, गुरूवार, वीरवार; skip: पर, तारीख़, कृपया, प्लीज़""",
    "hr": """am: ujutro, jutro, prijepodne; pm: popodne, poslijepodne, navečer, večeras;
wednesday: srijedu; saturday: subotu; sunday: nedjelju; hour: sata; week: tjedna, tjedana;
day: dana; skip: u, oko""",
    "pl": """monday: poniedziałku; tuesday: wtorku; wednesday: środy, środzie;
thursday: czwartku; friday: piątku; saturday: soboty, sobocie; sunday: niedzieli""",
    "ru": """monday: понедельника, понедельнику; tuesday: вторника, вторнику;
wednesday: среды, среде; thursday: четверга, четвергу; friday: пятницы, пятнице;
saturday: субботы, субботе; sunday: воскресенья, воскресенью""",
    "uk": """monday: понеділка; tuesday: вівторка; wednesday: середи, середі;
thursday: четверга; saturday: суботи, суботі; sunday: неділі""",
}
_EITHER_WAY = {"कल": (-1, 1), "परसों": (-2, 2)}  # days from now: before, or after it
_MORNING = patterns.compile(r"\bla\W{1,3}manana\b")  # of Spanish: it is no "mañana"
_AHEAD = frozenset(("fra", "daqui", "dentro", "within"))  # likewise, before a span from now
UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365, "hour": 1 / 24, "minute": 1 / 1440}
_LEADING = 20  # of a language's words, the commonest: "på", "u", "pe"
_FULL_LETTERS = 5  # of a weekday's name that is no abbreviation
_LEAST_LETTERS = 3  # of the name of a month or weekday that is read as one without a day
_RELATIVE = patterns.compile(r"(?:in )?(\d) (day|week|month|year)(?: ago)?")
CURRENCIES = patterns.compile(
    r"(?:€|\$|£|¥|₹|rupees?|rs|inr|euros?|eur|dollars?|usd|bucks|pounds?|gbp|reais|quid|francs?|franken?|chf|pfund|kr|cents?|pence)"
)
_WORD = rf"[^\W\d_]+(?:[{stop_words.MARKS}]+[^\W\d_]*)*"
_TOKEN = patterns.compile(
    r"[€$£¥₹%]|\d{1,2}[:hu]\d\d\b|\d+(?:[.,]\d+)*|[^\W\d_]{1,2}['’](?=[^\W\d_]{3})"
    rf"|{_WORD}(?:['’\-]{_WORD})*|[.!?…\n,;:()–—]"
)
_LETTERS = patterns.compile(rf"{_WORD}(?:['’\-]{_WORD})*")
_STOPS = frozenset(".!?…\n")
_BREAKS = _STOPS | frozenset(",;:()–—")
_ENDING = r"(?:st|nd|rd|th|ste|t[ae][nrsm]?|de|[eè]me|er|re|e|[ºª])"
_ELIDED = patterns.compile(r"\b(\w*(?:ant|ent))['’](?=ann[io]\b|euro\b|ore\b|altri\b)", re.I)
_ENDINGS = patterns.compile(rf"\b(\d{{1,2}}){_ENDING}(?!\w)")
_HALF_OF_DAY = patterns.compile(r"(?<=\d|\s)([ap])\.\s?m\b\.?", re.IGNORECASE)
_OCLOCK = patterns.compile(r"\bo['’ ] ?clock\b", re.IGNORECASE)
_FULL_DATE = patterns.compile(r"\b\d{1,2}[./]\d{1,2}[./](\d{4})\b")  # the year stays a number
_SHORT_YEAR_DATE = patterns.compile(  # likewise, but for the one that `with_days` writes
    r"\b(?:0?[1-9]|[12]\d|3[01])[./](?:0?[1-9]|1[0-2])[./](?:00|(\d\d))\b"
)
_ISO = patterns.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")
_SHORT_DATE = patterns.compile(
    r"\b(\d{1,2})(?:[./](\d{1,2})[./](?:\d{4}|\d{2})\b|\.(\d{1,2})\.(?=\s*[^\W\d])|/(\d{1,2})\b(?!/))"
)
_DECIMAL = patterns.compile(r"\b(\d{1,2})\.(\d{1,2})\b(?![.:]?\d)")  # 7.3 may be a day, too
_ORDINAL = patterns.compile(  # a day without its month: "the 8th", "le 8"
    rf"\b(\d{{1,2}}){_ENDING}(?!\w)"
    r"|\b(?:le|el|il|dia|día|o|au|al|du|del|dal) (\d{1,2})\b"
    r"(?!\s*(?:[€$£%]|[:.,]\d|h\b|hr?s\b|horas?\b|d(?:a|e la) (?:manh|mañ|tard|no[ic]|madr)))",
    re.IGNORECASE,
)
_MONTHS = [name for row in words.MONTHS for name in row.split() if name != "sept"]  # dix-sept
_PART_OF_MONTH = patterns.compile(
    rf"-(?=(?:{'|'.join(_MONTHS)}|märz)\b)", re.IGNORECASE
)  # mid-November
_ARTICLES_OF_DAYS = ("fr", "es", "it", "pt")  # "o 8" is an hour in Polish
_UNSPACED_DAY = patterns.compile(  # but "3日かかった", "3号楼"
    r"(?<![\d月])(\d{1,2})"
    r"(?= ?(?:日 ?(?:[はにのでがも、。,.]|\Z)|[号號](?! ?[楼樓线線电電码碼房店机機球])))"
)
_LEAST_UNSPACED = patterns.compile(r"[\u0e00-\u0e7f]{4}|[^\u0e00-\u0e7f]{2}")  # signs of a word
_DAY_DOT = patterns.compile(  # "am 8.", "8. Mai": the full stop ends no sentence
    r"\b((?:am|der|den|dem|de|dr|em|vom|zum|bis|ab|seit)\s+\d{1,2})\.(?!\d)"
    rf"|\b(\d{{1,2}})\.(?=\s*(?:{'|'.join(' '.join(words.MONTHS).split())}|märz)\b)",
    re.IGNORECASE,
)
_DAY_AND_MONTH = patterns.compile(  # "am 26.6.", "Fr 26.6. um 9 Uhr": likewise
    r"\b(?:am|der|den|dem|vom|zum|bis|ab|seit)\s+\d{1,2}\.\d{1,2}\.(?!\d)"
    r"|(?<!um )\b\d{1,2}\.(?:0?[1-9]|1[0-2])\.(?=,?\s+(?:um\s+)?\d{1,2}(?:[.:]\d\d)?\s+uhr\b)",
    re.IGNORECASE,
)
YEARS = range(1800, 2200)
YEAR_DAYS = 365
MOST_DAYS = 31
_BEFORE_DAYS = (
    "on in before after by am vor nach seit le avant apres el antes il em op den på voor na"
)
_BEFORE_DAY = frozenset(_BEFORE_DAYS.split())
_WEEKENDS = frozenset(["weekend", "week-end", "wochenende", "helgen", "weekendu"])
_NEAR = 2  # words from a day to the month behind it: "21 de junio"
_EARLY = 5  # until this hour "today" may be the day before
_SAME_TIME = Decimal("0.0001")  # days
_HOURS = 24  # of a day
_HOURS_WRITTEN = patterns.compile(r"\d[hu]\d\d")  # 14h30 is an hour of the day
_KILOMETRES = 100  # hardly anybody runs more
_HUNDREDTHS = range(10, 100)
_SMALL = 12  # from thirteen on, words for numbers are nothing else
_DECIMAL_UNITS = patterns.compile(
    rf"{CURRENCIES.pattern}|m|kg|(?:met|mèt)(?:er|re|ro|ros|res|ri)|kilos?"
)
_UNIT = patterns.compile(rf"{_DECIMAL_UNITS.pattern}|g|cl|ml|km|cm|mm|h|min|l")
PERCENT = "%"
_PERCENT = patterns.compile(r"%|p(?:er|ro)[ -]?[cz]ent|pour cent|por c[ie]+nto|per cento")
_JOINTS = {"nl": "en", "es": "con"}  # of two units: "twaalf euro en vijftig cent"
_HOURS_OF_DAY = range(1, 10)  # "an hour, 8 people" is no time
_MINUTES = 60
_PARTS_OF = {  # of a unit, by its days: how many smaller ones it has, their days, their name
    UNIT_DAYS["hour"]: (_MINUTES, UNIT_DAYS["minute"], "minutes"),
    UNIT_DAYS["day"]: (24, UNIT_DAYS["hour"], "hours"),
    UNIT_DAYS["week"]: (7, UNIT_DAYS["day"], "days"),
    UNIT_DAYS["year"]: (12, UNIT_DAYS["month"], "months"),
}
_NIGHTS = "night nights nacht nachte nachten nuit nuits noche noches notte notti noite"
# Units of time that `dateparser` lacks, and how many days each is.
_FURTHER_UNITS = {
    **dict.fromkeys(_NIGHTS.split(), 1.0),
    **dict.fromkeys(_DECADES.split(), 10.0 * YEAR_DAYS),
    "fortnight": 14,
    "fortnights": 14,
    "ساعتين": 2 / 24,
    "دقيقتين": 2 / 1440,
    "يومين": 2,
    "اسبوعين": 14,
    "شهرين": 60,
}
SPAN_LIMIT = 200  # days of a span from which a day may follow


class Number(Struct, frozen=True):
    """A number in a text."""

    value: Decimal
    word: str
    kind: Kind  # what it counts; empty: nothing stands behind it
    unit: str  # stem of what it counts
    unit_days: float  # of a unit of time
    ordinal: bool  # a word such as "third"
    claimed: bool  # whether it says an amount, and is no article or figure of speech
    hours: frozenset[Decimal] = frozenset()  # which times of day it may be, up to noon
    alone: bool = False  # a word that may be no number, with nothing that it counts behind it

    def equals(self, other: Number) -> bool:
        """Whether two say the same, a time of day in whatever form."""
        mine, theirs = (one.value * Decimal(one.unit_days) for one in (self, other))
        if mine and theirs:
            return abs(mine - theirs) < _SAME_TIME
        if "clock" in (self.kind, other.kind):
            days = mine or theirs  # "1h52" may be a span, too
            written = days and any(_HOURS_WRITTEN.fullmatch(one) for one in (self.word, other.word))
            spans = [hour / _HOURS for hour in self.hours | other.hours if written and hour % 1]
            return bool(self.hours & other.hours) or any(
                abs(span - days) < _SAME_TIME for span in spans
            )
        in_words = [one.value % 1 and one.word.isalnum() for one in (self, other)]
        if any(in_words) and not all(in_words) and self.hours & other.hours:
            return True  # "alle 10 e mezza", "alle 10.30"
        small, large = sorted((self, other), key=lambda one: one.value)
        return small.value == large.value or (  # "ran 8.2k": kilometres
            small.value < _KILOMETRES
            and (not small.kind or small.unit.startswith("kilom"))
            and large.value == 1000 * small.value
            and large.word.replace(",", ".") == str(small.value)
            and large.kind != "money"
        )


class Times(Struct, frozen=True):
    """What times a text names by itself."""

    dated: frozenset[tuple[int, int]] = frozenset()  # month and day
    ordinals: frozenset[int] = frozenset()  # days without a month
    months: frozenset[int] = frozenset()
    full_months: frozenset[int] = frozenset()  # those whose names can be nothing else
    weekdays: frozenset[int] = frozenset()  # Monday is 0
    full_weekdays: frozenset[int] = frozenset()  # those whose names stand there in full
    offsets: frozenset[tuple[int, int]] = frozenset()  # days from now: first and last
    spans: frozenset[int] = frozenset()  # days: "in three weeks"
    next_week: bool = False  # whether a week stands beside a weekday: "friday week"
    perhaps: frozenset[tuple[int, int]] = frozenset()  # what a decimal is, if it is a day

    @property
    def days_of_month(self) -> set[int]:
        """The days, of whatever month."""
        return {*self.ordinals, *(day for _, day in self.dated)}

    @property
    def are_there(self) -> bool:
        """Whether any day is named."""
        return bool(self.dated or self.ordinals or self.weekdays or self.offsets)


class ReadText(Struct, frozen=True):
    """A text, read for its numbers and times."""

    numbers: tuple[Number, ...]
    times: Times
    content: frozenset[str]  # stems of its telling words, names among them, without values


class Calendar(Struct, frozen=True):
    """The words of time of some languages."""

    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    full: frozenset[str]  # names of both in the language itself, as written, that are no short form
    month_first: bool  # whether a day may stand behind its month
    units: Mapping[str, float]  # days of each
    relative: Mapping[str, tuple[int, int]]  # days from now, first and last, by the words for them
    relative_words: re.Pattern[str]  # the longest first: what another covers isn't meant itself


@cache
def calendar_words(language: str) -> Calendar:
    """Return the words of time of a language, and of those that are read beside it."""
    months: dict[str, int] = {}
    weekdays = {"sonnabend": 5, "sonnabends": 5}
    units = dict(_FURTHER_UNITS)
    relative = dict.fromkeys(map(words.folded, _AFTER_TOMORROW), (2, 2))
    for code in dict.fromkeys((*_LANGUAGES, language)):
        info = time_words(code)
        _named(info, MONTH_NAMES, months, code, language)
        _named(info, _WEEKDAY_NAMES, weekdays, code, language)
        for name, days in UNIT_DAYS.items():
            units |= {
                words.folded(word): days
                for word in info.get(name, ())
                if len(word) > 1 and (code == language or not number_words.is_own(word, language))
            }
        for said, told in info.get("relative-type", {}).items():
            if found := _RELATIVE.fullmatch(said):
                first, last = _offset(said, *found.groups())
                if last - first < YEAR_DAYS:
                    relative |= {words.folded(one): (first, last) for one in told}
    relative |= {words.folded(one): days for one, days in _EITHER_WAY.items()}
    own = time_words(language)
    is_month_first = str(own.get("date_order") or "").startswith(("M", "Y"))
    phrases = "|".join(map(re.escape, sorted(relative, key=len, reverse=True)))
    pattern = re.compile(rf"\b(?:{phrases})(?![\w{stop_words.MARKS}])")
    return Calendar(months, weekdays, _full(own), is_month_first, units, relative, pattern)


def _full(info: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of months and weekdays that say by their form what they are.

    A short one may be another word: "quarta" for "quarta-feira" is a fourth, "mar" a sea.
    """
    rows = [info.get(name, ()) for name in (*MONTH_NAMES, *_WEEKDAY_NAMES)]
    return frozenset(
        word.casefold()
        for row in rows
        for word in row
        if len(word) >= _LEAST_LETTERS
        and not any(_is_short_for(word.casefold(), other.casefold()) for other in row)
    )


def _is_short_for(word: str, other: str) -> bool:
    is_abbreviation = len(word) == _LEAST_LETTERS and len(other) > len(word)
    return other.startswith(word if is_abbreviation else f"{word}-")


@cache
def time_words(code: str) -> Mapping[str, Any]:
    """Return what `dateparser` knows of a language; nothing of one that it does not read."""
    folder = languages.package_folder("dateparser") / "data" / "date_translation_data"
    file = folder / f"{code}.py"
    spec = spec_from_file_location(f"dates_{code}", file)
    if not file.is_file() or spec is None or spec.loader is None:
        return {}
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    info: dict[str, Any] = {
        **module.info,
        "relative-type": {**module.info.get("relative-type", {})},
    }
    for name, told in re.findall(r"(\w[\w ]*): ([^;]+)", _LACKING.get(code, "")):
        into = info["relative-type"] if " " in name else info
        into[name] = [*into.get(name, ()), *told.split(", ")]
    return info


@cache
def _unspaced_times() -> re.Pattern[str]:
    """Return what finds days and spans where no space parts them from words: 明日は, 내일은."""
    rows = [
        names
        for info in map(time_words, ("ja", "zh", "ko", "th"))
        for names in (
            *(info.get(day, ()) for day in _WEEKDAY_NAMES),
            *(told for said, told in info.get("relative-type", {}).items() if said[0] in "0123i"),
        )
    ]
    found = {name.strip("()") for names in rows for name in names}
    longest_first = sorted(filter(_LEAST_UNSPACED.match, found), key=len, reverse=True)
    return re.compile(rf"(?<![가-힣])(?:{'|'.join(longest_first)})(?![香天气氣])")  # 明日香, 今天气


@cache
def skipped(language: str) -> frozenset[str]:
    """Return the words that a time may have and that say nothing of it, folded."""
    return frozenset(map(words.folded, time_words(language).get("skip", ())))


@cache
def ahead_words(language: str) -> frozenset[str]:
    """Return the words that lead to a span from now: "in", "dans", "dentro"; folded."""
    info = time_words(language)
    told = info.get("relative-type-regex", {})
    spans = [span.split()[0] for name in told if name.startswith("in ") for span in told[name]]
    said = {words.folded(one) for one in (*spans, *info.get("in", ())) if _LETTERS.fullmatch(one)}
    at = {"u"} if language == "hr" else set[str]()  # "u 2 sata" is at two
    return frozenset(said | _AHEAD) - at


def _named(
    info: Mapping[str, Any], names: Sequence[str], into: dict[str, int], code: str, language: str
) -> None:
    start = 1 if names is MONTH_NAMES else 0
    for place, name in enumerate(names, start):
        for word in map(words.folded, info.get(name, ())):
            is_number = value(word, language) is not None
            if is_number and (code != language or number_words.is_own(word, language)):
                continue  # "sept" is seven in French; "dez" is ten, but no word of German's
            if code != language and number_words.is_own(word, language):
                continue  # "don" is Thursday in Dutch
            least = _LEAST_LETTERS if word < "\u0900" else 2  # letters that are syllables or words
            if len(word) >= least and word not in stop_words.WORDS:
                into.setdefault(word, place)
            if len(word) >= _FULL_LETTERS:
                into.setdefault(f"{word}s", place)  # on Sundays, sonntags


def _offset(said: str, count: str, unit: str) -> tuple[int, int]:
    days = int(count) * int(UNIT_DAYS[unit]) * (-1 if said.endswith("ago") else 1)
    slack = 0 if unit == "day" else int(UNIT_DAYS[unit]) - 1
    return days - slack, days + slack


@lru_cache(maxsize=4096)
def read(text: str, language: str) -> ReadText:
    """Read a text for its numbers and times.

    Args:
        text: Any.
        language: It is in, `de`.
    """
    terms = calendar_words(language)
    text = with_days(text)
    said = _tokens(text)
    tokens = [_folded(token, terms) for token in said]
    small = {token for token, form in zip(tokens, said, strict=True) if form.islower()}
    found = _joined(tokens, number_words.runs(tokens, language, small), terms, language)
    named = (
        int(ending or article)
        for ending, article in _ORDINAL.findall(text)
        if ending or language in _ARTICLES_OF_DAYS
    )
    ordinals = frozenset(day for day in named if day <= MOST_DAYS)
    clocks = {run.start: clock.read(tokens, run, language, found) for run in found}
    for run in found:  # "16 til 2 dec" names a day
        behind = [*tokens[run.end : run.end + 2], "", ""]
        is_day = tokens[run.start].isdecimal() and behind[0] in terms.months
        if is_day and clocks[run.start].used and not behind[1].isdecimal():
            clocks[run.start] = clock.Clock()
    minutes = {place for one in clocks.values() for place in one.used}
    found = [run for run in found if run.start not in minutes]
    shares = {run.start for before, run in pairwise(found) if _is_share(tokens, before, run)}
    found = [run for run in found if run.start not in shares]
    days = [run for run in found if not clocks[run.start].is_sure]
    dated, used = _dates(tokens, days, terms, language)
    numbers = [
        _number(tokens, run, clocks[run.start], terms, language)
        for run in found
        if run.start not in used
    ]
    numbers += [
        _noon(tokens, n, language, found) for n, one in enumerate(tokens) if one in clock.NOONS
    ]
    ordinals |= {
        int(run.value)
        for run in days
        if run.start
        and tokens[run.start - 1] in terms.weekdays
        and run.value in range(1, MOST_DAYS + 1)  # "torsdag 10.40" is an hour
        and not number_words.is_loose(tokens[run.start], run.value)  # "lundi à 8h"
    }
    times = _times(text, tokens, dated, ordinals, terms, found, _full_tokens(said, terms, language))
    return ReadText(tuple(numbers), times, _content(tokens, terms, language))


def _is_share(tokens: Sequence[str], before: Run, run: Run) -> bool:
    """Whether a number is the hundred of one before it: "28 per cento"."""
    return _PERCENT.fullmatch(" ".join(tokens[before.end : run.end])) is not None


def _folded(token: str, terms: Calendar) -> str:
    """Return a word folded; a month without what stands behind its apostrophe: Mart'ta."""
    folded = words.folded(token)
    bare = folded.split("'")[0]
    return bare if bare in terms.months else folded


def _joined(
    tokens: Sequence[str], found: Iterable[Run], terms: Calendar, language: str
) -> list[Run]:
    """Join numbers of two units: "eight pound sixty", "2 Meter 40", "two hours and ten minutes"."""
    joined, joints = list[Run](), {*number_words.JOINTS, own := _JOINTS.get(language)}
    for run in found:
        last = joined[-1] if joined else run
        between = [one for one in tokens[last.end : run.start] if one not in joints]
        unit = between[0] if len(between) == 1 and last.value % 1 == 0 else ""
        if not unit.isalpha() and number_words.is_loose(tokens[last.start], last.value):
            unit = ""  # "a £30 tab"
        behind = next(iter(tokens[run.end : run.end + 1]), "")
        times, smaller, name = _PARTS_OF.get(terms.units.get(unit, 0), (0, 0, ""))
        is_bare = run.start - last.end == 1 and behind not in terms.units and run.value < times
        counts = own in tokens[last.end : run.start] and behind and behind not in _BREAKS
        if counts and not CURRENCIES.fullmatch(behind):
            unit = ""  # "20 euro en 30 boeken"
        if run.value in _HUNDREDTHS and _DECIMAL_UNITS.fullmatch(unit):
            joined[-1] = Run(last.start, run.end, last.value + run.value / 100, unit)
        elif times and terms.units.get(behind) == smaller:
            joined[-1] = Run(last.start, run.end, last.value * times + run.value)
        elif times == _MINUTES and is_bare and run.value not in _HOURS_OF_DAY:
            joined[-1] = Run(last.start, run.end, last.value * times + run.value, name)
        else:
            joined.append(run)
    return joined


def _tokens(text: str) -> list[str]:
    """Return the words, numbers and stops of a text, as they stand there, without whole dates."""
    dateless = _FULL_DATE.sub(r"\1 ", _ISO.sub(r"\1 ", text))
    return _TOKEN.findall(plain(_SHORT_YEAR_DATE.sub(r"\1 ", dateless)))


def unread(text: str, language: str) -> list[str]:
    """Return the words of a time that name no part of one, as far as is known of its language."""
    terms, info = calendar_words(language), time_words(language)
    line = terms.relative_words.sub(" ", " ".join(map(words.folded, _tokens(with_days(text)))))
    idle = ahead_words(language) | skipped(language)
    idle |= words.common(language, _LEADING)
    ahead = [told for said, told in info.get("relative-type", {}).items() if said[0] in "0i"]
    idle |= {one for told in ahead for phrase in told for one in words.folded(phrase).split()}
    names = (*terms.weekdays, *terms.months)
    return [
        word
        for word in _LETTERS.findall(line)
        if word not in stop_words.WORDS | idle | clock.WORDS
        and word not in terms.units
        and not any(name.startswith(word) for name in names)
        and value(word, language) is None
    ]


def plain(text: str) -> str:
    """Return a text with its thousands written without spaces, and days without endings.

    What commas part that can be no thousands are numbers of their own: "120,60,700".
    """
    text = _LISTED.sub(lambda found: found[0].replace(",", ", "), text)
    text = _OCLOCK.sub("oclock", _PART_OF_MONTH.sub(" ", _HALF_OF_DAY.sub(r"\1m", text)))
    return _GROUPED.sub("", _ENDINGS.sub(r"\1", _ELIDED.sub(_whole, text)))


def _whole(found: re.Match[str]) -> str:
    """Write an elided number of Italian in full: "cinquant'anni"."""
    words_of = (found[1] + end for end in "aio")
    return next((f"{word} " for word in words_of if value(word, "it") is not None), found[0])


def with_days(text: str) -> str:
    """Return a text with days as "8º" for "8.", whose full stop ends no sentence.

    "26.6." is written as days of a year are, which no number is: "26.6.00".
    """
    if not text.isascii():
        text = _unspaced_times().sub(r" \g<0> ", number_words.with_digits(text))
        text = _UNSPACED_DAY.sub(r" \1º ", text)
    text = _DAY_AND_MONTH.sub(r"\g<0>00", text)
    return _DAY_DOT.sub(lambda found: f"{found[1] or found[2]}º", text)


def _number(tokens: Sequence[str], run: Run, at: Clock, terms: Calendar, language: str) -> Number:
    start, end, total = run.start, run.end, run.value
    word = tokens[start]
    before = tokens[start - 1] if start else ""
    behind = [run.unit] if run.unit else list(tokens[end : end + 2])
    kind: Kind = ""
    unit, unit_days = "", 0.0
    timed = next((token for token in behind if token in terms.units), "")
    sign = behind[0] if behind else ""
    if CURRENCIES.fullmatch(before) or CURRENCIES.fullmatch(sign):
        kind = "money"
        unit = words.stem(sign, language) if sign and sign[0].isalpha() else ""
    elif at.is_sure:
        kind = "clock"
    elif timed and (timed == behind[0] or behind[0] not in stop_words.WORDS | _BREAKS):
        kind, unit, unit_days = "time", timed, terms.units[timed]
    elif _PERCENT.match(" ".join(behind)):
        kind, unit = "thing", PERCENT
    elif behind and len(behind[0]) >= _LEAST_LETTERS and _is_noun(behind[0], terms, language):
        kind, unit = "thing", words.stem(behind[0], language)
    single = end - start == 1
    claimed = not (single and number_words.is_loose(word, total))
    # "Acht geben", "du neuf": by itself a small number may be another word.
    is_bare = not kind and total <= _SMALL and bool(behind) and behind[0] not in _BREAKS
    alone = is_bare and number_words.is_cardinal(word, language)
    ordinal = single and number_words.is_ordinal(word, language)
    return Number(total, word, kind, unit, unit_days, ordinal, claimed, at.hours, alone)


def _noon(tokens: Sequence[str], place: int, language: str, found: Sequence[Run]) -> Number:
    run = Run(place, place + 1, Decimal(12))
    hours = clock.read(tokens, run, language, found).hours
    return Number(
        run.value, tokens[place], "clock", "", 0, ordinal=False, claimed=False, hours=hours
    )


def _is_noun(token: str, terms: Calendar, language: str) -> bool:
    return token[0].isalpha() and not (
        token in stop_words.WORDS
        or token in terms.months
        or token in terms.weekdays
        or value(token, language) is not None
        or token in terms.relative
    )


def _content(tokens: Sequence[str], terms: Calendar, language: str) -> frozenset[str]:
    empty = (stop_words.WORDS, terms.months, terms.weekdays, terms.units)
    return frozenset(
        words.stem(part, language)
        for token in tokens
        if token[0].isalpha() and value(token) is None and not any(token in one for one in empty)
        for part in {token, *token.split("-")} - {""}
    )


def _dates(
    tokens: Sequence[str], found: Sequence[Run], terms: Calendar, language: str
) -> tuple[set[tuple[int, int]], set[int]]:
    """Find days beside a month; return them, and the first tokens of their numbers."""
    dated, used, months = set[tuple[int, int]](), set[int](), set[int]()
    beside = list[
        tuple[int, int, int, int]
    ]()  # how far from a month, its place, the day's, the day
    for run in found:
        if (
            not 1 <= run.value <= MOST_DAYS
            or run.value % 1
            or (
                number_words.is_loose(tokens[run.start], run.value)
                and not number_words.is_ordinal(tokens[run.start], language)
            )
            or any(one in terms.units for one in tokens[run.end : run.end + 1])
        ):
            continue
        after = _unbroken(tokens[run.end : run.end + _NEAR], ".")
        before = _unbroken(tokens[max(0, run.start - _NEAR) : run.start][::-1], "")
        places = [(n, run.end + n) for n in range(len(after))]
        if tokens[run.start][0].isdigit() and terms.month_first:  # May 8
            near = len(before) if before[:1] == ["the"] else 1
            places += [(n, run.start - 1 - n) for n in range(min(near, len(before)))]
        beside += [
            (far, at, run.start, int(run.value)) for far, at in places if tokens[at] in terms.months
        ]
    for _, at, start, number in sorted(beside):  # a month belongs to the nearest number
        if at not in months and start not in used:
            dated.add((terms.months[tokens[at]], number))
            used.add(start)
            months.add(at)
    for first, second in pairwise(found):
        joined = second.start in used and first.start not in used and 1 <= first.value <= MOST_DAYS
        if joined and (day := _day_joined(tokens, first, second, terms)):
            dated.add(day)
            used.add(first.start)
    return dated, used


def _day_joined(
    tokens: Sequence[str], first: Run, second: Run, terms: Calendar
) -> tuple[int, int] | None:
    """Return the day of a number just before another that has the month: "from 12 to 19 June"."""
    between = _unbroken(tokens[first.end : second.start], "")
    same_form = tokens[first.start][0].isdigit() == tokens[second.start][0].isdigit()
    if (
        not same_form
        or not _BEFORE_DAY.isdisjoint(between[:1])  # "pitch 9 on 14 May"
        or not 0 < second.start - first.end == len(between) <= _NEAR
        or first.value % 1
    ):
        return None
    behind = tokens[second.start : second.end + _NEAR]
    return next(
        ((terms.months[one], int(first.value)) for one in behind if one in terms.months), None
    )


def _unbroken(tokens: Sequence[str], but: str) -> list[str]:
    """Return the tokens up to a sign that parts them, but one."""
    return list(takewhile(lambda token: token not in _BREAKS or token == but, tokens))


def _full_tokens(said: Sequence[str], terms: Calendar, language: str) -> set[str]:
    """Return the months and weekdays of a text, folded, that can be nothing else.

    English has a march and an august, and writes its months with a capital letter.
    """
    tells = language == words.DEFAULT_LANGUAGE and not all(one == one.lower() for one in said)
    return {
        folded
        for before, token in pairwise((".", *said))
        if terms.full
        & {(plain := token.casefold().replace("’", "'").split("'")[0]), plain.removesuffix("s")}
        and (
            (folded := words.folded(plain)) in terms.weekdays
            or not tells
            or (token[0].isupper() and before not in _STOPS)
        )
    }


def _times(
    text: str,
    tokens: Sequence[str],
    dated: set[tuple[int, int]],
    ordinals: frozenset[int],
    terms: Calendar,
    found: Sequence[Run],
    full: Set[str],
) -> Times:
    dated |= {(int(month), int(day)) for _, month, day in _ISO.findall(text)}
    dated |= {one for first, *more in _SHORT_DATE.findall(text) for one in _either(first, *more)}
    perhaps = {one for pair in _DECIMAL.findall(text) for one in _either(*pair)}
    line = _MORNING.sub("", " ".join(tokens))
    offsets = {terms.relative[one] for one in terms.relative_words.findall(line)}
    named = {terms.months[token] for token in tokens if token in terms.months}
    return Times(
        frozenset(dated),
        ordinals - {day for _, day in dated},
        frozenset({month for month, _ in dated} | named),
        frozenset({month for month, _ in dated} | {terms.months.get(one, 0) for one in full} - {0}),
        frozenset(
            [terms.weekdays[token] for token in tokens if token in terms.weekdays]
            + [day for token in tokens if token in _WEEKENDS for day in (5, 6)]
        ),
        frozenset(terms.weekdays[one] for one in full if one in terms.weekdays),
        frozenset(offsets),
        frozenset(_spans(tokens, found, terms)),
        any(
            {one, other} & terms.weekdays.keys()
            and 7 in (terms.units.get(one), terms.units.get(other))
            for one, other in pairwise(tokens)
        ),
        frozenset(perhaps),
    )


def _either(first: str, *others: str) -> Iterator[tuple[int, int]]:
    """Yield the months and days that two numbers may be, in either order."""
    second = next(filter(None, others))
    for day, month in ((first, second), (second, first)):
        if 1 <= int(month) <= 12 and 1 <= int(day) <= MOST_DAYS:
            yield int(month), int(day)


def _spans(tokens: Sequence[str], found: Sequence[Run], terms: Calendar) -> Iterator[int]:
    """Yield the days of each span of time that a text names: "in three weeks", "a week later"."""
    for index, token in enumerate(tokens):
        if (days := terms.units.get(token, 0)) >= 1:
            counted = [one.value for one in found if 0 <= index - one.end < _NEAR]
            yield int(days) * int(counted[-1] if counted and counted[-1] < 400 else 1)


def days_of(times: Times, at: datetime, *, vaguely: bool = True) -> set[date]:
    """Return the days that a message means by its words of time.

    Args:
        times: Of the message.
        at: When it was said.
        vaguely: Whether each day counts of what means several: "last week".
    """
    today = at.date()
    days = {day for month, n in times.dated | times.perhaps for day in near(today, month, n)}
    days |= {
        day
        for n in times.ordinals
        for month in {one.month for one in around(today)}
        for day in near(today, month, n)
    }
    for weekday in times.weekdays:
        days |= {
            today + timedelta(n)
            for n in range(-7, 15 if times.next_week else 8)
            if (today + timedelta(n)).weekday() == weekday
        }
    for first, last in times.offsets:
        if vaguely or last - first <= 1:  # "last night" is of two days
            days |= {today + timedelta(n) for n in range(first, last + 1)}
    return days


def days_in(text: str, at: datetime) -> set[date]:
    """Return the days that a text means by its words of time: "on Wednesday"."""
    language = words.language(text)
    parts = [read(one, language).times for one in words.sentences(text)]
    return days_of(joined_times(parts), at, vaguely=False)


def joined_times(parts: Sequence[Times]) -> Times:
    """Join the times of several parts of a text."""
    fields = [field for field in Times.__struct_fields__ if field != "next_week"]
    together = {
        field: frozenset().union(*(getattr(part, field) for part in parts)) for field in fields
    }
    return Times(**together, next_week=any(part.next_week for part in parts))


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


def around(today: date) -> tuple[date, date, date]:
    """Return a day, and one of the month before it and of the month behind."""
    return today - relativedelta(months=1), today, today + relativedelta(months=1)


def _slack(days: int) -> range:
    """Return the days that a span may mean: the longer, the less exactly."""
    slack = 0 if days < 7 else 3
    return range(max(1, days - slack), days + slack + 1) if days < SPAN_LIMIT else range(0)


def without(text: str) -> str:
    """Return the words of a text, folded, without its numbers, what they count in, and its days."""
    terms = calendar_words(words.language(text))
    line = terms.relative_words.sub(" ", " ".join(stop_words.words(words.folded(text))))
    idle = {*terms.weekdays, *terms.months}
    return " ".join(
        word
        for word in line.split()
        if not (word in idle or any(char.isdigit() for char in word) or _UNIT.fullmatch(word))
    )


def is_told(word: str, text: str, language: str) -> bool:
    """Whether a word is a number, a currency or a time in its language, and so no name."""
    terms = calendar_words(language)
    return bool(
        any(char.isdigit() for char in word)
        or {word, word.removesuffix("s")} & set(map(words.folded, terms.full))
        or CURRENCIES.fullmatch(word) is not None
        or value(word, language, is_name=True) is not None
        or (word in terms.months and bool(read(text, language).times.dated))
    )


def is_value(word: str) -> bool:
    """Whether a word is a number, a currency, a month or a weekday."""
    plain, terms = words.folded(word), calendar_words(words.DEFAULT_LANGUAGE)
    return (
        any(char.isdigit() for char in plain)
        or plain in terms.months
        or plain in terms.weekdays
        or CURRENCIES.fullmatch(plain) is not None
        or value(plain) is not None
    )
