"""An entity as it was at some time: what `--as-of` opens in the place of the folder of now.

Folders of earlier times are kept in the user's cache. A folder is named for the hash of its tree,
for the people whom the entity has forgotten since, who stay forgotten in it, and for the format
that it was brought to. It is nobody's truth: anything in it can be made again.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta, tzinfo
from pathlib import Path, PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from bumble.bridges.exports import destination
from bumble.cli import listing, output
from bumble.cli.commands import migrate
from bumble.cli.opening import Opened, identity_of
from bumble.entity import changes, settings
from bumble.entity.folder import ENTITY_FILE, Entity
from bumble.errors import (
    HistoryMissingError,
    PastMissingError,
    RecordInvalidError,
    SettingInvalidError,
    UsageError,
)
from bumble.files import disk
from bumble.history import past
from bumble.jobs.forgetting import forget
from bumble.records import forgotten, kinds

MOST_FOLDERS = 8  # of one entity
IN_USE_SECONDS = 600  # a folder that was used so lately may be in use


class PastFolder(Struct, frozen=True):
    """A folder as it was."""

    root: Path
    commit: past.PastCommit | None  # None: there is no history, so its records' own times tell
    why: str = ""  # there is no history
    others: tuple[Path, ...] = ()  # further ones that are kept


def make(entity: Entity, moment: datetime, cache: Path, zone: tzinfo) -> PastFolder:
    """Return an entity's folder as it was at a time.

    Args:
        entity: Whose.
        moment: The time.
        cache: Where such folders of this entity lie.
        zone: Its time zone.

    Raises:
        PastMissingError: If there was nothing then, or somebody can't be forgotten in it.
        HistoryClosedError: If the history belongs to somebody else.
        HistoryUnreadableError: If git can't give all of it.
        FolderUnwritableError: If the system refuses a write.
    """
    names = disk.read_if_there(entity.root / forgotten.PATH) or b""
    try:
        commit, why = past.find(entity.root, moment), ""
    except HistoryMissingError as error:
        commit, why = None, str(error).split("\n")[0].partition(": ")[2]

    def fill(folder: Path) -> None:
        if commit is not None:
            past.write(entity.root, commit.tree, folder)
            try:
                change_set = migrate.plan(folder).change_set
            except SettingInvalidError as error:
                why = str(error).split("\n")[0].removeprefix(f"{folder}{os.sep}")
                raise PastMissingError(entity.root, f"it can't be read: {why}") from error
            changes.apply(folder, change_set)
        else:
            past.copy_by_times(entity, folder, moment, zone)
            if not any(kind.paths(Entity(folder)) for kind in kinds.KINDS):
                raise PastMissingError(entity.root, "none of its records is as old as that")
        _forget(entity.root, folder, names, zone)

    key = commit.tree if commit else f"{moment.isoformat()} {past.listing_by_times(entity)}"
    key = f"{settings.SCHEMA_VERSION} {key}"
    digest = hashlib.sha256(key.encode(errors="surrogateescape") + b"\0" + names).hexdigest()
    name = f"{commit.tree}-{digest[:12]}" if commit else f"times-{digest[:32]}"
    root = _made(cache, name, fill)
    others = [path for path in _folders(cache) if path != root]
    return PastFolder(root, commit, why, tuple(others))


def _forget(root: Path, folder: Path, names: bytes, zone: tzinfo) -> None:
    """Forget in a folder of an earlier time whoever was forgotten since."""
    if not names:
        return
    (folder / forgotten.PATH).unlink(missing_ok=True)
    past.put(folder, PurePosixPath(forgotten.PATH), names)
    entity = Entity(folder)
    for _ in range(forget.MOST_ROUNDS):  # what two people share is done for one after the other
        try:
            plan = forget.plan_again(entity, zone)
        except RecordInvalidError as error:
            place = entity.relative(error.path)
            why = f"{place} of then can't be read, and somebody has to be forgotten in it"
            raise PastMissingError(root, f"{why}: {error.problem}") from error
        if not plan.changes:
            return
        changes.apply(folder, changes.ChangeSet(forget.TITLE, plan.changes))


def _made(cache: Path, name: str, fill: Callable[[Path], None]) -> Path:
    """Return a folder of the cache, filled if it is new; a kill leaves none that is half full."""
    target = cache / name
    if (target / ENTITY_FILE).is_file():
        with suppress(OSError):
            os.utime(target)
        return target
    # make room for one more: those that were used longest ago go
    old = time.time() - IN_USE_SECONDS
    for path in _folders(cache)[MOST_FOLDERS - 1 :]:
        with suppress(OSError):
            if path.stat().st_mtime < old:
                disk.clear(path)
    with destination.folder(target) as draft:
        fill(draft)
    return target


def _folders(cache: Path) -> list[Path]:
    """Return the folders that are whole, the latest used first."""
    with suppress(OSError):
        whole = [path for path in cache.iterdir() if not path.name.startswith(".")]
        return sorted(whole, key=lambda path: -path.stat().st_mtime)
    return []


COMMIT_CHARS = 10


def open_past(opened: Opened, text: str) -> Opened:
    """Return the entity as it was; from here on, that time is the present of this process.

    Raises:
        UsageError: If the time is none, or lies ahead.
        UserError: If nothing can be told of that time.
    """
    from bumble.index import place

    shell, live = opened.shell, opened.entity
    # read a day, which is meant with all its hours, or a time, in the entity's time zone
    at, now = listing.moment(text, opened, "--as-of"), opened.shell.now()
    is_day = len(text) <= len("2026-05-24")
    if at > now:
        raise UsageError(f"--as-of {text}: that {'day ' if is_day else ''}has yet to come")
    moment = min(at + timedelta(days=1) - timedelta(seconds=1), now) if is_day else at
    folder = make(live, moment, shell.cache_of("past", live.root), opened.zone)
    entity = Entity(folder.root, live.approval)
    # What was is for this process: its index lies beside it, and never on a server.
    flags = opened.settings.flags() | {"index.backend": "sqlite"}
    then = settings.load(entity.file, shell.user_file, shell.environ, flags, home=live.root)
    identity, shell.now_given = identity_of(shell, folder.root, then), moment
    donors = (place.of(live), *(place.of(Entity(other)) for other in folder.others))
    past = replace(
        opened,
        entity=entity,
        settings=then,
        identity=identity,
        donors=tuple(donor.database for donor in donors),
    )
    _tell(past, moment, folder)
    return past


def _tell(past: Opened, moment: datetime, folder: PastFolder) -> None:
    """Say what is shown, and how sure that is."""
    when = listing.when(moment, past)
    if folder.commit is None:
        output.warn(
            past.shell,
            f"As of {when} by the records' own times, since there is no history ({folder.why}): "
            "what was changed or taken out since is not seen, nor how the body was.",
        )
        return
    commit = folder.commit.id[:COMMIT_CHARS]
    output.say(f"As of {when}: commit {commit} of {listing.when(folder.commit.at, past)}.")
