"""`bumble recall`, `index`: everything the entity remembers searched, and what finds it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer
from msgspec.structs import asdict

from bumble.body.affects import IMPRINT_BASE, IMPRINT_CAP
from bumble.body.config import FeltMemoryConfig
from bumble.cli import command, index_place, listing, output, people, writing
from bumble.cli.models import weights
from bumble.cli.opening import Opened
from bumble.errors import RecordInvalidError
from bumble.index.ingest import SyncReport
from bumble.index.memory import Memory
from bumble.index.rerank import Parts
from bumble.index.rows import Period
from bumble.index.search import Hit
from bumble.models.embed.protocol import Embedder
from bumble.recall import memory_search
from bumble.records.kinds import INDEXED
from bumble.text import words

BARE = 10  # of the bare index, without a limit
LOOKED_AT = 20  # what `-n` is told to be, where more are near
SHARES = {  # how `--explain` calls what counts, and what it is
    "tokens": ("meaning", "best matches of the tokens of query and text"),
    "before": ("before", "what the turns before match better"),
    "words": ("words", "BM25 against the best of the query"),
    "around": ("around", "how well the turns around it match"),
    "asks": ("asks", "a question answers little"),
    "own": ("own", "says I or we, or is a record about somebody"),
    "named": ("named", "who says it, or whom it is about, is asked for"),
    "period": ("period", "from the time that the question names"),
}


@command.looks_back
def recall(
    opened: Opened,
    query: people.QueryArgument,
    *,
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="KIND", help="Records of this kind alone; may be repeated."),
    ] = None,
    speaker: command.AsOption = None,
    person: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="What is about, or with, this person, and they may hear."
        ),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(metavar="ID", help="What was said in this conversation, or in `last`."),
    ] = None,
    tag: command.TagOption = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            "-n",
            min=1,
            metavar="N",
            help="So many, near or not. Default: what answers.",
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what each score is made of.")
    ] = False,
    plain: Annotated[
        bool,
        typer.Option(
            "--plain",
            help="Search the bare index: all that matches, also what has faded, in no mood.",
        ),
    ] = False,
) -> None:
    """Search what the entity remembers.

    It finds what would be found in a talk with its owner.

    With --as, as in a talk with somebody else. By words and by meaning; without an embedding model
    by words alone. What left a feeling counts more, most when the mood is akin to it. What who asks
    may not hear stays out, but with --all, and so do beliefs that gave way to others, but with
    --plain. What has faded comes where nothing else answers, or with --plain.
    """
    asked = writing.text_of(query)
    config, at = opened.config.memory, opened.shell.now()
    search = people.search_of(opened, speaker, person, session, tags=tag or ())
    embedder = weights.embedder(opened)
    if embedder is None and opened.config.embedding.model == "none":
        output.say("By words alone: `embedding.model` is none.")
    memory = people.memory_of(opened, embedder)
    kinds = tuple(listing.choice("kind of record", name, INDEXED) for name in kind or ())
    found = _found(opened, memory, search, asked, kinds, limit, plain=plain)
    weighted = [
        (
            hit,
            None
            if plain
            else memory_search.imprint_weight(opened.entity, config, search.mood, at, hit),
        )
        for hit in found.answers
    ]
    mood = None if plain else search.mood
    data = {
        "query": asked,
        "embedding": embedder.identity.model if embedder else None,
        "mood": mood,
        "more": found.near,
        "hits": [_data(hit, felt, rank) for rank, (hit, felt) in enumerate(weighted, 1)],
    }
    lines = list(_lines(opened, weighted, config if explain else None))
    if explain and lines:
        lines = [*_explained_question(opened, mood, found.period), "", *lines]
    output.result(opened.shell, "recall", data, lines)
    _tell_more(opened, found, search, memory, plain=plain)


def _tell_more(
    opened: Opened,
    found: memory_search.QuestionHits,
    search: memory_search.Search,
    memory: Memory,
    *,
    plain: bool,
) -> None:
    """Say what was not searched, or is not shown, and how it is."""
    if not opened.shell.everything and memory.keeps_from(search.readers):
        output.say("What others told alone was not searched; --all searches it, too.")
    if found.near:
        others = "more is" if found.near == 1 else "more are"
        output.say(f"{found.near} {others} near; -n {LOOKED_AT} shows them.")
    elif not found.answers and found.hits:
        output.say(f"Nothing is near enough to answer; -n {LOOKED_AT} shows what is nearest.")
    elif not found.answers:
        output.say("Nothing found." if plain else "Nothing found. `--plain` searches more.")


def _found(
    opened: Opened,
    memory: Memory,
    search: memory_search.Search,
    query: str,
    kinds: Sequence[str],
    limit: int | None,
    *,
    plain: bool,
) -> memory_search.QuestionHits:
    """Find what answers; with a limit, or in the bare index, the best so many."""
    if plain:
        hits = memory.search(
            query,
            kinds=kinds,
            limit=limit or BARE,
            people=search.people,
            tags=search.tags,
            sessions=search.sessions,
            audience=search.readers,
            faded=True,
        )
        return memory_search.QuestionHits(tuple(hits), tuple(hits), 0)
    return memory_search.answers(memory, opened.config, search, query, kinds=kinds, limit=limit)


def _lines(
    opened: Opened,
    weighted_hits: Sequence[tuple[Hit, memory_search.ImprintWeight | None]],
    explained: FeltMemoryConfig | None,
) -> Iterator[str]:
    for rank, (hit, felt) in enumerate(weighted_hits, 1):
        yield from [""] * (rank > 1)
        yield from listing.hit_lines(opened, rank, hit.score, hit)
        if explained:
            explanation = [*_explained_felt(felt, explained)] if felt else []
            explanation += _explained(hit.parts)
            yield from (f"    | {line}" for line in explanation)


def _explained_question(opened: Opened, mood: str | None, period: Period | None) -> Iterator[str]:
    """Say what counts of the question itself: the mood, and the time that it names."""
    if mood:
        yield f"mood     {mood}"
    if period:
        first, last = (listing.when(at, opened) for at in (period.start, period.end))
        yield f"period   {first} to {last}: what is from then counts more"


def _explained_felt(felt: memory_search.ImprintWeight, config: FeltMemoryConfig) -> Iterator[str]:
    """Say what the imprints of an episode do to its score."""
    for share in felt.shares:
        trigger = f" ({share.trigger})" if share.trigger else ""
        yield (
            f"felt     {share.emotion} {share.intensity:.2f} × ({share.affinity:.2f} - 1 +"
            f" {IMPRINT_BASE:.2f}) × {share.decay:.3f} = {share.share:.3f}{trigger}"
        )
    total = sum(share.share for share in felt.shares)
    yield (
        f"factor   1 + {config.imprint_recall_weight:.2f} × min({IMPRINT_CAP:.2f},"
        f" {total:.3f}) = {felt.factor:.3f}   {felt.age_days:.1f} days later"
    )


def _explained(parts: Parts) -> Iterator[str]:
    """Say what a score is made of: each thing that counts beside the match of tokens."""
    if not parts.shares:
        matched = ", ".join(parts.matched) or "no word of the query"
        yield f"words    BM25 {parts.bm25:.3f}: {matched}"
    near = "no vector"
    if parts.cosine is not None:
        near = f"cosine {parts.cosine:.3f}, calibrated {parts.calibrated:.3f}"
    for share, value in parts.shares.items():
        if round(value, 3):
            name, note = SHARES[share]
            more = {"tokens": f"; {near}", "words": f": {', '.join(parts.matched)}"}
            yield f"{name:8} {value:+.3f}   {note}{more.get(share, '')}"
    total = sum(parts.shares.values()) if parts.shares else parts.bm25
    yield f"together {total:+.3f}   {parts.relevance:.3f} from the worst candidate to the best"
    whole = parts.relevance * parts.factor
    yield f"score    {parts.relevance:.3f} × {parts.factor:.3f} = {whole:.3f}"


def _data(hit: Hit, felt: memory_search.ImprintWeight | None, rank: int) -> dict[str, Any]:
    parts = hit.parts
    return {
        **hit.data(rank),
        "audience": list(hit.audience),
        "faded": hit.faded,
        "parts": {
            "bm25": parts.bm25,
            "bm25_scaled": parts.bm25_scaled,
            "cosine": parts.cosine,
            "calibrated": parts.calibrated,
            "nearness": parts.nearness,
            "relevance": parts.relevance,
            "shares": dict(parts.shares),
            "factor": parts.factor,
            "imprints": [asdict(share) for share in felt.shares] if felt else [],
            "matched": list(parts.matched),
        },
    }


@command.reads
def index(
    opened: Opened,
    *,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Throw the index away and make it anew.")
    ] = False,
) -> None:
    """Bring the search index up to date with the files.

    Every command that searches does this by itself; the index can be deleted at any time.
    """
    embedder = weights.embedder(opened)
    report, at = index_place.up_to_date(opened, embedder, rebuild=rebuild)
    lines = [_summary(report), _vectors(report, embedder)]
    data = {
        "added": report.added,
        "changed": report.changed,
        "removed": report.removed,
        "unchanged": report.unchanged,
        "embedded": report.embedded,
        "waiting": report.waiting,
        "complete": report.complete,
        "embedding": embedder.identity.model if embedder else None,
        "dimensions": embedder.identity.dimensions if embedder else None,
        "database": at.shown,
        "problems": [
            {
                "path": opened.entity.relative(problem.path),
                "line": problem.line,
                "problem": problem.problem,
            }
            for problem in report.problems
        ],
    }
    output.result(opened.shell, "index", data, [line for line in lines if line])
    readable = report.added + report.changed + report.unchanged - len(report.problems)
    if report.problems and readable <= 0:
        raise typer.Exit(RecordInvalidError.exit_code)


def _summary(report: SyncReport) -> str:
    total = report.added + report.changed + report.unchanged
    unreadable = f", {len(report.problems)} of them unreadable (see `bumble doctor`)"
    broken = unreadable if report.problems else ""
    if not (report.added or report.changed or report.removed):
        return f"Nothing to do: {words.counted(total, 'file')}{broken}, as they were."
    sentence = f"{report.added:,} added, {report.changed:,} changed, {report.removed:,} removed"
    return f"{words.counted(total, 'file')}{broken}: {sentence}."


def _vectors(report: SyncReport, embedder: Embedder | None) -> str:
    if embedder is not None and report.embedded:
        of = f"{embedder.identity.model}, {embedder.identity.dimensions} dimensions"
        return f"{words.counted(report.embedded, 'text')} embedded by {of}."
    if report.waiting:
        passages = words.counted(report.waiting, "passage")
        return f"{passages} without a vector: words alone find them."
    return ""
