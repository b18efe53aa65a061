"""What comes to mind: the part of memory that matters for what was just said, without a model.

Chooses and words memories for a prompt; finding and ranking them is the index's.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from bumble.cycles import feeling
from bumble.cycles.life import Life
from bumble.entity.config import Config
from bumble.entity.folder import Entity
from bumble.index.memory import Memory
from bumble.index.search import Hit
from bumble.llm import tokens
from bumble.mind import imprints
from bumble.mind.prompt import Block
from bumble.stores import episodes, knowledge, records, relationships, skills
from bumble.stores.sessions import Session

REMEMBERED = ("episode", "belief", "message")  # what a memory can be; the journal is not among them
MEMORY_TOKENS = 80  # of one memory in the preamble
RESULT_TOKENS = 250  # of one memory that was asked for
CONTEXT_TURNS = 2  # what was said just before helps to find skills
SECTION_TOKENS = 250


def blocks(life: Life, session: Session, person: str, mood: str, at: datetime) -> list[Block]:
    """Return what comes to mind in a mood, most useful first."""
    said, config, entity = session.messages[-1].text, life.config, life.entity
    found = [_relationship(entity, config, person)]
    found.append(_knowledge(life.memory, entity, config, said, session.id, person))
    found.append(_memories(life, said, session.id, person, mood, at))
    found.append(_skills(entity, config, session))
    return [block for block in found if block.text]


def _relevant(hit: Hit, threshold: float) -> bool:
    """Whether a hit is near enough to be brought up unasked; without vectors, words must do."""
    return hit.parts.calibrated is None or hit.parts.calibrated >= threshold


def _relationship(entity: Entity, config: Config, person: str) -> Block:
    """Say what the entity knows of the person it talks with: nobody else's portrait."""
    for file in relationships.paths(entity.relationships):
        if file.stem == person:
            known = records.load(file, relationships.parse)
            portrait = _line(known.text, config.memory.relational.max_context_tokens)
            lines = [f"- {portrait}"] if known.text else []
            lines += [f"- between you: {known.dynamic}"] if known.dynamic else []
            lines += [f"- still open: {topic}" for topic in known.unresolved]
            name = known.names[0] if known.names else person
            return _block("relationship", f"What you know of {name}:", lines)
    return Block("relationship", "")


def _knowledge(
    memory: Memory, entity: Entity, config: Config, said: str, session_id: str, person: str
) -> Block:
    limit = config.memory.knowledge.max_sections
    hits = memory.search(
        said, kinds=("knowledge",), limit=limit, audience=(person,), outside=session_id
    )
    book = knowledge.read(entity.knowledge)
    lines = []
    for hit in hits:
        section = knowledge.find(book, hit.id)
        if section and not section.locked and _relevant(hit, config.memory.knowledge.threshold):
            lines.append(f"- {section.title}: {_line(section.text, SECTION_TOKENS)}")
    return _block("knowledge", "What you know:", lines)


def _memories(
    life: Life, said: str, session_id: str, person: str, mood: str, at: datetime
) -> Block:
    config = life.config
    hits = life.memory.search(
        said,
        kinds=REMEMBERED,
        limit=config.memory.max_recall_results,
        audience=(person,),
        outside=session_id,
        factor=imprints.factor(life.entity, life.body, mood, at),
    )
    near = [hit for hit in hits if _relevant(hit, config.recall.preamble_threshold)]
    return _block(
        "memories", "What comes to mind:", [f"- {line(hit, MEMORY_TOKENS)}" for hit in near]
    )


def _skills(entity: Entity, config: Config, session: Session) -> Block:
    recent = " ".join(message.text for message in session.messages[-1 - CONTEXT_TURNS :])
    limits = config.memory.skills
    hits = skills.query(list(skills.read(entity.skills)), recent, limit=limits.max_results)
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
    return f"{when}{_line(told(hit), limit_tokens)}"


def told(hit: Hit) -> str:
    """Return what a memory says; of an episode, what happened rather than why it mattered."""
    if hit.kind != "episode":
        return hit.text
    parts = episodes.telling(hit.text)
    return parts.narrative or parts.reflection


def _line(text: str, limit_tokens: int) -> str:
    return tokens.cut(" ".join(text.split()), limit_tokens)


def text(life: Life, query: str, session: Session, person: str) -> str:
    """Answer the entity's own question to its memory."""
    kinds = (*REMEMBERED, "knowledge", "person", "journal", "dream", "narrative")
    at = life.now()
    hits = life.memory.search(
        query,
        kinds=kinds,
        limit=6,
        audience=(person,),
        outside=session.id,
        factor=imprints.factor(
            life.entity, life.body, feeling.mood(life, feeling.read(life, at)).name, at
        ),
    )
    if not hits:
        return "Nothing comes to mind."
    return "\n".join(f"- [{hit.kind}] {line(hit, RESULT_TOKENS)}" for hit in hits)
