"""A whole entity as one archive: its files byte for byte.

What is derived, of one machine, or a key stays out, and secrets that bumble can tell are hidden.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from fnmatch import fnmatchcase
from pathlib import Path, PurePath, PurePosixPath

from msgspec import Struct, field

from bumble.bridges.imports import source
from bumble.entity import secrets
from bumble.entity.folder import ENTITY_FILE, INDEX, PRIVATE, Entity
from bumble.errors import BundleInvalidError, RefusedError, UnsafePathError
from bumble.files import disk
from bumble.text.printable import each_text

EPOCH = (1980, 1, 1, 0, 0, 0)  # of every file: the same folder gives the same archive
KEY_FILES = (
    *(".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "id_rsa", "id_ed25519", "id_ecdsa"),
    *(".netrc", ".pypirc", ".npmrc", "credentials", "credentials.*", "*.kdbx", "*.age"),
)


class Bundle(Struct):
    """The files of an archive."""

    members: dict[str, bytes] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)  # why, by path
    hidden: list[str] = field(default_factory=list)  # paths of files that had a secret


def collect(entity: Entity, *, keeps_secrets: bool = False) -> Bundle:
    """Read the files that go into an archive; secrets may stay in one that stays here."""
    bundle = Bundle()
    for inner in disk.walked(entity.root, lambda inner: not is_derived(inner)):
        name, path = inner.as_posix(), entity.root / inner
        why = _why_not(path)
        try:
            data = b"" if why else disk.read(path)
        except (UnsafePathError, OSError):
            why = "it can't be read"
        if why:
            bundle.left_out[disk.readable(name)] = why
        else:
            bundle.members[name] = data if keeps_secrets else _harmless(name, data, bundle)
    return bundle


def packed(bundle: Bundle) -> bytes:
    """Return the archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(bundle.members):
            info = zipfile.ZipInfo(name, EPOCH)
            info.external_attr = 0o600 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, bundle.members[name])
    return stream.getvalue()


def is_derived(path: PurePath) -> bool:
    """Whether something in the folder is derived, or of one machine only."""
    parts = PurePath(os.fspath(path).casefold()).parts
    derived = parts[0].startswith(INDEX) or parts[0] == ".history"
    ours = any(part in (".git", PRIVATE) for part in parts)
    return derived or ours or parts[-1].endswith(disk.TEMPORARY_SUFFIX)


def _why_not(path: Path) -> str:
    name = path.name
    if path.is_symlink() or not path.is_file():
        return "a link, or no plain file"
    if not disk.is_text(name) or not name.isprintable() or "\\" in name or ":" in name:
        return "no other system could read its name"
    if any(fnmatchcase(name.casefold(), pattern) for pattern in KEY_FILES):
        return "it is named like a key"
    return ""


def _harmless(name: str, data: bytes, bundle: Bundle) -> bytes:
    """Return a text without secrets; what is no text stays as it is."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return data
    shown = _without_secrets(text) if name.endswith(".jsonl") else secrets.redacted(text)
    if shown == text:
        return data
    bundle.hidden.append(name)
    return shown.encode("utf-8")


def _without_secrets(text: str) -> str:
    """Return lines of JSON without secrets; a line that has none stays byte for byte."""
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if secrets.find_secret(line) is None:
            continue
        try:
            value = each_text(json.loads(line), secrets.redacted)
            lines[number] = json.dumps(value, ensure_ascii=False) + "\n"
        except ValueError:
            lines[number] = secrets.redacted(line)
    return "".join(lines)


def check(root: Path) -> None:
    """Refuse a place where something lies.

    Raises:
        RefusedError: If it does.
    """
    there = root.iterdir() if root.exists() else ()
    if any(not one.name.endswith(disk.TEMPORARY_SUFFIX) for one in there):
        raise RefusedError(f"{root} is not empty\nName a new folder; nothing was written.")


def unpack(archive: Path, root: Path) -> list[str]:
    """Write the files of an archive into an empty folder; return their names.

    What is derived, such as an index, is made of the others and not taken.

    Raises:
        BundleInvalidError: If it is no archive of an entity.
    """
    disk.enclose(root)
    with source.opened(archive) as members:
        if ENTITY_FILE not in members.members:
            raise BundleInvalidError(archive, f"it holds no {ENTITY_FILE}")
        if members.left_out:
            item = members.left_out[0]
            raise BundleInvalidError(archive, f"{item.what}: {item.why}")
        names = [name for name in members.names if not is_derived(PurePosixPath(name))]
        for name in names:
            try:
                data = members.read(name, source.MAX_FILE_BYTES)
            except ValueError as error:
                raise BundleInvalidError(archive, f"{name}: {error}") from error
            disk.write_atomic(disk.inside(root, name), data)
        return names
