"""What most commands do first: find the entity folder, read its settings, its time zone.

Heavy rooms are imported inside the functions that need them, so that a command pays for what it
uses.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct
from msgspec.structs import replace

from bumble.cli import index_place, output, setting_files
from bumble.cli.process import Shell
from bumble.entity import (
    approvals,
    changes,
    commits,
    folder,
    git_operations,
    settings,
    uncommitted,
    write_ahead,
)
from bumble.entity.config import Config, Identity
from bumble.entity.settings import Settings
from bumble.errors import (
    FolderUnwritableError,
    NotAnEntityError,
    RefusedError,
    SettingInvalidError,
)
from bumble.files import disk, git, gitdir
from bumble.history import clone
from bumble.runtime import rules, spoken
from bumble.text import moments, printable

FORGOTTEN = "forgotten.jsonl"
CLONE_MARK = "clone"  # in `.bumble/`: that it was said that git does not know how to merge


class WithoutEntity(Struct, frozen=True):
    """The settings of the user, in the process of a command that is about no entity."""

    shell: Shell
    settings: Settings
    root: Path | None = None
    spoken: Sequence[str] = ()

    @property
    def config(self) -> Config:
        """The settings in force."""
        return self.settings.config


class Opened(Struct, frozen=True):
    """An entity with its settings, in the process of a command."""

    shell: Shell
    entity: folder.Entity
    why: str  # how it was found, for `status`
    settings: Settings
    identity: Identity
    donors: tuple[Path, ...] = ()  # databases of indexes that vectors may be taken over from

    @property
    def config(self) -> Config:
        """The settings in force."""
        return self.settings.config

    @property
    def root(self) -> Path:
        """The entity's folder."""
        return self.entity.root

    @property
    def zone(self) -> ZoneInfo:
        """The entity's time zone."""
        return ZoneInfo(self.identity.timezone)

    @property
    def now(self) -> datetime:
        """The present, in the entity's time zone."""
        return self.shell.now().astimezone(self.zone)

    @property
    def owner_id(self) -> str:
        """The id of whom the entity belongs to."""
        from bumble.runtime.people import owner_id  # much, of which few commands need anything

        return owner_id(self.entity, self.identity)

    @property
    def spoken(self) -> list[str]:
        """The languages that people spoke in the latest conversations, the newest first."""
        return spoken.latest(self.entity, self.config.language, self.now)

    @property
    def commit_policy(self) -> commits.CommitPolicy:
        """How this process makes commits."""
        return commits.CommitPolicy(
            self.config.git.autocommit,
            self.identity.name,
            lambda: self.now,
            partial(output.warn, self.shell),
            self.settings.trusted,
        )

    def cached(self, name: str) -> Any:
        """Return what lies as JSON in the entity's cache; None: nothing that can be read."""
        raw = disk.read_cache(self.entity.private / "cache" / name)
        with suppress(ValueError, RecursionError):
            return json.loads(raw) if raw else None
        return None

    def with_settings(self, **flags: object) -> Opened:
        """Return it with settings overridden, as further flags of its command would."""
        loaded, entity = _settings(self.shell, self.entity, self.settings.flags() | flags)
        return replace(self, settings=loaded, entity=entity)

    def within(self, path: Path) -> Path:
        """Return a path of the folder, checked that no link leads out of it.

        Raises:
            UnsafePathError: If one does.
        """
        disk.inside(self.entity.root, self.entity.relative(path))
        return path


Configured = Opened | WithoutEntity  # a process with settings: of an entity, or the user's alone


