"""The few git commands bumble runs. Never pushes, never rewrites history.

Works, by doing nothing, where git is not installed.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

TIMEOUT_SECONDS = 30


def run(folder: Path, *arguments: str) -> str | None:
    """Run git in a folder; None if it is not installed, fails, or takes too long."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def installed() -> bool:
    """Whether there is a git to run."""
    return run(Path.cwd(), "--version") is not None


def repository(folder: Path) -> Path | None:
    """Return the top folder of the repository that a folder lies in."""
    top = run(folder, "rev-parse", "--show-toplevel")
    return Path(top.strip()) if top else None


def init(folder: Path) -> bool:
    """Make a folder a repository of its own; whether that worked."""
    return run(folder, "init", "--quiet", "--initial-branch=main") is not None
