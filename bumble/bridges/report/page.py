"""The page itself: the templates beside this module filled in, with a policy that lets nothing out.

Whatever stands in a text is escaped; no script runs but the page's own, by its hash, and nothing is
loaded from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any

import jinja2
from markupsafe import Markup
from msgspec import Struct

from bumble import __version__, patterns
from bumble.body import bars, config, ebb
from bumble.body import soma as body
from bumble.bridges.report.life import (
    LEFT_OUT,
    ON_TIMELINE,
    Basis,
    Ground,
    Life,
    LifeEntry,
    anchor,
)
from bumble.files import git
from bumble.history import log
from bumble.recall.belief_strength import strength
from bumble.records import beliefs as beliefs_store
from bumble.records import dreams, kinds, soma
from bumble.records import episodes as episodes_store
from bumble.text.printable import clean
from bumble.text.words import language, one_line, shorten

MOST_VERSIONS = 150  # of the file that are read; each takes milliseconds
MOST_POINTS = 240  # of a line
WIDTH, HEIGHT = 600.0, 100.0  # of a drawing, in its own units
MOST_FEELINGS = 12
MOST_READ = 20  # episodes, which tell the language


class BodyMoment(Struct, frozen=True):
    """The body at a time."""

    at: datetime
    levels: Mapping[str, float]  # percent by bar


class BarLine(Struct, frozen=True):
    """How one bar went."""

    name: str
    points: str  # of a polyline
    values: Sequence[float]  # percent, the first of them first


class BodyOverTime(Struct, frozen=True):
    """All of it."""

    lines: tuple[BarLine, ...] = ()
    begin: datetime | None = None
    end: datetime | None = None
    # how often something was felt, and how strongly on average, in [0, 1]
    feelings: tuple[tuple[str, int, float], ...] = ()
    moods: tuple[tuple[str, int], ...] = ()  # how often each, the most frequent first


def body_of(
    episodes: Sequence[LifeEntry], history: Iterable[BodyMoment], now: BodyMoment | None
) -> BodyOverTime:
    """Put together what is known of a body.

    Args:
        episodes: With the body at the time of each.
        history: Of its file.
        now: As it is at present.
    """
    tags = [(entry.at, tag) for entry in episodes if (tag := ebb.parse_tag(entry.record.soma))]
    tagged = (BodyMoment(at, tag.bars) for at, tag in tags)
    moments = sorted((*tagged, *history, *((now,) if now else ())), key=lambda each: each.at)
    moods = Counter(tag.mood for _, tag in tags)
    feelings = _feelings(episodes)
    if not moments:
        return BodyOverTime(feelings=feelings)
    lines = tuple(_line(name, moments) for name in config.BAR_NAMES)
    return BodyOverTime(lines, moments[0].at, moments[-1].at, feelings, tuple(moods.most_common()))


def history(root: Path, zone: tzinfo) -> list[BodyMoment]:
    """Return the body by some commits of its file, evenly chosen; none where there are none.

    Raises:
        HistoryUnreadableError: If git gives up.
    """
    commits = log.read(root, wanted=[f":(literal){soma.PATH}"])
    # the oldest first, also of those of the same second
    chosen = commits[:: max(1, -(-len(commits) // MOST_VERSIONS))][::-1]
    texts = git.blobs(root, [f"{commit.id}:./{soma.PATH}" for commit in chosen])
    return [
        BodyMoment(commit.at.astimezone(zone), levels)
        for commit, data in zip(chosen, texts, strict=True)
        if data and (levels := _levels(data))
    ]


def _levels(data: bytes) -> dict[str, float]:
    """Return the bars of a version of the file; nothing of one that holds no body."""
    try:
        return levels(body.from_mapping(soma.parse(data.decode()).values))
    except ValueError:
        return {}


def levels(state: body.Soma) -> dict[str, float]:
    """Return the bars of a body."""
    return {name: state.bars.value(name) for name in config.BAR_NAMES}


def _line(name: str, moments: Sequence[BodyMoment]) -> BarLine:
    values = [moment.levels[name] for moment in moments]
    begin, end = moments[0].at, moments[-1].at
    span = (end - begin).total_seconds() or 1.0
    size = -(-len(moments) // MOST_POINTS)
    points = []
    for at in range(0, len(moments), size):
        group = moments[at : at + size]
        x = fmean((moment.at - begin).total_seconds() for moment in group) / span * WIDTH
        y = HEIGHT - fmean(moment.levels[name] for moment in group) / bars.FULL * HEIGHT
        points.append(f"{x:.1f},{y:.1f}")
    if len(points) == 1:
        points = [points[0], f"{WIDTH:.1f},{points[0].partition(',')[2]}"]
    return BarLine(name, " ".join(points), values)


def _feelings(episodes: Sequence[LifeEntry]) -> tuple[tuple[str, int, float], ...]:
    strengths: dict[str, list[float]] = {}
    for entry in episodes:
        for imprint in entry.record.imprints:
            strengths.setdefault(imprint.emotion, []).append(imprint.intensity)
    ordered = sorted(strengths.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    return tuple((name, len(values), fmean(values)) for name, values in ordered[:MOST_FEELINGS])


FOLDER = Path(__file__).with_name("page")
MARK = '<meta name="generator" content="bumble report'  # in the head of every report
HEAD_BYTES = 2_000  # in which the mark stands
MOST_HAPPENED, MOST_BELIEFS, MOST_DREAMS = 6, 5, 2  # on the first page
OPENING_CHARS = 220  # of a text on the first page
MOST_STEMS, STEM_INSET = 60, 10.0  # feelings that are drawn; room at both ends
BRANCHES = 8  # of the tree in which entries stand; a browser draws those parts that come near
_LEAD = patterns.compile(r"#{1,6} +|> ?")  # what makes a line of Markdown a heading or a quote


class LifeReport(Struct, frozen=True):
    """All that the page shows."""

    name: str  # of the entity
    reader: str  # what to call whom it is for; empty: its owner
    now: datetime  # in the entity's zone
    life: Life
    body: BodyOverTime


class Day(Struct, frozen=True):
    """A day of the timeline."""

    at: datetime
    entries: list[LifeEntry]


def render(report: LifeReport) -> str:
    """Return the page."""
    # the page's own; nothing of anybody's memories is in them
    files = (FOLDER / "page.css", FOLDER / "page.js")
    style, script = (Markup(file.read_text("utf-8")) for file in files)  # noqa: S704
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER, encoding="utf-8"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless,
    )
    environment.filters |= {
        "day": lambda at: f"{at:%A}, {at.day} {at:%B} {at.year}",
        "clock": lambda at: f"{at:%H:%M}",
        "iso": lambda at: at.isoformat(timespec="seconds"),
        "anchor": lambda record_id, kind: anchor(kind, record_id),
        "blocks": lambda text: list(_blocks(text)),
        "tree": _tree,
        "opening": _opening,
        "heading": _heading,
        "said": _said,
        "percent": lambda share: f"{share:.0%}",
        "sure": lambda belief: strength(belief, report.now),
    }
    life, lived = report.life, report.life.of(episodes_store.EPISODE)
    values: dict[str, Any] = {
        "policy": policy(style, script),
        "style": style,
        "script": script,
        "version": __version__,
        # so that browsers choose the forms of its signs
        "language": language("\n".join(one.text for one in lived[:MOST_READ])),
        "days": list(_days(life)),
        "timeline_kinds": [kind for kind in ON_TIMELINE if life.of(kind)],
        "left_out": LEFT_OUT,
        "names": life.names,
        "portrayed": {who.id for who in life.people},
        "beliefs": life.of(beliefs_store.BELIEF),
        "dreams": life.of(dreams.DREAM),
        "glance": glance(report),
        "kinds": kinds.BY_NAME,
        "width": WIDTH,
        "height": HEIGHT,
    }
    return environment.get_template("page.html.jinja").render(report=report, life=life, **values)


def glance(report: LifeReport) -> dict[str, list[Any]]:
    """Choose what is seen first: the little that tells most of a life."""
    life = report.life
    lived = sorted(
        life.of(episodes_store.EPISODE),
        key=lambda entry: (-entry.record.significance, -entry.at.timestamp()),
    )
    dreamt = {entry.text for entry in life.of(dreams.DREAM)}
    beliefs = (entry for entry in life.of(beliefs_store.BELIEF) if not entry.record.archived)
    held = [entry for entry in beliefs if entry.text not in dreamt]
    return {
        "happened": sorted(lived[:MOST_HAPPENED], key=lambda entry: entry.at, reverse=True),
        "beliefs": sorted(held, key=lambda entry: -strength(entry.record, report.now))[
            :MOST_BELIEFS
        ],
        "dreams": life.of(dreams.DREAM)[:MOST_DREAMS],
        "stems": _stems(report),  # what was felt, the oldest first
    }


def _opening(text: str) -> str:
    """Return how a text begins, without its headings."""
    parts = [part for mark, part in _blocks(text) if not mark.startswith("#")]
    return shorten(one_line(" ".join(parts)), OPENING_CHARS, at_word=True)


def _heading(text: str) -> str:
    """Return the heading with which a text begins; empty if with none."""
    mark, part = next(_blocks(text), ("", ""))
    return part if mark.startswith("#") else ""


def _stems(report: LifeReport) -> list[dict[str, Any]]:
    """Return the strongest feeling of each episode of the time that is drawn, and its place."""
    felt = [
        (entry.at, max(entry.record.imprints, key=lambda imprint: imprint.intensity))
        for entry in reversed(report.life.of(episodes_store.EPISODE))
        if entry.record.imprints
    ][-MOST_STEMS:]
    span = (felt[-1][0] - felt[0][0]).total_seconds() or 1.0 if felt else 1.0
    room = WIDTH - 2 * STEM_INSET
    return [
        {
            "x": round(STEM_INSET + (at - felt[0][0]).total_seconds() / span * room, 1),
            "top": round(HEIGHT - imprint.intensity * HEIGHT, 1),
            "at": at,
            "felt": imprint,
        }
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
        if whole := "\n".join(line for _, line in group).strip():
            yield mark, whole


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
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _days(life: Life) -> Iterator[Day]:
    entries = [entry for kind in ON_TIMELINE for entry in life.of(kind)]
    entries.sort(key=lambda entry: entry.at, reverse=True)
    for _, group in groupby(entries, key=lambda entry: entry.at.date()):
        of_day = list(group)
        yield Day(of_day[0].at, of_day)


def _tree(items: Sequence[Any]) -> Sequence[Any]:
    """Put items into groups of groups: a browser looks at a few a frame."""
    while len(items) > BRANCHES:
        items = [items[at : at + BRANCHES] for at in range(0, len(items), BRANCHES)]
    return items
