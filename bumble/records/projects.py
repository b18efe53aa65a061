"""Project files: something that is worked on over days, why, and what comes next.

Layout: `projects/<slug>.md`; the body is why. Knows nothing of when one is thought of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from bumble.entity.changes import Change
from bumble.errors import UsageError
from bumble.files import disk
from bumble.records import base
from bumble.records.base import Provenance
from bumble.text import markdown
from bumble.text.markdown import Document
from bumble.text.words import one_line

FOLDER = "projects"
ACTIVE, PAUSED, DONE = "active", "paused", "done"
STATUSES = (ACTIVE, PAUSED, DONE)


class Project(Struct, frozen=True):
    """Something that is worked on."""

    id: str  # the file's stem
    title: str
    status: str  # one of STATUSES
    why: str  # Markdown, without surrounding blank lines
    steps: tuple[str, ...]  # what comes next, in order, under the key `next`
    people: tuple[str, ...]  # ids of those who take part
    tags: tuple[str, ...]
    provenance: Provenance
    source: Document  # the file as it stands; edits splice its lines

    @property
    def text(self) -> str:
        """All that is known of it, in lines."""
        head = f"{self.title} ({self.status})"
        lines = [f"{head}: {self.why}" if self.why else head]
        return "\n".join([*lines, *(f"Next: {step}" for step in self.steps)])


class Edit(Struct, frozen=True):
    """What is to become of a project; None leaves a value as it is."""

    status: str | None = None
    why: str | None = None
    steps: Sequence[str] | None = None
    people: Sequence[str] | None = None
    tags: Sequence[str] | None = None


def parse(source: str, stem: str) -> Project:
    """Read a project from the text of its file; `source.text` gives the same bytes back."""
    return of(markdown.parse(source), stem)


def of(document: Document, project_id: str) -> Project:
    """Read a project from its document; one without a title is called as its file."""
    meta = document.meta
    return Project(
        id=project_id,
        title=one_line(base.field(meta, "title", str, "")) or project_id,
        status=base.choice(meta, "status", STATUSES, ACTIVE),
        why=document.body,
        steps=base.texts(meta, "next"),
        people=base.texts(meta, "people"),
        tags=base.texts(meta, "tags"),
        provenance=base.provenance(meta),
        source=document,
    )


def path(project_id: str) -> str:
    """Return where a project lies, relative to the entity folder."""
    return f"{FOLDER}/{project_id}.md"


def paths(folder: Path) -> list[Path]:
    """Return the files of all projects, by name."""
    return base.paths(folder, "*.md")


def load(file: Path) -> Project:
    """Read the project in a file.

    Raises:
        RecordInvalidError: If it is none.
    """
    return base.load(file, parse)


def readable(folder: Path) -> list[Project]:
    """Return every project that can be read, by name; a broken file holds up nothing."""
    return base.load_all(paths(folder), load)[0]


def match(projects: Iterable[Project], name: str) -> Project | None:
    """Return the project of a title or of a file's name; case and spaces do not count."""
    wanted, everything = disk.same_name(name), list(projects)
    spellings = [(key, project) for project in everything for key in (project.title, project.id)]
    return next((project for key, project in spellings if disk.same_name(key) == wanted), None)


def plan_new(title: str, edit: Edit, why: str, *, provenance: Provenance | None = None) -> Change:
    """Plan to begin a project.

    Args:
        title: What it is called; its file is named for it.
        edit: What is known of it; it is active where no status is given.
        why: For the change set.
        provenance: Where its words come from; none for the owner's own.

    Raises:
        UsageError: If the title is empty.
    """
    if not one_line(title):
        raise UsageError("A project needs a title.")
    meta = {"title": one_line(title), "status": ACTIVE} | _values(edit)
    document = markdown.render(
        base.filled(meta) | (provenance or Provenance()).meta(), edit.why or ""
    )
    return base.plan_new(path(disk.file_name(title)), document, why)


def plan_edit(
    project: Project, edit: Edit, why: str, *, provenance: Provenance | None = None
) -> Change | None:
    """Plan to change what a project's file says; None when nothing differs.

    Args:
        project: As it was read.
        edit: What is to differ.
        why: For the change set.
        provenance: Where the new words come from; None leaves what the file says.
    """
    there = project.source.meta
    values = {key: value for key, value in _values(edit).items() if value != there.get(key)}
    document = base.with_values(
        project.source, {key: None if value == [] else value for key, value in values.items()}
    )
    if edit.why is not None and edit.why.strip() != project.why:
        document = document.with_body(edit.why)
    if document.text == project.source.text:
        return None
    if provenance is not None:
        stale = dict.fromkeys(Provenance("x", "x", ("x",), "tool", ("x",)).meta())
        document = base.with_values(document, stale | provenance.meta())
    return base.plan_edit(path(project.id), project.source, document, why)


def _values(edit: Edit) -> dict[str, str | list[str]]:
    lists = {"next": edit.steps, "people": edit.people, "tags": edit.tags}
    values: dict[str, str | list[str]] = {} if edit.status is None else {"status": edit.status}
    return values | {
        key: [line for line in map(one_line, listed) if line]
        for key, listed in lists.items()
        if listed is not None
    }
