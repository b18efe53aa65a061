"""`bumble episode`: list, show, add, edit and remove what happened."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from msgspec.structs import asdict

from bumble.body.significance import decayed
from bumble.cli import commit, listing, output, people, text_input
from bumble.cli.commit import FromOption
from bumble.cli.entity_command import looks_back, writes
from bumble.cli.listing import LimitOption, SinceOption
from bumble.cli.opening import Opened
from bumble.cli.options import DryRunOption, IdArgument, TagOption, YesOption
from bumble.cli.people import OfSessionOption
from bumble.cli.shelf import Shelf
from bumble.cli.text_input import EditorOption, TextArgument
from bumble.records import base, episodes
from bumble.records.episodes import Episode
from bumble.text import words as tag_words

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Look at and change what happened.",
)
EPISODES = Shelf(episodes.EPISODE)
PeopleOption = Annotated[
    list[str] | None,
    typer.Option("--person", metavar="NAME", help="Who took part; may be repeated."),
]
NONE = 'No episodes. Conversations become some; add one with `bumble episode add "..."`.'
TOLD_SIGNIFICANCE = 0.5  # of what the owner finds worth writing down
EPOCH = datetime.fromtimestamp(0, UTC)  # ids cannot say earlier times


@app.command("list")
@looks_back
def list_(
    opened: Opened,
    *,
    person: Annotated[
        str | None, typer.Option(metavar="NAME", help="Those this person took part in.")
    ] = None,
    tag: TagOption = None,
    session: OfSessionOption = None,
    since: SinceOption = None,
    limit: LimitOption = 20,
) -> None:
    """List episodes, the newest first, each with what is left of its significance."""
    left = _fading(opened)
    who = people.find(opened, person).id if person is not None else None
    start = listing.moment(since, opened, "--since") if since is not None else None
    talk = people.find_session(opened, session).id if session is not None else None
    asked = set(map(tag_words.folded_tag, tag or ()))

    def wanted(episode: Episode) -> bool:
        has_tags = asked <= set(map(tag_words.folded_tag, episode.tags))
        is_theirs = who is None or who in episode.people
        is_of_talk = talk is None or episode.session == talk
        return has_tags and is_theirs and is_of_talk and (start is None or episode.at >= start)

    listed = EPISODES.listed(opened, keep=wanted, limit=limit, seen=True)
    short = listing.short_ids([record.id for record in listed.records], EPISODES.paths(opened))

    def line(episode: Episode) -> list[str]:
        marks = [episode.summary_source, "dormant" if episode.dormant else ""]
        marks = [f" ({mark})" for mark in marks if mark]
        day = listing.when(episode.at, opened)
        summary = output.shorten(episode.telling.narrative) + "".join(marks)
        return [short[episode.id], day, f"{left(episode):.2f}", summary]

    def data(episode: Episode) -> dict[str, Any]:
        return _data(episode, left(episode))

    listing.show_list(opened, "episode list", listed, data, line, NONE, newest_first=True)


@app.command()
@looks_back
def show(
    opened: Opened,
    episode_id: IdArgument,
) -> None:
    """Show an episode: what happened, why it mattered, and what is left of that."""
    episode = EPISODES.seen(opened, episode_id)
    names = people.names(opened)
    left = _fading(opened)(episode)
    felt = (
        f"{imprint.emotion} {imprint.intensity:.2f}"
        + (f" ({imprint.trigger})" if imprint.trigger else "")
        for imprint in episode.imprints
    )
    rows = [
        ("id", episode.id),
        ("when", listing.when(episode.at, opened)),
        ("people", ", ".join(names.get(person, person) for person in episode.people)),
        ("significance", f"{left:.2f} now, {episode.significance:.2f} when it happened"),
        ("felt", ", ".join(felt)),
        ("tags", ", ".join(episode.tags)),
        ("body", episode.soma),
        ("session", episode.session),
        ("told from", _source(episode)),
        ("status", "dormant" if episode.dormant else ""),
        ("written", listing.origin(episode.provenance)),
        ("file", opened.entity.relative(EPISODES.file(opened, episode))),
    ]
    text = [episode.text, "", *listing.details(rows)]
    output.result(opened.shell, "episode show", _data(episode, left), text)


@app.command()
@writes
def add(
    opened: Opened,
    text: TextArgument = None,
    *,
    editor: EditorOption = False,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="WHEN", help="When it happened, in the entity's time zone. Default: now."
        ),
    ] = None,
    significance: Annotated[
        float, typer.Option(min=0, max=1, help="How much it mattered, from 0 to 1.")
    ] = TOLD_SIGNIFICANCE,
    person: PeopleOption = None,
    tag: TagOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Give the entity something to remember."""
    moment = listing.moment(at, opened, "--at") if at is not None else opened.shell.now()
    moment = moment.astimezone(opened.zone)
    who = tuple(dict.fromkeys(people.id_of(opened, name) for name in person or ()))
    with text_input.collect(opened.shell, text, in_editor=editor, name="episode.md") as draft:
        episode_id = base.new_id(episodes.PREFIX, max(moment, EPOCH), opened.shell.rng)
        tags = tag_words.distinct_tags((*(tag or ()), *tag_words.tags_in(draft)))
        episode = episodes.new(episode_id, moment, significance, draft, people=who, tags=tags)
        planned = [episodes.plan_new(episode, f"remember: {output.shorten(draft, 50)}")]
        commit.commit(
            opened, "episode add", planned, f"Added {episode_id}.", dry_run=dry_run, id=episode_id
        )


@app.command()
@writes
def edit(
    opened: Opened,
    episode_id: IdArgument,
    *,
    source: FromOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Edit an episode's file in $VISUAL or $EDITOR."""
    EPISODES.edit(opened, episode_id, source=source, dry_run=dry_run)


@app.command()
@writes
def remove(
    opened: Opened, episode_id: IdArgument, *, yes: YesOption = False, dry_run: DryRunOption = False
) -> None:
    """Remove an episode's file; the conversation it came from stays."""
    episode = EPISODES.find(opened, episode_id)
    title = output.shorten(episode.telling.narrative, 50)
    EPISODES.remove(
        *(opened, "episode remove", episode, title),
        why=f"forget: {title}",
        sentence=f"Removed {episode.id}.",
        yes=yes,
        dry_run=dry_run,
        id=episode.id,
    )


def _fading(opened: Opened) -> Callable[[Episode], float]:
    """Return what tells how much an episode matters now."""
    config, at = opened.config.memory, opened.shell.now()

    def left(episode: Episode) -> float:
        return decayed(episode.significance, (at - episode.at).total_seconds(), config)

    return left


def _source(episode: Episode) -> str:
    if episode.summary_source != episodes.EXCERPT:
        return episode.summary_source
    return "excerpt: messages as they were said, until a model tells them"


def _data(episode: Episode, left: float) -> dict[str, Any]:
    return {
        "id": episode.id,
        "at": episode.at.isoformat(),
        "text": episode.text,
        "narrative": episode.telling.narrative,
        "reflection": episode.telling.reflection,
        "significance": episode.significance,
        "significance_now": round(left, 4),
        "people": list(episode.people),
        "imprints": [asdict(imprint) for imprint in episode.imprints],
        "soma": episode.soma,
        "session": episode.session,
        "tags": list(episode.tags),
        "summary_source": episode.summary_source,
        "dormant": episode.dormant,
        "provenance": episode.provenance.meta(),
    }
