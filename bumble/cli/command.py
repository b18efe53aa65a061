"""What commands are made with: the options that many share, and the opening of their entity.

A command is written as a body that gets its entity opened:

    @reads
    def show(opened: Opened, record_id: IdArgument) -> None:

What typer is shown, and calls, has in place of that the options by which it is found:

    def show(ctx: typer.Context, record_id: IdArgument, *,
             lock_timeout: LockTimeoutOption = None, entity: EntityOption = None, ...) -> None:
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import Struct

from bumble.cli.process import Shell

NOTHING_DUE = 4  # with --exit-code

IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Its id, six letters or more of its end, or `last`.")
]
TagOption = Annotated[
    list[str] | None,
    typer.Option("--tag", "-t", metavar="TAG", help="With or without `#`; may be repeated."),
]
PeopleOption = Annotated[
    list[str] | None,
    typer.Option("--person", metavar="NAME", help="Who takes part; may be repeated."),
]
AsOption = Annotated[
    str | None,
    typer.Option("--as", metavar="PERSON", help="Who speaks, or asks. Default: the owner."),
]
EntityOption = Annotated[
    Path | None,
    typer.Option(
        "-e",
        "--entity",
        metavar="DIR",
        help="The entity folder. Default: $BUMBLE_ENTITY, else from here upward.",
    ),
]
EverythingOption = Annotated[
    bool, typer.Option("--all", help="What others told in confidence, too; and what is over.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Show what would change; write nothing.")
]
NowOption = Annotated[
    str | None,
    typer.Option(
        "--now",
        metavar="ISO",
        help="Take this as the present time; without an offset, in the entity's time zone.",
    ),
]
AsOfOption = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="DATE",
        help="As it was then: a day with all its hours, or a time. From git, if there is any.",
    ),
]
SeedOption = Annotated[
    int | None, typer.Option("--seed", metavar="N", help="Take chance from this seed.")
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Answer yes to every question.")]
LimitOption = Annotated[
    int, typer.Option("--limit", "-n", min=1, metavar="N", help="At most this many.")
]
LockTimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--lock-timeout",
        min=0,
        metavar="SECONDS",
        help="How long to wait for another writer. Default: limits.lock_timeout_seconds.",
    ),
]
CheckOption = Annotated[
    bool, typer.Option("--check", help="Say what is due and why; write nothing, ask no model.")
]


class JobFlags(Struct, frozen=True):
    """How a job is asked for by command."""

    check: bool = False  # only say what is due
    dry_run: bool = False
    exit_code: bool = False  # tell by the exit code where nothing was due
    verbose: bool = False
    yes: bool = False  # weights may be fetched without asking


Body = Callable[..., None]  # of a command, called with the opened entity
READING = {  # whatever opens an entity may have to finish what a killed process left
    "lock_timeout": (LockTimeoutOption, None),
    "entity": (EntityOption, None),
    "now": (NowOption, None),
}
SHOWING = {"everything": (EverythingOption, False), **READING}
WRITING = {"seed": (SeedOption, None), **READING}
EDITING = {"everything": (EverythingOption, False), **WRITING}
FLAGS = {
    "check": (CheckOption, False),
    "dry_run": (DryRunOption, False),
    "exit_code": (
        Annotated[
            bool, typer.Option("--exit-code", help=f"Exit with {NOTHING_DUE} when nothing is due.")
        ],
        False,
    ),
    "verbose": (
        Annotated[
            bool,
            typer.Option("--verbose", "-v", help="Say what was done, also where nobody watches."),
        ],
        False,
    ),
    "yes": (YesOption, False),
}


def group(*, opens: bool = False) -> typer.Typer:
    """Make a group of commands; `opens`: it is a command by itself, too."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=not opens)


def shell_of(ctx: typer.Context) -> Shell:
    """Return the process a command runs in."""
    shell: Shell = ctx.find_root().obj
    shell.command = ctx.command_path.removeprefix("bumble ")
    return shell


def plain(body: Body) -> Body:
    """Make a command that opens no entity by itself; its first parameter is the process."""

    def command(ctx: typer.Context, **values: Any) -> None:
        body(shell_of(ctx), **values)

    return _shown_as(command, body, {})


def runs_job(body: Body) -> Body:
    """Make a command that runs a job; its second parameter is the `JobFlags`."""

    def with_flags(opened: object, **values: Any) -> None:
        body(opened, JobFlags(**{name: values.pop(name) for name in FLAGS}), **values)

    return _opening(with_flags, options={**FLAGS, **EDITING}, signed_by=body, leading=2)


def _opening(
    body: Body,
    *,
    options: dict[str, tuple[Any, Any]],
    signed_by: Body | None = None,
    leading: int = 1,
) -> Body:
    """Make a command of a body: it takes the shared options, opens the entity, and calls the body.

    Args:
        body: Does the work.
        options: Type and default of each shared option.
        signed_by: Whose own parameters and help these are; by default the body's.
        leading: How many of its first parameters no user gives.
    """

    def command(ctx: typer.Context, **values: Any) -> None:
        from bumble.cli.opening import open_entity  # much, of which `--help` needs nothing

        shell = shell_of(ctx)
        if ctx.invoked_subcommand is not None:  # of a group, which opens the entity itself
            shell.entity = values["entity"] or shell.entity
            return
        then = values.pop("as_of", None)
        shell.set_now(values.pop("now"))
        shell.set_seed(values.pop("seed", None))
        shell.everything = values.pop("everything", False)
        opened = open_entity(
            shell,
            values.pop("entity"),
            reads="seed" not in options,
            limits__lock_timeout_seconds=values.pop("lock_timeout", None),
        )
        if then is not None:
            from bumble.cli.earlier import open_past  # it loads history, which few commands need

            opened = open_past(opened, then)
        body(opened, **values)

    return _shown_as(command, signed_by or body, options, leading)


reads = partial(_opening, options=READING)  # makes a command that looks at an entity
# One that shows what it keeps, of which some may be for others alone; and one that shows what it
# kept then, too.
shows = partial(_opening, options=SHOWING)
looks_back = partial(_opening, options={"as_of": (AsOfOption, None), **SHOWING})
writes = partial(_opening, options=WRITING)  # one that changes its files
edits = partial(_opening, options=EDITING)  # likewise, among what may be for others alone


def _shown_as(
    command: Body,
    signer: Body,
    options: Mapping[str, tuple[Any, Any]],
    leading: int = 1,
) -> Body:
    """Show typer, for a command, name, help and parameters of another, and options behind them."""
    own = list(inspect.signature(signer, eval_str=True).parameters.values())[leading:]
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in options.items()
    ]
    context = inspect.Parameter(
        "ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
    )
    vars(command)["__signature__"] = inspect.Signature([context, *own, *shared])
    command.__name__, command.__doc__ = signer.__name__, signer.__doc__
    return command
