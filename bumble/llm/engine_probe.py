"""Whether the embedded engine can be opened on this machine, and what mends it where it can't.

It is opened before its weights are fetched, which are a thousand times its size. Loads no model.
"""

from __future__ import annotations

import importlib
import sys
from functools import cache
from pathlib import Path

OS_RELEASE = Path("/etc/os-release")
_LIBRARIES = {  # the package that has a library the engine wants, by the system's family
    "libgomp.so": {
        "debian": "apt-get install libgomp1",
        "fedora": "dnf install libgomp",
        "suse": "zypper install libgomp1",
        "arch": "pacman -S gcc-libs",
    },
    "libstdc++.so": {
        "debian": "apt-get install libstdc++6",
        "fedora": "dnf install libstdc++",
        "suse": "zypper install libstdc++6",
        "arch": "pacman -S gcc-libs",
    },
}
_FAMILIES = {"ubuntu": "debian", "rhel": "fedora", "centos": "fedora", "opensuse": "suse"}
_REDISTRIBUTABLE = (
    "Install Microsoft's Visual C++ Redistributable: https://aka.ms/vs/17/release/vc_redist.x64.exe"
)
AS_ROOT = "As root: "  # before a command that mends it
INSTEAD = "Or let a local server talk, such as Ollama, or an endpoint."


@cache
def problem() -> str:
    """Return why the engine can't be opened, and what to do; empty where it can."""
    try:
        importlib.import_module("bumble.llm.engine")
    except ModuleNotFoundError:
        return (
            "The embedded engine is not installed: it has no wheel for this system\n"
            "Run a local server, such as Ollama, or name an endpoint (llm.base_url)."
        )
    except ImportError as error:
        first = (str(error).splitlines() or ["it can't be loaded"])[0]
        return f"The embedded engine can't be opened: {first}\n{advice(first)}{INSTEAD}"
    return ""


def advice(error: str, os_release: Path = OS_RELEASE, platform: str = sys.platform) -> str:
    """Return how the library an error names is installed here; empty where that isn't known."""
    if platform == "win32":
        return f"{_REDISTRIBUTABLE}\n"
    commands = next((by for name, by in _LIBRARIES.items() if name in error), {})
    command = next((commands[family] for family in _family(os_release) if family in commands), "")
    if command:
        return f"{AS_ROOT}{command}\n"
    names = sorted({other.rpartition(" ")[2] for other in commands.values()})
    return f"Install the package that has it: {' or '.join(names)}.\n" if names else ""


def _family(os_release: Path) -> list[str]:
    """Return what a system is called, and what it is like, the nearest first."""
    try:
        lines = os_release.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    names = f"{values.get('ID', '')} {values.get('ID_LIKE', '')}".replace('"', "").split()
    plain = [name.partition("-")[0] for name in names]
    return [_FAMILIES.get(name, name) for name in plain]
