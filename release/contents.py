"""What the wheel and the sdist must hold, and what they must not."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEMPLATE = "entity-template"
WITH_SOURCE = (
    *("README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md", "pyproject.toml"),
    *("docs/entity-format.md", "docs/licences.md"),
)
NEVER = (
    *("tests/*", "bench/*", "release/*", ".ci/*", ".git*", "*.pyc", "uv.lock", "*/memory.db"),
    *("*secrets*.yaml", "*.gguf", "*.onnx", ".venv/*", "dist/*"),
)
MAX_BYTES = 5_000_000


def problems(wheel: Path, sdist: Path) -> list[str]:
    """Say what is missing in either file, or should not be there."""
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = set(archive.namelist())
    with tarfile.open(sdist) as archive:
        members = (name.partition("/")[2] for name in archive.getnames())
        in_sdist = {name for name in members if name}
    template = [path.relative_to(ROOT) for path in (ROOT / TEMPLATE).rglob("*") if path.is_file()]
    ours = [path for path in (ROOT / "bumble").rglob("*") if path.is_file()]
    wanted = [p.relative_to(ROOT).as_posix() for p in ours if "__pycache__" not in p.parts]
    found = _missing(
        "the wheel", [*wanted, *(f"bumble/{path.as_posix()}" for path in template)], in_wheel
    )
    found += _missing(
        "the sdist", [*wanted, *WITH_SOURCE, *(p.as_posix() for p in template)], in_sdist
    )
    if not any(fnmatch(name, "*.dist-info/licenses/LICENSE") for name in in_wheel):
        found.append("the wheel lacks LICENSE")
    found += _surplus("the wheel", in_wheel) + _surplus("the sdist", in_sdist - {".gitignore"})
    return found + [
        f"{file.name} is larger than {MAX_BYTES:,} bytes"
        for file in (wheel, sdist)
        if file.stat().st_size > MAX_BYTES
    ]


def _missing(where: str, wanted: Iterable[str], there: set[str]) -> list[str]:
    return [f"{where} lacks {name}" for name in wanted if name not in there]


def _surplus(where: str, there: set[str]) -> list[str]:
    return [
        f"{where} should not hold {name}"
        for name in sorted(there)
        if any(fnmatch(name, pattern) for pattern in NEVER)
    ]
