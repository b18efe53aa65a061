"""The generator of the pages on commands, words and settings, and of the tree of modules.

`python -m bumble.cli.reference docs` writes them, with `--check` it only compares.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from bumble import errors
from bumble.cli import app, command_help, command_words, completing, output, settings_page
from bumble.cli.app import BUG_EXIT_CODE, COMMANDS, INTERRUPTED_EXIT_CODE
from bumble.errors import UserError

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
    BUG_EXIT_CODE: "a bug; the message names the file with the traceback",
    129: "the terminal was closed while the entity answered; what was shown is kept",
    INTERRUPTED_EXIT_CODE: "interrupted",
    143: "told to end while the entity answered; what was shown is kept",
}


def exit_codes() -> set[int]:
    """Return every exit code the code can end with by an error of its own."""
    kinds = [member for member in vars(errors).values() if isinstance(member, type)]
    return {kind.exit_code for kind in kinds if issubclass(kind, UserError)}


def page() -> str:
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
    root = typer.main.get_command(app.app)
    for name, (_, line) in COMMANDS.items():
        with typer.Context(root, info_name="bumble") as above:
            command: Any = root.get_command(above, name)  # type: ignore[attr-defined]
            lines += [f"## {name}", "", line, "", *_command(command, f"bumble {name}", above)]
    lines += ["## Exit codes", "", "| code | meaning |", "| --- | --- |"]
    lines += [f"| {code} | {meaning} |" for code, meaning in MEANINGS.items()]
    return "\n".join(lines) + "\n"


def _command(command: Any, path: str, above: Any) -> Iterator[str]:
    with typer.Context(command, info_name=path.split()[-1], parent=above) as ctx:
        if hasattr(command, "list_commands"):
            if command.invoke_without_command:
                yield from _usage(command, ctx)
            for name in command.list_commands(ctx):
                subcommand = command.get_command(ctx, name)
                yield f"### {path} {name}"
                yield ""
                yield subcommand.help.strip()
                yield ""
                yield from _command(subcommand, f"{path} {name}", ctx)
            return
        yield from _usage(command, ctx)


COMMON = ("entity", "json", "now", "seed", "lock_timeout")  # stand once, above all commands


def _common() -> list[tuple[str, str]]:
    """Return the options that many commands share, as `tick` has them."""
    root: Any = typer.main.get_command(app.app)
    command = root.get_command(None, "tick")
    with typer.Context(command, info_name="tick") as ctx:
        shared = [param for param in command.params if param.name in COMMON]
        return [param.get_help_record(ctx) for param in shared]


def _usage(command: Any, ctx: Any) -> Iterator[str]:
    """Write an example, how a command is called, and its options."""
    yield "```text"
    yield command_help.example(ctx.command_path.removeprefix("bumble "), command)
    yield ""
    yield command.get_usage(ctx).removeprefix("Usage: ")
    rows = [
        param.get_help_record(ctx)
        for param in command.params
        if not getattr(param, "hidden", False) and param.name not in (*app.OF_THE_ROOT, *COMMON)
    ]
    yield from output.table([record for record in rows if record], indent="  ")
    yield "```"
    yield ""


def tree() -> str:
    """Return the rooms and their modules, each with the first line of its docstring."""
    lines = []
    for room in (PACKAGE, *sorted(path.parent for path in PACKAGE.rglob("*/__init__.py"))):
        name = "bumble" if room == PACKAGE else f"bumble/{room.relative_to(PACKAGE)}"
        files = [path for path in sorted(room.glob("*.py")) if not path.stem.startswith("__")]
        data = [path.name for path in sorted(room.iterdir()) if path.suffix in DATA]
        if not files and not data:
            continue
        lines += [f"### `{name}/`", ""]
        lines += [f"- `{path.name}` {_entry(ast.parse(path.read_text('utf-8')))}" for path in files]
        lines += [f"- data: {', '.join(f'`{one}`' for one in data)}"] if data else []
        lines.append("")
    return "\n".join(lines)


def _entry(module: ast.Module) -> str:
    """Return the first line of a module, and the numbers that stand in it as constants."""
    line = (ast.get_docstring(module) or "").split("\n")[0]
    names = [
        name.id.strip("_")
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        for name in (target.elts if isinstance(target, ast.Tuple) else [target])
        if isinstance(name, ast.Name) and name.id.isupper() and _is_number(node.value)
    ]
    return f"{line} *{', '.join(names).lower().replace('_', ' ')}*" if names else line


def _is_number(node: ast.expr) -> bool:
    """Whether a constant is a number, several, or a span of time."""
    if isinstance(node, ast.Tuple):
        return all(map(_is_number, node.elts))
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "timedelta"
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) and _is_number(node.right)
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def with_tree(text: str) -> str:
    """Return the page on the architecture with the tree as it is."""
    head, _, rest = text.partition(BEGIN)
    return f"{head}{BEGIN}\n\n{tree()}\n{END}{rest.partition(END)[2]}"


def pages(folder: Path) -> dict[Path, str]:
    """Return what is generated, by the page it stands in.

    Args:
        folder: `docs/`.
    """
    architecture = folder / "architecture.md"
    return {
        completing.WORDS: command_words.words(),
        folder / "commands.md": page(),
        folder / "settings.md": settings_page.page(),
        folder / "words.md": command_help.page(),
        architecture: with_tree(architecture.read_text(encoding="utf-8")),
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
