"""What comes to mind: the part of memory that matters for what was just said, without a model.

Chooses and words memories for a prompt; finding and ranking them is the index's.
"""

from __future__ import annotations

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from bumble.embed.protocol import Embedder
from bumble.entity.config import Config, RecallConfig
from bumble.entity.folder import Entity
from bumble.errors import IndexUnusableError
from bumble.index import search, sync
from bumble.index.filing import Progress
from bumble.index.place import Place
from bumble.index.search import Filter, Hit
from bumble.index.sync import SyncReport
from bumble.mind import tokens
from bumble.mind.prompt import Block
from bumble.stores import knowledge, records, relationships, skills
from bumble.stores.sessions import Session

REMEMBERED = ("episode", "belief", "message")  # what a memory can be; the journal is not among them
MEMORY_TOKENS = 80  # of one memory in the preamble
RESULT_TOKENS = 250  # of one memory that was asked for
CONTEXT_TURNS = 2  # what was said just before helps to find skills
SECTION_TOKENS = 250


class Memory:
    """The index of an entity, brought up to date before the first search of a turn."""

    def __init__(
        self,
        entity: Entity,
        embedder: Embedder | None,
        *,
        name: str,
        zone: ZoneInfo,
        config: RecallConfig,
        place: Place | None = None,
        syncs: bool = True,
    ) -> None:
        """Set up without reading anything.

        Args:
            entity: Whose memory.
            embedder: None searches by words alone.
            name: What the entity is called: the speaker of its own messages.
            zone: Its time zone.
            config: How much words count beside meaning.
            place: Where the index lies, if not in the folder.
            syncs: False leaves the index as it is.
        """
        self.entity, self.embedder = entity, embedder
        self.name, self.zone, self.config = name, zone, config
        self.place, self.syncs = place, syncs
        self.report: SyncReport | None = None
        self.unusable = False  # whether a search found an index that can't be used as it is

    def sync(self, progress: Progress | None = None) -> None:
        """Bring the index up to date with the files."""
        if self.syncs:
            self.report = sync.sync(
                self.entity,
                self.embedder,
                name=self.name,
                zone=self.zone,
                where=self.place,
                progress=progress,
            )

    def search(
        self, query: str, *, kinds: Sequence[str], limit: int, person: str, outside: str
    ) -> list[Hit]:
        """Find what fits a query, best first.

        Args:
            query: What was said, or asked.
            kinds: Kinds of record.
            limit: At most this many.
            person: Who will read it: what others said in private is left out.
            outside: A session that is in the prompt anyway.
        """
        only = Filter(kinds=tuple(kinds), audience=(person,), not_session=outside)
        weight = 1 - self.config.lexical_weight
        try:
            with search.opened(self.entity, self.place) as index:
                return search.search(
                    index, query, self.embedder, only=only, limit=limit, dense_weight=weight
                )
        except IndexUnusableError:
            if self.syncs:
                raise
            self.unusable = True  # incognito may not make an index: nothing comes to mind
            return []


def blocks(
    memory: Memory, entity: Entity, config: Config, session: Session, person: str
) -> list[Block]:
    """Return what comes to mind, most useful first."""
    said = session.messages[-1].text
    found = [_relationship(entity, config, person)]
    found.append(_knowledge(memory, entity, config, said, session.id, person))
    found.append(_memories(memory, config, said, session.id, person))
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
    hits = memory.search(said, kinds=("knowledge",), limit=limit, person=person, outside=session_id)
    book = knowledge.read(entity.knowledge)
    lines = []
    for hit in hits:
        section = knowledge.find(book, hit.id)
        if section and not section.locked and _relevant(hit, config.memory.knowledge.threshold):
            lines.append(f"- {section.title}: {_line(section.text, SECTION_TOKENS)}")
    return _block("knowledge", "What you know:", lines)


def _memories(memory: Memory, config: Config, said: str, session_id: str, person: str) -> Block:
    limit = config.memory.max_recall_results
    hits = memory.search(said, kinds=REMEMBERED, limit=limit, person=person, outside=session_id)
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
    return f"{when}{_line(hit.text, limit_tokens)}"


def _line(text: str, limit_tokens: int) -> str:
    return tokens.cut(" ".join(text.split()), limit_tokens)


def text(memory: Memory, query: str, session: Session, person: str) -> str:
    """Answer the entity's own question to its memory."""
    kinds = (*REMEMBERED, "knowledge", "person", "journal", "dream", "narrative")
    hits = memory.search(query, kinds=kinds, limit=6, person=person, outside=session.id)
    if not hits:
        return "Nothing comes to mind."
    return "\n".join(f"- [{hit.kind}] {line(hit, RESULT_TOKENS)}" for hit in hits)
