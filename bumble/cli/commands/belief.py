"""`bumble belief`: list, add, edit, confirm, contradict and remove what the entity holds true."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import typer

from bumble.cli import commit, output, people, text_input
from bumble.cli.commit import FromOption
from bumble.cli.entity_command import looks_back, writes
from bumble.cli.listing import (
    LimitOption,
    details,
    origin,
    short_ids,
    show_list,
    when,
)
from bumble.cli.opening import Opened
from bumble.cli.options import DryRunOption, IdArgument, YesOption
from bumble.cli.people import OfSessionOption
from bumble.cli.shelf import Shelf
from bumble.cli.text_input import EditorOption, TextArgument
from bumble.entity.changes import Change
from bumble.errors import UsageError
from bumble.files import disk
from bumble.recall.belief_strength import (
    CONTRADICT_FACTOR,
    confirmed,
    plan_confirm,
    plan_contradict,
    strength,
)
from bumble.records import base, beliefs
from bumble.records.base import Provenance
from bumble.records.beliefs import Belief

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Look at and change what it holds to be true.",
)
BELIEFS = Shelf(beliefs.BELIEF)
TOLD_SOURCES = tuple(name for name in beliefs.ORIGINS if name != "dream")
CategoryOption = Annotated[
    str | None, typer.Option(help=f"One of {', '.join(beliefs.CATEGORIES)}.")
]
NONE = 'No beliefs. Add one with `bumble belief add "..."`.'
BY = ("user", "extracted", "dream")
TOLD_CONFIDENCE = 0.8  # in what the owner says outright: high, and never certain
TOLD_CATEGORY = "world_fact"


@app.command("list")
@looks_back
def list_(
    opened: Opened,
    *,
    category: CategoryOption = None,
    archived: Annotated[
        bool, typer.Option("--archived", help="Those that were put away, too, as with --all.")
    ] = False,
    session: OfSessionOption = None,
    limit: LimitOption = 20,
) -> None:
    """List beliefs, the newest first, each with how sure it is of it now."""
    if category is not None:
        _check_category(category)

    talk = people.find_session(opened, session).id if session is not None else None
    archived = archived or opened.shell.everything

    def wanted(belief: Belief) -> bool:
        is_of_talk = talk is None or talk in belief.provenance.sources
        is_shown = archived or not belief.archived
        return is_of_talk and is_shown and category in (None, belief.category)

    listed = BELIEFS.listed(opened, keep=wanted, limit=limit, seen=True)
    short = short_ids([record.id for record in listed.records], BELIEFS.paths(opened))

    def line(belief: Belief) -> list[str]:
        kind = f"{belief.category}{' (archived)' if belief.archived else ''}"
        claim = output.shorten(belief.text)
        day = when(belief.formed, opened)
        return [short[belief.id], day, f"{_strength(opened, belief):.2f}", kind, claim]

    def data(belief: Belief) -> dict[str, Any]:
        return _data(opened, belief)

    show_list(opened, "belief list", listed, data, line, NONE, newest_first=True)


@app.command()
@looks_back
def show(
    opened: Opened,
    belief_id: IdArgument,
) -> None:
    """Show a belief, how sure it is of it now, and what it rests on."""
    belief = BELIEFS.seen(opened, belief_id)
    rows = [
        ("id", belief.id),
        ("category", belief.category),
        ("confidence", f"{_strength(opened, belief):.2f}"),
        ("stored", f"{belief.confidence:.2f} as of {when(belief.reinforced, opened)}"),
        ("formed", when(belief.formed, opened)),
        ("source", belief.origin),
        ("rests on", ", ".join(belief.evidence)),
        ("contradicts", ", ".join(belief.contradicts)),
        ("status", "archived" if belief.archived else ""),
        ("written", origin(belief.provenance)),
        ("file", opened.entity.relative(BELIEFS.path(opened, belief_id))),
    ]
    text = [belief.text, "", *details(rows)]
    output.result(opened.shell, "belief show", _data(opened, belief), text)


@app.command()
@writes
def add(
    opened: Opened,
    text: TextArgument = None,
    *,
    editor: EditorOption = False,
    category: Annotated[
        str, typer.Option(help=f"One of {', '.join(beliefs.CATEGORIES)}.")
    ] = TOLD_CATEGORY,
    confidence: Annotated[
        float, typer.Option(min=0, max=1, help="How sure it should be, from 0 to 1.")
    ] = TOLD_CONFIDENCE,
    source: Annotated[
        str, typer.Option(help=f"Where it is from: {', '.join(TOLD_SOURCES)}.")
    ] = TOLD_SOURCES[0],
    evidence: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="A message or episode it rests on; may be repeated."),
    ] = None,
    dry_run: DryRunOption = False,
) -> None:
    """Tell the entity something it should hold to be true.

    The same claim twice is one belief.
    """
    _check_category(category)
    if source not in TOLD_SOURCES:
        raise UsageError(f"--source {source}: there are {', '.join(TOLD_SOURCES)}.")
    rests_on = tuple(text_input.one_line(line, "evidence") for line in evidence or ())
    with text_input.collect(opened.shell, text, in_editor=editor, name="belief.md") as claim:
        same_claim = _same(opened, claim, category)
        if same_claim is not None:
            unchanged = f"Nothing to do: it holds that already, as {same_claim.id}."
            commit.commit(
                opened, "belief add", [], "", unchanged=unchanged, dry_run=dry_run, id=same_claim.id
            )
            return
        at = _at(opened)
        belief_id = base.new_id(beliefs.PREFIX, at, opened.shell.rng)
        belief = beliefs.new(
            *(belief_id, claim, category, confidence, at),
            evidence=rests_on,
            origin=source,
            provenance=Provenance(by="belief add"),
        )
        planned = [beliefs.plan_new(belief, f"believe: {output.shorten(claim, 50)}")]
        commit.commit(
            opened, "belief add", planned, f"Added {belief_id}.", dry_run=dry_run, id=belief_id
        )


@app.command()
@writes
def edit(
    opened: Opened,
    belief_id: IdArgument,
    *,
    source: FromOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Edit a belief's file in $VISUAL or $EDITOR."""
    BELIEFS.edit(opened, belief_id, source=source, dry_run=dry_run)


