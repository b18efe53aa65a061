"""What code knows and answers by itself: names, what was told, time, sums, reminders.

No model is asked, and nothing is promised that was not stored: a reminder is planned with the reply
that tells of it, or the reply asks when it is to be.
"""

from __future__ import annotations

import ast
import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from msgspec import Struct

from bumble import patterns
from bumble.chat import memory_answer
from bumble.chat.reply_writer import Heard, Reading, origin_of
from bumble.entity.changes import Change
from bumble.fallback import due_time, notices, quotes, templates
from bumble.guard import corrections, values
from bumble.records import base, reminders
from bumble.records.sessions import Message
from bumble.runtime import schedule
from bumble.runtime.runtime import Runtime
from bumble.text import words as text_words
from bumble.text.words import one_line, sentences

PERHAPS = -2.5  # how far below its cut-off a reminder with its time still is one
VERBS = 2  # words of "what have I told you", beside what everybody says and the day
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
_NUMBER = patterns.compile(r"\d+(?:\.\d+)?")
_POINT = patterns.compile(r"\d+\.\d{3}")
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
    perhaps = said.main in ("task", "remind") and said.score("remind") > PERHAPS and said.when
    if notices.says_when(said) and (wish := notices.wish(runtime, heard.session, heard.message)):
        return _set(runtime, heard, reading, wish, words)
    if reply := _wished(runtime, heard, reading, words):
        return reply
    if (said.has("remind") or perhaps) and said.main != "ask_memory":
        reply = _reminder(runtime, heard, reading, words)
        if reply.plan or said.has("remind"):
            return reply
    if said.has("calculate") and (result := calculated(heard.message.text, words.signs)):
        return CodeReply(result, "calculate")
    asked = max(ASKED, key=lambda intent: said.scores.get(intent, -1.0))
    if _asks_of_day(heard, reading):
        asked = "ask_talk"
    elif not said.has(asked):
        return None
    return CodeReply(ASKED[asked](runtime, heard, reading.language, words), asked)


def _wished(
    runtime: Runtime, heard: Heard, reading: Reading, words: templates.Templates
) -> CodeReply | None:
    """Answer what is wished of what is kept: forgotten, listed, moved, taken back."""
    said = reading.said
    if said.has("forget"):
        return CodeReply(words.wishes.stays, "forget")
    others = max(said.score(name) for name in ("remind", "ask_known"))
    lists = said.has("ask_reminders") and said.main != "ask_world"
    lists = lists and others <= said.scores["ask_reminders"]
    if lists and not _asks_of_day(heard, reading):
        return _waiting(runtime, _set_for(runtime, heard), words)
    if not said.has("cancel", "move"):
        return None
    meant, is_sure = _meant(runtime, heard, reading.language)
    if said.has("move") and said.when and len(meant) == 1:
        return _set(runtime, heard, reading, notices.Wish(heard.message, meant[0]), words)
    if said.has("move") or not said.has("cancel"):
        return None
    has_time = said.when or values.read(heard.message.text, reading.language).times.are_there
    if len(meant) == 1 and is_sure and not has_time:  # else it may be another that is meant
        return CodeReply(
            words.wishes.withdrawn.format(what=one_line(meant[0].text)),
            "remind",
            lambda: reminders.REMINDER.plan_forget(meant[0], "it is not wanted any more"),
        )
    return _waiting(runtime, meant or _set_for(runtime, heard), words)


def _asks_of_day(heard: Heard, reading: Reading) -> bool:
    """Whether what was told on a day is asked for, with nothing that it is about: "hier ?"."""
    text, said = heard.message.text, reading.said
    may_be = said.main in ("ask_memory", "ask_talk") and said.score("ask_talk") > PERHAPS
    if not may_be or len(values.unread(text, reading.language)) > VERBS:
        return False
    times = due_time.without_doubt(values.read(text, reading.language).times)
    return bool(times.weekdays or any(last < 0 for _, last in times.offsets))


def _name(runtime: Runtime, heard: Heard, language: str, words: templates.Templates) -> str:
    """Say both names: who asks for one is not surely told from who asks for the other."""
    who = heard.who.called
    theirs = words.name.format(who=who) if who else words.nameless
    return f"{theirs} {words.self.format(name=runtime.identity.name)}"


def _clock(runtime: Runtime, heard: Heard, language: str, words: templates.Templates) -> str:
    return words.clock.format(
        time=f"{runtime.now():%H:%M}", day=quotes.weekday(runtime.now(), words, year=True)
    )


