"""What was noticed of one message: whether it is worth keeping, confided, heavy, a correction.

A line of a transcript, read once and shared by all that makes memories of the message. A later
line on the same message stands for the earlier.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from msgspec import Struct, field

from bumble.records import base
from bumble.records.fields import Key, Meta


def _share(meta: Meta, key: str) -> float | None:
    return None if meta.get(key) is None else base.unit(meta, key)


class Notice(Struct, frozen=True):
    """What one message of a person is worth remembering for."""

    at: datetime
    message: str  # its id
    keep: bool  # whether it is worth keeping for months
    why: str = ""  # what the message is: `tell`, `joke`, `ask_memory`
    share: Annotated[float | None, Key(read=_share)] = None  # how likely it is, in [0, 1]
    confided: bool = False  # told in confidence: stays with those who heard it
    heavy: int = 0  # 1: a burden, 2: grave
    glad: int = 0  # 1: pleased, 2: big good news
    corrects: tuple[str, ...] = ()  # ids of earlier messages it may put right, likeliest first
    extra: Mapping[str, Any] = field(default_factory=dict)  # who was asked; fields we don't know
