"""The body of a running entity: read, brought to the present, moved by events and by anchors.

What the numbers mean is `bumble.body`'s; here it meets the file and the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bumble.body import bars, config, ebb, hormones
from bumble.body import soma as body
from bumble.entity.changes import Change
from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError
from bumble.records import anchors, base, provenance
from bumble.records import soma as store
from bumble.runtime.job import Condition, Due, JobResult
from bumble.runtime.runtime import Runtime
from bumble.text import moments, words

HEARD, SPOKE = "message_in", "message_out"


def read(runtime: Runtime, at: datetime) -> body.Soma:
    """Return the body as it is at a time, a newborn's where its file is broken; writes nothing."""
    return runtime.read_or(
        lambda: present(
            runtime.entity.soma,
            store.read(runtime.entity.soma),
            at,
            runtime.zone,
            runtime.config.soma.bars.levels,
        ),
        body.birth(at, runtime.config.soma.bars.levels),
    )


def present(
    place: Path, file: base.MappingFile, at: datetime, zone: tzinfo, temperament: config.Temperament
) -> body.Soma:
    """Return the body of a file that was read, as it is at a time.

    Raises:
        RecordInvalidError: If the file does not hold a body, naming the place.
    """
    soma = stored(place, file)
    return body.advance(soma, at, zone, temperament) if soma else body.birth(at, temperament)


def stored(place: Path, file: base.MappingFile) -> body.Soma | None:
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
    return plan_moved(runtime.entity, at, runtime.zone, runtime.config.soma.bars.levels, move, why)


def plan_moved(
    entity: Entity,
    at: datetime,
    zone: tzinfo,
    temperament: config.Temperament,
    move: Callable[[body.Soma], body.Soma],
    why: str,
) -> Change | None:
    """Plan to let something move a body of which no more than the folder is open."""
    file = store.read(entity.soma)
    mapping = body.to_mapping(move(present(entity.soma, file, at, zone, temperament)))
    gone = [[key] for key, value in mapping.items() if value is None and file.get(key) is not None]
    values = {key: value for key, value in mapping.items() if value is not None}
    return store.plan_write(file, values, why, remove=gone)


def events(runtime: Runtime, names: Sequence[str]) -> Callable[[body.Soma], body.Soma]:
    """Return what some events do to a body, the impulses they let out included."""

    def move(soma: body.Soma) -> body.Soma:
        for name in names:
            soma = body.apply_event(soma, name)
        for impulse in bars.ready_impulses(soma.bars):
            if not set(names).isdisjoint(bars.IMPULSES[impulse].longs_for):
                soma = body.fire(soma, impulse)
        return soma

    return move


def check_tick(runtime: Runtime) -> Due[datetime]:
    """Tell whether time has passed since the values of the file were true."""
    at = runtime.now()
    soma = stored(runtime.entity.soma, store.read(runtime.entity.soma))
    passed = moments.seconds_between(soma.at, at) if soma else None
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


BY_WORDS, BY_LIKENESS = "its words were said", "the body felt like it"


class Stirring(Struct, frozen=True):
    """An anchor that comes back by itself."""

    anchor: anchors.Anchor
    share: float  # of the blend
    cause: str

    def move(self, soma: body.Soma) -> body.Soma:
        """Return a body drawn towards it."""
        return blended(soma, self.anchor, self.share)


def blended(soma: body.Soma, anchor: anchors.Anchor, share: float) -> body.Soma:
    """Return a body drawn towards an anchor."""
    return replace(soma, hormones=hormones.blend(soma.hormones, anchor.levels, share))


def may_stir(runtime: Runtime, listed: Sequence[anchors.Anchor], at: datetime) -> bool:
    """Whether an anchor may be made or recalled that nobody asked for: none was so lately."""
    gaps = (moments.gap(anchor.stirred, at) for anchor in listed if anchor.stirred)
    is_on = runtime.config.soma.anchors.by_itself
    return is_on and all(gap >= hormones.COOL_DOWN for gap in gaps)


