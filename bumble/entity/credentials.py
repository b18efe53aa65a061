"""The user's API keys: from the environment, or `secrets.yaml` that only they can read.

Never from an entity's folder, and never shown.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from bumble.errors import CredentialsError
from bumble.text import yaml_edit

OTHERS = 0o077  # the permission bits of everybody else


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
    if secrets_file is None or not secrets_file.exists():
        return None
    return _from_file(secrets_file, name)


def _from_file(path: Path, name: str) -> str | None:
    if os.name == "posix" and path.stat().st_mode & OTHERS:
        raise CredentialsError(
            f"{path}: others on this machine can read your keys\nRun: chmod 600 {path}"
        )
    try:
        key = yaml_edit.parse_mapping(path.read_text("utf-8")).get(name)
    except OSError as error:
        raise CredentialsError(f"{path}: could not be read: {error.strerror}") from error
    except ValueError:  # its text, which an error might quote, is secret
        raise CredentialsError(f"{path}: must hold lines of YAML, `NAME: key`") from None
    if key is None:
        return None
    if not isinstance(key, str) or not key.strip():
        raise CredentialsError(f"{path}: the key under `{name}` must be text; put it in quotes")
    return key.strip()
