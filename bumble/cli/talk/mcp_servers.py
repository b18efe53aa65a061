"""The owner's servers of the Model Context Protocol, and its library, which is an extra."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING

from bumble.cli.process import Shell
from bumble.entity.config import Config
from bumble.errors import McpMissingError

if TYPE_CHECKING:
    from bumble.chat.mcp_client.servers import Servers


LIBRARIES = ("mcp", "mcp_types")


@contextmanager
def library() -> Iterator[None]:
    """Import what needs the library.

    Raises:
        McpMissingError: If it is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in LIBRARIES:
            raise
        raise McpMissingError from error


def servers(config: Config, shell: Shell, tell: Callable[[str], None]) -> Servers:
    """Return the servers that the owner lists; none of them is started yet."""
    from bumble.chat.mcp_client.servers import Servers

    return Servers(config.tools.servers, shell.environ, shell.secrets_file, tell, _link)


def _link() -> ModuleType:
    with library():
        from bumble.chat.mcp_client import link
    return link
