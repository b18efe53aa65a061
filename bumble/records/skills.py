"""Skill files: how to do something.

Layout: `skills/<slug>.md` or `skills/<slug>/SKILL.md`; front matter holds name and description, the
fields of Agent Skills. Knows nothing of models.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, ClassVar

from bumble.entity import changes
from bumble.errors import RecordExistsError, UsageError
from bumble.files import disk
from bumble.records import base, fields, kind
from bumble.text import markdown, words


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
