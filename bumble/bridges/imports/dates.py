"""Times as a page or a chat shows them: in words, in any language, with or without a zone.

The names of months and of the halves of a day are those that `dateparser` knows, as they lie in
that package. Knows no format.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timezone, tzinfo
from functools import cache

from bumble import patterns
from bumble.guard import values
from bumble.text import stop_words, words

_CLOCK = patterns.compile(
    r"(?<![\d.])(\d{1,2})(?::(\d\d)(?::(\d\d))?|h ?(\d\d)m ?(\d\d)s|\.(\d\d)\.(\d\d)(?![\d.]))"
)


def shown(told: str, zone: tzinfo) -> datetime | None:
    """Read a day with a time of day; None of anything else.

    Args:
        told: One line; of `1/2/2026` the first number is the day, if it can be.
        zone: What it is in where it names none.
    """
    from dateparser.timezone_parser import pop_tz_offset_from_string

    told, named = pop_tz_offset_from_string(" ".join(told.split()).replace("\u2212", "-"))
    clock = _CLOCK.search(told)
    if clock is None:
        return None
    day = f"{told[: clock.start()]} {told[clock.end() :]}"
    date = _date(day)
    hour, minute, second = (int(part) for part in (*filter(None, clock.groups()), "0")[:3])
    try:
        at = datetime(*date, _hour(hour, words.folded(day)), minute, second) if date else None
    except ValueError:
        return None
    if at is None or named is None or at.replace(tzinfo=zone).tzname() == named.tzname(None):
        return at and at.replace(tzinfo=zone)
    return at.replace(tzinfo=timezone(named.utcoffset(None)))


def _date(told: str) -> tuple[int, int, int] | None:
    numbers = re.findall(r"\d+", told)
    year = next((number for number in numbers if len(number) == 4), "")
    rest = [int(number) for number in numbers if number != year and len(number) < 3]
    named = _month_pattern().search(words.folded(told))
    if not year or len(rest) < 2 - bool(named):
        return None
    if named:
        return int(year), _months()[named[0]], rest[0]
    first, second = rest[:2]
    is_month_first = numbers[0] == year or second > 12
    return (int(year), first, second) if is_month_first else (int(year), second, first)


def _hour(hour: int, told: str) -> int:
    """Return an hour of 24."""
    morning, afternoon = _halves()
    if hour <= 12 and afternoon.search(told):
        return hour % 12 + 12
    return hour % 12 if hour == 12 and morning.search(told) else hour


@cache
def _months() -> Mapping[str, int]:
    """Return the names of months; one that languages differ on is what most mean by it."""
    votes: dict[str, Counter[int]] = {}
    for code in values.time_codes():
        for number, key in enumerate(values.MONTH_NAMES, 1):
            for name in map(words.folded, values.time_words(code).get(key, ())):
                votes.setdefault(name, Counter())[number] += not any(map(str.isdigit, name))
    return {
        name: count.most_common(1)[0][0] for name, count in votes.items() if any(count.values())
    }


@cache
def _month_pattern() -> re.Pattern[str]:
    return re.compile("|".join(map(_whole, sorted(_months(), key=len, reverse=True))))


@cache
def _halves() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what matches the words for the two halves of a day."""
    told = [
        {
            words.folded(name)
            for code in values.time_codes()
            for name in values.time_words(code).get(key, ())
            if len(name) > 1 or not name.isascii()
        }
        for key in ("am", "pm")
    ]
    morning, afternoon = (
        re.compile("|".join(map(_whole, sorted(names))))
        for names in (told[0] - told[1], told[1] - told[0])
    )
    return morning, afternoon


def _whole(name: str) -> str:
    name_alone = rf"(?<!\w){re.escape(name)}(?!\w)"
    return re.escape(name) if stop_words.is_unspaced(name) else name_alone
