"""Where bumble can be set up: wheels for every platform, and clean Debian roots.

`uv run python bench/platforms.py` resolves every dependency to wheels for each platform, and prints
a line each. `--root DIR` runs the Debian line of README.md in a clean root that `debootstrap
--variant=minbase SUITE DIR` made, as root: this checkout is copied into it, the packages it names
are installed, and it ends with the first answer. The index and certificates are this machine's.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLATFORMS = {  # as uv names them
    "Linux x86-64": "x86_64-manylinux_2_28",
    "Linux aarch64": "aarch64-manylinux_2_28",
    "Linux x86-64, musl": "x86_64-unknown-linux-musl",
    "macOS 14, Apple silicon": "aarch64-apple-darwin",
    "macOS 14, Intel": "x86_64-apple-darwin",
    "Windows x64": "x86_64-pc-windows-msvc",
    "Windows arm64": "aarch64-pc-windows-msvc",
}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
LINE = re.compile(r"<!-- debian command -->\n```sh\n(.*?)\n```", re.DOTALL)
PASSED = ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")
NOT_COPIED = (".git", ".venv", "out", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache")


def resolved(platform: str, python: str) -> str:
    """Say whether every dependency has a wheel there; else which has none."""
    uv = shutil.which("uv") or "uv"
    command = [uv, "pip", "compile", "-q", "pyproject.toml", "--no-header"]
    options = ["--python-platform", platform, "--python-version", python, "--only-binary", ":all:"]
    ran = subprocess.run(
        [*command, *options],
        cwd=ROOT,
        env={**os.environ, "MACOSX_DEPLOYMENT_TARGET": "14.0"},
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode == 0:
        return "all wheels"
    names = re.findall(r"[Bb]ecause ([\w.-]+?)(?:[<>=!,\d.]| has)", ran.stderr)
    return f"no wheel of {names[-1]}" if names else ran.stderr.strip().splitlines()[0]


def answered(root: Path) -> int:
    """Run the Debian line of the README in a clean root; its exit code."""
    inside = root / "root" / "bumble"
    shutil.rmtree(inside, ignore_errors=True)
    shutil.copytree(ROOT, inside, ignore=shutil.ignore_patterns(*NOT_COPIED))
    certificates = Path(os.environ.get("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt"))
    place = root / "etc" / "ssl" / "certs" / "ca-certificates.crt"
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(certificates, place)
    shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")
    match = LINE.search((ROOT / "README.md").read_text(encoding="utf-8"))
    if match is None:
        raise ValueError("README.md has no line for Debian")
    line = f"apt-get update -q && cd ~/bumble && {match[1].removeprefix('sudo ')}"
    trusted = {"SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt"}
    trusted["PIP_CERT"] = trusted["REQUESTS_CA_BUNDLE"] = trusted["SSL_CERT_FILE"]
    carried = {name: value for name, value in os.environ.items() if name in PASSED}
    around = {"HOME": "/root", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
    chroot = shutil.which("chroot") or "chroot"
    return subprocess.run(
        [chroot, str(root), "/bin/sh", "-c", line],
        env={**around, **carried, **trusted, "DEBIAN_FRONTEND": "noninteractive"},
        check=False,
    ).returncode


def main() -> int:
    """Resolve everywhere, or run in one root."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, help="a clean root to run the Debian line in")
    options = parser.parse_args()
    if options.root is not None:
        return answered(options.root.resolve())
    for name, platform in PLATFORMS.items():
        for python in PYTHONS:
            print(f"{name:26} {python}  {resolved(platform, python)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
