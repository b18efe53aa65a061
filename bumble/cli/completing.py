"""What may be typed next, for the shell's completion: quick, so nothing heavy is imported here.

Words of the commands come from `words.json`, values from the entity's files, which alone take
rooms below. What a name holds is never run: it is quoted for the shell that asks.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bumble import patterns

WORDS = Path(__file__).with_name("words.json")
ENTITY_FILE = "entity.yaml"
MAX_VALUES = 200
_SPECIAL = patterns.compile(r"""([^\w@%+=:,./-])""")
_IN_DOUBLE = patterns.compile(r"""([\\"$`])""")


def main(argv: Sequence[str]) -> int:
    """Print what may stand in the place of the last word, a line each.

    Args:
        argv: The shell's name, then the words behind `bumble`, as they were typed in bash, and
            without their quotation marks in others.
    """
    is_bash, typed = argv[0] == "bash", argv[1:]
    *before, last = (_joined(typed) if is_bash else typed) or [""]
    quote = last[:1] if is_bash and last.startswith(("'", '"')) else ""
    meant = _unquoted if is_bash else str
    lead, values = offers([meant(word) for word in before], meant(last))
    start = meant(last).removeprefix(lead)
    fitting = [word for word in values if word.startswith(start) and word.isprintable()]
    for word in dict.fromkeys(fitting[:MAX_VALUES]):
        shown = _quoted(word, quote) if is_bash else lead + word  # `=` ends a word in bash
        if shown:
            sys.stdout.buffer.write(f"{shown}\n".encode())
    return 0


def offers(before: Sequence[str], start: str) -> tuple[str, Iterable[str]]:
    """Return what may follow some words: what stands before each value in its word, and the values.

    Args:
        before: The whole words.
        start: What there is of the next one.
    """
    words: dict[str, Any] = json.loads(WORDS.read_bytes())
    path, arguments, entity, takes, ended = "", 0, "", "", False
    for word in before:
        here = words["commands"][path]
        if takes:
            entity = word if takes == "folder" else entity
            takes = ""
        elif word == "--" and not ended:
            ended = True
        elif word.startswith("-") and not ended:
            option, mark, value = word.partition("=")
            takes = "" if mark else here["options"].get(option, "")
            entity = value if option == "--entity" and mark else entity
        elif (deeper := f"{path} {word}".strip()) in words["commands"]:
            path = deeper
        else:
            arguments += 1
    here, lead = words["commands"][path], ""
    if not takes and not ended and start.startswith("-"):
        option, mark, _ = start.partition("=")
        if not mark:
            return "", here["options"]
        takes, lead = here["options"].get(option, ""), f"{option}="
    if not takes and here["commands"] and not arguments:
        return "", here["commands"]
    if not takes and here["arguments"]:
        takes = here["arguments"][min(arguments, len(here["arguments"]) - 1)]
    return lead, values(takes, words, entity)


def values(takes: str, words: dict[str, Any], entity: str) -> list[str]:
    """Return the values of a kind; none where the shell itself knows better, as of files."""
    if takes in words["values"]:
        return list(words["values"][takes])
    if takes == "zone":
        import zoneinfo

        return sorted(zoneinfo.available_timezones())
    if takes == "weights":
        from bumble.cli.process import Shell
        from bumble.models.weights import store

        return sorted({one.name for one in store.stored(Shell.of_process().weights)})
    from bumble.errors import UserError

    with suppress(UserError, OSError, RuntimeError, ValueError):
        return _named(takes, entity)
    return []


def _named(takes: str, named: str) -> list[str]:
    """Return what records of an entity are named; by ids, the newest first."""
    from bumble.entity import folder, review_branch
    from bumble.files import disk
    from bumble.records import kinds, knowledge

    named = named or os.environ.get("BUMBLE_ENTITY", "")
    root = Path(os.path.realpath(disk.expanded(Path(named)))) if named else folder.find(Path.cwd())
    if root is None or not (root / ENTITY_FILE).is_file():
        return []
    disk.enclose(root)
    entity = folder.Entity(root)
    if takes == knowledge.KNOWLEDGE.name:
        return [section.title for section in knowledge.readable(entity.knowledge).sections]
    if takes == "held":
        return review_branch.names(root)
    wanted = [
        kind
        for kind in kinds.KINDS
        if (kind.prefix and kind.explained if takes == "id" else kind.name == takes)
    ]
    return [
        kind.stem(path)
        for kind in wanted
        if not kind.is_file
        for path in sorted(kind.paths(entity), key=kind.stem, reverse=bool(kind.prefix))
    ]


def _joined(typed: Sequence[str]) -> list[str]:
    """Put `--kind`, `=` and `belief` together again, which bash takes apart."""
    words: list[str] = []
    for word in typed:
        if not (word == "=" and words and words[-1].startswith("--")):
            words.append(word)
    return [*words, ""] if typed and typed[-1] == "=" else words


def _unquoted(word: str) -> str:
    """Return what a word that is typed in bash says, quotation marks open or not."""
    if word[:1] in ("'", '"'):
        return word[1:].removesuffix(word[0]) if len(word) > 1 else ""
    return re.sub(r"\\(.)", r"\1", word)


def _quoted(word: str, quote: str) -> str:
    """Return a word as bash reads it back, behind an open quotation mark; empty if it can't."""
    if quote == "'":
        return "" if "'" in word else word
    return (_IN_DOUBLE if quote else _SPECIAL).sub(r"\\\1", word)
