"""The sections of working memory filled by rule: words that were said, quoted; names and links.

Each line is for those alone who may meet its source. Knows nothing of models.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bumble.fallback import quotes, recent
from bumble.fallback.recent import Remark
from bumble.recall.belief_strength import strength
from bumble.records import base, beliefs, episodes, provenance, relationships, skills, working
from bumble.records.base import Provenance
from bumble.records.episodes import Episode
from bumble.runtime.runtime import Runtime
from bumble.text.words import shorten

SELF = "self_insight"
INSIGHTS, PEOPLE, QUESTIONS, NEWS, GAPS, SKILLS = 3, 5, 4, 6, 5, 5  # lines of a section
POINTERS, POINTER_CHARS = 10, 80

Lines = Mapping[str, list[tuple[str, Provenance]]]


def lines(runtime: Runtime, notes: Iterable[tuple[str, Provenance]]) -> Lines:
    """Return the lines of each section, with their origins."""
    spoken = recent.remarks(runtime)
    statements = [remark for remark in spoken if not remark.asks]
    acquaintances = sorted(
        relationships.read(runtime.entity.relationships),
        key=lambda person: (-person.interaction_count, person.id),
    )[:PEOPLE]
    newest = {remark.person: remark for remark in reversed(statements)}
    bond = [newest[person.id] for person in acquaintances if person.id in newest]
    news = [remark for remark in statements if remark not in bond][:NEWS]
    found = (
        _insights(runtime),
        [_quoted(remark) for remark in bond],
        [_quoted(remark) for remark in spoken if remark.asks][:QUESTIONS],
        [*notes, *(_quoted(remark) for remark in news)],
        _pointers(runtime),
        [
            (f"{person.name}: {topic}", _origin(person.id, person.provenance, (person.id,)))
            for person in acquaintances
            for topic in person.unresolved
        ][:GAPS],
        _skills(runtime),
    )
    return {title: list(part) for title, part in zip(working.SECTIONS, found, strict=True)}


def _quoted(remark: Remark) -> tuple[str, Provenance]:
    sources, trust = (remark.quote.message,), remark.quote.trust
    return remark.line, Provenance(working.BY, "", sources, trust, remark.audience)


def _origin(source: str, there: Provenance, audience: tuple[str, ...] | None = None) -> Provenance:
    """Return the origin of a line that repeats a record: for those who may meet that."""
    trust = there.trust or "entity"
    return Provenance(working.BY, "", (source,), trust, audience or there.audience)


def _insights(runtime: Runtime) -> list[tuple[str, Provenance]]:
    at = runtime.now()
    held = [
        belief
        for belief in beliefs.read(runtime.entity.beliefs)
        if belief.category == SELF
        and not belief.archived
        and not provenance.is_untrusted(belief.provenance.trust)
    ]
    strongest = sorted(held, key=lambda belief: (-strength(belief, at), belief.id))
    return [(belief.text, _origin(belief.id, belief.provenance)) for belief in strongest[:INSIGHTS]]


def _pointers(runtime: Runtime) -> list[tuple[str, Provenance]]:
    newest = episodes.paths(runtime.entity.episodes)[-POINTERS:]
    records = [base.load(path, episodes.parse) for path in reversed(newest)]
    return [
        (pointer(record), _origin(record.id, record.provenance))
        for record in records
        if not provenance.is_untrusted(record.provenance.trust)
    ]


def pointer(episode: Episode) -> str:
    """Write a link to an episode, and what it is about: an id alone tells nobody anything."""
    about = quotes.plain(episode.telling.narrative or episode.text)
    return f"[[{episode.id}]] {shorten(about, POINTER_CHARS, at_word=True)}"


def _skills(runtime: Runtime) -> list[tuple[str, Provenance]]:
    return [
        (
            f"{skill.name}: {skill.description}" if skill.description else skill.name,
            _origin(skill.slug, skill.provenance),
        )
        for skill in skills.read(runtime.entity.skills)
        if not provenance.is_untrusted(skill.provenance.trust)
    ][:SKILLS]
