"""Numbers and times in a text: what each counts, beside which words it stands, which days it means.

A message's own time says what "Monday", "yesterday" and "the 8th" mean in it. Words for months,
weekdays, units and days beside today are those of `dateparser`, read as they lie in that package:
its import takes longer than a look at a sentence. All words are compared folded.
"""

from __future__ import annotations

import calendar
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache, lru_cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from bumble.text import stop_words, words

Kind = Literal["", "thing", "time", "money", "clock"]

# Numbers as words, without accents: from one to twenty, the tens to ninety, a hundred, a thousand.
_CARDINALS = {
    "en": "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
    " hundred thousand",
    "de": "eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn vierzehn"
    " funfzehn sechzehn siebzehn achtzehn neunzehn zwanzig dreissig vierzig funfzig sechzig siebzig"
    " achtzig neunzig hundert tausend",
    "fr": "un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize"
    " dix-sept dix-huit dix-neuf vingt trente quarante cinquante soixante soixante-dix"
    " quatre-vingts quatre-vingt-dix cent mille",
    "es": "uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince"
    " dieciseis diecisiete dieciocho diecinueve veinte treinta cuarenta cincuenta sesenta setenta"
    " ochenta noventa cien mil",
    "it": "uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici"
    " quindici sedici diciassette diciotto diciannove venti trenta quaranta cinquanta sessanta"
    " settanta ottanta novanta cento mille",
    "pt": "um dois tres quatro cinco seis sete oito nove dez onze doze treze quatorze quinze"
    " dezesseis dezessete dezoito dezenove vinte trinta quarenta cinquenta sessenta setenta oitenta"
    " noventa cem mil",
    "nl": "een twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien"
    " zestien zeventien achttien negentien twintig dertig veertig vijftig zestig zeventig tachtig"
    " negentig honderd duizend",
}
_VALUES = (*range(1, 21), *range(30, 100, 10), 100, 1000)
# Other words for small numbers: they support, but claim nothing; nor does a word that its language
# doesn't have, and that looks like a number's: dialect, and what is typed without accents.
_ORDINALS = {
    1: "first erste ersten erster premier premiere primero primera primo prima primeiro eerste",
    2: "second zweite zweiten zweiter deuxieme segundo segunda secondo tweede",
    3: "third dritte dritten dritter drittes troisieme tercero tercera terzo terceiro derde",
}
_OTHERS = {
    1: "a an ein eine einen einem einer una une uma",
    2: "twice both pair couple twins beide beiden zwo paar zwillinge duas dous jumeaux jumelles"
    " gemelos gemelas gemelli gemelle gemeos tweeling",
    3: "thrice triplets drillinge",
    12: "dozen dutzend douzaine docena dozzina duzia dozijn",
    20: "score",
}
# Of languages whose words mean too much elsewhere: they count in texts of their own alone.
_FURTHER = {
    "sv": "ett tva tre fyra fem sex sju atta nio tio elva tolv tretton fjorton femton sexton"
    " sjutton arton nitton tjugo trettio fyrtio femtio sextio sjuttio attio nittio hundra tusen",
    "da": "en to tre fire fem seks syv otte ni ti elleve tolv tretten fjorten femten seksten"
    " sytten atten nitten tyve tredive fyrre halvtreds tres halvfjerds firs halvfems hundrede"
    " tusind",
    "no": "en to tre fire fem seks sju atte ni ti elleve tolv tretten fjorten femten seksten"
    " sytten atten nitten tjue tretti førti femti seksti sytti atti nitti hundre tusen",
    "pl": "jeden dwa trzy cztery piec szesc siedem osiem dziewiec dziesiec jedenascie dwanascie"
    " trzynascie czternascie pietnascie szesnascie siedemnascie osiemnascie dziewietnascie"
    " dwadziescia trzydziesci czterdziesci piecdziesiat szescdziesiat siedemdziesiat"
    " osiemdziesiat dziewiecdziesiat sto tysiac",
    "cs": "jeden dva tri ctyri pet sest sedm osm devet deset jedenact dvanact trinact ctrnact"
    " patnact sestnact sedmnact osmnact devatenact dvacet tricet ctyricet padesat sedesat"
    " sedmdesat osmdesat devadesat sto tisic",
    "ro": "unu doi trei patru cinci sase sapte opt noua zece unsprezece doisprezece treisprezece"
    " paisprezece cincisprezece saisprezece saptesprezece optsprezece nouasprezece douazeci"
    " treizeci patruzeci cincizeci saizeci saptezeci optzeci nouazeci suta mie",
    "fi": "yksi kaksi kolme nelja viisi kuusi seitseman kahdeksan yhdeksan kymmenen yksitoista"
    " kaksitoista kolmetoista neljatoista viisitoista kuusitoista seitsemantoista"
    " kahdeksantoista yhdeksantoista kaksikymmenta kolmekymmenta neljakymmenta viisikymmenta"
    " kuusikymmenta seitsemankymmenta kahdeksankymmenta yhdeksankymmenta sata tuhat",
    "tr": "bir iki uc dort bes altı yedi sekiz dokuz on onbir oniki onuc ondort onbes onaltı"
    " onyedi onsekiz ondokuz yirmi otuz kırk elli altmıs yetmis seksen doksan yuz bin",
    "ru": "один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать"
    " тринадцать четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать"
    " двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто сто тысяча",
}
_OF_LANGUAGE = {
    code: dict(zip(row.split(), _VALUES, strict=True)) for code, row in _CARDINALS.items()
}
_OF_WORD = {word: value for row in _OF_LANGUAGE.values() for word, value in row.items()}
_OF_LANGUAGE |= {
    code: dict(zip(row.split(), _VALUES, strict=True)) for code, row in _FURTHER.items()
}
_OF_LANGUAGE["fr"] |= {"cents": 100, "vingts": 20}
_OF_LANGUAGE["pl"] |= {"dwie": 2, "dwoch": 2, "trzech": 3, "tysiace": 1000, "tysiecy": 1000}
_OF_ORDINAL = {word: value for value, row in _ORDINALS.items() for word in row.split()}
_OF_OTHER = {word: value for value, row in _OTHERS.items() for word in row.split()}
# These mean something else in another language: there they are no numbers.
_FOREIGN = "once elf neuf sept seize dix sieben cent mil mille quince due sei tre um un"
_ELSEWHERE = frozenset(_FOREIGN.split())
_TIMES = re.compile(r"(?<=\w{3})mal")  # dreimal
_JOINED_BY = ("und", "en", "og", "")  # what stands between a unit and a ten
_ORDINAL_ENDING = re.compile(r"(?<=\w)(?:ste[nrsm]?|te[nrsm]?|th)\Z")
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_THOUSANDS = re.compile(r"[.,](?=\d{3}(?!\d))")
_GROUPED = re.compile(r"(?<=\d)[ \u00a0\u202f'’](?=\d{3}(?!\d))")  # 3 200, 3'200
_TENS = range(20, 100, 10)
_LARGE = (100, 1000)
_JOINTS = ("and", "und", "et", "y", "e")

_LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl")  # read beside the text's own
MONTH_NAMES = tuple(month.casefold() for month in calendar.month_name[1:])
_WEEKDAY_NAMES = tuple(day.casefold() for day in calendar.day_name)
UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365, "hour": 1 / 24, "minute": 1 / 1440}
_FULL_LETTERS = 5  # of a weekday's name that is no abbreviation
_LEAST_LETTERS = 3  # of the name of a month or weekday that is read as one without a day
_RELATIVE = re.compile(r"(?:in )?(\d) (day|week|month|year)(?: ago)?")
CURRENCIES = re.compile(
    r"(?:€|\$|£|¥|euros?|eur|dollars?|usd|bucks|pounds?|gbp|quid|francs?|franken?|chf|pfund|kr|cents?|pence)"
)
_PRICE = re.compile(r"\d+[.,]\d\d")
_TOKEN = re.compile(
    r"[€$£¥%]|\d{1,2}[:h]\d\d\b|\d+(?:[.,]\d+)*|[^\W\d_]{1,2}['’](?=[^\W\d_]{3})"
    r"|[^\W\d_]+(?:['’\-][^\W\d_]+)*|[.!?…\n,;:()–—]"
)
_STOPS = frozenset(".!?…\n")
_BREAKS = _STOPS | frozenset(",;:()–—")
_ENDING = r"(?:st|nd|rd|th|ste|de|er|re|e|[ºª])"
_ENDINGS = re.compile(rf"\b(\d{{1,2}}){_ENDING}(?!\w)")
_HOURS = re.compile(r"(\d{1,2})([:h.])([0-5]\d)")
# Parts of a whole, and how they stand beside an hour: "half past eight", "ocho y media".
_HALVES = "half halv halb halbe halber halbes halben demi demie media medio mezza mezzo meia meio"
PARTS = dict.fromkeys(_HALVES.split(), Decimal("0.5")) | dict.fromkeys(
    ("quarter", "viertel", "quart", "cuarto", "quarto", "kwart"), Decimal("0.25")
)
PARTS["dreiviertel"] = Decimal("0.75")
_BEHIND = ("past", "nach", "over", "et", "y", "e", "and", "und", "en")
_BEFORE = ("to", "vor", "moins", "menos", "meno", "voor")
_SIDES = dict.fromkeys(_BEHIND, 1) | dict.fromkeys(_BEFORE, -1)
_OCLOCK = frozenset(["uhr", "pm", "oclock", "o'clock", "h", "heures", "uur"])
_BEFORE_HOUR = frozenset(
    ["de", "nl", "sv", "da", "no"]
)  # languages in which half nine is half past eight
_FULL_DATE = re.compile(r"\b\d{1,2}[./]\d{1,2}[./](\d{4})\b")  # the year stays a number
_ISO = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")
_SHORT_DATE = re.compile(
    r"\b(\d{1,2})(?:[./](\d{1,2})[./](?:\d{4}|\d{2})\b|\.(\d{1,2})\.(?=\s*[^\W\d])|/(\d{1,2})\b(?!/))"
)
_DECIMAL = re.compile(r"\b(\d{1,2})\.(\d{1,2})\b(?![.:]?\d)")  # 7.3 may be a day, too
_ORDINAL = re.compile(  # a day without its month: "the 8th", "le 8"
    rf"\b(\d{{1,2}}){_ENDING}(?!\w)"
    r"|\b(?:le|el|il|dia|día|o|au|al|du|del|dal) (\d{1,2})\b(?!\s*(?:[€$£%]|[:.,]\d))",
    re.IGNORECASE,
)
_DAY_DOT = re.compile(  # "am 8.", "8. Mai": the full stop ends no sentence
    r"\b((?:am|der|den|dem|de|dr|em|vom|zum|bis|ab|seit)\s+\d{1,2})\.(?!\d)"
    rf"|\b(\d{{1,2}})\.(?=\s*(?:{'|'.join(' '.join(words.MONTHS).split())}|märz)\b)",
    re.IGNORECASE,
)
YEARS = range(1800, 2200)
YEAR_DAYS = 365
MOST_DAYS = 31
_NEAR = 2  # words from a day to the month behind it: "21 de junio"
_HALF, _DAY, _MINUTE = Decimal("0.5"), 24, Decimal("0.001")
_MOST_APART = 0.26  # letters of a word's that dialect changes
_EARLY = 5  # until this hour "today" may be the day before
_SPAN_LIMIT = 200  # days of a span from which a day may follow


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

    def equals(self, other: Number) -> bool:
        """Whether two say the same, a time of day in whatever form."""
        if "clock" in (self.kind, other.kind):
            return bool(self.hours & other.hours)
        return self.value == other.value


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
    units: Mapping[str, float]  # days of each
    relative: Sequence[tuple[re.Pattern[str], tuple[int, int]]]


