"""Commands about an entity: the options that all of them take, and the opening of its folder.

A command's function takes `opened` first, then what is its own; the decorators add the rest.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import Any

import typer

from bumble.cli.opening import open_entity, shell_of
from bumble.cli.options import (
    AsOfOption,
    CheckOption,
    DryRunOption,
    EntityOption,
    EverythingOption,
    ExitCodeOption,
    JsonOption,
    LockTimeoutOption,
    NowOption,
    SeedOption,
    VerboseOption,
    YesOption,
)
from bumble.cli.run_job import JobFlags

Body = Callable[..., None]  # of a command, called with the opened entity
READING = {  # whatever opens an entity may have to finish what a killed process left
    "lock_timeout": (LockTimeoutOption, None),
    "entity": (EntityOption, None),
    "now": (NowOption, None),
    "json": (JsonOption, False),
}
SHOWING = {"everything": (EverythingOption, False), **READING}
LOOKING_BACK = {"as_of": (AsOfOption, None), **SHOWING}
WRITING = {"seed": (SeedOption, None), **READING}
FLAGS = {
    "check": (CheckOption, False),
    "dry_run": (DryRunOption, False),
    "exit_code": (ExitCodeOption, False),
    "verbose": (VerboseOption, False),
    "yes": (YesOption, False),
}
JOB = {**FLAGS, "everything": (EverythingOption, False), **WRITING}


def reads(body: Body) -> Body:
    """Make a command that looks at an entity."""
    return _command(body, READING)


def shows(body: Body) -> Body:
    """Make a command that shows what an entity keeps, of which some may be for others alone."""
    return _command(body, SHOWING)


def looks_back(body: Body) -> Body:
    """Make a command that shows what an entity keeps, or kept then."""
    return _command(body, LOOKING_BACK)


def writes(body: Body) -> Body:
    """Make a command that changes an entity's files."""
    return _command(body, WRITING)


def runs_job(body: Body) -> Body:
    """Make a command that runs a job; its second parameter is the `JobFlags`."""

    def with_flags(opened: object, **values: Any) -> None:
        body(opened, JobFlags(**{name: values.pop(name) for name in FLAGS}), **values)

    return _command(with_flags, JOB, signed_by=body, leading=2)


def _command(
    body: Body,
    options: dict[str, tuple[Any, Any]],
    *,
    signed_by: Body | None = None,
    leading: int = 1,
) -> Body:
    """Give a body the signature that typer reads: its own parameters and the shared options.

    Args:
        body: Does the work.
        options: Type and default of each shared option.
        signed_by: Whose own parameters and help these are; by default the body's.
        leading: How many of its first parameters no user gives.
    """
    signer = signed_by or body
    own = list(inspect.signature(signer, eval_str=True).parameters.values())[leading:]

    def command(ctx: typer.Context, **values: Any) -> None:
        shell = shell_of(ctx)
        if ctx.invoked_subcommand is not None:  # of a group, which opens the entity itself
            shell.entity = values["entity"] or shell.entity
            return
        then = values.pop("as_of", None)
        shell.set_now(values.pop("now"))
        shell.set_seed(values.pop("seed", None))
        shell.everything = values.pop("everything", False)
        wait = values.pop("lock_timeout", None)
        opened = open_entity(
            ctx,
            values.pop("entity"),
            reads="seed" not in options,
            limits__lock_timeout_seconds=wait,
        )
        if then is not None:
            from bumble.cli.as_of import open_past  # it loads history, which few commands need

            opened = open_past(opened, then)
        values.pop("json")  # the process knows it already, from its arguments
        body(opened, **values)

    shared = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in options.items()
    ]
    context = Parameter("ctx", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    vars(command)["__signature__"] = inspect.Signature([context, *own, *shared])
    command.__name__, command.__doc__ = signer.__name__, signer.__doc__
    return command
