"""`bumble anchor`: states of the body that have a name: add, list, show, recall, remove."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import typer

from bumble.body import hormones
from bumble.body.config import HORMONE_NAMES
from bumble.body.hormones import shown_name
from bumble.body.soma import Soma
from bumble.cli import body_view, commit, listing, output, text_input
from bumble.cli.entity_command import shows, writes
from bumble.cli.opening import Opened
from bumble.cli.options import DryRunOption, YesOption
from bumble.cli.shelf import Shelf
from bumble.errors import RecordExistsError
from bumble.records import anchors
from bumble.records.anchors import Anchor
from bumble.records.base import Provenance
from bumble.runtime import anchor_recall, body_state

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Look at and recall states of the body that have a name.",
)
ANCHORS = Shelf(anchors.ANCHOR, by=("label", "id"))
LabelArgument = Annotated[
    str, typer.Argument(metavar="LABEL", help="What the anchor is called, or its file's name.")
]
NONE = 'No anchors. Keep how it feels now with `bumble anchor add "the evening by the sea"`.'


@app.command()
@writes
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
    dry_run: DryRunOption = False,
) -> None:
    """Keep how the body is now under a name.

    Of more than 20 the weakest goes: what counts is strength, and how lately it was recalled.
    """
    label = text_input.one_line(label, "label")
    text_input.refuse_secrets(label, description)
    listed = ANCHORS.listed(opened).records
    existing = anchors.match(listed, label)
    if existing is not None:
        advice = "Recall it, remove it, or choose another label."
        raise RecordExistsError(opened.entity.root / anchors.path(existing.id), advice)
    levels, at = body_view.look(opened).soma.hormones.levels, _at(opened)
    origin = Provenance(by="anchor add")
    anchor = anchors.new(label, description, levels, at, strength, provenance=origin)
    why = f"keep how it feels: {anchor.label}"
    surplus = anchor_recall.dropped(listed, at)
    planned = [anchors.plan_new(anchor, why)]
    planned += [anchors.plan_forget(weak, f"{why}; the weakest goes") for weak in surplus]
    gone = "".join(f' The weakest is gone: "{weak.label}".' for weak in surplus)
    sentence = f'Added the anchor "{anchor.label}".{gone}'
    dropped = [weak.id for weak in surplus]
    commit.commit(
        opened, "anchor add", planned, sentence, dry_run=dry_run, id=anchor.id, dropped=dropped
    )


@app.command("list")
@shows
def list_(opened: Opened) -> None:
    """List anchors, each with what time has left of it."""

    def line(anchor: Anchor) -> list[str]:
        left = anchor_recall.strength(anchor, opened.shell.now())
        times = f"recalled {anchor.recalled} time{'' if anchor.recalled == 1 else 's'}"
        return [anchor.label, f"{left:.2f}", times, output.shorten(anchor.description)]

    def data(anchor: Anchor) -> dict[str, Any]:
        return _data(opened, anchor)

    listing.show_list(opened, "anchor list", ANCHORS.listed(opened), data, line, NONE)


@app.command()
@shows
def show(opened: Opened, label: LabelArgument) -> None:
    """Show an anchor, and what recalling it would do to the body now."""
    anchor = ANCHORS.seen(opened, label)
    last = listing.when(anchor.last_recalled, opened)
    rows = [
        ("made", listing.when(anchor.at, opened)),
        ("strength", f"{anchor.strength:.2f}, {_left(opened, anchor):.2f} left"),
        (
            "recalled",
            f"{anchor.recalled} times; last: {last}",
        ),
        ("hormones", _levels(opened, anchor.levels)),
        ("written", listing.origin(anchor.provenance)),
        ("file", anchors.path(anchor.id)),
    ]
    now = body_view.look(opened).soma
    text = [f"# {anchor.label}", "", anchor.description, "", *listing.details(rows)]
    text += ["", "Recalled now:", *formula(opened, now, anchor, hormones.ASKED)]
    output.result(opened.shell, "anchor show", _data(opened, anchor), text)


@app.command()
@writes
def recall(opened: Opened, label: LabelArgument, *, dry_run: DryRunOption = False) -> None:
    """Draw the body towards an anchor: level ← .7·level + .3·anchor."""
    anchor, at = ANCHORS.find(opened, label), _at(opened)
    now = body_view.look(opened).soma
    why = f"recall: {anchor.label}"

    def move(soma: Soma) -> Soma:
        return anchor_recall.blended(soma, anchor, hormones.ASKED)

    temperament = opened.config.soma.bars.levels
    moved = body_state.plan_moved(opened.entity, at, opened.zone, temperament, move, why)
    planned = [moved, anchors.plan_recalled(anchor, at, why, stirred=False)]
    sentence = "\n".join([f"{anchor.label}:", *formula(opened, now, anchor, hormones.ASKED)])
    levels = hormones.blend(now.hormones, anchor.levels, hormones.ASKED).levels
    commit.commit(
        opened,
        "anchor recall",
        planned,
        sentence,
        dry_run=dry_run,
        id=anchor.id,
        before=_rounded(now.hormones.levels),
        after=_rounded(levels),
    )


@app.command()
@writes
def remove(
    opened: Opened, label: LabelArgument, *, yes: YesOption = False, dry_run: DryRunOption = False
) -> None:
    """Remove an anchor's file."""
    anchor = ANCHORS.find(opened, label)
    ANCHORS.remove(
        *(opened, "anchor remove", anchor, anchor.label),
        why=f"remove the anchor {anchor.label}",
        sentence=f'Removed the anchor "{anchor.label}".',
        yes=yes,
        dry_run=dry_run,
        id=anchor.id,
    )


def formula(opened: Opened, soma: Soma, anchor: Anchor, share: float) -> list[str]:
    """Write out what a recall does to each hormone: `dopamine .7·0.20 + .3·0.80 = 0.38`."""
    named = opened.config.soma.hormones.show_names
    after = hormones.blend(soma.hormones, anchor.levels, share).levels
    stay, come = (f"{part:.2g}".lstrip("0") for part in (1 - share, share))
    return [
        f"  {shown_name(name, named=named)} {stay}·{soma.hormones.levels[name]:.4f}"
        f" + {come}·{anchor.levels[name]:.4f} = {after[name]:.4f}"
        for name in HORMONE_NAMES
    ]


def _at(opened: Opened) -> datetime:
    return opened.shell.now().astimezone(opened.zone)


def _left(opened: Opened, anchor: Anchor) -> float:
    return anchor_recall.strength(anchor, opened.shell.now())


def _levels(opened: Opened, levels: Mapping[str, float]) -> str:
    named = opened.config.soma.hormones.show_names
    return ", ".join(
        f"{shown_name(name, named=named)} {levels[name]:.4f}" for name in HORMONE_NAMES
    )


def _rounded(levels: Mapping[str, float]) -> dict[str, float]:
    return {name: round(levels[name], anchors.DECIMALS) for name in HORMONE_NAMES}


def _data(opened: Opened, anchor: Anchor) -> dict[str, Any]:
    return {
        "id": anchor.id,
        "label": anchor.label,
        "description": anchor.description,
        "hormones": dict(anchor.levels),
        "at": anchor.at.isoformat(),
        "strength": anchor.strength,
        "left": round(_left(opened, anchor), 4),
        "recalled": anchor.recalled,
        "last_recalled": anchor.last_recalled.isoformat() if anchor.last_recalled else None,
        "provenance": anchor.provenance.meta(),
    }