@cache
def calendar_words(language: str) -> Calendar:
    """Return the words of time of a language, and of those that are read beside it."""
    months: dict[str, int] = {}
    weekdays: dict[str, int] = {}
    units: dict[str, float] = {}
    relative: dict[str, tuple[int, int]] = {}
    for code in dict.fromkeys((*_LANGUAGES, language)):
        info = time_words(code)
        _named(info, MONTH_NAMES, months)
        _named(info, _WEEKDAY_NAMES, weekdays)
        for name, days in UNIT_DAYS.items():
            units |= {words.folded(word): days for word in info.get(name, ()) if len(word) > 1}
        units |= {"fortnight": 14, "fortnights": 14}
        for said, told in info.get("relative-type", {}).items():
            if found := _RELATIVE.fullmatch(said):
                relative |= {words.folded(one): _offset(said, *found.groups()) for one in told}
    return Calendar(months, weekdays, units, _patterns(relative))


@cache
def time_words(code: str) -> Mapping[str, Any]:
    """Return what `dateparser` knows of a language; nothing of one that it does not read."""
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
    start = 1 if names is MONTH_NAMES else 0
    for place, name in enumerate(names, start):
        for word in map(words.folded, info.get(name, ())):
            if len(word) >= _LEAST_LETTERS and word not in stop_words.WORDS:
                into.setdefault(word, place)
            if len(word) >= _FULL_LETTERS:
                into.setdefault(f"{word}s", place)  # on Sundays, sonntags


