"""What commands that search memory share: the query and who asks, the search, the memory itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from bumble.cli import people, text_input
from bumble.cli.opening import Opened
from bumble.errors import UsageError

if TYPE_CHECKING:
    from bumble.index.memory import Memory
    from bumble.index.place import Place
    from bumble.models.embed.protocol import Embedder
    from bumble.recall.memory_search import Search

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

    about = () if person is None else (people.id_of(opened, person),)
    owner = () if opened.shell.everything else (owner_id(opened.entity, opened.identity),)
    asker = (*owner, *about) if speaker is None else (people.id_of(opened, speaker),)
    return Search(
        readers=tuple(dict.fromkeys(asker)),
        mood=body_view.look(opened).mood.name,
        at=opened.shell.now(),
        people=about,
        sessions=() if session is None else (people.find_session(opened, session).id,),
    )
