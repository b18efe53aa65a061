"""Belief files: one claim each, with confidence, category and evidence.

Layout: `beliefs/<id>.md`; the claim is the body. Confidence is stored as of `reinforced`; how much
of it is left today is computed on reading, elsewhere. Knows nothing of models or matching.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar

from bumble.entity.changes import Change
from bumble.records import base, fields, kind
from bumble.text import markdown, words

DREAM_INSIGHT, WORLD_FACT = "dream_insight", "world_fact"
CATEGORIES = ("preference", "correction", WORLD_FACT, "self_insight", DREAM_INSIGHT)
ORIGINS = ("conversation", "observation", "inference", "dream")  # a dream's is `dream:<id>`
MAX_CONFIDENCE, UNSAID = 0.99, 0.5  # never quite certain; where nothing says how sure


def _origin(meta: Mapping[str, Any], key: str) -> str:
    origin = base.field(meta, key, str, "conversation")
    if origin.split(":")[0] not in ORIGINS:
        raise ValueError(f"`{key}` should be one of {', '.join(ORIGINS)}, not `{origin}`")
    return origin


def _is_archived(meta: Mapping[str, Any], key: str) -> bool:
    return fields.one_of(("active", "archived"), "active")(meta, key) == "archived"


def _marked(what: str) -> Callable[[Any, Any], Sequence[str]]:
    """Have a log say what came to a list, and what went."""

    def said(was: Sequence[str], now: Sequence[str]) -> Sequence[str]:
        marks = [f"+{one}" for one in now if one not in was]
        marks += [f"-{one}" for one in was if one not in now]
        return [f": {what} {' '.join(marks)}"] if marks else []

    return said


class Belief(kind.Record, frozen=True, kw_only=True):
    """One claim."""

    ABOUT: ClassVar[kind.About] = kind.About(
        unsaid="there is no claim below the front matter",
        headline="belief {0.id} ({0.category}, {0.confidence:.2f})",
        changed="belief {0.id} {0.called}",
        retold="belief {0.id} says",
        when="formed",
        found="evidence",
    )

    text: Annotated[str, fields.BODY]  # the claim, Markdown
    category: Annotated[str, fields.Key(read=fields.one_of(CATEGORIES, WORLD_FACT))]
    confidence: Annotated[
        float,
        fields.Key(read=fields.unit(UNSAID), said=fields.told(": confidence {0:.2f} -> {1:.2f}")),
    ]  # in [0, 1), as of `reinforced`
    formed: Annotated[datetime, fields.EARLIER]
    # when it was last confirmed or weakened; `formed` until then
    reinforced: Annotated[datetime, fields.LATER]
    evidence: Annotated[
        tuple[str, ...], fields.Key(merge=fields.joined, said=_marked("evidence"))
    ]  # ids of messages, episodes or dreams
    # one of ORIGINS, `dream:<id>` for a dream's
    origin: Annotated[str, fields.Key("source", read=_origin)]
    contradicts: Annotated[
        tuple[str, ...], fields.Key(merge=fields.joined, said=_marked("contradicts"))
    ]  # ids of beliefs
    archived: Annotated[
        bool,
        fields.Key(
            "status",
            read=_is_archived,
            said=lambda _, now: [": archived" if now else ": active again"],
        ),
    ]  # out of recall and prompts

    @classmethod
    def drawn(cls, document: markdown.Document, record_id: str) -> Mapping[str, Any]:
        """Read when it was formed: a companion that is lost takes the time with it."""
        meta = document.meta
        formed = base.time_of(record_id) if meta.get("formed") is None else None
        formed = formed or base.field(meta, "formed", datetime)
        return {"formed": formed, "reinforced": base.field(meta, "reinforced", datetime, formed)}

    @classmethod
    def merged(
        cls, base: fields.Values, current: fields.Values, incoming: fields.Values
    ) -> dict[str, Any]:
        """Join what is known of a claim: evidence joins, and confidence rests on all of it."""
        merged = super().merged(base, current, incoming)
        last = fields.newer(current, incoming, "reinforced", "formed")
        if "confidence" in merged:
            merged["confidence"] = _joined_confidence(base, current, incoming, last)
        if last.get("reinforced") != base.get("reinforced") and "status" not in last:
            merged.pop("status", None)  # put away on one side, and confirmed later on the other
        return merged

    @property
    def rests_on(self) -> tuple[str, ...]:
        dream = self.origin.removeprefix("dream:") if self.origin.startswith("dream:") else ""
        return (*self.evidence, *self.provenance.sources, dream)

    @property
    def filed_as(self) -> str:
        """Its claim; one that is only dreamt says so, to whoever looks through the folder."""
        return f"dreamt {self.text}" if self.category == DREAM_INSIGHT else self.text

    @property
    def called(self) -> str:
        """Its first words, in quotes."""
        return f'"{words.shorten(self.text, 60)}"'


def _joined_confidence(
    base: fields.Values, current: fields.Values, incoming: fields.Values, last: fields.Values
) -> Any:
    """Return how sure both sides together are: what either found counts, once."""
    sides = [side.get("confidence", fields.ABSENT) for side in (base, current, incoming)]
    alone = fields.unchanged(*sides)
    if alone is not fields.BOTH:
        return alone
    if not all(isinstance(side, int | float) for side in sides):
        return last.get("confidence", fields.ABSENT)
    start, one, other = sides
    added = [_added_evidence(base, side) for side in (current, incoming)]
    same = one == other and not (added[0] or added[1])  # evidence stands beside
    if same or (added[0] and added[0] == added[1]):
        return one if abs(one - start) >= abs(other - start) else other  # one finding, not two
    return _combined_confidence(start, one, other)


def _combined_confidence(c0: float, c1: float, c2: float) -> float:
    """Let what either side found count.

    What confirms takes its share of the doubt that is left, what contradicts its share of the
    confidence.
    """
    doubt, left = 1.0 - c0, 1.0
    for side in (c1, c2):
        if side >= c0:
            doubt *= (1 - side) / (1 - c0) if c0 < 1 else 1
        else:
            left *= side / c0
    return round(min(max((1 - doubt) * left, 0.0), MAX_CONFIDENCE), 4)


def _added_evidence(base: fields.Values, side: fields.Values) -> set[str]:
    """Return the evidence, for and against, that a side has added; a hand may write no list."""
    before, after = (
        {
            str(one)
            for listed in (values.get("evidence"), values.get("contradicts"))
            if isinstance(listed, list)
            for one in listed
        }
        for values in (base, side)
    )
    return after - before


BELIEF = kind.RecordKind(
    name="belief",
    singular="belief",
    plural="beliefs",
    key="beliefs",
    patterns=("beliefs/*.md",),
    record=Belief,
    forgetting="file",
    merging="bumble",
    prefix="bel",
    passages="belief",
    unasked=True,
    claims=True,
    explained=True,
    counted=True,
    page=True,
    edit="bumble belief edit",
)


def new(
    belief_id: str,
    text: str,
    category: str,
    confidence: float,
    formed: datetime,
    *,
    origin: str = "conversation",
    evidence: tuple[str, ...] = (),
    contradicts: tuple[str, ...] = (),
    provenance: base.Provenance | None = None,
) -> Belief:
    """Make a belief that is not in the folder yet; `plan_new` puts it there.

    Raises:
        ValueError: If the category or origin is unknown, or the text is empty.
    """
    return BELIEF.new(
        belief_id,
        text,
        provenance,
        category=category,
        confidence=_stored(confidence),
        formed=formed,
        source=origin,
        evidence=evidence,
        contradicts=contradicts,
    )


def _stored(confidence: float) -> float:
    return round(min(max(confidence, 0.0), MAX_CONFIDENCE), 4)


def plan_update(
    belief: Belief,
    why: str,
    *,
    confidence: float | None = None,
    at: datetime | None = None,
    evidence: tuple[str, ...] = (),
    contradicts: tuple[str, ...] = (),
    archived: bool | None = None,
) -> Change | None:
    """Plan to reinforce, weaken, link or archive a belief.

    Args:
        belief: As it was read.
        why: For the change set.
        confidence: The new confidence, which holds as of `at`.
        at: When it was confirmed or weakened.
        evidence: Ids to add to those that are there.
        contradicts: Ids of beliefs to add to those that are there.
        archived: Whether it is to be out of recall and prompts.
    """
    values: dict[str, Any] = {}
    if confidence is not None:
        values["confidence"] = _stored(confidence)
    if at is not None:
        values["reinforced"] = at
    for key, there, more in (
        ("evidence", belief.evidence, evidence),
        ("contradicts", belief.contradicts, contradicts),
    ):
        if set(more) - set(there):
            values[key] = tuple(dict.fromkeys((*there, *more)))
    if archived is not None and archived != belief.archived:
        values["status"] = "archived" if archived else None
    return BELIEF.plan_edit(belief, values, why)


def plan_unlinked(belief: Belief, other_id: str) -> Change | None:
    """Plan to take out the link to a belief that goes."""
    left = tuple(linked_id for linked_id in belief.contradicts if linked_id != other_id)
    return BELIEF.plan_edit(belief, {"contradicts": left or None}, f"{other_id} is gone")
