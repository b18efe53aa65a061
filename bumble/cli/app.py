"""The root command: which module holds a subcommand, errors as exit codes, crash logs.

A subcommand's module is imported when it is called, so that `bumble --help` imports none of them.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
import tempfile
import traceback
from collections.abc import Sequence
from contextlib import suppress
from contextvars import copy_context
from copy import copy
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from bumble import __version__
from bumble.cli import command_help, output, process
from bumble.cli.command import EntityOption
from bumble.errors import (
    FULL,
    FileClosedError,
    FolderUnwritableError,
    RecordMissingError,
    UsageError,
    UserError,
    is_full,
)

# Name, place below `bumble.cli.commands` (behind a dot: of `bumble.cli`, since others use it), and
# the line in `--help` (a test holds them equal).
COMMANDS = {
    "new": (".newborn.new", "Make an entity folder."),
    "chat": ("chat.chat", "Talk to the entity."),
    "status": ("status.status", "Show which entity this is, which model answers, and how it is."),
    "doctor": (".doctor.doctor", "Check every file of the entity, and mend what is derived."),
    "recall": ("recall.recall", "Search what the entity remembers."),
    "deep-recall": (
        "topics.deep_recall",
        "Answer a question by several looks into memory, with what it rests on.",
    ),
    "eval": ("eval.app", "Check what the entity knows: what it finds, is shown and answers."),
    "why": (".history.why", "Show where something it holds comes from."),
    "show": ("life.show", "Read today, this week or a person, on one screen."),
    "report": ("life.report", "Make a page of its life, for a browser."),
    "index": ("recall.index", "Bring the search index up to date with the files."),
    "session": ("session.app", "Look at conversations."),
    "route": ("context.route", "See whether a message is a reflex or is thought about."),
    "context": ("context.app", "See what the model is told."),
    "compact": ("session.compact", "Show a long conversation shorter: cut, clear, summarise."),
    "expand": (
        "context.expand",
        "Print the whole of a text that the entity was shown cut or cleared.",
    ),
    "knowledge": ("books.app", "Look at and change durable facts."),
    "journal": ("books.journal_app", "Read and write the diary."),
    "skill": ("notes.app", "Look at and change how-to notes."),
    "person": (".people.app", "Look at and change the people it knows."),
    "reflect": ("cycles.reflect", "Think about the people it talked with."),
    "belief": ("memories.belief_app", "Look at and change what it holds to be true."),
    "episode": ("memories.app", "Look at and change what happened."),
    "soma": (".body.app", "Look at the body."),
    "project": ("notes.project_app", "Look at and change what is worked on over days."),
    "anchor": (".body.anchor_app", "Look at and recall states of the body that have a name."),
    "noise": (".body.noise_app", "Look at stray thoughts, and let some come."),
    "distill": ("cycles.distill", "Draw facts, beliefs and notes from what was said."),
    "consolidate": (
        "cycles.consolidate",
        "Put memory in order: what has faded, weak beliefs, the story.",
    ),
    "narrate": (
        "cycles.narrate",
        "Have the entity tell its story anew, from its memories and the story so far.",
    ),
    "dream": ("cycles.dream", "Let the entity dream, if it is deep in the night and nobody talks."),
    "petri": (
        "topics.petri",
        "List what the memories are about; with TOPIC its parts, mentions and questions.",
    ),
    "catalysts": ("cycles.catalysts", "Draw the questions that topics keep raising."),
    "catalyze": (
        "topics.catalyze",
        "Search memory in two stages: questions that topics raise, then the texts they point to.",
    ),
    "wake": (
        "cycles.wake",
        "Let the entity wake by itself for a moment, if something calls it and nobody talks.",
    ),
    "evolve": (
        "review.evolve",
        "Look back on a hundred interactions, and propose small changes of who it is.",
    ),
    "tick": ("cycles.tick", "Do whatever is due: reminders, what turns left, sleep and dreams."),
    "cron": ("cron.app", "Have the system run `bumble tick`."),
    "remind": ("notes.remind_app", "Have it say something at some time."),
    "model": ("model.app", "See, fetch and remove model weights."),
    "config": ("config.app", "See and change settings."),
    "log": (".history.log", "Show what became part of the entity, and when."),
    "diff": (".history.diff", "Show what changed, in memories rather than lines."),
    "undo": (".history.undo", "Take back one change."),
    "review": ("review.app", "See what cycles propose, and accept or reject it."),
    "sync": (
        "sync.sync",
        "Fetch what other clones did, merge it by meaning, and check the folder.",
    ),
    "migrate": (
        ".earlier.migrate",
        "Bring a folder that an older bumble made to the format of this one.",
    ),
    "import": ("transfer.import_", "Bring in your history from ChatGPT, Claude and others."),
    "export": (
        "transfer.export",
        "Take the entity elsewhere: a card, a bundle to read or to keep.",
    ),
    "completion": (
        "mcp.completion",
        "Print the script that completes commands, options, ids and names in your shell.",
    ),
    "mcp": (
        "mcp.mcp",
        "Serve the entity's memory to another program, over standard input and output.",
    ),
    "git-merge": (
        "git_merge.git_merge",
        "Merge two versions of a file by meaning (git calls this).",
    ),
}
# In `bumble --help`, by what one wants to do; a test holds that each command stands in one.
DAILY = "Every day"
SECTIONS = {
    DAILY: (
        *("new", "chat", "show", "recall", "why", "person", "remind", "import"),
        *("report", "undo", "status", "model"),
    ),
    "Set up, keep well": ("doctor", "config", "index", "migrate", "eval"),
    "What it remembers": (
        *("knowledge", "belief", "episode", "journal", "skill", "project", "session"),
        *("deep-recall", "petri", "catalyze", "catalysts"),
    ),
    "What it does by itself": (
        *("cron", "tick", "distill", "reflect", "consolidate", "narrate", "dream", "evolve"),
        *("wake", "review"),
    ),
    "How it feels": ("soma", "anchor", "noise"),
    "What a model is shown": ("context", "compact", "expand", "route"),
    "What changed": ("log", "diff", "sync", "git-merge"),
    "Other programs": ("export", "mcp", "completion"),
}
BUG_EXIT_CODE = 70
INTERRUPTED_EXIT_CODE = 130


def _command_at(place: str, line: str) -> Any:
    """Import a subcommand: a group of commands, to which a line of help is given, or a function."""
    module, _, name = place.rpartition(".")
    found = getattr(importlib.import_module(f".{module}", "bumble.cli.commands"), name)
    if isinstance(found, typer.Typer):
        found.info.help = found.info.help or line
        return typer.main.get_command(found)
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command()(found)
    return typer.main.get_command(single)


class LazyGroup(TyperGroup):
    """A group whose subcommands are imported when they are called."""

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]
        """Import a subcommand."""
        if cmd_name not in COMMANDS:
            return None
        if self.commands.get(cmd_name) is None:
            command = _command_at(*COMMANDS[cmd_name])
            command.name = cmd_name
            option = copy(next(param for param in self.params if param.name == "json"))
            option.expose_value = False  # the process knows it already, from its arguments
            command_help.prepare(command, cmd_name, option)
            self.commands[cmd_name] = command
        return self.commands[cmd_name]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a subcommand; where there is none, name those that may have been meant."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = " or ".join(f"`bumble {path}`" for path in command_help.nearest(args[0]))
            meant = f" Did you mean {near}?" if near else ""
            raise UsageError(f"bumble has no command {args[0]!r}.{meant}\nTry `bumble --help`.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the subcommands without importing them: those of every day, the rest by group."""
        with formatter.section(DAILY):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in SECTIONS[DAILY]])
        with formatter.section("More"):
            rest = [(title, names) for title, names in SECTIONS.items() if title != DAILY]
            formatter.write_dl([(title, ", ".join(names)) for title, names in rest])
        formatter.write("\n`bumble COMMAND --help` says more.\n")


