"""Check files: a question about what the entity knows, and what must and must not come of it.

Layout: `checks/<name>.yaml`, one mapping. Knows nothing of how a check is made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from bumble.entity.changes import Change
from bumble.records import base
from bumble.records.base import Provenance
from bumble.text import yaml_edit
from bumble.text.markdown import YamlDocument
from bumble.text.words import folded

FOLDER = "checks"
RECALL, PROMPT, ANSWER = "recall", "prompt", "answer"
PLACES = (RECALL, PROMPT, ANSWER)  # what a check may look at
WITHOUT_MODEL = (RECALL, PROMPT)
DEFAULT_K = 5
_NUMBER = re.compile(r"\d+")


class Check(Struct, frozen=True):
    """One question, and what is expected of it."""

    id: str  # the file's stem
    ask: str
    person: str  # who asks, by id or name, under the key `as`; empty: the owner
    any_of: tuple[str, ...]  # one of these, if there are any
    all_of: tuple[str, ...]  # and all of these
    never: tuple[str, ...]  # and none of these
    places: tuple[str, ...]  # of PLACES, under the key `of`
    k: int  # how many memories may be searched for it
    enabled: bool  # else it is set aside, and not drafted again
    provenance: Provenance
    source: YamlDocument  # the file as it stands; edits splice its lines

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
    pattern = re.escape(folded(wanted))
    if _NUMBER.fullmatch(wanted):
        pattern = rf"(?<!\d){pattern}(?!\d)"
    return re.search(pattern, folded(text)) is not None


def parse(source: str, stem: str) -> Check:
    """Read a check from the text of its file; `source.text` gives the same bytes back."""
    return of(YamlDocument.of(source), stem)


def of(document: YamlDocument, check_id: str) -> Check:
    """Read a check from its document."""
    meta = document.meta
    any_of, all_of = _expected(meta)
    never = _texts(meta, "never")
    ask, k = base.field(meta, "ask", str), base.field(meta, "k", int, DEFAULT_K)
    if not ask.strip():
        raise ValueError("`ask` should be a question, not empty")
    if not (any_of or all_of or never):
        raise ValueError("`expect` is missing, and so is `never`: nothing is checked")
    if k < 1:
        raise ValueError(f"`k` should be 1 or more, not {k}")
    places = base.texts(meta, "of") or WITHOUT_MODEL
    for place in places:
        if place not in PLACES:
            raise ValueError(f"`of` should be of {', '.join(PLACES)}, not `{place}`")
    return Check(
        id=check_id,
        ask=ask.strip(),
        person=base.field(meta, "as", str, ""),
        any_of=any_of,
        all_of=all_of,
        never=never,
        places=tuple(place for place in PLACES if place in places),
        k=k,
        enabled=base.field(meta, "enabled", bool, True),
        provenance=base.provenance(meta),
        source=document,
    )


def _expected(meta: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what any of, and what all of is expected; a plain list is one of which any will do."""
    expect = meta.get("expect")
    if not isinstance(expect, Mapping):
        return _texts(meta, "expect"), ()
    if strange := [key for key in expect if key not in ("any", "all")]:
        raise ValueError(f"`expect` has `any` and `all`, not `{strange[0]}`")
    return _texts(expect, "any"), _texts(expect, "all")


def _texts(meta: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return a list of texts; a number will do for one."""
    value = meta.get(name)
    listed = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(each, str | int | float) and str(each).strip() for each in listed):
        raise ValueError(f"`{name}` should be texts")
    return tuple(str(each).strip() for each in listed)


def new(
    check_id: str,
    ask: str,
    *,
    person: str = "",
    expect: tuple[str, ...] = (),
    never: tuple[str, ...] = (),
    provenance: Provenance | None = None,
) -> Check:
    """Make a check that is not in the folder yet; `plan_new` puts it there.

    Raises:
        ValueError: If it checks nothing.
    """
    meta = base.filled({"ask": ask, "as": person, "expect": list(expect), "never": list(never)})
    source = yaml_edit.dump(meta | (provenance or Provenance()).meta())
    return of(YamlDocument.of(source), check_id)


def path(check_id: str) -> str:
    """Return where a check lies, relative to the entity folder."""
    return f"{FOLDER}/{check_id}.yaml"


def paths(folder: Path) -> list[Path]:
    """Return the files of all checks, by name."""
    return base.paths(folder, "*.yaml")


def load(file: Path) -> Check:
    """Read the check in a file.

    Raises:
        RecordInvalidError: If it is none.
    """
    return base.load(file, parse)


def plan_new(check: Check, why: str) -> Change:
    """Plan to put a new check into the folder."""
    return base.plan_new(path(check.id), check.source, why)
