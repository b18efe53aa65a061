"""The language files: by which words a message shows what it is, one file a language.

`languages/xx.yaml` lists phrases (`phrases`) under each cue; docs/languages.md says what the cues
are for. A language without a file has none of them: what needs no language is left (`rules`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

from msgspec import Struct, field

from bumble.choosing import phrases
from bumble.text import yaml_read
from bumble.text.phrase_lookup import Patterns

FOLDER = resources.files(__package__).joinpath("languages")
CUES = (
    "laughs",
    "earnest",
    "jests",
    "things",
    "roles",
    "creatures",
    "offices",
    "riddles",
    "imagined",
    "maybe",
    "requested",
    "questions",
    "lookups",
    "wondering",
    "found_out",
    "sayings",
    "reports",
    "not_reports",
    "tasks",
    "small",
    "passing",
    "moments",
    "own",
    "kin",
    "names",
    "life",
    "taste",
    "decided",
    "lasting",
    "dates",
    "clock",
    "changed",
    "not_changed",
    "confided",
    "not_confided",
    "feelings",
    "feels",
    "pangs",
    "holds",
    "felt",
    "strengths",
    "not_feeling",
)


class Spellings:
    """Words that people type in haste, or in dialect, with what is written for them."""

    def __init__(self, written: Mapping[str, str]) -> None:
        """Set up.

        Args:
            written: What is written, by what is typed: `what` by `wot`.
        """
        self._written = written
        typed = "|".join(map(re.escape, sorted(written, key=len, reverse=True)))
        # not the parts of a phrase: `a/b`, `{list}`, `word*`, `word?`
        alone = rf"(?<![\w'’*/{{])(?:{typed or '(?!)'})(?![\w'’*/}}]|\?\s)"
        self._pattern = re.compile(alone, re.IGNORECASE)

    def mended(self, text: str) -> str:
        """Return a text as it is written."""
        return self._pattern.sub(lambda hit: self._written.get(hit[0].casefold(), hit[0]), text)


class Language(Struct, frozen=True):
    """The cues of one language."""

    joins: bool = True  # whether an apostrophe joins what it parts
    patterns: Mapping[str, re.Pattern[str]] = field(default_factory=dict)  # by cue
    laughing: tuple[str, ...] = ()  # syllables that are laughed: `ha`
    numbers: frozenset[str] = frozenset()  # words for numbers, folded: `zwei`
    spellings: Spellings = field(default_factory=lambda: Spellings({}))

    def spelled(self, text: str) -> str:
        """Return a text with what people type in haste, or in dialect, as it is written."""
        return self.spellings.mended(text)

    def line(self, text: str) -> str:
        """Return a text as the patterns take it."""
        return phrases.line(self.spelled(text), joins=self.joins)

    def hits(self, cue: str, line: str) -> list[re.Match[str]]:
        """Return where a cue shows in a line."""
        pattern = self.patterns.get(cue)
        return [] if pattern is None else list(pattern.finditer(line))

    def has(self, cue: str, line: str) -> bool:
        """Whether a cue shows in a line, beside what only looks like it."""
        pattern = self.patterns.get(cue)
        return pattern is not None and pattern.search(self.beside(cue, line)) is not None

    def beside(self, cue: str, line: str) -> str:
        """Return a line without what only looks like a cue: `don't tell me`, of `don't tell`."""
        outside = self.patterns.get(f"not_{cue}")
        return outside.sub(" ", line) if outside else line


UNKNOWN = Language()  # a language without a file


def codes() -> tuple[str, ...]:
    """Return the languages there is a file of."""
    names = sorted(file.name for file in FOLDER.iterdir())
    return tuple(name.removesuffix(".yaml") for name in names if name.endswith(".yaml"))


@cache
def load(code: str) -> Language:
    """Return the cues of a language, `de`; `UNKNOWN` without a file of it."""
    if code not in codes():
        return UNKNOWN
    source = FOLDER.joinpath(f"{code}.yaml").read_text(encoding="utf-8")
    return parse(source)


def parse(source: str, names: Sequence[str] = CUES) -> Language:
    """Read the text of a language file.

    Args:
        source: The text.
        names: Of the cues it may have.

    Raises:
        ValueError: If it is not what it should be, with what is wrong.
    """
    data = yaml_read.parse_mapping(source)
    joins = data.get("apostrophes", "join") != "split"
    if unknown := set(data) - {"apostrophes", "fillers", "laughing", "lists", "spellings", *names}:
        raise ValueError(f"unknown cues: {', '.join(sorted(unknown))}")
    spellings = _spellings(data.get("spellings", {}))
    fillers = _listed(data, "fillers")
    named = data.get("lists", {})
    if not isinstance(named, Mapping):
        raise ValueError("`lists` should be lists of phrases by their names")
    cues = {cue: _listed(data, cue) for cue in names if cue in data}
    lists = {**cues, **{name: _listed(named, name) for name in named}}
    lists = {name: tuple(map(spellings.mended, listed)) for name, listed in lists.items()}
    return Language(
        joins=joins,
        patterns=Patterns(
            {cue: phrases.source(lists[cue], fillers, joins=joins, lists=lists) for cue in cues}
        ),
        laughing=_listed(data, "laughing"),
        numbers=frozenset(
            phrases.line(word, joins=joins).strip(" .") for word in lists.get(phrases.NUMBERS, ())
        ),
        spellings=spellings,
    )


def _spellings(listed: object) -> Spellings:
    if not isinstance(listed, Mapping) or not all(isinstance(row, str) for row in listed.values()):
        raise ValueError("`spellings` should be words, each with what is typed for it")
    typed = {
        word.strip().casefold(): written
        for written, row in listed.items()
        for word in row.split(",")
    }
    return Spellings(typed)


def _listed(data: Mapping[str, object], key: str) -> tuple[str, ...]:
    lines = data.get(key, [])
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise ValueError(f"`{key}` should be a list of phrases with commas between")
    return tuple(entry.strip() for line in lines for entry in line.split(",") if entry.strip())
