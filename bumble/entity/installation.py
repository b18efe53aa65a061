"""The secrets of this installation: the key that marks its own work, and the user's API keys.

API keys come from the environment or from `secrets.yaml`, which only the user can read; never from
an entity's folder, and they are never shown. The key tells this installation's work from another's.
What is kept here lies in the user's state folder, readable by the user only; where that can't be
written, among the temporary files, until the machine is started anew. Where neither can be, only
what this process wrote is ours. The one place below `cli/` that asks the environment where these
folders are: whoever writes needs it, and nobody may give another.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import Path

from platformdirs import PlatformDirs

from bumble.errors import CredentialsError, FolderUnwritableError
from bumble.files import disk
from bumble.text import yaml_edit

NAME = "installation.key"
KEY_BYTES = 32
OTHERS = 0o077  # the permission bits of everybody else


def mark(text: str) -> str:
    """Return what only this installation can write beside a text; its key is made at first."""
    return _mark(_kept_key() or _of_process(), text)


def is_own(text: str, given: object) -> bool:
    """Whether this installation wrote a mark beside a text."""
    keys = chain(filter(None, map(_key, _places(NAME))), (_of_process(),))
    return isinstance(given, str) and any(
        hmac.compare_digest(_mark(key, text).encode(), given.encode(errors="replace"))
        for key in keys
    )


def signed(name: str, text: str) -> bytes:
    """Return a note under a name as only this installation can write it."""
    return json.dumps({"note": text, "mark": mark(f"{name} {text}")}).encode()


def note_in(name: str, data: bytes, *, adopts: bool = False) -> str:
    """Return the text of a note.

    Args:
        name: Under which it was written.
        data: As `signed` made it.
        adopts: Whether another installation's is taken, too: the owner says so.

    Raises:
        ValueError: If it is none, or another installation wrote it.
    """
    try:
        note = json.loads(data)
        if adopts or is_own(f"{name} {note['note']}", note["mark"]):
            return str(note["note"])
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError("it is no note") from error
    raise ValueError("another installation wrote it")


def kept(name: str) -> bytes | None:
    """Read what this installation keeps under a name; what others can read, or made, is not."""
    return next((data for place in _places(name) if (data := _own(place)) is not None), None)


def keep(name: str, data: bytes) -> None:
    """Keep something under a name, in the first place that can be written, if there is one."""
    for place in _places(name):
        with suppress(FolderUnwritableError):
            disk.write_atomic(place, data, mode=0o600)
            return


def _mark(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(errors="replace"), hashlib.sha256).hexdigest()


@cache
def _of_process() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def _places(name: str) -> Iterator[Path]:
    """Yield where a file may lie; nowhere below a home that nobody has."""
    with suppress(RuntimeError):  # where the system knows of no home
        state = Path(PlatformDirs("bumble", appauthor=False).user_state_dir)
        if state.is_absolute():
            yield state / name
    if os.name == "posix":  # elsewhere nobody tells whose a file is
        with suppress(OSError):
            temporary = tempfile.gettempdir()  # where nothing else will do, the folder it runs in
            if not os.path.samefile(temporary, os.curdir):  # noqa: PTH121
                yield Path(temporary) / f"bumble-{os.geteuid()}" / name


def _kept_key() -> bytes | None:
    """Return the secret, made where there is none; None where none can be kept."""
    for place in _places(NAME):
        with suppress(FolderUnwritableError):
            if _key(place) is None:
                disk.write_atomic(place, secrets.token_bytes(KEY_BYTES), mode=0o600)
            if key := _key(place):  # another process may have been quicker
                return key
    return None


def _key(place: Path) -> bytes | None:
    key = _own(place)
    return key if key is not None and len(key) == KEY_BYTES else None


def _own(place: Path) -> bytes | None:
    """Read a file of this installation; one that others can read, or made, is none."""
    try:
        if os.name == "posix":
            status = place.lstat()
            if status.st_mode & OTHERS or status.st_uid != os.geteuid():
                return None
        return disk.read(place)
    except OSError:
        return None


def secret(name: str, environ: Mapping[str, str], secrets_file: Path | None) -> str | None:
    """Find what a name stands for; None where it stands for nothing.

    Args:
        name: The variable, and the entry of the file.
        environ: Asked first.
        secrets_file: YAML, `NAME: key` a line; it need not exist.

    Raises:
        CredentialsError: If others can read the file, or it is not such YAML.
    """
    if key := environ.get(name, "").strip():
        return key
    path = secrets_file
    if path is None or not path.exists():
        return None
    if os.name == "posix" and path.stat().st_mode & OTHERS:
        raise CredentialsError(
            f"{path}: others on this machine can read your keys\nRun: chmod 600 {path}"
        )
    try:
        found = yaml_edit.parse_mapping(path.read_text("utf-8")).get(name)
    except OSError as error:
        raise CredentialsError(f"{path}: could not be read: {error.strerror}") from error
    except ValueError:  # its text, which an error might quote, is secret
        raise CredentialsError(f"{path}: must hold lines of YAML, `NAME: key`") from None
    if found is None:
        return None
    if not isinstance(found, str) or not found.strip():
        raise CredentialsError(f"{path}: the key under `{name}` must be text; put it in quotes")
    return found.strip()
