"""`bumble belief`: list, add, edit, confirm, contradict and remove what the entity holds true."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from bumble.cli import commit, output, people, text_input
from bumble.cli.commit import FromOption
from bumble.cli.entity_command import looks_back, writes
from bumble.cli.listing import (
    LimitOption,
    Viewer,
    details,
    origin,
    pick,
    readable,
    short_ids,
    show_list,
    when,
)
from bumble.cli.opening import Opened
from bumble.cli.options import DryRunOption, IdArgument, YesOption
from bumble.cli.people import OfSessionOption
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
        return (
            is_of_talk
            and (archived or not belief.archived)
            and category
            in (
                None,
                belief.category,
            )
        )

    paths = beliefs.paths(opened.entity.beliefs)
    load = Viewer(opened).seeing(_load)
    listing = readable(opened, paths, load, keep=wanted, limit=limit)
    short = short_ids([record.id for record in listing.records], _by_id(opened))

    def line(belief: Belief) -> list[str]:
        kind = f"{belief.category}{' (archived)' if belief.archived else ''}"
        claim = output.shorten(belief.text)
        day = when(belief.formed, opened)
        return [short[belief.id], day, f"{_strength(opened, belief):.2f}", kind, claim]

    def data(belief: Belief) -> dict[str, Any]:
        return _data(opened, belief)

    show_list(opened, "belief list", listing, data, line, NONE, newest_first=True)


@app.command()
@looks_back
def show(
    opened: Opened,
    belief_id: IdArgument,
) -> None:
    """Show a belief, how sure it is of it now, and what it rests on."""
    path = _path(opened, belief_id)
    belief = Viewer(opened).seen(_load(path))
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
        ("file", opened.entity.relative(path)),
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
    path = _path(opened, belief_id)
    commit.edit_record(opened, "belief edit", path, beliefs.parse, source=source, dry_run=dry_run)


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
    belief = _load(_path(opened, belief_id))
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
    belief = _load(_path(opened, belief_id))
    against = _load(_path(opened, other)) if other is not None else None
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
    path = _path(opened, belief_id)
    belief = _load(path)
    what, place = f'the belief "{output.shorten(belief.text, 50)}"', opened.entity.relative(path)
    commit.confirm_removal(opened, what, place, yes=yes, dry_run=dry_run)
    linked = readable(
        opened,
        beliefs.paths(opened.entity.beliefs),
        _load,
        keep=lambda other: belief.id in other.contradicts,
    )
    planned: list[Change | None] = [
        beliefs.plan_forget(belief, f"no longer: {output.shorten(belief.text, 50)}")
    ]
    planned += [beliefs.plan_unlinked(other, belief.id) for other in linked.records]
    commit.commit(
        opened, "belief remove", planned, f"Removed {belief.id}.", dry_run=dry_run, id=belief.id
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
    paths = beliefs.paths(opened.entity.beliefs)
    listing = readable(opened, paths, _load, keep=lambda belief: belief.category == category)
    wanted = disk.same_name(claim)
    return next(
        (belief for belief in listing.records if disk.same_name(belief.text) == wanted), None
    )


def _load(path: Path) -> Belief:
    return base.load(path, beliefs.parse)


def _by_id(opened: Opened) -> dict[str, Path]:
    return {path.stem: path for path in beliefs.paths(opened.entity.beliefs)}


def _path(opened: Opened, belief_id: str) -> Path:
    return opened.within(pick(_by_id(opened), belief_id, "belief"))


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