def _offset(said: str, count: str, unit: str) -> tuple[int, int]:
    days = int(count) * int(UNIT_DAYS[unit]) * (-1 if said.endswith("ago") else 1)
    slack = 0 if unit == "day" else int(UNIT_DAYS[unit]) - 1
    return days - slack, days + slack


def _patterns(relative: Mapping[str, tuple[int, int]]) -> list[tuple[re.Pattern[str], Any]]:
    by_offset: dict[tuple[int, int], list[str]] = {}
    for words_, offset in relative.items():
        if offset[1] - offset[0] < UNIT_DAYS["year"]:
            by_offset.setdefault(offset, []).append(re.escape(words_))
    return [
        (re.compile(rf"\b(?:{'|'.join(sorted(told, key=len, reverse=True))})\b"), offset)
        for offset, told in by_offset.items()
    ]


@lru_cache(maxsize=4096)
def read(text: str, language: str) -> ReadText:
    """Read a text for its numbers and times.

    Args:
        text: Any.
        language: It is in, `de`.
    """
    terms = calendar_words(language)
    text = with_days(text)
    dateless = _FULL_DATE.sub(r"\1 ", _ISO.sub(r"\1 ", text))
    tokens = [words.folded(token) for token in _TOKEN.findall(plain(dateless))]
    found = list(_runs(tokens, language))
    dated, used = _dates(tokens, found, terms)
    ordinals = frozenset(int(next(filter(None, match))) for match in _ORDINAL.findall(text))
    numbers = tuple(_number(tokens, run, terms, language) for run in found if run[0] not in used)
    numbers += tuple(number for run in found if run[0] in used for number in _year(run))
    times = _times(text, tokens, dated, ordinals, terms, found)
    return ReadText(numbers, times, _content(tokens, terms, language))


def plain(text: str) -> str:
    """Return a text with its thousands written without spaces, and days without endings."""
    return _GROUPED.sub("", _ENDINGS.sub(r"\1", text))


def with_days(text: str) -> str:
    """Return a text with days as "8º" for "8.", whose full stop ends no sentence."""
    return _DAY_DOT.sub(lambda found: f"{found[1] or found[2]}º", text)


_Run = tuple[int, int, Decimal]  # first token, one behind the last, value


