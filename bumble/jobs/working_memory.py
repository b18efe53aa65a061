"""Working memory written anew by night: when, from what, and what is rejected.

A model that may write fills seven lists from what the owner and everyone may meet; names and
numbers that nobody gave are left out, and a page that loses too much is rejected, with the reason,
and the file left as it is. Notes go to the journal. Without such a model the page stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, structs

from bumble.body import noise
from bumble.body.soma import is_open
from bumble.entity.changes import Change
from bumble.errors import AnswerInvalidError
from bumble.fallback import sayings
from bumble.jobs import consolidate, dream, narrate
from bumble.llm import prompts
from bumble.records import base, episodes, journal, provenance, state, working
from bumble.runtime import people, review_queue
from bumble.runtime.job import Condition, Due, JobPlan, JobResult, ask, closed, traced
from bumble.runtime.runtime import Runtime
from bumble.text import moments
from bumble.text.words import one_line, shorten

Lines = Mapping[str, list[tuple[str, base.Provenance]]]


LONG_CHARS, LEAST_SHARE = 2000, 0.5  # a page this long may not lose more than half
LEAST_SUBSTANCE = 50  # characters of letters and figures
MOST_POINTERS = 20
LEAST_BOND = 0.30  # of the words about those it is close to, by Jaccard
BOND = "Bond"


def problem(before: str, after: str, pointers: int) -> str | None:
    """Return why a rewrite may not stand; None if it may.

    Args:
        before: The text of the file.
        after: As it would become.
        pointers: How many links to records the rewrite wants.
    """
    old_lines, new_lines = working.own(before), working.own(after)
    substance = sum(len(re.findall(r"\w", line.text)) for line in new_lines)
    if substance < LEAST_SUBSTANCE:
        return f"it has {substance} characters of substance, fewer than {LEAST_SUBSTANCE}"
    if pointers > MOST_POINTERS:
        return f"it has {pointers} pointers, more than {MOST_POINTERS}"
    if not old_lines:
        return None  # the first time it only appends
    return _shrinks(before, after, old_lines, new_lines) or _forgets_bond(before, after)


def _shrinks(
    before: str,
    after: str,
    old_lines: Iterable[working.MemoryLine],
    new_lines: Iterable[working.MemoryLine],
) -> str | None:
    """Compare the pages, and what the dream itself wrote of them: an owner's text hides no loss."""
    sizes = [
        (len(_bare(before)), len(_bare(after))),
        (sum(len(line.text) for line in old_lines), sum(len(line.text) for line in new_lines)),
    ]
    for old, new in sizes:
        if old > LONG_CHARS and new < old * LEAST_SHARE:
            return f"only {new:,} of {old:,} characters would be left, less than {LEAST_SHARE:.0%}"
    return None


def _bare(source: str) -> str:
    return "\n".join(working.split_note(row)[0] for row in source.splitlines())


def _forgets_bond(before: str, after: str) -> str | None:
    old, new = (
        " ".join(line.text for line in working.parse(text) if line.section == BOND)
        for text in (before, after)
    )
    likeness = noise.jaccard(old, new)
    if noise.words(old) and likeness < LEAST_BOND:
        return f"it keeps {likeness:.0%} of the words of {BOND}, less than {LEAST_BOND:.0%}"
    return None


STATE = "working"  # its section of `state.yaml`
PURPOSE = "working_memory"
GATES = ("enabled", "silence", "hours")  # of a dream
HOURS_BETWEEN = 8  # once a night
KEYS: Mapping[str, str] = {title.casefold().replace(" ", "_"): title for title in working.SECTIONS}
POINTERS = "pointers"
LINES, LINE_CHARS = 8, 240  # of a section; more is cut off
NOTES = 20  # the newest that are read
MAX_TOKENS, TEMPERATURE = 900, 0.4


class WorkingMemoryJob(Struct, frozen=True):
    """One rewriting of the page."""

    at: datetime
    sources: narrate.StorySources
    notes: tuple[tuple[str, base.Provenance], ...]  # jotted down since the last time
    before: str  # the file's text
    fingerprint: str  # of all it is written from


