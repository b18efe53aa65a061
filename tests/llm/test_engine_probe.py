from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bumble.entity.folder import Entity
from bumble.llm import detect

ERROR = "libgomp.so.1: cannot open shared object file: No such file or directory"
SYSTEMS = {
    "debian": 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nID=debian\n',
    "mint": 'ID=linuxmint\nID_LIKE="ubuntu debian"\n',
    "rocky": 'ID="rocky"\nID_LIKE="rhel centos fedora"\n',
    "leap": 'ID="opensuse-leap"\nID_LIKE="suse opensuse"\n',
    "arch": "ID=arch\n",
}


@pytest.mark.parametrize(
    ("system", "command"),
    [
        ("debian", "apt-get install libgomp1"),
        ("mint", "apt-get install libgomp1"),
        ("rocky", "dnf install libgomp"),
        ("leap", "zypper install libgomp1"),
        ("arch", "pacman -S gcc-libs"),
    ],
)
def test_a_library_that_is_not_there_names_its_package(
    tmp_path: Path, system: str, command: str
) -> None:
    release = tmp_path / "os-release"
    release.write_text(SYSTEMS[system])
    assert detect.advice(ERROR, release, "linux") == f"As root: {command}\n"


def test_where_the_system_is_not_known_the_packages_are_named(tmp_path: Path) -> None:
    told = detect.advice(ERROR, tmp_path / "none", "linux")
    assert "libgomp1" in told
    assert detect.advice("invalid ELF header", tmp_path / "none", "linux") == ""
    assert "Visual C++" in detect.advice("DLL load failed", tmp_path / "none", "win32")


def test_here_it_opens() -> None:
    pytest.importorskip("xllamacpp")
    assert detect.problem() == ""


def bumble(
    tmp_path: Path, environ: dict[str, str], engine: str, *argv: str
) -> subprocess.CompletedProcess[str]:
    """Run bumble on a machine whose engine is this module."""
    package = tmp_path / "lib"
    package.mkdir(exist_ok=True)
    (package / "xllamacpp.py").write_text(engine)
    around = {**os.environ, **environ, "PYTHONPATH": str(package), "PATH": os.environ["PATH"]}
    around["BUMBLE_LLM_PROBE_URLS"] = "[]"
    words = [sys.executable, "-m", "bumble", *argv]
    return subprocess.run(words, env=around, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("engine", "told"),
    [
        (f"raise ImportError({ERROR!r})", "can't be opened: libgomp.so.1: cannot open"),
        ("raise ModuleNotFoundError('xllamacpp')", "it has no wheel for this system"),
    ],
)
def test_nothing_is_fetched_for_an_engine_that_cannot_be_opened(
    tmp_path: Path, environ: dict[str, str], entity: Entity, engine: str, told: str
) -> None:
    root = str(entity.root)
    ran = bumble(tmp_path, environ, engine, "chat", "-e", root, "--yes", "Hello")
    assert ran.returncode == 20
    assert told in ran.stderr
    assert "Fetching" not in ran.stderr
    assert not (Path(environ["XDG_CACHE_HOME"]) / "bumble" / "weights").exists()
    assert told in bumble(tmp_path, environ, engine, "status", "-e", root).stdout
    assert told in bumble(tmp_path, environ, engine, "doctor", "-e", root).stdout
