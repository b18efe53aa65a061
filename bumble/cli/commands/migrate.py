"""`bumble migrate`: bring a folder that an older bumble made to the format of this one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bumble.cli import output
from bumble.cli.opening import Opened, locate, settle_git, shell_of
from bumble.cli.options import (
    CheckOption,
    EntityOption,
    JsonOption,
    LockTimeoutOption,
    NowOption,
)
from bumble.cli.process import Shell
from bumble.entity import changes, commits, settings
from bumble.entity.folder import ENTITY_FILE, Entity
from bumble.entity.settings import SCHEMA_VERSION
from bumble.errors import NotAnEntityError
from bumble.files import git, unfinished

if TYPE_CHECKING:
    from bumble.cli.migration import Migration

app = typer.Typer(rich_markup_mode=None)


@app.command()
def migrate(
    ctx: typer.Context,
    *,
    check: CheckOption = False,
    lock_timeout: LockTimeoutOption = None,
    entity: EntityOption = None,
    now: NowOption = None,
    json: JsonOption = False,
) -> None:
    """Bring a folder that an older bumble made to the format of this one.

    What it was is kept: as a tag where git has all of it, else as an archive in .history,
    which unpacks to the folder. All is changed or nothing.
    """
    from bumble.cli import migration

    shell = shell_of(ctx)
    shell.set_now(now)
    root, _ = locate(shell, entity)
    wait = changes.DEFAULT_LOCK_TIMEOUT_SECONDS if lock_timeout is None else lock_timeout
    if not check:
        changes.recover(root, timeout_seconds=wait)
        settle_git(shell, root, timeout_seconds=wait)
    planned = migration.plan(root)
    kept = ""
    if planned.due and not check:
        after = _opened_after(shell, root, planned)
        kept = migration.keep(Entity(root), planned.version, shell.now(), git.at(root))
        commits.apply(root, planned.change_set, after.commit_policy, timeout_seconds=wait)
    data = {
        "format": planned.version,
        "wanted": SCHEMA_VERSION,
        "changed": planned.due and not check,
        "check": check,
        "changes": list(planned.lines),
        "backup": kept or None,
    }
    output.result(shell, "migrate", data, _lines(planned, kept, check=check))


def _opened_after(shell: Shell, root: Path, migration: Migration) -> Opened:
    """Open the folder as it is to be: its settings can't be read before.

    Raises:
        SettingInvalidError: If there is more in them that this bumble doesn't take.
    """
    with unfinished.temporary_folder() as folder:
        file = folder / ENTITY_FILE
        file.write_text(migration.entity, encoding="utf-8")
        settings_after = settings.load(file, shell.user_file, shell.environ, {})
    if settings_after.identity is None:
        raise NotAnEntityError(root)
    return Opened(shell, Entity(root), "", settings_after, settings_after.identity)


def _lines(migration: Migration, kept: str, *, check: bool) -> list[str]:
    if not migration.due:
        return [f"Nothing to do: it is of format {SCHEMA_VERSION}."]
    steps = f"from format {migration.version} to {SCHEMA_VERSION}"
    if migration.version == SCHEMA_VERSION:
        steps = f"on within format {SCHEMA_VERSION}"
    if check:
        return [f"Would go {steps}:", *migration.lines]
    return [f"Went {steps}:", *migration.lines, f"What it was is kept as {kept}."]
