"""`bumble petri`, `catalyze`, `deep-recall`: what memories are about, and longer ways into them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from bumble.chat import deep_recall as deep
from bumble.cli import command, listing, output, people, run_job, writing
from bumble.cli.models import weights
from bumble.cli.opening import Opened
from bumble.index.search import Hit
from bumble.recall import catalyze as two_stages
from bumble.recall import survey, topic_mining
from bumble.recall.deep_recall import Recollection, Scope
from bumble.records import kinds, topics
from bumble.runtime.runtime import Runtime

CATALYSTS = 3  # shown of a topic in a list
RELATED_HITS = 100  # records by which topics are related to a query


@command.reads
def petri(
    opened: Opened,
    topic: Annotated[
        str | None, typer.Argument(metavar="TOPIC", help="What belongs to this topic.")
    ] = None,
    *,
    query: Annotated[
        str | None, typer.Option("--query", metavar="QUERY", help="Order them by relation to this.")
    ] = None,
    speaker: command.AsOption = None,
    limit: command.LimitOption = 20,
) -> None:
    """List what the memories are about; with TOPIC its parts, mentions and questions.

    People, titles, tags, links, and names and words that recur, what stands out most first. No
    model is asked: the same files at the same time give the same topics.
    """
    readers = (people.speaking(opened, speaker).id,)
    query = None if query is None else writing.text_of([query])
    memory = people.memory_of(opened, weights.embedder(opened) if query else None)
    now = opened.now
    taken = survey.take(memory, now, readers)
    if topic is not None:
        _show(opened, taken, topic, now, limit)
        return
    found = (
        list(taken.topics)
        if query is None
        else taken.related(query, memory.search(query, kinds=kinds.RECALLED, limit=RELATED_HITS))
    )
    data = {
        "query": query,
        "total": len(found),
        "topics": [_data(taken, each, now) for each in found[:limit]],
    }
    lines = [line for each in found[:limit] for line in _lines(taken, each, now)]
    output.result(opened.shell, "petri", data, lines)
    if not taken.topics:
        output.say("No topics yet: they come of what recurs on several days.")
    elif not found:
        output.say("No topic has to do with that; `bumble petri` lists them all.")


def _show(opened: Opened, taken: survey.Survey, name: str, now: datetime, limit: int) -> None:
    if (topic := taken.find(name)) is None:
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
    lines = [
        *_lines(taken, topic, now, catalysts=None),
        *(f"  part: {child.name}" for child in children),
    ]
    for text in mentions:
        when = listing.when(text.at, opened) if text.at else ""
        who = f"{text.speaker}: " if text.speaker else ""
        head = "  ".join(part for part in (when, text.kind, text.id) if part)
        lines += [f"  {head}", f"    {output.shorten(who + text.text)}"]
    output.result(opened.shell, "petri", data, lines)


def _lines(
    taken: survey.Survey,
    topic: topic_mining.Topic,
    now: datetime,
    *,
    catalysts: int | None = CATALYSTS,
) -> list[str]:
    days = topic.days_since(now)
    seen = "" if days is None else "today" if days == 0 else f"{days} d ago"
    parts = f"{len(topic.children)} parts" if topic.children else ""
    head = (f"{topic.name}", topic.type, f"{topic.frequency}×", topic.trend, seen, parts)
    questions = [catalyst.text for catalyst in taken.catalysts(topic)][:catalysts]
    return ["  ".join(filter(None, head)), *(f"    ? {question}" for question in questions)]


def _data(
    taken: survey.Survey,
    topic: topic_mining.Topic,
    now: datetime,
    *,
    catalysts: int | None = CATALYSTS,
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


@command.reads
def catalyze(
    opened: Opened,
    query: people.QueryArgument,
    *,
    register: Annotated[
        str,
        typer.Option(
            metavar="REGISTER",
            help="explore: spread over conversations; continuity: threads, the newest first; "
            "reference: knowledge first.",
        ),
    ] = "explore",
    speaker: command.AsOption = None,
    limit: command.LimitOption = 10,
) -> None:
    """Search memory in two stages: questions that topics raise, then the texts they point to.

    Joined with what `recall` finds. Without such questions, or an embedding model, it is plain
    search, and says so.
    """
    listing.choice("register", register, topics.REGISTERS)
    asked = writing.text_of(query)
    search = people.search_of(opened, speaker, None, None)
    memory = people.memory_of(opened, weights.embedder(opened))
    catalyzed = two_stages.find(
        memory, opened.config, search, asked, register=register, limit=limit
    )
    data = {
        "query": asked,
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
    output.result(opened.shell, "catalyze", data, _catalyzed_lines(opened, catalyzed))
    if catalyzed.note:
        output.say(catalyzed.note)


def _similarity(hit: Hit) -> float:
    """Return the likeness of a hit to the query; by words alone, its score."""
    calibrated = hit.parts.calibrated
    return round(hit.score if calibrated is None else calibrated, 4)


def _catalyzed_lines(opened: Opened, catalyzed: two_stages.Catalyzed) -> Iterator[str]:
    for number, hit in enumerate(catalyzed.hits, 1):
        yield from listing.hit_lines(opened, number, _similarity(hit), hit)
    if catalyzed.contributions:
        yield from ("", "By way of:")
    for contribution in catalyzed.contributions:
        count = f"{contribution.count}×  {contribution.relevance:.3f}"
        yield f"  {count}  {contribution.topic}: {contribution.text}"
    if catalyzed.hits:
        yield from ("", catalyzed.guidance)


@command.writes
def deep_recall(
    opened: Opened,
    query: people.QueryArgument,
    *,
    scope: Annotated[
        Scope,
        typer.Option(help="The newest conversation, the newest five, all of them, or all memory."),
    ] = "all",
    budget_calls: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Calls of the model at most; 0: none."),
    ] = None,
    speaker: command.AsOption = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show each step, and what it cost.")
    ] = False,
    dry_run: command.DryRunOption = False,
    yes: command.YesOption = False,
) -> None:
    """Answer a question by several looks into memory, with what it rests on.

    If three memories are near enough, they are the answer. Otherwise the model answers by what was
    found, or searches and reads on first, within the limits under `recall.deep`; each place it
    cites is checked. A model that may not write isn't asked: what is recalled is quoted. What
    nothing answers is kept in questions/ until something does; with --dry-run it isn't.
    """
    question = writing.text_of(query)
    reader = people.speaking(opened, speaker).id
    with run_job.open_runtime(opened, "deep-recall", yes=yes, needs_model=False) as made:
        # who may not write there is answered by an index of their own
        runtime = replace(made, memory=people.memory_of(opened, weights.embedder(opened)))
        found = deep.ask(runtime, question, (reader,), scope, calls=budget_calls)
        plan = partial(deep.plan, runtime, found, (reader,))
        keeps = os.access(opened.root, os.W_OK)
        planned = plan() if keeps and dry_run else None
        shown = writing.shown_change(opened, planned) if planned else None
        kept = keeps and not dry_run and runtime.apply_one("deep-recall", plan)
        limits = runtime.config.recall.deep
        data = {
            **deep.data(found),
            "found": not found.is_miss,
            "limits": {
                "steps": limits.steps,
                "step_seconds": limits.step_seconds,
                "max_tokens": limits.max_tokens,
                "max_dollars": limits.max_dollars,
            },
            "question_kept": kept and found.is_miss,
            "change": shown,
        }
        lines = list(_deep_recall_lines(found))
        if explain:
            lines += ["", *_explained(runtime, found)]
    output.result(opened.shell, "deep-recall", data, lines)
    if found.is_miss:
        output.say("Nothing in memory answers that." + ("" if dry_run else " It stays open."))


def _deep_recall_lines(result: Recollection) -> Iterator[str]:
    if result.is_miss:
        return
    yield from (result.answer or deep.QUOTED, "")
    for source in result.sources:
        place = f"{source.path}:{source.line}" if source.line else source.path
        yield from (deep.quote(source), f"  {place}")


def _explained(runtime: Runtime, result: Recollection) -> Iterator[str]:
    """Say what was done, why it ended, and what it spent of what it might."""
    config, spent = runtime.config.recall.deep, result.spent
    dollars = "not known: llm.prices names none"
    if spent.dollars is not None:
        dollars = f"{spent.dollars:.4f} of {config.max_dollars:g}"
    yield f"way      {result.way}; {result.ended}"
    yield from (f"step {n:<3} {line}" for n, line in enumerate(result.trail, 1))
    yield from (
        f"steps    {spent.steps} of {config.steps}",
        f"seconds  {spent.longest_step_seconds:.1f} of {config.step_seconds:g} in one step",
        f"tokens   {spent.tokens:,} of {config.max_tokens:,}",
        f"dollars  {dollars}",
    )
