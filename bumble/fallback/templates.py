"""The wordings of a language that no model writes: quotes, dates, headings, short replies.

One file of at most forty lines a language. A language without a file has its quotes with plain
dates, under headings in English; a reply that no file has is an honest line in English.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from bumble.text import yaml_read

FOLDER = Path(__file__).with_name("languages")
FIRST = "en"  # headings of a language without a file


class Wishes(Struct, frozen=True, forbid_unknown_fields=True):
    """What is said of reminders that are set, and to who wants something forgotten."""

    waiting: str  # before the reminders that are set
    none: str
    withdrawn: str
    stays: str  # what was told does, and what takes it out


class Templates(Struct, frozen=True, forbid_unknown_fields=True):
    """The wordings of one language; {…} are filled in."""

    # memories
    months: tuple[str, ...]
    day: str
    date: str
    marks: tuple[str, str]  # quotation marks
    quote: str
    newer: str  # between a correction and what it corrects
    since: str  # leads over to what is recalled and was put right
    met: str  # on the page of somebody
    summary: str  # before the lines that stand for a conversation's middle
    # talk
    weekdays: tuple[str, ...]
    today: str
    hello: str
    bye: str
    # by what they do, as the reader chooses; of several the next is one that was not just said
    replies: Mapping[str, tuple[str, ...]]
    self: str
    well: str  # to who asks how it is
    alive: str  # to who asks how it lives
    able: str  # to who asks what it can do
    told: str  # before quotes that answer
    unknown: str  # nothing that was told answers
    name: str
    nameless: str
    known: str  # before what is known of somebody
    talked: str  # before what was said
    silent: str  # nothing was said then
    clock: str
    reminder: str
    due: tuple[str, str]  # what a reminder is called when it is said: one's own, and a program's
    when: str  # to a wish for a reminder without a time
    what: str  # to a time alone
    wishes: Wishes
    no_reminder: str
    cannot: str  # a model would be needed
    signs: Mapping[str, str]  # the words of sums: `times` is `*`
    # words of the parts of a day
    hours: Mapping[str, Literal["early", "noon", "afternoon", "late", "night"]]
    times: Mapping[str, str] = {}  # of a script without spaces, its words for times in English
    every: tuple[str, ...] = ()  # words before a time that comes again and again
    foreign: str = ""  # the first reply to somebody whose language has no file


@cache
def load(language: str) -> Templates:
    """Return the wordings of a language; without a file of it, English ones with plain dates."""
    if has(language):
        return _read(language)
    return msgspec.structs.replace(_read(FIRST), day="{iso}", date="{iso}")


def _read(language: str) -> Templates:
    source = FOLDER.joinpath(f"{language}.yaml").read_text(encoding="utf-8")
    return msgspec.convert(yaml_read.parse_mapping(source), Templates)


def has(language: str) -> bool:
    """Whether there is a file of a language."""
    return language in languages()


@cache
def languages() -> frozenset[str]:
    """Return the codes of the languages there is a file of."""
    return frozenset(file.name.removesuffix(".yaml") for file in FOLDER.iterdir())
