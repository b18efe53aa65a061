"""The reader: what a message is, by a trained head over the token states of a frozen embedder.

Two transformer layers and hashed character n-grams; trained by `training/`, one file of weights an
embedder, 8 bits a number. Reads any language its embedder reads. Decides nothing: says how far
each thing is above the cut-off that was chosen for it on writers it had not learned from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from bumble import patterns
from bumble.models.embed.protocol import Floats
from bumble.text import languages, stop_words, words

FOLDER = Path(__file__).with_name("readers")
GRAMS = 1024  # buckets that character 3- and 4-grams are hashed into
MOST_TOKENS = 96  # of a message: what follows is not read
HEADS = 4
SPAN_FROM = -1.0  # above it a token is of a name, a time, a purpose
OWN_FROM = 0.2  # above it a name is the speaker's own; no reading hangs on a processor's rounding
NAME_FROM = -2.5  # likewise, of a name where somebody surely says theirs
MAY_INTRODUCE = -1.5  # of a whole message of which a part, read by itself, surely is one
SURELY_INTRODUCES = 1.0  # likewise, of a part of one of the first messages, whatever the whole is
GRADES = ("heavy 1", "heavy 2", "glad 1", "glad 2")
# The first words of a message up to a stop, of one that goes on: "its joy here", "hi ada, im dot".
_PART = r"[^.,;:!?\n]{4,40}"
_OPENINGS = tuple(
    patterns.compile(rf"\s*({before}{_PART})[.,;:!?\n]\s*\S")
    for before in (r"\w+(?: \w+)?[.,!]\s+", "")
)
_EPSILON = 1e-5


class MessageReading(Struct, frozen=True):
    """What one message is."""

    keep: float = -1.0  # above 0: somebody who knows this person would remember it for months
    scores: Mapping[str, float] = field(default_factory=dict)  # by intent; above 0: it is that
    heavy: int = 0  # 1: a burden, 2: grave
    glad: int = 0  # 1: pleased, 2: big good news
    name: str = ""  # by which its speaker introduces themselves
    when: str = ""  # the time of a reminder, as it was said
    what: str = ""  # what a reminder is for, likewise
    # how surely each short reply is one that a friend could give, by the name of its wordings
    replies: Mapping[str, float] = field(default_factory=dict)

    def score(self, intent: str) -> float:
        """How surely it is something; above 0: it is."""
        return self.scores.get(intent, -9.0)

    def has(self, *intents: str) -> bool:
        """Whether it is any of these."""
        return any(self.score(intent) > 0 for intent in intents)

    @property
    def introduced(self) -> str:
        """The name by which its speaker introduces themselves; empty where nobody does."""
        if not self.has("introduce"):
            return ""
        first, *rest = self.name.split() or [""]
        name = " ".join(rest) if rest and first.casefold() in stop_words.WORDS else self.name
        return name.title() if name == name.lower() else name

    @property
    def main(self) -> str:
        """What it is most surely, in doubt too: the best guess is better than none."""
        return max(self.scores, key=lambda name: self.scores[name], default="tell")


class MessageReader(Protocol):
    """What reads messages."""

    def read(self, text: str, previous: str = "", *, begins: bool = False) -> MessageReading:
        """Read a message.

        Args:
            text: What was said.
            previous: What the same person said just before it; empty: nothing.
            begins: Whether it is one of the first of a talk, in which people say who they are.
        """


class HeadReader:
    """A trained head over an embedder. Fulfils `MessageReader`."""

    def __init__(self, embedder: Any, weights: Mapping[str, Any]) -> None:
        """Set up.

        Args:
            embedder: One that gives the `states` of tokens, as `OnnxEmbedder` does.
            weights: As `weights` returns them.
        """
        self._embedder, self._weights = embedder, weights
        self._cuts = dict(zip(map(str, weights["cut_names"]), weights["cuts"], strict=True))

    def read(self, text: str, previous: str = "", *, begins: bool = False) -> MessageReading:
        """Read a message, and where it may say who speaks, its sentences and first words, too."""
        whole = self._read(text, previous)
        may_introduce = whole.score("introduce") > MAY_INTRODUCE
        if begins or may_introduce:
            openings = filter(None, (pattern.match(text) for pattern in _OPENINGS))
            for part in (*(one[1] for one in openings), *words.sentences(text)):
                read = self._read(part)
                sure = may_introduce or read.scores.get("introduce", 0.0) > SURELY_INTRODUCES
                is_one = read.has("introduce") and read.main in ("introduce", "greet")
                if sure and read.name and is_one:
                    scores = {**whole.scores, "introduce": read.scores["introduce"]}
                    whole = replace(whole, scores=scores, name=read.name)
        return whole

    def _read(self, text: str, previous: str = "") -> MessageReading:
        """Read a text as it stands; an empty one is nothing, nor is one in another language."""
        if not (self._embedder.multilingual or languages.language(text) in ("", "en")):
            return MessageReading()
        states, offsets = self._embedder.states(text)
        states, offsets = states[:MOST_TOKENS], offsets[:MOST_TOKENS]
        if not offsets:
            return MessageReading()
        before = self._embedder.states(previous)[0][:MOST_TOKENS] if previous.strip() else None
        out = self._forward(states, before, grams(text))
        above = {name: float(out[name] - cut) for name, cut in self._cuts.items()}
        heavy, glad = (
            int(above[f"{one} 1"] > 0) + int(min(above[f"{one} 1"], above[f"{one} 2"]) > 0)
            for one in ("heavy", "glad")
        )
        keep = above.pop("keep")
        scores = {name: value for name, value in above.items() if name not in GRADES}
        # who is named as somebody's brother or cat, or addressed, is not who speaks
        scores["introduce"] = min(scores["introduce"], float(out["own"]) - OWN_FROM)
        least = (NAME_FROM if scores["introduce"] > 0 else SPAN_FROM, SPAN_FROM, SPAN_FROM)
        name, when, what = spans(text, offsets, out["spans"], least)
        return MessageReading(keep, scores, heavy, glad, name, when, what, out["replies"])

    def _forward(self, states: Floats, before: Floats | None, counts: Floats) -> dict[str, Any]:
        """Run the head. Shapes: states (t, hidden), before the same, counts (GRAMS,)."""
        w, mean, deviation = self._weights, self._weights["mean"], self._weights["deviation"]
        first = w["none"]
        if before is not None:
            first = self._dense("before", (before.mean(axis=0) - mean) / deviation)
        states = (states - mean) / deviation
        h = np.concatenate([np.reshape(first, (1, -1)), self._dense("in", states)])
        for layer in range(sum(name.endswith(".qkv.w") for name in w)):
            h = self._layer(h, f"layers.{layer}.")
        h = self._normed("norm", h)
        attention = _softmax(self._dense("pool", h)[:, 0])
        last = np.concatenate([attention @ h, h.mean(axis=0), _gelu(self._dense("grams", counts))])
        whole = np.concatenate([last, states.mean(axis=0)])
        replies = self._dense("reply", whole)
        return {
            "keep": self._dense("keep", last)[0],
            "spans": self._dense("span", h[1:]),
            "own": self._dense("own", whole)[0],
            "replies": dict(zip(map(str, w["replies"]), map(float, replies), strict=True)),
            **dict(zip(map(str, w["intents"]), self._dense("intent", last), strict=True)),
            **dict(zip(map(str, w["wishes"]), self._dense("wish", whole), strict=True)),
            **dict(zip(GRADES, self._dense("grade", last), strict=True)),
        }

    def _layer(self, h: Floats, name: str) -> Floats:
        tokens, width = h.shape
        q, k, v = (
            part.reshape(tokens, HEADS, width // HEADS).transpose(1, 0, 2)
            for part in np.split(self._dense(f"{name}qkv", self._normed(f"{name}n1", h)), 3, axis=1)
        )
        attention = _softmax(q @ k.transpose(0, 2, 1) / (width // HEADS) ** 0.5)
        mixed = (attention @ v).transpose(1, 0, 2).reshape(tokens, width)
        h = h + self._dense(f"{name}o", mixed)
        inner = _gelu(self._dense(f"{name}f1", self._normed(f"{name}n2", h)))
        return h + self._dense(f"{name}f2", inner)

    def _dense(self, name: str, x: Floats) -> Floats:
        out: Floats = x @ self._weights[f"{name}.w"] + self._weights[f"{name}.b"]
        return out

    def _normed(self, name: str, x: Floats) -> Floats:
        mean, variance = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
        scaled = (x - mean) / np.sqrt(variance + _EPSILON)
        out: Floats = scaled * self._weights[f"{name}.g"] + self._weights[f"{name}.b"]
        return out


def grams(text: str) -> Floats:
    """Return hashed counts of character 3- and 4-grams: roots, of length 8. Shape (GRAMS,)."""
    counts = np.zeros(GRAMS, np.float32)
    padded = f" {text.lower()} "
    for size in (3, 4):
        for start in range(len(padded) - size + 1):
            piece = padded[start : start + size].encode("utf-8", "replace")
            counts[int.from_bytes(hashlib.blake2s(piece, digest_size=4).digest()) % GRAMS] += 1
    rooted = np.sqrt(counts)
    return rooted * np.float32(8 / max(float(np.linalg.norm(rooted)), 1e-6))


def over(embedder: Any) -> HeadReader | None:
    """Return the reader over an embedder; None where there is no head for it."""
    if embedder is None or not hasattr(embedder, "states"):
        return None
    found = weights(embedder.identity.model)
    return None if found is None else HeadReader(embedder, found)


@cache
def weights(model: str) -> Mapping[str, Any] | None:
    """Read the head for an embedder by its name in the catalog; None: there is none."""
    file = FOLDER.joinpath(f"{model}.npz")
    if not file.is_file():
        return None
    with np.load(file) as stored:
        return unpacked({name: stored[name] for name in stored.files})


def unpacked(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored weights as floats: a matrix is 8-bit numbers with a scale a column."""
    scales = {name: np.float32(stored.get(f"{name}.scale", 1)) for name in stored}
    return {
        name: values if values.dtype.kind == "U" else values.astype(np.float32) * scales[name]
        for name, values in stored.items()
        if not name.endswith(".scale")
    }