def _runs(tokens: Sequence[str], language: str) -> Iterator[_Run]:
    """Find numbers; those of several words ("four hundred and twenty") as one."""
    index = 0
    while index < len(tokens):
        start, total = index, value(tokens[index], language)
        if total is None:
            total = _dialect(tokens[index], language)
        index += 1
        if total is None:
            continue
        while index < len(tokens):
            joint = tokens[index] in _JOINTS and index + 1 < len(tokens)
            following = value(tokens[index + joint], language)
            word = tokens[index + joint]
            if following is None or word[0].isdigit() or word in _OF_OTHER:
                break
            if following in _LARGE and total < following and not joint:
                total *= following
            elif total >= 20 and total % _step(total) == 0 and following < _step(total):
                total += following
            else:
                break
            index += joint + 1
        index, total = _with_half(tokens, index, total)
        yield start, index, total


def _with_half(tokens: Sequence[str], index: int, total: Decimal) -> tuple[int, Decimal]:
    """Add "and a half" behind a number; return where it ends, and what it is then."""
    behind = [token for token in tokens[index : index + 3] if token not in _OF_OTHER]
    if len(behind) > 1 and behind[0] in _JOINTS and PARTS.get(behind[1]) == _HALF:
        return tokens.index(behind[1], index) + 1, total + _HALF
    if tokens[index : index + 1] in (["k"], ["tsd"]):
        return index + 1, total * 1000
    return index, total


@cache
def _dialect(word: str, language: str) -> Decimal | None:
    """Return the number that a word looks like which its language doesn't have: "fuffzig"."""
    if len(word) < _LEAST_LETTERS or not word.isalpha() or words.is_listed(word, language):
        return None
    if language not in _OF_LANGUAGE:
        return None
    known, word = _OF_LANGUAGE[language] | _OF_ORDINAL, _ORDINAL_ENDING.sub("", word)
    far = {other: _apart(word, other) / len(other) for other in known if other[0] == word[0]}
    nearest = min(far, key=lambda other: far[other], default="")
    return Decimal(known[nearest]) if nearest and far[nearest] <= _MOST_APART else None


def _apart(word: str, other: str) -> float:
    """Return how many letters two words differ by; a vowel counts half, as vowels drift most."""
    costs = [0.0]
    for char in other:
        costs.append(costs[-1] + _weight(char))
    for own in word:
        before, costs = costs, [costs[0] + _weight(own)]
        for n, char in enumerate(other, 1):
            change = 0.0 if own == char else max(_weight(own), _weight(char))
            costs.append(
                min(before[n - 1] + change, before[n] + _weight(own), costs[-1] + _weight(char))
            )
    return costs[-1]


def _weight(char: str) -> float:
    return 0.5 if char in "aeiouy" else 1.0


def _step(total: Decimal) -> int:
    """Return what a number of words counts in: tens, hundreds, thousands."""
    return next((step for step in (1000, 100, 10) if total % step == 0), 1)


def _number(tokens: Sequence[str], run: _Run, terms: Calendar, language: str) -> Number:
    start, end, total = run
    word = tokens[start]
    before = tokens[start - 1] if start else ""
    behind = list(tokens[end : end + 2])
    kind: Kind = ""
    unit, unit_days = "", 0.0
    timed = next((token for token in behind if token in terms.units), "")
    sign = behind[0] if behind else ""
    hours, is_sure = _hours(tokens, run, language)
    if CURRENCIES.fullmatch(before) or CURRENCIES.fullmatch(sign):
        kind = "money"
        unit = words.stem(sign, language) if sign and sign[0].isalpha() else ""
    elif is_sure:
        kind = "clock"
    elif timed and (timed == behind[0] or behind[0] not in stop_words.WORDS | _BREAKS):
        kind, unit, unit_days = "time", timed, terms.units[timed]
    elif behind and len(behind[0]) >= _LEAST_LETTERS and _is_noun(behind[0], terms, language):
        kind, unit = "thing", words.stem(behind[0], language)
    single = end - start == 1
    is_dialect = value(word, language) is None
    ordinal = single and (
        word in _OF_ORDINAL or (_value(word, language) is None and not is_dialect)
    )
    loose = word in _OF_ORDINAL or word in _OF_OTHER or total == 1
    claimed = not (single and loose) or word == "1"
    return Number(total, word, kind, unit, unit_days, ordinal, claimed, hours)


