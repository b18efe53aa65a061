"""What is worth keeping, confided, a joke, asked of memory: by examples that people labelled.

`examples/WRITER/xx.yaml` are messages as people type them, by writers who had not seen the rules;
each with `text`, `kind` and `keep`: whether somebody who knows this person would want to remember
it for months; without it that depends. The embedder, whichever an entity has, says which of them a
message is like: no model has to be asked, and it speaks every language that the embedder does. What
it makes of the examples is learned once (`learning.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from bumble.choosing import answers
from bumble.choosing.learning import Lesson, understands
from bumble.choosing.rules import TOLD, Verdict
from bumble.embed import likeness
from bumble.embed.likeness import Class, Likeness
from bumble.embed.protocol import Embedder
from bumble.runtime.runtime import Runtime
from bumble.text import tokens
from bumble.text.words import one_line

KEEP, JOKE, CONFIDED, ASKED = "keep", "joke", "confided", "asked"
CHANGED, IMAGINED, PRYING = "changed", "imagined", "prying"
ASK_MEMORY = "ask_memory"  # the kind of questions for what the same person told
PRY = "pry"  # the kind of those for what somebody else may have told, or for how they are
TELL = "tell"  # the kind of what may look like a question
CLASSES = (KEEP, JOKE, CONFIDED, ASKED, CHANGED, IMAGINED, PRYING)
# Likeness from which a message is kept that rules leave open; that rules drop for one of its words;
# below which one is dropped that rules keep for its wording.
KEPT_FROM, SURE_FROM, DROPPED_BELOW = 0.0, 0.6, -0.8
# The first where a number stands in it: of facts whose wording tells little most have one.
FIGURED_KEPT_FROM = -0.5
# Likeness to jokes from which a message is one that rules would keep: whatever else it may be,
# where somebody laughs, anyhow, and where a number stands in it and nobody laughs. What is told by
# its wording is none if it is so like what is kept.
SURELY_JOKE_FROM, LAUGHING_JOKE_FROM, JOKE_FROM, FIGURED_JOKE_FROM = 0.5, -0.3, 0.0, 0.2
TOLD_KEPT_FROM = -0.3
CONFIDED_FROM = 0.0  # likeness to confidences from which a message is one, whatever its words
# Likeness to questions of memory from which a message is one, with a word of asking, without, and
# without where a number stands in it; below which it is none.
ASKED_FROM, SURELY_ASKED_FROM, FIGURED_ASKED_FROM, NOT_ASKED_BELOW = -0.2, 0.1, 0.5, -0.8
TOLD_FROM = -0.1  # likeness to what is kept from which a word of asking alone makes no question
# Likeness to what is another now, from which a message says so; from which it does with a figure
# beside a word that was told with one.
CHANGED_FROM, PERHAPS_CHANGED_FROM = -0.25, -0.45
# Likeness to what is only imagined, from which a message is no fact; from which it is that.
IMAGINED_FROM, SURELY_IMAGINED_FROM = -0.25, 0.25
# Likeness to questions that sound out, from which a question is one; from which one is that is so
# much less like a question of memory.
PRYING_FROM, PERHAPS_PRYING_FROM, PRYING_LEAD = -0.45, -0.75, -0.3
MAX_TOKENS = 150  # of a message: examples are short


class Example(Struct, frozen=True):
    """A message and what is right."""

    text: str
    keep: bool | None  # None: it depends
    kind: str
    writer: str
    language: str


class Worth(Struct, frozen=True):
    """What the examples say of a message."""

    keep: float  # likeness to what is kept: about 1 as that, -1 as the rest
    joke: float  # likeness to jokes, against what is kept
    confided: float  # likeness to what is told in confidence, against all else
    asked: float  # likeness to questions for what the same person told
    changed: float  # likeness to what is another now, against what else is kept
    imagined: float  # likeness to what is only imagined or perhaps, against what is kept
    prying: float  # likeness to questions for what somebody else told or is up to, against all else
    embedder: str  # its name

    def keeps(self, verdict: Verdict) -> bool:
        """Whether it is worth keeping, where nothing else says so."""
        told = verdict.figured and not self.tells_nothing
        return self.keep > (FIGURED_KEPT_FROM if told else KEPT_FROM)

    @property
    def surely_keeps(self) -> bool:
        """Whether it is worth keeping, though one of its words speaks against it."""
        return self.keep > SURE_FROM

    @property
    def is_confided(self) -> bool:
        """Whether it is told in confidence."""
        return self.confided > CONFIDED_FROM

    @property
    def tells_nothing(self) -> bool:
        """Whether it is only imagined, or surely nothing to keep, though its wording would."""
        return self.imagined > IMAGINED_FROM or self.keep < DROPPED_BELOW

    @property
    def is_surely_imagined(self) -> bool:
        """Whether it is only imagined."""
        return self.imagined > SURELY_IMAGINED_FROM

    @property
    def is_change(self) -> bool:
        """Whether it says that something is another now than it was told."""
        return self.changed > CHANGED_FROM

    @property
    def is_perhaps_change(self) -> bool:
        """Whether it may say so, by its wording."""
        return self.changed > PERHAPS_CHANGED_FROM

    def asks(self, verdict: Verdict, *, questions: bool) -> bool | None:
        """Whether it asks for what the same person told; None: its words may say.

        Args:
            verdict: Of the rules.
            questions: Whether a word of asking stands in it.
        """
        surely = FIGURED_ASKED_FROM if verdict.figured and not questions else SURELY_ASKED_FROM
        may_ask = verdict.marked or (questions and self.keep < TOLD_FROM)
        if self.asked > (ASKED_FROM if may_ask else surely):
            return True
        return False if self.asked < NOT_ASKED_BELOW else None

    @property
    def pries(self) -> bool:
        """Whether, if it is a question, it sounds out what somebody else told or is up to."""
        lead = self.prying - self.asked
        is_perhaps = self.prying > PERHAPS_PRYING_FROM and lead > PRYING_LEAD
        return self.prying > PRYING_FROM or is_perhaps

    def is_joke(self, verdict: Verdict) -> bool:
        """Whether it is a joke, though its wording would keep it."""
        if verdict.laughs:
            return self.joke > LAUGHING_JOKE_FROM
        if verdict.figured:
            return self.joke > FIGURED_JOKE_FROM
        return self.joke > JOKE_FROM and not (verdict.why == TOLD and self.keep > TOLD_KEPT_FROM)

    @property
    def is_surely_joke(self) -> bool:
        """Whether it is a joke, whatever its wording."""
        return self.joke > SURELY_JOKE_FROM

    @property
    def share(self) -> float:
        """How likely it is worth keeping, in [0, 1], rounded."""
        return round(min(1.0, max(0.0, (1 + self.keep) / 2)), 3)


def worth(runtime: Runtime, text: str, language: str, *, learns: bool) -> Worth | None:
    """Say what the examples make of a message.

    Args:
        runtime: Whose embedder is asked.
        text: The message.
        language: Its code: `de`.
        learns: Whether an embedder that has not learned from the examples does it now, which takes
            minutes: never while somebody waits for an answer.

    Returns:
        None where there is no embedder with weights that understands the language.

    Raises:
        WeightsMissingError: If the embedder's weights are not there.
    """
    embedder = runtime.memory.embedder
    if embedder is None or not embedder.identity.sha256:
        return None
    if not understands(embedder, language):
        return None
    known = LESSON.known(embedder, runtime, learns=learns)
    return None if known is None else of(known, embedder, text)


def of(known: Likeness, embedder: Embedder, text: str) -> Worth:
    """Say what examples make of a message."""
    text = text.lower() if text.isupper() else text  # no example is shouted
    vector = embedder.embed_documents([tokens.cut(one_line(text), MAX_TOKENS)])[0]
    values = known.of(vector)
    return Worth(**values, embedder=embedder.identity.model)


def load() -> tuple[Example, ...]:
    """Read all examples.

    Raises:
        ValueError: If a file holds something else.
    """
    labelled = (
        Example(str(row["text"]), row.get("keep"), str(row["kind"]), writer, language)
        for writer, language, row in LESSON.rows()
    )
    told = answers.load()
    # Of the questions for one thing that was told that with the fewest marks of a question, and
    # half of the things: more of them only make learning longer.
    asked = (
        Example(min(each.asks, key=_marks), None, ASK_MEMORY, each.writer, each.language)
        for each in told
    )
    said = (Example(each.said, None, TELL, each.writer, each.language) for each in told[::2])
    return (*labelled, *asked, *said)


def _marks(question: str) -> int:
    return question.count("?") + question.count("¿")


def learn(embedder: Embedder, examples: Sequence[Example]) -> Likeness:
    """Let an embedder learn from what it understands; a minute of two cores for everything."""
    examples = [example for example in examples if understands(embedder, example.language)]
    vectors = embedder.embed_documents([one_line(example.text) for example in examples])
    keep = np.array([example.keep is True for example in examples])
    drop = np.array([example.keep is False for example in examples])
    kinds = np.array([example.kind for example in examples])
    joke = np.char.startswith(kinds, "joke")
    confided, asked, changed = (kinds == kind for kind in ("confidence", ASK_MEMORY, "change"))
    imagined = (kinds == "hypothetical") | (kinds == "maybe")
    prying = kinds == PRY
    labelled = keep | drop  # by somebody who looked for confidences
    return likeness.fit(
        vectors,
        {
            KEEP: Class(keep, drop),
            JOKE: Class(joke, keep),
            CONFIDED: Class(confided, labelled & ~confided),
            ASKED: Class(asked, ~asked & ~prying & ~np.char.startswith(kinds, "question")),
            CHANGED: Class(changed, keep & ~changed),
            IMAGINED: Class(imagined, keep),
            PRYING: Class(prying, ~prying),
        },
    )


LESSON = Lesson(
    "examples",
    "what is worth keeping",
    lambda: f"{CLASSES} {ASK_MEMORY} {TELL} by language {answers.LESSON.digest}",
    lambda embedder: learn(embedder, load()),
    likeness.read,
)
