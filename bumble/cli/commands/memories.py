"""`bumble episode`, `belief`: what happened, and what the entity holds true."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated

import typer

from bumble.body.significance import decayed
from bumble.cli import command, listing, opening, output, people, shelf, writing
from bumble.entity.changes import Change
from bumble.errors import RecordMissingError, UsageError
from bumble.files import disk
from bumble.history import lookup
from bumble.recall.belief_strength import (
    CONTRADICT_FACTOR,
    confirmed,
    plan_confirm,
    plan_contradict,
    strength,
)
from bumble.records import base, beliefs, episodes
from bumble.text import words as tag_words

app = command.group()
EPOCH = datetime.fromtimestamp(0, UTC)  # ids cannot say earlier times


def _left(opened: opening.Opened, episode: episodes.Episode) -> float:
    """Return how much an episode matters now."""
    age = opened.shell.now() - episode.at
    return decayed(episode.significance, age.total_seconds(), opened.config.memory)


def _cells(opened: opening.Opened, episode: episodes.Episode) -> list[str]:
    marks = [episode.summary_source, "dormant" if episode.dormant else ""]
    told = output.shorten(output.plain(episode.telling.narrative))
    summary = told + "".join(f" ({mark})" for mark in marks if mark)
    return [listing.when(episode.at, opened), f"{_left(opened, episode):.2f}", summary]


def _face(opened: opening.Opened, episode: episodes.Episode) -> shelf.Face:
    names = people.names(opened)
    felt = (
        f"{imprint.emotion} {imprint.intensity:.2f}"
        + (f" ({imprint.trigger})" if imprint.trigger else "")
        for imprint in episode.imprints
    )
    left, then, source = _left(opened, episode), episode.significance, episode.summary_source
    if source == episodes.EXCERPT:
        source = "excerpt: messages as they were said, until a model tells them"
    rows = [
        ("id", episode.id),
        ("when", listing.when(episode.at, opened)),
        ("people", ", ".join(names.get(person, person) for person in episode.people)),
        ("significance", f"{left:.2f} now, {then:.2f} when it happened"),
        ("felt", ", ".join(felt)),
        ("tags", ", ".join(episode.tags)),
        ("session", episode.session),
        ("told from", source),
        ("status", "dormant" if episode.dormant else ""),
    ]
    return [episode.text], rows, ()


EPISODES = shelf.Shelf(
    kind=episodes.EPISODE,
    group="episode",
    none='No episodes. Conversations become some; add one with `bumble episode add "..."`.',
    title=lambda episode: output.shorten(output.plain(episode.telling.narrative), 50),
    cells=_cells,
    face=_face,
    data=lambda opened, episode: shelf.data_of(
        episode,
        ("tries", "faded"),
        narrative=episode.telling.narrative,
        reflection=episode.telling.reflection,
        significance_now=round(_left(opened, episode), 4),
    ),
)


@app.command("list")
@command.looks_back
def list_(
    opened: opening.Opened,
    *,
    person: Annotated[
        str | None, typer.Option(metavar="NAME", help="Those this person took part in.")
    ] = None,
    tag: command.TagOption = None,
    session: people.OfSessionOption = None,
    since: listing.SinceOption = None,
    limit: listing.LimitOption = 20,
) -> None:
    """List episodes, the newest first, each with what is left of its significance."""
    who = people.find(opened, person).id if person is not None else None
    start = listing.moment(since, opened, "--since") if since is not None else None
    talk = people.find_session(opened, session).id if session is not None else None
    asked = set(map(tag_words.folded_tag, tag or ()))

    def wanted(episode: episodes.Episode) -> bool:
        has_tags = asked <= set(map(tag_words.folded_tag, episode.tags))
        is_theirs = who is None or who in episode.people
        is_of_talk = talk is None or episode.session == talk
        return has_tags and is_theirs and is_of_talk and (start is None or episode.at >= start)

    listed = EPISODES.listed(opened, wanted, limit=limit, seen=True)
    EPISODES.list(opened, listed, newest_first=True)


EPISODES.offers(
    app,
    command.looks_back,
    show="Show an episode: what happened, why it mattered, and what is left of that.",
)


@app.command()
@command.writes
def add(
    opened: opening.Opened,
    text: writing.TextArgument = None,
    *,
    editor: writing.EditorOption = False,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="WHEN", help="When it happened, in the entity's time zone. Default: now."
        ),
    ] = None,
    significance: Annotated[
        float, typer.Option(min=0, max=1, help="How much it mattered, from 0 to 1.")
    ] = 0.5,  # of what the owner finds worth writing down
    person: command.PeopleOption = None,
    tag: command.TagOption = None,
    dry_run: command.DryRunOption = False,
) -> None:
    """Give the entity something to remember."""
    moment = listing.moment(at, opened, "--at") if at is not None else opened.shell.now()
    moment = moment.astimezone(opened.zone)
    who = tuple(dict.fromkeys(people.known(opened, name) for name in person or ()))
    with writing.collect(opened.shell, text, in_editor=editor, name="episode.md") as draft:
        episode_id = base.new_id(episodes.EPISODE.prefix, max(moment, EPOCH), opened.shell.rng)
        tags = tag_words.distinct_tags((*(tag or ()), *tag_words.tags_in(draft)))
        episode = episodes.new(episode_id, moment, significance, draft, people=who, tags=tags)
        change = episodes.EPISODE.plan_new(episode, output.shorten(draft, 50))
        writing.commit(
            opened, "episode add", [change], f"Added {episode_id}.", dry_run=dry_run, id=episode_id
        )


EPISODES.offers(
    app,
    edit="Edit an episode's file in $VISUAL or $EDITOR.",
    remove="Remove an episode's file; the conversation it came from stays.",
)


belief_app = command.group()
TOLD_SOURCES = tuple(name for name in beliefs.ORIGINS if name != "dream")
BY = ("user", "extracted", "dream")


def _strength(opened: opening.Opened, belief: beliefs.Belief) -> float:
    return strength(belief, opened.shell.now())


def _belief_cells(opened: opening.Opened, belief: beliefs.Belief) -> list[str]:
    category = f"{belief.category}{' (archived)' if belief.archived else ''}"
    day, claim = listing.when(belief.formed, opened), output.shorten(belief.text)
    return [day, f"{_strength(opened, belief):.2f}", category, claim]


def _belief_face(opened: opening.Opened, belief: beliefs.Belief) -> shelf.Face:
    rows = [
        ("id", belief.id),
        ("category", belief.category),
        ("confidence", f"{_strength(opened, belief):.2f}"),
        ("stored", f"{belief.confidence:.2f} as of {listing.when(belief.reinforced, opened)}"),
        ("formed", listing.when(belief.formed, opened)),
        ("source", belief.origin),
        ("rests on", ", ".join(belief.evidence)),
        ("contradicts", ", ".join(belief.contradicts)),
        ("status", "archived" if belief.archived else ""),
    ]
    return [belief.text], rows, ()


def _unlinked(opened: opening.Opened, belief_id: str) -> list[Change | None]:
    """Plan to take the links to a belief that goes out of the others."""
    linked = BELIEFS.listed(opened, lambda other: belief_id in other.contradicts).records
    return [beliefs.plan_unlinked(other, belief_id) for other in linked]


BELIEFS = shelf.Shelf(
    kind=beliefs.BELIEF,
    group="belief",
    none='No beliefs. Add one with `bumble belief add "..."`.',
    title=lambda belief: output.shorten(belief.text, 50),
    cells=_belief_cells,
    face=_belief_face,
    data=lambda opened, belief: shelf.data_of(
        belief,
        ("archived",),
        confidence=round(_strength(opened, belief), 4),
        stored_confidence=belief.confidence,
        archived=belief.archived,
    ),
    also=_unlinked,
)


@belief_app.command("list")
@command.looks_back
def list_beliefs(
    opened: opening.Opened,
    *,
    category: Annotated[
        str | None, typer.Option(help=f"One of {', '.join(beliefs.CATEGORIES)}.")
    ] = None,
    archived: Annotated[
        bool, typer.Option("--archived", help="Those that were put away, too, as with --all.")
    ] = False,
    session: people.OfSessionOption = None,
    limit: listing.LimitOption = 20,
) -> None:
    """List beliefs, the newest first, each with how sure it is of it now."""
    category = category and listing.choice("category", category, beliefs.CATEGORIES)
    talk = people.find_session(opened, session).id if session is not None else None
    archived = archived or opened.shell.everything

    def wanted(belief: beliefs.Belief) -> bool:
        is_of_talk = talk is None or talk in belief.provenance.sources
        is_shown = archived or not belief.archived
        return is_of_talk and is_shown and category in (None, belief.category)

    BELIEFS.list(opened, BELIEFS.listed(opened, wanted, limit=limit, seen=True), newest_first=True)


BELIEFS.offers(
    belief_app,
    command.looks_back,
    show="Show a belief, how sure it is of it now, and what it rests on.",
)


@belief_app.command("add")
@command.writes
def add_belief(
    opened: opening.Opened,
    text: writing.TextArgument = None,
    *,
    editor: writing.EditorOption = False,
    category: Annotated[
        str, typer.Option(help=f"One of {', '.join(beliefs.CATEGORIES)}.")
    ] = "world_fact",
    confidence: Annotated[
        float, typer.Option(min=0, max=1, help="How sure it should be, from 0 to 1.")
    ] = 0.8,  # in what the owner says outright: high, and never certain
    source: Annotated[
        str, typer.Option(help=f"Where it is from: {', '.join(TOLD_SOURCES)}.")
    ] = TOLD_SOURCES[0],
    evidence: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="A message or episode it rests on; may be repeated."),
    ] = None,
    dry_run: command.DryRunOption = False,
) -> None:
    """Tell the entity something it should hold to be true.

    The same claim twice is one belief.
    """
    listing.choice("category", category, beliefs.CATEGORIES)
    listing.choice("source", source, TOLD_SOURCES)
    library = lookup.Library(opened.entity, name=opened.identity.name, zone=opened.zone)
    named = (writing.one_line(line, "evidence") for line in evidence or ())
    rests_on = tuple(_evidence(library, one) for one in named)
    with writing.collect(opened.shell, text, in_editor=editor, name="belief.md") as claim:
        listed = BELIEFS.listed(opened, lambda belief: belief.category == category)
        said = disk.same_name(claim)
        same = next((one for one in listed.records if disk.same_name(one.text) == said), None)
        belief = same or beliefs.new(
            base.new_id(beliefs.BELIEF.prefix, opened.now, opened.shell.rng),
            *(claim, category, confidence, opened.now),
            evidence=rests_on,
            origin=source,
            provenance=base.Provenance(by="belief add"),
        )
        why = output.shorten(claim, 50)
        writing.commit(
            *(opened, "belief add", [] if same else [beliefs.BELIEF.plan_new(belief, why)]),
            f"Added {belief.id}.",
            unchanged=f"Nothing to do: it holds that already, as {belief.id}.",
            dry_run=dry_run,
            id=belief.id,
        )


def _evidence(library: lookup.Library, named: str) -> str:
    """Return the id of the message or episode that is named, as lists show it or whole."""
    for kind in (episodes.EPISODE.name, lookup.MESSAGE):
        with suppress(RecordMissingError):
            if (found := library.look_up(named, kind)).kind == kind:  # no summary of a talk
                return found.id
    raise RecordMissingError("message or episode", named)


BELIEFS.offers(belief_app, edit="Edit a belief's file in $VISUAL or $EDITOR.")


@belief_app.command()
@command.writes
def confirm(
    opened: opening.Opened,
    belief_id: command.IdArgument,
    *,
    by: Annotated[
        str, typer.Option(metavar="WHO", help=f"What the confirmation counts: {', '.join(BY)}.")
    ] = "user",
    dry_run: command.DryRunOption = False,
) -> None:
    """Make the entity surer of a belief; one that was put away comes back."""
    listing.choice("confirmation", by, BY)
    belief = BELIEFS.find(opened, belief_id)
    before = _strength(opened, belief)
    after = min(confirmed(before, by), beliefs.MAX_CONFIDENCE)
    planned = [plan_confirm(belief, by, opened.now)]
    _commit_strength(opened, "confirm", belief, planned, (before, after), dry_run=dry_run)


@belief_app.command()
@command.writes
def contradict(
    opened: opening.Opened,
    belief_id: command.IdArgument,
    *,
    other: Annotated[
        str | None,
        typer.Option("--with", metavar="ID", help="The belief that speaks against it."),
    ] = None,
    dry_run: command.DryRunOption = False,
) -> None:
    """Make the entity less sure of a belief, and link it to the one that speaks against it."""
    belief = BELIEFS.find(opened, belief_id)
    against = BELIEFS.find(opened, other) if other is not None else None
    if against is not None and against.id == belief.id:
        raise UsageError("A belief can't contradict itself.")
    planned = [plan_contradict(belief, against.id if against else None, opened.now)]
    if against is not None:
        why = f"contradicts {belief.id}"
        planned.append(beliefs.plan_update(against, why, contradicts=(belief.id,)))
    before = _strength(opened, belief)
    strengths = (before, before * CONTRADICT_FACTOR)
    _commit_strength(opened, "contradict", belief, planned, strengths, dry_run=dry_run)


BELIEFS.offers(belief_app, remove="Remove a belief's file, and the links that others have to it.")


def _commit_strength(
    opened: opening.Opened,
    verb: str,
    belief: beliefs.Belief,
    planned: Sequence[Change | None],
    strengths: tuple[float, float],
    *,
    dry_run: bool,
) -> None:
    """Write a belief that is held more or less firmly; `strengths`: before and after."""
    before, after = strengths
    writing.commit(
        opened,
        f"belief {verb}",
        planned,
        f"{belief.id}: {before:.2f}, now {after:.2f}.",
        dry_run=dry_run,
        id=belief.id,
        before=round(before, 4),
        after=round(after, 4),
    )