def _known(runtime: Runtime, heard: Heard, language: str, words: templates.Templates) -> str:
    told = memory_answer.heard(runtime, heard.session)
    kept = told.kept(heard.who.id)
    if not kept:
        return words.unknown
    most = sorted(kept, key=lambda one: told.worth(one.id), reverse=True)[:KNOWN]
    rows = _listed(runtime, words.known, [one for one in kept if one in most], words, told.older)
    left = len(kept) - len(most)
    return f"{rows}\n+{left}: `bumble show {heard.who.called or heard.who.id}`" if left else rows


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
    past = [
        day
        for day in values.days_of(due_time.without_doubt(named), at, vaguely=False)
        if day <= at.date()
    ]
    before = [
        message.at.astimezone(runtime.zone).date()
        for message in told.messages.values()
        if message.speaker == heard.who.id and message.at < today
    ]
    day = max(past or before, default=at.date())
    start = today.replace(year=day.year, month=day.month, day=day.day)
    return start, start + timedelta(days=1)


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
    at, text = runtime.now(), heard.message.text
    language = text_words.language(text, default=reading.language)
    ahead, text = _ahead(runtime, text, language)
    marked = reading.said.when
    if marked not in text:  # it was "an hour before"
        marked = runtime.memory.reader.read(text).when if runtime.memory.reader else ""
    when = due_time.widened(text, marked, language)
    # the sentences that say what to remind of, and when: "good night" beside is no time
    parts = [
        one
        for one in sentences(text)
        if (reading.said.what and reading.said.what in one) or (when and when in one)
    ]
    told = " ".join(parts or [text])
    near = told if when in told else f"{told} {when}"
    due = due_time.time_of(near, when, language, at, wakes=not reading.said.what)
    if ahead and due is not None:
        due = due - ahead if due - ahead > at else None
    what = _whole(reading.said.what, when, text) or text
    named = due_time.read(when, language)
    is_lapse = due_time.lapse(when, language) is not None
    # else a word that stands anywhere
    is_time = bool(named.numbers) or named.times.are_there or is_lapse
    what = one_line(what.replace(when, " ", 1) if is_time else what).strip(" ,.;:!?") or text
    if not reading.said.what and due_time.is_all(text, reading.language):
        return CodeReply(words.what, "remind")
    if due_time.repeats(when, reading.language):
        if ahead:
            return _how_to_set(runtime, what, words)
        return _repeated(runtime, heard, reading, when, what, words)
    if due is None:
        meant, _ = _meant(runtime, heard, reading.language)
        return _waiting(runtime, meant, words) if meant else CodeReply(words.when, "remind")
    return _planned(runtime, heard, due, what, words)


def _ahead(runtime: Runtime, text: str, language: str) -> tuple[timedelta, str]:
    """Return how long before its time a reminder is wished for, and the text without that."""
    reader, parts = runtime.memory.reader, sentences(text)
    for one in parts:
        ahead, rest = due_time.before(one, language)
        if ahead and (not parts[1:] or (reader is not None and reader.read(one).has("remind"))):
            return ahead, text.replace(one, rest)
    return timedelta(), text


def _set_for(runtime: Runtime, heard: Heard) -> list[reminders.Reminder]:
    return schedule.waiting(runtime.entity, heard.who.id, heard.session.people)


def _meant(runtime: Runtime, heard: Heard, language: str) -> tuple[list[reminders.Reminder], bool]:
    """Return the reminders that a message has most words of, and whether these surely name them.

    One common word does not: "Bea will call" names no reminder to call the dentist.
    """
    said, there = text_words.stems(heard.message.text, language), _set_for(runtime, heard)
    shared = {one.id: said & text_words.stems(one.text, language) for one in there}
    most = max(map(len, shared.values()), default=0)
    common = text_words.common(language, corrections.COMMON_WORDS)
    found = [one for one in there if most and len(shared[one.id]) == most]
    is_sure = most > 1 or any(shared[one.id] - common for one in found)
    return found, is_sure or any(text_words.stems(one.text, language) <= said for one in found)


def _waiting(
    runtime: Runtime, there: Sequence[reminders.Reminder], words: templates.Templates
) -> CodeReply:
    """List reminders, and how each is removed."""
    rows = [
        f"- {_moment(one.at.astimezone(runtime.zone), runtime, words)}: {one_line(one.text)}"
        f" (`bumble remind remove {one.id}`)"
        for one in there
    ]
    return CodeReply(
        "\n".join((words.wishes.waiting, *rows)) if rows else words.wishes.none, "remind"
    )


def _repeated(
    runtime: Runtime,
    heard: Heard,
    reading: Reading,
    when: str,
    what: str,
    words: templates.Templates,
    before: reminders.Reminder | None = None,
) -> CodeReply:
    """Plan a reminder that comes again and again, or say how to set it."""
    cron = due_time.schedule(when, reading.language, runtime.now())
    all_said = due_time.read(heard.message.text, reading.language)
    read = due_time.read(when, reading.language)
    hours = (
        {one.hours for one in each.numbers if one.kind == "clock"} for each in (all_said, read)
    )
    more = all_said.times.full_weekdays > read.times.full_weekdays  # the reader took too little
    if not cron or more or len({*map(frozenset, hours)}) > 1:
        return _how_to_set(runtime, what, words)
    due = schedule.following(cron, runtime.now(), runtime.zone)
    return _planned(runtime, heard, due, what, words, before, cron, f" ({one_line(when)})")


