"""The whole of a text that a prompt shows cut or cleared, by its reference."""

from __future__ import annotations

from collections.abc import Iterable

from bumble.entity.folder import Entity
from bumble.errors import RecordMissingError
from bumble.prompt import transcript
from bumble.records import base, session_files
from bumble.records.session_files import REFERENCE_CHARS
from bumble.records.sessions import Session


def original(entity: Entity, reference: str, *talks: Session) -> str:
    """Return the text that a reference names, byte for byte.

    Args:
        entity: Whose conversations.
        reference: The beginning of the text's SHA-256, as a marker gives it.
        talks: The conversations to look into.

    Raises:
        RecordMissingError: If none of them holds such a text.
    """
    wanted = reference.strip().strip("`[]").removeprefix("ref").strip().lower()
    for talk in talks:
        try:
            blob = session_files.read_blob(entity.sessions, talk.id, wanted)
        except RecordMissingError:
            continue
        return blob.decode(errors="replace")
    references: list[str] = []
    for talk in talks:
        for message in talk.messages:
            name = transcript.reference(message.text)
            if len(wanted) >= REFERENCE_CHARS and wanted.startswith(name):
                return message.text
            references.append(name)
    raise RecordMissingError("text with the reference", reference, base.nearest(wanted, references))


def everywhere(entity: Entity, reference: str) -> str:
    """Return the text that a reference names, from whichever conversation has it.

    Raises:
        RecordMissingError: If none has.
    """
    return original(entity, reference, *_newest_first(entity))


def _newest_first(entity: Entity) -> Iterable[Session]:
    for file in reversed(session_files.paths(entity.sessions)):
        yield session_files.load(file)
