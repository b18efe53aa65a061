"""Folders of earlier formats and times: `bumble migrate`, and what `--as-of` opens for today's.

Folders of earlier times are kept in the user's cache. A folder is named for the hash of its tree,
for the people whom the entity has forgotten since, who stay forgotten in it, and for the format
that it was brought to. It is nobody's truth: anything in it can be made again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta, tzinfo
from pathlib import Path, PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from bumble.bridges.exports import bundle, destination
from bumble.cli import check_folder, command, listing, output, process, setting_files
from bumble.cli.opening import Opened, identity_of, locate, settle_git
from bumble.entity import changes, commits, companions, git_operations, layers, settings
from bumble.entity.folder import ENTITY_FILE, Entity
from bumble.errors import (
    FolderNewerError,
    HistoryMissingError,
    NotAnEntityError,
    PastMissingError,
    RecordInvalidError,
    SettingInvalidError,
    UnsafePathError,
    UsageError,
)
from bumble.files import disk, git
from bumble.history import past
from bumble.index import place
from bumble.jobs.forgetting import forget
from bumble.records import forgotten, kinds
from bumble.records.kind import Kind
from bumble.text import markdown, yaml_edit

VERSION_KEY = "schema_version"
ATTRIBUTES, IGNORES = ".gitattributes", ".gitignore"
TAG = "bumble-format-{version}"
# Of format 1: git joined the lines of two transcripts, which brought back what was forgotten.
UNION_OF_TRANSCRIPTS = "/sessions/**/*.jsonl merge=union"


class Migration(Struct, frozen=True):
    """What brings a folder to the present format."""

    version: int  # that it is of
    entity: str  # the text of its entity.yaml, as it is to be
    lines: tuple[str, ...]  # what changes, for people
    change_set: changes.ChangeSet


def plan(root: Path) -> Migration:
    """Plan what brings a folder to the present format; writes nothing.

    Raises:
        NotAnEntityError: If it is no entity's.
        SettingInvalidError: If its entity.yaml can't be read, or a newer bumble made it.
    """
    names = (ENTITY_FILE, ATTRIBUTES, IGNORES)
    before = {name: setting_files.SettingsFile(root / name, name, root).read() for name in names}
    if not (source := before[ENTITY_FILE]):
        raise NotAnEntityError(root)
    version, values = _version(root, source), yaml_edit.parse_mapping(source)
    texts = before | {ENTITY_FILE: layers.without_retired(source)}
    lines = [
        f"{ENTITY_FILE}: {'.'.join(keys)}: {layers.value_at(values, keys)} goes:"
        f" {layers.reason(keys)}"
        for keys in layers.found(values)
    ]
    why, parted = f"format {settings.SCHEMA_VERSION}", list[changes.Change]()
    if version < settings.SCHEMA_VERSION:
        lines += _completed(texts)
        entity = Entity(root)
        parted = [
            change
            for kind in kinds.KINDS
            for path in kind.reachable(entity)
            for change in _parted(entity, kind, path, why)
        ]
    if count := sum(change.alone for change in parted):
        lines.append(f"{companions.FOLDER}/: where {count} files come from, which stood in them")
    planned = [
        changes.write(name, text, before[name] or None, why)
        for name, text in texts.items()
        if text and text != before[name]
    ]
    change_set = changes.ChangeSet(f"migrate: {why}", (*parted, *planned))
    return Migration(version, texts[ENTITY_FILE], tuple(lines), change_set)


def _parted(entity: Entity, kind: Kind, file: Path, why: str) -> list[changes.Change]:
    """Plan to put beside a record where it comes from; what a hand wrote stays, byte for byte."""
    path = entity.relative(file)
    if (beside := companions.place(path)) is None:
        return []
    try:
        data = disk.read_if_there(disk.inside(entity.root, path)) or b""
        text = data.decode("utf-8")
        pair = companions.split(path, text) if companions.is_made(path, text) else None
        if (
            pair is None
            or pair.companion is None
            or _told(kind, text) != _told(kind, companions.joined(path, pair.text, pair.companion))
        ):
            return []
    except (UnsafePathError, OSError, ValueError):  # whoever reads it says what is wrong with it
        return []
    return [
        changes.Change(path, why, pair.text.encode(), disk.sha256(data), alone=True),
        changes.Change(beside, why, pair.companion.encode()),
    ]


def _told(kind: Kind, text: str) -> object:
    """Return all that a file says, however it lies in it."""
    if kind.patterns[0] not in companions.PARTED:
        document = markdown.parse(text)
        return document.meta, document.body
    parts = kind.parse(text, "")
    sections = getattr(parts, "sections", None) or getattr(parts, "entries", None)
    if sections is not None:
        return [(one.text, one.provenance, getattr(one, "title", "")) for one in sections]
    return [(line.text, line.origin) for line in parts]


def keep(entity: Entity, version: int, at: datetime, place: git.Git | None) -> str:
    """Keep a folder as it is, and say where.

    Args:
        entity: The folder.
        version: Its format.
        at: The time, for the archive's name.
        place: Its repository; None without git.
    """
    name = TAG.format(version=version)
    if place is not None and _is_committed(place):
        with git_operations.noted(entity.root, git_operations.Operation("migrate")):
            tagged = place.call("tag", "--force", name, "HEAD")
        if tagged.code == 0:
            return f"git's tag {name}"
    whole = bundle.collect(entity, keeps_secrets=True)
    path = changes.HISTORY / "formats" / f"{version}.{at:%Y%m%d-%H%M%S}.zip"
    disk.write_atomic(disk.inside(entity.root, str(path)), bundle.packed(whole))
    return str(path)


def _is_committed(place: git.Git) -> bool:
    """Whether git has every file, in a repository that is the entity's alone."""
    if place.repository.top != place.repository.folder:
        return False
    status = place.call("status", "--porcelain", "--untracked-files=all", "--", ".")
    return status.code == 0 and not status.out.strip()


