"""What a nightly sync could not do, kept until the next talk, which tells it once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from bumble.cli import opening, output
from bumble.entity import installation
from bumble.errors import (
    FolderUnwritableError,
    UserError,
)
from bumble.files import disk

FILE = "cache/nightly-sync.json"


@contextmanager
def noted(opened: opening.Opened) -> Iterator[None]:
    """Have what ends the block kept for the next talk."""
    try:
        yield
    except UserError as error:
        note(opened, str(error))
        raise


def note(opened: opening.Opened, said: str) -> None:
    """Keep a sentence about the sync of this night for the next talk."""
    when = f"{opened.now:%Y-%m-%d %H:%M}"
    text = f"The sync of {when}: {said}"
    with suppress(FolderUnwritableError):  # then only who reads the scheduler's mail learns of it
        disk.write_atomic(opened.entity.private / FILE, installation.signed(FILE, text))


def forget(opened: opening.Opened) -> None:
    """Drop what was kept: it was told, or a later sync did it."""
    with suppress(FolderUnwritableError):
        disk.remove(opened.entity.private / FILE)


def tell(opened: opening.Opened) -> None:
    """Say what was kept, once; what this installation did not write is passed over."""
    raw = disk.read_cache(opened.entity.private / FILE)
    if raw is None:
        return
    with suppress(ValueError):
        output.warn(opened.shell, installation.note_in(FILE, raw))
    forget(opened)
