"""The wordings of a language: titles, sentences, dates, replies; an owner may change each.

They stand in `languages/`, a file a language with a section for each purpose. `forms/xx.yaml` in an
entity's folder overrules key by key; one that can't be read is left out, and that is said once. A
language without a file of ours starts from English. Knows nothing of what is worded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from string import Formatter
from typing import Annotated, Any

from msgspec import Struct, field

from bumble import files
from bumble.body.config import Emotion
from bumble.errors import RecordInvalidError, UnsafePathError
from bumble.records import base
from bumble.text import schema, words, yaml_read
from bumble.text.schema import Length, Names, ValueProblem

SHIPPED = resources.files(__package__).joinpath("languages")
FOLDER = "forms"  # of an entity
FIRST = "en"  # what a language without a file of ours starts from
_warned: set[str] = set()


class Slots(Struct, frozen=True):
    """A text that is filled in with some values."""

    names: tuple[str, ...]

    def holds(self, value: str) -> bool:
        """Tell whether all that the text asks for is among them."""
        try:
            asked = [name for _, name, _, _ in Formatter().parse(value) if name is not None]
        except ValueError:
            return False
        return set(asked) <= set(self.names)

    def __str__(self) -> str:
        if not self.names:
            return "without {…}"
        return f"with no {{…}} but {', '.join(f'{{{name}}}' for name in self.names)}"


Plain = Annotated[str, Slots(())]
Named = Annotated[str, Slots(("name",))]


class MemoryForms(Struct, frozen=True, dict=True):
    """How memories are worded that no model writes."""

    months: Annotated[tuple[str, ...], Length((12,))]
    day: Annotated[str, Slots(("day", "month"))]
    date: Annotated[str, Slots(("day", "month", "year"))]
    quotation_marks: Annotated[tuple[str, ...], Length((2,))]
    quote: Annotated[str, Slots(("name", "date", "words"))]
    newer: Plain  # between a correction and what it corrects
    since: Annotated[str, Slots(("words",))]  # leads over to what is recalled and was put right
    account: Named  # headings of a portrait: what somebody told, and what only some may hear
    confidences: Named
    audience: Annotated[str, Slots(("people",))]  # who may hear it
    diary: Named  # before the quotes of an entry
    subject: Plain  # headings of a brief
    spoken: Plain
    asked: Plain
    story: Plain  # heading of the narrative
    summary: Plain  # before the lines that stand for a conversation's middle
    dream: Annotated[str, Slots(("first", "second"))]  # two memories side by side
    automation: Annotated[str, Slots(("task", "date"))]  # an entry of the diary
    grown: Annotated[str, Slots(("count", "total"))]  # reasons of what is proposed by rule
    topical: Plain
    passing: tuple[str, ...] = ()  # rows of words that stand in any talk, and tell nothing
    emotions: Mapping[Emotion, str] = field(default_factory=dict)  # words that name each
    left: Mapping[Emotion, str] = field(default_factory=dict)  # what a conversation left behind

    @cached_property
    def passing_words(self) -> frozenset[str]:
        """The words that stand in any talk, folded."""
        return frozenset(words.folded(word) for row in self.passing for word in row.split())


# What a message is, as far as its wording tells: what a reply is worded for.
ACTS = (
    *("greeting", "thanks", "goodbye", "wellbeing", "self", "likes", "origin"),
    *("knows", "clock", "told_me", "told_by", "noted", "before", "nearest", "or", "unknown"),
    *("prying", "opinion", "question", "request", "done", "tried", "confided", "heavy"),
    *("bad", "good", "joke", "correction", "hypothetical", "plan", "telling"),
)
Act = Annotated[str, Names(ACTS)]
# A reply is one wording of each part.
Parts = tuple[
    tuple[Annotated[str, Slots(("who", "name", "said", "time", "day", "when", "quote"))], ...], ...
]


class DayForms(Struct, frozen=True):
    """How the day of something that was said is named within a sentence."""

    today: Plain
    yesterday: Plain
    date: Annotated[str, Slots(("date",))]


class TalkForms(Struct, frozen=True):
    """How the entity answers where no model may write."""

    draws: tuple[Act, ...]  # acts that a model which may choose answers first
    today: Annotated[str, Slots(("day", "time"))]
    remembers: Plain
    weekdays: Annotated[tuple[str, ...], Length((7,))]
    at: DayForms
    acts: Mapping[Act, Parts]


class Forms(Struct, frozen=True):
    """The wordings of one language, by purpose."""

    memory: MemoryForms
    talk: TalkForms


def load(language: str, root: Path, tell: Callable[[str], None] = lambda _: None) -> Forms:
    """Return the wordings of a language for an entity.

    Args:
        language: Its code: `de`.
        root: The entity's folder, whose own wordings go first.
        tell: Hears, once, of a file there that can't be used.
    """
    try:
        own = _own(root, language)
        return _built(language) if own is None else _overruled(language, own)
    except RecordInvalidError as error:
        _warn(f"{error}; the wordings that come with bumble are used instead", tell)
    except UnsafePathError as error:
        _warn(str(error), tell)
    return _built(language)


def _warn(problem: str, tell: Callable[[str], None]) -> None:
    if problem not in _warned:
        _warned.add(problem)
        tell(problem)


def _own(root: Path, language: str) -> tuple[Path, str] | None:
    """Return the entity's own file of a language, with its text; None if it has none."""
    if not base.is_id(language):
        return None
    file = files.inside(root, f"{FOLDER}/{language}.yaml")
    return (file, base.read_text(file)) if file.is_file() else None


def _overruled(language: str, own: tuple[Path, str]) -> Forms:
    """Put an entity's wordings over those that come with bumble.

    Raises:
        RecordInvalidError: If they are none.
    """
    file, source = own
    try:
        values = yaml_read.parse_mapping(source)
        schema.check(Forms, values)
        return schema.build(Forms, _merged(_shipped(language), values))
    except yaml_read.SourceError as error:
        raise RecordInvalidError(file, str(error), error.line) from error
    except ValueProblem as error:
        plain_keys = [key.partition("[")[0] for key in error.keys]
        line = yaml_read.line_of(source, plain_keys)
        raise RecordInvalidError(file, str(error), line) from error


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merged(merged[key], value) if both else value
    return merged


@cache
def _built(language: str) -> Forms:
    return schema.build(Forms, _shipped(language))


@cache
def _shipped(language: str) -> Mapping[str, Any]:
    """Read the wordings that come with bumble."""
    name = language if language in languages() else FIRST
    return yaml_read.parse_mapping(SHIPPED.joinpath(f"{name}.yaml").read_text(encoding="utf-8"))


def has(language: str, root: Path) -> bool:
    """Whether there are wordings of a language: ours, or the entity's own."""
    try:
        return language in languages() or _own(root, language) is not None
    except (RecordInvalidError, UnsafePathError):
        return False  # `load` says what is wrong with it


@cache
def languages() -> frozenset[str]:
    """Return the codes of the languages that bumble comes with wordings of."""
    return frozenset(file.name.removesuffix(".yaml") for file in SHIPPED.iterdir())
