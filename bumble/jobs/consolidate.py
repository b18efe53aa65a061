"""Consolidation every few hours: fading, archiving, notes to journal, and what else follows.

Parts in a row, each with change sets of its own: what has faded goes out of recall, weak beliefs
are archived, notes go into the journal, portraits are reviewed, the story is told, questions are
drawn that topics raise. Nothing that only ages is written: how much is left of a memory is computed
on reading. What a model was asked in vain it is
not asked again before there is more to go on. The last step notes that it was done; a run that was
killed before goes on where it stopped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity import changes
from bumble.entity.changes import Change
from bumble.errors import AnswerInvalidError
from bumble.jobs import musings, narrate, portrait_review
from bumble.jobs.episode import significance_now
from bumble.jobs.musings import MusingsJob
from bumble.jobs.portrait_review import DeepReviewJob
from bumble.recall.belief_strength import archive_check
from bumble.recall.topic_questions import Drawing
from bumble.records import base, beliefs, dreams, episodes, journal, relationships, scratch, state
from bumble.records.base import Provenance
from bumble.records.mapping_files import MappingFile
from bumble.runtime import review_queue, spoken
from bumble.runtime.job import NO_ANSWER, Condition, Due, JobPlan, JobResult
from bumble.runtime.runtime import Runtime
from bumble.text import moments

NOTE_TAG = "note"


def check_notes(runtime: Runtime) -> Due[int]:
    count = len(scratch.lines(runtime.entity.root / scratch.PATH))
    return Due((), (count,) if count else ())


def move_notes(runtime: Runtime, job: int) -> JobResult:
    """Move the notes of the scratch pad to the journal, all or none."""
    at = runtime.now()
    amount = "1 note" if job == 1 else f"{job} notes"
    return JobResult(
        title=f"{amount} to the journal",
        plan=lambda: plan_notes_moved(runtime, at),
        lines=(f"{amount} moved to the journal.",),
        data={"notes": job},
    )


def plan_notes_moved(runtime: Runtime, at: datetime) -> Sequence[Change]:
    """Plan to move all notes to the journal."""
    path = runtime.entity.root / scratch.PATH
    lines = scratch.lines(path)
    if not lines:
        return []
    old = base.read_text(path)
    left = scratch.without_notes(old)
    why = "the notes are in the journal"
    gone = changes.write(scratch.PATH, left, old, why) if left.strip() else None
    entries = [
        journal.plan_add(
            at, text, runtime.zone, "keep the notes", tags=(NOTE_TAG,), provenance=origin
        )
        for origin, text in _entries(lines)
    ]
    return [gone or changes.delete(scratch.PATH, old, why), *entries]


def _entries(lines: Sequence[str]) -> list[tuple[Provenance | None, str]]:
    """Gather notes by who may meet them and how far they are trusted."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for line in lines:
        origin = scratch.origin(line)
        groups.setdefault((origin.trust, origin.audience), []).append(line)
    return [(_origin(group), "\n".join(map(scratch.shown, group))) for group in groups.values()]


def _origin(lines: Sequence[str]) -> Provenance | None:
    """Say where some notes come from; None for what a person wrote."""
    origins = [scratch.origin(line) for line in lines]
    if not any(origin.by for origin in origins):
        return None
    first = next(origin for origin in origins if origin.by)
    sources = dict.fromkeys(source for origin in origins for source in origin.sources)
    return replace(first, by="consolidate", sources=tuple(sources))


DORMANT_BELOW = 0.05  # significance; fainter episodes are found by search, not by recall
SECTION, VAIN = "consolidate", "vain"  # in state.yaml
MOST_VAIN = 200  # marks of what was asked in vain; the oldest go
MOST_REVIEWS = 2  # in one run: each is a long call of a model


def _unmarked(runtime: Runtime, job: Any) -> tuple[str, ...]:
    return ()


class ConsolidationPart(Struct, frozen=True):
    """One kind of work in a consolidation."""

    name: str
    check: Callable[[Runtime], Due[Any]]
    run: Callable[[Runtime, Any], JobResult]
    most: int | None = None  # jobs in one run, where each asks a model; the rest waits; None: all
    alone: bool = True  # whether a job of it is reason enough, where nothing else has changed
    # of what a job is about: it is proposed for review, or asked in vain, only once
    marks: Callable[[Runtime, Any], tuple[str, ...]] = _unmarked

    def is_new(self, runtime: Runtime, job: Any, dealt: frozenset[str]) -> bool:
        """Whether a job is about anything that was not dealt with before."""
        marks = self.marks(runtime, job)
        return not marks or not dealt.issuperset(marks)