_SHORTENED = patterns.compile(r"['’]\w{1,2}\b")


def spans(
    text: str, offsets: Sequence[tuple[int, int]], scores: Floats, least: Sequence[float]
) -> list[str]:
    """Return the words of each span around its surest one; empty where none is sure.

    A word counts as its surest part says, and for the span alone that it is surest of.

    Args:
        text: What was said.
        offsets: Where each token stands in it.
        scores: Shape (tokens, spans).
        least: What a word must be above, by span.
    """
    places = _word_places(text, offsets)
    known = np.array([scores[first:last].max(axis=0) for first, last in places])
    own = known - np.array(least)
    found = []
    for n in range(len(least)):
        inside = [row.argmax() == n and row[n] > 0 for row in own]
        first = last = int(np.where(inside, known[:, n], -np.inf).argmax())
        if not inside[first]:
            found.append("")
            continue
        while first > 0 and inside[first - 1]:
            first -= 1
        while last + 1 < len(places) and inside[last + 1]:
            last += 1
        start, end = offsets[places[first][0]][0], offsets[places[last][1] - 1][1]
        if text[start] in "'’" or _SHORTENED.match(text, max(0, start - 1)):
            # of "Biscuit's", "I've" the whole word
            start = text.rfind(" ", 0, start) + 1
        found.append(text[start:end].strip(" \t\n,.;:!?\"'“”„«»()"))
    return found


def _word_places(text: str, offsets: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return which tokens are a word each: first, and past the last.

    A script without spaces shows no words: there a token is one.
    """
    places: list[tuple[int, int]] = []
    for n, (start, end) in enumerate(offsets):
        around = text[max(0, start - 1) : start + 1]
        joins = n > 0 and start < end and stop_words.INSIDE.fullmatch(around) is not None
        if joins and not stop_words.is_unspaced(around):
            places[-1] = (places[-1][0], n + 1)
        else:
            places.append((n, n + 1))
    return places


def _softmax(x: Floats) -> Floats:
    raised = np.exp(x - x.max(axis=-1, keepdims=True))
    out: Floats = raised / raised.sum(axis=-1, keepdims=True)
    return out


def _gelu(x: Floats) -> Floats:
    out: Floats = 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))
    return out
