"""People and conversations by the names that a user gives; memory searched in their name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bumble.cli import listing, output, text_input
from bumble.cli.opening import Opened
from bumble.errors import NameUnclearError, UsageError
from bumble.files import disk
from bumble.records import base, relationships, session_files

if TYPE_CHECKING:
    from bumble.index.memory import Memory
    from bumble.index.place import Place
    from bumble.models.embed.protocol import Embedder
    from bumble.recall.memory_search import Search
    from bumble.runtime.people import Person


def speaking(opened: Opened, name: str | None) -> Person:
    """Return who is called so: somebody known, somebody new, the owner where None is.

    Raises:
        NameUnclearError: If it is that of somebody known but for its marks, and nobody says who.
    """
    from bumble.runtime.people import speaker  # who lists people waits for none of it

    try:
        return speaker(opened.entity, opened.identity, name)
    except NameUnclearError as unclear:
        shell, question = opened.shell, f"Is {unclear.name} the same as {unclear.known}?"
        asks = shell.interactive and not shell.json
        if not asks or not output.agrees(question, default=False):
            raise
        return speaker(opened.entity, opened.identity, unclear.known)


def everybody(opened: Opened) -> listing.Listing[relationships.Relationship]:
    """Read everybody whose file can be read; a warning tells of the rest."""
    return listing.readable(opened, relationships.paths(opened.entity.relationships), _load)


def _load(path: Path) -> relationships.Relationship:
    return base.load(path, relationships.parse)


def find(opened: Opened, name: str) -> relationships.Relationship:
    """Return one person by id or any name.

    Raises:
        RecordMissingError: If nobody is called that.
        RecordInvalidError: If the file of that id can't be read.
    """
    named = _file(opened, name)
    if named is not None:
        return _load(opened.within(named))
    people = everybody(opened).records
    person = relationships.match(people, name) or relationships.match(people, _owner(opened, name))
    if person is None:
        raise listing.missing(
            "person", name, [n for person in people for n in (person.id, *person.names)]
        )
    return person


def _owner(opened: Opened, name: str) -> str:
    """Return the owner's id if they are called so now; else the name."""
    if disk.same_name(name) != disk.same_name(opened.identity.owner.name):
        return name
    from bumble.runtime.people import owner_id

    return owner_id(opened.entity, opened.identity)


def _file(opened: Opened, name: str) -> Path | None:
    """Return the file that is named so, whatever it holds."""
    paths = relationships.paths(opened.entity.relationships)
    wanted = disk.same_name(name)
    return next((path for path in paths if disk.same_name(path.stem) == wanted), None)


def path(opened: Opened, name: str) -> Path:
    """Return the file of a person, which may be one that can't be read.

    Raises:
        RecordMissingError: If nobody is called that.
    """
    path = _file(opened, name)
    path = path or opened.entity.root / relationships.path(find(opened, name).id)
    return opened.within(path)


def id_of(opened: Opened, name: str) -> str:
    """Return the id of somebody the entity knows, or the one a new name would get."""
    return speaking(opened, text_input.one_line(name, "name")).id


def names(opened: Opened) -> dict[str, str]:
    """Return what to call people, by id; the owner and everybody the entity knows."""
    owner = opened.identity.owner.name
    owner_names = {relationships.person_id(owner): owner} if owner else {}
    return owner_names | {record.id: record.name for record in everybody(opened).records}


OfSessionOption = Annotated[
    str | None,
    typer.Option("--session", metavar="ID", help="Of this conversation alone, or of `last`."),
]


def find_session(opened: Opened, session_id: str) -> session_files.SessionInfo:
    """Find a conversation by its id, by an end that no other id has, or as `last`.

    Raises:
        RecordMissingError: If there is none.
        UserError: If it could be more than one.
    """
    paths = session_files.paths(opened.entity.sessions)
    infos = listing.readable(opened, paths, session_files.read_info).records
    in_order = session_files.by_recency(infos, opened.shell.now())
    by_id = {info.id: opened.entity.sessions / info.id for info in in_order}
    wanted = listing.pick(by_id, session_id, "conversation").name
    return next(info for info in infos if info.id == wanted)


MAX_QUERY_CHARS = 10_000


WAIT_SECONDS = 3.0  # for another process that indexes; then what it has is searched


QueryArgument = Annotated[
    list[str],
    typer.Argument(metavar="QUERY", help="What to look for; `-` reads it from standard input."),
]


AsOption = Annotated[
    str | None, typer.Option("--as", metavar="PERSON", help="Who asks. Default: the owner.")
]


def text_of(words: Sequence[str]) -> str:
    """Return a query as one text; `-` alone reads it from standard input.

    Raises:
        UsageError: If it is empty, or too long.
    """
    text = text_input.standard_input() if list(words) == ["-"] else " ".join(words)
    if not text.strip():
        raise UsageError("There is nothing to look for: the query is empty.")
    if len(text) > MAX_QUERY_CHARS:
        raise UsageError(f"That query is longer than {MAX_QUERY_CHARS:,} characters.")
    return text.strip()


def memory_of(opened: Opened, open_embedder: Callable[[], Embedder | None], place: Place) -> Memory:
    """Return what an entity remembers, by its index as it lies in a place."""
    from bumble.index.memory import Memory

    return Memory(
        opened.entity,
        open_embedder,
        name=opened.identity.name,
        zone=opened.zone,
        place=place,
    )


def search_of(
    opened: Opened, speaker: str | None, person: str | None, session: str | None
) -> Search:
    """Return the talk that a search is for: with who asks, by default the owner, and the person."""
    from bumble.cli import body_view
    from bumble.recall.memory_search import Search
    from bumble.runtime.people import owner_id

    about = () if person is None else (id_of(opened, person),)
    owner = () if opened.shell.everything else (owner_id(opened.entity, opened.identity),)
    asker = (*owner, *about) if speaker is None else (id_of(opened, speaker),)
    return Search(
        readers=tuple(dict.fromkeys(asker)),
        mood=body_view.look(opened).mood.name,
        at=opened.shell.now(),
        people=about,
        sessions=() if session is None else (find_session(opened, session).id,),
    )
