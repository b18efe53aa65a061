"""Consolidation every few hours: fading, archiving, notes to journal, and what else follows.

Passes in a row, each with change sets of its own: what has faded goes out of recall, weak beliefs
are archived, notes go into the journal, portraits are reviewed, the story is told, questions are
drawn that topics raise. Nothing that only ages is written: how much is left of a memory is computed
on reading. What a model was asked in vain it is not asked again by this machine before there is
more to go on. The last step notes that it was done; a run that was
killed before goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity import changes
from bumble.errors import AnswerInvalidError
from bumble.jobs import musings, narrate, portrait
from bumble.jobs.episode import significance_now
from bumble.recall.belief_strength import archive_check
from bumble.records import (
    base,
    beliefs,
    dreams,
    episodes,
    journal,
    provenance,
    relationships,
    state,
    working,
)
from bumble.runtime import review_queue, spoken
from bumble.runtime.job import NO_ANSWER, Condition, Due, JobResult, Pass, vain
from bumble.runtime.runtime import Runtime
from bumble.text import moments, words

NOTE_TAG = "note"
DORMANT_BELOW = 0.05  # significance; fainter episodes are found by search, not by recall
SECTION = "consolidate"  # in state.yaml
MOST = 2  # jobs of one pass in a run: each may be a long call of a model


class ConsolidationStep(Struct, frozen=True):
    """One job of a pass."""

    part: Pass
    job: Any

    @property
    def marks(self) -> tuple[str, ...]:
        """Marks of what it is about."""
        return getattr(self.job, "marks", ())


class ConsolidationNote(Struct, frozen=True):
    """The entry of `state.yaml` about the last consolidation."""

    at: datetime | None  # None: there was none
    count: int  # consolidations until then
    seen: str  # what had been lived by then


class Tidying(Struct, frozen=True):
    """What needs no model: the files that change, and the marks of how these were read."""

    paths: tuple[str, ...]
    marks: tuple[str, ...]


def check(runtime: Runtime, *, force: bool = False) -> Due[ConsolidationStep]:
    """Find the steps that are due; asks no model.

    Args:
        runtime: Whose memory.
        force: Whether it is to be done however short ago the last time was, and asked again what
            was asked in vain.
    """
    at, last, lived = runtime.now(), _last(runtime), signature(runtime)
    interval = runtime.config.memory.consolidation_interval
    since = None if last.at is None else moments.gap(last.at, at).total_seconds()
    waited = Condition(
        "interval",
        "never done" if since is None else f"{since:.0f} s since the last",
        f"at least {interval:g} s",
        since is None or since >= interval or force,
    )
    dealt = review_queue.dealt(runtime.entity.root)
    dealt |= frozenset() if force else frozenset(vain(runtime))

    def steps(passes: Sequence[Pass]) -> Iterator[ConsolidationStep]:
        for part in passes if waited.passes else ():
            found = part.check(runtime)
            due = [ConsolidationStep(part, job) for job in found.jobs if found.due]
            yield from [each for each in due if not each.marks or not dealt.issuperset(each.marks)][
                :MOST
            ]

    urgent, others = list(steps(PASSES)), list(steps(BESIDE))
    is_new = lived != last.seen
    news = "new memories" if is_new else "nothing new"
    if urgent:
        news += f", {len(urgent)} to do"
    changed = Condition("changed", news, "something new or to do", is_new or bool(urgent) or force)
    noted = ConsolidationStep(NOTED, ConsolidationNote(at, last.count, lived))
    return Due((waited, changed), (*urgent, *others, noted))


def run(runtime: Runtime, step: ConsolidationStep) -> JobResult:
    """Do one step; what a model can't do now waits until the next time."""
    name = step.part.name
    try:
        outcome = step.part.run(runtime, step.job)
    except NO_ANSWER as error:
        why = str(error).splitlines()[0]
        outcome = JobResult(
            title=f"{name} waits",
            plan=tuple,
            lines=(f"{name} waits: {why}",),
            data={"why": why},
            ran=False,
            asked=False,  # a job that failed counts against no limit: the next has its turn
            vain=step.marks if isinstance(error, AnswerInvalidError) else (),
        )
    title, data = f"consolidate: {outcome.title}", {"part": name, **outcome.data}
    return replace(outcome, title=title, data=data, marks=step.marks)


