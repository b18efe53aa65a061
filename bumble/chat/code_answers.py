"""What code knows and answers by itself: names, what was told, time, sums, reminders.

No model is asked, and nothing is promised that was not stored: a reminder is planned with the reply
that tells of it, or the reply says how to set it.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bumble.chat import memory_answer
from bumble.chat.memory_answer import Told
from bumble.chat.reply_writer import Heard, Reading, origin_of
from bumble.entity.changes import Change
from bumble.fallback import quotes
from bumble.fallback.templates import Templates
from bumble.guard import values
from bumble.records import base, reminders
from bumble.records.sessions import Message
from bumble.runtime.runtime import Runtime

MORNING = 9  # the hour of a reminder for which none was named
KNOWN, TALKED = 10, 6  # lines of what is known, and of what was said
# Questions that code can't answer; of memory all that code answers seems to be, too.
OTHER_QUESTIONS = {"ask_memory": 1.0, "ask_entity": 0.0, "ask_world": 0.0}
MOST_NUMBER = 10**15  # of a sum: what is larger is not written out
_OPERATORS: Mapping[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_PERCENT = re.compile(r"(?<!\d)(\d{1,12}(?:\.\d{1,6})?) ?% \w{1,3} (\d{1,12}(?:\.\d{1,6})?)")
_SUM = re.compile(r"[-(]?\s*\d[\d\s.+\-*/()]*[\d)]")


class CodeReply(Struct, frozen=True):
    """A reply that no model wrote, and what is to be written with it."""

    text: str
    about: str  # what was asked
    plan: Callable[[], Change | None] | None = None


def answer(runtime: Runtime, heard: Heard, reading: Reading, words: Templates) -> CodeReply | None:
    """Answer a message that code can answer; None: it can't."""
    said = reading.said
    if said.has("remind") and said.main not in ("ask_memory", "tell"):
        return _reminder(runtime, heard, reading, words)
    if said.has("calculate") and (result := calculated(heard.message.text, words.signs)):
        return CodeReply(result, "calculate")
    asked = max(ASKED, key=lambda intent: said.scores.get(intent, -1.0))
    others = [said.scores.get(intent, -1.0) - lead for intent, lead in OTHER_QUESTIONS.items()]
    if not said.has(asked) or said.scores[asked] < max(others):
        return None
    return CodeReply(ASKED[asked](runtime, heard, reading.language, words), asked)


def _name(runtime: Runtime, heard: Heard, language: str, words: Templates) -> str:
    """Say both names: who asks for one is not surely told from who asks for the other."""
    unnamed = heard.who.name.casefold() == "you"
    theirs = words.nameless if unnamed else words.name.format(who=heard.who.name)
    return f"{theirs} {words.self.format(name=runtime.identity.name)}"


def _clock(runtime: Runtime, heard: Heard, language: str, words: Templates) -> str:
    return words.clock.format(time=f"{runtime.now():%H:%M}", day=weekday(runtime.now(), words))


def weekday(at: datetime, words: Templates) -> str:
    """Write a day with its weekday."""
    return f"{words.weekdays[at.weekday()]}, {quotes.day(at, words, year=True)}"


def _known(runtime: Runtime, heard: Heard, language: str, words: Templates) -> str:
    told = memory_answer.heard(runtime, heard.session)
    kept = told.kept(heard.who.id)[:KNOWN]
    if not kept:
        return words.unknown
    return _listed(runtime, words.known, kept, words, told.older)


def _talked(runtime: Runtime, heard: Heard, language: str, words: Templates) -> str:
    told = memory_answer.heard(runtime, heard.session)
    start, end = _period(runtime, heard, language, told)
    said = memory_answer.said_on(runtime, told, heard.who.id, start, end)
    said = [message for message in said if message.id != heard.message.id]
    return _listed(runtime, words.talked, said[:TALKED], words) if said else words.silent


def _period(runtime: Runtime, heard: Heard, language: str, told: Told) -> tuple[datetime, datetime]:
    """Return the day that is asked for; without one, the last on which they talked before."""
    at = runtime.now()
    today = at.replace(hour=0, minute=0, second=0, microsecond=0)
    found = times(heard.message.text, language, at, past=True)
    past = [each for each in found if each[1].date() <= at.date()]
    if past:
        named = max(past, key=lambda each: len(each[0]))[1]  # "we" may be read as a Wednesday
        day = named.replace(hour=0, minute=0, second=0, microsecond=0)
        return day, day + timedelta(days=1)
    before = [
        message.at.astimezone(runtime.zone)
        for message in told.messages.values()
        if message.speaker == heard.who.id and message.at < today
    ]
    last = max(before, default=at)
    day = last.replace(hour=0, minute=0, second=0, microsecond=0)
    return day, day + timedelta(days=1)


