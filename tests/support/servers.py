"""MCP servers as an owner lists them, for tests: a good one by the SDK, and bad ones."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from bumble.text import yaml_edit
from tests.support.running import Run

ROOT = Path(__file__).parents[2]
HOSTILE = Path(__file__).with_name("hostile_server.py")
GOOD = (sys.executable, "-m", "tests.support.mcp_server")


def environ() -> dict[str, str]:
    """What a person's environment holds, a key among it."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": os.environ.get("HOME", ""),
        "PYTHONPATH": str(ROOT),
        "OPENAI_API_KEY": "sk-not-for-servers",
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere",
    }


def good(**more: Any) -> dict[str, Any]:
    """The entry of a good server."""
    return {"command": list(GOOD), "variables": ["PYTHONPATH"]} | more


def bad(way: str, *more: Path) -> list[str]:
    """The command of a bad server; a file gets its process id when it hangs."""
    return [sys.executable, str(HOSTILE), way, *map(str, more)]


def list_servers(run: Run, servers: dict[str, Any]) -> None:
    """Write servers into the config of the person who runs commands."""
    run.environ = {**environ(), **run.environ}
    where = Path(run.environ["XDG_CONFIG_HOME"]) / "bumble" / "config.yaml"
    where.parent.mkdir(parents=True, exist_ok=True)
    there = where.read_text("utf-8") if where.is_file() else ""
    where.write_text(yaml_edit.set_value(there, ("tools", "servers"), servers), "utf-8")
