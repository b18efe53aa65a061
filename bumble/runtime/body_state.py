"""The body of a running entity: read, brought to the present, and moved by events.

What the numbers mean is `bumble.body`'s; here it meets the file and the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from pathlib import Path

from bumble.body import affects, bars, ebb
from bumble.body import soma as body
from bumble.body.circadian import seconds_between
from bumble.body.config import Temperament
from bumble.entity.changes import Change
from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError
from bumble.records import soma as store
from bumble.records.base import MappingFile
from bumble.runtime.job import Condition, Due, JobResult
from bumble.runtime.runtime import Runtime

REACH_OUT, EXPLORE = "reach_out", "explore_something"
TOOL_EVENTS = ("tool", "tool_failed")
HEARD, SPOKE = "message_in", "message_out"


def read(runtime: Runtime, at: datetime) -> body.Soma:
    """Return the body as it is at a time, a newborn's where its file is broken; writes nothing."""
    new = body.birth(at, runtime.config.soma.bars.levels)
    return runtime.read_or(
        lambda: present(
            runtime.entity.soma,
            store.read(runtime.entity.soma),
            at,
            runtime.zone,
            runtime.config.soma.bars.levels,
        ),
        new,
    )


def present(
    place: Path, file: MappingFile, at: datetime, zone: tzinfo, temperament: Temperament
) -> body.Soma:
    """Return the body of a file that was read, as it is at a time.

    Raises:
        RecordInvalidError: If the file does not hold a body, naming the place.
    """
    soma = stored(place, file)
    return body.advance(soma, at, zone, temperament) if soma else body.birth(at, temperament)


def stored(place: Path, file: MappingFile) -> body.Soma | None:
    """Return the body as a file has it, at the time its values were true.

    Returns:
        None if there is no file, or one that has not been lived with yet.

    Raises:
        RecordInvalidError: If the file does not hold a body, naming the place.
    """
    if file.get("bars") is None:
        return None
    try:
        return body.from_mapping(file.values)
    except ValueError as error:
        raise RecordInvalidError(place, str(error), file.line_of(str(error))) from error


def mood(runtime: Runtime, soma: body.Soma) -> affects.Mood:
    """Name the mood of a body that was brought to the present."""
    return affects.mood(soma.bars)


def intensity(runtime: Runtime, soma: body.Soma) -> float:
    """Tell how strongly anything is felt, in [0, 1]."""
    return affects.emotional_intensity(mood(runtime, soma), soma.affects)


def plan(
    runtime: Runtime, at: datetime, move: Callable[[body.Soma], body.Soma], why: str
) -> Change | None:
    """Plan to let something move the body, as its file is now.

    Args:
        runtime: Whose body.
        at: When it happened.
        move: Takes the body at that time and returns it moved.
        why: For the change set.
    """
    temperament = runtime.config.soma.bars.levels
    return plan_moved(runtime.entity, at, runtime.zone, temperament, move, why)


def plan_moved(
    entity: Entity,
    at: datetime,
    zone: tzinfo,
    temperament: Temperament,
    move: Callable[[body.Soma], body.Soma],
    why: str,
) -> Change | None:
    """Plan to let something move a body of which no more than the folder is open."""
    file = store.read(entity.soma)
    moved = move(present(entity.soma, file, at, zone, temperament))
    mapping = body.to_mapping(moved)
    gone = [[key] for key, value in mapping.items() if value is None and file.get(key) is not None]
    values = {key: value for key, value in mapping.items() if value is not None}
    return store.plan_write(file, values, why, remove=gone)


def events(runtime: Runtime, names: Sequence[str]) -> Callable[[body.Soma], body.Soma]:
    """Return what some events do to a body, the impulses they let out included."""

    def move(soma: body.Soma) -> body.Soma:
        for name in names:
            soma = body.apply_event(soma, name)
        for impulse in bars.ready_impulses(soma.bars):
            if _lets_out(impulse, names):
                soma = body.fire(soma, impulse)
        return soma

    return move


def _lets_out(impulse: str, names: Sequence[str]) -> bool:
    """Whether what was done is what the impulse longs for: speaking, or looking into something."""
    if impulse == REACH_OUT:
        return SPOKE in names
    return impulse == EXPLORE and any(name in TOOL_EVENTS for name in names)


def check_tick(runtime: Runtime) -> Due[datetime]:
    """Tell whether time has passed since the values of the file were true."""
    at = runtime.now()
    soma = stored(runtime.entity.soma, store.read(runtime.entity.soma))
    passed = seconds_between(soma.at, at) if soma else None
    value = "not written yet" if passed is None else f"{max(0.0, passed):.0f} s old"
    condition = Condition(
        "stored values", value, "older than the present", passed is None or passed != 0
    )
    return Due((condition,), (at,))


def run_tick(runtime: Runtime, job: datetime) -> JobResult:
    """Let the time pass; no model is asked."""
    soma = read(runtime, job)
    return JobResult(
        title="soma: time passed",
        plan=lambda: (plan(runtime, job, lambda soma: soma, "time passed"),),
        lines=(ebb.reflection_line(soma),),
        data={"at": job.isoformat()},
    )
