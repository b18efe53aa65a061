"""Times of day in a text: which hours and minutes its numbers name, as people say them.

"Half past eight", "quarter of ten", "halb neun", "midi moins le quart", "la una menos diez" and
"8 h 45" name one time each, by the number of an hour and what stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from msgspec import Struct

from bumble import patterns
from bumble.guard.number_words import HALVES, Run
from bumble.text import words

_WRITTEN = patterns.compile(r"(\d{1,2})([:hu.])([0-5]\d)")
_HALF = Decimal("0.5")
_QUARTER = Decimal("0.25")
# Behind an hour, and what only an hour has before it: "dokuz buçuk", "सवा नौ".
BEHIND = {
    **dict.fromkeys(map(words.folded, ("buçuk", "ونصف", "ونص", "والنصف")), _HALF),
    **dict.fromkeys(map(words.folded, ("وربع", "والربع")), _QUARTER),
    **dict.fromkeys(map(words.folded, ("وثلث", "والثلث")), Decimal(1) / 3),
}
_BEFORE = {"सवा": _QUARTER, "पौने": -_QUARTER}
PARTS = {
    **dict.fromkeys((*HALVES, "mezz", "poł", "пол", "نصف", "نص", "आधा", "आधे", "साढे"), _HALF),
    **dict.fromkeys(("quarter", "quarters", "viertel", "quart", "cuarto", "quarto"), _QUARTER),
    **dict.fromkeys(("kwart", "ربع"), _QUARTER),
    **dict.fromkeys(("anderthalb", "anderhalf", "połtorej"), Decimal("1.5")),
    "dreiviertel": 3 * _QUARTER,
    **BEHIND,
}
# Between an hour and its minutes: those that stand behind it, and those that stand before it.
_HOUR_FIRST = {"et": 1, "y": 1, "e": 1, "moins": -1, "menos": -1, "meno": -1, "الا": -1}
MINUS = frozenset(word for word, side in _HOUR_FIRST.items() if side < 0)
_HOUR_LAST = dict.fromkeys(("past", "nach", "over"), 1) | dict.fromkeys(
    ("to", "tae", "til", "till", "of", "before", "vor", "voor"), -1
)
_SURE = frozenset(["uhr", "pm", "oclock", "h", "heures", "uur", "u", "बजे", "ujutro", "navecer"])
_SURE_BEFORE = frozenset(["kl", "klockan", "الساعة"])
OCLOCK = _SURE | frozenset(["heure", "hora", "horas", "ore", "sati"])  # which something takes, too
_MINUTES = frozenset(
    ["minute", "minutes", "minuten", "minutos", "minuti", "min", "minuuten", "دقيقة", "دقائق"]
)
_FILLERS = OCLOCK | _MINUTES | frozenset(["le", "la", "un", "a", "il"])
_NOONS = "noon midday mittag midi mediodia mezzogiorno middag meio-dia"
_MIDNIGHTS = "midnight mitternacht minuit medianoche mezzanotte middernacht meia-noite"
MIDNIGHTS = frozenset(_MIDNIGHTS.split())
NOONS = MIDNIGHTS.union(_NOONS.split())
# Languages in which half nine is half past eight.
_BEFORE_HOUR = frozenset(["de", "nl", "sv", "da", "no"])
_NAMING = OCLOCK | _MINUTES | frozenset(["moins", "menos", "meno", "past", "الا"])
WORDS = (
    OCLOCK
    | _SURE_BEFORE
    | _MINUTES
    | NOONS
    | _BEFORE.keys()
    | PARTS.keys()
    | _HOUR_FIRST.keys()
    | _HOUR_LAST.keys()
    | {"am"}
)
_MINUTES_OF_HOUR = 60
HALF_DAY = 12
_MINUTE, _DAY, _REACH = Decimal("0.001"), 24, 4  # tokens beside an hour


class Clock(Struct, frozen=True):
    """What time of day a number may name."""

    hours: frozenset[Decimal] = frozenset()  # up to noon
    is_sure: bool = False
    used: frozenset[int] = frozenset()  # tokens of its minutes, which count nothing themselves


def read(tokens: Sequence[str], run: Run, language: str, found: Sequence[Run]) -> Clock:
    """Return the times of day that a number may be.

    Args:
        tokens: Of the text, folded.
        run: The number.
        language: Of the text.
        found: All its numbers.
    """
    behind = list(tokens[run.end : run.end + _REACH])
    before = list(tokens[max(0, run.start - _REACH) : run.start])
    sign = behind[0] if behind else ""
    last = before[-1] if before else ""
    is_sure = sign in _SURE or last in _SURE_BEFORE or (sign == "am" and language == "en")
    if written := _WRITTEN.fullmatch(tokens[run.start]):
        hour = Decimal(written[1]) + Decimal(written[3]) / 60
        return Clock(_of_day(hour), is_sure or written[2] != ".")
    is_whole = run.value == int(run.value) or run.end - run.start > 1
    if run.value > _DAY or not (is_whole or is_sure):
        return Clock()
    if part := BEHIND.get(sign):
        return Clock(_of_day(run.value + part), is_sure=True)
    if part := PARTS.get(last) or _BEFORE.get(last):  # halb neun, half eight, viertel neun
        early = language in _BEFORE_HOUR
        return Clock(_of_day(run.value - (1 - part) if early else run.value + part), is_sure=True)
    minutes = {one.start: one.value / 60 for one in found if one.value < _MINUTES_OF_HOUR}
    after = _telling(tokens, range(run.end, run.end + len(behind)))
    ahead = _telling(tokens, range(run.start - 1, run.start - 1 - len(before), -1))
    if is_sure and after and after[0] in minutes and tokens[after[0]].isdigit():  # 8 Uhr 30
        return Clock(_of_day(run.value + minutes[after[0]]), True, frozenset(after[:1]))
    for places, sides in ((after, _HOUR_FIRST), (ahead, _HOUR_LAST)):
        side = sides.get(tokens[places[0]]) if len(places) > 1 else None
        if side and (aside := _aside(tokens, run, side, places, minutes)) is not None:
            return aside
    hours = _of_day(run.value)
    if last.isalpha() and not words.is_listed(last, language):
        hours |= _of_day(run.value + (-_HALF if language in _BEFORE_HOUR else _HALF))  # in dialect
    return Clock(hours, is_sure)


def _telling(tokens: Sequence[str], places: range) -> list[int]:
    return [n for n in places if tokens[n] not in _FILLERS]


def _aside(
    tokens: Sequence[str],
    run: Run,
    side: int,
    places: Sequence[int],
    minutes: Mapping[int, Decimal],
) -> Clock | None:
    """Read what stands on one side of an hour: "quarter to", "menos diez"; None: no minutes do."""
    if part := PARTS.get(tokens[places[1]]):
        return Clock(_of_day(run.value + side * part), is_sure=True)
    if (part := minutes.get(places[1])) is None:
        return None
    time = _of_day(run.value + side * part)
    first, last = min(run.start, places[1]), max(run.end, places[1] + 1)
    named = not _NAMING.isdisjoint(tokens[first : last + 1])
    is_no_span = places[1] < run.start and part * _MINUTES_OF_HOUR > run.value
    if named or is_no_span:  # "twenty to eight"; "five to eight" may be one
        return Clock(time, True, frozenset([places[1]]))
    return Clock(time | _of_day(run.value))


def _of_day(*hours: Decimal) -> frozenset[Decimal]:
    return frozenset(hour.quantize(_MINUTE) % HALF_DAY for hour in hours)
