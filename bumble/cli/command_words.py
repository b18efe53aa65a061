"""The words of the command line, made from the code: what completion offers without loading it.

`python -m bumble.cli.reference docs` writes them to `words.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import typer

from bumble.bridges.exports import memories
from bumble.bridges.imports import formats
from bumble.cli import app, mcp_clients
from bumble.cli.app import COMMANDS
from bumble.entity import create, layers
from bumble.entity.config import defaults
from bumble.jobs import registry
from bumble.models.weights import catalog
from bumble.records import beliefs, checks, kinds, projects

# What a parameter takes, by the first of its command's name and its own; "" stands for any.
TAKES: Mapping[tuple[str, str], str] = {
    ("", "entity"): "folder",
    ("", "folder"): "folder",
    ("", "path"): "file",
    ("", "source"): "file",
    ("", "dest"): "file",
    ("", "picture"): "file",
    ("", "archive"): "file",
    ("", "key_file"): "file",
    ("", "junit_file"): "file",
    ("", "session"): "session",
    ("", "session_id"): "session",
    ("", "belief_id"): "belief",
    ("belief", "other"): "belief",
    ("", "episode_id"): "episode",
    ("", "reminder_id"): "reminder",
    ("evolve", "apply"): "proposal",
    ("evolve", "reject"): "proposal",
    ("", "person"): "person",
    ("", "speaker"): "person",
    ("", "company"): "person",
    ("person", "name"): "person",
    ("skill", "name"): "skill",
    ("knowledge", "title"): "knowledge",
    ("project", "title"): "project",
    ("anchor", "label"): "anchor",
    ("why", "what"): "id",
    ("recall", "kind"): "indexed",
    ("why", "kind"): "explained",
    ("", "category"): "category",
    ("", "cycle"): "cycle",
    ("review", "names"): "held",
    ("", "key"): "setting",
    ("", "timezone"): "zone",
    ("", "archetype"): "archetype",
    ("import", "form"): "format",
    ("export", "form"): "form",
    ("project", "status"): "status",
    ("eval", "of"): "place",
    ("model", "name"): "model",
    ("model", "names"): "model",
    ("model remove", "names"): "weights",
    ("completion", "shell"): "shell",
    ("mcp", "print_config"): "client",
}
SHELLS = ("bash", "zsh", "fish")


def words() -> str:
    """Return the words as JSON."""
    root = typer.main.get_command(app.app)
    commands: dict[str, Any] = {}
    with typer.Context(root, info_name="bumble") as above:
        commands[""] = _entry("", root, list(COMMANDS))
        for name in COMMANDS:
            command: Any = root.get_command(above, name)  # type: ignore[attr-defined]
            commands |= dict(_command(name, command, above))
    data = {
        "commands": commands,
        "values": _values(),
        "places": {kind.name: kind.patterns for kind in kinds.KINDS if not kind.is_file},
        "ids": [kind.name for kind in kinds.KINDS if kind.prefix],
    }
    return json.dumps(data, indent=0, sort_keys=True) + "\n"


def _command(path: str, command: Any, above: Any) -> Iterator[tuple[str, Any]]:
    with typer.Context(command, info_name=path.split()[-1], parent=above) as ctx:
        below = command.list_commands(ctx) if hasattr(command, "list_commands") else []
        yield path, _entry(path, command, below)
        for name in below:
            yield from _command(f"{path} {name}", command.get_command(ctx, name), ctx)


def _entry(path: str, command: Any, below: list[str]) -> dict[str, Any]:
    """Return what may stand behind a command: options with what they take, arguments, commands."""
    options: dict[str, str] = {"--help": ""}
    arguments: list[str] = []
    for param in command.params:
        if param.name in app.OF_THE_ROOT:
            continue
        owners = (path, path.split(" ")[0], "")
        takes = next((TAKES[(own, param.name)] for own in owners if (own, param.name) in TAKES), "")
        takes = takes or "text"
        if param.param_type_name == "argument":
            arguments.append(takes)
        else:
            plain = param.is_flag or param.count
            spelt = (*param.opts, *param.secondary_opts)
            options |= dict.fromkeys(spelt, "" if plain else takes)
    return {"commands": below, "options": options, "arguments": arguments}


def _values() -> dict[str, list[str]]:
    return {
        "indexed": list(kinds.INDEXED),
        "explained": [kind.name for kind in kinds.KINDS if kind.explained],
        "category": list(beliefs.CATEGORIES),
        "cycle": sorted(registry.cycles()),
        "setting": sorted(".".join(keys) for keys, _ in layers.leaves(defaults())),
        "archetype": list(create.archetypes()),
        "format": list(formats.NAMES),
        "form": list(memories.FORMS),
        "status": list(projects.STATUSES),
        "place": list(checks.PLACES),
        "shell": list(SHELLS),
        "client": list(mcp_clients.CLIENTS),
        "model": [entry.name for entry in catalog.load()],
    }
