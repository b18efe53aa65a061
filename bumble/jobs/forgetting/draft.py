"""The plan as it grows while the folder is read: whom it forgets, what goes, what is changed.

It knows the rules by which a record is theirs and by which words go; how each kind of file is
written without them is not known here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, tzinfo
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct, field

from bumble.entity import changes, folder
from bumble.files import disk
from bumble.records import forgotten, kind, provenance, sessions
from bumble.text import markdown, stop_words, words

Remark: TypeAlias = tuple[datetime, str]  # when something was said, and what
Part = TypeVar("Part", tuple[str, ...], str)
RUN_WORDS = 4  # said in this order by one person alone, they are a quote
RUN_PAIRS = 7  # of signs, in scripts without spaces: as long as four words of two signs
COMMON_WORDS = 20_000  # of a language: a name that is one of them may be no name
LEAST_CHARS = 3  # of a telling word; shorter ones are anybody's


class PersonSpeech(Struct, frozen=True):
    """What one person said that nobody had said before, nor said where they were not."""

    runs: frozenset[tuple[str, ...]]  # of RUN_WORDS words, or RUN_PAIRS pairs
    stems: frozenset[str]  # of telling words
    language: str  # by whose rules words are brought to their stems

    def quotes(self, text: str) -> bool:
        """Whether a text holds several words in the order in which only they said them."""
        return not self.runs.isdisjoint(_runs(text))

    def echoes(self, text: str) -> bool:
        """Whether a text holds a quote, or a telling word that only they said."""
        return self.quotes(text) or not self.stems.isdisjoint(_stems(text, self.language))


SILENT = PersonSpeech(frozenset(), frozenset(), "")


def speech_of(own: Iterable[Remark], of_others: Iterable[Remark]) -> PersonSpeech:
    """Compare what a person said with all that others did: what others said first is not theirs.

    Args:
        own: Their messages.
        of_others: Everybody else's, the entity's where they were not there included.
    """
    remarks, other_remarks = sorted(own), sorted(of_others)
    language = words.language(*(text for _, text in remarks))
    return PersonSpeech(
        frozenset(_first_said(remarks, other_remarks, _runs)),
        frozenset(_first_said(remarks, other_remarks, partial(_stems, language=language))),
        language,
    )


def _first_said(
    own: Sequence[Remark], of_others: Sequence[Remark], parts: Callable[[str], Iterable[Part]]
) -> Iterator[Part]:
    """Yield the parts of what a person said that nobody had said before them."""
    first = {part: at for at, text in reversed(own) for part in parts(text)}
    earlier = {
        part for at, text in of_others for part in parts(text) if part in first and at < first[part]
    }
    yield from first.keys() - earlier


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    plain = stop_words.words(text)
    for start, word in enumerate(plain):
        length = RUN_PAIRS if stop_words.is_unspaced(word) else RUN_WORDS
        run = tuple(plain[start : start + length])
        told = (word for word in run if not stop_words.HIRAGANA.match(word))
        if len(run) == length and not stop_words.WORDS.issuperset(told):
            yield run


def _stems(text: str, language: str) -> set[str]:
    return {
        words.stem(word, language)
        for word in stop_words.telling_words(text)
        if len(word) >= LEAST_CHARS or not word.isascii()
    }


def without_sentences(text: str, goes: Callable[[str], bool]) -> str:
    """Return a text without some of its sentences; lines that keep all of theirs stay as they are.

    Args:
        text: Of any number of lines.
        goes: Whether a sentence is to go.
    """
    kept_lines = []
    for line in markdown.lines(text):
        sentences = words.sentences(line)
        stay = [sentence for sentence in sentences if not goes(sentence)]
        if len(stay) == len(sentences):
            kept_lines.append(line)
        elif stay:
            indent = line[: len(line) - len(line.lstrip())]
            end = line[len(line.rstrip("\r\n")) :]
            kept_lines.append(f"{indent}{words.paragraph(stay)}{end}")
    return "".join(kept_lines)


SOMEBODY = "somebody"  # in the place of a name
_SUFFIX = r"(?: \(.+\))?"  # of a title: who told it


class ForgettingDraft(Struct):
    """The plan as it grows while the folder is read."""

    entity: folder.Entity
    person: str
    names: tuple[str, ...]
    zone: tzinfo
    entry: forgotten.Forgotten | None = None  # of an earlier forgetting, to be done once more
    until: datetime | None = None  # what is of later stays; None: nothing does
    gone: set[str] = field(default_factory=set)  # ids of messages, sessions and records
    speech: PersonSpeech = SILENT
    last: datetime | None = None  # when they last said something that goes
    is_back: bool = False  # they talk with the entity again
    views: dict[Path, Sequence[kind.RecordView]] = field(default_factory=dict)  # by file
    planned: dict[str, changes.Change] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    moved: dict[str, str] = field(default_factory=dict)  # paths of files that are named anew

    def add(self, change: changes.Change | None, label: str) -> None:
        if change is not None:
            self.planned[change.path] = change
            self.counts[label] += 1

    def remove(self, path: Path, label: str) -> None:
        """Plan to remove a file as it is now."""
        digest = disk.sha256(disk.read(path))
        self.add(changes.Change(self.entity.relative(path), "forget it", None, digest), label)

    def replace_names(self, text: str) -> str:
        """Put "somebody" in the place of every name, as a whole word, in any case and spelling."""

        def replaced(match: re.Match[str]) -> str:
            # a name may be a word of grammar, too: `will` is not Will
            return match[0] if match[0] in stop_words.WORDS else SOMEBODY

        for name in sorted(self.names, key=len, reverse=True):
            text = re.sub(stop_words.name_pattern(name), replaced, text, flags=re.IGNORECASE)
        return text

    def is_named(self, text: str) -> bool:
        """Whether a text has one of their names."""
        return self.replace_names(text) != text

    def is_called(self, title: str) -> bool:
        """Whether a title or a tag is one of their names as it is written, and no more."""
        return any(re.fullmatch(stop_words.name_pattern(name), title) for name in self.names)

    def _is_about(self, view: kind.RecordView) -> bool:
        """Whether something of the entity's is called by their name.

        Where that is a word too, or stands beside another, its text has to say it.
        """
        common = words.common(words.language(view.text), COMMON_WORDS)
        for name in self.names:
            pattern = stop_words.name_pattern(name)
            alone = re.fullmatch(pattern, view.id) and stop_words.folded(name) not in common
            called = re.fullmatch(pattern + _SUFFIX, view.id, re.IGNORECASE)
            if alone or (called and re.search(pattern, view.text)):
                return True
        return False

    def tells_of(self, text: str) -> bool:
        """Whether a text names them, or holds words that only they said."""
        return self.is_named(text) or self.speech.echoes(text)

    def is_past(self, at: datetime | None) -> bool:
        """Whether something was said or written by the time that is forgotten."""
        return self.until is None or (not self.is_back if at is None else at <= self.until)

    def is_own(self, view: kind.RecordView) -> bool:
        """Whether it rests on nothing but what goes, or is the entity's, and of them alone."""
        is_of_entity = not provenance.is_by_hand(view.origin)
        is_about = is_of_entity and self.is_past(view.at) and self._is_about(view)
        if is_about or view.id in self.gone:
            return True
        ids = set(view.sources)
        mark = f"{sessions.PREFIX}_"
        rests_on = {record_id for record_id in ids if not record_id.startswith(mark)} or ids
        if rests_on and rests_on <= self.gone:
            return True
        is_theirs = {self.person} in (set(view.origin.audience), set(view.people))
        is_older = self.is_past(view.at) or (view.at is None and not ids)
        return is_theirs and is_older and is_of_entity

    def touches(self, view: kind.RecordView) -> bool:
        """Whether something rests on what goes, or was for them too."""
        return not self.gone.isdisjoint(view.sources) or (
            self.person in {*view.origin.audience, *view.people} and self.is_past(view.at)
        )

    def scrub(self, text: str, *, near: bool, drops_named: bool = False) -> str:
        """Take their words out of a text of the entity's, and the name out of what is left.

        Args:
            text: Of any number of sentences; one that has their words goes as a whole.
            near: Whether it was said among them, so that a single word of theirs is enough.
            drops_named: Whether a sentence that names them goes too.
        """

        def goes(sentence: str) -> bool:
            named = self.is_named(sentence)
            if named and drops_named:
                return True
            repeats = self.speech.echoes if near or named else self.speech.quotes
            return repeats(sentence)

        return self.replace_names(without_sentences(text, goes))

    def scrub_values(self, value: Any, *, near: bool, drops_named: bool = False) -> Any:
        """Do the same to all texts of a value, and drop what that leaves empty from lists."""
        if isinstance(value, str):
            return self.scrub(value, near=near, drops_named=drops_named)
        if isinstance(value, list):
            kept = [one for one in value if not (isinstance(one, str) and self.is_called(one))]
            new = [self.scrub_values(element, near=near) for element in kept]
            return [element for element, old in zip(new, kept, strict=True) if element or not old]
        if isinstance(value, dict):
            return {key: self.scrub_values(inner, near=near) for key, inner in value.items()}
        return value
