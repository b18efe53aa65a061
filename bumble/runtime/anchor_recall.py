"""Anchors of a running entity: making and recalling them, and what recalls one by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bumble.body import hormones
from bumble.body.soma import Soma
from bumble.entity.changes import Change
from bumble.records import anchors, base, provenance
from bumble.runtime import body_state
from bumble.text import moments, words

if TYPE_CHECKING:
    from bumble.runtime.runtime import Runtime  # looking at anchors needs no index and no model

BY_WORDS, BY_LIKENESS = "its words were said", "the body felt like it"


class Stirring(Struct, frozen=True):
    """An anchor that comes back by itself."""

    anchor: anchors.Anchor
    share: float  # of the blend
    cause: str

    def move(self, soma: Soma) -> Soma:
        """Return a body drawn towards it."""
        return blended(soma, self.anchor, self.share)


def blended(soma: Soma, anchor: anchors.Anchor, share: float) -> Soma:
    """Return a body drawn towards an anchor."""
    return replace(soma, hormones=hormones.blend(soma.hormones, anchor.levels, share))


def stirred_at(listed: Sequence[anchors.Anchor], now: datetime) -> datetime | None:
    """Return when an anchor was last made or recalled by itself."""
    times = (anchor.stirred for anchor in listed if anchor.stirred)
    return min(times, key=lambda at: moments.gap(at, now), default=None)


def may_stir(runtime: Runtime, listed: Sequence[anchors.Anchor], at: datetime) -> bool:
    """Whether an anchor may be made or recalled that nobody asked for."""
    is_on = runtime.config.soma.anchors.by_itself
    return is_on and not hormones.is_cooling(stirred_at(listed, at), at)


def stir(
    runtime: Runtime, soma: Soma, message: str, readers: Sequence[str], at: datetime
) -> Stirring | None:
    """Find the anchor that a message and a body bring back; None if none does.

    Args:
        runtime: Whose.
        soma: The body when the message came.
        message: What was said.
        readers: Ids of all who take part: what not all of them may meet does not stir.
        at: When.
    """
    listed = anchors.readable(runtime.entity.anchors)
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
        strongest = max(named, key=lambda anchor: (strength(anchor, at), anchor.id))
        return Stirring(strongest, hormones.WORDS, BY_WORDS)
    alike = [(like(anchor, soma), anchor.id, anchor) for anchor in near]
    nearest = max(alike, default=None, key=lambda entry: entry[:2])
    if nearest is None or nearest[0] <= hormones.ALIKE_ABOVE:
        return None
    return Stirring(nearest[2], hormones.ALIKE, BY_LIKENESS)


def like(anchor: anchors.Anchor, soma: Soma) -> float:
    """Return how like a body is to an anchor's, as `hormones.likeness` has it."""
    return hormones.likeness(soma.hormones.levels, anchor.levels)


def strength(anchor: anchors.Anchor, at: datetime) -> float:
    """Return what time has left of an anchor's strength."""
    return hormones.left(anchor.strength, anchor.touched, at)


def plans_new(
    runtime: Runtime, anchor: anchors.Anchor, why: str
) -> tuple[Callable[[], Change | None], ...]:
    """Plan to make an anchor; where there are too many, the weakest of the others goes.

    Returns:
        Plans to be called when they are applied, each of one file.

    Raises:
        ValueError: If there is one of that label.
    """
    listed = anchors.readable(runtime.entity.anchors)
    if anchors.match(listed, anchor.label) is not None:
        raise ValueError(f'there is an anchor "{anchor.label}" already: recall it')
    surplus = dropped(listed, anchor.at)
    return (
        lambda: anchors.plan_new(anchor, why),
        *(partial(anchors.plan_forget, weak, f"{why}: the weakest goes") for weak in surplus),
    )


def dropped(listed: Sequence[anchors.Anchor], at: datetime) -> list[anchors.Anchor]:
    """Return the anchors that make room for one more, the weakest first."""
    surplus = max(0, len(listed) + 1 - hormones.MOST)
    return sorted(listed, key=lambda anchor: (strength(anchor, at), anchor.id))[:surplus]


def plans_recall(
    runtime: Runtime, anchor: anchors.Anchor, at: datetime, why: str
) -> tuple[Callable[[], Change | None], ...]:
    """Plan to recall an anchor that was asked for: the body moves, and the recall is counted."""

    def move(soma: Soma) -> Soma:
        return blended(soma, anchor, hormones.ASKED)

    return (
        lambda: body_state.plan(runtime, at, move, why),
        lambda: plan_counted(runtime, anchor, at, why, stirred=False),
    )


def plan_counted(
    runtime: Runtime, anchor: anchors.Anchor, at: datetime, why: str, *, stirred: bool
) -> Change | None:
    """Plan to count a recall, on the file as it is now; None where it is gone."""
    place = runtime.entity.root / anchors.path(anchor.id)
    if not place.is_file():
        return None
    return anchors.plan_recalled(anchors.load(place), at, why, stirred=stirred)


def plan_charged(
    runtime: Runtime, soma: Soma, label: str, quote: str, intensity: float, origin: base.Provenance
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
    listed = anchors.readable(runtime.entity.anchors)
    untrusted = provenance.is_untrusted(origin.trust)
    if intensity < hormones.CHARGED or untrusted or not label.strip():
        return []
    if not may_stir(runtime, listed, soma.at) or anchors.match(listed, label) is not None:
        return []
    levels = soma.hormones.levels
    anchor = anchors.new(label, quote, levels, soma.at, intensity, stirred=True, provenance=origin)
    why = f"keep how this felt: {anchor.label}"
    return [plan() for plan in plans_new(runtime, anchor, why)]