def locate(shell: Shell, folder_name: Path | None) -> tuple[Path, str]:
    """Return the entity folder that is meant, and why that one.

    Raises:
        NotAnEntityError: If there is none.
        RefusedError: If the path to it is no text.
    """
    typed, variable = folder_name or shell.entity, shell.environ.get("BUMBLE_ENTITY")
    named = typed or (Path(variable) if variable else None)
    why = "--entity" if typed else "BUMBLE_ENTITY"
    found = shell.real_path(named) if named else folder.find(shell.cwd)
    if found is None:
        raise NotAnEntityError(shell.cwd, "neither it nor a folder above has an entity.yaml")
    root = named_in_text(found)
    if not (root / folder.ENTITY_FILE).is_file():
        lacks = "it has no entity.yaml" if root.is_dir() else "no such folder"
        if os.path.lexists(root / folder.ENTITY_FILE):
            lacks = (
                f"its {folder.ENTITY_FILE} is no file that can be opened; put back the one you had"
            )
        raise NotAnEntityError(root, "it is a file" if root.is_file() else lacks)
    _enclose(shell, root)
    return root, why if named else "the nearest entity.yaml from here upward"


def named_in_text(root: Path) -> Path:
    """Return a folder whose path is text: the index takes no other.

    Raises:
        RefusedError: If it is not.
    """
    if printable.HALF.search(str(root)):
        raise RefusedError(
            f"{root}: its path is not UTF-8 text, or this locale takes it for none\n"
            "Rename the folder, or set LC_ALL=C.UTF-8; nothing was read or written."
        )
    return root


def _enclose(shell: Shell, root: Path) -> None:
    """Have nothing in the folder lead out of it, and nothing count that git brought as ours."""
    disk.enclose(root)
    if brought := git.unchanged(root, *folder.DERIVED):
        disk.pass_over(brought)
        if any(
            path.name in folder.DERIVED for path in brought
        ):  # a journal of SQLite's changes the index
            disk.pass_over([root / folder.INDEX])
        paths = [path.relative_to(root).as_posix() for path in brought]
        tops = " ".join(dict.fromkeys(path.partition("/")[0] for path in paths))
        output.warn(
            shell,
            f"git keeps {', '.join(paths[:3])}{' …' if len(paths) > 3 else ''}: nothing of it is"
            f" used.\nTake it out: git -C {shlex.quote(str(root))} rm -r --cached {tops}",
        )


def open_entity(
    shell: Shell,
    folder_option: Path | None,
    *,
    incognito: bool = False,
    reads: bool = False,
    **flags: object,
) -> Opened:
    """Open the entity a command is about.

    Finishes what a killed process left half written, unless nothing may be written.

    Args:
        shell: The process.
        folder_option: --entity behind the command.
        incognito: Whether the folder must stay as it is in every byte.
        reads: Whether the command only looks.
        flags: Settings that flags of this command override: `llm__model="…"` for `llm.model`.

    Raises:
        NotAnEntityError: If there is none.
        SettingInvalidError: If its settings can't be read.
        RefusedError: If it is half written and nothing may be written.
    """
    root, why = locate(shell, folder_option)
    if incognito and write_ahead.leftovers(root).own:
        raise RefusedError(
            f"{root}: a change is being written, or was cut off\n"
            "Run `bumble doctor --fix` first; incognito writes nothing."
        )
    wait = flags.get("limits__lock_timeout_seconds")
    timeout = wait if isinstance(wait, float) else changes.DEFAULT_LOCK_TIMEOUT_SECONDS
    changes.recover(root, timeout_seconds=timeout)
    is_settled = settle_git(shell, root, timeout_seconds=timeout, reads=reads or incognito)
    if waiting := [*write_ahead.leftovers(root).foreign, *uncommitted.foreign(root)]:
        count = f"{len(waiting)} change{'s' if len(waiting) > 1 else ''}"
        output.warn(
            shell,
            f"{count} that another installation left half done in {folder.PRIVATE}: not touched.\n"
            "If they are yours, `bumble doctor --adopt` finishes them.",
        )
    read, entity = _settings(shell, folder.Entity(root), flags)
    opened = Opened(shell, entity, why, read, identity_of(shell, root, read))
    if incognito:
        return opened
    if is_settled:
        _check_merges(opened) if reads else settle_merges(opened)
        _teach_git(opened)
    return _with_rules(opened, flags)


