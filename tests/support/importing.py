"""What a reader of another program's files makes of them, for tests to look at."""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo

from bumble.bridges.imports import formats, source
from bumble.bridges.imports.items import Fact, ImportContext, ImportedTalk, Item, LeftOut

CONTEXT = ImportContext(ZoneInfo("Europe/Lisbon"), str)


def read_in(path: Path, name: str = "") -> tuple[str, list[Item]]:
    """Read an import: the format that it is taken for, and what is in it."""
    with source.opened(path) as files:
        form = formats.BY_NAME[name] if name else formats.detect(files)
        return form.name, [*form.read(files, CONTEXT), *files.left_out]


def talks(read: list[Item]) -> list[ImportedTalk]:
    return [item for item in read if isinstance(item, ImportedTalk)]


def facts(read: list[Item]) -> dict[str, str]:
    return {item.title: item.text for item in read if isinstance(item, Fact)}


def said(read: list[Item]) -> list[tuple[str, str, str]]:
    return [(turn.by, turn.name, turn.text) for talk in talks(read) for turn in talk.turns]


def left(read: list[Item], *, broken: bool | None = None) -> list[str]:
    return [
        item.why for item in read if isinstance(item, LeftOut) and broken in (None, item.broken)
    ]
