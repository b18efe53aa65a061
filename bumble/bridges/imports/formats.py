"""The formats that can be imported, and which of them some files are, by what is in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from bumble.bridges.imports import (
    agents,
    card,
    chatgpt,
    claude,
    foreign,
    gemini,
    grok,
    items,
    notes,
)
from bumble.bridges.imports.source import ImportSource
from bumble.entity.folder import ENTITY_FILE
from bumble.errors import ImportInvalidError


class Format(Struct, frozen=True):
    """A form in which another program keeps what bumble imports."""

    name: str  # as `--format` takes it
    title: str  # for people
    fits: Callable[[ImportSource], object]
    read: Callable[[ImportSource, items.ImportContext], Iterator[items.Item]]
    holds: str = "conversation"  # what most of it is


def _of_files(name: str, title: str, *files: foreign.Files) -> Format:
    """Return a format of JSON files whose items are all that is read."""
    return Format(
        name,
        title,
        lambda source: any(part.shown(source) for part in files),
        lambda source, _: foreign.read(source, *files),
    )


# In the order in which they are tried: the surer sign first.
FORMATS = (
    _of_files("chatgpt", "ChatGPT", chatgpt.FILES),
    Format("claude", "Claude", claude.fits, claude.read),
    _of_files("grok", "Grok", grok.FILES),
    Format("gemini", "Gemini", gemini.fits_gemini, gemini.read_gemini),
    Format("card", "a character card", card.fits, card.read),
    Format("lorebook", "a lorebook", card.fits_lorebook, card.read_lorebook),
    Format("obsidian", "an Obsidian vault", notes.fits_vault, notes.read_vault, "note"),
    Format("hermes", "Hermes", agents.fits_hermes, agents.read_hermes),
    Format("openclaw", "OpenClaw", agents.fits_openclaw, agents.read_openclaw),
    Format("letta", "Letta", agents.fits_letta, agents.read_letta),
    Format("claude-code", "Claude Code", agents.fits_claude_code, agents.read_claude_code),
)
BY_NAME = {form.name: form for form in FORMATS}


def detect(source: ImportSource) -> Format:
    """Return the format that some files are in.

    Raises:
        ImportInvalidError: If it is none that bumble knows.
    """
    if not source.members:
        raise ImportInvalidError(source.path, "there is nothing in it that can be read")
    if not any(source.head(name, 1) for name in source.names):
        raise ImportInvalidError(source.path, "it is empty")
    if source.matching("*.zip") == source.names:
        raise ImportInvalidError(source.path, f"{source.names[0]} in it is packed; import that")
    for form in FORMATS:
        if form.fits(source):
            return form
    _refuse_broken(source)
    if source.matching(ENTITY_FILE):
        why = "it is an entity itself: talk to it with -e; `bumble new --from` takes its archive"
        raise ImportInvalidError(source.path, why)
    if source.matching("*.md"):
        why = (
            "bumble wrote it itself, to be read"
            if source.ours
            else "is it a folder of notes? Then say --format obsidian, or the program they are from"
        )
        raise ImportInvalidError(source.path, f"no format shows in it; {why}")
    why = f"no format that bumble knows shows in it; `--format` takes {', '.join(BY_NAME)}"
    raise ImportInvalidError(source.path, why)


def _refuse_broken(source: ImportSource) -> None:
    """Say of a single file of JSON that nothing fits where it breaks.

    Raises:
        ImportInvalidError: If it does.
    """
    [name, *others] = source.names
    if others or not name.casefold().endswith((".json", ".af")):
        return
    loaded = foreign.load(source, name)
    if isinstance(loaded, items.LeftOut):
        raise ImportInvalidError(source.path, loaded.why)
    if not loaded:
        raise ImportInvalidError(source.path, "there is nothing in it")
