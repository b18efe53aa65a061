"""The secret of this installation, by which its own work is told from another's.

It lies in the user's state folder, readable by the user only. Where none can be kept, as without a
home, nothing is ours. The one place below `cli/` that asks the environment where that folder is:
whoever writes needs it, and nobody may give another.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from platformdirs import PlatformDirs

from bumble import files
from bumble.errors import FolderUnwritableError

NAME = "installation.key"
KEY_BYTES = 32
OTHERS = 0o077  # the permission bits of everybody else


def mark(text: str) -> str | None:
    """Return what only this installation can write beside a text; None where it has no secret."""
    key = _key(makes=True)
    return None if key is None else _mark(key, text)


def is_own(text: str, given: object) -> bool:
    """Whether this installation wrote a mark beside a text."""
    key = _key(makes=False)
    return (
        key is not None and isinstance(given, str) and hmac.compare_digest(_mark(key, text), given)
    )


def _mark(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(errors="replace"), hashlib.sha256).hexdigest()


def folder() -> Path | None:
    """Return the user's state folder; None without a home, not even in the list of users."""
    place = Path(PlatformDirs("bumble", appauthor=False).user_state_dir)
    return place if place.is_absolute() else None


def _key(*, makes: bool) -> bytes | None:
    state = folder()
    if state is None:
        return None
    place = state / NAME
    key = _read(place)
    if key is None and makes:
        try:
            files.write_atomic(place, secrets.token_bytes(KEY_BYTES), mode=0o600)
        except FolderUnwritableError:
            return None
        key = _read(place)  # another process may have been quicker
    return key


def _read(place: Path) -> bytes | None:
    """Read the secret; one that others can read is none."""
    try:
        if os.name == "posix" and place.stat().st_mode & OTHERS:
            return None
        key = files.read(place)
    except OSError:
        return None
    return key if len(key) == KEY_BYTES else None
