"""Distilling the turns that are about to leave the view, before they are compacted.

It is what follows a talk, sooner: the stretches that still wait among the messages a summary will
stand for, by the same questions, the same proof and the same cursors. So nothing is drawn twice,
and where it fails the messages wait for the next pass: the transcript keeps them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from msgspec.structs import replace

from bumble.jobs import stretch
from bumble.jobs.stretch import StretchJob
from bumble.runtime import runner
from bumble.runtime.job import Due, JobResult
from bumble.runtime.runner import Pass
from bumble.runtime.runtime import Runtime

Listener = Callable[[str], None]


def job(runtime: Runtime, compaction: JobResult) -> StretchJob | None:
    """Return the next window that is to be distilled before a compaction is written.

    Args:
        runtime: Whose conversation.
        compaction: What `compact.run` made; not yet written.
    """
    config = runtime.config.cognition.history_compression
    left = compaction.summarised
    if not (config.compaction_flush_to_knowledge and runtime.writes and left):
        return None
    reached = (runtime, left.session, left.last)
    return stretch.up_to(*reached)


def before(
    runtime: Runtime, compaction: JobResult, *, limit: int | None, note: Listener
) -> JobResult:
    """Distill what leaves the view, each window written at once; a failure is told, no more.

    Args:
        runtime: Whose conversation.
        compaction: What is to be written next.
        limit: At most so many windows, the oldest first; None: all.
        note: Hears what is going on.

    Returns:
        The compaction, with what was drawn told beside it.
    """
    part = count(1)

    def waiting(runtime: Runtime) -> Due[StretchJob]:
        window = job(runtime, compaction)
        return Due((), () if window is None else (window,))

    def distilled(runtime: Runtime, window: StretchJob) -> JobResult:
        note(f"distilling what leaves the view, part {next(part)}")
        return stretch.run(runtime, window)

    # A window that fails waits for another try, and so does what follows it.
    settled_windows = list(runner.settle(runtime, [Pass("distill", waiting, distilled)], limit))
    results = [settled.outcome for settled in settled_windows if settled.outcome is not None]
    problems = [settled.problem for settled in settled_windows if settled.problem is not None]
    lines = [line for result in results for line in result.lines]
    lines += [f"Nothing was distilled: {str(problem).splitlines()[0]}" for problem in problems]
    if any(result.ran for result in results):
        runtime.memory.sync()  # so that the next answer can make use of it
    data = {**compaction.data, "flush": [result.report for result in results]}
    return replace(compaction, lines=(*compaction.lines, *lines), data=data)