def signature(runtime: Runtime) -> str:
    """Identify what has been lived so far, without reading it: ids, and when last was spoken.

    What a dream left is no reason to put memory in order the moment it is over: a dream and its
    belief have the time of one moment in their ids.
    """
    dreamt = {_moment(path.stem) for path in dreams.DREAM.files(runtime.entity.dreams)}
    entity = runtime.entity
    last_message_at = spoken.last_said(entity, runtime.now())
    believed = [path.stem for path in beliefs.BELIEF.files(entity.beliefs)]
    ids = [
        *(path.stem for path in episodes.EPISODE.files(entity.episodes)),
        *(belief_id for belief_id in believed if _moment(belief_id) not in dreamt),
        *(path.stem for path in relationships.PERSON.files(entity.relationships)),
        last_message_at.isoformat() if last_message_at else "",
    ]
    return review_queue.mark(*ids)


def _moment(record_id: str) -> str:
    return record_id.rpartition("_")[2][:10]  # of a ULID, the first ten digits are the time


def _last(runtime: Runtime) -> ConsolidationNote:
    """Read when it was last done, how often it was, and what there was to see then."""
    values = state.read(runtime.entity.state).get(SECTION, default={})
    at = base.field(values, "at", datetime) if values.get("at") else None
    return ConsolidationNote(at, base.field(values, "count", int, 0), str(values.get("seen", "")))


def _note(runtime: Runtime, note: ConsolidationNote) -> JobResult:
    """Record the consolidation in `state.yaml`, unless another process has done so."""

    def plan() -> Sequence[changes.Change | None]:
        if _last(runtime).count != note.count:
            return ()
        values = {"at": note.at and base.stamp(note.at), "count": note.count + 1, "seen": note.seen}
        file: base.MappingFile = state.read(runtime.entity.state)
        return (state.plan_write(file, {SECTION: values}, "looked through memory"),)

    return JobResult(
        title="looked through memory",
        plan=plan,
        lines=("Looked through memory.",),
        data={"count": note.count + 1},
    )


# what follows from time alone


FADED, MATTERS = "it has faded", "it matters again"


def _tidying(
    kind: str, plan: Callable[[Runtime], Iterable[changes.Change]], runtime: Runtime
) -> Due[Tidying]:
    """Find which of some changes were not proposed for review before."""
    dealt, planned = review_queue.dealt(runtime.entity.root), plan(runtime)
    marked = {one.path: review_queue.mark(kind, one.path, one.read or "") for one in planned}
    new = {path: mark for path, mark in marked.items() if mark not in dealt}
    return Due((), (Tidying(tuple(new), tuple(new.values())),) if new else ())


def _fading(runtime: Runtime) -> Iterator[changes.Change]:
    """Plan to mark what has faded, and what a person has since given more weight.

    What a person wrote stays: nothing says when it came, and it may tell of long ago.
    """
    entity, at = runtime.entity, runtime.now()
    for episode in episodes.EPISODE.readable(entity.episodes):
        is_lived = not provenance.is_by_hand(episode.provenance)
        is_faint = is_lived and significance_now(runtime, episode, at) < DORMANT_BELOW
        if episode.dormant == is_faint or (episode.dormant and not episode.faded):
            continue
        why = FADED if is_faint else MATTERS
        change = episodes.plan_dormant(entity, episode, dormant=is_faint, why=why)
        if change is not None:
            yield change


def let_fade(runtime: Runtime, job: Tidying) -> JobResult:
    """Take what has faded out of recall; search still finds it."""

    def plan() -> list[changes.Change]:
        return [change for change in _fading(runtime) if change.path in job.paths]

    asleep, awake = (
        [episodes.EPISODE.stem(PurePosixPath(one.path)) for one in plan() if one.why == why]
        for why in (FADED, MATTERS)
    )
    phrases = [f"{words.counted(len(asleep), 'memory', 'memories')} faded"] if asleep else []
    phrases += [f"{words.counted(len(awake), 'memory', 'memories')} came back"] if awake else []
    sentence, data = ", ".join(phrases), {"dormant": asleep, "awake": awake}
    return JobResult(sentence, plan, (f"{sentence[:1].upper()}{sentence[1:]}.",), data)


