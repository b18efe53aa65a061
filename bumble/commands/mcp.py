"""`bumble mcp`: let other programs read what the entity remembers (Model Context Protocol)."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bumble.app import opening, output, weights
from bumble.app.opening import Opened
from bumble.cli import listing, mcp_clients
from bumble.cli.entity_command import writes
from bumble.commands.index import up_to_date
from bumble.errors import UsageError, UserError

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from bumble.agent.participants import Person
    from bumble.index.memory import Memory

app = typer.Typer(rich_markup_mode=None)
WAIT_SECONDS = 3.0  # for another process that indexes; then what it has is searched
LIBRARIES = ("mcp", "mcp_types")
AsOption = Annotated[
    str | None, typer.Option("--as", metavar="PERSON", help="Who reads. Default: the owner.")
]
WriteOption = Annotated[
    bool,
    typer.Option("--write", help="Let it leave notes and reminders, which stay quotations."),
]
PrintConfigOption = Annotated[
    str | None,
    typer.Option(
        "--print-config",
        metavar="CLIENT",
        help="Print what claude-code, claude-desktop, codex, cursor or vscode wants in its config.",
    ),
]


@app.command()
@writes
def mcp(
    opened: Opened,
    *,
    speaker: AsOption = None,
    write: WriteOption = False,
    print_config: PrintConfigOption = None,
) -> None:
    """Serve the entity's memory to another program, over standard input and output.

    A client of the Model Context Protocol starts it: Claude, Cursor, VS Code and others. They read
    what the owner, or the person of --as, may hear in a talk. Without --write they can change
    nothing. Needs the extra `mcp`: pip install 'bumble-entity[mcp]'.
    """
    if print_config is not None:
        _print_config(opened, print_config, speaker, write=write)
        return
    server = _server(opened, speaker, write=write)
    # Ctrl-C ends it at once: the library would wait for a line more. Writes outlive a kill.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    server.run("stdio")


def _server(opened: Opened, speaker: str | None, *, write: bool) -> MCPServer[Any]:
    try:
        from bumble.served import server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in LIBRARIES:
            raise
        raise UserError(
            "The library for the Model Context Protocol is not installed.\n"
            "Add it: pip install 'bumble-entity[mcp]'"
        ) from error
    from bumble.served.desk import Desk

    desk = Desk(opened, _reader(opened, speaker), _memory(opened))
    return server.make(desk, writes=write)


def _reader(opened: Opened, speaker: str | None) -> Person:
    from bumble.agent import participants

    return participants.person(opened.entity, opened.identity, speaker)


def _memory(opened: Opened) -> Callable[[], Memory]:
    """Return what gives the memory with its index brought up to date; the model stays open."""
    from functools import cache

    from bumble.index.memory import Memory

    embedder = cache(lambda: weights.embedder(opened))

    def memory() -> Memory:
        _, place = up_to_date(opened, embedder(), wait_seconds=WAIT_SECONDS)
        return Memory(
            opened.entity,
            embedder,
            name=opened.identity.name,
            zone=opening.zone(opened),
            config=opened.config.recall,
            place=place,
        )

    return memory


def _print_config(opened: Opened, name: str, speaker: str | None, *, write: bool) -> None:
    client = mcp_clients.CLIENTS.get(name)
    if client is None:
        near = listing.missing("client", name, mcp_clients.CLIENTS)
        raise UsageError(f"{near}\nThere are {', '.join(mcp_clients.CLIENTS)}.")
    # -P: a client starts it in any folder, and no module is to be taken from there
    command = [sys.executable, "-P", "-m", "bumble", "-e", str(opened.entity.root), "mcp"]
    command += ["--as", speaker] if speaker else []
    command += ["--write"] if write else []
    server_name = f"bumble-{opened.entity.root.name}"
    text = mcp_clients.config(client, server_name, command)
    data = {"client": name, "file": client.file, "name": server_name, "command": command}
    output.result(opened.shell, "mcp", data, text)
    output.say(f"Put it into {client.file}.")
