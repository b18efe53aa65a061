"""Finding sessions among many, and the files beside a transcript: blobs, handover brief.

A listing reads the first and the last line of each transcript, never the whole. Knows nothing of
models or prompts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar

from msgspec.structs import replace

from bumble.entity import changes
from bumble.errors import RecordInvalidError, RecordMissingError, UserError
from bumble.files import disk
from bumble.records import base, fields, jsonl, sessions
from bumble.records.kind import About, Kind, Record, RecordKind, RecordView, Told
from bumble.text import moments, printable
from bumble.text.words import one_line, shorten

HANDOVER_FILE = "handover.md"
TAIL_BYTES = 65_536
MAX_ORIGIN_CHARS = 40  # of what says where an imported conversation comes from
REFERENCE_CHARS = 12  # of a blob's SHA-256, as markers in a prompt name it
MAX_TRANSCRIPT_BYTES = 64_000_000


class SessionInfo(sessions.SessionHead, frozen=True, kw_only=True):
    """What a listing shows of a session."""

    last_at: datetime  # when the last thing was said, or the conversation ended
    ended: bool
    size_bytes: int
    imported: Mapping[str, Any] | None = None  # where it comes from, if it was had elsewhere
    last: str = ""  # id of its last message
    after: str = ""  # that of the talk with the same people before it
    waits: bool = False  # imported, and not wholly learnt from


def paths(folder: Path) -> list[Path]:
    """Return the transcripts of all sessions, oldest first."""
    return base.paths(folder, f"*/{sessions.FILE}")


def read_info(file: Path) -> SessionInfo:
    """Read what a listing needs: the first line and the end of the last.

    Raises:
        RecordInvalidError: If these lines are not a session's.
    """
    try:
        with disk.reading(file) as stream:
            first = printable.whole(json.loads(stream.readline().removeprefix(b"\xef\xbb\xbf")))
            size = stream.seek(0, 2)
            stream.seek(max(0, size - TAIL_BYTES))
            tail = stream.read()
        if not isinstance(first, dict) or first.get("type") != "session":
            raise ValueError("the first line should be the session's own")
        head = fields.read_struct(sessions.SessionHead, {**first, "id": file.parent.name})
        last = _last(tail) or _last(disk.read(file)) or first
        last_at = base.field(last, "at", datetime, head.at)
        origin = sessions.imported(first)
        if origin is not None:  # where it lies now may stand far in front of what was added
            moved = _moved(tail) or (_moved(disk.read(file)) if size > TAIL_BYTES else None)
            origin = sessions.imported(moved or first)
        waits = origin is not None and not _is_distilled(file, tail)
        after = base.field(first, "after", str, "")
    except OSError as error:
        raise RecordInvalidError(file, f"can't be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise RecordInvalidError(file, str(error), 1) from error
    ended = last.get("type") == "end"
    return SessionInfo(
        id=head.id,
        at=head.at,
        by=head.by,
        present=head.present,
        last_at=last_at,
        ended=ended,
        size_bytes=size,
        imported=origin,
        last=str(last.get("after" if ended else "id", "")),
        after=after,
        waits=waits,
    )


def _backwards(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the objects in the lines of a text, the last first; what is none is passed over."""
    end = len(data)
    while end >= 0:
        start = data.rfind(b"\n", 0, end) + 1
        if value := jsonl.loose(data[start:end]):
            yield value
        end = start - 1


def _moved(data: bytes) -> dict[str, Any] | None:
    """Return the last line that says where an imported conversation lies where it is from."""
    lines = _backwards(data) if b'"moved"' in data else ()
    return next((line for line in lines if line.get("type") == "moved"), None)


def _last(tail: bytes) -> dict[str, Any] | None:
    """Return the last whole line that was said, or the end; what cycles noted is passed over."""
    for data in _backwards(tail):
        with suppress(ValueError):  # a time that is none: reading it whole names its line
            if data.get("type") in ("message", "end"):
                base.field(data, "at", datetime)
                return data
    return None


