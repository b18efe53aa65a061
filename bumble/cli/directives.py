"""Slash words in what a person types (`/think`, `/verbose`), alone or within a message.

Alone they hold until another conversation begins; inside a message they are hints for that one and
are taken out before anybody reads it. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

SWITCHES = ("think", "verbose", "reasoning")  # on, or off
OFF = frozenset({"off", "none", "no", "false"})
LEVELS = frozenset({"minimal", "low", "medium", "high", "xhigh", "max", "maximum", "full"})
ON = LEVELS | {"on", "yes", "true", "hard", "harder", "deep", "deeper", "adaptive", "stream"}
UNKNOWN_HERE = {  # of other tools: taken out with their words, without effect
    "elevated": OFF | ON | {"ask"},
    "queue": OFF | ON | {"collect", "steer", "steer-backlog", "followup", "interrupt", "reset"},
}
SHORTCUTS = {  # carried out where an owner's message has them, with the words each takes
    "status": frozenset[str](),
    "context": frozenset({"list", "detail"}),
    "usage": frozenset({"tokens", "on", "off"}),
    "me": frozenset[str](),
}


def _alternatives(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


def _with_words(words: Mapping[str, frozenset[str]]) -> str:
    """Match any of some names, each with one of its words behind it or without."""
    return "|".join(
        rf"{name}(?:[ \t]+(?:{_alternatives(taken)})(?![\w-]))?" if taken else name
        for name, taken in words.items()
    )


_DIRECTIVE = re.compile(
    rf"(?<!\S)/(?:(?P<switch>{_with_words(dict.fromkeys(SWITCHES, OFF | ON) | UNKNOWN_HERE)})"
    r"|(?P<model>model)(?:[ \t]+(?P<name>\S+))?)(?=\s|$|[.,!?])"
)
_SHORTCUT = re.compile(rf"(?<!\S)/(?P<shortcut>{_with_words(SHORTCUTS)})(?=\s|$|[.,!?])")


class Wishes(Struct, frozen=True):
    """What a person wants of the answers; None: as it was."""

    think: bool | None = None
    verbose: bool | None = None
    reasoning: bool | None = None

    def over(self, other: Wishes) -> Wishes:
        """Return these, and the others where these say nothing."""
        values = {name: value for name in SWITCHES if (value := getattr(self, name)) is not None}
        return replace(other, **values)


class Typed(Struct, frozen=True):
    """What was typed, taken apart."""

    text: str  # without the directives
    wishes: Wishes = Wishes()
    model: str | None = None  # that was asked for; empty: which one it is
    ignored: tuple[str, ...] = ()  # directives that mean nothing here
    shortcuts: tuple[tuple[str, str], ...] = ()  # commands within it, each with its word


def parse(text: str, *, shortcuts: bool) -> Typed:
    """Take the directives out of a message.

    Args:
        text: As it was typed.
        shortcuts: Whether the speaker may have commands carried out from inside a message.
    """
    matches = list(_DIRECTIVE.finditer(text))
    inline = list(_SHORTCUT.finditer(text)) if shortcuts else []
    if not matches and not inline:
        return Typed(text)
    switches = {
        name: word not in OFF
        for name, word in (_parted(match["switch"]) for match in matches if match["switch"])
    }
    models = [match["name"] or "" for match in matches if match["model"]]
    return Typed(
        _without(text, sorted(match.span() for match in (*matches, *inline))),
        Wishes(**{name: on for name, on in switches.items() if name in SWITCHES}),
        models[-1] if models else None,
        tuple(name for name in switches if name in UNKNOWN_HERE),
        tuple(dict.fromkeys(_parted(match["shortcut"]) for match in inline)),
    )


def _parted(text: str) -> tuple[str, str]:
    """Part a command from its word; empty: it has none."""
    name, *word = text.split()
    return name, " ".join(word)


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """Cut stretches out, and the blanks before each with it."""
    rest, at = "", 0
    for start, end in spans:
        rest = (rest + text[at:start]).rstrip(" \t") if start >= at else rest
        at = max(at, end)
    return (rest + text[at:]).strip()
