"""Talking to an MCP server: JSON-RPC, a line a message, over its standard input and output.

Without the SDK, which takes longer to import than most servers take to answer. Every wait has an
end, and whatever a server does becomes a `ServerFailedError` with a sentence.
"""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from bumble import __version__
from bumble.chat import workspace
from bumble.llm.wire import pumped, within
from bumble.runtime.runtime import Result
from bumble.text.words import one_line, shorten

MAX_CHARS = 4_000_000  # that a server may send for one message of ours
ERROR_CHARS = 2000  # of a line that it prints as an error
END_SECONDS = 1.0  # to end by itself; then it is killed
MAX_RESULT_CHARS = 1_000_000
MOST_LISTED = 500  # tools
PROBLEM_CHARS = 200
HANDSHAKE, STATELESS = "2025-11-25", "2026-07-28"  # the newest protocol of each era
SELF = {"name": "bumble", "version": __version__}
NO_METHOD = {"code": -32601, "message": "not here"}  # to whatever a server asks of us
# What goes with each message of the era that knows no handshake.
META = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientInfo": SELF,
    "io.modelcontextprotocol/clientCapabilities": {},
}

T = TypeVar("T")


class ServerFailedError(Exception):
    """A server does not do as it should; says how, to be read after its name."""


class RefusalError(ServerFailedError):
    """A server is there, and says no."""


class ListedTool(Struct, frozen=True, rename="camel"):
    """A tool as its server describes it."""

    name: str
    input_schema: dict[str, Any]
    description: str | None = None
    annotations: dict[str, Any] | None = None

    @property
    def only_reads(self) -> bool:
        """Whether the server says that it changes nothing."""
        return (self.annotations or {}).get("readOnlyHint") is True


class _Page(Struct, rename="camel"):
    """A part of a list of tools."""

    tools: list[ListedTool]
    next_cursor: str | None = None


class _Answer(Struct, rename="camel"):
    """What a call gave."""

    content: list[dict[str, Any]]
    is_error: bool = False


