"""The time ahead that a message names, for what is to be said then.

Half a time is another one: where a word of it isn't known, none is named, unless one day and one
hour are plainly said beside it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence, Set
from datetime import date, datetime, time, timedelta
from itertools import pairwise

from msgspec.structs import replace

from bumble import patterns
from bumble.fallback import templates, unspaced_times
from bumble.guard import clock, number_words, values
from bumble.records import reminders
from bumble.text import stop_words
from bumble.text.words import folded

HALF = 0.5  # "three quarters" is no sum
NOON = 12  # where hours begin anew
# Of a part of a day.
_EVENING = [18, 21]
HOURS_OF = {"early": [reminders.MORNING], "noon": [NOON], "afternoon": [15]}
HOURS_OF |= {"late": _EVENING, "night": _EVENING}
LATE = frozenset(("afternoon", "late", "night"))
LEAST_LETTERS = 4  # of a weekday cut short
REACH = 2  # words behind what was marked that may belong to it
EITHER_WAY = 2  # days from now that may be before or after it
A_WEEK = 12  # days from the first to the last that "next week" may mean
A_MONTH = timedelta(days=31)
NIGHTLY = 5  # hours before it are, at night, past midnight
EVENING, ASLEEP = 18, 11  # hours: before the one "at 11" is no hour of the night
WAKING = 6  # hours before it are of the afternoon, unless it is said
_WORD = patterns.compile(rf"{stop_words.LETTER}+(?:-{stop_words.LETTER}+)*")
_JOINTS = frozenset((*number_words.JOINTS, "och", "i"))
_WORKING_DAYS = """
weekday weekdays workday workdays werktag werktags werktage werktagen wochentags ouvre ouvres
laborable laborables feriale feriali uteis werkdag werkdagen vardag vardagar roboczy robocze
будни будням будний
"""
_WORKDAYS = frozenset(_WORKING_DAYS.split())
_OTHERS = (word for word, many in number_words.OTHERS.items() if many > 1)
_FEW = frozenset(("few", "varannan", "vartannat", *_OTHERS))
_ARTICLES = frozenset(("a", "an", "the", "en", "ett", "de", "d", "l", "of", "ne", "nen", "van"))
_FILLERS = _JOINTS | _ARTICLES | frozenset(("about", "around", "etwa", "circa", "ca", "environ"))
_SPANS_ALONE = frozenset(("en", "de"))  # languages whose "8 hours" is no time of day
_AHEAD_OF = """
before beforehand vorher davor zuvor avant antes prima tevoren vooraf ervoor innan wczesniej
"""
_BEFORE = frozenset(_AHEAD_OF.split())  # behind a span: "an hour before"
_SPAN_WORDS = 5  # of a span: "two and a half hours"
_CLOCK = patterns.compile(r"\b\d{1,2}[hu]\d\d\b")
# "2h" and "mezz'ora" are two.
_PIECE = patterns.compile(rf"{stop_words.LETTER}+(?:-{stop_words.LETTER}+)*|\d+(?:[.,]\d+)?")


def time_of(
    text: str, when: str, language: str, at: datetime, *, wakes: bool = False
) -> datetime | None:
    """Return the time a message names for something ahead; None: none that is surely understood.

    A day without an hour means nine in the morning; an hour that may be of the morning or of the
    evening is the next in which people are awake, but for who is to be woken.

    Args:
        text: What was said.
        when: The part of it that names the time, as the reader found it; may be too short.
        language: Its code: `de`.
        at: The moment it was said, with its zone.
        wakes: Whether nothing is named that is to be thought of: who is asleep is woken.
    """
    is_exact = stop_words.is_unspaced(when)  # all that is known of it was found
    text, when, language = unspaced_times.of_mark(text, when, language)
    if stop_words.is_unspaced(when):
        return None
    text, marked = _apart(text, language), _apart(when, language)
    leads = values.ahead_words(language).intersection(map(folded, _PIECE.findall(marked)))
    # the reader may have taken too little
    onward = text[max(0, text.find(marked)) :] if leads else marked
    if ahead := lapse(marked, language) or lapse(onward, language):
        return at + ahead
    if _end(_pieces(marked), language):  # a span that isn't known
        return None
    when = _understood(text, marked, language, is_exact=is_exact)
    if not when:
        return None
    near, whole = values.read(when, language), values.read(text, language)
    named = _parts(when, language)
    # "how was your night?" says of an hour that is named elsewhere no more than "late"
    parts = [
        "late" if part == "night" and part not in named else part for part in _parts(text, language)
    ]
    # "tomorrow" that was cut out of "the day after tomorrow" is another day
    is_cut = not near.times.offsets <= whole.times.offsets
    if named and not leads:  # "esta noche" is no night ahead
        near = replace(near, times=replace(near.times, spans=near.times.spans - {1}))
    hour = _hour(near, whole, parts)
    apart = hour is not None and hour.kind == "clock"
    days = () if is_cut else _days(near.times, at, apart) or _abbreviated(when, language, at)
    days = days or _days(without_doubt(whole.times), at, apart)
    if hour is not None:
        # who writes hours to 24 means by 5:15 what it says
        is_so = wakes or (language != templates.FIRST and ":" in hour.word)
        hours = _hours(hour, parts, at, soon=not days or days[0] == at.date(), is_so=is_so)
    else:
        is_counted = any(not (leads and _is_span(each)) for each in near.numbers)  # "in ten days"
        if not named and (not days or (is_counted and not near.times.are_there)):
            return None
        found = [each for part in named or parts for each in HOURS_OF[part]]
        hours = tuple(timedelta(hours=each) for each in found or [reminders.MORNING])
    days = days or [at.date(), at.date() + timedelta(days=1)]
    times = [datetime.combine(each, time(), at.tzinfo) + hour for each in days for hour in hours]
    return next((each for each in times if each > at), None)


def _understood(text: str, marked: str, language: str, *, is_exact: bool) -> str:
    """Return the part of a text that names a time, each word of it known; empty: there is none.

    Where its words for hours are all known the reader took too much; where it took what isn't a
    time, one day and one hour may be plainly said beside that.
    """
    strange = _strange(marked, language)
    when = marked if is_exact or not templates.has(language) else _within(marked, strange)
    if when and strange.isdisjoint(_strange(when, language)):
        return when
    rest = text.replace(marked, " ") if marked else text
    read = values.read(rest, language)
    days = (*read.times.weekdays, *read.times.dated, *read.times.offsets)
    hours = [number for number in read.numbers if number.kind == "clock"]
    return rest if len(days) == len(hours) == 1 else ""


def _hour(
    near: values.ReadText, whole: values.ReadText, parts: Collection[str]
) -> values.Number | None:
    """Return the hour that a time names: with a sign of it, else without (`at 8`, `um 7`).

    What is marked goes before another hour beside it.
    """
    bare = [
        each
        for each in near.numbers
        if each.kind != "money"
        and not _is_span(each)
        and each.claimed
        and not each.ordinal
        and each.hours
        and each.value not in near.times.ordinals
    ]
    clocks = [each for each in (*near.numbers, *whole.numbers) if each.kind == "clock"]
    if bare and not any(each in near.numbers or each.hours & bare[0].hours for each in clocks):
        clocks = []
    return next(iter((*clocks, *(() if "noon" in parts else bare))), None)


def _is_span(number: values.Number) -> bool:
    return number.kind == "time" and number.unit not in clock.OCLOCK


def widened(text: str, when: str, language: str) -> str:
    """Return all of a time of which the reader marked the beginning: `in an hour and`."""
    if stop_words.is_unspaced(when) or not when or when not in text:
        return when
    said = text[text.find(when) :].split()
    for end in range(len(when.split()) + 1, len(said) + 1)[:REACH]:
        *_, last = pieces = _pieces(" ".join(said[:end])) or [""]
        if last in clock.BEHIND or _end(pieces, language) == len(pieces) - 1:
            when = " ".join(said[:end])
    if not is_from_now(when, language):
        return when
    starts = [" ".join(said[: n + 1]) for n in range(len(said))]
    lead = _leads(_pieces(when), language)[0]
    spans = [_span(_pieces(start)[lead:], language) for start in starts]
    found = (start for start, span in zip(starts, spans, strict=True) if span == spans[-1])
    return max(next(found), when, key=len) if spans[-1] else when


def is_all(text: str, language: str) -> bool:
    """Whether a text is nothing but a time: `on 20 December at ten in the morning`."""
    return not _strange(*_said(text, language))


def read(text: str, language: str) -> values.ReadText:
    """Read a text for its numbers and times, as `values.read`, in any script."""
    return values.read(*_said(text, language))


def _said(text: str, language: str) -> tuple[str, str]:
    _, text, language = unspaced_times.of_mark(text, text, language)
    return _apart(text, language), language


def _strange(text: str, language: str) -> set[str]:
    return set(values.unread(text, language)) - _hours_of_words(language).keys()


def repeats(when: str, language: str) -> bool:
    """Whether a time comes again and again: `every Monday`."""
    when, language = _said(when, language)
    return bool(_every(language).intersection(map(folded, _WORD.findall(when))))


def _every(language: str) -> frozenset[str]:
    return frozenset(map(folded, templates.load(language).every))


def schedule(when: str, language: str, at: datetime) -> str:
    """Return the cron expression of a time that comes again; empty: none is surely understood.

    Of each day, of days of the week, or of one day of the month; without an hour at nine.
    """
    when, language = _said(when, language)
    every = _every(language) | _WORKDAYS
    terms, read = values.calendar_words(language), values.read(when, language)
    said = [folded(word) for word in _WORD.findall(when)]
    rest = " ".join(word for word in when.split() if folded(word) not in every)
    after = said[next(n for n, word in enumerate(said) if word in every) :]
    # every other day; articles are shorter
    other = any(word in stop_words.WORDS and len(word) > LEAST_LETTERS for word in after[1:3])
    other = other or not _FEW.isdisjoint(after[:3])
    told = (one for one in read.numbers if one.claimed and one.value not in read.times.ordinals)
    counted = sum(1 for one in told if not one.ordinal) > 1
    counted = counted or any(number.kind == "time" for number in read.numbers)
    limited = read.times.offsets or read.times.dated or read.times.full_months
    if _strange(rest, language) or counted or other or limited:
        return ""
    parts = _hours_of_words(language)
    units = {terms.units[word] for word in said if terms.units.get(word, 0) >= 1} - {
        1 for word, behind in pairwise((*said, "")) if word in parts or behind in terms.weekdays
    }
    days = read.times.ordinals | {int(one.value) for one in read.numbers if one.ordinal}
    weekdays = ",".join(str((day + 1) % 7) for day in sorted(read.times.weekdays))
    if not _WORKDAYS.isdisjoint(said):
        weekdays, units = "" if weekdays else "1-5", units - {values.UNIT_DAYS["day"]}
    midnight = at.replace(hour=0, minute=0, second=0, microsecond=0)
    named = time_of(rest, rest, language, midnight)
    at_midnight = any(one.word in clock.MIDNIGHTS for one in read.numbers)
    if at_midnight and weekdays and named and named.hour < WAKING:  # with it a day ends
        weekdays = ",".join(str((day + 2) % 7) for day in sorted(read.times.weekdays))
    hour = f"{named.minute} {named.hour}" if named else f"0 {reminders.MORNING}"
    if units == {values.UNIT_DAYS["month"]} and len(days) == 1 and not weekdays:
        return f"{hour} {min(days)} * *"
    if weekdays and not days and units <= {values.UNIT_DAYS["week"]}:
        return f"{hour} * * {weekdays}"
    is_daily = units == {values.UNIT_DAYS["day"]} or (not units and _parts(when, language))
    return f"{hour} * * *" if is_daily and not (days or weekdays) else ""


def _within(when: str, strange: Set[str]) -> str:
    """Return a time without the strange words at its ends, and at those of its lines."""
    lines = []
    for said in map(str.split, when.splitlines()):
        known = [n for n, word in enumerate(said) if folded(word.strip(",.;:!?")) not in strange]
        lines += [" ".join(said[known[0] : known[-1] + 1])] if known else []
    return "\n".join(lines)


def _hours_of_words(language: str) -> Mapping[str, str]:
    """Return which hours the words for parts of a day mean, by the word, folded."""
    if templates.has(language):
        return {folded(word): part for word, part in templates.load(language).hours.items()}
    halves = values.time_words(language)
    named = (("am", "early"), ("pm", "late"))
    return {folded(word): part for name, part in named for word in halves.get(name, ())}


def _apart(text: str, language: str) -> str:
    """Write a day and its part as two words: `Freitagabend`; a part of two with a hyphen."""
    terms = values.calendar_words(language)
    days = [day for day in (*terms.weekdays, *terms.relative) if len(day) >= LEAST_LETTERS]
    parts = templates.load(language).hours
    for part in parts:
        text = text.replace(part.replace("-", " "), part)
    joined = rf"\b({'|'.join(days)})({'|'.join(parts)})\b"
    return re.sub(joined, r"\1 \2", text, flags=re.IGNORECASE) if days else text


def _parts(text: str, language: str) -> list[str]:
    """Return the parts of a day that a text names."""
    hours = _hours_of_words(language)
    said = (hours.get(folded(word)) for word in _WORD.findall(text))
    return list(dict.fromkeys(filter(None, said)))


def lapse(text: str, language: str) -> timedelta | None:
    """Return the span of minutes or hours from now that a text names: `in an hour and a half`."""
    text, language = _said(text, language)
    said = _pieces(text)
    spans = (_span(said[start:], language) for start in _leads(said, language))
    if span := next(filter(None, spans), None):
        return span
    end = _end(said, language)
    strange = _strange(text, language)
    for start in range(end):  # before "sonra"
        if strange.issuperset(said[:start]) and (
            span := _span(said[start:end], language, alone=True)
        ):
            return span
    # "8 hours" is a time of day elsewhere
    is_span = language in _SPANS_ALONE and not _CLOCK.search(text)  # "8h30" is a time of day
    return _span(said, language, alone=True) if is_span else None


def before(text: str, language: str) -> tuple[timedelta, str]:
    """Return how long before a time a text means, and the text without that: "an hour before".

    What something is before is another matter: "ten minutes before eight", "een uur voor het werk".
    """
    said = text.split()
    for end, word in enumerate(said):
        stop, behind = word[len(word.rstrip(",.;:!?")) :], said[end + 1 :]
        is_last = stop or not behind[1:]  # "an hour before, please", "an hour before lunch"
        is_last = is_last and not any(map(_says_number, behind[:1]))
        if folded(word.removesuffix(stop)) not in _BEFORE or not is_last:
            continue
        first = max((n + 1 for n in range(end) if said[n][-1] in ",.;:!?"), default=0)
        for start in range(max(first, end - _SPAN_WORDS), end):
            if span := _whole_span(_pieces(" ".join(said[start:end])), language):
                return span, f"{' '.join(said[:start])}{stop} {' '.join(said[end + 1 :])}".strip()
    return timedelta(), text


def _says_number(word: str) -> bool:
    return word[:1].isdigit() or number_words.value(folded(word.strip(",.;:!?"))) is not None


def _whole_span(said: Sequence[str], language: str) -> timedelta | None:
    """Return the time that all of some words name: "half an hour", "the day", "two weeks"."""
    days = values.calendar_words(language).units.get(said[-1], 0) if said else 0
    if days < 1:
        return _span(said, language, alone=True)
    runs = list(number_words.runs(said, language, frozenset(said)))
    counted = {n for run in runs for n in range(run.start, run.end)}
    is_all = all(n in counted or word in _ARTICLES for n, word in enumerate(said[:-1]))
    return timedelta(days=days * float(runs[-1].value if runs else 1)) if is_all else None


def is_from_now(text: str, language: str) -> bool:
    """Whether a word leads from now to a span: "in an hour", not "an hour later"."""
    text, language = _said(text, language)
    return bool(_leads(_pieces(text), language) or _end(_pieces(text), language))


def _pieces(text: str) -> list[str]:
    return [folded(piece) for piece in _PIECE.findall(text)]


def _leads(said: Sequence[str], language: str) -> list[int]:
    """Return where spans from now may begin; "kwart over acht" is none."""
    ahead = values.ahead_words(language)
    return [
        n + 1
        for n, word in enumerate(said)
        if word in ahead and not (n and (said[n - 1] in clock.PARTS or said[n - 1].isdigit()))
    ]


def _end(said: Sequence[str], language: str) -> int:
    """Return where a span from now ends whose leading word stands behind it: "10 dakika sonra"."""
    ahead, units = values.ahead_words(language), values.calendar_words(language).units
    ends = (
        n - (said[n - 1] in values.skipped(language))
        for n, word in enumerate(said)
        if n and word in ahead
    )
    return next((n for n in ends if units.get(said[n - 1], 1) < 1), 0)


def _span(said: Sequence[str], language: str, *, alone: bool = False) -> timedelta | None:
    """Return the minutes and hours that some words begin with: how many, and of what.

    Args:
        said: The words.
        language: Theirs.
        alone: Whether nothing leads to them, so that all of them have to be of the span.
    """
    hour = values.UNIT_DAYS["hour"]
    units = {**values.calendar_words(language).units, "h": hour, "ч": hour}
    runs = {run.start: run for run in number_words.runs(said, language, frozenset(said))}
    days, unit, many, place = 0.0, 0.0, 0.0, 0
    while place < len(said):
        word, run, before = said[place], runs.get(place), said[max(0, place - 1)]
        part, of = float(clock.PARTS.get(word, 0)), units.get(word, 1.0)
        joined = {one: units.get(word[len(one) :], 1.0) for one in clock.PARTS if one in word[:-1]}
        half = next(
            (one for one, whole in joined.items() if word.startswith(one) and whole < 1), ""
        )
        place = run.end if run and not (part or of < 1) else place + 1
        if (half or of < 1) and not (alone and not (many or half or place > 1)):
            unit = joined[half] if half else of
            days, many = days + (many or 1) * float(clock.PARTS.get(half, 1)) * unit, 0.0
        elif part and unit:  # an hour and a half
            days += part * unit
        elif part:  # three quarters; "half a", "a half"
            more = many > 1 or word in clock.BEHIND or not _JOINTS.isdisjoint(said[:place])
            many = many * part if many > 1 and part < HALF else part + many * more
        elif run and unit and before == "h":  # 1h30
            days += float(run.value) * values.UNIT_DAYS["minute"]
        elif run:
            is_more = 0 < many < 1 and not number_words.is_loose(word, run.value)
            many += float(run.value) if is_more or not many else 0  # "साढ़े तीन" is 3.5
        elif word in clock.MINUS:
            return None
        elif word not in _FILLERS or (word in _JOINTS and not (unit or many)):
            if alone:
                return None
            break
    return timedelta(days=days) if days and not (alone and many) else None


def _days(times: values.Times, at: datetime, apart: bool = False) -> list[date]:
    """Return the days ahead that times may name, the next first; `apart`: an hour is named, too."""
    today = at.date()
    if times.dated:  # the weekday that may stand beside a date is told by it
        times = replace(times, weekdays=frozenset(), full_weekdays=frozenset())
    exact = {
        today + timedelta(days=last)
        for first, last in times.offsets
        if last >= 0 and (first == last or (first == -last and last <= EITHER_WAY))
    }
    weeks = [(first + last) // 14 for first, last in times.offsets if last - first == A_WEEK]
    if not exact and times.weekdays and weeks:  # next week's Monday
        monday = today + timedelta(days=7 * weeks[0] - today.weekday())
        return sorted(
            filter(today.__le__, (monday + timedelta(days=day) for day in times.weekdays))
        )
    if not exact and (times.weekdays or times.dated or times.ordinals):
        week = timedelta(days=7 if times.next_week else 0)
        exact = {day for day in values.days_of(times, at) if day >= today + week}
        # "Friday the 18th" is told by both; "Thursday 7" may be an hour
        days = {day for day in times.ordinals if apart or day > NOON}
        told = {day for day in exact if day.day in days and day <= today + A_MONTH}
        exact = {day for day in told if day.weekday() in times.weekdays} or exact
    later = {today + timedelta(days=n) for n in times.spans if 0 < n < values.YEAR_DAYS}
    if not exact or (later and exact == {today}):  # "today in a week"
        exact = later
    return sorted(exact)


def _abbreviated(when: str, language: str, at: datetime) -> list[date]:
    """Return the days whose weekday stands there cut short: `thurs`."""
    names = values.calendar_words(language).weekdays
    told = [folded(word) for word in _WORD.findall(when) if len(word) >= LEAST_LETTERS]
    cut = {day for name, day in names.items() for word in told if name.startswith(word)}
    return _days(values.Times(weekdays=frozenset(cut)), at) if len(cut) == 1 else []


def _hours(
    named: values.Number, parts: Collection[str], at: datetime, *, soon: bool, is_so: bool
) -> tuple[timedelta, ...]:
    """Return which hours of a day a time of day may be, likeliest first.

    Args:
        named: The time of day.
        parts: The parts of a day that are named.
        at: Now.
        soon: Whether it may be one of today.
        is_so: Whether one before people get up is meant as it is said.
    """
    half = min(named.hours, key=lambda hour: abs(hour - named.value % NOON))
    early = timedelta(minutes=round(half * 60))
    if named.word in clock.MIDNIGHTS and half < WAKING:  # the day ends with it
        return (early + timedelta(days=1),)
    late = early + timedelta(hours=NOON)
    if "night" in parts and half < NIGHTLY and named.value <= NOON:  # past midnight
        return (late + timedelta(hours=NOON),)
    if named.value >= NOON or not LATE.isdisjoint(parts):
        return (late,)
    if "early" in parts or named.word.startswith("0"):
        return (early,)
    if half < WAKING and not is_so:
        return (late,)
    is_asleep = early >= timedelta(hours=ASLEEP) and at.hour < EVENING
    return (early, late) if soon and not is_asleep else (early,)


def without_doubt(times: values.Times) -> values.Times:
    """Return times without what may be none: `we`, `sam`, and in this week nothing."""
    return replace(times, weekdays=times.full_weekdays, spans=frozenset())
