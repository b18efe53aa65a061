"""What a client of the Model Context Protocol wants in its config to start the server."""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec import Struct


class Client(Struct, frozen=True):
    """A program that starts servers."""

    file: str  # where its config lies
    key: str  # of the mapping of servers in it
    typed: bool = False  # whether each says what it speaks
    toml: bool = False


CLIENTS = {
    "claude-code": Client(".mcp.json of the project", "mcpServers", typed=True),
    "claude-desktop": Client("claude_desktop_config.json (Settings, Developer)", "mcpServers"),
    "codex": Client("~/.codex/config.toml", "mcp_servers", toml=True),
    "cursor": Client("~/.cursor/mcp.json", "mcpServers"),
    "vscode": Client(".vscode/mcp.json of the project", "servers", typed=True),
}


def config(client: Client, name: str, command: Sequence[str]) -> str:
    """Write what starts a command as a server.

    Args:
        client: For whom.
        name: What the server is called there.
        command: Program and arguments.
    """
    program, *arguments = command
    if client.toml:  # its basic strings and arrays are JSON's
        lines = (
            f"[{client.key}.{_quoted(name)}]",
            f"command = {_quoted(program)}",
            f"args = [{', '.join(map(_quoted, arguments))}]",
        )
        return "\n".join(lines)
    entry = {"command": program, "args": arguments}
    entry = {"type": "stdio", **entry} if client.typed else entry
    return json.dumps({client.key: {name: entry}}, ensure_ascii=False, indent=2)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