def _hours(tokens: Sequence[str], run: _Run, language: str) -> tuple[frozenset[Decimal], bool]:
    """Return the times of day that a number may be, and whether it surely is one."""
    start, end, total = run
    before, behind = list(tokens[max(0, start - 2) : start]), list(tokens[end : end + 2])
    sign = behind[0] if behind else ""
    is_sure = sign in _OCLOCK or (sign == "am" and language == "en")
    if written := _HOURS.fullmatch(tokens[start]):
        hour = Decimal(written[1]) + Decimal(written[3]) / 60
        return _of_day(hour), is_sure or written[2] != "."
    if total > _DAY or (total != int(total) and end - start == 1):
        return frozenset(), False
    if before and (part := PARTS.get(before[-1])):  # halb neun, half eight, viertel neun
        early = language in _BEFORE_HOUR
        return _of_day(total - (1 - part) if early else total + part), True
    if len(before) > 1 and before[-1] in _SIDES and (part := PARTS.get(before[0])):
        return _of_day(total + _SIDES[before[-1]] * part), True
    if len(behind) > 1 and behind[0] in _SIDES and (part := PARTS.get(behind[1])):
        return _of_day(total + _SIDES[behind[0]] * part), True
    if is_sure and behind[1:] and behind[1].isdigit() and int(behind[1]) < 60:  # 8 Uhr 30
        return _of_day(total + Decimal(behind[1]) / 60), True
    hours = _of_day(total)
    if before and before[-1].isalpha() and not words.is_listed(before[-1], language):
        hours |= _of_day(total + (-_HALF if language in _BEFORE_HOUR else _HALF))  # in dialect
    return hours, is_sure


