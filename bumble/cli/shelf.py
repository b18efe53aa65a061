"""The records of a kind as commands show them: found, listed, told, edited, removed.

What a record is made of says its declaration (`records/NAME.py`), how it looks says its `Shelf`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Generic

import msgspec
import typer

from bumble.cli import listing, output, writing
from bumble.cli.command import DryRunOption, IdArgument, YesOption, edits, shows
from bumble.cli.opening import Opened
from bumble.entity import changes, companions
from bumble.errors import RecordInvalidError
from bumble.files import disk
from bumble.records import fields
from bumble.records.kind import R, Record, RecordKind

# A record by itself: its text, what else is known of it, and what follows behind that.
Face = tuple[Iterable[str], Iterable[tuple[str, str]], Iterable[str]]


class Shelf(msgspec.Struct, Generic[R], frozen=True, kw_only=True):
    """The records of one kind, and how commands speak of them."""

    kind: RecordKind[R]
    group: str  # of its commands: `belief`
    none: str  # what to say when there are none
    title: Callable[[R], str]  # what a question and a log call one
    cells: Callable[[Opened, R], Sequence[str]]  # of its line in a list
    face: Callable[[Opened, R], Face] = lambda _, record: ([record.told], (), ())
    data: Callable[[Opened, R], dict[str, Any]] = lambda _, record: data_of(record)
    keys: tuple[str, ...] = ()  # of the data, that a list tells; empty: all
    argument: Any = IdArgument  # how one is named on the command line
    # finds the one of a name, where its kind is named by more than it declares
    match: Callable[[Opened, Sequence[R], str], R | None] | None = None
    named: str = "id"  # the key of the field by which JSON tells which was removed
    # what else changes as the one of an id goes
    also: Callable[[Opened, str], Sequence[changes.Change | None]] = lambda *_: ()

    def paths(self, opened: Opened) -> dict[str, Path]:
        """Return the files by id, the newest last."""
        return {self.kind.stem(path): path for path in self.kind.paths(opened.entity)}

    def listed(
        self,
        opened: Opened,
        keep: Callable[[R], bool] | None = None,
        *,
        limit: int | None = None,
        seen: bool = False,
    ) -> listing.Listing[R]:
        """Read what can be read, and warn of the rest; `seen`: as whoever looks may see it."""
        viewer, own = listing.Viewer(opened), self.kind.load
        load = (lambda path: viewer.seen(own(path))) if seen else own
        return listing.readable(
            opened, list(self.paths(opened).values()), load, keep=keep, limit=limit
        )

    def find(self, opened: Opened, name: str) -> R:
        """Return the record of an id or a name.

        Raises:
            RecordMissingError: If there is none.
            RecordInvalidError: If its file can't be read.
        """
        return self.kind.load(self.path(opened, name))

    def path(self, opened: Opened, name: str) -> Path:
        """Return the file of an id or a name, which may be one that can't be read.

        Raises:
            RecordMissingError: If there is none.
        """
        paths = self.paths(opened)
        if self.kind.prefix:
            return opened.within(listing.pick(paths, name, self.kind.singular))
        records = self.listed(opened).records
        match = self.match or (lambda _, among, wanted: self.kind.match(among, wanted))
        found = match(opened, records, name)
        same = (paths[one] for one in paths if disk.same_name(one) == disk.same_name(name))
        if file := self._file(opened, found) if found else next(same, None):
            return opened.within(file)
        seen = map(listing.Viewer(opened).seen, records)
        names = [named for one in seen if one.id for named in (self.title(one), one.id)]
        raise listing.missing(self.kind.singular, name, names)

    def _file(self, opened: Opened, record: R) -> Path:
        paths = self.kind.locate(opened.entity, record.id)
        return min(paths, key=lambda path: path.stem != record.stem)  # where a hand made two

    def list(
        self,
        opened: Opened,
        listed: listing.Listing[R] | None = None,
        *,
        newest_first: bool = False,
    ) -> None:
        """Print some records, or all, a line each; before it the id, if that is what names one."""
        listed = listed or self.listed(opened)
        ids = [one.id for one in listed.records] if self.kind.prefix else []
        short = listing.short_ids(ids, self.paths(opened) if ids else ())
        listing.show_list(
            opened,
            f"{self.group} list",
            listed,
            lambda record: {
                key: value
                for key, value in self.data(opened, record).items()
                if key in self.keys or not self.keys
            },
            lambda record: [*([short[record.id]] if ids else []), *self.cells(opened, record)],
            self.none,
            newest_first=newest_first,
        )

    def show(self, opened: Opened, record: R, face: Face, **more: Any) -> None:
        """Print a record: its text, what else is known of it, by whom, its file; what follows."""
        file = self._file(opened, record) if record.id else None  # else it isn't for who looks
        viewer, origin = listing.Viewer(opened), listing.origin_of(record)
        place = viewer.named(opened.entity.relative(file), origin) if file else ""
        text, rows, after = face
        known = [*rows, ("written", viewer.origin(record.provenance)), ("file", place)]
        output.result(
            opened.shell,
            f"{self.group} show",
            self.data(opened, record) | more,
            [*text, "", *listing.details(known), *after],
        )

    def edit(self, opened: Opened, name: str, *, source: str | None, dry_run: bool) -> None:
        """Let the user edit a record's file."""
        path = self.path(opened, name)
        writing.edit(
            *(opened, f"{self.group} edit", opened.entity.relative(path)),
            lambda text: self.kind.parse(text, path.stem),
            source=source,
            dry_run=dry_run,
        )

    def remove(self, opened: Opened, name: str, *, yes: bool, dry_run: bool) -> None:
        """Remove a record's file, once its owner has agreed; it may be one that can't be read."""
        path = self.path(opened, name)
        place, stem = opened.entity.relative(path), self.kind.stem(path)
        read = companions.digest(place, companions.read(opened.entity.root, place))
        record, record_id, title = None, stem, stem
        with suppress(RecordInvalidError):
            record = self.kind.load(path)
            record_id, title = record.id, self.title(record)
        named: Any = getattr(record, self.named, stem)
        viewer, origin = listing.Viewer(opened), listing.origin_of(record)
        what = f'the {self.kind.singular} "{viewer.text(title, origin)}"'
        writing.confirm(
            opened.shell,
            f"Remove {what} ({viewer.named(place, origin)})?",
            "Remove it with --yes.",
            yes=yes or dry_run,
        )
        gone = changes.Change(place, f"forget: {title}", None, read, settles=True)
        writing.commit(
            opened,
            f"{self.group} remove",
            [gone, *self.also(opened, record_id)],
            f"Removed {what}.",
            dry_run=dry_run,
            **{self.named: named},
        )

    def offers(self, app: typer.Typer, opens: Callable[..., Any] = shows, **said: str) -> None:
        """Make those of the commands `list`, `show`, `edit`, `remove` that have a help.

        Args:
            app: Their group.
            opens: How `list` and `show` open the entity.
            said: The help of each.
        """

        def showing(opened: Opened, name: str) -> None:
            record = listing.Viewer(opened).seen(self.find(opened, name))
            self.show(opened, record, self.face(opened, record))

        def editing(
            opened: Opened,
            name: str,
            *,
            source: writing.FromOption = None,
            dry_run: DryRunOption = False,
        ) -> None:
            self.edit(opened, name, source=source, dry_run=dry_run)

        def removing(
            opened: Opened, name: str, *, yes: YesOption = False, dry_run: DryRunOption = False
        ) -> None:
            self.remove(opened, name, yes=yes, dry_run=dry_run)

        bodies: dict[str, Callable[..., None]] = {
            "list": lambda opened: self.list(opened),
            "show": showing,
            "edit": editing,
            "remove": removing,
        }
        for name, help_ in said.items():
            body = bodies[name]
            body.__doc__ = help_
            if name != "list":
                body.__annotations__["name"] = self.argument
            app.command(name)((opens if name in ("list", "show") else edits)(body))


def data_of(record: Record, without: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    """Return a record as JSON tells it: each field of its declaration, by its key."""
    values = {
        one.name if one.how is fields.BODY else one.how.name: _plain(getattr(record, one.name))
        for one in fields.declared(type(record))
        if (one.how is fields.BODY or one.how.stored) and one.name not in without
    }
    return {"id": record.id, **values, **more, "provenance": record.provenance.meta()}


def _plain(value: Any) -> Any:
    """Return a value as JSON holds it."""
    if isinstance(value, datetime):
        return value.isoformat()  # msgspec's own has a Z for UTC
    return msgspec.to_builtins(value, enc_hook=dict)
