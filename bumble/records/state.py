"""The file `state.yaml`: cursors, counters and pending work of the jobs; its form.

One file, `state.yaml`. Cursors are ids, never positions in a list. Knows nothing of the cycles
but the form in which they keep it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from bumble.entity.changes import Change
from bumble.records import base, mapping_files
from bumble.records.mapping_files import MappingFile
from bumble.text import yaml_edit
from bumble.text.yaml_edit import SourceError

PATH = "state.yaml"
Keys = tuple[str, ...]
EACH = ""  # any key of a mapping
FORM: Mapping[str, Any] = {  # what is not named is passed over
    "sessions": {},  # ids by conversation; nested in folders of earlier versions
    "distill": {EACH: {"at": datetime, "hash": str, "tried": str, "failed": int}},
    "consolidate": {"at": datetime, "count": int, "vain": {EACH: datetime}},
    "dream": {"last_at": datetime, "empty_at": datetime, "count": int},
    "working": {"at": datetime},
    "wake": {"recent": list, "reason": str},
    "evolve": {"interactions": int, "at": datetime},
    "handover": {"without": list},
    "review": {"waiting": {EACH: datetime}},
    "refused": {EACH: datetime},
}


def parse(source: str, stem: str = "") -> MappingFile:
    """Read the state from the text of its file.

    Raises:
        SourceError: If it is not a YAML mapping, or a value of another form.
    """
    file = mapping_files.parse(source, stem)
    _check(file.values, FORM, (), source)
    return file


def _check(values: Mapping[Any, Any], form: Mapping[str, Any], above: Keys, source: str) -> None:
    for key, value in values.items():
        kind, keys = form.get(key, form.get(EACH)), (*above, str(key))
        try:
            if not isinstance(key, str):
                raise ValueError(f"the key `{key}` is not text; put it in quotes")
            if kind is not None and value is not None:
                base.field(values, key, dict if isinstance(kind, Mapping) else kind)
        except ValueError as error:
            raise SourceError(str(error), yaml_edit.line_of(source, keys)) from error
        if isinstance(kind, Mapping) and value is not None:
            _check(value, kind, keys, source)


def read(file: Path) -> MappingFile:
    """Read the file; none at all counts as an empty mapping."""
    return mapping_files.read(file, parse)


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
