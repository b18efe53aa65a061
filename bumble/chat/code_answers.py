"""What code knows and answers by itself: names, what was told, time, sums, reminders.

No model is asked, and nothing is promised that was not stored: a reminder is planned with the reply
that tells of it, or the reply asks when it is to be.
"""

from __future__ import annotations

import ast
import operator
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from bumble import patterns
from bumble.chat import memory_answer
from bumble.chat.reply_writer import Heard, Reading, origin_of
from bumble.entity.changes import Change
from bumble.fallback import quotes, templates
from bumble.guard import clock, values
from bumble.records import base, reminders
from bumble.records.sessions import Message
from bumble.runtime.runtime import Runtime
from bumble.text.words import folded, one_line, sentences

NOON = 12  # where hours begin anew
# Of a part of a day.
HOURS_OF = {"early": [reminders.MORNING], "noon": [NOON], "afternoon": [15], "late": [18, 21]}
LATE = frozenset(("afternoon", "late"))
LEAST_LETTERS = 4  # of a weekday cut short
WAKING = 6  # hours before it are of the afternoon, unless it is said
PERHAPS = -2.5  # how far below its cut-off a reminder with its time still is one
LEAST_NUMBERS = 2  # of a sum
PERCENT = {Decimal(100)}  # in a sum, though nobody said it
KNOWN, TALKED = 10, 6  # lines of what is known, and of what was said
MOST_NUMBER = 10**15  # of a sum: what is larger is not written out
_OPERATORS: Mapping[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_PERCENT = patterns.compile(r"(?<!\d)(\d{1,12}(?:\.\d{1,6})?) ?% \w{1,3} (\d{1,12}(?:\.\d{1,6})?)")
_WORD, _NUMBER = patterns.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*"), patterns.compile(r"\d+(?:\.\d+)?")
_COMMA = patterns.compile(r"(?<=\d),(?=\d)")
_SUM = patterns.compile(r"[-(]?\s*\d[\d\s.+\-*/()]*[\d)]")


class CodeReply(Struct, frozen=True):
    """A reply that no model wrote, and what is to be written with it."""

    text: str
    about: str  # what was asked
    plan: Callable[[], Change | None] | None = None


def answer(
    runtime: Runtime, heard: Heard, reading: Reading, words: templates.Templates
) -> CodeReply | None:
    """Answer a message that code can answer; None: it can't."""
    said = reading.said
    perhaps = said.main == "task" and said.scores.get("remind", -9.0) > PERHAPS and said.when
    # who tells something that is worth keeping answers no "when?"
    if said.keep <= 0 and (told := _asked_when(heard, words)):
        due = time_of(heard.message.text, heard.message.text, reading.language, runtime.now())
        if due is not None:
            before = runtime.memory.reader.read(told.text) if runtime.memory.reader else said
            return _planned(runtime, heard, due, one_line(before.what or told.text), words)
        if said.when:
            what = told.text.replace('"', "'")
            return CodeReply(words.no_reminder.format(what=one_line(what)), "remind")
    tells = said.main == "ask_memory" or (said.main == "tell" and not said.when)
    if (said.has("remind") or perhaps) and not tells:
        reply = _reminder(runtime, heard, reading, words)
        if reply.plan or said.has("remind"):
            return reply
    if said.has("calculate") and (result := calculated(heard.message.text, words.signs)):
        return CodeReply(result, "calculate")
    asked = max(ASKED, key=lambda intent: said.scores.get(intent, -1.0))
    if not said.has(asked):
        return None
    return CodeReply(ASKED[asked](runtime, heard, reading.language, words), asked)


def _name(runtime: Runtime, heard: Heard, language: str, words: templates.Templates) -> str:
    """Say both names: who asks for one is not surely told from who asks for the other."""
    who = heard.who.called
    theirs = words.name.format(who=who) if who else words.nameless
    return f"{theirs} {words.self.format(name=runtime.identity.name)}"


def _clock(runtime: Runtime, heard: Heard, language: str, words: templates.Templates) -> str:
    return words.clock.format(time=f"{runtime.now():%H:%M}", day=weekday(runtime.now(), words))


def weekday(at: datetime, words: templates.Templates) -> str:
    """Write a day with its weekday."""
    return f"{words.weekdays[at.weekday()]}, {quotes.day(at, words, year=True)}"


def _known(runtime: Runtime, heard: Heard, language: str, words: templates.Templates) -> str:
    told = memory_answer.heard(runtime, heard.session)
    kept = told.kept(heard.who.id)[:KNOWN]
    if not kept:
        return words.unknown
    return _listed(runtime, words.known, kept, words, told.older)


def _talked(runtime: Runtime, heard: Heard, language: str, words: templates.Templates) -> str:
    told = memory_answer.heard(runtime, heard.session)
    start, end = _period(runtime, heard, language, told)
    said = [
        message
        for message in told.messages.values()
        if message.speaker == heard.who.id
        and start <= message.at < end
        and not told.asks(message.id)
        and message.id != heard.message.id
    ]
    most = sorted(said, key=lambda one: told.worth(one.id), reverse=True)[:TALKED]
    chosen = [one for one in said if one in most]
    return _listed(runtime, words.talked, chosen, words) if said else words.silent


def _period(
    runtime: Runtime, heard: Heard, language: str, told: memory_answer.Told
) -> tuple[datetime, datetime]:
    """Return the day that is asked for; without one, the last on which they talked before."""
    at = runtime.now()
    today = at.replace(hour=0, minute=0, second=0, microsecond=0)
    named = values.read(heard.message.text, language).times
    past = [day for day in values.days_of(_full(named), at, vaguely=False) if day <= at.date()]
    before = [
        message.at.astimezone(runtime.zone).date()
        for message in told.messages.values()
        if message.speaker == heard.who.id and message.at < today
    ]
    day = max(past or before, default=at.date())
    start = today.replace(year=day.year, month=day.month, day=day.day)
    return start, start + timedelta(days=1)


def _full(times: values.Times) -> values.Times:
    """Return times without what may be none: `we`, `sam`, and in this week nothing."""
    return replace(times, weekdays=times.full_weekdays, spans=frozenset())


def _listed(
    runtime: Runtime,
    head: str,
    said: list[Message],
    words: templates.Templates,
    older: Callable[[str], Message | None] = lambda _: None,
) -> str:
    """List what was said, each with its day, and behind it what it may put right."""

    def quoted(message: Message) -> str:
        quote = quotes.of(message, runtime.zone)
        return f"{quotes.day(quote.at, words, year=False)}: {quotes.marked(quote.words, words)}"

    rows = []
    for message in said:
        row, before = quoted(message), older(message.id)
        rows.append(f"- {quotes.since(row, words)} {quoted(before)}" if before else f"- {row}")
    return "\n".join((head, *rows))


ASKED: Mapping[str, Callable[[Runtime, Heard, str, templates.Templates], str]] = {
    "ask_name": _name,
    "ask_known": _known,
    "ask_talk": _talked,
    "ask_time": _clock,
}


# reminders


def _reminder(
    runtime: Runtime, heard: Heard, reading: Reading, words: templates.Templates
) -> CodeReply:
    """Plan a reminder at the time that was named; without one ask when, or say how to set it."""
    at, text, when = runtime.now(), heard.message.text, reading.said.when
    # the sentences that say what to remind of, and when: "good night" beside is no time
    parts = [
        one
        for one in sentences(text)
        if (reading.said.what and reading.said.what in one) or (when and when in one)
    ]
    told = " ".join(parts or [text])
    near = told if when in told else f"{told} {when}"
    due = time_of(near, when, reading.language, at, wakes=not reading.said.what)
    what = _whole(reading.said.what, when, text) or text
    named = values.read(when, reading.language)
    is_time = bool(named.numbers) or named.times.are_there  # else a word that stands anywhere
    what = one_line(what.replace(when, " ", 1) if is_time else what).strip(" ,.;:!?") or text
    if due is None:
        return CodeReply(words.when, "remind")
    return _planned(runtime, heard, due, what, words)


def _planned(
    runtime: Runtime, heard: Heard, due: datetime, what: str, words: templates.Templates
) -> CodeReply:
    at = runtime.now()
    reminder = reminders.new(
        base.new_id(reminders.PREFIX, at, runtime.rng),
        due,
        what,
        person=heard.who.id,
        deliver=reminders.SESSION,
        provenance=origin_of(runtime, heard),
    )
    day = quotes.day(due, words, year=due.year != at.year)
    shown = f"{words.weekdays[due.weekday()]}, {day}, {due:%H:%M}"
    return CodeReply(
        words.reminder.format(when=shown, what=what),
        "remind",
        lambda: reminders.REMINDER.plan_new(reminder, "remind them"),
    )


def _asked_when(heard: Heard, words: templates.Templates) -> Message | None:
    """Return the wish for a reminder whose time was just asked for; None: it wasn't."""
    *_, wish, question, _ = (None, None, *heard.session.messages)
    if wish is None or question is None or question.text != words.when:
        return None
    return wish if wish.speaker == heard.message.speaker else None


def _whole(what: str, when: str, text: str) -> str:
    """Return what somebody is to be reminded of: all of its sentence where the time has another.

    Who asks for it in a sentence of its own says in the one before what there is to do.
    """
    holding = next((one for one in sentences(text) if what and what in one), "")
    return what if not holding or not when or when in holding else holding


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
    text, when = _apart(text, language), _apart(when, language)
    # half a time is another one: each of its words has to be known
    strange = set(values.unread(when, language)) - _hours_of_words(language).keys()
    if templates.has(language):  # whose words for hours are all known: the reader took too much
        when = _within(when, strange)
        strange &= set(values.unread(when, language))
    if strange or not when:
        return None
    near, whole = values.read(when, language), values.read(text, language)
    lapse = _lapse(when or text, near if when else whole, language)
    if lapse:
        return at + lapse
    parts, named = _parts(text, language), _parts(when, language)
    named_hour = next(
        (each for each in (*near.numbers, *whole.numbers) if each.kind == "clock"), None
    )
    bare = [  # an hour without a sign of it: `at 8`, `um 7`
        each
        for each in near.numbers
        if each.kind != "money"
        and each.claimed
        and each.hours
        and each.value not in near.times.ordinals
    ]
    if named_hour is None and "noon" not in parts and bare:
        named_hour = bare[0]
    # "tomorrow" that was cut out of "the day after tomorrow" is another day
    is_cut = not near.times.offsets <= whole.times.offsets
    days = (() if is_cut else _days(near.times, at) or _abbreviated(when, language, at)) or _days(
        _full(whole.times), at
    )
    if named_hour is None:
        if not (days or named) or (near.numbers and not near.times.are_there and not named):
            return None
        hours = tuple(timedelta(hours=hour) for part in named or parts for hour in HOURS_OF[part])
        hours = hours or (timedelta(hours=reminders.MORNING),)
    else:
        hours = _hours(named_hour, parts, soon=not days or days[0] == at.date(), wakes=wakes)
    days = days or [at.date(), at.date() + timedelta(days=1)]
    times = [datetime.combine(each, time(), at.tzinfo) + hour for each in days for hour in hours]
    return next((each for each in times if each > at), None)


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
    """Write a day and its part as two words: `Freitagabend`."""
    days = [day for day in values.calendar_words(language).weekdays if len(day) >= LEAST_LETTERS]
    parts = templates.load(language).hours
    joined = rf"\b({'|'.join(days)})({'|'.join(parts)})\b"
    return re.sub(joined, r"\1 \2", text, flags=re.IGNORECASE) if days else text


def _parts(text: str, language: str) -> list[str]:
    """Return the parts of a day that a text names."""
    hours = _hours_of_words(language)
    said = (hours.get(folded(word)) for word in _WORD.findall(text))
    return list(dict.fromkeys(filter(None, said)))


def _lapse(text: str, read: values.ReadText, language: str) -> timedelta | None:
    """Return the span of minutes or hours from now that a text names: `in half an hour`."""
    units = values.calendar_words(language).units
    spoken = [folded(word) for word in _WORD.findall(text)]
    for place, word in enumerate(spoken):
        if units.get(word, 1.0) < 1:
            part = [
                clock.PARTS[one] for one in spoken[max(0, place - 2) : place] if one in clock.PARTS
            ]
            if part:
                return timedelta(days=units[word] * float(part[0]))
    for number in read.numbers:
        if number.kind == "time" and number.unit_days < 1:
            return timedelta(days=float(number.value) * number.unit_days)
    return None


def _days(times: values.Times, at: datetime) -> list[date]:
    """Return the days ahead that times may name, the next first."""
    today = at.date()
    exact = {today + timedelta(days=first) for first, last in times.offsets if first == last >= 0}
    if not exact and (times.weekdays or times.dated or times.ordinals):
        week = timedelta(days=7 if times.next_week else 0)
        exact = {day for day in values.days_of(times, at) if day >= today + week}
    if not exact:
        exact = {today + timedelta(days=n) for n in times.spans if 0 < n < values.YEAR_DAYS}
    return sorted(exact)


def _abbreviated(when: str, language: str, at: datetime) -> list[date]:
    """Return the days whose weekday stands there cut short: `thurs`."""
    names = values.calendar_words(language).weekdays
    told = [folded(word) for word in _WORD.findall(when) if len(word) >= LEAST_LETTERS]
    cut = {day for name, day in names.items() for word in told if name.startswith(word)}
    return _days(values.Times(weekdays=frozenset(cut)), at) if len(cut) == 1 else []


def _hours(
    clock: values.Number, parts: Collection[str], *, soon: bool, wakes: bool
) -> tuple[timedelta, ...]:
    """Return which hours of a day a time of day may be, likeliest first."""
    half = min(clock.hours, key=lambda hour: abs(hour - clock.value % NOON))
    early, late = timedelta(hours=float(half)), timedelta(hours=float(half) + NOON)
    if clock.value >= NOON or not LATE.isdisjoint(parts):
        return (late,)
    if "early" in parts or clock.word.startswith("0"):
        return (early,)
    if half < WAKING and not wakes:
        return (late,)
    return (early, late) if soon else (early,)


# sums


def calculated(text: str, signs: Mapping[str, str]) -> str:
    """Work out the sum in a text; empty where there is none that is surely one.

    `signs` are the words for them: `times` is `*`.
    """
    line = _COMMA.sub(".", text.casefold())
    for words in sorted(signs, key=len, reverse=True):
        line = re.sub(rf"\b{re.escape(words)}\b", signs[words], line)
    if match := _PERCENT.search(line):
        return _written(float(match[1]) * float(match[2]) / 100)
    line = re.sub(r"(?<=\d)\s*[x×]\s*(?=\d)", "*", line).replace("÷", "/").replace("−", "-")
    sums = [match[0].strip() for match in _SUM.finditer(line)]
    sums = [each for each in sums if re.search(r"\d\s*[-+*/]\s*\(?\s*\d", each)]
    if len(sums) != 1:
        return ""
    try:
        return _written(_value(ast.parse(sums[0], mode="eval").body))
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, RecursionError):
        return ""


def worked_out(written: str, asked: str, language: str) -> str:
    """Work out a sum that a model wrote, with the sum; empty unless it has the numbers asked of."""
    written = _COMMA.sub(".", written.strip().strip("`= "))
    result = calculated(written, {})
    numbers = values.read(asked, language).numbers
    told = Counter(number.value for number in numbers if number.claimed)
    used = Counter(Decimal(one) for one in _NUMBER.findall(written))
    if not result or len(used) < LEAST_NUMBERS or told.keys() - used.keys():
        return ""
    if any(number not in PERCENT for number in used - told):  # each counts once
        return ""
    return f"{written} = {result}"


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    raise ValueError("no sum")


def _written(value: float) -> str:
    if abs(value) > MOST_NUMBER:
        return ""
    return str(int(value)) if value == int(value) else f"{value:.4f}".rstrip("0").rstrip(".")
