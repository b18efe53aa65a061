"""What was noticed of one message: whether it is worth keeping, confided, heavy, a correction.

A line of a transcript, read once and shared by all that makes memories of the message. A later
line on the same message stands for the earlier.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct, field

from bumble.records import base


class Notice(Struct, frozen=True):
    """What one message of a person is worth remembering for."""

    at: datetime
    message: str  # its id
    keep: bool  # whether it is worth keeping for months
    why: str  # what the message is: `tell`, `joke`, `ask_memory`
    share: float | None = None  # how likely it is, in [0, 1]
    confided: bool = False  # told in confidence: stays with those who heard it
    heavy: int = 0  # 1: a burden, 2: grave
    glad: int = 0  # 1: pleased, 2: big good news
    corrects: tuple[str, ...] = ()  # ids of earlier messages it may put right, likeliest first
    extra: Mapping[str, Any] = field(default_factory=dict)  # who was asked; fields we don't know


_KNOWN = (
    *("type", "at", "message", "keep", "why", "share"),
    *("confided", "heavy", "glad", "corrects"),
)


def parse(data: Mapping[str, Any]) -> Notice:
    """Read a notice from its line.

    Raises:
        ValueError: If a field is not what it should be.
    """
    return Notice(
        at=base.field(data, "at", datetime),
        message=base.field(data, "message", str),
        keep=base.field(data, "keep", bool),
        why=base.field(data, "why", str, ""),
        share=base.unit(data, "share") if data.get("share") is not None else None,
        confided=base.field(data, "confided", bool, False),
        heavy=base.field(data, "heavy", int, 0),
        glad=base.field(data, "glad", int, 0),
        corrects=base.texts(data, "corrects"),
        extra={key: value for key, value in data.items() if key not in _KNOWN},
    )


def fields(notice: Notice) -> dict[str, Any]:
    """Return the fields of a notice's line but its time; those that say nothing are left out."""
    optional = {
        "share": None if notice.share is None else round(notice.share, 3),
        "confided": notice.confided or None,
        "heavy": notice.heavy or None,
        "glad": notice.glad or None,
        "corrects": list(notice.corrects),
    }
    head = {"message": notice.message, "keep": notice.keep, "why": notice.why}
    return {**head, **base.filled(optional), **notice.extra}
