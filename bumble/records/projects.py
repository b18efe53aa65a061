"""Project files: something that is worked on over days, why, and what comes next.

Layout: `projects/<slug>.md`; the body is why. Knows nothing of when one is thought of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from bumble.entity.changes import Change
from bumble.errors import UsageError
from bumble.files import disk
from bumble.records import base, kind
from bumble.records.fields import ABSENT, BODY, JOINED, Key, joined, line, listed, one_of, told
from bumble.text import words

ACTIVE, PAUSED, DONE = "active", "paused", "done"
STATUSES = (ACTIVE, PAUSED, DONE)


def _further(base: Any, current: Any, incoming: Any) -> Any:
    """Take the status that is further on: done on either side it is done."""
    sides = [ACTIVE if side is ABSENT else side for side in (current, incoming)]
    return max(sides, key=STATUSES.index)


class Project(kind.Record, frozen=True, kw_only=True):
    """Something that is worked on."""

    ABOUT: ClassVar[kind.About] = kind.About(
        defaults_to_id="title",
        headline="project {0.title} ({0.status})",
        quoted="why",
        changed="project {1.title}",
        retold="project {1.title}: why",
        words="why",
    )

    title: Annotated[str, Key(read=line)]
    status: Annotated[
        str, Key(read=one_of(STATUSES, ACTIVE), merge=_further, said=told(": {0} -> {1}"))
    ]
    why: Annotated[str, BODY]  # Markdown, without surrounding blank lines
    # what comes next, in order
    steps: Annotated[
        tuple[str, ...],
        Key("next", merge=joined, said=listed(": next {}", ": no longer next {}")),
    ]
    people: Annotated[tuple[str, ...], JOINED]  # ids of those who take part
    tags: Annotated[tuple[str, ...], JOINED]

    @property
    def text(self) -> str:
        """All that is known of it, in lines."""
        head = f"{self.title} ({self.status})"
        lines = [f"{head}: {self.why}" if self.why else head]
        return "\n".join([*lines, *(f"Next: {step}" for step in self.steps)])


PROJECT = kind.RecordKind(
    name="project",
    singular="project",
    plural="projects",
    key="projects",
    patterns=("projects/*.md",),
    record=Project,
    forgetting="file",
    merging="bumble",
    people_keys=("people", "audience"),
    text_keys=("title", "next", "tags"),
    passages="project",
    explained=True,
    counted=True,
    page=True,
    edit="bumble project edit",
    named_by=("title", "id"),
)


def plan_new(
    title: str,
    values: Mapping[str, Any],
    text: str,
    why: str,
    *,
    provenance: base.Provenance | None = None,
) -> Change:
    """Plan to begin a project.

    Args:
        title: What it is called; its file is named for it.
        values: What is known of it, by key; it is active where no status is given.
        text: Why it is worked on.
        why: For the change set.
        provenance: Where its words come from; none for the owner's own.

    Raises:
        UsageError: If the title is empty.
    """
    title = words.one_line(title)
    if not title:
        raise UsageError("A project needs a title.")
    known = {"title": title, "status": ACTIVE} | _lines(values)
    return PROJECT.plan_new(PROJECT.new(disk.file_name(title), text, provenance, **known), why)


def plan_edit(
    project: Project,
    values: Mapping[str, Any],
    text: str | None,
    why: str,
    *,
    provenance: base.Provenance | None = None,
) -> Change | None:
    """Plan to change what a project's file says; None when nothing differs.

    Args:
        project: As it was read.
        values: What is to differ, by key.
        text: Why it is worked on; None leaves what the file says.
        why: For the change set.
        provenance: Where the new words come from; None leaves what the file says.
    """
    there = project.source.meta
    known = {key: value for key, value in _lines(values).items() if value != there.get(key)}
    changed: dict[str, Any] = {key: value or None for key, value in known.items()}
    change = PROJECT.plan_edit(project, changed, why, body=text)
    if change is None or provenance is None:
        return change
    changed |= dict.fromkeys(base.ORIGIN_KEYS) | provenance.meta()
    return PROJECT.plan_edit(project, changed, why, body=text)


def _lines(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with each of a list on one line, the empty ones left out."""
    return {
        key: value if isinstance(value, str) else list(filter(None, map(words.one_line, value)))
        for key, value in values.items()
    }
