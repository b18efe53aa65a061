"""The records of a kind as commands find, list, edit and remove them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Generic

from msgspec import Struct

from bumble.cli import commit, listing
from bumble.cli.listing import Listing, Viewer
from bumble.cli.opening import Opened
from bumble.entity.changes import Change
from bumble.files import disk
from bumble.records import base, kind
from bumble.records.kind import R, RecordKind


class Shelf(Struct, Generic[R], frozen=True):
    """The records of one kind."""

    kind: RecordKind[R]
    by: tuple[
        str, ...
    ] = ()  # fields that name one; empty: its id, or an end of it that no other has

    def paths(self, opened: Opened) -> dict[str, Path]:
        """Return the files by id, the newest last."""
        return {self.kind.stem(path): path for path in self.kind.paths(opened.entity)}

    def listed(
        self,
        opened: Opened,
        *,
        keep: Callable[[R], bool] | None = None,
        limit: int | None = None,
        seen: bool = False,
    ) -> Listing[R]:
        """Read what can be read, and warn of the rest; `seen`: as whoever looks may see it."""
        load = Viewer(opened).seeing(self.kind.load) if seen else self.kind.load
        paths = list(self.paths(opened).values())
        return listing.readable(opened, paths, load, keep=keep, limit=limit)

    def find(self, opened: Opened, name: str) -> R:
        """Return the record of an id or a name.

        Raises:
            RecordMissingError: If there is none.
            RecordInvalidError: If its file can't be read.
        """
        if not self.by:
            return self.kind.load(self.path(opened, name))
        records = self.listed(opened).records
        found = kind.match(records, name, *self.by)
        if found is None and (broken := self._named(opened, name)) is not None:
            return self.kind.load(broken)  # says what is wrong with it
        if found is None:
            names = [getattr(one, field) for one in records for field in self.by]
            raise listing.missing(self.kind.singular, name, names)
        return found

    def seen(self, opened: Opened, name: str) -> R:
        """Return the record of an id or a name as whoever looks may see it."""
        return Viewer(opened).seen(self.find(opened, name))

    def path(self, opened: Opened, name: str) -> Path:
        """Return the file of an id or a name, which may be one that can't be read."""
        if not self.by:
            path = listing.pick(self.paths(opened), name, self.kind.singular)
        else:
            path = self._named(opened, name) or self.file(opened, self.find(opened, name))
        return opened.within(path)

    def _named(self, opened: Opened, name: str) -> Path | None:
        wanted, paths = disk.same_name(name), self.paths(opened).items()
        return next((path for stem, path in paths if disk.same_name(stem) == wanted), None)

    def file(self, opened: Opened, record: R) -> Path:
        """Return the file of a record."""
        return self.kind.locate(opened.entity, record.id)[0]

    def edit(self, opened: Opened, name: str, *, source: str | None, dry_run: bool) -> None:
        """Let the user edit a record's file."""
        path, command = self.path(opened, name), f"{self.kind.name} edit"
        parse = self.kind.parse
        commit.edit_record(opened, command, path, parse, source=source, dry_run=dry_run)

    def remove(
        self,
        opened: Opened,
        command: str,
        record: R,
        title: str,
        *,
        why: str,
        sentence: str,
        yes: bool,
        dry_run: bool,
        also: Iterable[Change | None] = (),
        **data: Any,
    ) -> None:
        """Remove a record's file, once its owner has agreed.

        Args:
            opened: The entity.
            command: For JSON.
            record: Which.
            title: What the question calls it.
            why: For the change set.
            sentence: What to say once it is gone.
            yes: Whether the owner has agreed already.
            dry_run: Whether to show it only.
            also: What else changes.
            data: What else JSON tells.
        """
        place = opened.entity.relative(self.file(opened, record))
        what = f'the {self.kind.singular} "{title}"'
        commit.confirm_removal(opened, what, place, yes=yes, dry_run=dry_run)
        planned = [base.plan_remove(place, record.source, why), *also]
        commit.commit(opened, command, planned, sentence, dry_run=dry_run, **data)