def stir(
    runtime: Runtime, soma: body.Soma, message: str, readers: Sequence[str], at: datetime
) -> Stirring | None:
    """Find the anchor that a message and a body bring back; None if none does.

    Args:
        runtime: Whose.
        soma: The body when the message came.
        message: What was said.
        readers: Ids of all who take part: what not all of them may meet does not stir.
        at: When.
    """
    listed = anchors.ANCHOR.readable(runtime.entity.anchors)
    if not may_stir(runtime, listed, at):
        return None
    near = [
        anchor
        for anchor in listed
        if base.may_read(anchor.provenance.audience, readers)
        and not provenance.is_untrusted(anchor.provenance.trust)
    ]
    named = [anchor for anchor in near if words.names(anchor.label, message)]
    if named:
        strongest = max(named, key=lambda anchor: (anchor_strength(anchor, at), anchor.id))
        return Stirring(strongest, hormones.WORDS, BY_WORDS)
    alike = [
        (hormones.likeness(soma.hormones.levels, anchor.levels), anchor.id, anchor)
        for anchor in near
    ]
    nearest = max(alike, default=None, key=lambda entry: entry[:2])
    if nearest is None or nearest[0] <= hormones.ALIKE_ABOVE:
        return None
    return Stirring(nearest[2], hormones.ALIKE, BY_LIKENESS)


def anchor_strength(anchor: anchors.Anchor, at: datetime) -> float:
    """Return what time has left of an anchor's strength."""
    return hormones.left(anchor.strength, anchor.touched, at)


def plans_new_anchor(
    runtime: Runtime, anchor: anchors.Anchor, why: str
) -> tuple[Callable[[], Change | None], ...]:
    """Plan to make an anchor; where there are too many, the weakest of the others goes.

    Returns:
        Plans to be called when they are applied, each of one file.

    Raises:
        ValueError: If there is one of that label.
    """
    listed = anchors.ANCHOR.readable(runtime.entity.anchors)
    if anchors.ANCHOR.match(listed, anchor.label) is not None:
        raise ValueError(f'there is an anchor "{anchor.label}" already: recall it')
    return (
        lambda: anchors.ANCHOR.plan_new(anchor, why),
        *(
            partial(anchors.ANCHOR.plan_forget, weak, f"{why}: the weakest goes")
            for weak in dropped_anchors(listed, anchor.at)
        ),
    )


def dropped_anchors(listed: Sequence[anchors.Anchor], at: datetime) -> list[anchors.Anchor]:
    """Return the anchors that make room for one more, the weakest first."""
    surplus = max(0, len(listed) + 1 - hormones.MOST)
    return sorted(listed, key=lambda anchor: (anchor_strength(anchor, at), anchor.id))[:surplus]


def plans_anchor_recall(
    runtime: Runtime, anchor: anchors.Anchor, at: datetime, why: str
) -> tuple[Callable[[], Change | None], ...]:
    """Plan to recall an anchor that was asked for: the body moves, and the recall is counted."""

    def move(soma: body.Soma) -> body.Soma:
        return blended(soma, anchor, hormones.ASKED)

    return (
        lambda: plan(runtime, at, move, why),
        lambda: plan_counted(runtime, anchor, at, why, stirred=False),
    )


def plan_counted(
    runtime: Runtime, anchor: anchors.Anchor, at: datetime, why: str, *, stirred: bool
) -> Change | None:
    """Plan to count a recall, on the file as it is now; None where it is gone."""
    place = runtime.entity.root / anchors.ANCHOR.path(anchor.id)
    if not place.is_file():
        return None
    return anchors.plan_recalled(anchors.ANCHOR.load(place), at, why, stirred=stirred)


def plan_charged(
    runtime: Runtime,
    soma: body.Soma,
    label: str,
    quote: str,
    intensity: float,
    origin: base.Provenance,
) -> list[Change | None]:
    """Plan the anchor that a charged turn makes by itself; nothing while others cool down.

    Args:
        runtime: Whose.
        soma: The body after the turn.
        label: What gave rise to it, in a few words.
        quote: What was said, word for word.
        intensity: How strongly it was felt, in [0, 1].
        origin: Where these words come from, and who may meet them.
    """
    listed = anchors.ANCHOR.readable(runtime.entity.anchors)
    if intensity < hormones.CHARGED or provenance.is_untrusted(origin.trust) or not label.strip():
        return []
    if not may_stir(runtime, listed, soma.at) or anchors.ANCHOR.match(listed, label) is not None:
        return []
    levels = soma.hormones.levels
    anchor = anchors.new(label, quote, levels, soma.at, intensity, stirred=True, provenance=origin)
    why = f"keep how this felt: {anchor.label}"
    return [plan() for plan in plans_new_anchor(runtime, anchor, why)]