class ConsolidationStep(Struct, frozen=True):
    """One job of a part; without a part, the entry that all was done."""

    part: ConsolidationPart | None
    job: Any


class ConsolidationNote(Struct, frozen=True):
    """The entry of `state.yaml` about the last consolidation."""

    at: datetime
    count: int  # consolidations before this one
    fingerprint: str  # of what had been lived by then


def parts() -> tuple[ConsolidationPart, ...]:
    """Return the work of a consolidation, in its order."""
    return (
        ConsolidationPart("fading", faded, let_fade, marks=_of_job),
        ConsolidationPart("beliefs", weak, archive, marks=_of_job),
        ConsolidationPart("notes", check_notes, move_notes, marks=_of_notes),
        ConsolidationPart(
            "portraits",
            portrait_review.check,
            portrait_review.run,
            most=MOST_REVIEWS,
            marks=_of_person,
        ),
        ConsolidationPart("story", story_due, narrate.run, most=1, alone=False, marks=_of_story),
        ConsolidationPart(
            "musings", musings_due, musings.run, most=1, alone=False, marks=_of_musings
        ),
    )


def check(
    runtime: Runtime, *, force: bool = False, work: Sequence[ConsolidationPart] | None = None
) -> Due[ConsolidationStep]:
    """Find the steps that are due; asks no model.

    Args:
        runtime: Whose memory.
        force: Whether it is to be done however short ago the last time was, and asked again what
            was asked in vain.
        work: The parts; None: all.
    """
    at = runtime.now()
    last, count, last_fingerprint = _past(runtime)
    interval = runtime.config.memory.consolidation_interval
    since = None if last is None else moments.gap(last, at).total_seconds()
    waited = Condition(
        "interval",
        "never done" if since is None else f"{since:.0f} s since the last",
        f"at least {interval:g} s",
        since is None or since >= interval or force,
    )
    now = signature(runtime)
    dealt = review_queue.dealt(runtime.entity.root)
    dealt |= frozenset() if force else frozenset(_vain(state.read(runtime.entity.state)))
    steps = _steps(runtime, parts() if work is None else work, dealt) if waited.passes else []
    news = "new memories" if now != last_fingerprint else "nothing new"
    urgent = [step for step in steps if step.part and step.part.alone]
    if urgent:
        news += f", {len(urgent)} to do"
    changed = Condition(
        "changed", news, "something new or to do", now != last_fingerprint or bool(urgent) or force
    )
    return Due(
        (waited, changed), (*steps, ConsolidationStep(None, ConsolidationNote(at, count, now)))
    )


def _steps(
    runtime: Runtime, work: Sequence[ConsolidationPart], dealt: frozenset[str]
) -> list[ConsolidationStep]:
    steps = []
    for part in work:
        due_work = part.check(runtime)
        if due_work.due:
            jobs = [job for job in due_work.jobs if not dealt or part.is_new(runtime, job, dealt)]
            steps += [ConsolidationStep(part, job) for job in jobs[: part.most]]
    return steps


def run(runtime: Runtime, step: ConsolidationStep) -> JobResult:
    """Do one step; what a model can't do now waits until the next time."""
    if step.part is None:
        return _note(runtime, step.job)
    try:
        outcome = step.part.run(runtime, step.job)
    except NO_ANSWER as error:
        why = str(error).splitlines()[0]
        outcome = JobResult(
            title=f"{step.part.name} waits",
            plan=tuple,
            lines=(f"{step.part.name} waits: {why}",),
            data={"why": why},
            ran=False,
            asked=False,  # a job that failed counts against no limit: the next has its turn
            in_vain=isinstance(error, AnswerInvalidError),
        )
    title = f"consolidate: {outcome.title}"
    data = {"part": step.part.name, **outcome.data}
    marks = step.part.marks(runtime, step.job)
    planned = replace(outcome, title=title, data=data, marks=marks)
    return _noted_in_vain(runtime, planned) if outcome.in_vain and marks else planned


