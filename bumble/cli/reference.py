"""The generator of the pages on commands and settings, of `words.json` and the tree of modules.

`python -m bumble.cli.reference docs` writes them, with `--check` it only compares.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import typer

from bumble import patterns
from bumble.bridges.imports import formats
from bumble.cli import app, command_help, completing, output, registry
from bumble.cli.commands import mcp, transfer
from bumble.entity import config, create, layers
from bumble.models.weights import catalog
from bumble.records import beliefs, checks, kinds, projects
from bumble.text import schema, yaml_edit

HEAD = """\
# Settings

Written by `python -m bumble.cli.reference docs` from `bumble/entity/config.py`, which says where
settings may stand; do not edit by hand. Settings marked (yours) reach beyond the entity's folder:
in an entity.yaml they count only if your own config trusts that folder, `bumble config trust DIR`.
Programs run only in folders that you trust, whoever names them. Those marked (yours alone) never
count in an entity.yaml.
"""
FIELD = patterns.compile(r"    (?P<name>\w+): .*?(?:  # (?P<said>.*))?")


def explained(section: Any) -> dict[str, str]:
    """Return what the comments of a section say of its fields: on the line, or in those above."""
    said: dict[str, str] = {}
    for base in reversed(section.__mro__):
        above: list[str] = []
        ours = base.__module__.startswith("bumble.")
        for line in inspect.getsource(base).splitlines() if ours else ():
            if line.startswith("    # "):
                above.append(line.strip(" #"))
                continue
            if (field := FIELD.fullmatch(line)) and field["name"] in section.__struct_fields__:
                said[field["name"]] = field["said"] or " ".join(above)
            above = []
    return said


def setting_rows(
    section: Any = config.Config, above: schema.Keys = ()
) -> Iterator[tuple[schema.Keys, str]]:
    """Yield every setting and section with what is said of it."""
    said = explained(section)
    for name, kind in schema.fields(section).items():
        base, notes = schema.bare(kind)
        marks = [f"({note})" for note in notes if note in (config.YOURS, config.OWNERS)]
        if schema.is_section(base):
            yield (*above, name), said.get(name) or " ".join(base.__doc__.split("\n\n")[0].split())
            yield from setting_rows(base, (*above, name))
        else:
            yield (*above, name), " ".join((*marks, said[name])).strip()


def settings_page() -> str:
    """Write the page."""
    lines = [HEAD.rstrip()]
    for keys, said in setting_rows():
        value = layers.value_at(config.defaults(), keys)
        if len(keys) == 1:
            lines += ["", f"## {keys[0]}", ""]
            if isinstance(value, dict):
                lines += [said, "", "| setting | default | what it does |", "| --- | --- | --- |"]
            else:
                lines += [f"`{keys[0]}: {yaml_edit.inline(value)}`: {said}"]
        else:
            shown = "" if isinstance(value, dict) and value else f"`{yaml_edit.inline(value)}`"
            lines.append(f"| `{'.'.join(keys)}` | {shown} | {said.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


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
    ("belief", "name"): "belief",
    ("episode", "name"): "episode",
    ("remind", "name"): "reminder",
    ("anchor", "name"): "anchor",
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


def walk() -> Iterator[tuple[str, Any, Any]]:
    """Yield every command by its path, a group before what is in it, with its context."""
    root: Any = typer.main.get_command(app.app)
    with typer.Context(root, info_name="bumble") as above:
        for name in app.COMMANDS:
            yield from _below(name, root.get_command(above, name), above)


def _below(path: str, command: Any, above: Any) -> Iterator[tuple[str, Any, Any]]:
    with typer.Context(command, info_name=path.split()[-1], parent=above) as ctx:
        yield path, command, ctx
        for name in _listed(command, ctx):
            yield from _below(f"{path} {name}", command.get_command(ctx, name), ctx)


def _listed(command: Any, ctx: Any) -> list[str]:
    return command.list_commands(ctx) if hasattr(command, "list_commands") else []


def words() -> str:
    """Return the words as JSON."""
    root = typer.main.get_command(app.app)
    entries = {path: _words_entry(path, one, _listed(one, ctx)) for path, one, ctx in walk()}
    data = {
        "commands": {"": _words_entry("", root, list(app.COMMANDS)), **entries},
        "values": {
            "indexed": list(kinds.INDEXED),
            "explained": [kind.name for kind in kinds.KINDS if kind.explained],
            "category": list(beliefs.CATEGORIES),
            "cycle": sorted(registry.cycles()),
            "setting": sorted(".".join(keys) for keys, _ in layers.leaves(config.defaults())),
            "archetype": list(create.archetypes()),
            "format": list(formats.BY_NAME),
            "form": list(transfer.WRITERS),
            "status": list(projects.STATUSES),
            "place": list(checks.PLACES),
            "shell": list(mcp.SCRIPTS),
            "client": list(mcp.CLIENTS),
            "model": [entry.name for entry in catalog.load()],
        },
    }
    return json.dumps(data, indent=0, sort_keys=True) + "\n"


def _words_entry(path: str, command: Any, below: list[str]) -> dict[str, Any]:
    """Return what may stand behind a command: options with what they take, arguments, commands."""
    options: dict[str, str] = {"--help": ""}
    arguments: list[str] = []
    for param in command.params:
        owners = (path, path.split(" ")[0], "")
        takes = next((TAKES[(own, param.name)] for own in owners if (own, param.name) in TAKES), "")
        takes = takes or "text"
        if param.param_type_name == "argument":
            arguments.append(takes)
        else:
            plain = param.is_flag or param.count
            options |= dict.fromkeys((*param.opts, *param.secondary_opts), "" if plain else takes)
    return {"commands": below, "options": options, "arguments": arguments}


PACKAGE = Path(__file__).parent.parent
DATA = (".md", ".yaml", ".json", ".npz")  # files that the package reads
BEGIN, END = "<!-- tree -->", "<!-- end -->"
MEANINGS = {
    0: "done, or nothing to do",
    1: "an error that has no code of its own",
    2: "the command was called in a way it does not take",
    4: "nothing is due (only with `--exit-code`)",
    10: "not an entity folder",
    11: "another process is writing to the entity",
    12: "a file does not hold what it should",
    13: "refused: it would lose data or break a lock",
    20: "no model answered, or its weights are missing",
    21: "no answer came from the model, or none that can be used",
    22: "the limit on calls or tokens is reached",
    23: "a key is missing or wrong",
    30: "the search index can't be used",
    31: "the server that the index is to stand on can't be used",
    app.BUG_EXIT_CODE: "a bug; the message names the file with the traceback",
    129: "the terminal was closed while the entity answered; what was shown is kept",
    app.INTERRUPTED_EXIT_CODE: "interrupted",
    143: "told to end while the entity answered; what was shown is kept",
}


def commands_page() -> str:
    """Return the page."""
    lines = [
        "# Commands",
        "",
        "Written by `python -m bumble.cli.reference docs`; do not edit by hand.",
        "",
        "`bumble [-e DIR] COMMAND`. The entity is `-e/--entity`, else `$BUMBLE_ENTITY`, else the",
        "nearest folder with an `entity.yaml` from here upward. Results go to standard output,",
        "everything else to standard error. `--json` prints",
        "`{schema, command, entity, data, warnings}`, errors included. What the words mean is on",
        "[a page of its own](words.md). Options that many commands share:",
        "",
        "```text",
        *output.table(_common(), indent="  "),
        "```",
        "",
    ]
    for path, command, ctx in walk():
        head = ["##", path, app.COMMANDS[path][1]] if path in app.COMMANDS else []
        mark, title, said = head or ["###", f"bumble {path}", command.help.strip()]
        lines += [f"{mark} {title}", "", said, ""]
        if hasattr(command, "list_commands") and not command.invoke_without_command:
            continue
        rows = [
            param.get_help_record(ctx)
            for param in command.params
            if not getattr(param, "hidden", False) and param.name not in COMMON
        ]
        lines += [
            "```text",
            *([command_help.EXAMPLES[path], ""] if path in command_help.EXAMPLES else []),
            command.get_usage(ctx).removeprefix("Usage: "),
            *output.table([record for record in rows if record], indent="  "),
            "```",
            "",
        ]
    lines += [
        "## Exit codes",
        "",
        "| code | meaning |",
        "| --- | --- |",
        *(f"| {code} | {meaning} |" for code, meaning in MEANINGS.items()),
    ]
    return "\n".join(lines) + "\n"


COMMON = ("entity", "json", "now", "seed", "lock_timeout")  # stand once, above all commands


def _common() -> list[tuple[str, str]]:
    """Return the options that many commands share, as `tick` has them."""
    root: Any = typer.main.get_command(app.app)
    command = root.get_command(None, "tick")
    with typer.Context(command, info_name="tick") as ctx:
        shared = [param for param in command.params if param.name in COMMON]
        return [param.get_help_record(ctx) for param in shared]


def tree() -> str:
    """Return the rooms and their modules, each with the first line of its docstring."""
    lines = []
    for room in (PACKAGE, *sorted(path.parent for path in PACKAGE.rglob("*/__init__.py"))):
        name = "bumble" if room == PACKAGE else f"bumble/{room.relative_to(PACKAGE)}"
        files = [path for path in sorted(room.glob("*.py")) if not path.stem.startswith("__")]
        data = [path.name for path in sorted(room.iterdir()) if path.suffix in DATA]
        if not files and not data:
            continue
        whole = [ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "" for path in files]
        told = zip(files, (said.split("\n")[0] for said in whole), strict=True)
        lines += [
            f"### `{name}/`",
            "",
            *(f"- `{path.name}` {said}" for path, said in told),
            *([f"- data: {', '.join(f'`{one}`' for one in data)}"] if data else []),
            "",
        ]
    return "\n".join(lines)


def pages(folder: Path) -> dict[Path, str]:
    """Return what is generated, by the page it stands in.

    Args:
        folder: `docs/`.
    """
    architecture = folder / "architecture.md"
    head, _, rest = architecture.read_text(encoding="utf-8").partition(BEGIN)
    return {
        completing.WORDS: words(),
        folder / "commands.md": commands_page(),
        folder / "settings.md": settings_page(),
        architecture: f"{head}{BEGIN}\n\n{tree()}\n{END}{rest.partition(END)[2]}",
    }


def main(argv: list[str]) -> int:
    """Write the pages, or compare them with what is there."""
    folder = Path(next(argument for argument in argv if not argument.startswith("--")))
    stale = {
        place: text
        for place, text in pages(folder).items()
        if not place.exists() or place.read_text(encoding="utf-8") != text
    }
    for place, text in stale.items():
        if "--check" in argv:
            advice = f"python -m bumble.cli.reference {folder}"
            output.say(f"{place} no longer says what the code does: {advice}")
        else:
            place.write_text(text, encoding="utf-8")
    return 1 if stale and "--check" in argv else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
