"""Amending a portrait by lines: edits put in or replaced, all others byte for byte.

Pure functions; knows nothing of models or people.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from bumble import files
from bumble.text import markdown
from bumble.text.words import one_line

THERE_ALREADY = "the line is there already"


class LineEdit(Struct, frozen=True):
    """One line to put into a text, or to replace in it."""

    op: Literal["insert", "replace"]
    line: int  # counted from 1, blank lines left out; what is inserted goes behind it, 0: on top
    text: str  # one line


class Amendment(Struct, frozen=True):
    """A text after its edits, with those that were applied and those that were refused."""

    text: str
    applied: tuple[LineEdit, ...]
    refused: tuple[tuple[LineEdit, str], ...]  # with the reason


def limit(text: str, max_share: float, max_lines: int) -> int:
    """Return how many lines of a text may be touched: a share of them, or so many."""
    return max(int(len(numbered(text)) * max_share), max_lines)


def numbered(text: str) -> list[str]:
    """Return the lines that edits count: those that are not blank, without their ends."""
    return [line.rstrip("\r\n") for line in markdown.lines(text) if line.strip()]


def apply(text: str, edits: Sequence[LineEdit], most: int) -> Amendment:
    """Apply edits, each to the text as it was; what can't be is refused, not guessed at.

    Args:
        text: Any text.
        edits: In the order of their importance.
        most: How many lines may be touched: replaced or put in.
    """
    own = markdown.lines(text)
    places = [n for n, line in enumerate(own) if line.strip()]
    line_keys = {files.same_name(line) for line in own}
    replaced: dict[int, str] = {}
    behind: dict[int, list[str]] = {}
    applied, refused = list[LineEdit](), list[tuple[LineEdit, str]]()
    for edit in edits:
        line = one_line(edit.text)
        problem = _problem(edit, line, len(places), line_keys, replaced, len(applied) < most)
        if problem:
            refused.append((edit, problem))
            continue
        applied.append(edit)
        line_keys.add(files.same_name(line))
        if edit.op == "replace":
            replaced[edit.line] = line
        else:
            behind.setdefault(edit.line, []).append(line)
    return Amendment(_joined(own, places, replaced, behind), tuple(applied), tuple(refused))


def _problem(
    edit: LineEdit, line: str, count: int, line_keys: set[str], replaced: dict[int, str], room: bool
) -> str:
    if not line:
        return "it is empty"
    first = 0 if edit.op == "insert" else 1
    if not first <= edit.line <= count:
        return f"there is no line {edit.line}"
    if files.same_name(line) in line_keys:
        return THERE_ALREADY
    if edit.op == "replace" and edit.line in replaced:
        return f"line {edit.line} was replaced already"
    return "" if room else "more lines than one pass may touch"


def _joined(
    own: Sequence[str],
    places: Sequence[int],
    replaced: dict[int, str],
    behind: dict[int, list[str]],
) -> str:
    newline = markdown.newline_of("".join(own))
    out = [f"{line}{newline}" for line in behind.get(0, ())]
    number = {place: n for n, place in enumerate(places, 1)}
    for place, line in enumerate(own):
        n = number.get(place, 0)
        end = line[len(line.rstrip("\r\n")) :]
        out.append(f"{replaced[n]}{end}" if n in replaced else line)
        if n and n in behind:
            if not end:
                out[-1] += newline
            out += [f"{new}{newline}" for new in behind[n]]
            if not end:
                out[-1] = out[-1].removesuffix(newline)
    return "".join(out)
