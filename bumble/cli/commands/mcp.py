"""`bumble mcp`: let other programs read what the entity remembers (Model Context Protocol)."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bumble.cli import index_place, listing, mcp_clients, memory_query, output
from bumble.cli.entity_command import writes
from bumble.cli.mcp import library, servers
from bumble.cli.models import weights
from bumble.cli.opening import Opened
from bumble.errors import UsageError

if TYPE_CHECKING:
    from bumble.chat.mcp_client.servers import Running
    from bumble.chat.participants import Person
    from bumble.index.memory import Memory
    from bumble.runtime.runtime import Runtime

app = typer.Typer(rich_markup_mode=None)
NO_SERVERS = (
    "No MCP servers. Add one with "
    '`bumble config set --user tools.servers.NAME.command "[PROGRAM, ARGUMENT]"`.'
)
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


WhatArgument = Annotated[
    Literal["list"] | None,
    typer.Argument(
        metavar="list", help="Instead: show the servers of your own config, and their tools."
    ),
]


@app.command()
@writes
def mcp(
    opened: Opened,
    what: WhatArgument = None,
    *,
    speaker: AsOption = None,
    write: WriteOption = False,
    print_config: PrintConfigOption = None,
) -> None:
    """Serve the entity's memory to another program, over standard input and output.

    A client of the Model Context Protocol starts it: Claude, Cursor, VS Code and others. They read
    what the owner, or the person of --as, may hear in a talk. Without --write they can change
    nothing. Needs the extra `mcp`: pip install 'bumble-entity[mcp]'.

    The other way round, the entity uses tools of servers under tools.servers in your own config:
    `bumble mcp list` starts each, and shows whether it answers.
    """
    if what == "list":
        _list_servers(opened)
        return
    if print_config is not None:
        _print_config(opened, print_config, speaker, write=write)
        return
    serve = _serving(opened, speaker, write=write)
    # Ctrl-C ends it at once: the library would wait for a line more. Writes outlive a kill.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    serve()


def _list_servers(opened: Opened) -> None:
    shell = opened.shell
    listed = servers(opened.config, shell, lambda _: None)
    try:
        listed.start(listed.all)
        data = [_server_data(server) for server in listed.all]
    finally:
        listed.close()
    lines = [line for server in data for line in _server_lines(server)]
    output.result(shell, "mcp list", {"servers": data}, "\n".join(lines) or NO_SERVERS)


def _server_data(server: Running) -> dict[str, Any]:
    return {
        "name": server.name,
        "command": list(server.config.command),
        "answers": not server.problem,
        "problem": server.problem or None,
        "protocol": server.link.protocol if server.link else None,
        "seconds": round(server.seconds, 2),
        "tools": [
            {"name": tool.name, "description": tool.description} for tool in server.tools.values()
        ],
        "left_out": server.left_out,
    }


def _server_lines(server: Mapping[str, Any]) -> list[str]:
    state = server["problem"] or f"answers ({server['protocol']}, {server['seconds']:.1f} s)"
    return [
        f"{server['name']}: {state}",
        *(f"  {tool['name']}  {tool['description']}" for tool in server["tools"]),
        *(f"  not used: {name}, for {why}" for name, why in server["left_out"].items()),
    ]


def _serving(opened: Opened, speaker: str | None, *, write: bool) -> Callable[[], None]:
    with library():
        from bumble.bridges.mcp_server import server
    from bumble.bridges.mcp_server.desk import Desk

    desk = Desk(_runtime(opened), _reader(opened, speaker), _memory(opened))
    return partial(server.serve, server.make(desk, writes=write))


def _runtime(opened: Opened) -> Runtime:
    """Return what the entity works with; no model is asked."""
    from bumble.cli import runtimes
    from bumble.cli.models.chat_model import lazy_model

    model = lazy_model(opened, "mcp", yes=False, needed=False)
    return runtimes.runtime(opened, None, model, yes=False, writes=True)


def _reader(opened: Opened, speaker: str | None) -> Person:
    from bumble.cli import people

    return people.speaking(opened, speaker)


def _memory(opened: Opened) -> Callable[[], Memory]:
    """Return what gives the memory with its index brought up to date; the model stays open."""
    embedder = cache(lambda: weights.embedder(opened))

    def memory() -> Memory:
        _, place = index_place.up_to_date(
            opened, embedder(), wait_seconds=memory_query.WAIT_SECONDS
        )
        return memory_query.memory_of(opened, embedder, place)

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
