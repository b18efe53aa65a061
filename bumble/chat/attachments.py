"""Files that a message names: `@notes/plan.md` puts the file beside the message, as data.

Only below the folder the person is in, only text, only so much; read, never written, and never
part of the transcript. What can't be read is said and fails nothing.
"""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

from bumble.errors import UnsafePathError
from bumble.files import disk
from bumble.llm import prompts

MOST_FILES, MOST_BYTES = 4, 12_000  # `@path` in a message; of all of them together
_REFERENCE = re.compile(r"(?<![\w@/.])@((?:[\w~-]|[./](?=\S))[\w./~-]*)")
_ENDS = ".,"  # of the sentence, not of the name


class Attached(Struct, frozen=True):
    """What goes with a message."""

    text: str = ""  # for the prompt
    notes: tuple[str, ...] = ()  # what the person should hear


def read(message: str, folder: Path) -> Attached:
    """Read the files that a message points to.

    Args:
        message: What was said.
        folder: Where its paths begin.
        config: How many files, and how many bytes of them together.
    """
    names = list(dict.fromkeys(name.rstrip(_ENDS) for name in _REFERENCE.findall(message)))
    parts: list[str] = []
    notes: list[str] = []
    left = MOST_BYTES
    for name in names:
        content = _file(name, folder)
        if isinstance(content, str):
            if _is_path(name):  # else it may be somebody's name
                notes.append(f"@{name} {content}")
        elif len(parts) == MOST_FILES:
            notes.append(f"@{name} was left out: {len(parts)} files go with a message at most")
        elif left <= 0:
            notes.append(f"@{name} was left out: the files before it are as long as may be")
        else:
            text, cut = _text(content, left)
            if text is None:
                notes.append(f"@{name} is no text")
                continue
            if cut:
                text += "\n[cut here]"
                notes.append(f"@{name} is longer than may go with a message; it was cut")
            left -= len(text.encode())
            parts.append(prompts.tagged("file", text, f' name="{prompts.harmless(name)}"'))
    return Attached("\n".join(parts), tuple(notes))


def _file(name: str, folder: Path) -> Path | str:
    """Return the file that is meant, or why there is none."""
    try:
        path = disk.inside(folder, name)
    except UnsafePathError:
        return "leads out of the folder you are in; it was not read"
    if path.is_dir():
        return "is a folder"
    return path if path.is_file() else "is not there"


def _is_path(name: str) -> bool:
    return "/" in name or "." in name


def _text(path: Path, limit: int) -> tuple[str | None, bool]:
    """Read the beginning of a file, and whether there is more; None if it is no text."""
    try:
        with path.open("rb") as stream:
            data = stream.read(limit + 1)
    except OSError:
        return None, False
    whole = data[:limit]
    if b"\0" in whole:
        return None, False
    try:
        return whole.decode(), len(data) > limit
    except UnicodeDecodeError as error:
        if len(data) > limit and error.start >= len(whole) - 3:  # cut within a character
            return whole[: error.start].decode(), True
        return None, False
