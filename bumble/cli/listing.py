"""How record commands read and list: short ids, `last`, broken files, times, hits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

import typer
from msgspec import Struct
from msgspec.structs import replace

from bumble.cli import opening, output
from bumble.errors import (
    RecordInvalidError,
    RecordMissingError,
    RecordUnclearError,
    UsageError,
    UserError,
)
from bumble.records import base, kinds, relationships, session_files, sessions
from bumble.records.provenance import EVERYTHING, Reader, withheld
from bumble.runtime import audiences
from bumble.text import moments, printable, words

if TYPE_CHECKING:
    from bumble.index.search import Hit

T = TypeVar("T")
# The fields of records of all kinds in which something is told. The first are lines that say, where
# it is not for whoever looks, that there is something; the others are left empty.
HEADS = ("title", "label", "name", "text", "sentence")
PARTS = ("pending", "felt", "noise")  # fields that hold what is for somebody by itself
BODIES = (
    *("description", "dynamic", "topics", "unresolved", "tags", "imprints", "why", "steps"),
    *("slug", "path", "notes", "imported"),
)


def reader(opened: opening.Opened) -> Reader:
    """Return who looks: the owner, or whoever asked for everything."""
    return EVERYTHING if opened.shell.everything else Reader(opened.owner_id, is_owner=True)


def origin_of(record: Any) -> base.Provenance:
    """Return where a record comes from, and for whom it is."""
    for name in ("provenance", "origin"):
        if isinstance(origin := getattr(record, name, None), base.Provenance):
            return origin
    return base.Provenance(audience=getattr(record, "audience", ()))


class Viewer:
    """Whoever looks at an entity with a command; who that is, is found out when it matters."""

    def __init__(self, opened: opening.Opened) -> None:
        self._opened = opened

    @cached_property
    def _reader(self) -> Reader:
        return reader(self._opened)

    @cached_property
    def _people(self) -> Mapping[str, relationships.Relationship]:
        return {
            one.id: one for one in relationships.PERSON.readable(self._opened.entity.relationships)
        }

    def origin(self, provenance: base.Provenance) -> str:
        """Say what wrote a text, and who alone hears it where somebody else is there.

        On what it rests, `why` says.
        """
        circle = relationships.circle(self._people, provenance.audience)
        written = ", ".join(filter(None, (provenance.by, provenance.model, provenance.trust)))
        return "; ".join(filter(None, (written, f"only for {circle}" if circle else "")))

    def may_see(self, origin: base.Provenance) -> bool:
        """Whether a text is for them."""
        return not origin.audience or self._reader.may_read(origin)

    def text(self, text: str, origin: base.Provenance) -> str:
        """Return a text, or that there is one."""
        return text if self.may_see(origin) or not text else withheld(origin)

    def texts(self, texts: Iterable[str], origin: base.Provenance) -> tuple[str, ...]:
        """Return some texts of a record, or once that there are some."""
        return tuple(dict.fromkeys(self.text(text, origin) for text in texts))

    def named(self, path: str, origin: base.Provenance) -> str:
        """Return what to call a record's file, whose name may be made of its words."""
        return audiences.named(path, None if self.may_see(origin) else origin)

    def seen(self, record: T) -> T:
        """Return a record, or several, as they may see it; what is no struct is no record."""
        if isinstance(record, tuple):
            return tuple(map(self.seen, record))  # type: ignore[return-value]
        fields: tuple[str, ...] = getattr(record, "__struct_fields__", ())
        values = {name: self.seen(getattr(record, name)) for name in PARTS if name in fields}
        origin = origin_of(record)
        if not self.may_see(origin):
            heads = [name for name in HEADS if name in fields and getattr(record, name)]
            values |= dict.fromkeys(heads, withheld(origin))
            empty = [name for name in BODIES if name in fields]
            if "id" in fields and {"label", "title", "name"} & set(fields):
                # they may be made of the words
                empty += [name for name in ("id", "stem") if name in fields]
            values |= {name: type(getattr(record, name))() for name in empty}
        return replace(record, **values) if values else record  # type: ignore[type-var]

    def session(self, session: sessions.Session) -> sessions.Session:
        """Return a conversation, without a word if they did not hear it."""
        origin = base.Provenance(audience=session.people)
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


