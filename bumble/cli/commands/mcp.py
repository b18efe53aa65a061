"""`bumble mcp`, `completion`: other programs let in: clients of the protocol, and the shell."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from bumble.cli import listing, opening, output, people
from bumble.cli.command import AsOption, plain, writes
from bumble.cli.models import weights
from bumble.cli.process import Shell
from bumble.entity.config import Config
from bumble.errors import McpMissingError

if TYPE_CHECKING:
    from bumble.bridges.mcp_desk import Desk
    from bumble.chat.mcp_servers import Servers
    from bumble.runtime.people import Person


@contextmanager
def library() -> Iterator[None]:
    """Import what needs the library.

    Raises:
        McpMissingError: If it is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise McpMissingError from error


def servers(config: Config, shell: Shell, tell: Callable[[str], None]) -> Servers:
    """Return the servers that the owner lists; none of them is started yet."""
    from bumble.chat.mcp_servers import Servers

    return Servers(config.tools.servers, shell.environ, shell.secrets_file, tell, _link)


def _link() -> ModuleType:
    with library():
        from bumble.chat import mcp_link
    return mcp_link


class Client(Struct, frozen=True):
    """A program that starts servers."""

    file: str  # where its config lies
    key: str  # of the mapping of servers in it
    typed: bool = False  # whether each says what it speaks
    toml: bool = False


CLIENTS = {
    "claude-code": Client(".mcp.json of the project", "mcpServers", typed=True),
    "claude-desktop": Client("claude_desktop_config.json (Settings, Developer)", "mcpServers"),
    "codex": Client("~/.codex/config.toml", "mcp_servers", toml=True),
    "cursor": Client("~/.cursor/mcp.json", "mcpServers"),
    "vscode": Client(".vscode/mcp.json of the project", "servers", typed=True),
}


def config(client: Client, name: str, command: Sequence[str]) -> str:
    """Write what starts a command as a server.

    Args:
        client: For whom.
        name: What the server is called there.
        command: Program and arguments.
    """
    program, *arguments = command
    if client.toml:  # its basic strings and arrays are JSON's
        lines = (
            f"[{client.key}.{_quoted(name)}]",
            f"command = {_quoted(program)}",
            f"args = [{', '.join(map(_quoted, arguments))}]",
        )
        return "\n".join(lines)
    entry = {"command": program, "args": arguments}
    entry = {"type": "stdio", **entry} if client.typed else entry
    return json.dumps({client.key: {name: entry}}, ensure_ascii=False, indent=2)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


@writes
def mcp(
    opened: opening.Opened,
    *,
    speaker: AsOption = None,
    write: Annotated[
        bool,
        typer.Option("--write", help="Let it leave notes and reminders, which stay quotations."),
    ] = False,
    print_config: Annotated[
        str | None,
        typer.Option(
            "--print-config",
            metavar="CLIENT",
            help="Print what claude-code, claude-desktop, codex, cursor or vscode wants in its "
            "config.",
        ),
    ] = None,
) -> None:
    """Serve the entity's memory to another program, over standard input and output.

    A client of the Model Context Protocol starts it: Claude, Cursor, VS Code and others. They read
    what the owner, or the person of --as, may hear in a talk. Without --write they can change
    nothing. Needs the extra `mcp`: pip install 'bumble-entity[mcp]'.

    The other way round, the entity uses tools of servers under tools.servers in your own config.
    """
    if print_config is not None:
        client = CLIENTS[listing.choice("client", print_config, CLIENTS)]
        # -P: a client starts it in any folder, and no module is to be taken from there
        command = [
            *(sys.executable, "-P", "-m", "bumble", "-e", str(opened.root), "mcp"),
            *(["--as", speaker] if speaker else []),
            *(["--write"] if write else []),
        ]
        name = f"bumble-{opened.root.name}"
        data = {"client": print_config, "file": client.file, "name": name, "command": command}
        output.result(opened.shell, "mcp", data, config(client, name, command))
        output.say(f"Put it into {client.file}.")
        return
    with library():
        from bumble.bridges import mcp_server
    server = mcp_server.make(desk_of(opened, people.speaking(opened, speaker)), writes=write)
    # Ctrl-C ends it at once: the library would wait for a line more. Writes outlive a kill.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    server.run("stdio")


def desk_of(opened: opening.Opened, who: Person) -> Desk:
    """Return what a reader may ask; no model is asked for it."""
    from bumble.bridges.mcp_desk import Desk
    from bumble.cli import run_job
    from bumble.cli.models.chat_model import lazy_model

    model = lazy_model(opened, "mcp", yes=False, needed=False)
    runtime = run_job.make_runtime(opened, None, model, yes=False, writes=True)
    embedder = cache(lambda: weights.embedder(opened))  # the model stays open
    return Desk(runtime, who, lambda: people.memory_of(opened, embedder()))


SCRIPTS = {
    "bash": r"""# Source this in ~/.bashrc: source <(bumble completion bash)
_bumble() {
    local offered
    COMPREPLY=()
    while IFS= read -r offered; do
        COMPREPLY+=("$offered")
    done < <(bumble --complete bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -o nosort -F _bumble bumble 2>/dev/null || complete -o default -F _bumble bumble
""",
    "zsh": r"""#compdef bumble
# Source this in ~/.zshrc, behind compinit if that is there: source <(bumble completion zsh)
_bumble() {
    local -a offered
    offered=("${(@f)$(bumble --complete zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${offered[1]}" ]]; then
        compadd -- "${offered[@]}"
    else
        _files
    fi
}
if [[ "${funcstack[1]}" == _bumble ]]; then
    _bumble "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i; }
    compdef _bumble bumble
fi
""",
    "fish": r"""# Source this in ~/.config/fish/config.fish: bumble completion fish | source
function __bumble_offered
    set -l typed (commandline -opc) (commandline -ct)
    bumble --complete fish $typed[2..-1] 2>/dev/null
end
function __bumble_offers
    set -l offered (__bumble_offered)
    test (count $offered) -gt 0
end
complete -c bumble -f -k -n __bumble_offers -a '(__bumble_offered)'
""",
}


@plain
def completion(
    process: Shell,
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print the script that completes commands, options, ids and names in your shell."""
    script = SCRIPTS[listing.choice("shell", shell, SCRIPTS)]
    output.result(process, "completion", {"shell": shell, "script": script}, [])
    if not process.json:
        output.piece(script)
