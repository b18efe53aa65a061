"""Kept words as facts: sections of knowledge, beliefs and the journal, by form.

A section of knowledge is what somebody said, under words of it. What puts an earlier word right
stands above it, with a line that says which is newer: in the section that holds that word, where
the same people may meet both; else in one of its own. Nothing that stands there is changed. Whom
they speak of by name and by what that person is to them gets a note, and with the first a file.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from bumble import files
from bumble.choosing import by_form, quotes, spoken_of
from bumble.choosing.by_form import Saying, Wording
from bumble.entity.changes import Change
from bumble.errors import UserError
from bumble.facts import beliefs, store_extracted
from bumble.facts.beliefs import CORRECTION, Claim
from bumble.facts.extract_window import Window
from bumble.records import base, journal, knowledge, provenance, relationships
from bumble.records import beliefs as held
from bumble.records.knowledge import Knowledge, KnowledgeSection
from bumble.records.provenance import BY_FORM
from bumble.records.relationships import PendingNote, Relationship
from bumble.records.sessions import Session
from bumble.runtime import people
from bumble.runtime.job import JobPlan
from bumble.runtime.runtime import Runtime

DIARY_QUOTES = 3  # of one entry
CONFIDENCE = 0.9  # of what a person put right: their own word on it


class Quoting(Struct, frozen=True):
    """What is to be kept of one window, in the words of those who said it."""

    runtime: Runtime
    session: Session
    window: Window
    wording: Wording
    sayings: tuple[Saying, ...]
    at: datetime


def plan(quoting: Quoting) -> JobPlan:
    """Plan to store what is kept in the files as they are now, with the reasons for what is not."""
    before = knowledge.read(quoting.runtime.entity.knowledge)
    book, last = before, None
    new, refused = list[Saying](), list[str]()
    for saying in quoting.sayings:
        if _is_there(quoting, book, saying):
            continue
        new.append(saying)
        try:
            change = _planned(quoting, book, saying)
        except UserError as error:
            refused.append(f"{saying.quote.words}: {str(error).splitlines()[0]}")
            continue
        if change is not None and change.data is not None:
            book, last = knowledge.parse(change.data.decode()), change
    facts = store_extracted.whole(before, last)
    heard_of = _plan_spoken_of(quoting, new)
    planned = (facts, *heard_of, *_plan_corrections(quoting, new), _plan_diary(quoting, new))
    return JobPlan(planned, tuple(refused))


def _is_there(quoting: Quoting, book: Knowledge, saying: Saying) -> bool:
    """Whether these people may meet the same words of the same person already."""
    name = saying.quote.name
    return any(
        quotes.is_in(saying.quote.words, line) and quotes.is_in(name, line)
        for section in book.sections
        if base.may_read(section.provenance.audience, quoting.window.people)
        for line in section.text.splitlines()
        if line.startswith(f"{quotes.MARK}{name}")
    )


def _planned(quoting: Quoting, book: Knowledge, saying: Saying) -> Change | None:
    """Plan a section of a saying, or to put it above the word that it puts right."""
    origin = by_form.origin(store_extracted.BY, quoting.session, [saying], quoting.window.people)
    corrected, akin = _corrected(quoting, book, saying), _akin(quoting, book, saying)
    newer = quotes.line(saying.quote, quoting.wording.forms)
    if corrected is not None:
        title, origin = corrected.title, store_extracted.joined(origin, corrected)
        text = f"{newer}\n\n{quoting.wording.forms.newer}\n\n{corrected.text}"
    elif akin is not None:
        title, origin = akin.title, store_extracted.joined(origin, akin)
        text = f"{quoting.wording.line(saying)}\n\n{akin.text}"
    else:
        title, text = _free_title(quoting, book, saying), quoting.wording.line(saying)
    why = f"know about {title}"
    return knowledge.plan_set(book, title, text, why, by_entity=True, provenance=origin)


def _corrected(quoting: Quoting, book: Knowledge, saying: Saying) -> KnowledgeSection | None:
    """Return the section of the word that a saying puts right, if both are for the same people.

    Not where it is trusted more: a guest does not put the owner right in the owner's section.
    """
    older = saying.older
    sections = [
        section
        for section in book.sections
        if older is not None
        and older.message in section.provenance.sources
        and _may_grow(quoting, section, saying)
    ]
    return sections[-1] if sections else None


def _akin(quoting: Quoting, book: Knowledge, saying: Saying) -> KnowledgeSection | None:
    """Return the section by form that has the very title of a saying, for the same people."""
    section = knowledge.find(book, quoting.wording.title([saying]))
    if section is None or not section.provenance.by.endswith(BY_FORM):
        return None
    return section if _may_grow(quoting, section, saying) else None


def _may_grow(quoting: Quoting, section: KnowledgeSection, saying: Saying) -> bool:
    """Whether a saying may stand in a section: the same people may meet both, none trusted less."""
    return (
        set(section.provenance.audience) == set(quoting.window.people)
        and not section.locked
        and not base.is_lower(saying.quote.trust, section.provenance.trust)
    )


def _free_title(quoting: Quoting, book: Knowledge, saying: Saying) -> str:
    """Return a title of words that were said, which no section has; with name and day if need be.

    Titles of different people and days stay apart, so that clones merge without a conflict.
    """
    wording, quote = quoting.wording, saying.quote
    title = wording.title([saying])
    day = quotes.day(quote.at, wording.forms, year=True)
    longer = (title, f"{title} ({quote.name})", f"{title} ({quote.name}, {day})")
    numbered = (f"{longer[-1]} {n}" for n in range(2, len(book.sections) + 3))
    return next(name for name in (*longer, *numbered) if knowledge.find(book, name) is None)


def _plan_spoken_of(quoting: Quoting, sayings: Sequence[Saying]) -> list[Change | None]:
    """Plan notes on those whom people speak of by name ("my sister Lena"), in their words.

    Who takes part is known by what they say themselves.
    """
    wording, session = quoting.wording, quoting.session
    everybody = list(relationships.read(quoting.runtime.entity.relationships))
    heard: dict[str, tuple[Relationship, list[PendingNote]]] = {}
    for saying in sayings:
        if provenance.is_untrusted(saying.quote.trust):
            continue
        origin = by_form.origin(store_extracted.BY, session, [saying], quoting.window.people)
        note = PendingNote(quotes.plain(wording.line(saying)), quoting.at, origin)
        for name in spoken_of.names_in(saying.quote.words, wording.language):
            file = relationships.match(everybody, name)
            if file is None and relationships.alike(everybody, name):
                continue  # whether they are one, nobody is here to say
            person = file or relationships.new(name, quoting.at, provenance=origin)
            if person.id in session.people or files.same_name(name) == files.same_name(
                wording.entity
            ):
                continue
            heard.setdefault(person.id, (person, []))[1].append(note)
    return [
        people.plan_noted(person, notes, known=person in everybody)
        for person, notes in heard.values()
    ]


def _plan_corrections(quoting: Quoting, sayings: Sequence[Saying]) -> list[Change]:
    """Plan a belief of each word that puts an earlier one right; it speaks against those of that.

    Of all else that was said, no rule tells what to believe.
    """
    known_beliefs = list(held.read(quoting.runtime.entity.beliefs))
    claims = []
    for saying in sayings:
        if saying.older is None:
            continue
        evidence = saying.older.message
        against = [
            belief.id
            for belief in known_beliefs
            if evidence in belief.evidence
            and beliefs.may_meet(quoting.window.people, belief)
            and not base.is_lower(saying.quote.trust, belief.provenance.trust)
        ]
        chance = random.Random(saying.message.id)
        claims.append(
            Claim(
                id=base.new_id(held.PREFIX, quoting.at, chance),
                text=quotes.plain(quotes.line(saying.quote, quoting.wording.forms)),
                category=CORRECTION,
                confidence=CONFIDENCE,
                evidence=(saying.message.id,),
                origin=store_extracted.belief_origin(quoting.window),
                provenance=by_form.origin(
                    store_extracted.BY, quoting.session, [saying], quoting.window.people
                ),
                by="user",
                verdicts=dict.fromkeys(against, "contradicts"),
            )
        )
    return beliefs.plan_claims(quoting.runtime, claims, quoting.at)


def _plan_diary(quoting: Quoting, sayings: Sequence[Saying]) -> Change | None:
    """Plan an entry that says who told what; none where there is nothing to quote."""
    chosen = list(sayings[:DIARY_QUOTES])
    if not chosen:
        return None
    forms = quoting.wording.forms
    parts = []
    for name in dict.fromkeys(saying.quote.name for saying in chosen):
        own = [saying.quote for saying in chosen if saying.quote.name == name]
        lines = "\n\n".join(quotes.MARK + quotes.marked(quote.words, forms) for quote in own)
        parts.append(f"{forms.diary.format(name=name)}\n\n{lines}")
    return journal.plan_add(
        quoting.at,
        "\n\n".join(parts),
        quoting.runtime.zone,
        "what stays",
        tags=(store_extracted.TAG,),
        provenance=by_form.origin(
            store_extracted.BY, quoting.session, chosen, quoting.window.people
        ),
    )
