"""Merging texts line by line, as git does, with both sides left in where both changed.

What one side changed and the other took out stays.
"""

from __future__ import annotations

import re

from msgspec import Struct

from bumble.files import git, unfinished
from bumble.text import merge_marks


class Merged(Struct, frozen=True):
    """What two versions become."""

    text: str
    clean: bool  # no markers were left


def merge(base: str, current: str, incoming: str) -> Merged:
    """Join what each side changed of a base."""
    return _merged(base, current, incoming)


def union(base: str, current: str, incoming: str) -> Merged:
    """Join lists of lines under headings, as git's union merge does: nothing can clash."""
    return _merged(base, current, incoming, "--union")


def _merged(base: str, current: str, incoming: str, *options: str) -> Merged:
    if current == incoming or incoming == base:
        return Merged(current, True)
    if current == base:
        return Merged(incoming, True)
    sides = {"ours": current, "base": base, "theirs": incoming}
    with unfinished.temporary_folder() as folder:
        for name, text in sides.items():
            (folder / name).write_bytes(text.encode(errors="surrogateescape"))
        labels = [word for name in sides for word in ("-L", name)]
        result = git.merge_file(folder, "-p", *options, *labels, *sides)
    if 0 <= result.code < git.NOT_INSTALLED:
        if any(map(merge_marks.looks_marked, sides.values())):  # whose mark is whose: unknown
            return Merged(result.text, result.code == 0)
        text = merge_marks.replaced(result.text, _settled, fenced=True)
        return Merged(text, result.code == 0 or not merge_marks.has_any(text))
    markers = f"<<<<<<< ours\n{_ended(current)}=======\n{_ended(incoming)}>>>>>>> theirs\n"
    return Merged(markers, False)


def merge_notes(base: str, current: str, incoming: str) -> Merged:
    """Join lists of which each line stands for itself: nothing can clash."""
    before, ours, added = (
        _ended(text).splitlines(keepends=True) for text in (base, current, incoming)
    )
    left = [line for line in ours if line in added or line not in before]
    new = [line for line in added if line not in before and line not in ours]
    return Merged("".join((*left, *new)), True)


def _settled(clash: re.Match[str]) -> str:
    """Keep what one side changed and the other took out; else both sides, with their marks."""
    return clash[0] if clash[1] and clash[3] else clash[1] or clash[3]


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"
