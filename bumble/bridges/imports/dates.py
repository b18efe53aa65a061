"""Times as a page or a chat shows them: in words, in any language, with or without a zone.

Knows no format.
"""

from __future__ import annotations

from datetime import datetime, timezone, tzinfo
from functools import cache
from typing import Any

from bumble import patterns

_HOURS = patterns.compile(r"@(\d+)h (\d+)m (\d+)s.*")
_SETTINGS = {
    "DATE_ORDER": "DMY",  # of `1/2/2026` the first number is the day, if it can be
    "PREFER_LOCALE_DATE_ORDER": False,
    "PARSERS": ["absolute-time"],
    "REQUIRE_PARTS": ["day", "month", "year"],
    "RETURN_TIME_AS_PERIOD": True,
}


@cache
def _parser() -> Any:
    """Return what reads dates; it tries the language of the one before first."""
    from dateparser.date import DateDataParser

    return DateDataParser(settings=_SETTINGS)


def shown(told: str, zone: tzinfo) -> datetime | None:
    """Read a day with a time of day; None of anything else.

    Args:
        told: One line.
        zone: What it is in where it names none.
    """
    from dateparser.timezone_parser import pop_tz_offset_from_string

    told, named = pop_tz_offset_from_string(" ".join(told.split()).replace("\u2212", "-"))
    read = _parser().get_date_data(_HOURS.sub(r"\1:\2:\3", told))
    if read.date_obj is None or read.period != "time":
        return None
    at: datetime = read.date_obj.replace(tzinfo=zone)
    if named is None or at.tzname() == named.tzname(None):
        return at
    return at.replace(tzinfo=timezone(named.utcoffset(None)))