app = typer.Typer(
    cls=LazyGroup,
    add_completion=False,  # `bumble completion` is quicker, and knows values
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Talk to somebody who lives in a folder and remembers, in files you can read.",
)


def _version(value: bool) -> None:
    if value:
        output.piece(f"bumble {__version__}\n")
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    entity: EntityOption = None,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Take the options that stand in front of the subcommand."""
    ctx.obj.entity = entity


def main(argv: Sequence[str], shell: process.Shell | None = None) -> int:
    """Run one command.

    Returns:
        Its exit code, by the table in `docs/commands.md`.
    """
    shell = shell or process.Shell.of_process()
    code = copy_context().run(_run, argv, shell)  # a signal may come while it runs
    return code if shell.stops.exit_code is None else shell.stops.exit_code


@cache
def _command_line() -> Any:
    return command_help.quicken(typer.main.get_command(app))


def _run(argv: Sequence[str], shell: process.Shell) -> int:
    shell.json = "--json" in argv
    try:
        _speak_utf8()
        code = _command_line().main(
            list(argv), prog_name="bumble", standalone_mode=False, obj=shell
        )
        output.flush()
        return code if isinstance(code, int) else 0
    except UserError as error:
        return _failed(shell, error)
    except TyperException as error:
        return _usage(shell, error)
    except (KeyboardInterrupt, typer.Abort):
        output.say("interrupted")
        return INTERRUPTED_EXIT_CODE
    except (output.ReaderLeftError, SystemExit):  # the latter is typer's, of its own help
        return 0  # `| head` closed the pipe: not an error, and nothing more to say
    except OSError as error:
        return _unheard(shell, error)
    except Exception:  # a bug, whatever it is: keep its traceback
        return _bug(shell)


def _speak_utf8() -> None:
    """Print UTF-8 whatever the locale says: cron sets none."""
    for stream in (sys.stdout, sys.stderr, sys.stdin):
        with suppress(AttributeError, ValueError):
            stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]


# The command that lists what there is of a thing.
LISTED_BY = {
    "anchor": "anchor list",
    "belief": "belief list",
    "commit": "log",
    "commit or record": "log",
    "conversation": "session list",
    "episode": "episode list",
    "journal": "journal list",
    "knowledge": "knowledge list",
    "model": "model list",
    "person": "person list",
    "project": "project list",
    "reminder": "remind list",
    "section": "knowledge list",
    "session": "session list",
    "skill": "skill list",
    "topic": "petri",
}


def _failed(shell: process.Shell, error: UserError) -> int:
    """Say what went wrong, as far as anybody hears it."""
    message = str(error)
    if isinstance(error, RecordMissingError) and not error.nearest and error.what in LISTED_BY:
        message += f"\n`bumble {LISTED_BY[error.what]}` shows what there is."
    with suppress(output.ReaderLeftError, UserError):
        output.error(shell, message, kind=type(error).__name__, code=error.exit_code)
    return error.exit_code


_CLOSED = (  # EINVAL, EISDIR: it is no plain file
    *(errno.EACCES, errno.EPERM, errno.EINVAL, errno.EISDIR),
    *(errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR),
)


def _unheard(shell: process.Shell, refused: OSError) -> int:
    """Tell whether the output was refused: typer prints its help by itself.

    Or a file was, which anybody can take away or replace at any time. Else it is a bug.
    """
    try:
        output.flush()
    except output.ReaderLeftError:
        return 0
    except UserError as error:
        return _failed(shell, error)
    if refused.errno in _CLOSED and isinstance(refused.filename, str):
        return _failed(shell, FileClosedError(refused.filename, refused.strerror or str(refused)))
    if is_full(os.strerror(refused.errno or 0)):
        where = Path(
            refused.filename or tempfile.gettempdir()
        )  # what is written elsewhere is named
        return _failed(shell, FolderUnwritableError(where, FULL))
    return _bug(shell)


_PLAINER = {  # what the library that checks values says, as bumble says it
    "Value error, ": "",
    "Input should be ": "it should be ",
    ", unable to parse string as an integer": "",
    ", unable to parse string as a number": "",
}


def _usage(shell: process.Shell, error: TyperException) -> int:
    message = error.format_message()
    for wording, plainer in _PLAINER.items():
        message = message.replace(wording, plainer)
    if type(error).__name__ == "NoArgsIsHelpError":
        output.say(message)
        return 2
    at = getattr(error, "ctx", None)
    path = at.command_path if at else "bumble"
    shell.command = path.removeprefix("bumble ")
    output.error(shell, f"{message}\nTry `{path} --help`.", kind="UsageError", code=2)
    return 2


def _bug(shell: process.Shell) -> int:
    from bumble.files import disk  # who asks for help doesn't wait for it

    text = traceback.format_exc()
    place = shell.crash_logs / f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}.log"
    where = f"The traceback is in {place}"
    try:
        report = f"bumble {__version__}: {shell.command}\n{text}"
        disk.write_atomic(place, report.encode(errors="replace"))
    except FolderUnwritableError:
        where = text
    last = text.strip().splitlines()[-1]
    message = f"this is a bug in bumble: {last}\n{where}; please report it."
    output.error(shell, message, kind="Bug", code=BUG_EXIT_CODE)
    return BUG_EXIT_CODE
