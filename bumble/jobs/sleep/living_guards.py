"""Guards of working memory: a rewrite that loses too much, or floods it, is rejected, with why."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bumble.body import noise
from bumble.records import scratch, working
from bumble.records.working import MemoryLine

LONG_CHARS, LEAST_SHARE = 2000, 0.5  # a page this long may not lose more than half
LEAST_SUBSTANCE = 50  # characters of letters and figures
MOST_POINTERS = 20
LEAST_BOND = 0.30  # of the words about those it is close to, by Jaccard
BOND = "Bond"


def problem(before: str, after: str, pointers: int) -> str | None:
    """Return why a rewrite may not stand; None if it may.

    Args:
        before: The text of the file.
        after: As it would become.
        pointers: How many links to records the rewrite wants.
    """
    old_lines, new_lines = working.own(before), working.own(after)
    substance = sum(len(re.findall(r"\w", line.text)) for line in new_lines)
    if substance < LEAST_SUBSTANCE:
        return f"it has {substance} characters of substance, fewer than {LEAST_SUBSTANCE}"
    if pointers > MOST_POINTERS:
        return f"it has {pointers} pointers, more than {MOST_POINTERS}"
    if not old_lines:
        return None  # the first time it only appends
    return _shrinks(before, after, old_lines, new_lines) or _forgets_bond(before, after)


def _shrinks(
    before: str, after: str, old_lines: Iterable[MemoryLine], new_lines: Iterable[MemoryLine]
) -> str | None:
    """Compare the pages, and what the dream itself wrote of them: an owner's text hides no loss."""
    sizes = [
        (len(_bare(before)), len(_bare(after))),
        (sum(len(line.text) for line in old_lines), sum(len(line.text) for line in new_lines)),
    ]
    for old, new in sizes:
        if old > LONG_CHARS and new < old * LEAST_SHARE:
            return f"only {new:,} of {old:,} characters would be left, less than {LEAST_SHARE:.0%}"
    return None


def _bare(source: str) -> str:
    return "\n".join(scratch.shown(row) for row in source.splitlines())


def _forgets_bond(before: str, after: str) -> str | None:
    old, new = (
        " ".join(line.text for line in working.parse(text) if line.section == BOND)
        for text in (before, after)
    )
    likeness = noise.jaccard(old, new)
    if noise.words(old) and likeness < LEAST_BOND:
        return f"it keeps {likeness:.0%} of the words of {BOND}, less than {LEAST_BOND:.0%}"
    return None
