"""`bumble catalyze`: search memory by way of the questions that its topics raise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bumble.cli import index_place, listing, memory_query, output
from bumble.cli.entity_command import reads
from bumble.cli.memory_query import AsOption, QueryArgument
from bumble.cli.models import weights
from bumble.cli.opening import Opened
from bumble.cli.options import LimitOption
from bumble.errors import UsageError

if TYPE_CHECKING:
    from bumble.index.search import Hit
    from bumble.recall.catalyze import Catalyzed

app = typer.Typer(rich_markup_mode=None)
RegisterOption = Annotated[
    str,
    typer.Option(
        metavar="REGISTER",
        help="explore: spread over topics and times; continuity: threads, the newest first; "
        "reference: knowledge and exact words first.",
    ),
]


@app.command()
@reads
def catalyze(
    opened: Opened,
    query: QueryArgument,
    *,
    register: RegisterOption = "explore",
    speaker: AsOption = None,
    limit: LimitOption = 10,
) -> None:
    """Search memory in two stages: questions that topics raise, then the texts they point to.

    Joined with what `recall` finds. Without such questions, or an embedding model, it is plain
    search, and says so.
    """
    from bumble.recall import catalyze as two_stages

    if register not in two_stages.REGISTERS:
        near = listing.missing("register", register, two_stages.REGISTERS)
        raise UsageError(f"{near}\nThere are {', '.join(two_stages.REGISTERS)}.")
    asked = memory_query.text_of(query)
    search = memory_query.search_of(opened, speaker, None, None)
    embedder = weights.embedder(opened)
    _, place = index_place.up_to_date(opened, embedder, wait_seconds=memory_query.WAIT_SECONDS)
    catalyzed = two_stages.find(
        *(
            memory_query.memory_of(opened, lambda: embedder, place),
            opened.config,
            search,
            asked,
        ),
        register=register,
        limit=limit,
    )
    output.result(opened.shell, "catalyze", _data(catalyzed, asked), _lines(opened, catalyzed))
    if catalyzed.note:
        output.say(catalyzed.note)


def _similarity(hit: Hit) -> float:
    """Return the likeness of a hit to the query; by words alone, its score."""
    calibrated = hit.parts.calibrated
    return round(hit.score if calibrated is None else calibrated, 4)


def _data(catalyzed: Catalyzed, query: str) -> dict[str, Any]:
    return {
        "query": query,
        "register": catalyzed.register,
        "results": [
            {
                "path": hit.path,
                "id": hit.id,
                "content": f"{hit.newer} {hit.text}".lstrip(),
                "similarity": _similarity(hit),
                "kind": hit.kind,
                "line": hit.line,
                "at": hit.at.isoformat() if hit.at else None,
                "speaker": hit.speaker or None,
                "trust": hit.trust or None,
            }
            for hit in catalyzed.hits
        ],
        "top_contributing_catalysts": [
            {
                "text": contribution.text,
                "topic": contribution.topic,
                "contribution_count": contribution.count,
                "relevance_score": contribution.relevance,
            }
            for contribution in catalyzed.contributions
        ],
        "presentation_guidance": catalyzed.guidance,
        "note": catalyzed.note or None,
    }


def _lines(opened: Opened, catalyzed: Catalyzed) -> Iterator[str]:
    for number, hit in enumerate(catalyzed.hits, 1):
        when = listing.when(hit.at, opened) if hit.at else ""
        parts = (f"{number:>2}.", f"{_similarity(hit):.3f}", hit.kind, when)
        yield "  ".join(part for part in (*parts, f"{hit.path}:{hit.line}") if part)
        yield from (f"    {line}".rstrip() for line in hit.statement.splitlines())
    if catalyzed.contributions:
        yield ""
        yield "By way of:"
    for contribution in catalyzed.contributions:
        count = f"{contribution.count}×  {contribution.relevance:.3f}"
        yield f"  {count}  {contribution.topic}: {contribution.text}"
    if catalyzed.hits:
        yield ""
        yield catalyzed.guidance
