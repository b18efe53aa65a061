"""Where bumble can be set up: wheels for every platform, and clean Debian roots.

`uv run python bench/platforms.py` resolves every dependency to wheels for each platform, and prints
a line each. As root, `--root DIR --suite SUITE` makes a clean Debian there by debootstrap, unless
one is there, and runs what README.md tells for Debian in it: this checkout is copied into it, and
it ends with the commands of tomorrow. `--user` does it as somebody who is not root. The index and
certificates are this machine's, and with `--weights` so are the weights; else they are fetched,
more than 1 GB. `--model` names the one that answers. A mirror may be an old copy.
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
TOOL = re.compile(r"On Debian it is `([^`]+)`")  # makes `bumble` a command
TOMORROW = re.compile(r"## What you can do tomorrow\n+```sh\n(.*?)\n```", re.DOTALL)
PASSED = ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")
CERTIFICATES = "/opt/certificates.crt"  # beside those of the root's own packages
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


def make_root(root: Path, suite: str) -> None:
    """Make a clean Debian, unless one is there."""
    if (root / "etc" / "debian_version").exists():
        return
    scripts = Path("/usr/share/debootstrap/scripts")
    known = [str(scripts / "sid")] if not (scripts / suite).exists() else []  # newer than it knows
    command = ["debootstrap", "--variant=minbase", suite, str(root), "http://deb.debian.org/debian"]
    subprocess.run([*command, *known], check=True)


def answered(root: Path, *, user: bool, weights: Path | None, model: str) -> int:
    """Run the Debian line of the README in a clean root; its exit code."""
    home = "/home/sam" if user else "/root"
    copied(root, home, weights)
    line = told() if user else told().replace("sudo ", "")
    trusted = dict.fromkeys(("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE"), CERTIFICATES)
    carried = {name: value for name, value in os.environ.items() if name in PASSED}
    if model:
        carried["BUMBLE_LLM_MODEL"] = model
    around = {"HOME": home, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
    environ = {**around, **carried, **trusted, "DEBIAN_FRONTEND": "noninteractive"}
    chroot = shutil.which("chroot") or "chroot"
    steps = [("root", "apt-get update -q")]
    if user:
        steps.append(("root", AS_USER))
    steps.append(("sam" if user else "root", f"set -ex; cd ~/bumble\n{line}"))
    for name, step in steps:
        command = [chroot, f"--userspec={name}:{name}", str(root), "/bin/sh", "-c", step]
        code = subprocess.run(command, env=environ, check=False).returncode
        if code:
            return code
    return 0


def told() -> str:
    """Return what README.md tells somebody on Debian, but for the export that nobody has here."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = [pattern.search(readme) for pattern in (LINE, TOOL, TOMORROW)]
    if None in found:
        raise ValueError("README.md has no line for Debian")
    first, tool, tomorrow = (match[1] for match in found if match)
    commands = [row for row in tomorrow.splitlines() if not row.startswith("bumble import")]
    where = "export PATH=~/.local/bin:$PATH BUMBLE_ENTITY=~/ada"
    dog = 'bumble chat "My dog is called Biscuit. He is afraid of the sea."'
    return "\n".join([first, tool, where, dog, *commands])


AS_USER = (  # somebody who may become root, as whoever set a machine up may
    "apt-get install -yq sudo && (id sam >/dev/null 2>&1 || useradd sam) && chown -R sam: ~sam"
    " && echo 'sam ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/sam"
)


def copied(root: Path, home: str, weights: Path | None) -> None:
    """Put into a root what it gets of this machine: this checkout, certificates, names, weights."""
    inside = root / home.removeprefix("/")
    shutil.rmtree(inside / "bumble", ignore_errors=True)
    ignored = shutil.ignore_patterns(*NOT_COPIED)
    shutil.copytree(ROOT, inside / "bumble", ignore=ignored)
    certificates = Path(os.environ.get("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt"))
    shutil.copy(certificates, root / CERTIFICATES.removeprefix("/"))
    shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")
    (root / "etc/apt/apt.conf.d/mirror").write_text('Acquire::Check-Valid-Until "false";\n')
    if weights is not None:
        there = inside / ".cache" / "bumble" / "weights"
        shutil.copytree(weights, there, dirs_exist_ok=True)


def main() -> int:
    """Resolve everywhere, or run in one root."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, help="a clean root to run the Debian line in")
    parser.add_argument("--suite", default="trixie", help="of Debian, where there is no root yet")
    parser.add_argument("--user", action="store_true", help="as somebody who is not root")
    parser.add_argument("--weights", type=Path, help="weights that need not be fetched")
    parser.add_argument("--model", default="", help="the model that answers; else the default")
    options = parser.parse_args()
    if options.root is not None:
        root = options.root.resolve()
        make_root(root, options.suite)
        return answered(root, user=options.user, weights=options.weights, model=options.model)
    for name, platform in PLATFORMS.items():
        for python in PYTHONS:
            print(f"{name:26} {python}  {resolved(platform, python)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
