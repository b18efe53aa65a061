"""A record of which a prompt shows a part, read whole: by its place, or by the reference shown."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import tzinfo
from pathlib import Path

from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError, RecordMissingError
from bumble.index import chunks
from bumble.records import base, kinds, session_files
from bumble.records.kind import RecordView
from bumble.records.sessions import Session

MESSAGE = session_files.SESSION.passages  # the kind of a passage of a conversation


def reference(kind: str, record_id: str) -> str:
    """Return the name by which the whole of a record can be asked for.

    Args:
        kind: Of its passages: `message`.
        record_id: As the index has it.
    """
    return session_files.reference(f"{kind} {record_id}")


def read(entity: Entity, zone: tzinfo, kind: str, record_id: str, path: str) -> RecordView | None:
    """Return a record from its file; None if it is gone since it was indexed.

    Args:
        entity: Whose record.
        zone: The entity's time zone.
        kind: Of its passages.
        record_id: As the index has it.
        path: Of its file, relative to the entity's folder.
    """
    with suppress(RecordInvalidError):
        views = _views(entity.root / path, kind, zone)
        return next((view for view in views if view.id == record_id), None)
    return None


def find(
    entity: Entity, zone: tzinfo, shown_reference: str, readers: Collection[str] | None = None
) -> RecordView:
    """Return the record that a reference names; broken files are passed over.

    Args:
        entity: Whose record.
        zone: The entity's time zone.
        shown_reference: As a prompt shows it.
        readers: Ids of all who will meet it; what is not for them is not there. None: the owner of
            the folder, who may read every file.

    Raises:
        RecordMissingError: If there is none.
    """
    wanted = shown_reference.strip().strip("`[]").removeprefix("ref").strip().lower()
    for kind in kinds.KINDS:
        for file in kind.paths(entity) if kind.passages else ():
            with suppress(RecordInvalidError):
                for view in _views(file, kind.passages, zone):
                    allowed = readers is None or base.may_read(view.origin.audience, readers)
                    if allowed and reference(kind.passages, view.id) == wanted:
                        return view
    raise RecordMissingError("text with the reference", shown_reference, None)


def _views(file: Path, kind: str, zone: tzinfo) -> Iterator[RecordView]:
    if kind == MESSAGE:
        yield from messages(session_files.load(file))
    else:
        yield from next(entry for entry in kinds.KINDS if entry.passages == kind).read(file, zone)


def messages(session: Session) -> Iterator[RecordView]:
    """Yield what was said in a conversation, a record a message; results of tools are left out."""
    for message in chunks.turns(session):
        origin = base.Provenance(trust=message.trust, audience=session.people)
        yield RecordView(message.id, message.text, origin, people=session.people, at=message.at)


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
        with suppress(RecordMissingError):
            blob = session_files.read_blob(entity.sessions, talk.id, wanted)
            return blob.decode(errors="replace")
    texts = [message.text for talk in talks for message in talk.messages]
    shown = {session_files.reference(text): text for text in texts}
    found = shown.get(wanted[: session_files.REFERENCE_CHARS])
    if found is None:
        near = base.nearest(wanted, list(shown))
        raise RecordMissingError("text with the reference", reference, near)
    return found


def everywhere(entity: Entity, reference: str) -> str:
    """Return the text that a reference names, from whichever conversation has it.

    Raises:
        RecordMissingError: If none has.
    """
    files = reversed(session_files.paths(entity.sessions))
    return original(entity, reference, *map(session_files.load, files))
