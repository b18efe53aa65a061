"""The files in every prompt (GENOME.md, working/MEMORY.md…): how much of each goes in.

Each is optional and capped, and all of them together are; what was cut says so in its place. One
that a hand has broken is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from bumble.entity.config import PromptConfig
from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError, UnsafePathError
from bumble.files import disk
from bumble.records import base, working
from bumble.runtime import rules
from bumble.runtime.runtime import Runtime

LIVING_MEMORY_LINES = 200  # of working/MEMORY.md
LIVING_MEMORY = working.PATH  # capped by lines too, and beside the cached part: it is rewritten
Status = Literal["OK", "TRUNCATED", "MISSING", "UNREADABLE", "UNAPPROVED"]


class BootstrapFile(Struct, frozen=True):
    """One file, as it goes into the prompt."""

    name: str  # relative to the entity folder
    status: Status
    raw_chars: int
    text: str  # what is injected; empty if there is nothing
    problem: str = ""  # of one that can't be read

    @property
    def injected_chars(self) -> int:
        """How much of it goes into the prompt."""
        return len(self.text)


def read(
    entity: Entity, config: PromptConfig, readers: Sequence[str] = ()
) -> tuple[BootstrapFile, ...]:
    """Read the files in the configured order; what is not there never fails anything.

    Of the living memory only what all readers may meet is there.
    """
    left = config.bootstrap_total_max_chars
    own_files = []
    for name in config.bootstrap_files:
        own_file = _read(entity, name, left, config, readers)
        left -= own_file.injected_chars
        own_files.append(own_file)
    return tuple(own_files)


def _read(
    entity: Entity, name: str, left: int, config: PromptConfig, readers: Sequence[str]
) -> BootstrapFile:
    try:
        raw = _raw(entity, name)
    except RecordInvalidError as error:
        return BootstrapFile(name, "UNREADABLE", 0, "", str(error))
    if raw is None:
        return BootstrapFile(name, "MISSING", 0, "")
    if name != LIVING_MEMORY and rules.pending(entity, [rules.of_prompt_file(name, raw)]):
        return BootstrapFile(name, "UNAPPROVED", len(raw), "")  # it came from elsewhere
    shown = working.shown(raw, readers) if name == LIVING_MEMORY else raw
    return _fitted(name, shown, left, config)


def say_unreadable(runtime: Runtime, own_files: Sequence[BootstrapFile]) -> None:
    """Say once of each file that can't be read that it is left out."""
    for own_file in own_files:
        if own_file.problem:
            runtime.say_left_out(own_file.problem)


def _raw(entity: Entity, name: str) -> str | None:
    try:
        path = disk.inside(entity.root, name)
    except UnsafePathError:
        return None  # a link out of the folder brings nothing into a prompt
    if not path.is_file() or disk.is_elsewhere(path):  # nor does another name of one out there
        return None
    return base.read_text(path).strip()


def _fitted(name: str, raw: str, left: int, config: PromptConfig) -> BootstrapFile:
    text = raw
    if name == LIVING_MEMORY:
        text = "\n".join(text.splitlines()[:LIVING_MEMORY_LINES])
    limit = min(config.bootstrap_max_chars, left)
    if len(text) > limit or text != raw:
        marker = f"\n[cut: {name} has {len(raw):,} characters]"
        text = (text[: max(0, limit - len(marker))] + marker)[: max(0, limit)]
        return BootstrapFile(name, "TRUNCATED", len(raw), text)
    return BootstrapFile(name, "OK", len(raw), text)
