"""What may be typed next, for the shell's completion: quick, so nothing heavy is imported here.

Words of the commands come from `words.json`, values from the names of the entity's files, and the
titles of its knowledge. What a name holds is never run: it is quoted for the shell that asks.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bumble import patterns

WORDS = Path(__file__).with_name("words.json")
ENTITY_FILE = "entity.yaml"
MAX_VALUES = 200
MAX_BOOK_BYTES = 4_000_000
HELD = ".git/refs/heads/bumble-review"
GENERATED = patterns.compile(r"(?s:.*)-(?=[a-z]+_[0-9A-HJKMNP-TV-Z]{26}\Z)")  # words before an id
_SPECIAL = patterns.compile(r"""([^\w@%+=:,./-])""")
_IN_DOUBLE = patterns.compile(r"""([\\"$`])""")
_MARKED = patterns.compile(r"\s*\\?\[\s*locked\s*\\?\]\s*", re.IGNORECASE)


def main(argv: Sequence[str]) -> int:
    """Print what may stand in the place of the last word, a line each.

    Args:
        argv: The shell's name, then the words behind `bumble`, as they were typed in bash, and
            without their quotation marks in others.
    """
    shell, *typed = argv
    typed = _joined(typed) if shell == "bash" else typed
    *before, last = typed or [""]
    quote = last[:1] if shell == "bash" and last[:1] in "'\"" and last else ""
    before = [_unquoted(word) for word in before] if shell == "bash" else before
    start = _unquoted(last) if shell == "bash" else last
    lead, values = offers(before, start)
    fitting = [word for word in values if word.startswith(start.removeprefix(lead))]
    lead = "" if shell == "bash" else lead  # `=` ends a word there
    for word in dict.fromkeys(fitting[:MAX_VALUES]):
        if word.isprintable() and not any("\ud800" <= char <= "\udfff" for char in word):
            shown = _quoted(word, quote) if shell == "bash" else lead + word
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

        return sorted(path.name for path in _below(Shell.of_process().weights, ".", "*/"))
    root = _root(entity)
    if root is None:
        return []
    if takes == "knowledge":
        return _titles(root)
    if takes == "held":
        return sorted(path.name for path in _below(root, HELD, "*"))
    explained = [kind for kind in words["ids"] if kind in words["values"]["explained"]]
    kinds = explained if takes == "id" else [takes]
    return [name for kind in kinds for name in _names(root, kind, words)]


def _root(entity: str) -> Path | None:
    """Return the entity's folder that the other commands would take."""
    named = entity or os.environ.get("BUMBLE_ENTITY", "")
    try:
        place = Path(named).expanduser() if named else Path.cwd()
        tops = (place,) if named else (place, *place.parents)
        return next((top for top in tops if (top / ENTITY_FILE).is_file()), None)
    except (OSError, RuntimeError, ValueError):
        return None


def _below(root: Path, folder: str, pattern: str) -> list[Path]:
    """Return files of a folder; none of one that leads out of the entity's."""
    top = root / folder
    if not f"{os.path.realpath(top)}{os.sep}".startswith(os.path.realpath(root) + os.sep):
        return []
    try:
        return list(top.glob(pattern))
    except OSError:
        return []


def _names(root: Path, kind: str, words: dict[str, Any]) -> list[str]:
    """Return what the files of a kind, or their folders, are named; by ids, the newest first."""
    names = []
    for place in words["places"].get(kind, ()):
        folder, _, pattern = place.partition("/")
        in_folder = not Path(pattern).name.startswith("*")
        paths = _below(root, folder, pattern)
        stems = [path.parent.name if in_folder else path.stem for path in paths]
        names += [GENERATED.sub("", stem) if kind in words["ids"] else stem for stem in stems]
    return sorted(names, reverse=kind in words["ids"])


def _titles(root: Path) -> list[str]:
    """Return the titles of knowledge; those in code are none."""
    book = root / "knowledge.md"
    try:
        if book.is_symlink() or not book.is_file() or book.stat().st_size > MAX_BOOK_BYTES:
            return []
        text = book.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    titles, fence = [], ""
    for line in text.splitlines():
        mark = line.lstrip()[:3]
        if mark in ("```", "~~~"):
            fence = "" if fence == mark else fence or mark
        elif line.startswith("## ") and not fence:
            titles.append(_MARKED.sub("", line[3:].strip()))
    return titles


def _joined(typed: Sequence[str]) -> list[str]:
    """Put `--kind`, `=` and `belief` together again, which bash takes apart."""
    words: list[str] = []
    for word in typed:
        if word == "=" and words and words[-1].startswith("--"):
            continue
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
