"""What a command shows of a record to whoever looks: all of it, or that there is something.

By default the owner looks: what others told the entity alone stays between the two, unless `--all`
asks for it. The files have it all the same (docs/privacy.md).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from bumble.cli.opening import Opened
from bumble.records.base import Provenance
from bumble.records.provenance import EVERYTHING, Reader, withheld

if TYPE_CHECKING:
    from bumble.body.soma import Soma
    from bumble.records.sessions import Session

T = TypeVar("T")
# The fields of records of all kinds in which something is told. The first are lines that say, where
# it is not for whoever looks, that there is something; the others are left empty.
HEADS = ("title", "label", "name", "text", "sentence")
BODIES = (
    *("description", "dynamic", "topics", "unresolved", "tags", "imprints", "why", "steps"),
    *("slug", "path", "command", "notes"),
)


def reader(opened: Opened) -> Reader:
    """Return who looks: the owner, or whoever asked for everything."""
    if opened.shell.everything:
        return EVERYTHING
    from bumble.runtime.people import owner_id

    return Reader(owner_id(opened.entity, opened.identity), is_owner=True)


def origin_of(record: Any) -> Provenance:
    """Return where a record comes from, and for whom it is."""
    for name in ("provenance", "origin"):
        if isinstance(origin := getattr(record, name, None), Provenance):
            return origin
    return Provenance(audience=getattr(record, "audience", ()))


class Viewer:
    """Whoever looks at an entity with a command; who that is, is found out when it matters."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._reader: Reader | None = None

    def may_see(self, origin: Provenance) -> bool:
        """Whether a text is for them."""
        if not origin.audience:
            return True
        self._reader = self._reader or reader(self._opened)
        return self._reader.may_read(origin)

    def text(self, text: str, origin: Provenance) -> str:
        """Return a text, or that there is one."""
        return text if self.may_see(origin) or not text else withheld(origin)

    def seen(self, record: T) -> T:
        """Return a record as they may see it; what is no struct is no record."""
        fields: tuple[str, ...] = getattr(record, "__struct_fields__", ())
        values: dict[str, Any] = {}
        if "pending" in fields:
            pending = getattr(record, "pending")  # noqa: B009  (a portrait's)
            values["pending"] = tuple(
                replace(note, text=self.text(note.text, note.provenance)) for note in pending
            )
        origin = origin_of(record)
        if not self.may_see(origin):
            heads = [name for name in HEADS if name in fields and getattr(record, name)]
            values |= dict.fromkeys(heads, withheld(origin))
            empty = [name for name in BODIES if name in fields]
            empty += ["id"] if "label" in fields or ("title" in fields and "id" in fields) else []
            values |= {name: type(getattr(record, name))() for name in empty}
        return replace(record, **values) if values else record  # type: ignore[type-var]

    def seeing(self, load: Callable[[Path], T]) -> Callable[[Path], T]:
        """Return what loads a file's record as they may see it."""
        return lambda path: self.seen(load(path))

    def body(self, soma: Soma) -> Soma:
        """Return a body without what was felt and thought of for others."""
        felt = soma.felt and self.seen(soma.felt)
        return replace(soma, felt=felt, noise=tuple(map(self.seen, soma.noise)))

    def session(self, session: Session) -> Session:
        """Return a conversation, without a word if they did not hear it."""
        origin = Provenance(audience=session.people)
        if self.may_see(origin):
            return session
        said, extra = withheld(origin), dict(session.extra)
        if session.imported is not None:
            extra["imported"] = {**session.imported, "title": ""}
        return replace(
            session,
            messages=tuple(
                replace(each, text=each.text and said, tool_calls=()) for each in session.messages
            ),
            compactions=tuple(replace(each, summary=said) for each in session.compactions),
            extra=extra,
        )
