"""The name by which somebody introduces themselves in a message: "I'm Sam".

`introductions.yaml` has the words by language. All languages are tried: nothing else is known of
somebody who says hello. Knows nothing of who the entity knows.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Any

from bumble.text import stop_words, yaml_read

MAX_NAME_CHARS = 60
MOST_INITIALS = 2  # `JO` is a name, `TIRED` is shouted
MOST_GREETING_WORDS = 6  # before a name: `good evening Ada, my name is`
_PART = re.compile(r"(?<=[.!?,;:\n…])\s+")
# A clause begins, or a greeting without a mark goes before; nothing is quoted.
_HEAD = r"(?:^(?:[^\W\d_]+\s+){0,2}|[.!?,;:\n–—-]\s*|\b(?:and|und|et|y|e)\s+)"
_WORD = r"[^\W\d_][^\W\d_'’.-]*(?:['’-][^\W\d_]+)*"
_CAPITAL = r"(?=[^\W\d_])(?![a-zß-öø-ÿ])"  # signs without case pass, too
_MORE = rf"(?:\s{_CAPITAL}{_WORD}){{0,2}}"  # further names


def name_in(text: str) -> str:
    """Return the name somebody gives themselves; empty where nobody does, or it isn't clear."""
    line = text.replace("’", "'")
    for language in _data():
        name = _plain(language, line) or _greeting(language, line) or _loose(language, line)
        if name and len(name) <= MAX_NAME_CHARS:
            return name
    return ""


def is_bare(text: str) -> bool:
    """Whether a message tells a name, greets and asks, and tells nothing else."""
    name = name_in(text)
    if not name:
        return False
    before, _, after = text.casefold().partition(name.casefold())
    asks = [part for part in _PART.split(after.strip(" .!,;:\n")) if part]
    return len(before.split()) <= MOST_GREETING_WORDS and all(part.endswith("?") for part in asks)


def _plain(language: str, text: str) -> str:
    match = _patterns(language)[0].search(text)
    if match is None:
        return ""
    name = match["name"]
    if name != name.lower():
        return name
    return "" if name in stop_words.OF_LANGUAGE[language] else name.title()


def _greeting(language: str, text: str) -> str:
    """Return the name that stands behind a greeting: `hello ada, mira here`."""
    match = _greetings(language).search(text)
    if match is None:
        return ""
    name = match["after"] or match["before"]
    words = stop_words.words(f"{match['called'] or ''} {name}")
    if not stop_words.OF_LANGUAGE[language].isdisjoint(words):
        return ""
    if name != name.lower():
        return name
    return name.title() if match["mark"] else ""  # `hi come here`


def _loose(language: str, text: str) -> str:
    listed = _cues(language)["no_names"]
    for match in _patterns(language)[1].finditer(text):
        words = match["name"].casefold().split()
        shouted = match["name"].isupper() and len(match["name"]) > MOST_INITIALS
        if shouted or words[0] in stop_words.OF_LANGUAGE[language]:
            continue
        if not any(_fits(word, entry) for word in words for entry in listed):
            return match["name"]
    return ""


def _fits(word: str, entry: str) -> bool:
    return word.endswith(entry[1:]) if entry.startswith("*") else word == entry


@cache
def _data() -> dict[str, Any]:
    source = resources.files(__package__).joinpath("introductions.yaml")
    return dict(yaml_read.parse_mapping(source.read_text(encoding="utf-8")))


@cache
def _cues(language: str) -> dict[str, tuple[str, ...]]:
    return {cue: tuple(map(str, listed)) for cue, listed in _data()[language].items()}


@cache
def _patterns(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Make the patterns of a name after plain forms, and after loose ones."""
    cues, end = _cues(language), _end(language)

    def pattern(forms: tuple[str, ...], word: str) -> re.Pattern[str]:
        said = _any_of(forms)
        return re.compile(rf"{_HEAD}(?i:{said})\s+(?P<name>{word}{_MORE}){end}")

    return pattern(cues["plain"], _WORD), pattern(cues["loose"], _CAPITAL + _WORD)


@cache
def _greetings(language: str) -> re.Pattern[str]:
    """Make the pattern of a name behind a greeting, and perhaps behind who is greeted."""
    cues = _cues(language)
    greeted = rf"\b(?i:{_any_of(cues['greets'])})(?:\s+(?P<called>{_WORD}))?"
    lead = rf"{greeted}\s*(?P<mark>[.,!;:–—-]*)\s+"
    article = rf"(?i:(?:{_any_of(cues['articles'])})\s+)?" if cues["articles"] else ""
    after = rf"{article}(?P<after>{_WORD}{_MORE})\s+(?i:{_any_of(cues['here'])})"
    before = rf"(?i:{_any_of(cues['here_is'])})\s+{article}(?P<before>{_CAPITAL}{_WORD}{_MORE})"
    return re.compile(rf"{lead}(?:{after}|{before}){_end(language)}")


def _end(language: str) -> str:
    """Return the pattern of what may follow a name."""
    then = "|".join(re.escape(word) for word in _cues(language)["then"])
    return rf"(?=\s*(?:[.,!?;:)\n…–—]|$)|\s+(?:{then})\b|\s+[^\w\s])"


def _any_of(forms: tuple[str, ...]) -> str:
    """Return the pattern of any of some words, however they are set apart."""
    longest = sorted(forms, key=len, reverse=True)
    return "|".join(re.escape(form).replace(r"\ ", r"\s+") for form in longest)
