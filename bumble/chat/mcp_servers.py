"""The MCP servers of the owner's config: which a message needs, their tools, and calls.

A server is started by the first message that needs it and ends with the process. What it may do is
listed by the owner; unlisted, only tools that say they change nothing are offered. Whatever a
server does, the talk goes on: its failures are sentences.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from bumble import patterns
from bumble.chat import workspace
from bumble.entity import installation
from bumble.entity.config import ServerConfig
from bumble.errors import McpMissingError, UserError
from bumble.fallback import quotes
from bumble.files import disk
from bumble.llm import prompts
from bumble.llm.protocol import Tool
from bumble.runtime.runtime import Result
from bumble.text.words import folded, one_line, shorten

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from bumble.chat.mcp_link import Link

DESCRIPTION_CHARS = 160
MOST_DEEP = 4  # objects and lists within each other
MOST_ARGUMENTS = 16
MOST_CHOICES = 40
MOST_CHARS = 6000  # of one tool's schema, as JSON
NAME_CHARS = 60
MOST_WALKED = 500  # parts of a schema, so that references within references come to an end
_BOUNDS: Mapping[str, tuple[str, ...]] = {
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "boolean": (),
    "string": ("maxLength",),
}


def closed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Make a schema closed.

    Raises:
        ValueError: If something that it requires can't be said in a closed schema.
    """
    definitions = given.get("$defs") or given.get("definitions")
    made = _Closing(definitions if isinstance(definitions, Mapping) else {}).whole(given, 0)
    if len(json.dumps(made)) > MOST_CHARS:
        raise ValueError("its arguments are described in too many words")
    return made


def described(text: object) -> str:
    """Return a description from outside as it may stand in a prompt."""
    plain = one_line(text) if isinstance(text, str) else ""
    return shorten(prompts.harmless(plain), DESCRIPTION_CHARS)


class _Closing(Struct):
    """One schema while it is made closed."""

    definitions: Mapping[str, Any]
    walked: int = 0

    def whole(self, given: Mapping[str, Any], depth: int) -> dict[str, Any]:
        """Make the schema of an object closed; what need not be given may be left out."""
        properties, needed = given.get("properties") or {}, given.get("required") or []
        if not isinstance(properties, Mapping) or not isinstance(needed, list):
            raise ValueError("its arguments are not described as JSON schema wants")
        made: dict[str, Any] = {}
        for name in sorted(properties, key=lambda name: name not in needed):
            with suppress(ValueError):
                if len(made) < MOST_ARGUMENTS:
                    made[name] = self.part(properties[name], depth + 1, name)
        if lacking := [name for name in needed if name not in tuple(made)]:
            raise ValueError(f"its argument {lacking[0]} can't be described to a model")
        return {
            "type": "object",
            "properties": {name: made[name] for name in properties if name in made},
            "required": list(dict.fromkeys(needed)),
            "additionalProperties": False,
        }

    def part(self, given: object, depth: int, name: str) -> dict[str, Any]:
        """Make the schema of one argument closed."""
        self.walked += 1
        shape = self._resolved(given)
        if not shape or self.walked > MOST_WALKED or depth > MOST_DEEP or len(name) > NAME_CHARS:
            raise ValueError("it can't be described to a model")
        about = described(shape.get("description"))
        return {**self._shape(shape, depth, name), **({"description": about} if about else {})}

    def _shape(self, shape: Mapping[str, Any], depth: int, name: str) -> dict[str, Any]:
        choices = [shape["const"]] if "const" in shape else shape.get("enum")
        if isinstance(choices, list):
            plain = [one for one in choices if isinstance(one, str | int | float | bool)]
            if plain and len(plain) <= MOST_CHOICES:
                return {"enum": plain}
        kind = shape.get("type")
        if isinstance(kind, str) and kind in _BOUNDS:
            return {"type": kind, **_numbers(shape, _BOUNDS[kind])}
        if kind == "array":
            items = self.part(shape.get("items"), depth + 1, name)
            return {"type": "array", "items": items, **_numbers(shape, ("minItems", "maxItems"))}
        if kind == "object" and shape.get("properties"):
            return self.whole(shape, depth)
        raise ValueError("it is of a shape that can't be asked of a model")

    def _resolved(self, given: object) -> Mapping[str, Any]:
        """Follow references, and of several shapes take the first that is not null."""
        above: dict[str, Any] = {}
        for _ in range(MOST_DEEP):
            if not isinstance(given, Mapping):
                break
            above = {key: given[key] for key in ("description",) if key in given} | above
            several = given.get("anyOf") or given.get("oneOf")
            if isinstance(reference := given.get("$ref"), str):
                given = self.definitions.get(reference.rpartition("/")[2])
            elif isinstance(several, list):
                shapes = [one for one in several if isinstance(one, Mapping)]
                given = next((one for one in shapes if one.get("type") != "null"), None)
            else:
                kinds = given.get("type")
                kinds = kinds if isinstance(kinds, list) else [kinds]
                kind = next((one for one in kinds if one != "null"), None)
                return {**given, **above, "type": kind}
        return {}