class PageDraft(Struct, frozen=True):
    """A page as it is to become."""

    lines: Lines
    pointers: int  # that were wanted
    dropped: int = 0  # lines that said what nobody knows


def check(runtime: Runtime, *, force: bool = False) -> Due[WorkingMemoryJob]:
    """Tell whether it is time, and there is something new to take in."""
    at, (last, seen) = runtime.now(), _past(runtime)
    gates = [gate for gate in dream.gates(runtime, at) if gate.name in GATES]
    conditions = [sayings.writes(runtime), *gates]
    hours = None if last is None else moments.gap(last, at).total_seconds() / 3600
    conditions.append(
        Condition(
            "tonight",
            "never written" if hours is None else f"{hours:.1f} h since the last time",
            f"at least {HOURS_BETWEEN} h",
            hours is None or hours >= HOURS_BETWEEN,
        )
    )
    if force:
        conditions[1:] = [structs.replace(gate, passes=True) for gate in conditions[1:]]
    if not all(gate.passes for gate in conditions):
        return Due(tuple(conditions), ())
    sources, notes = narrate.gather(runtime), _notes(runtime, last)
    source = working.read(runtime.entity.working_memory)
    shown = _shown(runtime, sources, source).values()
    fingerprint = review_queue.mark(*shown, *(text for text, _ in notes))
    news = bool(sources.episodes or notes) and fingerprint != seen
    conditions.append(
        Condition(
            "news", "something new" if news else "nothing new", "something new", news or force
        )
    )
    return Due(tuple(conditions), (WorkingMemoryJob(at, sources, notes, source, fingerprint),))


def _past(runtime: Runtime) -> tuple[datetime | None, str]:
    """Return when the page was last looked at, and what there was to see then."""
    values = state.read(runtime.entity.state).get(STATE, default={})
    at = None if values.get("at") is None else base.field(values, "at", datetime)
    return at, str(values.get("seen") or "")


def _notes(runtime: Runtime, since: datetime | None) -> tuple[tuple[str, base.Provenance], ...]:
    """Return what was jotted down, whether it still waits or is in the journal by now."""
    entries = [
        (row.removeprefix(working.NOTE_MARK).strip(), entry.provenance)
        for entry in journal.read(runtime.entity.journal, runtime.zone).entries
        if consolidate.NOTE_TAG in entry.tags and (since is None or entry.at > since)
        for row in entry.text.splitlines()
        if row.strip()
    ]
    waiting = [
        (line.text, line.origin)
        for line in working.scratch_lines(runtime.entity.root / working.SCRATCH_PATH)
    ]
    notes = [
        (one_line(text), origin)
        for text, origin in (*entries, *waiting)
        if not provenance.is_untrusted(origin.trust)
    ]
    return tuple(notes[-NOTES:])


def run(runtime: Runtime, job: WorkingMemoryJob) -> JobResult:
    """Write the page; what is rejected leaves the file as it is, and says why."""
    try:
        # ask a model, and leave out what nobody said
        circle = (people.owner_id(runtime.entity, runtime.identity),)
        open_notes = [note for note in job.notes if is_open(note[1].audience, circle)]
        notes = [text for text, _ in open_notes]
        own = _open_lines(runtime, job.before)
        before = _page(own)
        given = _shown(runtime, job.sources, job.before)
        given["notes"] = prompts.listed("notes", notes, "- ")
        given["before"] = prompts.listed("page-so-far", [before] if before else [], "- ")
        answer = ask(
            runtime, PURPOSE, given, schema(), max_tokens=MAX_TOKENS, temperature=TEMPERATURE
        )
        origins = [*(line.origin for line in own), *(origin for _, origin in open_notes)]
        draft = _checked(runtime, job, answer, [*notes, before], origins)
    except AnswerInvalidError as error:
        return _left(runtime, job, str(error).splitlines()[0])
    reason = problem(job.before, working.rendered(job.before, draft.lines), draft.pointers)
    return _left(runtime, job, reason) if reason else _written(runtime, job, draft)


def _open_lines(runtime: Runtime, source: str) -> list[working.MemoryLine]:
    """Return the lines of the page that its own prompt may hold."""
    circle = (people.owner_id(runtime.entity, runtime.identity),)
    return [line for line in working.own(source) if is_open(line.origin.audience, circle)]


