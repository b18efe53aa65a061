"""The page itself: the templates beside this module filled in, with a policy that lets nothing out.

Whatever stands in a text is escaped; no script runs but the page's own, by its hash, and nothing is
loaded from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import jinja2
from markupsafe import Markup
from msgspec import Struct

from bumble import __version__
from bumble.bridges.report.body_over_time import HEIGHT, WIDTH, BodyOverTime
from bumble.bridges.report.life import ON_TIMELINE, Basis, Ground, Life, LifeEntry, anchor
from bumble.records import kinds
from bumble.records.episodes import Imprint
from bumble.text.printable import clean
from bumble.text.words import one_line, shorten

FOLDER = Path(__file__).with_name("page")
MARK = '<meta name="generator" content="bumble report'  # in the head of every report
HEAD_BYTES = 2_000  # in which the mark stands
MOST_HAPPENED, MOST_BELIEFS, MOST_DREAMS = 6, 5, 2  # on the first page
OPENING_CHARS = 220  # of a text on the first page
MOST_STEMS, STEM_INSET = 60, 10.0  # feelings that are drawn; room at both ends
CHUNK = 40  # entries that a browser lays out together, once they come near
_LEAD = re.compile(r"#{1,6} +|> ?")  # what makes a line of Markdown a heading or a quote
T = TypeVar("T")


class LifeReport(Struct, frozen=True):
    """All that the page shows."""

    name: str  # of the entity
    reader: str  # what to call whom it is for; empty: its owner
    now: datetime  # in the entity's zone
    life: Life
    body: BodyOverTime


class Stem(Struct, frozen=True):
    """A feeling, in the drawing of all."""

    x: float
    top: float
    at: datetime
    imprint: Imprint


class Glance(Struct, frozen=True):
    """What somebody sees first: the little that tells most of a life."""

    happened: list[LifeEntry]  # what mattered most, the newest first
    beliefs: list[LifeEntry]  # what it is surest of
    dreams: list[LifeEntry]  # the last ones
    stems: list[Stem]  # what was felt, the oldest first


class Day(Struct, frozen=True):
    """A day of the timeline, in parts that are laid out together."""

    at: datetime
    chunks: tuple[Sequence[LifeEntry], ...]


def render(report: LifeReport) -> str:
    """Return the page."""
    style, script = (_own("page.css"), _own("page.js"))
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER, encoding="utf-8"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless,
    )
    environment.filters |= {
        "day": _day,
        "clock": lambda at: f"{at:%H:%M}",
        "iso": lambda at: at.isoformat(timespec="seconds"),
        "anchor": lambda record_id, kind: anchor(kind, record_id),
        "blocks": lambda text: list(_blocks(text)),
        "chunks": lambda items: list(_chunks(items)),
        "opening": _opening,
        "heading": _heading,
        "said": _said,
        "percent": lambda share: f"{share:.0%}",
    }
    life = report.life
    values: dict[str, Any] = {
        "policy": policy(style, script),
        "style": style,
        "script": script,
        "version": __version__,
        "days": list(_days(_timeline(life))),
        "timeline_kinds": [kind for kind in ON_TIMELINE if life.of(kind)],
        "names": {who.id: who.name for who in life.people},
        "beliefs": life.of(kinds.BELIEF),
        "dreams": life.of(kinds.DREAM),
        "glance": glance(report),
        "kinds": kinds.BY_NAME,
        "width": WIDTH,
        "height": HEIGHT,
    }
    return environment.get_template("page.html.jinja").render(report=report, life=life, **values)


def glance(report: LifeReport) -> Glance:
    """Choose what is seen first."""
    life = report.life
    lived = sorted(life.of(kinds.EPISODE), key=lambda entry: (-entry.weight, -entry.at.timestamp()))
    held = [entry for entry in life.of(kinds.BELIEF) if not entry.put_away]
    return Glance(
        sorted(lived[:MOST_HAPPENED], key=lambda entry: entry.at, reverse=True),
        sorted(held, key=lambda entry: -(entry.sure or 0.0))[:MOST_BELIEFS],
        life.of(kinds.DREAM)[:MOST_DREAMS],
        _stems(report),
    )


def _opening(text: str) -> str:
    """Return how a text begins, without its headings."""
    parts = [part for mark, part in _blocks(text) if not mark.startswith("#")]
    return shorten(one_line(" ".join(parts)), OPENING_CHARS, at_word=True)


def _heading(text: str) -> str:
    """Return the heading with which a text begins; empty if with none."""
    mark, part = next(_blocks(text), ("", ""))
    return part if mark.startswith("#") else ""


def _stems(report: LifeReport) -> list[Stem]:
    """Return the strongest feeling of each episode of the time that is drawn."""
    felt = [
        (entry.at, max(entry.imprints, key=lambda imprint: imprint.intensity))
        for entry in reversed(report.life.of(kinds.EPISODE))
        if entry.imprints
    ][-MOST_STEMS:]
    span = (felt[-1][0] - felt[0][0]).total_seconds() or 1.0 if felt else 1.0
    room = WIDTH - 2 * STEM_INSET
    return [
        Stem(
            round(STEM_INSET + (at - felt[0][0]).total_seconds() / span * room, 1),
            round(HEIGHT - imprint.intensity * HEIGHT, 1),
            at,
            imprint,
        )
        for at, imprint in felt
    ]


def _said(ground: Ground) -> Basis | None:
    """Return the first message that something rests on, at once or by what it rests on."""
    bases = (one for basis in ground.bases for one in (basis, *basis.below))
    return next((one for one in bases if one.kind == "message"), None)


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a memory's Markdown: `#` and a heading, `>` and a quote, or plain text."""
    lines = ((_LEAD.match(line), line) for line in text.splitlines())
    parts = (
        (lead[0][0] if lead else "", line[lead.end() if lead else 0 :]) for lead, line in lines
    )
    for mark, group in groupby(parts, key=lambda part: part[0]):
        whole = "\n".join(line for _, line in group).strip()
        if whole:
            yield mark, whole


def _own(name: str) -> Markup:
    """Return a file of the page's own as it stands; nothing of anybody's memories is in it."""
    return Markup((FOLDER / name).read_text("utf-8"))  # noqa: S704


def policy(style: str, script: str) -> str:
    """Return the content policy of a page with this style and this script."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def is_report(data: bytes) -> bool:
    """Whether a file is a page that was made here."""
    return MARK.encode() in data[:HEAD_BYTES]


def _harmless(value: object) -> object:
    """Take out of a text what deceives, wherever it comes from; what is markup is the page's own.

    Texts of memories are clean by then: this is for all that may ever stand beside them.
    """
    if isinstance(value, str) and not isinstance(value, Markup):
        return clean(value)
    return value


def _timeline(life: Life) -> list[LifeEntry]:
    entries = [entry for kind in ON_TIMELINE for entry in life.of(kind)]
    return sorted(entries, key=lambda entry: entry.at, reverse=True)


def _days(entries: Iterable[LifeEntry]) -> Iterator[Day]:
    for _, group in groupby(entries, key=lambda entry: entry.at.date()):
        chunks = tuple(_chunks(list(group)))
        yield Day(chunks[0][0].at, chunks)


def _chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[at : at + CHUNK] for at in range(0, len(items), CHUNK))


def _day(at: datetime) -> str:
    return f"{at:%A}, {at.day} {at:%B} {at.year}"
