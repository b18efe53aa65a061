"""An MCP server for tests, by the official SDK: `python -m tests.support.mcp_server`."""

from __future__ import annotations

from typing import Literal

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

server: MCPServer[None] = MCPServer("weather", log_level="ERROR")
LOOKS = ToolAnnotations(read_only_hint=True)


@server.tool(annotations=LOOKS)
async def forecast(city: str, days: int = 1, unit: Literal["C", "F"] | None = None) -> str:
    """Tell the weather of a city."""
    return f"{city}: rain for {days} days, 9 {unit or 'C'}"


@server.tool()
async def flood_town(town: str) -> str:
    """Change something."""
    return f"{town} is under water"


if __name__ == "__main__":
    server.run("stdio")
