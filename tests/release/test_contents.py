from __future__ import annotations

import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from release import __main__ as release
from release import contents


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Wheel and sdist, built without the network."""
    return release.build(tmp_path_factory.mktemp("dist"))


def test_both_files_hold_what_they_must_and_nothing_else(built: tuple[Path, Path]) -> None:
    assert contents.problems(*built) == []


def test_what_is_missing_or_private_is_named(built: tuple[Path, Path], tmp_path: Path) -> None:
    wheel, sdist = tmp_path / "a.whl", tmp_path / "a.tar.gz"
    with zipfile.ZipFile(built[0]) as old, zipfile.ZipFile(wheel, "w") as new:
        for name in old.namelist():
            if name != "bumble/llm/prompts/system.md":
                new.writestr(name, old.read(name))
        new.writestr("tests/data/redteam.yaml", "")
    with tarfile.open(sdist, "w:gz") as archive:
        archive.add(os.devnull, "bumble-1/secrets.yaml")
    found = contents.problems(wheel, sdist)
    assert "the wheel lacks bumble/llm/prompts/system.md" in found
    assert "the wheel should not hold tests/data/redteam.yaml" in found
    assert "the sdist should not hold secrets.yaml" in found
    assert "the sdist lacks LICENSE" in found


def test_version_changelog_and_licences_agree(capsys: pytest.CaptureFixture[str]) -> None:
    release._agree(final=False)
    assert "licences as docs/licences.md says" in capsys.readouterr().out
