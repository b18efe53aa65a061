"""The files in every prompt (GENOME.md, working/MEMORY.md…): how much of each goes in.

Each is optional and capped, and all of them together are; what was cut says so in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bumble import files
from bumble.entity.config import PromptConfig
from bumble.entity.folder import Entity
from bumble.errors import UnsafePathError
from bumble.records import base, working

LIVING_MEMORY = working.PATH  # capped by lines too, and beside the cached part: it is rewritten
Status = Literal["OK", "TRUNCATED", "MISSING"]


@dataclass(frozen=True)
class BootstrapFile:
    """One file, as it goes into the prompt."""

    name: str  # relative to the entity folder
    status: Status
    raw_chars: int
    text: str  # what is injected; empty if it is missing

    @property
    def injected_chars(self) -> int:
        """How much of it goes into the prompt."""
        return len(self.text)


def read(
    entity: Entity, config: PromptConfig, readers: Sequence[str] = ()
) -> tuple[BootstrapFile, ...]:
    """Read the files in the configured order; what is not there never fails anything.

    Of the living memory only what all readers may meet is there.

    Raises:
        RecordInvalidError: If one is there and is no text.
    """
    left = config.bootstrap_total_max_chars
    own_files = []
    for name in config.bootstrap_files:
        raw = _raw(entity, name)
        if raw is not None and name == LIVING_MEMORY:
            raw = working.shown(raw, readers)
        own_file = (
            BootstrapFile(name, "MISSING", 0, "")
            if raw is None
            else _fitted(name, raw, left, config)
        )
        left -= own_file.injected_chars
        own_files.append(own_file)
    return tuple(own_files)


def _raw(entity: Entity, name: str) -> str | None:
    try:
        path = files.inside(entity.root, name)
    except UnsafePathError:
        return None  # a link out of the folder brings nothing into a prompt
    if not path.is_file() or files.is_elsewhere(path):  # nor does another name of one out there
        return None
    return base.read_text(path).strip()


def _fitted(name: str, raw: str, left: int, config: PromptConfig) -> BootstrapFile:
    text = raw
    if name == LIVING_MEMORY:
        text = "\n".join(text.splitlines()[: config.living_memory_max_lines])
    limit = min(config.bootstrap_max_chars, left)
    if len(text) > limit or text != raw:
        marker = f"\n[cut: {name} has {len(raw):,} characters]"
        text = (text[: max(0, limit - len(marker))] + marker)[: max(0, limit)]
        return BootstrapFile(name, "TRUNCATED", len(raw), text)
    return BootstrapFile(name, "OK", len(raw), text)
