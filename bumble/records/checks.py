"""Check files: a question about what the entity knows, and what must and must not come of it.

Layout: `checks/<name>.yaml`, one mapping. Knows nothing of how a check is made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from bumble import patterns
from bumble.records import base, fields, kind, relationships
from bumble.text import markdown, words

RECALL, PROMPT, ANSWER = "recall", "prompt", "answer"
PLACES = (RECALL, PROMPT, ANSWER)  # what a check may look at
WITHOUT_MODEL = (RECALL, PROMPT)
DEFAULT_K = 5
_NUMBER = patterns.compile(r"\d+")


def _places(meta: fields.Meta, key: str) -> tuple[str, ...]:
    named = base.texts(meta, key) or WITHOUT_MODEL
    for place in named:
        if place not in PLACES:
            raise ValueError(f"`{key}` should be of {', '.join(PLACES)}, not `{place}`")
    return tuple(place for place in PLACES if place in named)


def _texts(meta: fields.Meta, name: str) -> tuple[str, ...]:
    """Return a list of texts; a number will do for one."""
    value = meta.get(name)
    listed = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(each, str | int | float) and str(each).strip() for each in listed):
        raise ValueError(f"`{name}` should be texts")
    return tuple(str(each).strip() for each in listed)


class Check(kind.Record, frozen=True, kw_only=True):
    """One question, and what is expected of it."""

    ABOUT: ClassVar[kind.About] = kind.About(headline="check {0.id}: {0.ask}", quoted="")

    ask: str
    person: Annotated[str, fields.Key("as")] = ""  # who asks, by id or name; empty: the owner
    any_of: tuple[str, ...]  # one of these, if there are any
    all_of: tuple[str, ...]  # and all of these
    never: Annotated[tuple[str, ...], fields.Key(read=_texts)]  # and none of these
    places: Annotated[tuple[str, ...], fields.Key("of", read=_places)]  # of PLACES
    k: int = DEFAULT_K  # how many memories may be searched for it
    enabled: bool = True  # else it is set aside, and not drafted again

    @classmethod
    def drawn(cls, document: markdown.Document, record_id: str) -> Mapping[str, Any]:
        """Read what is expected; a plain list is one of which any will do."""
        meta, expect = document.meta, document.meta.get("expect")
        ask = base.field(meta, "ask", str).strip()
        if not isinstance(expect, Mapping):
            return {"ask": ask, "any_of": _texts(meta, "expect"), "all_of": ()}
        if strange := [key for key in expect if key not in ("any", "all")]:
            raise ValueError(f"`expect` has `any` and `all`, not `{strange[0]}`")
        return {"ask": ask, "any_of": _texts(expect, "any"), "all_of": _texts(expect, "all")}

    def check(self) -> None:
        """Refuse one that asks nothing, or expects nothing."""
        if not self.ask:
            raise ValueError("`ask` should be a question, not empty")
        if not (self.expected or self.never):
            raise ValueError("`expect` is missing, and so is `never`: nothing is checked")
        if self.k < 1:
            raise ValueError(f"`k` should be 1 or more, not {self.k}")

    @property
    def told(self) -> str:
        return "\n".join((self.ask, *self.expected, *self.never))

    @property
    def concerned(self) -> tuple[str, ...]:
        return (relationships.person_id(self.person),) if self.person else ()

    def changes_since(self, old: Check) -> kind.Told:
        """Tell of it line by line."""
        yield from kind.changed_lines(old.source.text, self.source.text)

    @property
    def expected(self) -> tuple[str, ...]:
        """Every text that is expected, one way or the other."""
        return (*self.all_of, *self.any_of)

    def is_met(self, text: str) -> bool:
        """Whether a text holds what is expected."""
        holds_one = not self.any_of or any(holds(text, wanted) for wanted in self.any_of)
        return holds_one and all(holds(text, wanted) for wanted in self.all_of)

    def forbidden_in(self, text: str) -> tuple[str, ...]:
        """Return what a text holds of what must not be there."""
        return tuple(unwanted for unwanted in self.never if holds(text, unwanted))


def holds(text: str, wanted: str) -> bool:
    """Whether a text holds another, whatever the case and accents; a number only as a whole."""
    pattern = re.escape(words.folded(wanted))
    if _NUMBER.fullmatch(wanted):
        pattern = rf"(?<!\d){pattern}(?!\d)"
    return re.search(pattern, words.folded(text)) is not None


CHECK = kind.RecordKind(
    name="check",
    singular="check",
    plural="checks",
    key="checks",
    patterns=("checks/*.yaml",),
    record=Check,
    forgetting="file",
    people_keys=("as", "audience"),
    text_keys=("ask", "expect", "never"),
    explained=True,
    counted=True,
)


def new(
    check_id: str,
    ask: str,
    *,
    person: str = "",
    expect: tuple[str, ...] = (),
    never: tuple[str, ...] = (),
    provenance: base.Provenance | None = None,
) -> Check:
    """Make a check that is not in the folder yet; `plan_new` puts it there.

    Raises:
        ValueError: If it checks nothing.
    """
    values = {"ask": ask, "as": person, "expect": expect, "never": never}
    return CHECK.new(check_id, "", provenance, **values)
