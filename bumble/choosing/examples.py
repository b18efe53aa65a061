"""What is worth keeping, confided, a joke, asked of memory: by examples that people labelled.

`examples/WRITER/xx.yaml` are messages as people type them, by writers who had not seen the rules;
each with `text`, `kind` and `keep`: whether somebody who knows this person would want to remember
it for months; without it that depends. The embedder, whichever an entity has, says which of them a
message is like: no model has to be asked, and it speaks every language that the embedder does. What
it makes of the examples is learned once: for embedders that bumble brings along it lies in
`learned/`, for any other a machine keeps it in its cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import numpy as np

from bumble import files
from bumble.embed import likeness
from bumble.embed.likeness import Class, Likeness
from bumble.embed.protocol import Embedder, EmbedderIdentity
from bumble.runtime.runtime import Runtime
from bumble.text import tokens, yaml_read
from bumble.text.words import one_line

FOLDER = resources.files(__package__).joinpath("examples")
LEARNED = resources.files(__package__).joinpath("learned")
KEEP, JOKE, CONFIDED, ASKED = "keep", "joke", "confided", "asked"
CHANGED, IMAGINED = "changed", "imagined"
CLASSES = (KEEP, JOKE, CONFIDED, ASKED, CHANGED, IMAGINED)
# Likeness from which a message is kept that rules leave open; that rules drop for one of its words;
# below which one is dropped that rules keep for its wording.
KEPT_FROM, SURE_FROM, DROPPED_BELOW = 0.0, 0.6, -0.8
JOKE_FROM = 0.2  # likeness to jokes from which a message is one that rules would keep
CONFIDED_FROM = 0.0  # likeness to confidences from which a message is one, whatever its words
# Likeness to questions of memory from which a message is one, with a word of asking and without;
# below which it is none.
ASKED_FROM, SURELY_ASKED_FROM, NOT_ASKED_BELOW = 0.0, 0.4, -0.8
CHANGED_FROM = -0.25  # likeness to what is another now, from which a message says so
IMAGINED_FROM = 0.0  # likeness to what is only imagined, from which a message is no fact
ENGLISH = "en"  # which every embedder understands
MAX_TOKENS = 150  # of a message: examples are short
_LEARNED_HERE: dict[EmbedderIdentity, Likeness] = {}  # by this process


@dataclass(frozen=True)
class Example:
    """A message and what is right."""

    text: str
    keep: bool | None  # None: it depends
    kind: str
    writer: str
    language: str


@dataclass(frozen=True)
class Worth:
    """What the examples say of a message."""

    keep: float  # likeness to what is kept: about 1 as that, -1 as the rest
    joke: float  # likeness to jokes, against what is kept
    confided: float  # likeness to what is told in confidence, against all else
    asked: float  # likeness to questions for what the same person told
    changed: float  # likeness to what is another now, against what else is kept
    imagined: float  # likeness to what is only imagined or perhaps, against what is kept
    embedder: str  # its name

    @property
    def keeps(self) -> bool:
        """Whether it is worth keeping, where nothing else says so."""
        return self.keep > KEPT_FROM

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
    def is_change(self) -> bool:
        """Whether it says that something is another now than it was told."""
        return self.changed > CHANGED_FROM

    def asks(self, *, questions: bool) -> bool | None:
        """Whether it asks for what the same person told; None: its words may say.

        Args:
            questions: Whether a word of asking stands in it.
        """
        if self.asked > (ASKED_FROM if questions else SURELY_ASKED_FROM):
            return True
        return False if self.asked < NOT_ASKED_BELOW else None

    @property
    def is_joke(self) -> bool:
        """Whether it is one, though its wording would keep it."""
        return self.joke > JOKE_FROM

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
    if language != ENGLISH and not embedder.multilingual:
        return None
    known = _known(embedder, runtime, learns=learns)
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
    examples: list[Example] = []
    for writer, file in _all_files():
        rows = yaml_read.parse(file.read_text(encoding="utf-8"))
        if not isinstance(rows, list):
            raise ValueError(f"examples/{writer}/{file.name} should be a list")
        language = file.name.removesuffix(".yaml")
        for row in rows:
            keep, kind = row.get("keep"), str(row["kind"])
            examples.append(Example(str(row["text"]), keep, kind, writer, language))
    return tuple(examples)


def learn(embedder: Embedder, examples: Sequence[Example]) -> Likeness:
    """Let an embedder learn from examples; a minute of two cores for all of them."""
    vectors = embedder.embed_documents([one_line(example.text) for example in examples])
    keep = np.array([example.keep is True for example in examples])
    drop = np.array([example.keep is False for example in examples])
    kinds = np.array([example.kind for example in examples])
    joke = np.char.startswith(kinds, "joke")
    confided, asked, changed = (kinds == kind for kind in ("confidence", "ask_memory", "change"))
    imagined = (kinds == "hypothetical") | (kinds == "maybe")
    labelled = keep | drop  # by somebody who looked for confidences
    return likeness.fit(
        vectors,
        {
            KEEP: Class(keep, drop),
            JOKE: Class(joke, keep),
            CONFIDED: Class(confided, labelled & ~confided),
            ASKED: Class(asked, ~asked & ~np.char.startswith(kinds, "question")),
            CHANGED: Class(changed, keep & ~changed),
            IMAGINED: Class(imagined, keep),
        },
    )


def filename(identity: EmbedderIdentity) -> str:
    """Name the file of what an embedder learned from the examples as they are."""
    return f"{identity.model}-{identity.dimensions}-{_digest(identity)}.npz"


def _known(embedder: Embedder, runtime: Runtime, *, learns: bool) -> Likeness | None:
    """Return what an embedder has learned, by this process or before; None: nothing yet."""
    identity = embedder.identity
    if identity not in _LEARNED_HERE:
        known = _before(embedder, runtime) or (_learned(embedder, runtime) if learns else None)
        if known is None:
            return None
        _LEARNED_HERE[identity] = known
    return _LEARNED_HERE[identity]


def _before(embedder: Embedder, runtime: Runtime) -> Likeness | None:
    """Read what an embedder has learned before: shipped, or on this machine."""
    name = filename(embedder.identity)
    shipped = LEARNED.joinpath(name)
    if shipped.is_file():
        return likeness.read(io.BytesIO(shipped.read_bytes()))
    data = files.read_cache(runtime.learned / name) if runtime.learned else None
    if data is not None:
        with contextlib.suppress(ValueError):  # of a process that was killed, or by a hand
            return likeness.read(io.BytesIO(data))
    return None


def _learned(embedder: Embedder, runtime: Runtime) -> Likeness:
    runtime.tell(f"{embedder.identity.model} learns once, from examples, what is worth keeping")
    known = learn(embedder, load())
    if runtime.learned:
        _write(runtime.learned / filename(embedder.identity), known)
    return known


def _write(place: Path, known: Likeness) -> None:
    """Keep what was learned; without a folder to write to it is learned again."""
    file = io.BytesIO()
    known.write(file)
    with contextlib.suppress(OSError):
        files.make_folder(place.parent)
        files.write_atomic(place, file.getvalue())


def _digest(identity: EmbedderIdentity) -> str:
    """Return what changes with the examples, with their classes and with the embedder."""
    learned_from = f"{astuple(identity)} {CLASSES} {_examples_digest()}"
    return hashlib.sha256(learned_from.encode()).hexdigest()[:16]


@cache
def _examples_digest() -> str:
    texts = (file.read_text(encoding="utf-8") for _, file in _all_files())  # line ends: git's
    return hashlib.sha256("".join(texts).encode()).hexdigest()


def _all_files() -> Iterator[tuple[str, Traversable]]:
    """Yield the writers and their files, in order."""
    for folder in sorted(FOLDER.iterdir(), key=lambda place: place.name):
        for file in sorted(folder.iterdir(), key=lambda place: place.name):
            if file.name.endswith(".yaml"):
                yield folder.name, file