def _version(root: Path, source: str) -> int:
    """Return the format of a folder."""
    place = str(root / ENTITY_FILE)
    try:
        version = yaml_edit.parse_mapping(source).get(VERSION_KEY)
    except yaml_edit.SourceError as error:
        raise settings.invalid(place, error) from error
    if type(version) is not int or version < 1:
        raise SettingInvalidError(place, f"{VERSION_KEY} must be a whole number from 1 on")
    if version > settings.SCHEMA_VERSION:
        raise FolderNewerError(place, version, settings.SCHEMA_VERSION)
    return version


def _completed(texts: dict[str, str]) -> list[str]:
    """Name, in the texts of its files, what new kinds need of git, and the format."""
    lines = []
    if UNION_OF_TRANSCRIPTS in texts[ATTRIBUTES]:  # they are merged by meaning since format 2
        by_meaning = UNION_OF_TRANSCRIPTS.replace("union", "bumble")
        texts[ATTRIBUTES] = texts[ATTRIBUTES].replace(UNION_OF_TRANSCRIPTS, by_meaning)
        lines.append(f"{ATTRIBUTES}: {by_meaning}")
    for name in (ATTRIBUTES, IGNORES):
        text = texts[name]
        if missing := check_folder.missing_rules(text, name):
            start = text if not text or text.endswith("\n") else f"{text}\n"
            texts[name] = start + "".join(f"{line}\n" for line in missing)
            lines.append(f"{name}: {'; '.join(missing)}")
    version = settings.SCHEMA_VERSION
    texts[ENTITY_FILE] = yaml_edit.set_value(texts[ENTITY_FILE], [VERSION_KEY], version)
    return [*lines, f"{ENTITY_FILE}: {VERSION_KEY}: {version}"]


@command.plain
def migrate(
    shell: process.Shell,
    *,
    check: command.CheckOption = False,
    lock_timeout: command.LockTimeoutOption = None,
    entity: command.EntityOption = None,
    now: command.NowOption = None,
) -> None:
    """Bring a folder that an older bumble made to the format of this one.

    What it was is kept: as a tag where git has all of it, else as an archive in .history,
    which unpacks to the folder. All is changed or nothing.
    """
    shell.set_now(now)
    root, _ = locate(shell, entity)
    wait = changes.DEFAULT_LOCK_TIMEOUT_SECONDS if lock_timeout is None else lock_timeout
    if not check:
        changes.recover(root, timeout_seconds=wait)
        settle_git(shell, root, timeout_seconds=wait)
    planned = plan(root)
    kept = ""
    if planned.change_set and not check:
        # open the folder as it is to be: its settings can't be read before
        with disk.temporary_folder() as folder:
            file = folder / ENTITY_FILE
            file.write_text(planned.entity, encoding="utf-8")
            read = settings.load(file, shell.user_file, shell.environ, {})
        after = Opened(shell, Entity(root), "", read, identity_of(shell, root, read))
        kept = keep(Entity(root), planned.version, shell.now(), git.at(root))
        commits.apply(root, planned.change_set, after.commit_policy, timeout_seconds=wait)
    data = {
        "format": planned.version,
        "wanted": settings.SCHEMA_VERSION,
        "changed": bool(planned.change_set) and not check,
        "check": check,
        "changes": list(planned.lines),
        "backup": kept or None,
    }
    output.result(shell, "migrate", data, _lines(planned, kept, check=check))


