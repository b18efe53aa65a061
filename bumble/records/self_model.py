"""The file `self_model.yaml`: how often which tool was used and failed, and when last.

One file. Knows nothing of what the tools do.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Any

from msgspec import Struct

from bumble.entity.changes import Change
from bumble.records import base, fields, kind

PATH = "self_model.yaml"
HEAD = "How often it used each of its tools, and how often that failed."


class ToolRecord(Struct, frozen=True):
    """How a tool has served."""

    used: int
    last: datetime  # when it was last used
    failed: int = 0
    last_failed: datetime | None = None

    @property
    def failing_share(self) -> float:
        """The share of its uses that failed."""
        return self.failed / self.used if self.used else 0.0


def parse(source: str, stem: str = "") -> base.MappingFile:
    """Read the file from its text.

    Raises:
        ValueError: If it does not say how tools served.
    """
    file = base.parse_mapping(source)
    tools(file)
    return file


read = partial(base.read_mapping, parse=parse)


def tools(file: base.MappingFile) -> dict[str, ToolRecord]:
    """Return how each tool has served, by name.

    Raises:
        ValueError: If the file does not say so.
    """
    listed = base.field(file.values, "tools", dict, {})
    return {
        str(name): fields.read_struct(ToolRecord, base.field(listed, name, dict)) for name in listed
    }


def plan_used(
    old: base.MappingFile, uses: Iterable[tuple[str, bool]], at: datetime, why: str
) -> Change | None:
    """Plan to count some uses; None where there were none.

    Args:
        old: As it was read.
        uses: Of each the tool's name, and whether it failed.
        at: When.
        why: For the change set.
    """
    records = tools(old)
    values: dict[str, dict[str, Any]] = {}
    for name, failed in uses:
        record = records.get(name)
        before = {"used": record.used, "failed": record.failed} if record else {}
        counts = values.setdefault(name, {"used": 0, "failed": 0} | before)
        counts["used"] += 1
        counts["failed"] += failed
        counts["last"] = base.stamp(at)
        if failed:
            counts["last_failed"] = base.stamp(at)
    return base.plan_mapping(PATH, old, {"tools": values}, why, head=HEAD) if values else None


SELF_MODEL = kind.Kind(
    name="self_model",
    singular="view of its tools",
    plural="views of its tools",
    key="self_model",
    patterns=(PATH,),
    parser=parse,
    teller=lambda *_: iter(("how its tools have served",)),
    joiner=partial(fields.mapping, rules={}, otherwise=fields.by_kind),  # uses add up
    forgetting="listed",
    merging="bumble",
    file_name="view of its tools",
    of_now=True,
)