LAST = "last"
WHOLE_END = 26  # letters of an id behind its prefix

LimitOption = Annotated[
    int, typer.Option("--limit", "-n", min=1, metavar="N", help="At most this many, the newest.")
]
SinceOption = Annotated[
    str | None,
    typer.Option(metavar="DATE", help="From this day or time on, in the entity's time zone."),
]


def when(at: datetime | None, opened: opening.Opened) -> str:
    """Write a time for people, in the entity's time zone."""
    return f"{at.astimezone(opened.zone):%Y-%m-%d %H:%M}" if at else "never"


def moment(
    text: str,
    opened: opening.Opened,
    option: str,
    read: Callable[[str, tzinfo], datetime] = moments.local,
) -> datetime:
    """Read a day or a time by `read`; one without an offset is in the entity's time zone.

    Raises:
        UsageError: If it is neither.
    """
    try:
        return read(text, opened.zone)
    except ValueError as error:
        raise UsageError(f"{option} {error}") from None


class Listing(Struct, Generic[T], frozen=True):
    """What could be read of some files."""

    records: tuple[T, ...]  # in the order of the files
    broken: int = 0  # files that could not be read; a warning told of each
    more: bool = False  # whether the limit left some out
    others: int = 0  # that could be read, and were not asked for


def readable(
    opened: opening.Opened,
    paths: Sequence[Path],
    load: Callable[[Path], T],
    *,
    keep: Callable[[T], bool] | None = None,
    limit: int | None = None,
) -> Listing[T]:
    """Read what can be read, and warn of the rest by file and line.

    Args:
        opened: The entity.
        paths: The files, the newest last.
        load: Reads one.
        keep: Whether a record is wanted.
        limit: How many are wanted, from the newest; all by default.

    Raises:
        UnsafePathError: If a file is a link out of the entity folder.
    """
    items: list[T] = []
    broken, others, left = 0, 0, list(paths)
    while left and (limit is None or len(items) < limit):
        try:
            record = load(left.pop())
        except RecordInvalidError as error:
            output.warn(opened.shell, str(error))
            broken += 1
        else:
            if keep is None or keep(record):
                items.append(record)
            else:
                others += 1
    return Listing(tuple(reversed(items)), broken, bool(left), others)


def show_list(
    opened: opening.Opened,
    command: str,
    listing: Listing[T],
    data: Callable[[T], dict[str, Any]],
    line: Callable[[T], Sequence[str]],
    empty: str,
    *,
    newest_first: bool = False,
    whole: bool = False,
) -> None:
    """Print a list, and beside it what is missing from it.

    Args:
        opened: The entity.
        command: For JSON.
        listing: The records.
        data: Makes JSON of one.
        line: Makes the cells of a line of one; its lines, where each is shown whole.
        empty: What to say when there are none.
        newest_first: Whether to turn the order around.
        whole: Whether each is shown whole, with a blank line between them.

    Raises:
        Exit: With the code of a broken file, if there was one.
    """
    records = Viewer(opened).seen(listing.records)
    shown = records[::-1] if newest_first else records
    rows = [] if opened.shell.json else [line(record) for record in shown]
    lines = [part for row in rows for part in ("", *row)][1:]
    if not whole:
        lines = output.table([[printable.clean(cell) for cell in row] for row in rows])
    output.result(opened.shell, command, [data(record) for record in shown], lines)
    if not listing.records and not listing.broken:
        asked = f"None that were asked for, of {listing.others}"
        helped = f"`bumble {command} --help` says how to see the others."
        output.say(f"{asked}; {helped}" if listing.others else empty)
    if listing.more:
        output.say(f"There are more than these {len(listing.records)}; --limit N shows them.")
    ended(listing)


