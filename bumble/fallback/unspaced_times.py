"""Times in scripts without spaces, written as English: 明日の朝9時半 is `tomorrow morning 9:30`.

What isn't known stays in its own script, and so is a strange word to who reads the time.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from bumble import patterns
from bumble.fallback import templates
from bumble.guard import number_words
from bumble.guard.values import MONTH_NAMES, UNIT_DAYS
from bumble.text import stop_words

ENGLISH = "en"
_DIGIT = "[〇零一二两兩三四五六七八九]"
_NUMERAL = patterns.compile(
    rf"(?:{_DIGIT}?十{_DIGIT}?|{_DIGIT}+)(?=[個个か箇ヶカ時时點点分日号號天年月週周小刻星礼鐘])"
)
_COUNTER = "[個个か箇ヶカ]?"
_DAY = patterns.compile(r"(?:(\d{4})年)?(\d{1,2})月(\d{1,2})[日号號]?")
_DAY_OF_MONTH = patterns.compile(r"(?<!\d)(\d{1,2})[日号號](?![間间後后中回\d])")
_CLOCK = patterns.compile(
    r"(?<!\d)(\d{1,2})(?:[点點][钟鐘整]|[時时點点](?!間))(?:(\d{1,2})分?|([半123]刻?))?(?![\d分刻前])"
)
_WRITTEN = patterns.compile(r"(?<!\d)\d{1,2}:\d\d(?!\d)")
_QUARTERS = {"半": 30, "1刻": 15, "2刻": 30, "3刻": 45}
_JOINT = patterns.compile(r"(?<=[a-z\d]) *[のにはで的在、,]+ *(?=[a-z\d])")
_ENDS = "のにはで的在、。,!！ "
_KANA = patterns.compile("[\u3040-\u30ff]")
_BACKWARD = patterns.compile(r"\d|\A.{0,2}前")  # beside a time it may say another: 9時の5分前


def of_text(text: str, language: str) -> tuple[str, str]:
    """Return a text with its times written in another language, and which that is.

    A text that has spaces, or no words for times, stays as it is.
    """
    if not stop_words.is_unspaced(text):
        return text, language
    if not templates.load(language).times:
        language = "ja" if _KANA.search(text) else "zh"
    words, units = _patterns(language)
    times = templates.load(language).times
    text = unicodedata.normalize("NFKC", text)
    text = words.sub(lambda found: f" {times[found[0]]} ", text)
    text = _NUMERAL.sub(lambda found: number_words.of_han(found[0], shortened=False), text)
    text = _DAY.sub(_date, text)
    text = units.sub(lambda found: f" in {_span(found[1], language)} ", text)
    text = _CLOCK.sub(_hour, text)
    text = _WRITTEN.sub(r" \g<0> ", text)
    text = _DAY_OF_MONTH.sub(r" \1th ", text)
    return " ".join(_JOINT.sub(" ", text).split()), ENGLISH


def of_mark(text: str, when: str, language: str) -> tuple[str, str, str]:
    """Return a text, the part of it that names a time, whole, and their language, likewise."""
    has_times = templates.load(language).times and stop_words.is_unspaced(text)
    if not when or not (has_times or stop_words.is_unspaced(when)):
        return text, when, language
    text, marked = of_text(text, language)[0], of_text(when, language)[0].split()
    runs, known = [list[str]()], list[bool]()
    for word in text.split():
        known.append(word.isascii())
        if known[-2:-1] == [not known[-1]]:
            runs.append([])
        runs[-1].append(word)
    likely = max(runs, key=lambda run: len({*run} & {*filter(str.isascii, marked)}))
    if not likely[0].isascii():
        likely = next((run for run in runs if run[0].isascii()), [])
    place = runs.index(likely) if likely else 0
    beside = [word for run in (runs[max(0, place - 1) : place + 2]) for word in run]
    strange = [
        word
        for word in (one.strip(_ENDS) for one in (*marked, *filter(_BACKWARD.search, beside)))
        if word and not word.isascii() and any(word in one for one in text.split())
    ]
    return text, " ".join((*likely, *strange)), ENGLISH


@cache
def _patterns(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what finds the words for times, and what finds spans from now."""
    times = templates.load(language).times
    units = [word for word, english in times.items() if english in UNIT_DAYS]
    names = sorted({*times} - {*units}, key=len, reverse=True)
    unit = "|".join(sorted(units, key=len, reverse=True))
    span = rf"(?:\d+(?:\.\d+)?{_COUNTER}半?|半{_COUNTER})(?:{unit})半?"
    return re.compile("|".join(names)), re.compile(rf"((?:{span})+)(?:以|之)?[後后]")


def _span(said: str, language: str) -> str:
    """Write a span: 1時間半 is `1 and a half hour`."""
    times = templates.load(language).times
    parts = re.findall(rf"(\d[\d.]*)?{_COUNTER}(半?){_COUNTER}([^\d半]+)(半?)", said)
    return " ".join(
        f"{count} {'and a half ' if half or later else ''}{times[unit]}"
        if count
        else f"half a {times[unit]}"
        for count, half, unit, later in parts
    )


def _date(found: re.Match[str]) -> str:
    year, month, day = found.groups()
    if not 1 <= int(month) <= len(MONTH_NAMES):
        return found[0]
    return f" {year}-{month}-{day} " if year else f" {day} {MONTH_NAMES[int(month) - 1]} "


def _hour(found: re.Match[str]) -> str:
    hour, minutes, part = found.groups()
    return f" {hour}:{_QUARTERS[part] if part else int(minutes or 0):02} "
