"""The generator of `docs/commands.md`: every command, option and exit code.

`python -m bumble.cli.reference docs/commands.md` writes it, with `--check` it only compares.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from bumble import errors
from bumble.app import output
from bumble.cli import app
from bumble.cli.app import BUG_EXIT_CODE, COMMANDS, INTERRUPTED_EXIT_CODE
from bumble.errors import UserError

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
    21: "the model's answer can't be used",
    22: "the limit on calls or tokens is reached",
    23: "a key is missing or wrong",
    30: "the search index can't be used",
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
        "Written by `python -m bumble.cli.reference docs/commands.md`; do not edit by hand.",
        "",
        "`bumble [-e DIR] COMMAND`. The entity is `-e/--entity`, else `$BUMBLE_ENTITY`, else the",
        "nearest folder with an `entity.yaml` from here upward. Results go to standard output,",
        "everything else to standard error. `--json` prints",
        "`{schema, command, entity, data, warnings}`, errors included.",
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
            for name in command.list_commands(ctx):
                subcommand = command.get_command(ctx, name)
                yield f"### {path} {name}"
                yield ""
                yield subcommand.help.strip()
                yield ""
                yield from _command(subcommand, f"{path} {name}", ctx)
            return
        yield "```text"
        yield command.get_usage(ctx).removeprefix("Usage: ")
        rows = [
            param.get_help_record(ctx)
            for param in command.params
            if not getattr(param, "hidden", False)
        ]
        yield from output.table([record for record in rows if record], indent="  ")
        yield "```"
        yield ""


def main(argv: list[str]) -> int:
    """Write the page, or compare it with what is there."""
    check, places = (
        "--check" in argv,
        [argument for argument in argv if not argument.startswith("--")],
    )
    place = Path(places[0])
    if not check:
        place.write_text(page(), encoding="utf-8")
        return 0
    if place.read_text(encoding="utf-8") == page():
        return 0
    output.say(f"{place} no longer says what the code does: python -m bumble.cli.reference {place}")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
