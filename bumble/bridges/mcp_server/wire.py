"""Standard input and output of the server: every request there gets an answer.

The SDK passes over a line it can't read as a message, and its client waits for ever. So lines are
read here: halves of characters are replaced, a batch is taken apart, and what is no message gets
the error that JSON-RPC has for it. Knows nothing of what is asked.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, BinaryIO

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from pydantic import ValidationError

from bumble.text.whole_text import whole

MAX_BYTES = 32_000_000  # of a line
END_BYTES = 1000  # of a line that can't be read, where its id is looked for: clients put it there
_ID = rb'"id"\s*:\s*(-?(?:0|[1-9]\d{0,17})|"[^"\\\x00-\x1f]*")\s*'
_PLAIN = rb'"[^"\\]*"\s*:\s*(?:"[^"\\]*"|[\w.+-]+)\s*,\s*'
FIRST = re.compile(rb"\s*\{\s*(?:" + _PLAIN + rb")*?" + _ID + rb"[,}]")
LAST = re.compile(_ID + rb"\}\s*$")

Message = JSONRPCRequest | JSONRPCNotification | JSONRPCError


def serve(server: MCPServer[Any]) -> None:
    """Answer what comes on standard input until it ends."""
    anyio.run(_serve, server)


async def _serve(server: MCPServer[Any]) -> None:
    inner = server._lowlevel_server  # nothing public takes streams
    stdin = _private_stdin()
    to_server, requests = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    answers, from_server = anyio.create_memory_object_stream[SessionMessage](math.inf)
    async with (
        stdio_server(anyio.wrap_file(io.StringIO())) as (unused, to_client),
        unused,
        to_client,
        anyio.create_task_group() as group,
    ):
        group.start_soon(inner.run, requests, answers, inner.create_initialization_options())
        async with to_server, from_server:
            while line := await anyio.to_thread.run_sync(_line, stdin):
                for message in messages(line):
                    if isinstance(message, JSONRPCError):
                        await to_client.send(SessionMessage(message))
                        continue
                    await to_server.send(SessionMessage(message))
                    if isinstance(message, JSONRPCRequest):
                        await _answer(from_server, to_client.send)


async def _answer(
    from_server: MemoryObjectReceiveStream[SessionMessage],
    send: Callable[[SessionMessage], Awaitable[None]],
) -> None:
    """Pass on what the server says, up to an answer: at the end of input it would drop that."""
    async for said in from_server:
        await send(said)
        if isinstance(said.message, JSONRPCResponse | JSONRPCError):
            return


def _private_stdin() -> BinaryIO:
    """Take standard input, so that no program we start can read what is for us."""
    stdin = os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return stdin


def _line(stdin: BinaryIO) -> bytes:
    """Read a line; of one that is too long its beginning and end, together still too long."""
    line = piece = stdin.readline(MAX_BYTES)
    while len(line) >= MAX_BYTES and not piece.endswith(b"\n"):
        piece = stdin.readline(MAX_BYTES)
        if not piece:
            break
        line = line[:MAX_BYTES] + (line[MAX_BYTES:] + piece)[-END_BYTES:]
    return line


def messages(line: bytes) -> Iterator[Message]:
    """Return what a line asks of the server; errors are answers, for the client."""
    if not line.strip():
        return
    if len(line) > MAX_BYTES:
        yield _error(INVALID_REQUEST, f"longer than {MAX_BYTES} bytes", _likely_id(line))
        return
    try:
        given = whole(json.loads(line.decode("utf-8-sig", errors="replace")))
    except (ValueError, RecursionError) as error:
        problem = str(error) if isinstance(error, ValueError) else "nested too deep"
        yield _error(PARSE_ERROR, f"not JSON: {problem}", _likely_id(line))
        return
    for item in given if given and isinstance(given, list) else [given]:
        yield from _message(item)


def _message(given: Any) -> Iterator[Message]:
    if not isinstance(given, dict):
        yield _error(INVALID_REQUEST, "not a JSON object", None)
    elif "method" in given or not ("result" in given or "error" in given):  # we await no answers
        kind = JSONRPCRequest if "id" in given else JSONRPCNotification
        try:
            yield kind.model_validate(given)
        except ValidationError as error:
            problem = error.errors()[0]
            where = ".".join(str(part) for part in problem["loc"][:1])
            request_id = given.get("id")
            known = type(request_id) in (int, str)
            text = f"{where}: {problem['msg']}"
            yield _error(INVALID_REQUEST, text, request_id if known else None)


def _likely_id(line: bytes) -> RequestId | None:
    """Find the id in a line that can't be read: before all that is nested, or after it."""
    found = FIRST.match(line[:END_BYTES]) or LAST.search(line[-END_BYTES:])
    request_id: RequestId | None = json.loads(found[1].decode(errors="replace")) if found else None
    return request_id


def _error(code: int, problem: str, request_id: RequestId | None) -> JSONRPCError:
    data = ErrorData(code=code, message=f"Not a request: {problem}.")
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=data)
