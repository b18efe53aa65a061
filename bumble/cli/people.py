"""`bumble person`: the people the entity knows, found by name, listed, shown, added, forgotten."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import asdict, replace

from bumble.cli import command, index_place, listing, opening, output, shelf, writing
from bumble.entity import changes, companions
from bumble.errors import NameUnclearError, RecordExistsError, RecordInvalidError
from bumble.files import disk, git
from bumble.records import relationships, session_files
from bumble.runtime import audiences, spoken
from bumble.runtime.people import Person, speaker, standing
from bumble.text import words

if TYPE_CHECKING:
    from bumble.index.memory import Memory
    from bumble.models.embed.protocol import Embedder
    from bumble.recall.memory_search import Search


def speaking(opened: opening.Opened, name: str | None) -> Person:
    """Return who is called so: somebody known, somebody new, the owner where None is.

    Raises:
        NameUnclearError: If it is that of somebody known but for its marks, and nobody says who.
    """
    try:
        return speaker(opened.entity, opened.identity, name)
    except NameUnclearError as unclear:
        question = f"Is {unclear.name} the same as {unclear.known}?"
        if not opened.shell.asks or not output.agrees(question, default=False):
            raise
        return speaker(opened.entity, opened.identity, unclear.known)


NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="A name the person goes by, or the file's name.")
]


def _match(
    opened: opening.Opened, people: Sequence[relationships.Relationship], name: str
) -> relationships.Relationship | None:
    """Return somebody by any name they go by; the owner by what they are called now, too."""
    is_owner = disk.same_name(name) == disk.same_name(opened.identity.owner.name)
    found = relationships.match(people, name)
    return found or (relationships.match(people, opened.owner_id) if is_owner else None)


def _standing(opened: opening.Opened, person: relationships.Relationship) -> list[str]:
    if not person.is_acquainted:
        return ["heard of", "", ""]
    talks = words.counted(person.interaction_count, "exchange")
    last = f"last {listing.when(person.last_interaction, opened)}"
    return [talks, last, f"familiarity {person.scores.familiarity:.2f}"]


PEOPLE = shelf.Shelf(
    kind=relationships.PERSON,
    group="person",
    none="Nobody yet. People who talk with it come by themselves;"
    " add one with `bumble person add`.",
    title=lambda person: person.name,
    cells=lambda opened, person: [
        person.name,
        *_standing(opened, person),
        output.shorten(
            person.dynamic
            or (
                "; ".join(one.text for one in person.apart) if person.is_acquainted else person.text
            )
        ),
    ],
    data=lambda _, person: shelf.data_of(
        person,
        ("previous_health", "language", "lines"),
        pending=[note.text for note in person.pending],
    ),
    argument=NameArgument,
    match=_match,
)


everybody, find = PEOPLE.listed, PEOPLE.find


def names(opened: opening.Opened) -> dict[str, str]:
    """Return what to call people, by id; the owner and everybody the entity knows."""
    owner = opened.identity.owner.name
    owner_names = {relationships.person_id(owner): owner} if owner else {}
    return owner_names | {record.id: record.name for record in everybody(opened).records}


def known(opened: opening.Opened, name: str) -> str:
    """Return the id of somebody who was heard of, or talked here, by a name.

    Raises:
        RecordMissingError: If nobody is called that.
        NameUnclearError: As `speaking` does.
    """
    person, called = speaking(opened, name).id, names(opened)
    talked = session_files.newest(opened.entity.sessions, person, opened.shell.now())
    if person not in called and not talked:
        raise listing.missing("person", name, called.values())
    return person


OfSessionOption = Annotated[
    str | None,
    typer.Option("--session", metavar="ID", help="Of this conversation alone, or of `last`."),
]


def talks(opened: opening.Opened) -> listing.Listing[session_files.SessionInfo]:
    """Read the heads of the conversations, the one that went on last at the end."""
    paths = session_files.paths(opened.entity.sessions)
    infos = listing.readable(opened, paths, session_files.read_info)
    in_order = session_files.by_recency(infos.records, opened.shell.now())
    return listing.Listing(tuple(in_order), infos.broken)


def is_first(opened: opening.Opened) -> bool:
    """Whether nobody has said anything yet."""
    return next(session_files.infos(opened.entity.sessions), None) is None


def find_session(opened: opening.Opened, session_id: str) -> session_files.SessionInfo:
    """Find a conversation by its id, by an end that no other id has, or as `last`.

    Raises:
        RecordMissingError: If there is none.
        UserError: If it could be more than one.
    """
    by_id = {info.id: info for info in talks(opened).records}
    return listing.pick(by_id, session_id, "conversation")


WAIT_SECONDS = 3.0  # for another process that indexes; then what it has is searched


QueryArgument = Annotated[
    list[str],
    typer.Argument(metavar="QUERY", help="What to look for; `-` reads it from standard input."),
]


def memory_of(opened: opening.Opened, embedder: Embedder | None) -> Memory:
    """Return what an entity remembers, by its index, which is brought up to date."""
    from bumble.index.memory import Memory

    _, place = index_place.up_to_date(opened, embedder, wait_seconds=WAIT_SECONDS)
    return Memory(
        opened.entity,
        lambda: embedder,
        name=opened.identity.name,
        zone=opened.zone,
        place=place,
    )


def search_of(
    opened: opening.Opened,
    speaker: str | None,
    person: str | None,
    session: str | None,
    *,
    tags: Sequence[str] = (),
) -> Search:
    """Return the talk that a search is for: with who asks, by default the owner, and the person."""
    from bumble.cli import body
    from bumble.recall.memory_search import Search

    about = () if person is None else (speaking(opened, person).id,)
    owner = () if opened.shell.everything else (opened.owner_id,)
    asker = (*owner, *about) if speaker is None else (speaking(opened, speaker).id,)
    try:
        mood = body.look(opened)[0].mood.name
    except RecordInvalidError as error:  # a search needs no body
        output.warn(opened.shell, f"searched in no mood: {str(error).splitlines()[0]}")
        mood = ""
    return Search(
        readers=tuple(dict.fromkeys(asker)),
        mood=mood,
        at=opened.shell.now(),
        people=about,
        sessions=() if session is None else (find_session(opened, session).id,),
        tags=tuple(tags),
    )


app = command.group()
PEOPLE.offers(
    app,
    command.looks_back,
    list="List the people it knows.",
)


@app.command()
@command.looks_back
def show(
    opened: opening.Opened,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="A name the person goes by. Default: the owner's."),
    ] = None,
) -> None:
    """Show how the entity sees a person, and how the two stand."""
    person = listing.Viewer(opened).seen(
        find(opened, name or opened.identity.owner.name or opened.owner_id)
    )
    language = spoken.by_person(
        opened.entity, opened.config.language, person.id, opened.shell.now()
    )
    bond = standing(person, opened.shell.now())
    scores = asdict(person.scores).items()
    how = [
        ("bond", bond.line),
        ("language", language + (", as set" if person.language else "")),
        ("scores", ", ".join(f"{score} {value:.2f}" for score, value in scores)),
        ("exchanges", str(person.interaction_count)),
        ("met", listing.when(person.first_met, opened)),
        ("last talk", listing.when(person.last_interaction, opened)),
        ("reflected", listing.when(person.last_reflection, opened)),
    ]
    rows = [
        ("also", ", ".join(person.names[1:])),
        *(how if person.is_acquainted else [("heard of", listing.when(person.first_met, opened))]),
        ("dynamic", person.dynamic),
        ("topics", ", ".join(person.topics)),
        ("unresolved", "; ".join(person.unresolved)),
        *(("heard" if note in person.apart else "pending", note.text) for note in person.pending),
    ]
    text = [f"# {person.name}", "", person.text or "No portrait yet."]
    silence = bond.silence
    health = {
        "stage": bond.stage,
        "health": round(bond.health, 4),
        "trajectory": bond.trajectory or None,
        "silence_seconds": None if silence is None else int(silence.total_seconds()),
    }
    PEOPLE.show(opened, person, (text, rows, ()), language=language, bond=health)


@app.command()
@command.writes
def add(
    opened: opening.Opened,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the person is called.")],
    text: writing.TextArgument = None,
    *,
    also: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another name the person goes by; may be repeated."),
    ] = None,
    editor: writing.EditorOption = False,
    dry_run: command.DryRunOption = False,
    yes: command.YesOption = False,
) -> None:
    """Introduce somebody; TEXT is the portrait the entity begins with."""
    names = [writing.one_line(label, "name") for label in (name, *(also or ()))]
    known = everybody(opened).records
    match = next(filter(None, (relationships.match(known, name) for name in names)), None)
    if match is not None:
        raise RecordExistsError(
            Path(relationships.PERSON.path(match.id)),
            f"{match.name} is called that already. Change it with `bumble person edit`.",
        )
    for label in names:
        for like in relationships.alike(known, label)[:1]:
            writing.confirm(
                opened.shell,
                f"{like.name} is known. Is {label} somebody else?",
                f"Introduce them with --yes; if they are one, say {like.name}.",
                yes=yes,
            )
    person = relationships.new(names[0], opened.now)
    with writing.collect(
        opened.shell, text, in_editor=editor, name=f"{person.id}.md", required=False
    ) as portrait:
        why = f"get to know {names[0]}"
        spelt = tuple(dict.fromkeys(names)) if also else None
        whole = relationships.plan_update(person, why, names=spelt, text=portrait or None)
        writing.commit(
            opened,
            "person add",
            [relationships.PERSON.plan_new(person, why), whole],
            f"Added {names[0]}.",
            dry_run=dry_run,
            id=person.id,
        )


PEOPLE.offers(app, edit="Edit a person's file in $VISUAL or $EDITOR: portrait, names, scores.")


@app.command()
@command.edits
def forget(
    opened: opening.Opened,
    name: NameArgument,
    *,
    dry_run: command.DryRunOption = False,
    yes: command.YesOption = False,
) -> None:
    """Forget a person: what they said, their portrait, and what rests on it alone.

    The one command that rewrites conversations. What others share loses the name; what may still
    tell of them is named as undecided. Earlier versions in git are not touched.
    """
    from bumble.jobs.forgetting import forget as forgetting

    known = everybody(opened)
    if known.broken:
        raise RecordInvalidError(
            opened.entity.relationships,
            f"{known.broken} of the people's files can't be read, as told above",
        )
    person = relationships.match(known.records, name)
    names = (name, *(person.names if person else ()))
    person_id = person.id if person else speaking(opened, name).id
    plan = forgetting.plan(opened.entity, person_id, names, opened.zone)
    undecided = (replace(one, path=_shown(opened, one.path)) for one in plan.undecided)
    plan = replace(plan, undecided=tuple(undecided))
    caches = opened.shell.own_caches(opened.entity.root)
    if plan.changes and not dry_run:
        writing.confirm(
            opened.shell,
            f"Forget {names[-1] if not person else person.name}: {plan.summary}?",
            "Say --yes, or look first with --dry-run.",
            yes=yes,
        )
        # first: after a kill nobody would come back to it
        forgetting.drop_caches(opened.entity, caches)
    key = secrets.token_hex(16)  # nobody may foresee it
    record = forgetting.plan_record(plan, opened.shell.now(), key) if plan.changes else None
    writing.commit(
        opened,
        "person forget",
        (*plan.changes, record),
        f"Forgot {name}: {plan.summary}.",
        unchanged=f"Nothing to do: there is nothing of {name}.",
        dry_run=dry_run,
        id=person_id,
        counts=plan.counts,
        mentions=list(plan.mentions),
        undecided=[asdict(entry) for entry in plan.undecided],
        shared=dict(plan.shared),
    )
    if plan.changes and not dry_run:
        forgetting.drop_caches(opened.entity, caches)
        at = index_place.place_of(opened)
        for left in forgetting.scrub_traces(
            opened.entity, [plan], at, name=opened.identity.name, zone=opened.zone
        ):
            output.say(left)
        holds = "git's history" if git.at(opened.entity.root) else "Each copy of the folder"
        output.say(
            f"{holds} still holds the old bytes: bumble's page on forgetting says what helps."
        )
    for label, other in plan.shared.items():
        output.say(f"{other} answers to {label}, too: that name stays wherever it stands.")
    for entry in plan.undecided:
        output.say(f"undecided: {entry.path}: {entry.reason}.")


def _shown(opened: opening.Opened, path: str) -> str:
    """Return what to call a file: its name may tell what is kept from whoever looks."""
    held = changes.Version(path, None, companions.read(opened.root, path))
    return audiences.named(path, audiences.hides(listing.reader(opened), [held]))
