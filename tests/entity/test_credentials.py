from __future__ import annotations

import os
from pathlib import Path

import pytest

from bumble.entity import installation
from bumble.errors import CredentialsError

SECRET = "sk-very-secret"


def secrets(folder: Path, text: str = f"OPENAI_API_KEY: {SECRET}\n", mode: int = 0o600) -> Path:
    path = folder / "secrets.yaml"
    path.write_text(text, "utf-8")
    path.chmod(mode)
    return path


def test_the_environment_comes_before_the_file(tmp_path: Path) -> None:
    path = secrets(tmp_path)
    assert installation.secret("OPENAI_API_KEY", {"OPENAI_API_KEY": " other\n"}, path) == "other"
    assert installation.secret("OPENAI_API_KEY", {}, path) == SECRET
    assert installation.secret("OPENAI_API_KEY", {"OPENAI_API_KEY": ""}, path) == SECRET


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o602])
def test_a_file_that_others_can_open_is_refused(mode: int, tmp_path: Path) -> None:
    path = secrets(tmp_path, mode=mode)
    with pytest.raises(CredentialsError) as raised:
        installation.secret("OPENAI_API_KEY", {}, path)
    assert f"chmod 600 {path}" in str(raised.value)
    assert raised.value.exit_code == 23


@pytest.mark.parametrize(
    "text", [f"OPENAI_API_KEY: [{SECRET}\n", f"{SECRET}\n", "OPENAI_API_KEY: 12\n", "a: 1\na: 2\n"]
)
def test_a_broken_file_is_named_without_its_secrets(text: str, tmp_path: Path) -> None:
    path = secrets(tmp_path, text)
    with pytest.raises(CredentialsError) as raised:
        installation.secret("OPENAI_API_KEY", {}, path)
    assert str(path) in str(raised.value)
    assert SECRET not in str(raised.value)
