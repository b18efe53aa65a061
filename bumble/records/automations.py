"""Automation files: fields, parsing and planning of what the entity does at set times.

Layout: `automations/<id>.md`; the body is what it is asked to do. Knows nothing of schedules or of
models.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, ClassVar

from bumble.entity.changes import Change
from bumble.records import fields, kind

MOST = 50  # of one entity


class Automation(kind.Record, frozen=True, kw_only=True):
    """One thing to do, again and again."""

    ABOUT: ClassVar[kind.About] = kind.About(
        unsaid="there is nothing to do below the front matter",
        headline="automation {0.id}, {0.schedule}",
        when="last",
        schedule="schedule",
        of_newer={"failures": "last"},
    )

    schedule: str  # a cron expression in the entity's time zone
    prompt: Annotated[str, fields.BODY]  # Markdown, without surrounding blank lines
    enabled: bool = True
    failures: int = 0  # in a row
    # when it last ran, or was made; of one that ran late: the time of that day for which it stands,
    # too; None: a person wrote the file
    last: Annotated[datetime | None, fields.LATER] = None


AUTOMATION = kind.RecordKind(
    name="automation",
    singular="automation",
    plural="automations",
    key="automations",
    patterns=("automations/*.md",),
    record=Automation,
    forgetting="file",
    merging="bumble",
    prefix="aut",
    counted=True,
)


def plan_ran(
    automation: Automation, at: datetime, failures: int, why: str, *, enabled: bool = True
) -> Change | None:
    """Plan to note that an automation ran.

    Args:
        automation: As it was read.
        at: When it ran, or which time it stands for.
        failures: In a row, up to now.
        why: For the change set.
        enabled: Whether it is to run again.
    """
    values: dict[str, Any] = {"last": at}
    if failures != automation.failures:
        values["failures"] = failures or None
    if enabled != automation.enabled:
        values["enabled"] = enabled
    return AUTOMATION.plan_edit(automation, values, why)