def _page(lines: Sequence[working.MemoryLine]) -> str:
    return "\n".join(f"{line.section}: {line.text}" for line in lines)


def _shown(runtime: Runtime, sources: narrate.StorySources, source: str) -> dict[str, str]:
    """Return what a model is shown of the sources, by slot; with a long page it is less."""
    before, room = _page(_open_lines(runtime, source)), runtime.window_tokens - MAX_TOKENS
    slots = narrate.story_slots(runtime, sources, before, room, MAX_TOKENS)
    return {name: slots[name] for name in ("name", "memories", "people", "beliefs")}


def schema() -> dict[str, Any]:
    """Return what an answer looks like; how long it may be is judged, not enforced."""
    return closed({key: {"type": "array", "items": {"type": "string"}} for key in KEYS})


def _checked(
    runtime: Runtime,
    job: WorkingMemoryJob,
    answer: Mapping[str, Any],
    more: Sequence[str],
    origins: Sequence[base.Provenance],
) -> PageDraft:
    """Keep the lines that hold no name, number or date of their own; all are for one circle."""
    grounds = job.sources.grounds(runtime, *more)
    audiences = [job.sources.audience, *(origin.audience for origin in origins)]
    origin = base.Provenance(
        by=working.BY,
        model=runtime.model.name,
        sources=tuple(episode.id for episode in job.sources.episodes[-LINES:]),
        trust=base.lowest_trust((job.sources.trust, "entity")),
        audience=provenance.joined(audiences),
    )
    lines: dict[str, list[tuple[str, base.Provenance]]] = {}
    dropped = 0
    for key, title in KEYS.items():
        if key == POINTERS:
            continue
        wanted = [shorten(one_line(str(line)), LINE_CHARS, at_word=True) for line in answer[key]]
        wanted = list(dict.fromkeys(line.removeprefix("- ") for line in wanted if line))[:LINES]
        sound = grounds.sound(wanted)
        dropped += len(wanted) - len(sound)
        lines[title] = [(line, origin) for line in sound]
    labels = job.sources.labels
    ids = {str(label).strip("[]() ") for label in answer[POINTERS]}
    lines[KEYS[POINTERS]] = [
        (episodes.link(episode, "../"), structs.replace(origin, sources=(episode.id,)))
        for label, episode in labels.items()
        if ids & {label, episode.id}
    ]
    return PageDraft(lines, len(answer[POINTERS]), dropped)


def _written(runtime: Runtime, job: WorkingMemoryJob, draft: PageDraft) -> JobResult:
    count = sum(map(len, draft.lines.values()))

    def plan() -> JobPlan:
        if working.read(runtime.entity.working_memory) != job.before:
            return JobPlan((), ("Working memory was edited meanwhile, and stays as it is.",))
        page = working.plan_rewrite(job.before, draft.lines, "write working memory anew")
        return JobPlan((page, *consolidate.plan_notes_moved(runtime, job.at), _noted(runtime, job)))

    told = [f"Working memory: {count} lines."]
    if draft.dropped:
        told.append(f"Left out {draft.dropped} lines with names or numbers nobody gave.")
    return JobResult(
        title=f"working memory: {count} lines",
        plan=plan,
        lines=tuple(told),
        data={"lines": count, "dropped": draft.dropped},
        trailers=traced((), runtime.model.name),
    )


def _left(runtime: Runtime, job: WorkingMemoryJob, reason: str) -> JobResult:
    """Leave the file as it is, and say why; what was seen is not asked about again."""
    return JobResult(
        title=f"working memory: the page stays as it was, {reason}",
        plan=lambda: (_noted(runtime, job),),
        lines=(f"Working memory is left as it is: {reason}.",),
        data={"rejected": reason},
        ran=False,
    )


def _noted(runtime: Runtime, job: WorkingMemoryJob) -> Change | None:
    values = {STATE: {"at": base.stamp(job.at), "seen": job.fingerprint}}
    return state.plan_write(
        state.read(runtime.entity.state), values, "working memory was looked at"
    )
