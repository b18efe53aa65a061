"""`bumble soma`, `noise`, `anchor`: the body as it is, stray thoughts, and states with a name."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from bumble.body import bars, config, ebb, hormones, noise
from bumble.body.soma import Soma, felt_mapping
from bumble.cli import command, listing, output, writing
from bumble.cli.opening import Opened
from bumble.cli.shelf import Face, Shelf, data_of
from bumble.entity import secrets
from bumble.errors import RecordExistsError
from bumble.records import anchors, base, relationships, soma
from bumble.runtime import body_state
from bumble.text import words


def look(opened: Opened) -> tuple[Soma, datetime | None]:
    """Read the body from its file and bring it to the present.

    Returns:
        It, and when the values of its file were true; None: it is not written yet.

    Raises:
        RecordInvalidError: If the file does not hold a body.
    """
    place, temperament = opened.within(opened.entity.soma), opened.config.soma.bars.levels
    file = soma.read(place)
    present = body_state.present(place, file, opened.now, opened.zone, temperament)
    stored = body_state.stored(place, file)
    return present, stored.at if stored else None


def fragment_data(held: noise.Fragment) -> dict[str, Any]:
    """Return a stray thought as data."""
    return {
        "text": held.text,
        "kind": held.kind,
        "salience": held.salience,
        "at": held.at.isoformat(),
        "audience": list(held.audience),
    }


app = command.group(opens=True)
WIDTH = 30  # characters of a full bar


@app.callback(invoke_without_command=True)
@command.looks_back
def show(opened: Opened) -> None:
    """Look at the body.

    Its values are those of the present, computed from the file; looking writes nothing.
    """
    whole, stored_at = look(opened)
    soma = listing.Viewer(opened).seen(whole)
    age = opened.shell.now() - stored_at if stored_at else None
    met = sum(
        person.interaction_count
        for person in relationships.PERSON.readable(opened.entity.relationships)
    )
    data = {
        "at": soma.at.isoformat(),
        "stored_at": stored_at.isoformat() if stored_at else None,
        "age_seconds": None if age is None else max(0.0, age.total_seconds()),
        "bars": {
            name: {"value": round(bar.value, 2), "rest": round(bar.rest, 2)}
            for name, bar in soma.bars.levels.items()
        },
        "mood": {"name": soma.mood.name, "intensity": round(soma.mood.intensity, 4)},
        "intensity": round(soma.intensity, 4),
        "loudness": round(ebb.loudness(soma), 4),
        "tier": ebb.shown_tier(soma),
        "affects": [
            {"name": affect.name, "intensity": round(affect.intensity, 4)}
            for affect in soma.affects
        ],
        "hormones": {
            hormones.shown_name(name, named=opened.config.soma.hormones.show_names): {
                "level": round(soma.hormones.levels[name], 4),
                "rest": hormones.REST[name],
                "label": label,
            }
            for name, label in hormones.labels(soma.hormones).items()
        },
        "tone": hormones.tone(soma.hormones),
        "impulses": list(bars.ready_impulses(soma.bars)),
        "fired": {name: at.isoformat() for name, at in soma.bars.fired.items()},
        "conflicts": list(bars.conflicts(soma.bars)),
        "felt": felt_mapping(soma.felt),
        "noise": [fragment_data(fragment) for fragment in soma.noise],
        "maturity": round(hormones.maturity(met), 4),
    }
    written = f"last written {listing.when(stored_at, opened)}"
    if stored_at is None:
        written = "as it is born, nothing has moved it yet"
    elif stored_at > opened.now:
        written += ", later than that: it is shown as it was then"
    title = f"{opened.identity.name}'s body, {listing.when(opened.now, opened)}; {written}"
    output.result(opened.shell, "soma", data, [title, *_lines(opened, soma, data)])


@app.command()
@command.runs_job
def tick(opened: Opened, flags: command.JobFlags) -> None:
    """Bring the values in the file to the present; no model is asked."""
    from bumble.cli import run_job

    run_job.perform(opened, flags, "soma tick", body_state.check_tick, body_state.run_tick)


def _lines(opened: Opened, soma: Soma, data: dict[str, Any]) -> list[str]:
    parts = [
        [name, _draw_bar(bar.value, bar.rest), f"{bar.value:3.0f}", f"rest {bar.rest:.0f}"]
        for name, bar in soma.bars.levels.items()
    ]
    levels = [
        f"{name} {hormone['level']:.2f} ({hormone['label']})"
        for name, hormone in data["hormones"].items()
    ]
    rows = [
        ("mood", with_strength(soma.mood.name, soma.mood.intensity)),
        ("loudness", f"{data['loudness']:.2f}, {data['tier']}"),
        (
            "feelings",
            ", ".join(with_strength(hormone.name, hormone.intensity) for hormone in soma.affects),
        ),
        ("felt", f"{soma.felt.text} ({listing.when(soma.felt.at, opened)})" if soma.felt else ""),
        ("hormones", ", ".join(levels)),
        ("tone", data["tone"]),
        ("urges", ", ".join(data["impulses"]).replace("_", " ")),
        ("torn", ", ".join(data["conflicts"]).replace("_", " ")),
        *(("noise", noise.line(fragment)) for fragment in soma.noise),
    ]
    return [*output.table(parts, indent="  "), "", *listing.details(rows)]


def _draw_bar(value: float, rest: float) -> str:
    """Draw a bar, with a stroke where it rests."""
    filled = round(value / bars.FULL * WIDTH)
    cells = ["█" if n < filled else "░" for n in range(WIDTH)]
    cells[min(WIDTH - 1, int(rest / bars.FULL * WIDTH))] = "┃"
    return "".join(cells)


def with_strength(name: str, intensity: float) -> str:
    """Name a feeling, and how strong it is."""
    return f"{name} ({intensity:.2f})" if intensity else name


noise_app = command.group(opens=True)


@noise_app.callback(invoke_without_command=True)
@command.shows
def list_(opened: Opened) -> None:
    """Look at stray thoughts, and let some come.

    The newest is last.
    """

    def line(fragment: noise.Fragment) -> list[str]:
        only = f"  (only for {', '.join(fragment.audience)})" if fragment.audience else ""
        return [listing.when(fragment.at, opened), f"{noise.line(fragment)}{only}"]

    held = listing.Listing(look(opened)[0].noise)
    none = "No stray thoughts yet. `bumble noise tick` lets some come."
    listing.show_list(opened, "noise", held, fragment_data, line, none)


@noise_app.command("tick")
@command.runs_job
def think(opened: Opened, flags: command.JobFlags) -> None:
    """Let one to three stray thoughts come, if the last are long enough ago."""
    from bumble.cli import run_job
    from bumble.jobs import musings

    run_job.perform(opened, flags, "noise tick", musings.check_thoughts, musings.run)


anchor_app = command.group()
LabelArgument = Annotated[
    str, typer.Argument(metavar="LABEL", help="What the anchor is called, or its file's name.")
]


def _left(opened: Opened, anchor: anchors.Anchor) -> float:
    return body_state.anchor_strength(anchor, opened.shell.now())


def _anchor_face(opened: Opened, anchor: anchors.Anchor) -> Face:
    last = listing.when(anchor.last_recalled, opened)
    named = opened.config.soma.hormones.show_names
    rows = [
        ("made", listing.when(anchor.at, opened)),
        ("strength", f"{anchor.strength:.2f}, {_left(opened, anchor):.2f} left"),
        ("recalled", f"{anchor.recalled} times; last: {last}"),
        (
            "hormones",
            ", ".join(
                f"{hormones.shown_name(name, named=named)} {anchor.levels[name]:.4f}"
                for name in config.HORMONE_NAMES
            ),
        ),
    ]
    return [f"# {anchor.label}", "", anchor.description], rows, ()


ANCHORS = Shelf(
    kind=anchors.ANCHOR,
    group="anchor",
    none='No anchors. Keep how it feels now with `bumble anchor add "the evening by the sea"`.',
    title=lambda anchor: anchor.label,
    cells=lambda opened, anchor: [
        anchor.label,
        f"{_left(opened, anchor):.2f}",
        f"recalled {words.counted(anchor.recalled, 'time')}",
        output.shorten(anchor.description),
    ],
    face=_anchor_face,
    data=lambda opened, anchor: data_of(anchor, ("stirred",), left=round(_left(opened, anchor), 4)),
    argument=LabelArgument,
)


@anchor_app.command()
@command.writes
def add(
    opened: Opened,
    label: Annotated[str, typer.Argument(metavar="LABEL", help="What it is to be called.")],
    description: Annotated[
        str, typer.Argument(metavar="[DESCRIPTION]", help="What it is like.", show_default=False)
    ] = "",
    *,
    strength: Annotated[
        float, typer.Option(min=0, max=1, help="How much it counts, from 0 to 1.")
    ] = 1.0,
    dry_run: command.DryRunOption = False,
) -> None:
    """Keep how the body is now under a name.

    Of more than 20 the weakest goes: what counts is strength, and how lately it was recalled.
    """
    label = writing.one_line(label, "label")
    secrets.refuse(label, description)
    listed = ANCHORS.listed(opened).records
    if existing := anchors.ANCHOR.match(listed, label):
        raise RecordExistsError(
            Path(anchors.ANCHOR.path(existing.id)),
            "Recall it, remove it, or choose another label.",
        )
    levels, at = look(opened)[0].hormones.levels, opened.now
    origin = base.Provenance(by="anchor add")
    anchor = anchors.new(label, description, levels, at, strength, provenance=origin)
    why = f"keep how it feels: {anchor.label}"
    surplus = body_state.dropped_anchors(listed, at)
    gone = "".join(f' The weakest is gone: "{weak.label}".' for weak in surplus)
    writing.commit(
        opened,
        "anchor add",
        [
            anchors.ANCHOR.plan_new(anchor, why),
            *(anchors.ANCHOR.plan_forget(weak, f"{why}; the weakest goes") for weak in surplus),
        ],
        f'Added the anchor "{anchor.label}".{gone}',
        dry_run=dry_run,
        id=anchor.id,
        dropped=[weak.id for weak in surplus],
    )


ANCHORS.offers(
    anchor_app,
    list="List anchors, each with what time has left of it.",
    show="Show an anchor.",
)


@anchor_app.command()
@command.writes
def recall(opened: Opened, label: LabelArgument, *, dry_run: command.DryRunOption = False) -> None:
    """Draw the body towards an anchor: level ← .7·level + .3·anchor."""
    anchor, at = ANCHORS.find(opened, label), opened.now
    now, _ = look(opened)
    why = f"recall: {anchor.label}"

    moved = body_state.plan_moved(
        opened.entity,
        at,
        opened.zone,
        opened.config.soma.bars.levels,
        lambda soma: body_state.blended(soma, anchor, hormones.ASKED),
        why,
    )
    writing.commit(
        opened,
        "anchor recall",
        [moved, anchors.plan_recalled(anchor, at, why, stirred=False)],
        f'The body is drawn towards "{anchor.label}".',
        dry_run=dry_run,
        id=anchor.id,
        before=_rounded(now.hormones.levels),
        after=_rounded(hormones.blend(now.hormones, anchor.levels, hormones.ASKED).levels),
    )


ANCHORS.offers(anchor_app, remove="Remove an anchor's file.")


def _rounded(levels: Mapping[str, float]) -> dict[str, float]:
    return {name: round(levels[name], anchors.DECIMALS) for name in config.HORMONE_NAMES}
