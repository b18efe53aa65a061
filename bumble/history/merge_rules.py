"""What merging means for each kind of record: beliefs, people, reminders, automations, state.

The body as it was later, beliefs with the evidence of both sides, people with what both counted.
Knows nothing of how the values stand in their files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bumble.body import affects as feelings
from bumble.body import fields, noise
from bumble.history.merge_values import (
    ABSENT,
    BOTH,
    ORIGIN,
    Clash,
    Rule,
    by_kind,
    counted,
    earlier,
    greater,
    joined,
    later,
    mapping,
    moment,
    moved,
    nested,
    plain,
    unchanged,
)
from bumble.records import beliefs, projects, relationships

Values = Mapping[str, Any]


def soma(base: Values, current: Values, incoming: Values) -> dict[str, Any]:
    """Merge two bodies: what was true later stands, feelings and thoughts of both are held."""
    rules: dict[str, Rule] = {
        "bars": _later_whole,
        "hormones": _later_whole,
        "felt": _later_whole,
        "impulses": nested({}, later),
        "affects": _affects,
        "noise": _noise,
    }
    return mapping(base, current, incoming, rules)


def _later_whole(base: Any, current: Any, incoming: Any) -> Any:
    """Take the mapping whose `at` is later."""
    if ABSENT in (current, incoming) or None in (current, incoming):
        return incoming if current is ABSENT or current is None else current
    at = [
        moment(side.get("at")) if isinstance(side, Mapping) else None
        for side in (current, incoming)
    ]
    if at[0] is None or at[1] is None:
        raise Clash
    if at[0] == at[1]:
        return max(current, incoming, key=repr)
    return current if at[0] > at[1] else incoming


def _affects(base: Any, current: Any, incoming: Any) -> Any:
    """Hold each feeling once, as it was later; one that has faded on a side is gone."""
    sides = [
        {
            affect["name"]: affect
            for affect in fields.items(side or [], "affects")
            if isinstance(affect, dict)
        }
        for side in (base, current, incoming)
    ]
    names = dict.fromkeys((*sides[1], *sides[2]))
    affects = []
    for name in names:
        values = [side.get(name, ABSENT) for side in sides]
        affect = unchanged(*values)
        affect = _later_whole(*values) if affect is BOTH else affect
        affects += [affect] if affect is not ABSENT else []
    affects.sort(key=lambda affect: (-float(affect["intensity"]), affect["name"]))
    return affects[: max(feelings.MOST, len(sides[1]), len(sides[2]))]


def _noise(base: Any, current: Any, incoming: Any) -> Any:
    """Merge the noise; a body that had no thought yet has an empty one."""
    sides = [{} if side in (ABSENT, None) else side for side in (base, current, incoming)]
    return nested({"ticked_at": later, "fragments": _fragments})(*sides)


def _fragments(base: Any, current: Any, incoming: Any) -> Any:
    """Hold the thoughts of both sides in one ring, near doubles once."""
    together = joined(base, current, incoming)
    together = [] if together is ABSENT else sorted(together, key=_thought_at)
    room = max(noise.CAPACITY, len(current or []), len(incoming or []))
    ring: tuple[noise.Fragment, ...] = ()
    held: dict[noise.Fragment, Any] = {}
    for fragment in together:
        at = fields.moment(fragment["at"], "noise.at")
        thought = noise.Fragment(
            fragment["text"], fragment["kind"], float(fragment["salience"]), at
        )
        ring = noise.push(ring, thought, room)
        held[thought] = fragment
    return [held[thought] for thought in ring]


def _thought_at(fragment: Any) -> tuple[Any, str]:
    return fields.moment(fields.entry(fragment, "at", "noise"), "noise.at"), str(fragment)


def state(base: Values, current: Values, incoming: Values) -> dict[str, Any]:
    """Merge where the cycles stand: cursors that moved on, later times, counts added up."""
    rules: dict[str, Rule] = {
        "sessions": nested({}, moved),
        "consolidate": _consolidation,
        "dream": _dream_count,
        "wake": nested({"recent": _wakes, "reason": _either}),
        "review": _review,
    }
    return mapping(base, current, incoming, rules, by_kind)


def _review(base: Any, current: Any, incoming: Any) -> Any:
    """Merge what waits for review: what either side has decided no longer does."""
    merged = mapping(base, current, incoming, {"waiting": _dated, "dealt": _dated})
    return {key: value for key, value in merged.items() if value} or ABSENT


def _dated(base: Any, current: Any, incoming: Any) -> Any:
    """Merge names that have a time each: what either side took out is gone."""
    return mapping(base, current, incoming, {}, otherwise=later)


def _consolidation(base: Any, current: Any, incoming: Any) -> Any:
    """Merge when memory was last put in order; what there was to see goes with the later time."""
    if not (isinstance(current, Mapping) and isinstance(incoming, Mapping)):
        return by_kind(base, current, incoming)
    last = _newer(current, incoming, "at")
    rules: dict[str, Rule] = {"seen": lambda *_: last.get("seen", ABSENT), "vain": _dated}
    return mapping(base, current, incoming, rules, by_kind)


def _dream_count(base: Any, current: Any, incoming: Any) -> Any:
    """Merge the count of dreams: those of one day add up, of two days the later one counts."""
    if not (isinstance(current, Mapping) and isinstance(incoming, Mapping)):
        return by_kind(base, current, incoming)
    sides = [side if isinstance(side, Mapping) else {} for side in (base, current, incoming)]
    day = max(str(side.get("day", "")) for side in sides[1:])
    merged = mapping(base, current, incoming, {"day": lambda *_: day, "count": counted}, by_kind)
    counts = [side.get("count", 0) if side.get("day") == day else 0 for side in sides]
    return {**merged, "count": counted(*counts)} if "count" in merged else merged


def _wakes(base: Any, current: Any, incoming: Any) -> Any:
    """Hold the wakes of both sides, each of which begins with its time; the next one trims them."""
    sides = [side if isinstance(side, list) else [] for side in (current, incoming)]
    return sorted({str(wake) for side in sides for wake in side}) or ABSENT


def _either(base: Any, current: Any, incoming: Any) -> Any:
    """Take what either says of why it last stayed asleep: the next decision tells it anew."""
    texts = [str(side) for side in (current, incoming) if side is not ABSENT and side is not None]
    return max(texts, default=ABSENT)


def belief(base: Values, current: Values, incoming: Values) -> dict[str, Any]:
    """Merge what is known of a claim: evidence joins, and confidence rests on all of it."""
    last = _newer(current, incoming, "reinforced", "formed")
    added_evidence = [_added_evidence(base, side) for side in (current, incoming)]

    def confidence(c0: Any, c1: Any, c2: Any) -> Any:
        if not all(isinstance(confidence, int | float) for confidence in (c0, c1, c2)):
            return last.get("confidence", ABSENT)
        same = c1 == c2 and not (added_evidence[0] or added_evidence[1])  # evidence stands beside
        if same or (added_evidence[0] and added_evidence[0] == added_evidence[1]):
            return c1 if abs(c1 - c0) >= abs(c2 - c0) else c2  # one finding, not two
        return _combined_confidence(c0, c1, c2)

    rules: dict[str, Rule] = {
        **ORIGIN,
        "evidence": joined,
        "contradicts": joined,
        "formed": earlier,
        "reinforced": later,
        "confidence": confidence,
    }
    merged = mapping(base, current, incoming, rules)
    if last.get("reinforced") != base.get("reinforced") and "status" not in last:
        merged.pop("status", None)  # put away on one side, and confirmed later on the other
    return merged


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
    return round(min(max((1 - doubt) * left, 0.0), beliefs.MAX_CONFIDENCE), 4)


def _added_evidence(base: Values, side: Values) -> set[str]:
    """Return the evidence, for and against, that a side has added."""
    before, after = (
        {
            str(record_id)
            for key in ("evidence", "contradicts")
            for record_id in values.get(key) or ()
        }
        for values in (base, side)
    )
    return after - before


def person(base: Values, current: Values, incoming: Values) -> dict[str, Any]:
    """Merge what is known of a person: counters add up, notes of both wait."""
    last = _newer(current, incoming, "last_reflection")
    reflected = last.get("last_reflection") is not None

    def by_reflection(key: str, otherwise: Rule) -> Rule:
        def rule(base: Any, current: Any, incoming: Any) -> Any:
            return last.get(key, ABSENT) if reflected else otherwise(base, current, incoming)

        return rule

    rules: dict[str, Rule] = {
        **ORIGIN,
        "names": joined,
        "topics": joined,
        "unresolved": joined,
        "pending": _pending,
        "lines": nested({}, nested(ORIGIN)),
        "interaction_count": counted,
        "reviewed_at_count": greater,
        "first_met": earlier,
        "last_interaction": later,
        "last_reflection": later,
        "last_scored": later,
        "portrait_source": by_reflection("portrait_source", plain),
        "previous_health": by_reflection("previous_health", plain),
        "scores": by_reflection("scores", nested({}, _score)),
        "dynamic": by_reflection("dynamic", plain),
    }
    return mapping(base, current, incoming, rules)


def _pending(base: Any, current: Any, incoming: Any) -> Any:
    together = joined(base, current, incoming)
    if together is ABSENT:
        return ABSENT
    by_time = sorted(
        together, key=lambda note: str(note.get("at")) if isinstance(note, dict) else ""
    )
    return by_time[-relationships.MAX_PENDING :]


def _score(base: Any, current: Any, incoming: Any) -> Any:
    """Let both sides move a score."""
    values = [0 if value is ABSENT else value for value in (base, current, incoming)]
    if not all(isinstance(value, int | float) for value in values):
        raise Clash
    return round(min(max(values[1] + values[2] - values[0], 0.0), 1.0), 4)


def record(base: Values, current: Values, incoming: Values) -> dict[str, Any]:
    """Merge the front matter of an episode or a dream."""
    rules: dict[str, Rule] = {**ORIGIN, "people": joined, "imprints": joined, "tags": joined}
    return mapping(base, current, incoming, rules)


def reminder(base: Values, current: Values, incoming: Values) -> dict[str, Any]:
    """Merge a reminder: said on either side it was said, put off to later than that it is not."""
    rules: dict[str, Rule] = {**ORIGIN, "at": later, "delivered": later}
    merged = mapping(base, current, incoming, rules)
    due, delivered = moment(merged.get("at")), moment(merged.get("delivered"))
    if due and delivered and due > delivered:
        merged.pop("done", None)
    return merged


def automation(base: Values, current: Values, incoming: Values) -> dict[str, Any]:
    """Merge an automation: it ran when it ran last, and failed as often as it had by then."""
    last = _newer(current, incoming, "last")
    rules: dict[str, Rule] = {
        **ORIGIN,
        "last": later,
        "failures": lambda *_: last.get("failures", ABSENT),
    }
    return mapping(base, current, incoming, rules)


def anchor(base: Values, current: Values, incoming: Values) -> dict[str, Any]:
    """Merge an anchor: recalls of both sides count, and it was recalled when it was last."""
    rules: dict[str, Rule] = {
        **ORIGIN,
        "hormones": lambda *_: _newer(current, incoming, "at").get("hormones", ABSENT),
        "at": later,
        "strength": greater,
        "recalled": counted,
        "last_recalled": later,
        "stirred": later,
    }
    return mapping(base, current, incoming, rules)


def project(base: Values, current: Values, incoming: Values) -> dict[str, Any]:
    """Merge a project: people, tags and steps of both; done on either side it is done."""

    def status(_: Any, current: Any, incoming: Any) -> Any:
        order = (projects.ACTIVE, projects.PAUSED, projects.DONE)
        sides = [projects.ACTIVE if side is ABSENT else side for side in (current, incoming)]
        if not all(side in order for side in sides):
            raise Clash
        return max(sides, key=order.index)

    rules: dict[str, Rule] = {
        **ORIGIN,
        "status": status,
        "next": joined,
        "people": joined,
        "tags": joined,
    }
    return mapping(base, current, incoming, rules)


def proposal(base: Values, current: Values, incoming: Values) -> dict[str, Any]:
    """Merge a proposal: what was decided later stands."""
    last = _newer(current, incoming, "decided")
    rules: dict[str, Rule] = {
        **ORIGIN,
        "status": lambda *_: last.get("status", ABSENT),
        "decided": later,
    }
    return mapping(base, current, incoming, rules)


def self_model(base: Values, current: Values, incoming: Values) -> dict[str, Any]:
    """Merge how tools served: uses of both sides add up."""
    return mapping(base, current, incoming, {}, by_kind)


def origin(base: Values, current: Values, incoming: Values) -> dict[str, Any]:
    """Merge where a text comes from, and what else a front matter of no kind of its own holds."""
    return mapping(base, current, incoming, ORIGIN)


def parts(base: Values, current: Values, incoming: Values) -> dict[str, Any]:
    """Merge where the parts of a file come from."""
    return mapping(base, current, incoming, {}, nested(ORIGIN))


def _newer(current: Values, incoming: Values, *keys: str) -> Values:
    """Return the side whose time is later; which side is whose makes no difference."""
    ranks = []
    for side in (current, incoming):
        times = (moment(side.get(key)) for key in keys)
        at = next((time for time in times if time is not None), None)
        ranks.append((at is not None, at.timestamp() if at else 0.0, repr(sorted(side.items()))))
    return current if ranks[0] >= ranks[1] else incoming