def _is_distilled(file: Path, tail: bytes) -> bool:
    """Whether the last message of an imported conversation has been learnt from.

    Args:
        file: The transcript, which is read whole where a long last message hides in front.
        tail: Its end. A mark stands behind the messages that it is about.
    """
    mark = ""
    for part in (tail, None):
        for data in _backwards(disk.read(file) if part is None else part):
            if data.get("type") == "message":
                return mark != "" and data.get("id") == mark
            if data.get("type") == "distilled" and not mark:
                mark = str(data.get("last", ""))
    return False


def infos(folder: Path) -> Iterator[SessionInfo]:
    """Yield what a listing shows of each session that was lived here, oldest first.

    Those that were imported are no talks of the entity's: none goes on, none is silence broken.
    """
    return (info for info in _readable(folder) if info.imported is None)


def imports(folder: Path) -> Iterator[SessionInfo]:
    """Yield what a listing shows of each imported session, oldest first."""
    return (info for info in _readable(folder) if info.imported is not None)


def _readable(folder: Path) -> Iterator[SessionInfo]:
    """Yield every session that can be read.

    What can't be read is passed over: one broken transcript must not end every talk there is to
    come. `doctor` and `session list` name it.
    """
    for file in paths(folder):
        with suppress(RecordInvalidError):
            yield read_info(file)


def talks(paths: Iterable[Path]) -> Iterator[sessions.Session]:
    """Yield the sessions of some files, as they come; what can't be read is passed over, too."""
    for file in paths:
        with suppress(RecordInvalidError):
            yield load(file)


def by_recency(infos: Iterable[SessionInfo], now: datetime) -> list[SessionInfo]:
    """Put sessions in the order in which they last went on, the last of all at the end.

    One that a wrong clock has dated far ahead counts as older than all others.
    """
    return sorted(
        infos, key=lambda info: (not moments.is_ahead(info.last_at, now), info.last_at, info.id)
    )


def latest(
    folder: Path, now: datetime, fits: Callable[[SessionInfo], bool]
) -> Iterator[sessions.Session]:
    """Yield the sessions that were lived here and fit, the one that went on last first.

    What can't be read is passed over.
    """
    fitting = by_recency(filter(fits, infos(folder)), now)
    return talks(folder / info.id / sessions.FILE for info in reversed(fitting))


def newest(
    folder: Path, by: str, now: datetime, present: Collection[str] | None = None
) -> SessionInfo | None:
    """Return the session that went on last, of those a person was in from the beginning.

    One that another was begun after, and in which nothing was said since, is none, whatever the
    clocks said.

    Args:
        folder: Of all sessions.
        by: The person.
        now: The present.
        present: The others who must be in it, and nobody else; None: whoever is.
    """
    wanted = None if present is None else {by, *present}
    theirs = [
        info
        for info in infos(folder)
        if by in (info.by, *info.present) and wanted in (None, {info.by, *info.present})
    ]
    left = {info.after for info in theirs}
    going_on = [info for info in theirs if not info.last or info.last not in left]
    return next(reversed(by_recency(going_on or theirs, now)), None)


def load(file: Path) -> sessions.Session:
    """Read a whole session from its transcript.

    Raises:
        RecordInvalidError: If a line is not what it should be.
    """
    return replace(base.of_text(read_text(file), file, sessions.parse), id=file.parent.name)


def read_text(file: Path) -> str:
    """Read the text of a transcript: a line that was cut off may end within a character.

    Raises:
        RecordInvalidError: If it is too large, or can't be read.
    """
    return base.read_text(file, max_bytes=MAX_TRANSCRIPT_BYTES, errors="surrogateescape")


def find(folder: Path, session_id: str) -> sessions.Session:
    """Read one session by its id.

    Raises:
        RecordMissingError: If there is none.
    """
    known = [file.parent.name for file in paths(folder)]
    if session_id not in known:
        raise RecordMissingError("session", session_id, base.nearest(session_id, known))
    return load(folder / session_id / sessions.FILE)


def from_elsewhere(file: Path) -> str:
    """Say where an imported conversation comes from: `imported from chatgpt`; empty: lived here."""
    with suppress(OSError, UserError, ValueError):  # it went since it was found
        with disk.reading(file) as lines:
            origin = sessions.imported(json.loads(lines.readline()))
        named = shorten(one_line(str(origin.get("from"))), MAX_ORIGIN_CHARS) if origin else ""
        return named and f"imported from {named}"
    return ""


