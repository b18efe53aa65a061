"""The workspaces of OpenClaw and Hermes: who the agent is, what it remembers, its skills.

What tells the agent how to work in that program is left out: here it would be an instruction.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import PurePosixPath

from bumble.bridges.imports import lenient, notes
from bumble.bridges.imports.ledger import OTHER, Fact, ImportContext, ImportedPersona, Item, LeftOut
from bumble.bridges.imports.source import ImportSource

OPENCLAW, HERMES = "OpenClaw", "Hermes"
SOUL = ("SOUL.md", "IDENTITY.md")
MEMORY = ("MEMORY.md", "USER.md")
INSTRUCTIONS = ("AGENTS.md", "TOOLS.md", "HEARTBEAT.md", "BOOTSTRAP.md", "BOOT.md")
SEPARATOR = "§"  # between the entries of Hermes's memory


def fits_openclaw(source: ImportSource) -> bool:
    """Whether the files are an OpenClaw workspace."""
    own = source.matching(*INSTRUCTIONS, "IDENTITY.md")
    return bool(source.matching(*SOUL)) and bool(own) and not fits_hermes(source)


def fits_hermes(source: ImportSource) -> bool:
    """Whether the files are Hermes's folder."""
    memories = source.below("memories/MEMORY.md", "memories/USER.md", "*/memories/MEMORY.md")
    return bool(memories)


def read(source: ImportSource, context: ImportContext, *, origin: str) -> Iterator[Item]:
    """Read the workspaces in a folder; each has a SOUL.md or a MEMORY.md at its top."""
    tops = _tops(source, SOUL)
    souls = [notes.load(source, name) for name in tops]
    yield from (note for note in souls if isinstance(note, LeftOut))
    bodies = [note for note in souls if isinstance(note, notes.NoteFile) and note.body.strip()]
    if bodies:
        text = "\n\n".join(note.body.strip() for note in bodies)
        yield ImportedPersona(_name(bodies), text)
    for name in source.matching("*.md"):
        if name not in tops:
            yield from _note(source, name, origin)
    rest = [name for name in source.names if not name.casefold().endswith(".md")]
    if rest:
        yield LeftOut(rest[0], "files that are no Markdown", count=len(rest))


read_openclaw = partial(read, origin=OPENCLAW)
read_hermes = partial(read, origin=HERMES)


def _tops(source: ImportSource, names: tuple[str, ...]) -> list[str]:
    """Return the files of some names that lie nearest to the top, in the order of the names."""
    found = source.matching(*names)
    depth = min((name.count("/") for name in found), default=0)
    nearest = {PurePosixPath(name).name: name for name in found if name.count("/") == depth}
    return [nearest[name] for name in names if name in nearest]


def _name(souls: list[notes.NoteFile]) -> str:
    """Find what the agent is called: OpenClaw keeps it as `- **Name:** Molty`."""
    for note in souls:
        for line in note.body.splitlines()[:40]:
            label, _, value = line.replace("*", "").strip(" -").partition(":")
            if label.strip().casefold() == "name" and value.strip():
                return lenient.text(value).strip()[:80]
    return ""


def _note(source: ImportSource, name: str, origin: str) -> Iterator[Item]:
    place = PurePosixPath(name)
    if place.name in INSTRUCTIONS:
        yield LeftOut(name, "instructions for another program")
        return
    note = notes.load(source, name)
    if isinstance(note, LeftOut):
        yield note
    elif place.name == "SKILL.md":
        yield notes.recipe(note)
    elif "skills" in place.parts[:-1]:
        yield LeftOut(name, "files beside a skill")
    elif place.name in MEMORY:
        yield from _remembered(note, origin)
    else:
        yield from notes.dated(note, OTHER, origin)


def _remembered(note: notes.NoteFile, origin: str) -> Iterator[Item]:
    if f"\n{SEPARATOR}\n" not in note.body:
        yield from notes.facts(note, origin, OTHER)
        return
    parts = [part.strip() for part in note.body.split(f"\n{SEPARATOR}\n") if part.strip()]
    title = "About the person" if note.title == "USER" else "Memory"
    yield Fact(f"{title} ({origin})", "\n".join(f"- {part}" for part in parts))