class Link:
    """A server that was started; it is asked one thing at a time."""

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str],
        folder: Path,
        timeout_seconds: float,
    ) -> None:
        """Start it, and greet it; `tools` waits for what it answers.

        Raises:
            ServerFailedError: If it can't be started.
        """
        program, *arguments = command
        found = shutil.which(program, path=environ.get("PATH", os.defpath)) or program
        try:
            self._process: Any = subprocess.Popen(  # whose pipes are there, for they are asked for
                [found, *arguments],
                cwd=folder,
                env=dict(environ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=1,  # a line
                encoding="utf-8",
                errors="replace",
                **workspace.APART,
            )
        except (OSError, ValueError) as problem:  # of values, a NUL in its command
            why = getattr(problem, "strerror", None) or problem
            raise ServerFailedError(f"could not be started: {program}: {why}") from problem
        self._timeout = timeout_seconds
        self._asked = self._came = 0  # questions; characters that came since the last
        self._meta: Mapping[str, Any] = {}
        self._error = ""  # the last line that it printed as one
        self._heard = pumped(self._read, (OSError, ValueError, ServerFailedError))
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._until = time.monotonic() + timeout_seconds
        greeting = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": SELF}
        self._ask("initialize", greeting)

    def tools(self) -> list[ListedTool]:
        """Wait for the server to be there, and return its tools.

        Raises:
            ServerFailedError: If it does not come, or lists none that can be read.
        """
        try:
            self._answer(dict[str, Any])
            self._send({"method": "notifications/initialized"})
        except RefusalError:
            self._meta = {"_meta": META}
        self._ask("tools/list", {})
        page = self._answer(_Page)
        tools = page.tools
        while page.next_cursor and len(tools) < MOST_LISTED:
            self._ask("tools/list", {"cursor": page.next_cursor})
            page = self._answer(_Page)
            tools += page.tools
        return tools

    def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        """Call a tool.

        Raises:
            ServerFailedError: If the server does not answer, or not as it should.
        """
        self._until = time.monotonic() + self._timeout
        try:
            self._ask("tools/call", {"name": name, "arguments": arguments})
            answer = self._answer(_Answer)
        except RefusalError as problem:
            return Result(str(problem), failed=True)
        except KeyboardInterrupt:  # what was asked for is wanted no more
            self._send({"method": "notifications/cancelled", "params": {"requestId": self._asked}})
            raise
        text = "\n".join(map(_text, answer.content))
        if len(text) > MAX_RESULT_CHARS:
            text = f"{text[:MAX_RESULT_CHARS]}\n(it gave more; the rest was dropped)"
        return Result(text, failed=answer.is_error)

    def close(self) -> None:
        """Let the program end by itself for a moment, then kill it and all that it started."""
        with suppress(OSError):  # what it doesn't read keeps the pipe from being closed
            within(END_SECONDS, self._process.stdin.close, (OSError,))
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        workspace.kill_group(self._process.pid)
        self._process.kill()
        self._process.wait()

    def _ask(self, method: str, params: Mapping[str, Any]) -> None:
        self._asked, self._came = self._asked + 1, 0
        self._send({"id": self._asked, "method": method, "params": {**params, **self._meta}})

    def _send(self, message: Mapping[str, Any]) -> None:
        text = msgspec.json.encode({"jsonrpc": "2.0", **message}).decode()
        left, write = max(0.0, self._until - time.monotonic()), self._process.stdin.write
        with suppress(OSError, ValueError):  # it has ended or is late: told where it should answer
            within(left, lambda: write(f"{text}\n"), (OSError, ValueError))

    def _answer(self, kind: type[T]) -> T:
        """Wait for the answer to the last question.

        Raises:
            RefusalError: If the server says no.
            ServerFailedError: If there is none in time, or it can't be read.
        """
        message: dict[str, Any] = {}
        while message.get("id") != self._asked or "method" in message:
            try:
                heard = self._heard.get(timeout=max(0.0, self._until - time.monotonic()))
            except queue.Empty:
                raise ServerFailedError(f"did not answer within {self._timeout:g} s") from None
            if isinstance(heard, ServerFailedError):
                raise heard
            if isinstance(heard, Exception):
                self._listener.join(END_SECONDS)
                told = f": {self._error}" if self._error else ""
                raise ServerFailedError(shorten(f"has ended{told}", PROBLEM_CHARS))
            message = heard[0]
        if isinstance(error := message.get("error"), dict):
            told = one_line(str(error.get("message")))
            raise RefusalError(shorten(f"failed: {told}", PROBLEM_CHARS))
        try:
            return msgspec.convert(message.get("result"), kind)
        except msgspec.ValidationError as problem:
            raise ServerFailedError("answered in a form that can't be read") from problem

    def _read(self) -> Iterator[dict[str, Any]]:
        """Yield what it says; what is no message is passed over, and what it asks is refused.

        Raises:
            ServerFailedError: If it says too much.
        """
        while line := self._process.stdout.readline(MAX_CHARS - self._came):
            self._came += len(line)
            if self._came >= MAX_CHARS:
                raise ServerFailedError("sent more than anyone reads, and was stopped")
            message: Any = None
            with suppress(ValueError, RecursionError):
                message = msgspec.json.decode(line)
            if isinstance(message, dict):
                if "method" in message and "id" in message:
                    self._send({"id": message["id"], "error": NO_METHOD})
                yield message

    def _listen(self) -> None:
        while line := self._process.stderr.readline(ERROR_CHARS):
            self._error = one_line(line) or self._error


def _text(block: Mapping[str, Any]) -> str:
    """Return the text of a part of an answer; what is no text is named."""
    holder = block.get("resource", block)
    text = holder.get("text") if isinstance(holder, dict) else None
    return text if isinstance(text, str) else f"[{block.get('type')}]"
