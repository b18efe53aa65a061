"""What the words of a message show of the thought it needs: work, weight, depth, or small talk.

The words stand in `routes/`, a file a language, read as those of `choosing` are; what needs no
words, sums and code, shows in any language. Pure functions.
"""

from __future__ import annotations

import re
from functools import cache, cached_property
from importlib import resources

from msgspec import Struct

from bumble.agent import acts
from bumble.choosing import language_file, phrases
from bumble.choosing.language_file import Language

FOLDER = resources.files(__package__).joinpath("routes")
CUES = (
    "hyperbole",
    "heavy",
    "nature",
    "tasks",
    "technical",
    "deep",
    "light",
    "persons",
    "reactions",
    "promises",
)
MOST_CHARS = 2000  # of a message: what follows is pasted
TOLD_WORDS = 14  # a longer one that asks nothing tells a story
BEGINNING_CHARS = 24  # where a story would ask: later `perché` is `because`
LAUGH_CHARS = 3  # of a laugh of one syllable: `kkk`
BESIDE = 2  # words that a reaction may have beside it: `thanks Ada`
_CODE = re.compile(
    r"`|https?://|\w\(\S*\)|[{}\[\]]|==|=>|->|</?\w+>|\b\w+_\w+|\w(?:Error|Exception)\b"
)
_SUM = re.compile(r"\d\s*[+*×÷^]\s*\d|\d\s+[-/x]\s+\d")
_SMILES = re.compile("[😂🤣😹😆😜😝🤪😄😁😅😏😎🙃😉🥳🎉]")
_ACTS_OF_COURTESY = ("greeting", "thanks", "goodbye", "wellbeing", "joke", "clock")
_OFFERS = re.compile(r"(?<![^.!?\n])[^.!?\n]*\?")  # what is asked is no promise


def has(language: str) -> bool:
    """Whether there is a file of a language."""
    return FOLDER.joinpath(f"{language}.yaml").is_file()


@cache
def load(language: str) -> Language:
    """Return the cues of a language; those of none, without a file of it."""
    if not has(language):
        return language_file.UNKNOWN
    source = FOLDER.joinpath(f"{language}.yaml").read_text(encoding="utf-8")
    return language_file.parse(source, CUES)


class Look(Struct, frozen=True, dict=True):
    """A message as its words show it, each thing looked up when it is asked for."""

    text: str
    language: str

    @cached_property
    def listed(self) -> Language:
        """The cues of its language."""
        return load(self.language)

    @cached_property
    def line(self) -> str:
        """It, as phrases are matched in."""
        return self.listed.line(self.text[:MOST_CHARS])

    @cached_property
    def count(self) -> int:
        """How many words it has."""
        return len(phrases.words(self.line))

    @property
    def asks(self) -> bool:
        """Whether it asks something and marks it so."""
        return "?" in self.line

    @property
    def is_technical(self) -> bool:
        """Whether it has a sum, code, a file or the words of a trade."""
        plain = _CODE.search(self.text) or _SUM.search(self.text)
        return plain is not None or self.listed.has("technical", self.line)

    @property
    def is_task(self) -> bool:
        """Whether it orders some work."""
        if acts.needs_tools(self.text, self.language):
            return True
        return self.listed.has("tasks", self.line) or self._kept_rules("tasks")

    @property
    def is_heavy(self) -> bool:
        """Whether it has words of grief, need, fear, love, or is told in confidence."""
        line = self.line
        if self.laughs and "hyperbole" in self.listed.patterns:
            line = self.listed.patterns["hyperbole"].sub(" ", line)
        if self.listed.has("heavy", line):
            return True
        return not self.laughs and acts.of(self.text, self.language) in ("heavy", "confided")

    @property
    def tells(self) -> bool:
        """Whether it is long and asks nothing: a story."""
        return self.count > TOLD_WORDS and not self.asks

    @property
    def is_deep(self) -> bool:
        """Whether it asks for reasons, ways, a difference or advice; a story: by how it begins."""
        hits = self.listed.hits("deep", self.line)
        return any(not self.tells or hit.start() < BEGINNING_CHARS for hit in hits)

    @property
    def asks_of_self(self) -> bool:
        """Whether it asks what the entity is, or about being at all."""
        if self.laughs and self.is_light:
            return False
        if self.listed.has("nature", self.line):
            return True
        act = acts.of(self.text, self.language)
        if self.is_light or not self.asks:
            return False
        return act == "self" or (act == "recall" and self._kept_rules("own"))

    @property
    def laughs(self) -> bool:
        """Whether it laughs or smiles."""
        return _SMILES.search(self.text) is not None or self._laughter

    @property
    def _laughter(self) -> bool:
        kept = language_file.load(self.language)
        line = kept.line(self.text)
        if kept.has("laughs", line):
            return True
        return any(
            len(word) >= LAUGH_CHARS and set(word) == set(syllable)
            for word in self.text.casefold().split()
            for syllable in kept.laughing
        )

    @property
    def is_light(self) -> bool:
        """Whether it has words of the day, of courtesy or of a reaction."""
        return self.listed.has("light", self.line) or self.is_reaction or self.is_courtesy

    @property
    def is_reaction(self) -> bool:
        """Whether it hardly says more than `no way`."""
        pattern = self.listed.patterns.get("reactions")
        if pattern is None or not pattern.search(self.line):
            return False
        beside = len(phrases.words(pattern.sub(" ", self.line)))
        return beside <= min(BESIDE, self.count - beside)

    @property
    def is_courtesy(self) -> bool:
        """Whether it only keeps in touch, or speaks of weather, queues and the like."""
        if self._kept_rules("small") or self._kept_rules("passing"):
            return True
        return acts.of(self.text, self.language) in _ACTS_OF_COURTESY

    @property
    def is_personal(self) -> bool:
        """Whether it speaks of the speaker or their people."""
        is_own = self._kept_rules("own") or self._kept_rules("kin")
        return is_own or self.listed.has("persons", self.line)

    def _kept_rules(self, cue: str) -> bool:
        kept = language_file.load(self.language)
        return kept.has(cue, kept.line(self.text[:MOST_CHARS]))


def promises(reply: str, language: str) -> bool:
    """Whether a reply says that work will be done, and does not only offer it."""
    listed = load(language)
    return listed.has("promises", listed.line(_OFFERS.sub(" ", reply)))
