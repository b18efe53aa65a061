"""`bumble new`: make an entity folder, or one of an archive again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from bumble.cli import new_entity, output, text_input
from bumble.cli.command import plain
from bumble.cli.models import chat_model
from bumble.cli.opening import without_entity
from bumble.cli.process import Shell
from bumble.entity import approvals
from bumble.entity.folder import ENTITY_FILE
from bumble.errors import (
    BundleInvalidError,
    UsageError,
)
from bumble.files import disk, git, gitdir, unfinished


@plain
def new(
    shell: Shell,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to make.")],
    *,
    name: Annotated[
        str | None, typer.Option(help="What it is called. Default: the folder's name.")
    ] = None,
    archetype: Annotated[
        str | None, typer.Option(help="What it is like: curious, sardonic, gentle or guardian.")
    ] = None,
    owner: Annotated[
        str | None,
        typer.Option(help="Whom it belongs to. Default: git's user.name, or your account."),
    ] = None,
    timezone: Annotated[
        str | None, typer.Option(metavar="ZONE", help="Its time zone. Default: this machine's.")
    ] = None,
    no_git: Annotated[
        bool, typer.Option("--no-git", help="Don't make it a git repository.")
    ] = False,
    archive: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="A bundle of `bumble export`: the same again."),
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option("--key", metavar="FILE", help="The age identity that opens it.")
    ] = None,
) -> None:
    """Make an entity folder."""
    if archive is not None:
        _restore(shell, folder, archive, key_file, use_git=not no_git)
        return
    identity = new_entity.make(
        shell,
        folder,
        name=name,
        archetype=archetype,
        owner=owner,
        timezone=timezone,
        use_git=not no_git,
    )
    shell.entity_name = identity["name"]
    here = f'bumble chat -e {shlex.quote(str(folder))} "Hello"'
    lines = [f"{identity['name']} lives in {identity['folder']}", f"Say hello: {here}"]
    if identity["repository"] and identity["repository"] != identity["folder"]:
        sentence = f"Its history is kept by the repository it lies in, {identity['repository']};"
        lines.insert(1, f"{sentence} bumble commits nothing there unless `git.autocommit` is set")
    output.result(shell, "new", identity, lines)
    opened = without_entity(shell)
    if chat_model.is_open(opened):
        from bumble.cli.models import model_view  # only now: it looks at what a model needs

        model_view.ask(opened)


def _restore(
    shell: Shell, folder: Path, archive: Path, key_file: Path | None, *, use_git: bool
) -> None:
    """Make the entity of an archive again."""
    from bumble.bridges.exports import bundle, destination
    from bumble.history import driver

    root = new_entity.root_of(shell, folder)
    bundle.check(root)
    source = shell.real_path(archive)
    is_kept = use_git and gitdir.find(root) is None
    approvals.forget(root)
    with (
        _opened(shell, source, key_file) as plain,
        destination.folder(root, last=ENTITY_FILE) as draft,
    ):
        names = bundle.unpack(plain, draft)
        if is_kept := is_kept and git.init(draft):
            driver.install(draft)
    kept_by = str(root) if is_kept else None
    data = {"folder": str(root), "files": len(names), "repository": kept_by}
    advice = f"bumble config trust {shlex.quote(str(root))}"
    output.say(f"What it is to obey, and who it is, counts once you trust it: {advice}")
    lines = [f"Made {root} of {len(names)} files", "Its history begins with its next change."]
    output.result(shell, "new", data, lines[: 2 if kept_by else 1])


@contextmanager
def _opened(shell: Shell, archive: Path, key_file: Path | None) -> Iterator[Path]:
    """Give an archive as it is when it is not encrypted; decrypted it lies in a private folder."""
    from bumble.bridges.exports.age import MAGIC, decrypted, is_for_keys

    try:
        data = disk.read(archive)
    except OSError as error:
        raise BundleInvalidError(archive, f"can't be read: {error.strerror}") from error
    if not data.startswith(MAGIC):
        yield archive
        return
    identity = _key(shell.path(key_file)) if key_file is not None else ""
    if not identity and is_for_keys(data):
        raise BundleInvalidError(archive, "it is encrypted for a key, not with a passphrase")
    passphrase = "" if identity else text_input.passphrase(shell, new=False)
    try:
        data = decrypted(data, identity, passphrase)
    except ValueError as error:
        raise BundleInvalidError(archive, str(error)) from error
    with unfinished.temporary_folder() as private:
        plain = private / "bundle.zip"
        plain.write_bytes(data)
        yield plain


def _key(path: Path) -> str:
    try:
        return disk.read(path).decode()
    except (OSError, ValueError) as error:
        raise UsageError(f"--key {path}: it can't be read, or is no text.") from error