def _listed(
    runtime: Runtime,
    head: str,
    said: list[Message],
    words: Templates,
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


ASKED: Mapping[str, Callable[[Runtime, Heard, str, Templates], str]] = {
    "ask_name": _name,
    "ask_known": _known,
    "ask_talk": _talked,
    "ask_time": _clock,
}


# reminders


def _reminder(runtime: Runtime, heard: Heard, reading: Reading, words: Templates) -> CodeReply:
    """Plan a reminder at the time that was named; without one say how to set it."""
    at, text = runtime.now(), heard.message.text
    found = times(text, reading.language, at)
    if reading.said.when:
        found += times(reading.said.when, reading.language, at, whole=True)
    found = [each for each in found if each[1] > at]
    named = max(found, key=lambda each: len(each[0]), default=None)
    due = named[1] if named and not _leaves_hour(reading, found) else None
    what = reading.said.what or text
    for said, _ in found:  # what is left of a reminder without its time
        start = what.find(said)
        what = f"{what[:start]} {what[start + len(said) :]}" if start >= 0 else what
    rows, said_words = what.split(), set(named[0].split()) if named else set()
    while rows and rows[0] in said_words:
        rows.pop(0)
    what = " ".join(rows).strip(" ,.;:!?") or text
    if due is None:
        return CodeReply(words.no_reminder.format(what=what.replace('"', "'")), "remind")
    reminder = reminders.new(
        base.new_id(reminders.PREFIX, at, runtime.rng),
        due,
        what,
        person=heard.who.id,
        deliver=reminders.SESSION,
        provenance=origin_of(runtime, heard),
    )
    shown = f"{quotes.day(due, words, year=due.year != at.year)}, {due:%H:%M}"
    return CodeReply(
        words.reminder.format(when=shown, what=what),
        "remind",
        lambda: reminders.plan_new(reminder, "remind them"),
    )


def _leaves_hour(reading: Reading, found: Sequence[tuple[str, datetime]]) -> bool:
    """Whether a number in words was not understood: `halb neun`, of which only the day was."""
    understood = {word for said, _ in found for word in said.casefold().split()}
    left = [word for word in reading.said.when.casefold().split() if word not in understood]
    return bool(values.read(" ".join(left), reading.language).numbers)


def times(
    text: str, language: str, at: datetime, *, past: bool = False, whole: bool = False
) -> list[tuple[str, datetime]]:
    """Find the times in a text as people say them, seen from a moment, each with its words.

    A day without an hour means nine in the morning.

    Args:
        text: What was said.
        language: Its code: `de`.
        at: The moment, with its zone.
        past: Whether they lie in the past, rather than ahead.
        whole: Whether all of the text is one.
    """
    from dateparser import parse  # slow to import, and seldom needed
    from dateparser.search import search_dates

    def found(base: datetime) -> list[tuple[str, datetime]]:
        settings = {
            "PREFER_DATES_FROM": "past" if past else "future",
            "RELATIVE_BASE": base.replace(tzinfo=None),
            "RETURN_AS_TIMEZONE_AWARE": False,
        }
        try:
            if whole:
                time = parse(text, languages=[language], settings=settings)
                return [(text, time)] if time else []
            return search_dates(text, languages=[language], settings=settings) or []
        except ValueError:  # a language that it doesn't know
            return []

    later = dict(found(at + timedelta(minutes=1)))
    rows = []
    for said, time in found(at):
        moved = later.get(said, time) - time
        whole_days = (time - at.replace(tzinfo=None)) % timedelta(days=1)
        named_none = not whole_days and moved == timedelta(minutes=1)  # it is the hour of now
        if named_none or (not any(map(str.isdigit, said)) and time.hour == time.minute == 0):
            time = time.replace(hour=MORNING, minute=0, second=0, microsecond=0)
        rows.append((said, time.replace(tzinfo=at.tzinfo)))
    return rows


# sums


def calculated(text: str, signs: Mapping[str, str]) -> str:
    """Work out the sum in a text; empty where there is none that is surely one.

    `signs` are the words for them: `times` is `*`.
    """
    line = re.sub(r"(?<=\d),(?=\d)", ".", text.casefold())
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
