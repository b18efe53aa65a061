"""A client of the Model Context Protocol that shares no line with the official library.

Run where chuk-mcp is installed: argv is the protocol's version, then the command of a server. It
prints what it was given as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import anyio
from chuk_mcp.protocol import messages  # type: ignore[import-not-found]
from chuk_mcp.transports.stdio import StdioParameters  # type: ignore[import-not-found]
from chuk_mcp.transports.stdio.stdio_client import stdio_client  # type: ignore[import-not-found]


async def look(version: str, command: str, arguments: list[str]) -> dict[str, Any]:
    """Connect, list, call and read."""
    server = StdioParameters(command=command, args=arguments, env=dict(os.environ))
    async with stdio_client(server) as streams:
        hello = await messages.send_initialize(*streams, preferred_version=version)
        tools = await messages.send_tools_list(*streams)
        hits = await messages.send_tools_call(*streams, "recall", {"query": "cat"})
        refused = await messages.send_tools_call(*streams, "remember", {"text": "x"})
        page = await messages.send_resources_read(*streams, "bumble://knowledge")
        prompt = await messages.send_prompts_get(*streams, "be")
        return {
            "version": hello.protocolVersion,
            "tools": [tool.name for tool in tools.tools],
            "recall": hits.structuredContent,
            "refused": refused.isError,
            "knowledge": page.contents[0].text,
            "prompt": prompt.messages[0].content["text"],
        }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(anyio.run(look, sys.argv[1], sys.argv[2], sys.argv[3:])))
