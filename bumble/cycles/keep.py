"""Keeping: what was drawn from a window goes to knowledge, people, beliefs and the journal.

Planned on the files as they are, one change a file. What may not be written is refused with a
reason, and the rest is written all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bumble import stopwords
from bumble.cycles import beliefs, evidence
from bumble.cycles.beliefs import Claim
from bumble.cycles.extract import SELF_INSIGHT, Item
from bumble.cycles.life import Life
from bumble.cycles.window import Window
from bumble.entity import changes
from bumble.entity.changes import Change
from bumble.errors import UserError
from bumble.stores import beliefs as held
from bumble.stores import journal, knowledge, records, relationships
from bumble.stores.knowledge import Knowledge, Section
from bumble.stores.records import Provenance
from bumble.stores.relationships import Note, Relationship, Scores

BY = "distill"
TAG = "distillation"
SAME_SHARE = 0.5  # of the telling words of the shorter sentence: both speak of one thing


@dataclass(frozen=True)
class Keeping:
    """What of a window is to be kept."""

    at: datetime | None = None
    items: tuple[Item, ...] = ()  # facts and notes
    claims: tuple[Claim, ...] = ()
    diary: str = ""


def claim(life: Life, seen: Window, item: Item, at: datetime) -> Claim:
    """Make a claim of an item."""
    return Claim(
        id=records.new_id(held.PREFIX, at, life.rng),
        text=item.text,
        category=item.category,
        confidence=item.confidence,
        evidence=seen.ids(item.cited),
        origin="inference" if item.category == SELF_INSIGHT else "conversation",
        provenance=_provenance(life, seen, item.cited),
        # a correction is the person's own word on it; else it is a model's reading of what was said
        by="user" if item.category == beliefs.CORRECTION else "extracted",
    )


def _provenance(life: Life, seen: Window, cited: Sequence[int]) -> Provenance:
    return Provenance(
        by=BY,
        model=life.model.name,
        sources=(seen.session, *seen.ids(cited)),
        trust=seen.trust(cited),
        audience=seen.people,
    )


def plan(life: Life, seen: Window, keeping: Keeping, refused: list[str]) -> list[Change | None]:
    """Plan to keep it, on the files as they are now; what is refused is added to a list."""
    if keeping.at is None:
        return []
    facts = [one for one in keeping.items if one.kind == "knowledge"]
    notes = [one for one in keeping.items if one.kind == "relational"]
    planned: list[Change | None] = [_plan_facts(life, seen, facts, refused)]
    planned += _plan_notes(life, seen, notes, keeping.at)
    planned += beliefs.plan_claims(life, keeping.claims, keeping.at)
    if keeping.diary:
        origin = _provenance(life, seen, seen.numbers)
        planned.append(
            journal.plan_add(
                keeping.at, keeping.diary, life.zone, "what stays", tags=(TAG,), provenance=origin
            )
        )
    return planned


def _plan_facts(
    life: Life, seen: Window, facts: Sequence[Item], refused: list[str]
) -> Change | None:
    before = knowledge.read(life.entity.knowledge)
    book, last = before, None
    for item in facts:
        there = knowledge.find(book, item.title)
        try:
            _may_correct(seen, item, there)
            change = knowledge.plan_set(
                book,
                item.title,
                corrected(there.text, item.text) if there else item.text,
                f"know about {item.title}",
                by_entity=True,
                provenance=_joined(_provenance(life, seen, item.cited), there),
            )
        except UserError as error:
            refused.append(f"{item.title}: {str(error).splitlines()[0]}")
            continue
        if change is not None and change.data is not None:
            book, last = knowledge.parse(change.data.decode()), change
    return _whole(before, last)


def _whole(before: Knowledge, last: Change | None) -> Change | None:
    """Make one change of several to one file: the last, on what was read first."""
    if last is None or last.data is None:
        return None
    keeps = before.source is not None
    first = changes.write(last.path, last.data.decode(), before.source, last.why)
    return Change(first.path, first.why, first.data, first.read, keeps=keeps)


def _may_correct(seen: Window, item: Item, there: Section | None) -> None:
    """Refuse to let somebody change what others were told, or a guest what the owner wrote.

    Raises:
        UserError: If so.
    """
    if there is None:
        return
    audience = there.provenance.audience
    if audience and not set(seen.people) <= set(audience):
        raise UserError("a section of that title belongs to a talk with others")
    own = [n for n in item.cited if seen.is_persons(n)]
    said, written = seen.trust(own), there.provenance.trust or "owner"
    if written == "owner" and said not in ("owner", ""):
        raise UserError("the owner's word stands there")


def _joined(new: Provenance, there: Section | None) -> Provenance:
    """Return where a corrected section comes from: what stays in it keeps its evidence."""
    if there is None or not there.provenance.sources:
        return new
    old = there.provenance
    sources = tuple(dict.fromkeys((*old.sources, *new.sources)))
    trust = records.lowest_trust((old.trust, new.trust))
    return Provenance(new.by, new.model, sources, trust, old.audience and new.audience)


def corrected(old: str, new: str) -> str:
    """Return a section's text with a correction: what speaks of the same thing gives way to it.

    Sentences that the new text says nothing about stay, so that one remark does not wipe out all
    that was known.
    """
    fresh = evidence.sentences(new)
    kept = [one for one in evidence.sentences(old) if not any(_same_thing(one, n) for n in fresh)]
    return new if not kept else "\n".join((" ".join(kept), new))


def _same_thing(one: str, other: str) -> bool:
    words, others = set(stopwords.telling_words(one)), set(stopwords.telling_words(other))
    least = min(len(words), len(others))
    return least == 0 or len(words & others) >= SAME_SHARE * least


def _plan_notes(
    life: Life, seen: Window, notes: Sequence[Item], at: datetime
) -> list[Change | None]:
    planned: list[Change | None] = []
    people = list(relationships.read(life.entity.relationships))
    for name in dict.fromkeys(one.person for one in notes):
        theirs = [one for one in notes if one.person == name]
        file = relationships.match(people, name)
        origin = Provenance(by=BY, sources=(seen.session,), audience=seen.people)
        person = file or relationships.new(name, at, provenance=origin)
        pending = [Note(one.text, at, _provenance(life, seen, one.cited)) for one in theirs]
        change = relationships.plan_update(
            person,
            f"notes on {name}",
            pending=_with_new(person, pending),
            scores=None if life.config.memory.relational.enabled else _moved(life, person, theirs),
        )
        if change is not None and file is None:
            change = Change(change.path, f"meet {name}", change.data)
        planned.append(change)
    return planned


def _with_new(person: Relationship, notes: Sequence[Note]) -> tuple[Note, ...]:
    known = {one.text.casefold() for one in person.pending}
    return (*person.pending, *(one for one in notes if one.text.casefold() not in known))


def _moved(life: Life, person: Relationship, notes: Sequence[Item]) -> Scores:
    """Return the scores after what the notes ask for; one window never moves them further."""
    limit = life.config.memory.distillation.max_delta
    warmth = min(max(sum(one.warmth for one in notes), -limit), limit)
    trust = min(max(sum(one.trust for one in notes), -limit), limit)
    start = life.config.memory.relational.scalar
    new = Scores(warmth=start.initial_warmth, trust=start.initial_trust)
    old = person.scores if person.scores != Scores() else new
    return Scores(
        old.familiarity,
        min(max(old.warmth + warmth, 0.0), 1.0),
        min(max(old.trust + trust, 0.0), 1.0),
        old.tension,
        old.investment,
    )