@app.command()
@writes
def confirm(
    opened: Opened,
    belief_id: IdArgument,
    *,
    by: Annotated[
        str, typer.Option(metavar="WHO", help=f"What the confirmation counts: {', '.join(BY)}.")
    ] = "user",
    dry_run: DryRunOption = False,
) -> None:
    """Make the entity surer of a belief; one that was put away comes back."""
    if by not in BY:
        raise UsageError(f"--by {by}: there are {', '.join(BY)}.")
    belief = BELIEFS.find(opened, belief_id)
    at = _at(opened)
    before = _strength(opened, belief)
    after = min(confirmed(before, by), beliefs.MAX_CONFIDENCE)
    planned = [plan_confirm(belief, by, at)]
    _commit_strength(opened, "confirm", belief, planned, (before, after), dry_run=dry_run)


@app.command()
@writes
def contradict(
    opened: Opened,
    belief_id: IdArgument,
    *,
    other: Annotated[
        str | None,
        typer.Option("--with", metavar="ID", help="The belief that speaks against it."),
    ] = None,
    dry_run: DryRunOption = False,
) -> None:
    """Make the entity less sure of a belief, and link it to the one that speaks against it."""
    belief = BELIEFS.find(opened, belief_id)
    against = BELIEFS.find(opened, other) if other is not None else None
    if against is not None and against.id == belief.id:
        raise UsageError("A belief can't contradict itself.")
    planned = [plan_contradict(belief, against.id if against else None, _at(opened))]
    if against is not None:
        why = f"contradicts {belief.id}"
        planned.append(beliefs.plan_update(against, why, contradicts=(belief.id,)))
    before = _strength(opened, belief)
    strengths = (before, before * CONTRADICT_FACTOR)
    _commit_strength(opened, "contradict", belief, planned, strengths, dry_run=dry_run)


def _commit_strength(
    opened: Opened,
    verb: str,
    belief: Belief,
    planned: Sequence[Change | None],
    strengths: tuple[float, float],
    *,
    dry_run: bool,
) -> None:
    """Write a belief that is held more or less firmly; `strengths`: before and after."""
    before, after = strengths
    commit.commit(
        opened,
        f"belief {verb}",
        planned,
        f"{belief.id}: {before:.2f}, now {after:.2f}.",
        dry_run=dry_run,
        id=belief.id,
        before=round(before, 4),
        after=round(after, 4),
    )


@app.command()
@writes
def remove(
    opened: Opened, belief_id: IdArgument, *, yes: YesOption = False, dry_run: DryRunOption = False
) -> None:
    """Remove a belief's file, and the links that others have to it."""
    belief = BELIEFS.find(opened, belief_id)
    linked = BELIEFS.listed(opened, keep=lambda other: belief.id in other.contradicts).records
    title = output.shorten(belief.text, 50)
    BELIEFS.remove(
        *(opened, "belief remove", belief, title),
        why=f"no longer: {title}",
        sentence=f"Removed {belief.id}.",
        yes=yes,
        dry_run=dry_run,
        also=[beliefs.plan_unlinked(other, belief.id) for other in linked],
        id=belief.id,
    )


def _at(opened: Opened) -> datetime:
    return opened.shell.now().astimezone(opened.zone)


def _strength(opened: Opened, belief: Belief) -> float:
    return strength(belief, opened.shell.now())


def _check_category(category: str) -> None:
    if category not in beliefs.CATEGORIES:
        meant = base.nearest(category, beliefs.CATEGORIES)
        hint = f" Did you mean {meant}?" if meant else ""
        names = ", ".join(beliefs.CATEGORIES)
        raise UsageError(f"There is no category {category}; there are {names}.{hint}")


def _same(opened: Opened, claim: str, category: str) -> Belief | None:
    listed = BELIEFS.listed(opened, keep=lambda belief: belief.category == category)
    wanted = disk.same_name(claim)
    return next((one for one in listed.records if disk.same_name(one.text) == wanted), None)


def _data(opened: Opened, belief: Belief) -> dict[str, Any]:
    return {
        "id": belief.id,
        "text": belief.text,
        "category": belief.category,
        "confidence": round(_strength(opened, belief), 4),
        "stored_confidence": belief.confidence,
        "formed": belief.formed.isoformat(),
        "reinforced": belief.reinforced.isoformat(),
        "evidence": list(belief.evidence),
        "source": belief.origin,
        "contradicts": list(belief.contradicts),
        "archived": belief.archived,
        "provenance": belief.provenance.meta(),
    }
