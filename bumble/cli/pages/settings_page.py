"""The text of docs/settings.md: every setting, its default and comment in `defaults.yaml`."""

from __future__ import annotations

from collections.abc import Iterator

from bumble.entity import defaults
from bumble.text.schema import Keys

HEAD = """\
# Settings

Written by `python -m bumble.cli.reference docs` from `bumble/defaults.yaml`, which
says where settings may stand; do not edit by hand. Where a section says what its entries are, they
have no words of their own.
"""


def explanations(source: str) -> Iterator[tuple[Keys, str, str]]:
    """Yield each line of the defaults: its path, its value as written, its comment.

    A section has no value; an item of a list has the path of the list. Lines that are a comment
    alone belong to the line above.
    """
    open_keys: list[tuple[int, str]] = []
    row: tuple[Keys, str, str] | None = None
    for line in source.splitlines():
        text, _, comment = line.partition(" #")
        if row and not text.strip() and comment:
            row = (*row[:2], f"{row[2]} {comment.strip()}")
        matched = defaults.LINE.fullmatch(text.rstrip())
        if matched is None:
            continue
        if row:
            yield row
        indent, key = len(matched["indent"]), matched["key"]
        while key and open_keys and open_keys[-1][0] >= indent:
            open_keys.pop()
        if key:
            open_keys.append((indent, key))
        row = tuple(name for _, name in open_keys), matched["value"] or "", comment.strip()
    if row:
        yield row


def page() -> str:
    """Write the page."""
    lines = [HEAD.rstrip()]
    for keys, value, comment in explanations(defaults.FILE.read_text("utf-8")):
        if len(keys) == 1:
            lines += ["", f"## {keys[0]}", "", *([comment, ""] if comment else [])]
            lines += ["| setting | default | what it does |", "| --- | --- | --- |"]
            continue
        shown = f"`{value}`" if value else ""
        lines.append(f"| `{'.'.join(keys)}` | {shown} | {comment.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"
