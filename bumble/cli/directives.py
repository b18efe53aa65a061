"""Slash words in what a person types (`/think`, `/verbose`), alone or within a message.

Alone they hold until another conversation begins; inside a message they are hints for that one and
are taken out before anybody reads it. Pure functions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

SWITCHES = ("think", "verbose", "reasoning")  # on, or off
UNKNOWN_HERE = ("elevated", "queue")  # of other tools: taken out, without effect
SHORTCUTS = ("status", "context", "usage", "me")  # carried out where an owner's message has them
OFF = frozenset({"off", "none", "no"})
ON = frozenset({"on", "yes", "low", "medium", "high", "hard", "harder"})
_WORDS = "|".join(sorted(OFF | ON, key=len, reverse=True))
_DIRECTIVE = re.compile(
    rf"(?<!\S)/(?:(?P<switch>{'|'.join((*SWITCHES, *UNKNOWN_HERE))})"
    rf"(?:[ \t]+(?P<value>{_WORDS})(?![\w-]))?"
    r"|(?P<model>model)(?:[ \t]+(?P<name>\S+))?)(?=\s|$|[.,!?])"
)
_SHORTCUT = re.compile(rf"(?<!\S)/(?P<shortcut>{'|'.join(SHORTCUTS)})(?=\s|$)")


@dataclass(frozen=True)
class Wishes:
    """What a person wants of the answers; None: as it was."""

    think: bool | None = None
    verbose: bool | None = None
    reasoning: bool | None = None

    def over(self, other: Wishes) -> Wishes:
        """Return these, and the others where these say nothing."""
        values = {name: value for name in SWITCHES if (value := getattr(self, name)) is not None}
        return replace(other, **values)


@dataclass(frozen=True)
class Typed:
    """What was typed, taken apart."""

    text: str  # without the directives
    wishes: Wishes = Wishes()
    model: str | None = None  # that was asked for; empty: which one it is
    ignored: tuple[str, ...] = ()  # directives that mean nothing here
    shortcuts: tuple[str, ...] = ()


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
    switches = {match["switch"]: match["value"] not in OFF for match in matches if match["switch"]}
    models = [match["name"] or "" for match in matches if match["model"]]
    return Typed(
        _without(text, sorted(match.span() for match in (*matches, *inline))),
        Wishes(**{name: on for name, on in switches.items() if name in SWITCHES}),
        models[-1] if models else None,
        tuple(name for name in switches if name in UNKNOWN_HERE),
        tuple(dict.fromkeys(match["shortcut"] for match in inline)),
    )


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """Cut stretches out, and the blanks before each with it."""
    rest, at = "", 0
    for start, end in spans:
        rest = (rest + text[at:start]).rstrip(" \t") if start >= at else rest
        at = max(at, end)
    return (rest + text[at:]).strip()