def plan_blob(session_id: str, data: bytes, why: str) -> tuple[str, changes.Change]:
    """Plan to keep an original that is too long for a prompt.

    Returns:
        Its SHA-256, whose first REFERENCE_CHARS a marker names, and the change.
    """
    digest = disk.sha256(data)
    return digest, changes.Change(
        f"{sessions.FOLDER}/{session_id}/blobs/{digest}", why, data, by_hash=True
    )


def reference(text: str) -> str:
    """Return the name by which a text that is not shown whole can be asked for."""
    return disk.sha256(text.encode(errors="replace"))[:REFERENCE_CHARS]


def read_blob(folder: Path, session_id: str, reference: str) -> bytes:
    """Read an original by its SHA-256, or by at least REFERENCE_CHARS of its start.

    Raises:
        RecordMissingError: If this session has none of that reference.
        RecordInvalidError: If its bytes are no longer those it was named for.
    """
    place = folder / session_id / "blobs"
    known = sorted(file.name for file in place.iterdir()) if place.is_dir() else []
    wanted = reference.strip().lower()
    matching = [name for name in known if name.startswith(wanted)]
    if len(wanted) < REFERENCE_CHARS or len(matching) != 1:
        raise RecordMissingError("original", reference, base.nearest(wanted, known))
    data = disk.read(place / matching[0])
    if disk.sha256(data) != matching[0]:
        raise RecordInvalidError(place / matching[0], "its bytes are not those it is named for")
    return data


def read_handover(folder: Path, session_id: str) -> Handover | None:
    """Read the brief that a session left for the next; None if it left none."""
    file = folder / session_id / HANDOVER_FILE
    return HANDOVER.load(file) if file.exists() else None


def plan_handover(
    session_id: str,
    old: Handover | None,
    text: str,
    at: datetime,
    origin: base.Provenance,
    why: str,
) -> changes.Change | None:
    """Plan to write the brief that a session leaves for the next."""
    if old is None:
        stem = f"{session_id}/{Path(HANDOVER_FILE).stem}"
        return HANDOVER.plan_new(HANDOVER.new(stem, text, origin, at=at), why)
    return HANDOVER.plan_edit(old, {"at": at} | origin.meta(), why, body=text)


def view(session: sessions.Session) -> RecordView:
    """Show a conversation as one record."""
    count, people = len(session.messages), session.people
    text = f"{count} message{'' if count == 1 else 's'} with {', '.join(people)}"
    origin = base.Provenance(audience=people)
    return RecordView(session.id, text, origin, people=people, at=session.at, line=1)


def _told(before: str | None, after: str | None) -> Told:
    old, new = (() if text is None else sessions.parse(text).messages for text in (before, after))
    for mark, messages, others in (("", new, old), ("gone: ", old, new)):
        known = {message.id for message in others}
        for message in messages:
            if message.id not in known and (message.text or mark):
                said = " ".join(message.text.split())[:200]
                yield f"{mark}{message.called(message.role)}: {said}"


class Handover(Record, frozen=True, kw_only=True):
    """The brief that a session leaves for the next; its id is the session's."""

    ABOUT: ClassVar[About] = About(
        headline="brief of {0.id}",
        changed="brief of {0.id}",
        retold="brief of {0.id} says",
    )

    at: Annotated[datetime, fields.LATER]  # when it was written
    text: Annotated[str, fields.BODY]


SESSION = Kind(
    name="session",
    singular="conversation",
    plural="conversations",
    key="sessions",
    patterns=(f"{sessions.FOLDER}/*/{sessions.FILE}",),
    parser=sessions.parse,
    viewer=lambda path, _: (view(load(path)),),
    teller=_told,
    forgetting="lines",
    merging="bumble",
    prefix=sessions.PREFIX,
    inner_prefixes={
        "message": sessions.MESSAGE_PREFIX,
        "summary": sessions.COMPACTION_PREFIX,
    },
    people_keys=("by", "with"),
    passages="message",
    unasked=True,
    explained=True,
    counted=True,
    page=True,
)
HANDOVER = RecordKind(
    name="handover",
    singular="conversation",
    plural="conversations",
    key="handovers",
    patterns=(f"{sessions.FOLDER}/*/{HANDOVER_FILE}",),
    record=Handover,
    forgetting="beside",
    merging="bumble",
)