def _of_day(*hours: Decimal) -> frozenset[Decimal]:
    return frozenset(hour.quantize(_MINUTE) % (_DAY // 2) for hour in hours)


def _is_noun(token: str, terms: Calendar, language: str) -> bool:
    return token[0].isalpha() and not (
        token in stop_words.WORDS
        or token in terms.months
        or token in terms.weekdays
        or value(token, language) is not None
        or any(pattern.fullmatch(token) for pattern, _ in terms.relative)
    )


def _year(run: _Run) -> Iterator[Number]:
    """Yield a year that stands in a date, which may be asked for by itself."""
    if run[2] in YEARS:
        word = str(run[2])
        yield Number(run[2], word, "", "", 0, ordinal=False, claimed=True)


def _stems(tokens: Sequence[str], language: str) -> frozenset[str]:
    return frozenset(
        words.stem(part, language)
        for token in tokens
        for part in {token, *token.split("-")}
        if part and token not in stop_words.WORDS and token[0].isalpha() and value(token) is None
    )


def _content(tokens: Sequence[str], terms: Calendar, language: str) -> frozenset[str]:
    told = [
        token
        for token in tokens
        if not (token in terms.months or token in terms.weekdays or token in terms.units)
    ]
    return _stems(told, language)


def _dates(
    tokens: Sequence[str], found: Sequence[_Run], terms: Calendar
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
    for first, second in pairwise(found):
        joined = second[0] in used and first[0] not in used and 1 <= first[2] <= MOST_DAYS
        if joined and (day := _day_joined(tokens, first, second, terms)):
            dated.add(day)
            used.add(first[0])
    return dated, used


def _day_joined(
    tokens: Sequence[str], first: _Run, second: _Run, terms: Calendar
) -> tuple[int, int] | None:
    """Return the day of a number just before another that has the month: "from 12 to 19 June"."""
    between = _unbroken(tokens[first[1] : second[0]], "")
    same_form = tokens[first[0]][0].isdigit() == tokens[second[0]][0].isdigit()
    if not same_form or not 0 < second[0] - first[1] == len(between) <= _NEAR or first[2] % 1:
        return None
    behind = tokens[second[0] : second[1] + _NEAR]
    return next(((terms.months[one], int(first[2])) for one in behind if one in terms.months), None)


def _unbroken(tokens: Sequence[str], but: str) -> list[str]:
    """Return the tokens up to a sign that parts them, but one."""
    return list(takewhile(lambda token: token not in _BREAKS or token == but, tokens))


def _times(
    text: str,
    tokens: Sequence[str],
    dated: set[tuple[int, int]],
    ordinals: frozenset[int],
    terms: Calendar,
    found: Sequence[_Run],
) -> Times:
    dated |= {(int(month), int(day)) for _, month, day in _ISO.findall(text)}
    dated |= {one for first, *more in _SHORT_DATE.findall(text) for one in _either(first, *more)}
    perhaps = {one for pair in _DECIMAL.findall(text) for one in _either(*pair)}
    line = " ".join(tokens)
    offsets = {offset for pattern, offset in terms.relative if pattern.search(line)}
    named = {terms.months[token] for token in tokens if token in terms.months}
    full = {terms.months.get(token, 0) for token in tokens if len(token) > _LEAST_LETTERS} - {0}
    return Times(
        frozenset(dated),
        ordinals - {day for _, day in dated},
        frozenset({month for month, _ in dated} | named),
        frozenset({month for month, _ in dated} | full),
        frozenset(terms.weekdays[token] for token in tokens if token in terms.weekdays),
        frozenset(
            terms.weekdays[token]
            for token in tokens
            if token in terms.weekdays and len(token) >= _FULL_LETTERS
        ),
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


def _spans(tokens: Sequence[str], found: Sequence[_Run], terms: Calendar) -> Iterator[int]:
    """Yield the days of each span of time that a text names: "in three weeks", "a week later"."""
    for index, token in enumerate(tokens):
        if (days := terms.units.get(token, 0)) >= 1:
            counted = [total for _, end, total in found if 0 <= index - end < _NEAR]
            yield int(days) * int(counted[-1] if counted and counted[-1] < 400 else 1)


_NAME = r"[^\W\d_a-zß-ÿ][^\W\d_]+"
_LIST = re.compile(rf"\b{_NAME}(?:, {_NAME})*,? (?:and|und|et|y|e|en) {_NAME}")
_JOINT = re.compile(r",? (?:and|und|et|y|e|en) |, ")


def are_listed(text: str, number: Number) -> bool:
    """Whether a text names one by one what it counts: "two grandsons, Luca and Nino"."""
    return number.kind == "thing" and any(
        0 <= len(_JOINT.split(listed[0])) - number.value <= 1 for listed in _LIST.finditer(text)
    )


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
        for month in _months_around(today)
        for day in near(today, month, n)
    }
    for weekday in times.weekdays:
        days |= {
            today + timedelta(n)
            for n in range(-7, 15 if times.next_week else 8)
            if (today + timedelta(n)).weekday() == weekday
        }
    for first, last in times.offsets:
        if vaguely or first == last:
            days |= {today + timedelta(n) for n in range(first, last + 1)}
    return days


def joined(parts: Sequence[Times]) -> Times:
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


def _months_around(today: date) -> set[int]:
    return {(today.month + n - 1) % 12 + 1 for n in (-1, 0, 1)}


def around(today: date) -> tuple[date, date, date]:
    """Return a day, and one of the month before it and of the month behind."""
    return today - timedelta(30), today, today + timedelta(30)


def _slack(days: int) -> range:
    """Return the days that a span may mean: the longer, the less exactly."""
    slack = 0 if days < 7 else 3
    return range(max(1, days - slack), days + slack + 1) if days < _SPAN_LIMIT else range(0)


def claims(word: str, before: Sequence[str], *, capital: bool) -> bool:
    """Whether a word names an amount, or a month beside a number, which nobody may make up.

    Args:
        word: Folded.
        before: The words beside it, folded.
        capital: Whether it begins with one, not at the start of its sentence.
    """
    if any(char.isdigit() for char in word):
        return True
    if word in calendar_words(words.DEFAULT_LANGUAGE).months:
        return capital or any(char.isdigit() for other in before for char in other)
    found = value(word)
    return found is not None and found != 1 and word not in {*_OF_ORDINAL, *_OF_OTHER, *_ELSEWHERE}


def forms(text: str, language: str) -> tuple[set[Decimal], set[int]]:
    """Return the numbers and the months that a text gives, in whatever form."""
    found = read(text, language)
    numbers = {one.value for one in found.numbers}
    numbers |= {Decimal(day) for _, day in found.times.dated} | set(
        map(Decimal, found.times.ordinals)
    )
    numbers |= {
        Decimal(unicodedata.numeric(char, False))
        for char in text
        if unicodedata.category(char) == "Lo" and unicodedata.numeric(char, False)
    }
    return numbers, set(found.times.months)


def month(word: str) -> int | None:
    """Return which month a word names; None: it is none."""
    return calendar_words(words.DEFAULT_LANGUAGE).months.get(word)


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


def value(word: str, language: str = "") -> Decimal | None:
    """Return the number a word stands for, in digits, as a word or as an ordinal; None: none.

    Args:
        word: Folded.
        language: Of its text, `de`; by default a word of any counts.
    """
    if language == "de":
        word = word.replace("scht", "st")  # as the south says it
    found = _value(word, language)
    if found is None and len(stem := _ORDINAL_ENDING.sub("", word)) in range(3, len(word)):
        found = value(stem, language)
    for large in ("tausend", "hundert"):  # dreihundertzwanzig
        before, joint, behind = word.partition(large)
        if found is None and joint and (before or behind):
            times, more = (value(part, "de") if part else None for part in (before, behind))
            if (times is None) == (not before) and (more is None) == (not behind):
                found = (times or Decimal(1)) * _OF_WORD[large] + (more or Decimal(0))
    return found if found is not None else _compound(word, language)


def _compound(word: str, language: str) -> Decimal | None:
    """Return the number of a ten and a unit in one word: einundzwanzig, ventidue, tjugotre."""
    table = _OF_LANGUAGE.get(language, _OF_WORD) | {"ein": 1}
    for ten, value_ in table.items():
        if value_ in _TENS and ten[:-1] in word:
            before, _, behind = word.partition(ten if ten in word else ten[:-1])
            unit = behind.removeprefix("i") if not before else before if not behind else ""
            for joint in _JOINED_BY:
                found = table.get(unit.removesuffix(joint), 10)
                if found < 10:
                    return Decimal(value_ + found)
    return None


def _value(word: str, language: str) -> Decimal | None:
    """Return the number a word stands for: its digits, or what it says."""
    if digits := _DIGITS.match(word):
        plain = _THOUSANDS.sub("", digits[0]).replace(",", ".")
        return Decimal(plain if plain.count(".") <= 1 else plain.replace(".", ""))
    plain = _TIMES.sub("", word)
    own = _OF_LANGUAGE.get(language, {})
    if plain in own:
        return Decimal(own[plain])
    if plain in _ELSEWHERE and language:
        return None
    for table in (_OF_WORD, _OF_ORDINAL, _OF_OTHER):
        if plain in table:
            return Decimal(table[plain])
    tens, joint, unit = word.partition("-")
    if joint and _OF_WORD.get(tens) in _TENS and _OF_WORD.get(unit, 10) < 10:
        return Decimal(_OF_WORD[tens] + _OF_WORD[unit])
    return None
