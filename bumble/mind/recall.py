"""What comes to mind: the part of memory that matters for what was just said, without a model.

Chooses and words memories for a prompt; finding and ranking them is the index's.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from bumble.cycles import feeling, people
from bumble.cycles.life import Life
from bumble.entity.config import Config
from bumble.entity.folder import Entity
from bumble.index.memory import Memory
from bumble.index.search import Hit
from bumble.llm import tokens
from bumble.mind import imprints
from bumble.mind.prompt import Block
from bumble.stores import knowledge, records, skills
from bumble.stores.sessions import Session

REMEMBERED = ("episode", "belief", "message")  # what a memory can be; the journal is not among them
MEMORY_TOKENS = 80  # of one memory in the preamble
RESULT_TOKENS = 250  # of one memory that was asked for
CONTEXT_TURNS = 2  # what was said just before helps to find skills
SECTION_TOKENS = 250
COMPANY_TOKENS = 60  # of each who is there


def blocks(life: Life, session: Session, person: str, mood: str, at: datetime) -> list[Block]:
    """Return what comes to mind in a mood, most useful first."""
    said, config, entity = session.messages[-1].text, life.config, life.entity
    found = [_relationships(life, session, person, at)]
    found.append(_knowledge(life.memory, entity, config, said, session))
    found.append(_memories(life, said, session, mood, at))
    found.append(_skills(entity, config, session))
    return [block for block in found if block.text]


def _relevant(hit: Hit, threshold: float) -> bool:
    """Whether a hit is near enough to be brought up unasked; without vectors, words must do."""
    return hit.parts.calibrated is None or hit.parts.calibrated >= threshold


def _relationships(life: Life, session: Session, person: str, at: datetime) -> Block:
    """Say what the entity knows of those it talks with; in company one line a person."""
    if len(session.people) > 1:
        return _company(life, session, at)
    known = people.known(life, person)
    if known is None:
        return Block("relationship", "")
    budget = life.config.memory.relational.max_context_tokens
    told = [
        *([f"- {' '.join(known.text.split())}"] if known.text else []),
        *([f"- between you: {known.dynamic}"] if known.dynamic else []),
        *(f"- still open: {topic}" for topic in known.unresolved),
    ]
    return _block("relationship", f"What you know of {known.name}:", _within(told, budget))


def _within(lines: Sequence[str], budget_tokens: int) -> list[str]:
    """Keep lines as far as a budget goes; the one that does not fit is cut."""
    kept: list[str] = []
    for text in lines:
        if budget_tokens <= 0:
            break
        kept.append(tokens.cut(text, budget_tokens))
        budget_tokens -= tokens.estimate(kept[-1]) + 1
    return kept


def _company(life: Life, session: Session, at: datetime) -> Block:
    """Say a line of each who is there: of a portrait only what all of them may hear."""
    config = life.config.memory.relational
    each = min(COMPANY_TOKENS, config.max_context_tokens // len(session.people))
    lines = []
    for one in session.people:
        known = people.known(life, one)
        if known is None:
            lines.append(f"- {one}: you have just met")
            continue
        standing = people.standing(known, config.stages, at)
        shared = records.may_read(known.audience, session.people)
        about = f" {' '.join(known.text.split())}" if shared and known.text else ""
        talks = f"{known.interaction_count} talk{'' if known.interaction_count == 1 else 's'}"
        told = f"- {known.name} ({standing.stage}, {talks} so far){':' if about else ''}{about}"
        lines.append(tokens.cut(told, max(1, each - 1)))
    return _block("relationship", "Who is here:", lines)


def _knowledge(
    memory: Memory, entity: Entity, config: Config, said: str, session: Session
) -> Block:
    limit = config.memory.knowledge.max_sections
    hits = memory.search(
        said, kinds=("knowledge",), limit=limit, audience=session.people, outside=session.id
    )
    book = knowledge.read(entity.knowledge)
    lines = []
    for hit in hits:
        section = knowledge.find(book, hit.id)
        if section is None or _stands_above(section):
            continue
        if _relevant(hit, config.memory.knowledge.threshold):
            lines.append(f"- {section.title}: {_line(section.text, SECTION_TOKENS)}")
    return _block("knowledge", "What you know:", lines)


def _stands_above(section: knowledge.Section) -> bool:
    """Whether a section is in the stable part of every prompt."""
    return section.locked and not section.provenance.audience


def _memories(life: Life, said: str, session: Session, mood: str, at: datetime) -> Block:
    config = life.config
    hits = life.memory.search(
        said,
        kinds=REMEMBERED,
        limit=config.memory.max_recall_results,
        audience=session.people,
        outside=session.id,
        factor=imprints.factor(life.entity, life.body, mood, at),
    )
    near = [hit for hit in hits if _relevant(hit, config.recall.preamble_threshold)]
    return _block(
        "memories", "What comes to mind:", [f"- {line(hit, MEMORY_TOKENS)}" for hit in near]
    )


def _skills(entity: Entity, config: Config, session: Session) -> Block:
    recent = " ".join(message.text for message in session.messages[-1 - CONTEXT_TURNS :])
    limits = config.memory.skills
    theirs = [
        one
        for one in skills.read(entity.skills)
        if records.may_read(one.provenance.audience, session.people)
    ]
    hits = skills.query(theirs, recent, limit=limits.max_results)
    lines = [
        f"- {hit.skill.name}: {skills.excerpt(hit.skill.text, limits.max_chars)}" for hit in hits
    ]
    return _block("skills", "[Procedural memory that may help right now]", lines)


def _block(name: str, heading: str, lines: Sequence[str]) -> Block:
    if not lines:
        return Block(name, "")
    inside = "\n".join(lines).replace("</memory", "< /memory")
    return Block(name, f"{heading}\n<memory>\n{inside}\n</memory>")


def line(hit: Hit, limit_tokens: int) -> str:
    """Word a memory: when, and what was said or happened."""
    when = f"({hit.at:%Y-%m-%d}) " if hit.at else ""
    return f"{when}{_line(hit.text, limit_tokens)}"


def _line(text: str, limit_tokens: int) -> str:
    return tokens.cut(" ".join(text.split()), limit_tokens)


def text(life: Life, query: str, session: Session) -> str:
    """Answer the entity's own question to its memory, with what all who are there may hear."""
    kinds = (*REMEMBERED, "knowledge", "person", "journal", "dream", "narrative")
    at = life.now()
    hits = life.memory.search(
        query,
        kinds=kinds,
        limit=6,
        audience=session.people,
        outside=session.id,
        factor=imprints.factor(
            life.entity, life.body, feeling.mood(life, feeling.read(life, at)).name, at
        ),
    )
    if not hits:
        return "Nothing comes to mind."
    return "\n".join(f"- [{hit.kind}] {line(hit, RESULT_TOKENS)}" for hit in hits)