def _numbers(shape: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {
        name: shape[name]
        for name in names
        if isinstance(shape.get(name), int | float) and not isinstance(shape[name], bool)
    }


class ServerFailedError(Exception):
    """A server does not do as it should; says how, to be read after its name."""


class ListedTool(Struct, frozen=True):
    """A tool as its server describes it."""

    name: str
    description: str
    schema: Mapping[str, Any]
    reads: bool  # whether the server says that it changes nothing


MOST_TOOLS = 24  # of all servers in one turn; a prompt has little room
AGAIN_SECONDS = 60.0  # before a server that failed is tried again
MOST_NAME_CHARS, HASH_CHARS = 64, 8
_NOT_IN_NAMES = patterns.compile(r"[^A-Za-z0-9_-]")
TOOL_NAME = patterns.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]{0,63}")

Tell = Callable[[str], None]


class Running(Struct):
    """A server, and how it is."""

    name: str
    config: ServerConfig
    link: Link | None = None
    tools: dict[str, Tool] = field(default_factory=dict)  # by the name that the server knows
    problem: str = ""
    failed_at: float | None = None


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
        self._ends = ExitStack()  # ends the thread in which all servers are talked to
        self._portal: BlockingPortal | None = None
        self._told: set[str] = set()

    def called_for(self, text: str) -> bool:
        """Whether a message names a server, or has one of its words."""
        return any(_names(server, text) for server in self.all)

    def offered(self, text: str) -> tuple[Tool, ...]:
        """Start what a message may need, and return its tools; what fails is said, not raised."""
        wanted = [one for one in self.all if not one.config.words or _names(one, text)]
        wanted.sort(key=lambda server: not _names(server, text))
        now = time.monotonic()
        resting = [one for one in wanted if one.failed_at and now - one.failed_at < AGAIN_SECONDS]
        starting = [one for one in wanted if one.link is None and one not in resting]
        try:
            for step in (self._start, self._take):  # so that they start beside each other
                for server in starting:
                    step(server)
        except McpMissingError as error:
            self._say(str(error))
        for server in wanted:
            if server.problem:
                self._say(f"the MCP server {server.name} {server.problem}")
        return tuple(tool for server in wanted for tool in server.tools.values())[:MOST_TOOLS]

    def _start(self, server: Running) -> None:
        """Start a server, without waiting for it: it runs in the person's home, in no entity.

        Raises:
            McpMissingError: If the library is not installed.
        """
        link, own, config = self._library(), self._person_environ, server.config
        if self._portal is None:
            self._portal = self._ends.enter_context(link.talking())
        home = disk.expanded(Path(own.get("HOME") or "~"))
        folder = home if home.is_dir() else Path(tempfile.gettempdir())
        environ = workspace.environment(own, config.variables, desktop=False)
        try:
            for name in config.variables:
                value = installation.secret(name, own, self._secrets_file)
                environ |= {} if value is None else {name: value}
        except UserError as error:
            self._fail(server, f"was not started: {error}")
            return
        pipe = link.Pipe(config.command, environ, folder)
        server.link = link.Link(self._portal, pipe, config.timeout_seconds)

    def _take(self, server: Running) -> None:
        """Wait for the tools of a server that was started."""
        if server.link is None:
            return
        try:
            server.tools = _chosen(server, server.link.tools())
        except ServerFailedError as error:
            self._fail(server, str(error))
            return
        server.problem, server.failed_at = "", None
        if lacking := [name for name in server.config.tools if name not in server.tools]:
            self._say(f"the MCP server {server.name} has no such tool as {', '.join(lacking)}")

    def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        """Carry out a call; never raises for what the server does."""
        for server in self.all:
            for own, tool in server.tools.items():
                if tool.name == name and server.link is not None:
                    try:
                        return server.link.call(own, arguments)
                    except ServerFailedError as error:
                        self._fail(server, str(error))
                        return Result(f"failed: {server.name} {error}", failed=True)
        return Result(f"failed: {name} is not there any more", failed=True)

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
        self._ends.close()
        self._portal = None


def _names(server: Running, text: str) -> bool:
    named = (server.name, *server.config.words)
    return any(quotes.is_in(folded(one), folded(text)) for one in named)


def known_as(server_name: str, tool_name: str) -> str:
    """Return what a model calls a tool: endpoints take letters, digits, `_` and `-`, 64 at most.

    A name that loses something by that ends in a hash, so that no two are one.
    """
    whole = f"{server_name}__{tool_name}"
    plain = _NOT_IN_NAMES.sub("_", whole)[:MOST_NAME_CHARS]
    if plain == whole and "__" not in server_name:
        return plain
    mark = hashlib.sha256(whole.encode()).hexdigest()[:HASH_CHARS]
    return f"{plain[: MOST_NAME_CHARS - HASH_CHARS - 1]}_{mark}"


def _chosen(server: Running, listed: Sequence[ListedTool]) -> dict[str, Tool]:
    """Choose which tools of a server are offered: those that the owner lists, or that only look."""
    config: ServerConfig = server.config
    chosen: dict[str, Tool] = {}
    for tool in listed:
        is_wanted = tool.name in config.tools if config.tools else tool.reads
        if not (is_wanted and TOOL_NAME.fullmatch(tool.name)):
            continue
        with suppress(ValueError):  # nobody could fill in what it wants
            schema = closed(tool.schema)
            about = described(tool.description) or "what its name says"
            chosen[tool.name] = Tool(known_as(server.name, tool.name), about, schema)
    return chosen
