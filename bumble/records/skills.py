"""Skill files: how to do something, and which of them match a text by shared words.

Layout: `skills/<slug>.md` or `skills/<slug>/SKILL.md`; front matter holds name and description, the
fields of Agent Skills. Knows nothing of models.

Source: Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, ClassVar

from bumble.entity import changes
from bumble.errors import RecordExistsError, UsageError
from bumble.files import disk
from bumble.records import base, fields, kind
from bumble.text import markdown, stop_words, words

K1, B = 1.2, 0.75  # BM25's saturation and length normalisation, as its authors advise
NAME_WEIGHT, DESCRIPTION_WEIGHT = (
    4,
    2,
)  # a word of the name counts as often as this many of the text


class Skill(kind.Record, frozen=True, kw_only=True):
    """One skill; its id is the file's stem, or its folder's name."""

    ABOUT: ClassVar[kind.About] = kind.About(
        defaults_to_id="name", headline="skill {0.name}: {0.description}", quoted=""
    )

    name: Annotated[str, fields.Key(read=fields.line)]
    description: Annotated[str, fields.Key(read=fields.line)]
    text: Annotated[str, fields.BODY]  # Markdown, without surrounding blank lines

    @property
    def path(self) -> str:
        """Where its file lies, relative to the entity folder."""
        return SKILL.place(self)


SKILL = kind.RecordKind(
    name="skill",
    singular="skill",
    plural="skills",
    key="skills",
    patterns=("skills/*.md", "skills/*/SKILL.md"),
    record=Skill,
    forgetting="file",
    text_keys=("name", "description"),
    passages="skill",
    explained=True,
    counted=True,
    page=True,
    edit="bumble skill edit",
    named_by=("name", "id"),
)


def plan_set(
    skills: Iterable[Skill],
    name: str,
    description: str,
    text: str,
    why: str,
    *,
    overwrite: bool,
    provenance: base.Provenance | None = None,
) -> changes.Change | None:
    """Plan to make a skill, or to overwrite the one of this name.

    Args:
        skills: All there are.
        name: What it is called.
        description: One line: what it does and when to use it.
        text: Markdown.
        why: For the change set.
        overwrite: Whether one of this name may be replaced; fields we don't know stay.
        provenance: Where the text comes from; none for the owner's own words.

    Raises:
        RecordExistsError: If there is one and `overwrite` is false.
        UsageError: If the name or the text is empty.
    """
    name, description = words.one_line(name), words.one_line(description)
    if not name or not text.strip():
        raise UsageError("A skill needs a name and a text.")
    there = SKILL.match(skills, name)
    # the owner's own words on what was told to few stay theirs
    few = there.provenance.audience if there is not None else ()
    origin = (provenance or base.Provenance(audience=few)).meta()
    if there is None:
        document = markdown.render({"name": name, "description": description} | origin, text)
        return changes.write(f"skills/{disk.file_name(name)}.md", document.text, None, why)
    if there.text == markdown.trimmed(text) and there.description == description:
        return None
    if not overwrite:
        raise RecordExistsError(
            Path(there.path), "Overwrite it with --yes, or choose another name."
        )
    values = dict.fromkeys(base.ORIGIN_KEYS) | {"description": description} | origin
    return SKILL.plan_edit(there, values, why, body=text)


def query(skills: Iterable[Skill], text: str, *, limit: int) -> list[Skill]:
    """Find the skills that share telling words with a text: BM25, the name counting most.

    Returns:
        At most `limit`, best first; equal ones by slug. None that shares only stop words.
    """
    everything = sorted(skills, key=lambda skill: skill.id)
    counts = [
        Counter(
            [
                *stop_words.telling_words(skill.name) * NAME_WEIGHT,
                *stop_words.telling_words(skill.description) * DESCRIPTION_WEIGHT,
                *stop_words.telling_words(skill.text),
            ]
        )
        for skill in everything
    ]
    wanted = dict.fromkeys(stop_words.telling_words(text))
    mean = sum(map(Counter.total, counts)) / max(len(counts), 1)
    frequency = {word: sum(word in count for count in counts) for word in wanted}
    scored = [
        (_bm25(count, frequency, len(counts), mean), skill)
        for count, skill in zip(counts, everything, strict=True)
    ]
    best = sorted((pair for pair in scored if pair[0] > 0), key=lambda p: (-p[0], p[1].id))
    return [skill for _, skill in best[:limit]]


def _bm25(count: Counter[str], frequency: dict[str, int], total: int, mean: float) -> float:
    length = K1 * (1 - B + B * count.total() / mean) if mean else 0
    return sum(
        math.log(1 + (total - n + 0.5) / (n + 0.5))
        * count[word]
        * (K1 + 1)
        / (count[word] + length)
        for word, n in frequency.items()
        if count[word]
    )
