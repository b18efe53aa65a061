"""Typer's arguments read without pydantic, so that commands start faster.

typer builds a pydantic adapter for every parameter of the command that runs, which doubles the time
of a small command. Text, paths and what is there by default need none; anything else is left to it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from bumble.text.printable import argument


def quicken(command: Any) -> Any:
    """Let the parameters of a command, and of those below it, take plain values as they are."""
    listed = command.get_params  # the option --help is only made when it is asked for these

    def get_params(ctx: Any) -> list[Any]:
        params: list[Any] = listed(ctx)
        for param in params:
            if getattr(param, "_runtime_param", 0) is None:  # where typer keeps its adapter
                param._runtime_param = _Plain()
        return params

    command.get_params = get_params
    for below in getattr(command, "commands", {}).values():
        if below is not None:
            quicken(below)
    return command


def _text(value: Any, param: Any, ctx: Any) -> Any:
    """Refuse what is no text: it would be stored, and no later command could read it."""
    try:
        if isinstance(value, str):
            return argument(value)
        if isinstance(value, list | tuple):
            return type(value)(
                argument(element) if isinstance(element, str) else element for element in value
            )
    except ValueError:
        raise typer.BadParameter("it is not UTF-8 text", ctx=ctx, param=param) from None
    return value


class _Plain:
    """Stands where typer's adapter would, and makes way for it when that is needed."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Turn what was typed into what the command takes."""
        wanted, info = param.type_descriptor.annotation, param.type_descriptor.parameter_info
        many = param.multiple or param.nargs == -1
        if value is None:
            return () if many else None
        if wanted is not Path:  # the name of a file may be any bytes
            value = _text(value, param, ctx)
        if not (info.parser or info.exists or info.resolve_path):
            if wanted is str and type(value) is str:
                return value
            if (
                wanted is Path and value == ""
            ):  # of an unset variable; it would mean the folder here
                raise typer.BadParameter("it is empty", ctx=ctx, param=param)
            if wanted is Path and isinstance(value, str | Path) and not many:
                return Path(value)
            if wanted == list[str] and not isinstance(value, str):
                return list(value)
        if wanted in (int, float) and type(value) is wanted and value == param.default:
            return value
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)
