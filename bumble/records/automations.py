"""Automation files: fields, parsing and planning of what the entity does at set times.

Layout: `automations/<id>.md`; the body is what it is asked to do. Knows nothing of schedules or of
models.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from bumble.entity.changes import Change
from bumble.records import base
from bumble.records.base import Provenance
from bumble.text import markdown
from bumble.text.markdown import Document

MOST = 50  # of one entity
PREFIX = "aut"
FOLDER = "automations"


class Automation(Struct, frozen=True):
    """One thing to do, again and again."""

    id: str  # `aut_<ULID>`, or the name a person gave the file
    schedule: str  # a cron expression in the entity's time zone
    prompt: str  # Markdown, without surrounding blank lines
    enabled: bool
    failures: int  # in a row
    last: datetime | None  # when it last ran, or was made; None: a person wrote the file
    provenance: Provenance
    source: Document  # the file as it stands; edits splice its lines


def parse(source: str, stem: str) -> Automation:
    """Read an automation from the text of its file; `source.text` gives the same bytes back."""
    return of(markdown.parse(source), stem)


def of(document: Document, automation_id: str) -> Automation:
    """Read an automation from its document."""
    meta = document.meta
    if not document.body:
        raise ValueError("there is nothing to do below the front matter")
    return Automation(
        id=automation_id,
        schedule=base.field(meta, "schedule", str),
        prompt=document.body,
        enabled=base.field(meta, "enabled", bool, True),
        failures=base.field(meta, "failures", int, 0),
        last=None if meta.get("last") is None else base.field(meta, "last", datetime),
        provenance=base.provenance(meta),
        source=document,
    )


def new(
    automation_id: str,
    schedule: str,
    prompt: str,
    at: datetime,
    *,
    provenance: Provenance | None = None,
) -> Automation:
    """Make an automation that is not in the folder yet; `plan_new` puts it there.

    Raises:
        ValueError: If there is nothing to do.
    """
    meta = {"schedule": schedule, "last": base.stamp(at)}
    return of(markdown.render(meta | (provenance or Provenance()).meta(), prompt), automation_id)


def path(automation_id: str) -> str:
    """Return where an automation lies, relative to the entity folder."""
    return f"{FOLDER}/{automation_id}.md"


def paths(folder: Path) -> list[Path]:
    """Return the files of all automations, by name."""
    return base.paths(folder, "*.md")


def load(file: Path) -> Automation:
    """Read the automation in a file.

    Raises:
        RecordInvalidError: If it is none.
    """
    return base.load(file, parse)


def read(folder: Path) -> Iterator[Automation]:
    """Yield every automation, by name."""
    for file in paths(folder):
        yield load(file)


def plan_new(automation: Automation, why: str) -> Change:
    """Plan to put a new automation into the folder."""
    return base.plan_new(path(automation.id), automation.source, why)


def plan_ran(
    automation: Automation, at: datetime, failures: int, why: str, *, enabled: bool = True
) -> Change | None:
    """Plan to note that an automation ran.

    Args:
        automation: As it was read.
        at: When it ran.
        failures: In a row, up to now.
        why: For the change set.
        enabled: Whether it is to run again.
    """
    values: dict[str, Any] = {"last": base.stamp(at)}
    if failures != automation.failures:
        values["failures"] = failures or None
    if enabled != automation.enabled:
        values["enabled"] = enabled
    document = base.with_values(automation.source, values)
    return base.plan_edit(path(automation.id), automation.source, document, why)