def ended(listing: Listing[Any]) -> None:
    """End with the exit code of a broken file, if there was one."""
    if listing.broken:
        raise typer.Exit(RecordInvalidError.exit_code)


def pick(paths: Mapping[str, T], prefix: str, what: str) -> T:
    """Find a record by its id, by a part that no other id has, by its file's name, or as `last`.

    Args:
        paths: Files, or what was read of them, by id, the newest last.
        prefix: What the user wrote.
        what: What such a record is called.

    Raises:
        RecordMissingError: If there is none.
        RecordUnclearError: If it could be more than one.
    """
    wanted = base.id_of(prefix.strip().removesuffix(".md"))
    if wanted == LAST and not paths:
        raise UserError(f"There is no {what} yet.")
    if wanted == LAST or wanted in paths:
        return paths[wanted] if wanted in paths else list(paths.values())[-1]
    matching = kinds.by_part(wanted, paths)
    if len(matching) > 1:
        raise RecordUnclearError(wanted, matching)
    if not matching:
        error = missing(what, prefix, paths)
        if wanted and any(path.casefold().endswith(wanted.casefold()) for path in paths):
            error.args = (
                f"{error}\nOf an id give {base.SHORTEST_END} letters of its end or more.",
            )
        raise error
    return paths[matching[0]]


def missing(what: str, name: str, names: Iterable[str]) -> RecordMissingError:
    """Return the error for a name that nothing has, with the nearest one that something has."""
    return RecordMissingError(what, name, base.nearest(name, names))


def choice(what: str, given: str, offered: Collection[str]) -> str:
    """Return what was given, if it is one of what is offered.

    Raises:
        UsageError: If it is not.
    """
    if given not in offered:
        raise UsageError(f"{missing(what, given, offered)}\nThere are {', '.join(offered)}.")
    return given


def short_ids(ids: Sequence[str], among: Iterable[str]) -> dict[str, str]:
    """Return the end of each id that is enough to name it among others; names are not cut."""
    length, everyone = base.SHORTEST_END, list(among)
    for length in range(base.SHORTEST_END, WHOLE_END):
        ends = Counter(id_[-length:].casefold() for id_ in everyone)
        if all(ends[id_[-length:].casefold()] == 1 for id_ in ids):
            break
    return {id_: id_[-length:] if base.time_of(id_) else id_ for id_ in ids}


def details(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Line up what is known of a record, the empty left out."""
    return output.table([(name, text) for name, text in pairs if text], indent="  ")


def imports(infos: Iterable[session_files.SessionInfo]) -> tuple[dict[str, int], str]:
    """Count the imported conversations, those that are not wholly learnt from, and their bytes.

    Returns:
        The counts, and a line about those that wait; empty where none does.
    """
    imported = [info for info in infos if info.imported is not None]
    sizes = [info.size_bytes for info in imported if info.waits]
    data = {"conversations": len(imported), "waiting": len(sizes), "waiting_bytes": sum(sizes)}
    told = f"{words.counted(len(sizes), 'conversation')} ({output.size(sum(sizes))})"
    line = f"{told} not learnt from; `bumble distill --session ID` does it, nothing else"
    return data, line if sizes else ""


def hit_lines(opened: opening.Opened, rank: int, score: float, hit: Hit) -> Iterator[str]:
    """Tell a hit: where it stands and of when it is, then its text."""
    at = when(hit.at, opened) if hit.at else ""
    kind = f"{hit.kind} (faded)" if hit.faded else hit.kind
    told = (f"{rank:>2}.", f"{score:.3f}", kind, at, f"{hit.path}:{hit.line}")
    yield "  ".join(filter(None, told))
    yield from (f"    {line}".rstrip() for line in hit.statement.splitlines())