def archive(runtime: Runtime, job: Tidying) -> JobResult:
    """Put away beliefs that nothing has confirmed for long; their files stay."""
    title = f"{words.counted(len(job.paths), 'belief')} archived"
    return JobResult(
        title,
        lambda: [change for change in _put_away(runtime) if change.path in job.paths],
        (f"{title}.",),
        {"archived": len(job.paths)},
    )


def _put_away(runtime: Runtime) -> Sequence[changes.Change]:
    """Plan to put away the beliefs of which hardly anything is left."""
    return archive_check(beliefs.BELIEF.readable(runtime.entity.beliefs), runtime.now())


# notes of the scratch pad


def _notes(runtime: Runtime) -> Sequence[changes.Change]:
    """Plan what is left of the scratch pad once its notes are moved, if there are any."""
    return plan_notes_moved(runtime, runtime.now())[:1]


def move_notes(runtime: Runtime, _: Tidying) -> JobResult:
    """Move the notes of the scratch pad to the journal, all or none."""
    at = runtime.now()
    count = len(working.scratch_lines(runtime.entity.root / working.SCRATCH_PATH))
    amount = words.counted(count, "note")
    return JobResult(
        title=f"{amount} to the journal",
        plan=lambda: plan_notes_moved(runtime, at),
        lines=(f"{amount} moved to the journal.",),
        data={"notes": count},
    )


def plan_notes_moved(runtime: Runtime, at: datetime) -> Sequence[changes.Change]:
    """Plan to move all notes to the journal, grouped by who may meet them and their trust."""
    path = runtime.entity.root / working.SCRATCH_PATH
    groups: dict[tuple[str, tuple[str, ...]], list[working.MemoryLine]] = {}
    for line in working.scratch_lines(path):
        groups.setdefault((line.origin.trust, line.origin.audience), []).append(line)
    if not groups:
        return []
    old = base.read_text(path)
    left = working.without_notes(old)
    why = "the notes are in the journal"
    gone = changes.write(working.SCRATCH_PATH, left, old, why) if left.strip() else None
    entries = [
        journal.plan_add(
            at,
            "\n".join(f"{working.NOTE_MARK}{line.text}" for line in lines),
            runtime.zone,
            "keep the notes",
            tags=(NOTE_TAG,),
            provenance=_origin(lines),
        )
        for lines in groups.values()
    ]
    return [gone or changes.delete(working.SCRATCH_PATH, old, why), *entries]


def _origin(lines: Sequence[working.MemoryLine]) -> base.Provenance | None:
    """Say where some notes come from; None for what a person wrote."""
    origins = [line.origin for line in lines]
    first = next((origin for origin in origins if origin.by), None)
    sources = dict.fromkeys(source for origin in origins for source in origin.sources)
    return first and replace(first, by="consolidate", sources=tuple(sources))


# what a model makes of it


def story_due(runtime: Runtime) -> Due[narrate.NarrateJob]:
    """Tell whether it is the turn of the story, and there is something new to tell."""
    every = runtime.config.memory.narrative_every_n_consolidations
    return narrate.check(runtime) if (_last(runtime).count + 1) % every == 0 else Due((), ())


def musings_due(runtime: Runtime) -> Due[musings.MusingsJob]:
    """Find what there is to muse about; not before something new was lived."""
    is_new = signature(runtime) != _last(runtime).seen
    return musings.check(runtime) if is_new else Due((), ())


PASSES = (  # in their order
    Pass("fading", partial(_tidying, "fading", _fading), let_fade),
    Pass("beliefs", partial(_tidying, "belief", _put_away), archive),
    Pass("notes", partial(_tidying, "notes", _notes), move_notes),
    Pass("portraits", portrait.check, portrait.run),
)
# After these; no reason to begin by themselves, where nothing else has changed.
BESIDE = (Pass("story", story_due, narrate.run), Pass("musings", musings_due, musings.run))
NOTED = Pass("note", lambda _: Due((), ()), _note)  # the entry that all was done
