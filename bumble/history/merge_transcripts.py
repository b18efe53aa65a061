"""Merging transcripts: the lines of both sides, each once; words that were forgotten stay so.

Lines are only ever added, but for forgetting, which empties them. So a line of both sides stands
once, and of two with one id the emptied one. New lines stand in the order of a transcript, each
behind the message it stood behind. Which side is whose makes no difference.
"""

from __future__ import annotations

from datetime import UTC, datetime

from bumble.history.merge_lines import Merged
from bumble.records import jsonl, sessions
from bumble.records.jsonl import JsonLine
from bumble.records.merge_rules import moment

Key = tuple[object, str]
NOTHING: Key = (None, "")  # what the first line follows


def merge(base: str, current: str, incoming: str) -> Merged:
    """Join two versions of a transcript.

    Raises:
        ValueError: If a side can't be read.
    """
    before = _by_key(base) if base.strip() else {}
    sides = [_by_key(text) for text in sorted((current, incoming))]
    joined: dict[Key, tuple[JsonLine, str]] = {}
    for key in (*before, *sides[0], *sides[1]):  # a line that a side took out was cut off there
        versions = [side[key] for side in sides if key in side]
        if versions and key not in joined:
            joined[key] = _chosen(before.get(key), versions)
    behind = _behind(sides[0]) | _behind(sides[1])
    behind |= _behind({key: joined[key] for key in joined if key in before})
    in_line = sessions.in_order(
        {key: behind[key] for key in joined}, lambda key: _rank(joined[key])
    )
    old = [key for key in joined if key in before]  # where they stand: lines are only added
    new = [key for key in in_line if key not in before]
    text = "".join(f"{joined[key][1]}\n" for key in (*old, *new))
    sessions.parse(text)
    return Merged(text, True)


def _by_key(text: str) -> dict[Key, tuple[JsonLine, str]]:
    """Return the lines of a side by what tells them apart, each with its source."""
    sessions.parse(text)
    sources = text.removeprefix("\ufeff").split("\n")
    lines, _ = jsonl.read(text)
    named = ((jsonl.key(line), line) for line in jsonl.unique(lines))
    return {key: (line, sources[line.number - 1].rstrip("\r")) for key, line in named}


def _chosen(
    before: tuple[JsonLine, str] | None, versions: list[tuple[JsonLine, str]]
) -> tuple[JsonLine, str]:
    """Return the version that stands: an emptied one, else one that a side changed."""
    emptied = [version for version in versions if jsonl.is_emptied(version[0].data)]
    changed = [version for version in versions if before is None or version[1] != before[1]]
    return max(emptied or changed or versions, key=lambda version: version[1])


def _behind(side: dict[Key, tuple[JsonLine, str]]) -> dict[Key, Key]:
    """Return which line each follows: the message it names, else the one it stands behind."""
    behind: dict[Key, Key] = {}
    last = next(iter(side), NOTHING)
    for key, (line, _) in side.items():
        named = ("message", str(line.data.get("after", "")))
        behind[key] = NOTHING if key == last else named if named in side else last
        last = key if key[0] == "message" else last
    return behind


def _rank(line: tuple[JsonLine, str]) -> sessions.Rank:
    """Order lines as a transcript does; what was noted of a message stays with it."""
    data = line[0].data
    at = moment(data.get("at")) or datetime.min.replace(tzinfo=UTC)
    return sessions.rank(str(data.get("role", "")), at, str(data.get("id", line[1])))
