"""Records of every kind in a folder, and how a clone goes on in each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

from bumble.entity.folder import Entity
from bumble.records import kinds
from bumble.records.kind import Kind
from tests.support.kind_samples import record
from tests.support.parsers import MORE

ZONE = ZoneInfo("Europe/Lisbon")
FIRST, OURS, OTHERS = "I hide marzipan.", "I hide oak planks.", "I hide a boat."
SINGLE = [kind for kind in kinds.KINDS if kind.is_file or kind.name in ("session", "handover")]
MANY = [kind for kind in kinds.KINDS if kind not in SINGLE]


def place(folder: Path, kind: Kind, text: str, name: str = "") -> Path:
    """Write a record of a kind; a name makes it another one of the same kind."""
    path, source = record(kind.name, text)
    file = folder / path
    if name:
        file = file.parent.with_name(name) / file.name if kind.name == "skill" else file
        file = file if kind.name == "skill" else file.with_stem(f"{kind.prefix and 'x_'}{name}")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(MORE.get(kind.name, source))
    return file


def grown(folder: Path, kind: Kind, text: str, number: int) -> None:
    """Let a clone go on in a file that both have: a line of its own, or other words."""
    file = folder / record(kind.name, FIRST)[0]
    source = file.read_text()
    more = {
        "knowledge": f"\n## Of {number}\n\n{text}\n",
        "journal": f"\n## 2026-05-24 1{number}:00:00\n\n{text}\n",
        "scratch": f"- 2026-05-24 1{number}:00 [experience] {text}\n",
        "working": f"- {text}\n",
    }
    if kind.name in more:
        file.write_text(source + more[kind.name])
    elif kind.name == "session":
        line = source.splitlines(keepends=True)[-1]
        file.write_text(source + line.replace("msg_1", f"msg_2{number}").replace(FIRST, text))
    elif kind.name == "state":
        file.write_text(f"{source}x_{number}: {number}\n")
    elif kind.name in ("soma", "self_model"):
        file.write_text(f"{source}x_{number}: {{a: {number}}}\n")
    elif number == 1:  # one side alone: what both changed differently is a person's to settle
        file.write_text(source.replace(FIRST, text))


def unread(entity: Entity) -> Iterator[str]:
    """Yield what can't be read, or holds the two sides of a merge."""
    for kind in kinds.KINDS:
        for path in kind.paths(entity):
            kind.read(path, ZONE)
            if "<<<<<<<" in path.read_text():
                yield entity.relative(path)
