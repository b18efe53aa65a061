"""Where extracted items are stored: knowledge, people, beliefs, the journal; corrections.

Planned on the files as they are, one change a file. What may not be written is refused with a
reason, and the rest is written all the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct

from bumble.entity import changes
from bumble.entity.changes import Change
from bumble.errors import UserError
from bumble.jobs.scene import Window
from bumble.recall import belief_strength
from bumble.recall.belief_strength import Claim, Verdict
from bumble.records import base, journal, knowledge, relationships
from bumble.records import beliefs as held
from bumble.records.base import Provenance
from bumble.records.knowledge import Knowledge, KnowledgeSection
from bumble.records.provenance import BY_FORM
from bumble.records.relationships import PendingNote
from bumble.runtime import people
from bumble.runtime.job import JobPlan
from bumble.runtime.runtime import Runtime
from bumble.text import words

Kind = Literal["knowledge", "relational", "belief"]

BY = "distill"
CATEGORIES = tuple(each for each in held.CATEGORIES if each != held.DREAM_INSIGHT)
INFERENCE = "inference"
TAG = "distillation"
SAME_SHARE = 0.5  # of the telling words of the shorter sentence: both speak of one thing


class ExtractedItem(Struct, frozen=True):
    """One fact, belief or note that a model found in a window."""

    kind: Kind
    text: str
    cited: tuple[int, ...]  # numbers of messages
    title: str = ""  # of knowledge
    category: str = ""  # of a belief
    confidence: float = 0.0  # of a belief
    person: str = ""  # whom a note is about, by name
    inference: bool = False  # whether it says more than the messages do
    replaces: tuple[str, ...] = ()  # sentences of knowledge that are no longer true
    verdicts: Mapping[str, Verdict] = {}  # of a belief: on those held, by id
    quoted: bool = False  # whether it is words that were said, and no model's
    puts_right: str = ""  # id of the message that a quoted correction takes the place of


def claim(runtime: Runtime, window: Window, item: ExtractedItem, at: datetime) -> Claim:
    return Claim(
        id=base.new_id(held.PREFIX, at, runtime.rng),
        text=item.text,
        category=item.category,
        confidence=item.confidence,
        evidence=window.ids(item.cited),
        # how the entity came by it: told of it, or as one who looks on
        origin=INFERENCE if item.inference else "observation" if window.is_read else "conversation",
        provenance=_provenance(runtime, window, item.cited, item),
        # a correction is the person's own word on it; else it is a model's reading of what was said
        by="user" if item.category == belief_strength.CORRECTION else "extracted",
        verdicts=item.verdicts,
    )


def _provenance(
    runtime: Runtime, window: Window, cited: Sequence[int], item: ExtractedItem | None = None
) -> Provenance:
    is_quoted = item is not None and item.quoted
    older = (item.puts_right,) if item is not None and item.puts_right else ()
    return Provenance(
        by=f"{BY} {BY_FORM}" if is_quoted else BY,
        model="" if is_quoted else runtime.model.name,
        sources=(window.session, *window.ids(cited), *older),
        trust=window.trust(cited),
        audience=window.people,
    )


def plan(
    runtime: Runtime,
    window: Window,
    items: Sequence[ExtractedItem],
    claims: Sequence[Claim],
    diary: str,
    at: datetime,
) -> JobPlan:
    """Plan to store what a window left, with the reasons for what may not be stored."""
    facts = [item for item in items if item.kind == "knowledge"]
    section, refused = _plan_facts(runtime, window, facts) if facts else (None, ())
    planned: list[Change | None] = [section]
    planned += _plan_notes(runtime, window, [one for one in items if one.kind == "relational"], at)
    planned += belief_strength.plan_claims(runtime, claims, at) if claims else []
    if diary:
        origin, why = _provenance(runtime, window, window.numbers), "what stays"
        planned.append(
            journal.plan_add(at, diary, runtime.zone, why, tags=(TAG,), provenance=origin)
        )
    return JobPlan(planned, refused)


def _plan_facts(
    runtime: Runtime, window: Window, facts: Sequence[ExtractedItem]
) -> tuple[Change | None, tuple[str, ...]]:
    refused = list[str]()
    before = knowledge.read(runtime.entity.knowledge)
    book, last = before, None
    for item in facts:
        section = knowledge.find(book, item.title)
        try:
            _may_correct(window, item, section)
            change = knowledge.plan_set(
                book,
                item.title,
                _with(section.text, item) if section else item.text,
                f"know about {item.title}",
                by_entity=True,
                provenance=joined(_provenance(runtime, window, item.cited, item), section),
            )
        except UserError as error:
            refused.append(f"{item.title}: {str(error).splitlines()[0]}")
            continue
        if change is not None and change.data is not None:
            book, last = knowledge.parse(change.data.decode()), change
    return whole(before, last), tuple(refused)


def whole(before: Knowledge, last: Change | None) -> Change | None:
    """Make one change of several to one file: the last, on what was read first."""
    if last is None or last.data is None:
        return None
    keeps = before.source is not None
    first = changes.write(last.path, last.data.decode(), before.source, last.why)
    return Change(first.path, first.why, first.data, first.read, keeps=keeps)


def _may_correct(window: Window, item: ExtractedItem, section: KnowledgeSection | None) -> None:
    """Refuse to let somebody change what others were told, or a guest what the owner wrote.

    Raises:
        UserError: If so.
    """
    if section is None:
        return
    audience = section.provenance.audience
    if audience and not set(window.people) <= set(audience):
        raise UserError("a section of that title belongs to a talk with others")
    own = [n for n in item.cited if window.is_persons(n)]
    spoken_trust, written_trust = window.trust(own), section.provenance.trust or "owner"
    if written_trust == "owner" and spoken_trust not in ("owner", ""):
        raise UserError("the owner's word stands there")


def joined(new: Provenance, section: KnowledgeSection | None) -> Provenance:
    """Return where a corrected section comes from: what stays in it keeps its evidence."""
    if section is None or not section.provenance.sources:
        return new
    old = section.provenance
    sources = tuple(dict.fromkeys((*old.sources, *new.sources)))
    trust = base.lowest_trust((old.trust, new.trust))
    return Provenance(new.by, new.model, sources, trust, old.audience and new.audience)


def _with(old: str, item: ExtractedItem) -> str:
    """Return a section's text with an item; quotes stand one below the other, newest first.

    A quote that the new ones name again, behind what may put it right, stands there alone.
    """
    if not item.quoted:
        return corrected(old, item.text, item.replaces)
    kept = [row for row in old.split("\n\n") if row.strip() and row not in item.text]
    return "\n\n".join((item.text, *kept))


def corrected(old: str, new: str, replaced: Sequence[str] = ()) -> str:
    """Return a section's text with a correction: what speaks of the same thing gives way to it.

    Sentences that the new text says nothing about stay, so that one remark does not wipe out all
    that was known.

    Args:
        old: The section's text.
        new: What is to stand in it.
        replaced: Sentences that are known to give way.
    """
    fresh = words.sentences(new)
    kept_sentences = [
        sentence
        for sentence in words.sentences(old)
        if sentence not in replaced and not any(_same_thing(sentence, n) for n in fresh)
    ]
    return new if not kept_sentences else "\n".join((" ".join(kept_sentences), new))


def _same_thing(sentence: str, other: str) -> bool:
    language = words.language(sentence, other)
    stems, other_stems = words.stems(sentence, language), words.stems(other, language)
    least = min(len(stems), len(other_stems))
    return least == 0 or len(stems & other_stems) >= SAME_SHARE * least


def _plan_notes(
    runtime: Runtime, window: Window, notes: Sequence[ExtractedItem], at: datetime
) -> list[Change | None]:
    if not notes:
        return []
    planned: list[Change | None] = []
    everybody = list(relationships.read(runtime.entity.relationships))
    for name in dict.fromkeys(note.person for note in notes):
        their_notes = [note for note in notes if note.person == name]
        file = relationships.match(everybody, name)
        if file is None and relationships.alike(everybody, name):
            continue  # whether they are one, nobody is here to say
        origin = Provenance(by=BY, sources=(window.session,), audience=window.people)
        person = file or relationships.new(name, at, provenance=origin)
        waiting = [
            PendingNote(note.text, at, _provenance(runtime, window, note.cited))
            for note in their_notes
        ]
        planned.append(people.plan_noted(person, waiting, known=file is not None))
    return planned
