"""How beliefs strengthen, decay, give way and are archived; merging new claims into them.

Confidence is stored as of the last time a belief was confirmed or weakened; what is left of it is
computed on reading. A new claim that says what is held already confirms it; one that contradicts
it weakens it, and both say so. Whether two claims contradict each other is for a model to judge:
likeness of texts can't tell, because opposites are alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import PurePosixPath
from typing import Literal

from msgspec import Struct, field

from bumble.body.soma import is_open
from bumble.entity.changes import Change
from bumble.files import disk
from bumble.records import base, beliefs, provenance
from bumble.runtime.runtime import Runtime
from bumble.text.words import one_line

Verdict = Literal["same", "contradicts"]
CORRECTION = "correction"
UNSURE_BELOW = 0.4
CONFIRMS = {"user": 0.25, "extracted": 0.15, "dream": 0.10}  # share of doubt that a word takes away
CONTRADICT_FACTOR = 0.6  # a contradicted belief keeps this share of its confidence
FLOOR = 0.05  # confidence fades to this
ARCHIVE_BELOW = 0.1  # confidence below which a belief is archived
HALF_LIFE_DAYS = {
    "correction": 365,
    "preference": 180,
    "world_fact": 90,
    "self_insight": 60,
    "dream_insight": 21,
}
_DAY_SECONDS = 86_400


class Claim(Struct, frozen=True):
    """Something that may become a belief."""

    id: str  # `bel_<ULID>`, if it does
    text: str
    category: str  # one of beliefs.CATEGORIES
    confidence: float
    evidence: tuple[str, ...]  # ids of messages, episodes or dreams
    origin: str  # one of beliefs.ORIGINS, or `dream:<id>`
    provenance: base.Provenance
    by: Literal["user", "extracted", "dream"] = "extracted"  # what a confirmation counts
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)  # by id of a belief


def strength(belief: beliefs.Belief, at: datetime) -> float:
    """Return how sure the entity is of a belief at a time: confidence halves toward a floor."""
    above = belief.confidence - FLOOR
    if above <= 0:
        return belief.confidence
    days = max(0.0, (at - belief.reinforced).total_seconds() / _DAY_SECONDS)
    return float(FLOOR + above * 0.5 ** (days / HALF_LIFE_DAYS[belief.category]))


def confirmed(confidence: float, by: str) -> float:
    """Return a confidence after a confirmation; it nears 1 and never reaches it."""
    return 1 - (1 - confidence) * (1 - CONFIRMS[by])


def plan_confirm(
    belief: beliefs.Belief,
    by: str,
    at: datetime,
    *,
    evidence: tuple[str, ...] = (),
) -> Change | None:
    """Plan to confirm a belief, and to take it up again if it was put away.

    It grows from what is left of it today: a belief that faded for years is not as firm as ever
    because of one remark. What rests on nothing new confirms nothing.
    """
    if evidence and not set(evidence) - set(belief.evidence):
        return None
    return beliefs.plan_update(
        belief,
        f"confirmed by the {by}" if by == "user" else f"confirmed ({by})",
        confidence=confirmed(strength(belief, at), by),
        at=at,
        evidence=evidence,
        archived=False,
    )


def plan_contradict(belief: beliefs.Belief, other: str | None, at: datetime) -> Change | None:
    """Plan to weaken a belief, and to name the one that speaks against it."""
    return beliefs.plan_update(
        belief,
        f"contradicted by {other}" if other else "contradicted",
        confidence=strength(belief, at) * CONTRADICT_FACTOR,
        at=at,
        contradicts=(other,) if other else (),
    )


def archive_check(held: Iterable[beliefs.Belief], at: datetime) -> list[Change]:
    """Plan to put away the beliefs of which next to nothing is left; for consolidation.

    What a person wrote goes by no age: its date may be of what it tells. Twice at the same time
    plans nothing the second time; `belief confirm` brings one back.
    """
    left = (
        (one, one.confidence if provenance.is_by_hand(one.provenance) else strength(one, at))
        for one in held
    )
    planned = [
        beliefs.plan_update(belief, "faded: put away", archived=True)
        for belief, confidence in left
        if not belief.archived and confidence < ARCHIVE_BELOW
    ]
    return [change for change in planned if change is not None]


def superseded(belief: beliefs.Belief, held: Mapping[str, beliefs.Belief], at: datetime) -> bool:
    """Whether a newer belief that is firmer today contradicts this one."""
    return any(
        other.formed > belief.formed
        and not other.archived
        and strength(other, at) > strength(belief, at)
        for other in (held[name] for name in belief.contradicts if name in held)
    )


def plan_claims(runtime: Runtime, claims: Sequence[Claim], at: datetime) -> list[Change]:
    """Plan what claims do to what is held, as the files are now: one change a file.

    A claim confirms the beliefs that it was judged the same as, or whose text it repeats, unless
    it is trusted less than they are; else it is new. The beliefs it contradicts are weakened and
    linked; where they are another person's, or the claim is no newer word of the same people, it
    is weakened as well.
    """
    book = _Book(list(beliefs.BELIEF.readable(runtime.entity.beliefs)), at)
    for claim in claims:
        book.take(claim)
    return book.changes()


class _Book:
    """What is held, while several claims change it one after another."""

    def __init__(self, held: Sequence[beliefs.Belief], at: datetime) -> None:
        self.at = at
        self.before = {belief.id: belief for belief in held}
        self.now = dict(self.before)
        self.why: dict[str, str] = {}

    def take(self, claim: Claim) -> None:
        same = self._same(claim)
        if same is not None:
            # a dream, or a window that cites the entity too, makes nobody's word any firmer
            if not base.is_lower(claim.provenance.trust, same.provenance.trust):
                self._put(same, plan_confirm(same, claim.by, self.at, evidence=claim.evidence))
            name = same.id
        elif claim.id in self.now:
            return
        else:
            new = beliefs.new(
                claim.id,
                claim.text,
                claim.category,
                claim.confidence,
                self.at,
                origin=claim.origin,
                evidence=claim.evidence,
                provenance=claim.provenance,
            )
            self._put(None, beliefs.BELIEF.plan_new(new, "believe something new"))
            name = claim.id
        for other, verdict in claim.verdicts.items():
            if verdict == "contradicts" and other in self.now and other != name:
                self._contradict(name, self.now[other], claim)

    def _same(self, claim: Claim) -> beliefs.Belief | None:
        # what was dreamt is not confirmed by being told, nor the other way round
        is_dreamt = claim.category == beliefs.DREAM_INSIGHT
        judged = [
            self.now[name]
            for name, verdict in claim.verdicts.items()
            if verdict == "same"
            and name in self.now
            and is_dreamt == (self.now[name].category == beliefs.DREAM_INSIGHT)
        ]
        alike = [belief for belief in self.now.values() if repeats(claim, belief)]
        return next(iter([*alike, *judged]), None)

    def _contradict(self, name: str, other: beliefs.Belief, claim: Claim) -> None:
        if name in other.contradicts:  # known already
            return
        belief = self.now[name]
        self._put(other, plan_contradict(other, name, self.at))
        # whether it comes from the people the belief came from, or the belief from the owner
        told = other.provenance.audience
        is_theirs = not told or not {*told}.isdisjoint(claim.provenance.audience)
        if claim.category == CORRECTION or is_theirs:
            linked = beliefs.plan_update(belief, f"corrects {other.id}", contradicts=(other.id,))
        else:
            linked = plan_contradict(belief, other.id, self.at)
        self._put(belief, linked)

    def _put(self, old: beliefs.Belief | None, change: Change | None) -> None:
        if change is None or change.data is None:
            return
        made = beliefs.BELIEF.parse(change.data.decode(), PurePosixPath(change.path).stem)
        name = made.id
        self.now[name] = made
        self.why[name] = change.why if old is None else self.why.get(name, change.why)

    def changes(self) -> list[Change]:
        planned = (
            beliefs.BELIEF.plan_new(belief, self.why[name])
            if (old := self.before.get(name)) is None
            else base.plan_edit(
                beliefs.BELIEF.place(belief), old.source, belief.source, self.why.get(name, "")
            )
            for name, belief in self.now.items()
        )
        return [change for change in planned if change is not None]


def repeats(claim: Claim, belief: beliefs.Belief) -> bool:
    """Whether a claim says word for word what a belief of its category says, to the same people."""
    return (
        belief.category == claim.category
        and disk.same_name(_bare(belief.text)) == disk.same_name(_bare(claim.text))
        and is_open(belief.audience, claim.provenance.audience)
    )


def _bare(text: str) -> str:
    return one_line(text).rstrip(".!")