def identity_of(shell: Shell, root: Path, read: Settings) -> Identity:
    """Return whose settings were read, and have the process know it; say what is wrong with them.

    Raises:
        NotAnEntityError: If they are nobody's.
    """
    for warning in read.warnings:
        output.warn(shell, warning)
    if read.identity is None:
        raise NotAnEntityError(root)
    shell.entity_name, now = read.identity.name, shell.now_given
    zone = ZoneInfo(read.identity.timezone)
    moments.HOME.set(zone)
    if now is not None and now.tzinfo is None:
        shell.now_given = now.replace(tzinfo=zone)
    return read.identity


def _with_rules(opened: Opened, flags: Mapping[str, object]) -> Opened:
    """Ask the owner once about rules that came from elsewhere; who isn't there is told of them."""
    shell, root = opened.shell, opened.root
    waiting = rules.pending(opened.entity, rules.read(opened.entity, opened.settings), whole=True)
    if not waiting:
        return opened
    if shell.asks and approvals.are_new(root, waiting):
        output.say(f"Came to {root} from elsewhere, and counts only if you say so:")
        for rule in waiting:
            output.say(f"  {rules.line(rule)}")
        if output.agrees("Trust the folder as it is?", default=False):
            setting_files.trust(shell, root, setting_files.to_trust(shell, root).digests)
            return opened.with_settings(**flags)
    output.warn(shell, rules.warning(root, waiting))
    return opened


def rules_from_elsewhere(opened: Opened) -> list[approvals.Rule]:
    """Return the rules that don't count, as the files are now, and say what makes them count."""
    with suppress(SettingInvalidError):  # a finding of doctor's
        now = opened.with_settings()
        if waiting := rules.pending(now.entity, rules.read(now.entity, now.settings), whole=True):
            output.warn(now.shell, rules.warning(now.root, waiting))
        return waiting
    return []


def configured(
    shell: Shell, folder_option: Path | None, *, reads: bool = False, **flags: object
) -> Configured:
    """Return the settings of the entity, if one is meant, else the user's; see `open_entity`."""
    try:
        locate(shell, folder_option)
    except NotAnEntityError:
        if folder_option or shell.entity or shell.environ.get("BUMBLE_ENTITY"):
            raise
        return without_entity(shell, **flags)
    return open_entity(shell, folder_option, incognito=False, reads=reads, **flags)


def without_entity(shell: Shell, **flags: object) -> WithoutEntity:
    """Return the settings of the user."""
    loaded = settings.load(None, shell.user_file, shell.environ, _overriding(flags))
    for warning in loaded.warnings:
        output.warn(shell, warning)
    return WithoutEntity(shell, loaded)


def settle_git(shell: Shell, root: Path, *, timeout_seconds: float, reads: bool = False) -> bool:
    """Bring to an end what git was cut off in; for who only reads, say that it waits.

    The settings can't be read first: they may be half merged.

    Returns:
        Whether nothing waits any more.
    """
    if not (operations := git_operations.cut_off(root)):
        return True
    if reads:
        output.warn(shell, git_operations.warning(operations.values()))
        return False
    trusted = False
    with suppress(SettingInvalidError):  # half merged, they are nobody's
        trusted = settings.load(root / folder.ENTITY_FILE, shell.user_file, shell.environ).trusted
    if (place := git.at(root, trusted=trusted)) is not None:
        with changes.held(root, timeout_seconds=timeout_seconds):
            told = git_operations.settle(root, place)
        if told:
            output.warn(shell, told)
    return True


def _teach_git(opened: Opened) -> None:
    """Tell git how to merge the folder, or say that it has not been told."""
    root = opened.entity.root
    place = git.at(root, trusted=opened.settings.trusted)
    if place is None or not clone.lacks_driver(root, place.repository):
        return
    if clone.is_own(place.repository) and not place.unsafe:
        clone.install_driver(root)
    elif not (clone.is_own(place.repository) or (opened.entity.private / CLONE_MARK).exists()):
        disk.write_cache(opened.entity.private / CLONE_MARK, b"")
        output.warn(
            opened.shell,
            "git has not been told how to merge these files by meaning, and its repository is not "
            "this folder's alone: `bumble doctor --fix` tells it.",
        )