def _noted_in_vain(runtime: Runtime, outcome: JobResult) -> JobResult:
    """Note what a model was asked in vain: about the same it is not asked again each night."""

    def plan() -> JobPlan:
        file = state.read(runtime.entity.state)
        there = _vain(file)
        oldest = sorted(there, key=lambda mark: (str(there[mark]), mark))
        over = max(0, len(there) + len(outcome.marks) - MOST_VAIN)
        remove = [(SECTION, VAIN, mark) for mark in oldest[:over] if mark not in outcome.marks]
        values = {VAIN: dict.fromkeys(outcome.marks, base.stamp(runtime.now()))}
        why = "no usable answer"
        noted = state.plan_write(file, {SECTION: values}, why, remove=remove)
        planned = outcome.whole_plan()
        return replace(planned, changes=(*planned.changes, noted))

    return replace(outcome, plan=plan)


def _vain(file: MappingFile) -> Mapping[str, Any]:
    """Return the marks of what was asked in vain, each with when."""
    marks: Mapping[str, Any] = file.get(SECTION, VAIN, default={})
    return marks


def _of_job(_: Runtime, job: Upkeep) -> tuple[str, ...]:
    return job.marks


def _of_notes(runtime: Runtime, _: int) -> tuple[str, ...]:
    return (review_queue.mark("notes", *scratch.lines(runtime.entity.root / scratch.PATH)),)


