"""The people whom a message names by what they are to its speaker: "my sister Lena".

`spoken_of.yaml` has the words by language; without those of its language a message names nobody.
A name needs its capital letter, and what has one for another reason is none: a stub of a file for
a day of the week helps nobody. Knows nothing of who is known already.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

from bumble.text import stop_words, yaml_read

MOST = 3  # people of one message
_NAME = r"(?P<name>(?![a-zß-öø-ÿ])[^\W\d_]{2,}(?:-[^\W\d_]+)*)(?![^\W\d_]|-|\.\w)"
_DESCRIBING = r"(?:(?!\d)[\w'-]+\s+){0,2}?"  # "my older sister", "my sister's husband"


def names_in(text: str, language: str) -> tuple[str, ...]:
    """Return the names of those a message speaks of so, each once, in their order."""
    if language not in _data():
        return ()
    line = text.replace("’", "'")
    matches = [match for pattern in _patterns(language) for match in pattern.finditer(line)]
    matches.sort(key=lambda match: match.start("name"))
    names = dict.fromkeys(match["name"] for match in matches if _is_name(match["name"], language))
    return tuple(names)[:MOST]


def _is_name(word: str, language: str) -> bool:
    plain = word.casefold()
    listed = _data()[language]["no_names"]
    return not (
        not word[:1].isupper()
        or (word.isupper() and len(word) > 2)  # shouted
        or plain in stop_words.OF_LANGUAGE[language]
        or any(plain.endswith(entry[1:]) if entry[0] == "*" else plain == entry for entry in listed)
    )


@cache
def _data() -> dict[str, Any]:
    source = resources.files(__package__).joinpath("spoken_of.yaml")
    return dict(yaml_read.parse_mapping(source.read_text(encoding="utf-8")))


@cache
def _patterns(language: str) -> tuple[re.Pattern[str], ...]:
    """Make the patterns of a name: behind what somebody is, as what they are called, before it."""
    data = _data()[language]
    kin, blood = _either((*data["kin"], *data["blood"])), _either(data["blood"])
    is_, called = _either(data["is"]), _either(data["called"])
    after = rf"(?:\s+{_either(data['after'])})?" if data["after"] else ""
    own, one = (rf"(?<![\w'-])(?i:{_either(data[key])})\s+{_DESCRIBING}" for key in ("own", "one"))
    somebody = rf"(?i:{kin})(?![\w-])(?i:{after})"
    behind = rf"(?:\s+|(?='))(?i:{called})\s+"
    starts = (
        rf"(?:^|[.!?;:(\n–—-]\s*|\b(?i:{_either(data['before'])})\s+)" if "before" in data else ""
    )
    return (
        re.compile(rf"{starts}{own}{somebody},?\s+{_NAME}"),
        re.compile(rf"(?:{own}|{one}){somebody}{behind}{_NAME}"),
        re.compile(rf"(?:{own}|{one}){somebody},\s+{_NAME}(?=\s*(?:[.,!?;)]|$))"),
        re.compile(rf"(?<![\w'-]){_NAME}\s+(?i:{is_})\s+{own}(?i:{blood})(?![\w'-])"),
    )


def _either(phrases: Iterable[str]) -> str:
    longest = sorted(phrases, key=len, reverse=True)
    return f"(?:{'|'.join(re.escape(phrase) for phrase in longest)})"