def _maybe_half_merged(root: Path) -> gitdir.Repository | None:
    """Return the repository of a folder that git may have left half merged; None: it has not."""
    if (found := gitdir.find(root)) is None:
        return None
    return (
        found if approvals.may_be_half_merged(root, found) or uncommitted.taken_back(root) else None
    )


def _check_merges(opened: Opened) -> None:
    """Say what a merge that git made without us left, to who only reads; nothing is changed.

    Raises:
        RefusedError: If it brought back what was forgotten: nobody is to meet it until it is gone.
    """
    root = opened.entity.root
    if (repository := _maybe_half_merged(root)) is None:
        return
    waiting = clone.waiting(root, trusted=opened.settings.trusted)
    advice = "`bumble doctor --fix` merges what it can, and says what is yours to settle."
    if waiting:
        output.warn(opened.shell, f"git left half merged: {', '.join(waiting)}.\n{advice}")
    elif (root / FORGOTTEN).exists():
        from bumble.jobs.forgetting import forget

        if forget.plan_again(opened.entity, opened.zone).changes:
            raise RefusedError(f"{root}: a merge brought back what was forgotten\n{advice}")
    if not (waiting or approvals.is_open(repository) or clone.hears_again(root)):
        approvals.note_look(root, repository)


def settle_merges(opened: Opened, kept: Sequence[str] = ()) -> None:
    """End what git merged without us, and forget again what it brought back; say so.

    Args:
        opened: The entity.
        kept: What a merge of ours has just kept, to be told with the rest.
    """
    root = opened.entity.root
    if (repository := _maybe_half_merged(root)) is None:
        return
    timeout, mended = opened.config.limits.lock_timeout_seconds, clone.Mended()
    with suppress(FolderUnwritableError):  # then nothing is taken from what is half merged
        mended = clone.mend(root, opened.commit_policy, timeout_seconds=timeout)
    forget_again(opened)
    here = tuple(path for path in (*kept, *mended.kept) if (root / path).exists())
    if sentence := replace(mended, kept=here).sentence:
        output.warn(opened.shell, sentence)
    if not (mended.left or approvals.is_open(repository)):
        approvals.note_look(root, repository)


def forget_again(opened: Opened, *, brought_by: str = "A merge") -> None:
    """Forget what something has brought back of people who were forgotten."""
    if not (opened.entity.root / FORGOTTEN).exists():
        return
    from bumble.jobs.forgetting import forget

    plan = forget.forget_again(
        opened.entity,
        opened.commit_policy,
        opened.shell.own_caches(opened.entity.root),
        at=index_place.place_of(opened),
        zone=opened.zone,
        timeout_seconds=opened.config.limits.lock_timeout_seconds,
    )
    if plan.changes:
        told = f"{brought_by} brought back what was forgotten; forgotten again: {plan.summary}."
        more = "What a person wrote of them stays: `bumble person forget NAME --dry-run` names it."
        output.warn(opened.shell, f"{told}\n{more}")


def _settings(
    shell: Shell, entity: folder.Entity, flags: Mapping[str, object]
) -> tuple[Settings, folder.Entity]:
    """Read the settings that count, and say of the entity which of its rules do."""
    load = partial(settings.load, entity.file, shell.user_file, shell.environ, _overriding(flags))
    loaded = load()
    entity = replace(entity, approval=loaded.approval)
    acting = [rule for rule in loaded.rules if rule.name == settings.ACTING_RULE]
    return (load(acts=False) if rules.pending(entity, acting) else loaded), entity


def _overriding(flags: Mapping[str, object]) -> dict[str, object]:
    return {key.replace("__", "."): value for key, value in flags.items() if value is not None}
