"""The text of docs/settings.md: every setting, its default, and its comment in the code."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

from bumble.entity.config import Config, Mark, defaults
from bumble.text import schema, yaml_edit
from bumble.text.schema import Keys

HEAD = """\
# Settings

Written by `python -m bumble.cli.reference docs` from `bumble/entity/config.py`, which says where
settings may stand; do not edit by hand. Settings marked (yours) reach beyond the entity's folder:
in an entity.yaml they count only if your own config trusts that folder, `bumble config trust DIR`.
Programs run only in folders that you trust, whoever names them. Those marked (yours alone) never
count in an entity.yaml.
"""
FIELD = re.compile(r"    (?P<name>\w+): .*?(?:  # (?P<said>.*))?")


def explained(section: Any) -> dict[str, str]:
    """Return what the comments of a section say of its fields: on the line, or in those above."""
    said: dict[str, str] = {}
    for base in reversed(section.__mro__):
        above: list[str] = []
        ours = base.__module__.startswith("bumble.")
        for line in inspect.getsource(base).splitlines() if ours else ():
            if line.startswith("    # "):
                above.append(line.strip(" #"))
                continue
            if (field := FIELD.fullmatch(line)) and field["name"] in section.__struct_fields__:
                said[field["name"]] = field["said"] or " ".join(above)
            above = []
    return said


def rows(section: Any = Config, above: Keys = ()) -> Iterator[tuple[Keys, str]]:
    """Yield every setting and section with what is said of it."""
    said = explained(section)
    for name, kind in schema.fields(section).items():
        base, notes = schema.bare(kind)
        marks = [f"({note.label})" for note in notes if isinstance(note, Mark)]
        if schema.is_section(base):
            yield (*above, name), said.get(name) or " ".join(base.__doc__.split("\n\n")[0].split())
            yield from rows(base, (*above, name))
        else:
            yield (*above, name), " ".join((*marks, said[name])).strip()


def page() -> str:
    """Write the page."""
    lines = [HEAD.rstrip()]
    for keys, said in rows():
        value: Any = defaults()
        for key in keys:
            value = value[key]
        if len(keys) == 1:
            lines += ["", f"## {keys[0]}", ""]
            if not isinstance(value, dict):
                lines += [f"`{keys[0]}: {yaml_edit.inline(value)}`: {said}"]
                continue
            lines += [said, "", "| setting | default | what it does |", "| --- | --- | --- |"]
            continue
        is_section = isinstance(value, dict) and value
        shown = "" if is_section else f"`{yaml_edit.inline(value)}`"
        lines.append(f"| `{'.'.join(keys)}` | {shown} | {said.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"
