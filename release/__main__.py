"""A release, up to the point where it would be given to others.

`python -m release --dry-run` builds wheel and sdist, looks at what is in them, installs each from
its file in an empty environment, and there runs the first command of the README and opens a folder
that the version before has made. Nothing leaves the machine; CONTRIBUTING.md says how a release is
uploaded, by hand.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bumble import __version__
from release import contents, licences
from release.contents import ROOT

BEFORE = sorted((ROOT / "tests" / "data").glob("entity-*.tar.gz"))
SCRIPT = [{"purpose": "chat", "text": "Hello, I am here.", "always": True}]
UPLOAD = "Nothing was uploaded. CONTRIBUTING.md, A release, says how that is done, and by whom."
WEIGHTS = Path(os.environ.get("BUMBLE_WEIGHTS") or Path.home() / ".cache" / "bumble" / "weights")
SMALL = "smollm2-135m"


class Failed(Exception):
    """Something that a release may not have."""


def main(arguments: list[str]) -> int:
    """Go through the steps."""
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    parser.add_argument("--dry-run", action="store_true", required=True)
    parser.add_argument("--final", action="store_true", help="the changelog must name the version")
    options = parser.parse_args(arguments)
    try:
        _agree(final=options.final)
        with tempfile.TemporaryDirectory(prefix="bumble-release-") as folder:
            wheel, sdist = build(Path(folder))
            if found := contents.problems(wheel, sdist):
                raise Failed("\n".join(found))
            for file in (wheel, sdist):
                _tell(f"{file.name}: {file.stat().st_size:,} bytes")
                _try(file, Path(folder) / file.suffix.strip("."))
    except Failed as problem:
        _tell(f"NOT READY: {problem}")
        return 1
    _tell(f"ready. {UPLOAD}")
    return 0


def _agree(*, final: bool) -> None:
    """See to it that version, changelog and licences say the same."""
    log = (ROOT / "CHANGELOG.md").read_text("utf-8")
    heads = re.findall(r"^## (.+)$", log, re.MULTILINE)
    versions = [head.split()[0].strip("[]") for head in heads]
    if versions[0] != __version__ and (final or versions[0] != "Unreleased"):
        raise Failed(f"CHANGELOG.md begins with {versions[0]}, bumble/__init__.py is {__version__}")
    _tell(f"version {__version__}, changelog {versions[0]}")
    here = licences.packages()
    told = licences.rows(licences.PAGE.read_text("utf-8"))
    for package in here:
        if told.get(package.name) != package.licence:
            raise Failed(f"docs/licences.md does not agree on {package.name}: run `just licences`")
        if not licences.is_allowed(package.licence):
            raise Failed(f"{package.name} is under {package.licence or 'no licence that is told'}")
    _tell(f"{len(here)} packages, licences as docs/licences.md says")


def build(folder: Path) -> tuple[Path, Path]:
    """Build both files, without the network."""
    _run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], ROOT, dict(os.environ))
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def _try(file: Path, folder: Path) -> None:
    """Install a file where nothing else is, and use it as somebody new would."""
    home = folder / "home"
    home.mkdir(parents=True)
    plain = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    began = time.monotonic()
    _run(
        ["uv", "venv", "-q", "--no-config", "-p", sys.executable, str(folder / "env")],
        folder,
        dict(os.environ),
    )
    python = folder / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    _run(["uv", "pip", "install", "-q", "-p", str(python), str(file)], folder, dict(os.environ))
    _tell(f"  installed in {time.monotonic() - began:.0f} s")
    script = home / "script.jsonl"
    script.write_text("".join(f"{json.dumps(rule)}\n" for rule in SCRIPT), "utf-8")
    environ = {**plain, "HOME": str(home), "USERPROFILE": str(home), "PIP_NO_INDEX": "1"}
    environ |= {"HF_HUB_OFFLINE": "1", "BUMBLE_EMBEDDING_MODEL": "none"}
    environ |= {"BUMBLE_LIMITS_SETTLE": "later", "BUMBLE_LLM_MODEL": f"script:{script}"}
    bumble = [str(python), "-P", "-m", "bumble"]
    if __version__ not in _run([*bumble, "--version"], home, environ):
        raise Failed(f"{file.name} holds another version than {__version__}")
    first = ["chat", "-e", "ada", "--new", "--yes", "Hello Ada, I am Sam. Who are you?"]
    if "Hello, I am here." not in _run([*bumble, *first], home, environ):
        raise Failed("the first command gave no answer")
    _tell("  the first command answers (scripted model)")
    if (WEIGHTS / SMALL).is_dir():
        real = {**environ, "BUMBLE_LLM_MODEL": SMALL, "BUMBLE_WEIGHTS": str(WEIGHTS)}
        _run([*bumble, "chat", "-e", "ada", "And now?"], home, real)
        _tell(f"  and with {SMALL}, offline")
    for archive in BEFORE:
        _open_old(archive, home, bumble, environ)


def _open_old(archive: Path, home: Path, bumble: Sequence[str], environ: dict[str, str]) -> None:
    """Open a folder that an earlier version made, and talk to who lives in it."""
    place = home / archive.name.removesuffix(".tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(place, filter="data")
    there = {*place.rglob("messages.jsonl")}
    before = {path: path.read_bytes() for path in there}
    at = [*bumble, "-e", str(place / "ada")]
    _run([*at, "migrate"], home, environ)
    _run([*at, "doctor", "--fix"], home, environ)
    _run([*at, "status"], home, environ)
    if "Biscuit" not in _run([*at, "recall", "what is the dog called"], home, environ):
        raise Failed(f"{archive.name}: what was told is not found any more")
    _run([*at, "chat", "Do you remember me?"], home, environ)
    _run([*at, "doctor"], home, environ)
    if any(not path.read_bytes().startswith(old) for path, old in before.items()):
        raise Failed(f"{archive.name}: an old conversation was changed")
    _tell(f"  opens {archive.name}, finds what was told there, and goes on")


def _run(command: Sequence[str], folder: Path, environ: dict[str, str]) -> str:
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def _tell(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