def _lines(migration: Migration, kept: str, *, check: bool) -> list[str]:
    if not migration.change_set:
        return [f"Nothing to do: it is of format {settings.SCHEMA_VERSION}."]
    present = settings.SCHEMA_VERSION
    steps = (
        f"on within format {present}"
        if migration.version == present
        else f"from format {migration.version} to {present}"
    )
    if check:
        return [f"Would go {steps}:", *migration.lines]
    return [f"Went {steps}:", *migration.lines, f"What it was is kept as {kept}."]


MOST_FOLDERS = 8  # of one entity
IN_USE_SECONDS = 600  # a folder that was used so lately may be in use


def make(
    entity: Entity, moment: datetime, cache: Path, zone: tzinfo
) -> tuple[Path, past.PastCommit | None, str]:
    """Return an entity's folder as it was at a time.

    Args:
        entity: Whose.
        moment: The time.
        cache: Where such folders of this entity lie.
        zone: Its time zone.

    Returns:
        The folder, and the commit it is of; None where its records' own times tell, since there is
        no history, and why there is none.

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
                change_set = plan(folder).change_set
            except SettingInvalidError as error:
                why = str(error).split("\n")[0].removeprefix(f"{folder}{os.sep}")
                raise PastMissingError(entity.root, f"it can't be read: {why}") from error
            changes.apply(folder, change_set)
        else:
            past.copy_by_times(entity, folder, moment, zone)
            if not any(kind.paths(Entity(folder)) for kind in kinds.KINDS):
                raise PastMissingError(entity.root, "none of its records is as old as that")
        _forget(entity.root, folder, names, moment, zone)

    key = commit.tree if commit else f"{moment.isoformat()} {past.listing_by_times(entity)}"
    key = f"{settings.SCHEMA_VERSION} {key}"
    digest = disk.sha256(key.encode(errors="surrogateescape") + b"\0" + names)
    name = f"{commit.tree}-{digest[:12]}" if commit else f"times-{digest[:32]}"
    return _made(cache, name, fill), commit, why


def _forget(root: Path, folder: Path, names: bytes, moment: datetime, zone: tzinfo) -> None:
    """Forget in a folder of an earlier time whoever was forgotten since."""
    if not names:
        return
    (folder / forgotten.PATH).unlink(missing_ok=True)
    past.put(folder, PurePosixPath(forgotten.PATH), names)
    entity = Entity(folder)
    for _ in range(forget.MOST_ROUNDS):  # what two people share is done for one after the other
        try:
            plan = forget.plan_again(entity, zone, of=moment)
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
    with suppress(OSError):  # make room for one more: those that were used longest ago go
        whole = [path for path in cache.iterdir() if not path.name.startswith(".")]
        for path in sorted(whole, key=lambda path: -path.stat().st_mtime)[MOST_FOLDERS - 1 :]:
            if path.stat().st_mtime < time.time() - IN_USE_SECONDS:
                disk.clear(path)
    with destination.folder(target) as draft:
        fill(draft)
    return target


COMMIT_CHARS = 10


def open_past(opened: Opened, text: str) -> Opened:
    """Return the entity as it was; from here on, that time is the present of this process.

    Raises:
        UsageError: If the time is none, or lies ahead.
        UserError: If nothing can be told of that time.
    """
    shell, live = opened.shell, opened.entity
    # read a day, which is meant with all its hours, or a time, in the entity's time zone
    at, now = listing.moment(text, opened, "--as-of"), opened.shell.now()
    is_day = len(text) <= len("2026-05-24")
    if at > now:
        raise UsageError(f"--as-of {text}: that {'day ' if is_day else ''}has yet to come")
    moment = min(at + timedelta(days=1) - timedelta(seconds=1), now) if is_day else at
    root, commit, lacks = make(live, moment, shell.cache_of("past", live.root), opened.zone)
    entity = Entity(root, live.approval)
    # What was is for this process: its index lies beside it, and never on a server.
    flags = opened.settings.flags() | {"index.backend": "sqlite"}
    then = settings.load(entity.file, shell.user_file, shell.environ, flags, home=live.root)
    identity, shell.now_given = identity_of(shell, root, then), moment
    past = replace(
        opened,
        entity=entity,
        settings=then,
        identity=identity,
        donors=(place.of(live).database,),  # vectors of equal text are taken over
    )
    # say what is shown, and how sure that is
    when = listing.when(moment, past)
    if commit is not None:
        made = f"commit {commit.id[:COMMIT_CHARS]} of {listing.when(commit.at, past)}"
        output.say(f"As of {when}: {made}.")
    else:
        output.warn(
            shell,
            f"As of {when} by the records' own times, since there is no history ({lacks}): "
            "what was changed or taken out since is not seen, nor how the body was.",
        )
    return past