def _how_to_set(runtime: Runtime, what: str, words: templates.Templates) -> CodeReply:
    at = f"{runtime.now() + timedelta(days=1):%Y-%m-%dT09:00}"
    return CodeReply(words.no_reminder.format(what=what.replace('"', "'"), at=at), "remind")


def _set(
    runtime: Runtime, heard: Heard, reading: Reading, wish: notices.Wish, words: templates.Templates
) -> CodeReply:
    """Plan a reminder whose time was asked for, or move the one that was set just before."""
    at, told = runtime.now(), wish.message.text
    text = reading.said.when or heard.message.text
    what = wish.reminder.text if wish.reminder else one_line(reading.said.what or told)
    named = due_time.read(text, reading.language)
    is_lapse = due_time.lapse(text, reading.language) is not None
    if wish.reminder and not (named.times.are_there or is_lapse):  # another hour of the same day
        at = max(at, wish.reminder.at.astimezone(runtime.zone).replace(hour=0, minute=0))
    due = due_time.time_of(text, text, reading.language, at)
    if due_time.repeats(text, reading.language):
        return _repeated(runtime, heard, reading, text, what, words, wish.reminder)
    repeat = wish.reminder.repeat if wish.reminder else ""
    is_later = is_lapse and not due_time.is_from_now(text, reading.language)  # "an hour later"
    if (
        due is None
        or (wish.reminder and is_later)
        or (repeat and (named.times.are_there or is_lapse))
    ):
        return _how_to_set(runtime, what, words)
    if wish.reminder and repeat:  # at another hour each time
        repeat = f"{due.minute} {due.hour} {' '.join(wish.reminder.repeat.split()[2:])}"
        due = schedule.following(repeat, runtime.now(), runtime.zone)
    return _planned(runtime, heard, due, what, words, wish.reminder, repeat)


def _planned(
    runtime: Runtime,
    heard: Heard,
    due: datetime,
    what: str,
    words: templates.Templates,
    before: reminders.Reminder | None = None,
    repeat: str = "",
    each: str = "",
) -> CodeReply:
    """Plan a reminder, or another time for one that was there before."""
    at = runtime.now()

    def plan() -> Change | None:
        if before:
            new = {"at": due, "repeat": repeat} if repeat else {"at": due}
            return reminders.REMINDER.plan_edit(before, new, "remind them then")
        reminder = reminders.new(
            base.new_id(reminders.REMINDER.prefix, at, runtime.rng),
            due,
            what,
            repeat=repeat,
            person=heard.who.id,
            deliver=reminders.SESSION,
            provenance=origin_of(runtime, heard),
        )
        return reminders.REMINDER.plan_new(reminder, "remind them")

    shown = f"{_moment(due, runtime, words)}{each}"
    return CodeReply(words.reminder.format(when=shown, what=what), "remind", plan)


def _moment(at: datetime, runtime: Runtime, words: templates.Templates) -> str:
    return quotes.weekday(at, words, year=at.year != runtime.now().year, timed=True)


def _whole(what: str, when: str, text: str) -> str:
    """Return what somebody is to be reminded of: all of its sentence where the time has another.

    Who asks for it in a sentence of its own says in the one before what there is to do.
    """
    holding = next((one for one in sentences(text) if what and what in one), "")
    return what if not holding or not when or when in holding else holding


# sums


def calculated(text: str, signs: Mapping[str, str]) -> str:
    """Work out the sum in a text; empty where there is none that is surely one.

    `signs` are the words for them: `times` is `*`.
    """
    line = _COMMA.sub(".", text.casefold())
    for words in sorted(signs, key=len, reverse=True):
        line = re.sub(rf"\b{re.escape(words)}\b", signs[words], line)
    if (match := _PERCENT.search(line)) and len(_NUMBER.findall(line)) == LEAST_NUMBERS:
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
    told = Counter[Decimal]()
    for number in values.read(asked, language).numbers:
        if number.claimed:
            word = _COMMA.sub(".", number.word)  # "1.260" is one thousand, but in English
            is_point = language == "en" and _POINT.fullmatch(number.word)
            amount = Decimal(word) if is_point else number.value
            written = re.sub(rf"(?<![\d.]){re.escape(word)}(?![\d.])", f"{amount}", written)
            told[amount] += 1
    result = calculated(written, {})
    used = Counter(Decimal(one) for one in _NUMBER.findall(written))
    # each counts once; where a share goes off or comes on top one may stand there again
    more = {number: count for number, count in (used - told).items() if number not in PERCENT}
    is_share = PERCENT & used.keys() and {"+", "-"} & set(written)
    strange = more if not is_share or more.keys() - told.keys() or sum(more.values()) > 1 else {}
    if not result or len(used) < LEAST_NUMBERS or told.keys() - used.keys() or strange:
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