def _of_person(runtime: Runtime, job: DeepReviewJob) -> tuple[str, ...]:
    person = relationships.find(runtime.entity.relationships, job.person)
    least = runtime.config.memory.relational.deep_review_min_new_interactions
    return (review_queue.mark("portrait", job.person, str(person.interaction_count // least)),)


def _of_story(_: Runtime, job: narrate.NarrateJob) -> tuple[str, ...]:
    return (review_queue.mark("story", job.sources.fingerprint),)


def _of_topic(_: Runtime, job: Drawing) -> tuple[str, ...]:
    return (review_queue.mark("topic", job.topic.name, job.fingerprint),)


def _of_musings(runtime: Runtime, job: MusingsJob) -> tuple[str, ...]:
    return tuple(mark for each in job.drawings for mark in _of_topic(runtime, each))


def signature(runtime: Runtime) -> str:
    """Identify what has been lived so far, without reading it: ids, and when last was spoken.

    What a dream left is no reason to put memory in order the moment it is over: a dream and its
    belief have the time of one moment in their ids.
    """
    dreamt = {_moment(path.stem) for path in dreams.paths(runtime.entity.dreams)}
    entity = runtime.entity
    last_message_at = spoken.last_said(entity, runtime.now())
    believed = [path.stem for path in beliefs.paths(entity.beliefs)]
    ids = [
        *(path.stem for path in episodes.paths(entity.episodes)),
        *(belief_id for belief_id in believed if _moment(belief_id) not in dreamt),
        *(path.stem for path in relationships.paths(entity.relationships)),
        last_message_at.isoformat() if last_message_at else "",
    ]
    return hashlib.sha256("\n".join(ids).encode("utf-8", "replace")).hexdigest()[:16]


def _moment(record_id: str) -> str:
    return record_id.rpartition("_")[2][:10]  # of a ULID, the first ten digits are the time


def _past(runtime: Runtime) -> tuple[datetime | None, int, str]:
    """Read when it was last done, how often it was, and what there was to see then."""
    values = state.read(runtime.entity.state).get(SECTION, default={})
    last = base.field(values, "at", datetime) if values.get("at") else None
    return last, base.field(values, "count", int, 0), str(values.get("seen", ""))


def _note(runtime: Runtime, note: ConsolidationNote) -> JobResult:
    """Record the consolidation in `state.yaml`, unless another process has done so."""

    def plan() -> Sequence[Change | None]:
        _, count, _ = _past(runtime)
        if count != note.count:
            return ()
        values = {"at": base.stamp(note.at), "count": count + 1, "seen": note.fingerprint}
        file: MappingFile = state.read(runtime.entity.state)
        return (state.plan_write(file, {SECTION: values}, "looked through memory"),)

    return JobResult(
        title="consolidate: looked through memory",
        plan=plan,
        lines=("Looked through memory.",),
        data={"part": "note", "count": note.count + 1},
    )


# what follows from time alone


FADED, MATTERS = "it has faded", "it matters again"


class Upkeep(Struct, frozen=True):
    """Changes that time alone asks for: their files, and the marks of how these were read."""

    paths: tuple[str, ...]
    marks: tuple[str, ...]


def _upkeep(runtime: Runtime, kind: str, planned: Iterable[Change]) -> Due[Upkeep]:
    """Find which of some changes were not proposed for review before."""
    dealt = review_queue.dealt(runtime.entity.root)
    marked = {one.path: review_queue.mark(kind, one.path, one.read or "") for one in planned}
    new = {path: mark for path, mark in marked.items() if mark not in dealt}
    return Due((), (Upkeep(tuple(new), tuple(new.values())),) if new else ())


def faded(runtime: Runtime) -> Due[Upkeep]:
    """Find what has faded, and what a person has since given more weight."""
    return _upkeep(runtime, "fading", _fading(runtime))


def _fading(runtime: Runtime) -> Iterator[Change]:
    folder, at = runtime.entity.episodes, runtime.now()
    for episode in episodes.read(folder):
        is_faint = significance_now(runtime, episode, at) < DORMANT_BELOW
        if episode.dormant == is_faint or (episode.dormant and not episode.faded):
            continue
        why = FADED if is_faint else MATTERS
        change = episodes.plan_dormant(folder, episode, dormant=is_faint, why=why, faded=True)
        if change is not None:
            yield change


def let_fade(runtime: Runtime, job: Upkeep) -> JobResult:
    """Take what has faded out of recall; search still finds it."""

    def plan() -> list[Change]:
        return [change for change in _fading(runtime) if change.path in job.paths]

    planned = plan()
    asleep, awake = ([_id(one) for one in planned if one.why == why] for why in (FADED, MATTERS))
    phrases = [f"{counted(len(asleep), 'memory', 'memories')} faded"] if asleep else []
    phrases += [f"{counted(len(awake), 'memory', 'memories')} came back"] if awake else []
    sentence, data = ", ".join(phrases), {"dormant": asleep, "awake": awake}
    return JobResult(sentence, plan, (f"{sentence[:1].upper()}{sentence[1:]}.",), data)


def _id(change: Change) -> str:
    return episodes.EPISODE.stem(PurePosixPath(change.path))


def counted(count: int, singular: str, many: str) -> str:
    """Write a count with its noun."""
    return f"{count} {singular if count == 1 else many}"


def weak(runtime: Runtime) -> Due[Upkeep]:
    """Find the beliefs of which hardly anything is left."""
    return _upkeep(runtime, "belief", _put_away(runtime))


def archive(runtime: Runtime, job: Upkeep) -> JobResult:
    """Put away beliefs that nothing has confirmed for long; their files stay."""

    def plan() -> Sequence[Change]:
        return [change for change in _put_away(runtime) if change.path in job.paths]

    title = f"{counted(len(job.paths), 'belief', 'beliefs')} archived"
    return JobResult(title, plan, (f"{title}.",), {"archived": len(job.paths)})


def _put_away(runtime: Runtime) -> Sequence[Change]:
    return archive_check(beliefs.read(runtime.entity.beliefs), runtime.now())


# the story


def story_due(runtime: Runtime) -> Due[narrate.NarrateJob]:
    """Tell whether it is the turn of the story, and there is something new to tell."""
    _, count, _ = _past(runtime)
    every = runtime.config.memory.narrative_every_n_consolidations
    turn = Condition(
        "cadence", f"consolidation {count + 1}", f"every {every}", (count + 1) % every == 0
    )
    if not turn.passes:
        return Due((turn,), ())
    due_story = narrate.check(runtime)
    return replace(due_story, conditions=(turn, *due_story.conditions))


# what comes to mind


def musings_due(runtime: Runtime) -> Due[MusingsJob]:
    """Find what there is to muse about; not before something new was lived."""
    _, _, last_fingerprint = _past(runtime)
    new = signature(runtime) != last_fingerprint
    lived = Condition("news", "new memories" if new else "nothing new", "new memories", new)
    if not new:
        return Due((lived,), ())
    found = musings.check(runtime)
    return replace(found, conditions=(lived, *found.conditions))
