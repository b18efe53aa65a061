"""The man page, made from the code: `docs/bumble.1`.

Source: groff_man(7).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import typer

from bumble import __version__
from bumble.cli import app
from bumble.cli.app import COMMANDS, SECTIONS


def page(exit_codes: Mapping[int, str]) -> str:
    """Return the page.

    Args:
        exit_codes: What each means.
    """
    root: Any = typer.main.get_command(app.app)
    lines = [
        f'.TH BUMBLE 1 "" "bumble {__version__}" "User Commands"',
        ".SH NAME",
        r"bumble \- a life in a folder: an AI entity in files you can read",
        ".SH SYNOPSIS",
        r".B bumble",
        r"[\fB\-e\fR \fIDIR\fR] \fICOMMAND\fR",
    ]
    with typer.Context(root, info_name="bumble") as above:
        lines += [".SH OPTIONS", *_options(root, above)]
        for title, names in SECTIONS.items():
            lines.append(f".SH {title.upper()}")
            for name in names:
                lines += _command(root.get_command(above, name), f"bumble {name}", above)
    lines.append(".SH EXIT STATUS")
    for code, meaning in exit_codes.items():
        lines += [".TP", str(code), _text(meaning)]
    lines += [
        ".SH ENVIRONMENT",
        ".TP",
        "BUMBLE_ENTITY",
        "The entity folder, where none is named.",
        ".SH SEE ALSO",
        ".BR git (1)",
    ]
    return "\n".join(lines) + "\n"


def _command(command: Any, path: str, above: Any) -> Iterator[str]:
    with typer.Context(command, info_name=path.split()[-1], parent=above) as ctx:
        usage = command.get_usage(ctx).removeprefix("Usage: ")
        yield f".SS {_text(' '.join(usage.split()))}"
        help_line = COMMANDS[path.split()[1]][1] if path.count(" ") == 1 else command.help or ""
        yield _text(" ".join(help_line.split()))
        yield from _options(command, ctx)
        for name in command.list_commands(ctx) if hasattr(command, "list_commands") else ():
            yield from _command(command.get_command(ctx, name), f"{path} {name}", ctx)


def _options(command: Any, ctx: Any) -> Iterator[str]:
    for param in command.params:
        record = None if getattr(param, "hidden", False) else param.get_help_record(ctx)
        if record and param.name not in app.OF_THE_ROOT:
            yield ".TP"
            yield rf"\fB{_text(record[0])}\fR"
            yield _text(" ".join(record[1].split())) or r"\&"


def _text(text: str) -> str:
    """Return a line that roff shows as it is."""
    shown = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{shown}" if shown.startswith((".", "'")) else shown
