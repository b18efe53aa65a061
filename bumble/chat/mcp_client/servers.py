"""The MCP servers of the owner's config: which a message needs, their tools, and calls.

A server is started by the first message that needs it and ends with the process. What it may do is
listed by the owner; unlisted, only tools that say they change nothing are offered. Whatever a
server does, the talk goes on: its failures are sentences.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from bumble.chat import programs
from bumble.chat.mcp_client import arguments
from bumble.chat.mcp_client.tool_answers import ListedTool, ServerFailedError
from bumble.entity import installation
from bumble.entity.config import ServerConfig
from bumble.errors import McpMissingError, UserError
from bumble.llm.protocol import Tool
from bumble.runtime.outside import OutsideResult
from bumble.text import phrase_lookup

if TYPE_CHECKING:
    from bumble.chat.mcp_client.link import Link, Loop

MOST_TOOLS = 24  # of all servers in one turn; a prompt has little room
AGAIN_SECONDS = 60.0  # before a server that failed is tried again
TOOL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]{0,63}")

Tell = Callable[[str], None]


class Running(Struct):
    """A server, and how it is."""

    name: str
    config: ServerConfig
    link: Link | None = None
    tools: dict[str, Tool] = field(default_factory=dict)  # by the name that the server knows
    left_out: dict[str, str] = field(default_factory=dict)  # tools that are not offered, and why
    problem: str = ""
    failed_at: float | None = None
    seconds: float = 0.0  # until its tools were there


class Servers:
    """The servers that the owner lists, started as they are needed."""

    def __init__(
        self,
        config: Mapping[str, ServerConfig],
        environ: Mapping[str, str],
        secrets_file: Path,
        tell: Tell,
        library: Callable[[], Any],
    ) -> None:
        """List them; none is started yet.

        Args:
            config: The servers by name.
            environ: Of the person.
            secrets_file: Of the person.
            tell: Hears which server does not do as it should.
            library: Imports `servers.link`, which takes its time; McpMissingError if it can't.
        """
        self.all = [Running(name, config[name]) for name in sorted(config)]
        self._person_environ, self._secrets_file = environ, secrets_file
        self._tell, self._library = tell, library
        self._loop: Loop | None = None
        self._told: set[str] = set()

    def called_for(self, text: str) -> bool:
        """Whether a message names a server, or has one of its words."""
        return any(_names(server, text) for server in self.all)

    def offered(self, text: str) -> tuple[Tool, ...]:
        """Start what a message may need, and return its tools; what fails is said, not raised."""
        wanted = [one for one in self.all if not one.config.words or _names(one, text)]
        wanted.sort(key=lambda server: not _names(server, text))
        try:
            self.start(wanted)
        except McpMissingError as error:
            self._say(str(error))
        for server in wanted:
            if server.problem:
                self._say(f"the MCP server {server.name} {server.problem}")
        return tuple(tool for server in wanted for tool in server.tools.values())[:MOST_TOOLS]

    def start(self, wanted: Sequence[Running]) -> None:
        """Start those servers that do not run yet, beside each other.

        Raises:
            McpMissingError: If the library is not installed.
        """
        now = time.monotonic()
        resting = [one for one in wanted if one.failed_at and now - one.failed_at < AGAIN_SECONDS]
        starting = [one for one in wanted if one.link is None and one not in resting]
        if not starting:
            return
        link = self._library()
        self._loop = self._loop or link.Loop()
        for server in starting:
            try:
                pipe = link.Pipe(server.config.command, self._environ(server), self._folder())
            except UserError as error:
                self._fail(server, f"was not started: {error}")
                continue
            server.link = link.Link(self._loop, pipe, server.config.timeout_seconds)
        for server in starting:
            if server.link is not None:
                self._take(server, server.link, now)

    def _take(self, server: Running, link: Link, began: float) -> None:
        """Wait for the tools of a server."""
        try:
            listed = link.tools()
        except ServerFailedError as error:
            self._fail(server, str(error))
            return
        server.problem, server.failed_at = "", None
        server.seconds = time.monotonic() - began
        server.tools, server.left_out = _chosen(server, listed)
        for name in server.config.tools:
            if name not in server.tools:
                server.left_out.setdefault(name, "the server has no such tool")

    def _environ(self, server: Running) -> dict[str, str]:
        """Return all that a server gets of the environment.

        Raises:
            CredentialsError: If the owner's secrets can't be read.
        """
        names = server.config.variables
        environ = programs.environment(self._person_environ, names, desktop=False)
        for name in names:
            value = installation.secret(name, self._person_environ, self._secrets_file)
            if value is not None:
                environ[name] = value
        return environ

    def _folder(self) -> Path:
        """Return where servers run: the person's home, never an entity's folder."""
        home = Path(self._person_environ.get("HOME") or Path.home())
        return home if home.is_dir() else Path(tempfile.gettempdir())

    def call(self, name: str, arguments: Mapping[str, Any]) -> OutsideResult:
        """Carry out a call; never raises for what the server does."""
        for server in self.all:
            for own, tool in server.tools.items():
                if tool.name == name and server.link is not None:
                    try:
                        answer = server.link.call(own, arguments)
                    except ServerFailedError as error:
                        self._fail(server, str(error))
                        return OutsideResult(f"failed: {server.name} {error}", failed=True)
                    return OutsideResult(answer.text, answer.failed)
        return OutsideResult(f"failed: {name} is not there any more", failed=True)

    def _fail(self, server: Running, problem: str) -> None:
        """Let go of a server that does not do; it is tried again later."""
        if server.link is not None:
            server.link.close()
        server.link, server.tools, server.problem = None, {}, problem
        server.failed_at = time.monotonic()

    def _say(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._tell(text)

    def close(self) -> None:
        """End all that was started."""
        for server in self.all:
            if server.link is not None:
                server.link.close()
                server.link = None
        if self._loop is not None:
            self._loop.close()
            self._loop = None


def _names(server: Running, text: str) -> bool:
    words = (server.name, *server.config.words)
    return phrase_lookup.pattern(words).search(phrase_lookup.folded(text)) is not None


def _chosen(
    server: Running, listed: Sequence[ListedTool]
) -> tuple[dict[str, Tool], dict[str, str]]:
    """Choose which tools of a server are offered, and say of the others why not."""
    config: ServerConfig = server.config
    chosen: dict[str, Tool] = {}
    left_out: dict[str, str] = {}
    for tool in listed:
        if not TOOL_NAME.fullmatch(tool.name):
            left_out[arguments.described(tool.name)] = "its name is none that can be called"
        elif config.tools and tool.name not in config.tools:
            left_out[tool.name] = "it is not among those that you list"
        elif not config.tools and not tool.reads:
            left_out[tool.name] = "it may change something, and you do not list it"
        else:
            try:
                schema = arguments.closed(tool.schema)
            except ValueError as problem:
                left_out[tool.name] = str(problem)
                continue
            about = arguments.described(tool.description) or "what its name says"
            chosen[tool.name] = Tool(f"{server.name}.{tool.name}", about, schema)
    return chosen, left_out
