"""`bumble petri`: what the memories are about, found without a model."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bumble.cli import index_place, listing, memory_query, output, people
from bumble.cli.entity_command import reads
from bumble.cli.memory_query import AsOption
from bumble.cli.models import weights
from bumble.cli.opening import Opened
from bumble.cli.options import LimitOption

if TYPE_CHECKING:
    from bumble.index.memory import Memory
    from bumble.recall.petri import Topic
    from bumble.recall.survey import Survey

app = typer.Typer(rich_markup_mode=None)
CATALYSTS = 3  # shown of a topic in a list
RELATED_HITS = 100  # records by which topics are related to a query
TopicArgument = Annotated[
    str | None, typer.Argument(metavar="TOPIC", help="What belongs to this topic.")
]
QueryOption = Annotated[
    str | None, typer.Option("--query", metavar="QUERY", help="Order them by relation to this.")
]


@app.command()
@reads
def petri(
    opened: Opened,
    topic: TopicArgument = None,
    *,
    query: QueryOption = None,
    speaker: AsOption = None,
    limit: LimitOption = 20,
) -> None:
    """List what the memories are about; with TOPIC its parts, mentions and questions.

    People, titles, tags, links, and names and words that recur, what stands out most first. No
    model is asked: the same files at the same time give the same topics.
    """
    from bumble.recall import survey

    readers = _readers(opened, speaker)
    if query is not None:
        query = memory_query.text_of([query])
    embedder = weights.embedder(opened) if query is not None else None
    _, place = index_place.up_to_date(opened, embedder, wait_seconds=memory_query.WAIT_SECONDS)
    memory, now = memory_query.memory_of(opened, lambda: embedder, place), _now(opened)
    taken = survey.take(memory, now, readers)
    if topic is not None:
        _show(opened, taken, topic, now, limit)
        return
    topics = list(taken.topics) if query is None else _related(memory, taken, query)
    data = {
        "query": query,
        "total": len(topics),
        "topics": [_data(taken, each, now) for each in topics[:limit]],
    }
    lines = [line for each in topics[:limit] for line in _lines(taken, each, now)]
    output.result(opened.shell, "petri", data, lines)
    if not taken.topics:
        output.say("No topics yet: they come of what recurs on several days.")
    elif not topics:
        output.say("No topic has to do with that; `bumble petri` lists them all.")


def _now(opened: Opened) -> datetime:
    return opened.shell.now().astimezone(opened.zone)


def _readers(opened: Opened, speaker: str | None) -> tuple[str, ...]:
    """Return who sees it: the one who asks, else the owner."""
    from bumble.runtime.people import owner_id

    if speaker is None:
        return (owner_id(opened.entity, opened.identity),)
    return (people.id_of(opened, speaker),)


def _related(memory: Memory, taken: Survey, query: str) -> list[Topic]:
    from bumble.records.kinds import RECALLED

    hits = memory.search(query, kinds=RECALLED, limit=RELATED_HITS)
    return taken.related(query, hits)


def _show(opened: Opened, taken: Survey, name: str, now: datetime, limit: int) -> None:
    topic = taken.find(name)
    if topic is None:
        raise listing.missing("topic", name, [each.name for each in taken.topics])
    by_name = {each.name: each for each in taken.topics}
    children = [by_name[child] for child in topic.children if child in by_name]
    mentions = list(reversed(topic.texts))[:limit]
    data = {
        **_data(taken, topic, now, catalysts=None),
        "children": [_data(taken, child, now) for child in children],
        "records": [
            {
                "kind": text.kind,
                "id": text.id,
                "path": text.path,
                "line": text.line,
                "at": text.at.isoformat() if text.at else None,
                "speaker": text.speaker or None,
                "text": text.text,
            }
            for text in mentions
        ],
    }
    lines = list(_lines(taken, topic, now, catalysts=None))
    lines += [f"  part: {child.name}" for child in children]
    for text in mentions:
        when = listing.when(text.at, opened) if text.at else ""
        who = f"{text.speaker}: " if text.speaker else ""
        head = "  ".join(part for part in (when, text.kind, text.id) if part)
        lines += [f"  {head}", f"    {output.shorten(who + text.text)}"]
    output.result(opened.shell, "petri", data, lines)


def _lines(
    taken: Survey, topic: Topic, now: datetime, *, catalysts: int | None = CATALYSTS
) -> list[str]:
    days = topic.days_since(now)
    seen = "" if days is None else "today" if days == 0 else f"{days} d ago"
    parts = f"{len(topic.children)} parts" if topic.children else ""
    head = (f"{topic.name}", topic.type, f"{topic.frequency}×", topic.trend, seen, parts)
    questions = [catalyst.text for catalyst in taken.catalysts(topic)][:catalysts]
    return ["  ".join(filter(None, head)), *(f"    ? {question}" for question in questions)]


def _data(
    taken: Survey, topic: Topic, now: datetime, *, catalysts: int | None = CATALYSTS
) -> dict[str, Any]:
    return {
        "name": topic.name,
        "type": topic.type,
        "frequency": topic.frequency,
        "activity_trend": topic.trend,
        "days_since_last_seen": topic.days_since(now),
        "catalysts": [
            {"text": catalyst.text, "context": list(catalyst.sources)}
            for catalyst in taken.catalysts(topic)[:catalysts]
        ],
        "expandable": bool(topic.children or topic.texts),
        "total_children": len(topic.children),
    }
