"""The file `soma.yaml`: the body as it was last, with the time its values were true.

One file, `soma.yaml`. Reading never writes; what the values are *now* is computed in `body`. Knows
nothing of what they mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bumble.entity.changes import Change
from bumble.records import mapping_files
from bumble.records.mapping_files import MappingFile

PATH = "soma.yaml"

parse = mapping_files.parse


def read(file: Path) -> MappingFile:
    """Read the file; none at all counts as an empty mapping."""
    return mapping_files.read(file)


def plan_write(
    old: MappingFile,
    values: Mapping[str, Any],
    why: str,
    *,
    remove: Iterable[Sequence[str]] = (),
) -> Change | None:
    """Plan to change some values and leave the rest of the file, byte for byte.

    Args:
        old: As it was read.
        values: What is to differ, nested as in the file; lists are replaced as a whole.
        why: For the change set.
        remove: Keys to take out, each a path of keys: `[["affects", "joy"]]`.
    """
    return mapping_files.plan(PATH, old, values, why, remove)
