"""`bumble soma`: the body as it is now: bars, hormones, mood, feelings."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

import typer
from msgspec import Struct
from msgspec.structs import replace

from bumble.body import bars, ebb, hormones, noise
from bumble.body.affects import emotional_intensity
from bumble.body.bars import FULL
from bumble.body.config import HORMONE_NAMES
from bumble.body.soma import Soma
from bumble.cli import listing, output, run_job
from bumble.cli.body_view import Presence, fragment_data, look
from bumble.cli.entity_command import looks_back, runs_job
from bumble.cli.opening import Opened
from bumble.cli.run_job import JobFlags
from bumble.errors import UsageError
from bumble.records import anchors, relationships
from bumble.runtime import anchor_recall

BLENDS = (
    (hormones.ASKED, "asked for"),
    (hormones.WORDS, "its words in a message"),
    (hormones.ALIKE, f"a body like it, above {hormones.ALIKE_ABOVE:g}"),
)


class AnchorsView(Struct, frozen=True):
    """The anchors of a body, as data and as lines."""

    data: dict[str, Any]
    lines: list[str]


def anchors_view(opened: Opened, presence: Presence) -> AnchorsView:
    """Say how near each anchor is, and when one may come back by itself."""
    listed = listing.readable(opened, anchors.paths(opened.entity.anchors), anchors.load).records
    now, by_itself = opened.shell.now(), opened.config.soma.anchors.by_itself
    stirred = anchor_recall.stirred_at(listed, now)
    cooling = hormones.is_cooling(stirred, now)
    entries = [
        {
            "id": anchor.id,
            "label": anchor.label,
            "left": round(anchor_recall.strength(anchor, now), 4),
            "like": round(anchor_recall.like(anchor, presence.soma), 4),
            "recalled": anchor.recalled,
        }
        for anchor in listed
    ]
    again = stirred + hormones.COOL_DOWN if stirred and cooling else None
    data = {
        "by_itself": by_itself,
        "again": again.isoformat() if again else None,
        "entries": entries,
    }
    blends = "; ".join(f"{share:g} {cause}" for share, cause in BLENDS)
    lines = [f"anchors: level ← (1 − s)·level + s·anchor, s = {blends}"]
    if not by_itself:
        lines.append("  none comes back by itself: soma.anchors.by_itself is off")
    elif again:
        lines.append(f"  none comes back by itself before {listing.when(again, opened)}")
    rows = [
        [str(entry["label"]), f"left {entry['left']:.2f}", f"like now {entry['like']:+.2f}"]
        for entry in entries
    ]
    return AnchorsView(data, [*lines, *(output.table(rows, indent="  ") or ["  none yet"])])


app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="Look at the body.",
)
WIDTH = 30  # characters of a full bar
AsOption = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="FORM",
        help="One of its forms in text: `tag` (of an episode), `line` (for reflection) "
        "or `dream` (at sleep onset).",
    ),
]

ExplainOption = Annotated[
    bool, typer.Option("--explain", help="Show which anchors there are, and what stirs them.")
]


@app.callback(invoke_without_command=True)
@looks_back
def show(opened: Opened, *, as_: AsOption = None, explain: ExplainOption = False) -> None:
    """Look at the body.

    Its values are those of the present, computed from the file; looking writes nothing.
    """
    presence = look(opened)
    presence = replace(presence, soma=listing.Viewer(opened).body(presence.soma))
    if as_ is not None:
        text = _rendered(presence, as_)
        output.result(opened.shell, "soma", {"as": as_, "text": text}, text)
        return
    data = _data(opened, presence)
    lines = _lines(opened, presence, data)
    if explain:
        anchored = anchors_view(opened, presence)
        data, lines = {**data, "anchors": anchored.data}, [*lines, "", *anchored.lines]
    output.result(opened.shell, "soma", data, lines)


@app.command()
@runs_job
def tick(opened: Opened, flags: JobFlags) -> None:
    """Bring the values in the file to the present; no model is asked."""
    from bumble.cli import runtimes
    from bumble.jobs import soma_tick

    with runtimes.open_runtime(opened, "soma tick") as runtime:
        run_job.carry_out(
            opened,
            runtime,
            "soma tick",
            soma_tick.check,
            soma_tick.run,
            flags,
        )


def _rendered(presence: Presence, form: str) -> str:
    soma = presence.soma
    if form == "tag":
        return ebb.episode_tag(soma)
    if form == "line":
        return ebb.reflection_line(soma)
    if form == "dream":
        return ebb.dream_lines(soma)
    raise UsageError(f"--as {form}: the forms are tag, line and dream.")


def _data(opened: Opened, presence: Presence) -> dict[str, Any]:
    soma = presence.soma
    age = opened.shell.now() - presence.stored_at if presence.stored_at else None
    loud = ebb.loudness(soma)
    met = sum(
        person.interaction_count for person in relationships.read(opened.entity.relationships)
    )
    return {
        "at": soma.at.isoformat(),
        "stored_at": presence.stored_at.isoformat() if presence.stored_at else None,
        "age_seconds": None if age is None else max(0.0, age.total_seconds()),
        "bars": {
            name: {"value": round(bar.value, 2), "rest": round(bar.rest, 2)}
            for name, bar in soma.bars.levels.items()
        },
        "mood": {"name": presence.mood.name, "intensity": round(presence.mood.intensity, 4)},
        "intensity": round(emotional_intensity(presence.mood, soma.affects), 4),
        "loudness": round(loud, 4),
        "tier": ebb.shown_tier(soma),
        "affects": [
            {"name": affect.name, "intensity": round(affect.intensity, 4)}
            for affect in soma.affects
        ],
        "hormones": _hormones(soma, named=opened.config.soma.hormones.show_names),
        "tone": hormones.tone(soma.hormones),
        "impulses": list(bars.ready_impulses(soma.bars)),
        "fired": {name: at.isoformat() for name, at in soma.bars.fired.items()},
        "conflicts": list(bars.conflicts(soma.bars)),
        "felt": {
            "text": soma.felt.text,
            "at": soma.felt.at.isoformat(),
            "audience": list(soma.felt.audience),
        }
        if soma.felt
        else None,
        "noise": [fragment_data(fragment) for fragment in soma.noise],
        "maturity": round(hormones.maturity(met), 4),
    }


def _hormones(soma: Soma, *, named: bool) -> dict[str, dict[str, Any]]:
    """Return levels and labels by the names that are to be shown."""
    labels = hormones.labels(soma.hormones)
    return {
        hormones.shown_name(name, named=named): {
            "level": round(soma.hormones.levels[name], 4),
            "rest": hormones.REST[name],
            "label": labels[name],
        }
        for name in HORMONE_NAMES
    }


def _lines(opened: Opened, presence: Presence, data: dict[str, Any]) -> list[str]:
    soma = presence.soma
    parts = [
        [name, _draw_bar(bar.value, bar.rest), f"{bar.value:3.0f}", f"rest {bar.rest:.0f}"]
        for name, bar in soma.bars.levels.items()
    ]
    levels = [
        f"{name} {hormone['level']:.2f} ({hormone['label']})"
        for name, hormone in data["hormones"].items()
    ]
    rows = [
        ("mood", _with_strength(presence.mood.name, presence.mood.intensity)),
        ("loudness", f"{data['loudness']:.2f}, {data['tier']}"),
        (
            "feelings",
            ", ".join(_with_strength(hormone.name, hormone.intensity) for hormone in soma.affects),
        ),
        ("felt", f"{soma.felt.text} ({listing.when(soma.felt.at, opened)})" if soma.felt else ""),
        ("hormones", ", ".join(levels)),
        ("tone", data["tone"]),
        ("urges", ", ".join(_plain(name) for name in data["impulses"])),
        ("torn", ", ".join(_plain(name) for name in data["conflicts"])),
        *(("noise", noise.line(fragment)) for fragment in soma.noise),
    ]
    return [_title(opened, presence), *output.table(parts, indent="  "), "", *listing.details(rows)]


def _title(opened: Opened, presence: Presence) -> str:
    name, at = opened.identity.name, listing.when(opened.shell.now(), opened)
    if presence.stored_at is None:
        return f"{name}'s body, {at}; as it is born, nothing has moved it yet"
    return f"{name}'s body, {at}; last written {_ago(opened, presence.stored_at)}"


def _ago(opened: Opened, at: datetime) -> str:
    passed = opened.shell.now() - at
    if passed < timedelta(0):
        return f"at {listing.when(at, opened)}, later than that: it is shown as it was then"
    minutes = int(passed.total_seconds() // 60)
    if minutes < 120:
        return f"{minutes} min ago"
    return f"{minutes // 60} h ago" if minutes < 48 * 60 else f"{minutes // (24 * 60)} days ago"


def _draw_bar(value: float, rest: float) -> str:
    """Draw a bar, with a stroke where it rests."""
    filled = round(value / FULL * WIDTH)
    stroke = min(WIDTH - 1, int(rest / FULL * WIDTH))
    cells = ["█" if n < filled else "░" for n in range(WIDTH)]
    cells[stroke] = "┃"
    return "".join(cells)


def _with_strength(name: str, intensity: float) -> str:
    return f"{name} ({intensity:.2f})" if intensity else name


def _plain(name: str) -> str:
    return name.replace("_", " ")
