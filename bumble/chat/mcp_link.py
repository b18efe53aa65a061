"""Talking to MCP servers by the SDK's client, in a thread with an event loop of its own.

Here alone the library for the Model Context Protocol is imported on this side of it. Every wait has
an end, and whatever a server does becomes a `ServerFailedError` with a sentence.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
from anyio.abc import Process
from anyio.from_thread import BlockingPortal, start_blocking_portal
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    REQUEST_TIMEOUT,
    CallToolResult,
    EmbeddedResource,
    TextContent,
    TextResourceContents,
    jsonrpc_message_adapter,
)
from msgspec import Struct, field

from bumble.chat import workspace
from bumble.chat.mcp_servers import ListedTool, ServerFailedError
from bumble.runtime.runtime import Result
from bumble.text.words import one_line, shorten

MAX_BYTES = 4_000_000  # that a server may send for one message of ours
MOST_MESSAGES = 5000  # likewise: what it does on the way, say
TAIL_BYTES = 2000  # of what it printed last as errors
END_SECONDS = 1.0  # to end by itself; then it is killed
GONE = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)

T = TypeVar("T")
Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


class Pipe(Struct):
    """What a server was started with, and how its side of the talk went."""

    command: Sequence[str]
    environ: Mapping[str, str]
    folder: Path
    received: int = 0  # bytes since our last message
    messages: int = 0  # likewise
    flooded: bool = False
    tail: bytearray = field(default_factory=bytearray)  # of its errors

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[tuple[Incoming, Outgoing], None]:
        """Start the program; at the end it is ended, with all it started.

        Raises:
            OSError: If it can't be started.
            ValueError: If its command has a NUL in it.
        """
        program, *arguments = self.command
        found = shutil.which(program, path=self.environ.get("PATH", os.defpath))
        process = await anyio.open_process(
            [found or program, *arguments], cwd=self.folder, env=self.environ, **workspace.APART
        )
        to_us, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, from_us = anyio.create_memory_object_stream[SessionMessage](0)
        try:
            async with anyio.create_task_group() as group, incoming, outgoing:
                group.start_soon(self._read, process, to_us)
                group.start_soon(self._write, process, from_us)
                group.start_soon(self._listen, process)
                try:
                    yield incoming, outgoing
                finally:
                    group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process)

    async def _read(
        self, process: Process, to_us: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        """Hand on what it says, a line a message; what is none is passed over."""
        lines = BufferedByteReceiveStream(_there(process.stdout))
        async with to_us:
            with suppress(*GONE, anyio.IncompleteRead):
                while self.received < MAX_BYTES and self.messages < MOST_MESSAGES:
                    try:
                        line = await lines.receive_until(b"\n", MAX_BYTES - self.received)
                    except anyio.DelimiterNotFound:
                        break
                    self.received += len(line) + 1
                    self.messages += 1
                    with suppress(ValueError):
                        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                        await to_us.send(SessionMessage(message))
                self.flooded = True

    async def _write(
        self, process: Process, from_us: MemoryObjectReceiveStream[SessionMessage]
    ) -> None:
        stdin = _there(process.stdin)
        async with from_us:
            with suppress(*GONE):
                async for sent in from_us:
                    text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                    self.received = self.messages = 0
                    await stdin.send(f"{text}\n".encode())

    async def _listen(self, process: Process) -> None:
        """Keep the end of its errors."""
        with suppress(*GONE):
            async for piece in _there(process.stderr):
                self.tail += piece
                del self.tail[:-TAIL_BYTES]


def _there(stream: T | None) -> T:
    """Return a pipe of a program, which is there because it was asked for."""
    if stream is None:
        raise OSError("the program has no pipe")
    return stream


async def _end(process: Process) -> None:
    """Let the program end by itself for a moment, then kill it and all that it started."""
    with suppress(*GONE):
        await _there(process.stdin).aclose()
    with anyio.move_on_after(END_SECONDS):
        await process.wait()
    workspace.kill_group(process.pid)
    with anyio.move_on_after(END_SECONDS):  # something out of its group may hold the pipes
        await process.aclose()


MAX_RESULT_CHARS = 1_000_000
MOST_PAGES = 20  # of a list of tools
MOST_LISTED = 500
GONE_SECONDS = 5.0  # beyond these nobody waits for a server to be gone
PROBLEM_CHARS = 200
PROBLEMS: tuple[type[Exception], ...] = (
    *(MCPError, OSError, ValueError, RuntimeError, CancelledError, ExceptionGroup),
    *(anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream),
)

for name in ("mcp", "client"):  # the library's logs: what a server does wrong is told by us, once
    logging.getLogger(name).setLevel(logging.CRITICAL + 1)


talking = partial(start_blocking_portal, "asyncio")  # the thread in which all servers are talked to


class Link:
    """A server that was started."""

    def __init__(self, portal: BlockingPortal, pipe: Pipe, timeout_seconds: float) -> None:
        self._portal, self._pipe, self._timeout = portal, pipe, timeout_seconds
        self._ready: Future[tuple[Client, list[ListedTool]]] = Future()
        self._ended: anyio.Event | None = None
        self._client: Client | None = None
        self._began = time.monotonic()
        self._life = self._portal.start_task_soon(self._live)

    async def _live(self) -> None:
        """Open the client, list the tools, and wait for the end."""
        try:
            self._ended = anyio.Event()
            transport = self._pipe.opened()
            async with Client(transport, read_timeout_seconds=self._timeout, cache=None) as client:
                self._ready.set_result((client, await _listed(client)))
                await self._ended.wait()
        except PROBLEMS as problem:
            if not self._ready.done():
                self._ready.set_exception(problem)
        finally:
            self._ready.cancel()  # nothing, where it is done

    def tools(self) -> list[ListedTool]:
        """Wait for the server to be there, and return its tools.

        Raises:
            ServerFailedError: If it does not come, or lists none that can be read.
        """
        left = max(0.0, self._began + self._timeout - time.monotonic())
        self._client, listed = self._waited(self._ready, self._life.cancel, left)
        return listed

    def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        """Call a tool.

        Raises:
            ServerFailedError: If the server does not answer, or not as it should.
        """
        if self._client is None:
            raise ServerFailedError("has listed no tools")
        calling = self._portal.start_task_soon(self._call, self._client, name, dict(arguments))
        answer: Result = self._waited(calling, calling.cancel)
        return answer

    async def _call(self, client: Client, name: str, arguments: dict[str, Any]) -> Result:
        try:
            return _answer(await client.call_tool(name, arguments))
        except MCPError as error:
            if error.code in (CONNECTION_CLOSED, REQUEST_TIMEOUT):
                raise
            return Result(error.message, failed=True)  # it is there, and says no

    def _waited(
        self, future: Future[T], cancel: Callable[[], object], seconds: float | None = None
    ) -> T:
        try:
            return future.result(self._timeout if seconds is None else seconds)
        except TimeoutError:
            cancel()
            raise ServerFailedError(self._late) from None
        except PROBLEMS as problem:
            raise ServerFailedError(self._worded(problem)) from problem
        except BaseException:  # Ctrl-C: what was asked for is wanted no more
            cancel()
            raise

    @property
    def _late(self) -> str:
        return f"did not answer within {self._timeout:g} s"

    def _worded(self, problem: BaseException) -> str:
        if self._pipe.flooded:
            return "sent more than anyone reads, and was stopped"
        while isinstance(problem, ExceptionGroup):
            problem = problem.exceptions[0]
        if isinstance(problem, OSError):
            named = f"{problem.filename}: " if problem.filename else ""
            return f"could not be started: {named}{problem.strerror or problem}"
        if isinstance(problem, ValueError):  # of the library's types, in many words
            return "answered in a form that can't be read"
        if isinstance(problem, MCPError) and problem.code == REQUEST_TIMEOUT:
            return self._late  # the library's own clock struck first
        errors = bytes(self._pipe.tail).decode(errors="replace").strip().splitlines()
        last = one_line(errors[-1]) if errors else ""
        if isinstance(problem, MCPError) and problem.code == CONNECTION_CLOSED:
            return shorten(f"has ended: {last}" if last else "has ended", PROBLEM_CHARS)
        return shorten(f"failed: {one_line(str(problem))}", PROBLEM_CHARS)

    def close(self) -> None:
        """Have the server end, and wait for it, but not long."""
        if self._ended is not None and self._ready.done():
            self._portal.call(self._ended.set)
        else:
            self._life.cancel()
        try:
            self._life.result(GONE_SECONDS)
        except PROBLEMS:
            self._life.cancel()


async def _listed(client: Client) -> list[ListedTool]:
    """List the tools of a server, page by page."""
    tools: list[ListedTool] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools[: MOST_LISTED - len(tools)]:
            reads = bool(tool.annotations and tool.annotations.read_only_hint)
            tools.append(ListedTool(tool.name, tool.description or "", tool.input_schema, reads))
        cursor = page.next_cursor
        if not cursor or len(tools) >= MOST_LISTED:
            break
    return tools


def _answer(result: CallToolResult) -> Result:
    """Return the text of a result; what is no text is named."""
    texts: list[str] = []
    for block in result.content:
        if isinstance(block, TextContent):
            texts.append(block.text)
        elif isinstance(block, EmbeddedResource) and isinstance(
            block.resource, TextResourceContents
        ):
            texts.append(block.resource.text)
        else:
            texts.append(f"[{block.type}]")
    text = "\n".join(texts)
    if len(text) > MAX_RESULT_CHARS:
        text = f"{text[:MAX_RESULT_CHARS]}\n(it gave more; the rest was dropped)"
    return Result(text, failed=bool(result.is_error))
