"""`bumble deep-recall`: a question answered by several looks into memory, with its sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer
from msgspec.structs import asdict

from bumble.chat import deep_recall as deep
from bumble.chat.deep_recall import DeepRecallAnswer
from bumble.cli import commit, memory_query, output, people, runtimes
from bumble.cli.entity_command import writes
from bumble.cli.memory_query import AsOption, QueryArgument
from bumble.cli.opening import Opened
from bumble.cli.options import DryRunOption, YesOption
from bumble.entity.changes import ChangeSet
from bumble.recall.deep_recall.bounds import RecollectionSpending, Scope
from bumble.runtime.people import owner_id
from bumble.runtime.runtime import Runtime

app = typer.Typer(rich_markup_mode=None)
ScopeOption = Annotated[
    Scope,
    typer.Option(help="The newest conversation, the newest five, all of them, or all memory."),
]
CallsOption = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=0, help="Calls of the model at most, sub-calls included; 0: none."
    ),
]
ExplainOption = Annotated[bool, typer.Option("--explain", help="Show each step, and what it cost.")]


@app.command()
@writes
def deep_recall(
    opened: Opened,
    query: QueryArgument,
    *,
    scope: ScopeOption = "all",
    budget_calls: CallsOption = None,
    speaker: AsOption = None,
    explain: ExplainOption = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Answer a question by several looks into memory, with what it rests on.

    If three memories are near enough, they are the answer. Otherwise the model plans: it searches,
    finds words, reads, notes and answers, within the limits under `recall.deep`; each place it
    cites is checked. A model that may not write isn't asked: what is recalled is quoted. What
    nothing answers is kept in questions/ until something does; with --dry-run it isn't.
    """
    question = memory_query.text_of(query)
    reader = (
        owner_id(opened.entity, opened.identity)
        if speaker is None
        else people.id_of(opened, speaker)
    )
    with runtimes.open_runtime(opened, "deep-recall", yes=yes, needs_model=False) as runtime:
        asked = deep.ask(runtime, question, (reader,), scope, calls=budget_calls)
        change = asked.plan()
        if change is not None and not dry_run:
            runtime.apply(ChangeSet(f"deep-recall: {change.why}", (change,)))
        shown = commit.shown_change(opened, change) if change is not None and dry_run else None
        data = _data(runtime, asked, kept=change is not None and not dry_run) | {"change": shown}
        lines = list(_lines(asked))
        if explain:
            lines += ["", *_explained(runtime, asked)]
    output.result(opened.shell, "deep-recall", data, lines)
    if asked.recollection.is_miss:
        output.say("Nothing in memory answers that." + ("" if dry_run else " It stays open."))


def _data(runtime: Runtime, asked: DeepRecallAnswer, *, kept: bool) -> dict[str, Any]:
    limits = asdict(runtime.config.recall.deep)
    return {
        **deep.data(asked.recollection),
        "found": not asked.recollection.is_miss,
        "cached": asked.cached,
        "limits": {name: limits[name] for name in _LIMITS},
        "question_kept": kept and asked.recollection.is_miss,
    }


_LIMITS = ("steps", "sub_calls", "step_seconds", "max_tokens", "max_dollars")


def _lines(asked: DeepRecallAnswer) -> Iterator[str]:
    result = asked.recollection
    if result.is_miss:
        return
    yield result.answer or deep.QUOTED
    yield ""
    for source in result.sources:
        yield deep.quote(source)
        yield f"  {source.path}:{source.line}" if source.line else f"  {source.path}"


def _explained(runtime: Runtime, asked: DeepRecallAnswer) -> Iterator[str]:
    """Say what was done, why it ended, and what it spent of what it might."""
    result, config = asked.recollection, runtime.config.recall.deep
    yield f"way      {result.way}{', cached' if asked.cached else ''}; {result.ended}"
    yield from (f"step {n:<3} {line}" for n, line in enumerate(result.trail, 1))
    spent = result.spent
    yield f"steps    {spent.steps} of {config.steps}"
    yield f"calls    {spent.sub_calls} sub-calls of {config.sub_calls}"
    yield f"seconds  {spent.longest_step_seconds:.1f} of {config.step_seconds:g} in one step"
    yield f"tokens   {spent.tokens:,} of {config.max_tokens:,}"
    yield f"dollars  {_dollars(spent, config.max_dollars)}"


def _dollars(spent: RecollectionSpending, most: float) -> str:
    if spent.dollars is None:
        return "not known: llm.prices names none"
    return f"{spent.dollars:.4f} of {most:g}"
