"""The text of a dream as the model wrote it: fragments and thread, and their limits.

Asked for two parts, FRAGMENTS and THREAD, models write them in many ways: with Markdown headings,
in bold, with bullets or numbers, after thinking aloud. All of these are taken.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from bumble.llm.marks import ThinkFilter
from bumble.text.words import one_line, shorten

MIN_FRAGMENTS, MAX_FRAGMENTS = 3, 6
FRAGMENT_MAX_CHARS = 240
THREAD_MAX_CHARS = 500
_HEADING = re.compile(
    r"[\W\d_]*(?:the |hidden |dream |part \d\W*)*(fragments?|threads?)\b"
    r"(?:\s*\([^)]*\))?[\s*_\])]*(?:[:：]|\s[-–—]\s|$)[\s*_]*(.*)",
    re.IGNORECASE,
)
_MARKER = re.compile(
    r"(?:[-*+•·–—>#|]+\s+|\(?\d{1,2}[.)]\s+|\[?fragment\s*\d{1,2}\]?[.:)\s-]*|\[dream\]\s*|[•·—–])",
    re.IGNORECASE,
)
_QUOTES = "\"'“”‘’«»„`*_ \t"


class Dreamt(Struct, frozen=True):
    """The two parts, as far as they are there."""

    fragments: tuple[str, ...] = ()  # at most MAX_FRAGMENTS, a line each
    thread: str = ""  # one line, at most THREAD_MAX_CHARS

    @property
    def whole(self) -> bool:
        """Whether both parts are there as they were asked for."""
        return len(self.fragments) >= MIN_FRAGMENTS and bool(self.thread)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to keep."""
        return not self.fragments and not self.thread

    def filled(self, other: Dreamt) -> Dreamt:
        """Return this dream with what it lacks taken from another try."""
        longer = max(self.fragments, other.fragments, key=len)
        enough = self.fragments if len(self.fragments) >= MIN_FRAGMENTS else longer
        return replace(self, fragments=enough, thread=self.thread or other.thread)


def parse(text: str) -> Dreamt:
    """Read the parts of an answer; a part that is not there is empty."""
    parts: dict[str, list[str]] = {"": [], "fragment": [], "thread": []}
    part = ""
    for line in _visible(text).splitlines():
        heading = _HEADING.fullmatch(line.strip())
        if heading:
            part = heading[1].casefold().removesuffix("s")
            line = heading[2]
        if line.strip():
            parts[part].append(line.strip())
        elif part == "thread" and parts[part]:
            part = ""  # what follows the sentence is talk about it
    listed = [line for line in parts[""] if _MARKER.match(line)]  # no heading, but a list
    rows = parts["fragment"] or (listed if parts["thread"] else [])
    return Dreamt(_fragments(rows), _thread(parts["thread"]))


def _visible(text: str) -> str:
    """Return what is not reasoning; all of it, if the reasoning was never closed."""
    tags = ThinkFilter()
    tags.feed(text)
    tags.finish()
    return tags.text


def _fragments(rows: Sequence[str]) -> tuple[str, ...]:
    plain = (
        shorten(_plain(row), FRAGMENT_MAX_CHARS, at_word=True)
        for row in rows
        if not row.startswith("```")
    )
    return tuple(dict.fromkeys(line for line in plain if re.search(r"\w", line)))[:MAX_FRAGMENTS]


def _thread(rows: Sequence[str]) -> str:
    line = _plain(" ".join(row for row in rows if not row.startswith("```")))
    return (
        shorten(line.replace("*", ""), THREAD_MAX_CHARS, at_word=True)
        if re.search(r"\w", line)
        else ""
    )


def _plain(line: str) -> str:
    """Strip bullets, numbers, emphasis and quotation marks, however they are nested."""
    line, before = one_line(re.sub(r"(\*{1,3}|__)(.+?)\1", r"\2", line)), ""
    while line != before:
        before = line
        line = _MARKER.sub("", line, count=1) if _MARKER.match(line) else line
        line = line.strip(_QUOTES).lstrip("#>-+=|<~ ")
    return line
