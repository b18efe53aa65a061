"""The pipes of an MCP server that runs as a program: started with little, bounded, ended for sure.

The SDK's own transport hands on whatever the program prints, however much that is. This one gives
it a bound: what comes between two of our messages, and how long a line may be. Knows nothing of
what is said.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from msgspec import Struct, field

from bumble.chat import programs

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

    @property
    def last_words(self) -> str:
        """The last line that it printed as an error."""
        lines = bytes(self.tail).decode(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else ""

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[tuple[Incoming, Outgoing], None]:
        """Start the program; at the end it is ended, with all it started.

        Raises:
            OSError: If it can't be started.
            ValueError: If its command has a NUL in it.
        """
        process = await self._start()
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

    async def _start(self) -> Process:
        apart: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        program, *arguments = self.command
        found = shutil.which(program, path=self.environ.get("PATH", os.defpath))
        return await anyio.open_process(
            [found or program, *arguments], cwd=self.folder, env=self.environ, **apart
        )

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
    if process.stdin is not None:
        with suppress(*GONE):
            await process.stdin.aclose()
    with anyio.move_on_after(END_SECONDS):
        await process.wait()
    programs.kill_group(process.pid)
    with anyio.move_on_after(END_SECONDS):  # something out of its group may hold the pipes
        await process.aclose()
