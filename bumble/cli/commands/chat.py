"""`bumble chat`: one message, standard input, or a conversation; its JSON and footer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bumble.cli import command, newborn, opening, output, people, process, writing
from bumble.cli.models import chat_model, model_view
from bumble.cli.talk import turn_view
from bumble.entity.folder import ENTITY_FILE
from bumble.errors import AnswerInvalidError, UsageError
from bumble.models.weights import choice

if TYPE_CHECKING:
    from bumble.cli.talk.conversation import Conversation

MAX_MESSAGE_CHARS = 400_000  # more is no message; a note of that size belongs into a file

ELSEWHERE = {  # what the commands of a conversation are outside of one
    "help": "bumble --help",
    "status": "bumble status",
    "me": "bumble person show NAME",
    "context": "bumble context list",
    "usage": "bumble chat --usage MESSAGE",
    "compact": "bumble compact",
    "model": "bumble config set llm.model NAME",
    "new": "bumble chat --new-session MESSAGE",
    "quit": "nothing is open",
    "exit": "nothing is open",
}


def chat(
    ctx: typer.Context,
    message: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MESSAGE]",
            help="What to say, with `@PATH` for a file beside it; `-` reads standard input.",
        ),
    ] = None,
    *,
    entity: command.EntityOption = None,
    speaker: command.AsOption = None,
    company: Annotated[
        str | None,
        typer.Option(
            "--with", metavar="NAMES", help="Who else hears it, with commas between: ana,bo."
        ),
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="Go on with this one, or `last`.")
    ] = None,
    new_session: Annotated[
        bool, typer.Option("--new-session", help="Begin a new conversation.")
    ] = False,
    incognito: Annotated[
        bool,
        typer.Option("--incognito", help="Leave no trace: not one byte of the folder changes."),
    ] = False,
    new: Annotated[
        bool, typer.Option("--new", help="Make the entity folder if it is not there.")
    ] = False,
    usage: Annotated[
        bool, typer.Option("--usage", help="Say what the answer cost, on standard error.")
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="Talk by this model, as llm.model takes it: a name, or the path of a GGUF file.",
        ),
    ] = None,
    max_tool_rounds: Annotated[
        int | None,
        typer.Option(
            "--max-tool-rounds",
            min=0,
            max=16,
            metavar="N",
            help="How often the entity may use tools before it has to answer.",
        ),
    ] = None,
    debug_prefix: Annotated[
        bool,
        typer.Option("--debug-prefix", help="Say where this request first differs from the last."),
    ] = False,
    lock_timeout: command.LockTimeoutOption = None,
    yes: command.YesOption = False,
    now: command.NowOption = None,
    seed: command.SeedOption = None,
) -> None:
    """Talk to the entity.

    With a message, or one on standard input, answers it and ends; without, opens a conversation.
    The next `bumble chat` goes on where this one ended.
    """
    shell = command.shell_of(ctx)
    output.sign("one moment …", shell.environ)  # what follows takes longer than a moment to load
    shell.set_now(now)
    shell.set_seed(seed)
    if session and new_session:
        raise UsageError("--session goes on with a conversation, --new-session begins one: choose.")
    said = message or ([] if sys.stdin.isatty() else ["-"])
    text = writing.text_of(said, MAX_MESSAGE_CHARS) if said else None  # opens a conversation
    if new:
        _make_if_missing(shell, entity, model, yes=yes)
    ctx.with_resource(shell.stops.watched())
    opened = opening.open_entity(
        shell,
        entity,
        incognito=incognito,
        llm__model=model,
        cognition__loop__max_tool_rounds=max_tool_rounds,
        limits__lock_timeout_seconds=lock_timeout,
    )
    if not (yes or incognito) and chat_model.is_open(opened) and people.is_first(opened):
        opened = opened.with_settings() if model_view.ask(opened) else opened
    output.sign(f"{opened.identity.name} wakes …", shell.environ)
    typed = message is not None and message != ["-"]  # else it is nothing but text
    first = None if text is None else _parse_input(text) if typed else turn_view.Typed(text)
    from bumble.cli.talk import conversation

    present = [] if company is None else [name.strip() for name in company.split(",")]
    with conversation.open_to_talk(
        opened, speaker, yes=yes, writes=not incognito, present=present
    ) as talk:
        talk.begin(session_id=session and people.find_session(opened, session).id, new=new_session)
        usage = usage or opened.config.output.usage
        if first is None:
            from bumble.cli.talk import repl  # the prompt takes its time

            repl.run(talk, usage=usage, debug_prefix=debug_prefix)
            return
        talk.introduce(first.text, yes=yes)
        answer(talk, first, typed=typed, usage=usage, debug_prefix=debug_prefix)
        settles = talk.after_answer()
    if settles:
        conversation.in_background(opened)


def _make_if_missing(
    shell: process.Shell, entity: Path | None, model: str | None, *, yes: bool
) -> None:
    folder = entity or shell.entity
    if folder is None:
        raise UsageError("--new needs to know where: bumble chat -e DIR --new")
    if not (shell.path(folder) / ENTITY_FILE).exists():
        config = opening.without_entity(shell, llm__model=model).config.llm
        chat_model.require_key(shell, choice.named(config, ""))
        identity = newborn.make(shell, folder, asks=not yes)
        output.say(f"{identity['name']} lives in {identity['folder']} from now on.")


def _parse_input(text: str) -> turn_view.Typed:
    """Take the directives out of a typed message, and refuse what is a command of conversations.

    Raises:
        UsageError: If it is one, or there is no such command, or nothing is left to say.
    """
    name = next(iter(text[1:].split()), "") if text.startswith("/") else ""
    if name in ELSEWHERE:
        raise UsageError(f"/{name} is for a conversation at the terminal; here: {ELSEWHERE[name]}")
    parsed = turn_view.read(text, shortcuts=True)
    if not parsed.text:
        raise UsageError("There is nothing to say: a directive alone needs a conversation.")
    for shortcut, _ in parsed.shortcuts:
        output.say(f"/{shortcut} has no effect inside a message; here: {ELSEWHERE[shortcut]}")
    return parsed


def answer(
    talk: Conversation, message: turn_view.Typed, *, typed: bool, usage: bool, debug_prefix: bool
) -> None:
    """Answer one message and print the answer as it comes."""
    shell = talk.opened.shell
    say = (lambda _: None) if shell.json else output.speech(talk.opened.identity.name)
    turn = turn_view.answer(talk, message, say, typed=typed)
    if shell.json:
        data = turn_view.data(turn) | {"pending": talk.pending()}
        output.result(shell, "chat", data, "", turn.outcome.problem)
    shell.stops.obey()
    turn_view.finish(talk, turn, message.wishes, usage=usage, debug_prefix=debug_prefix)
    if turn.outcome.stopped == "interrupted":
        raise KeyboardInterrupt
    if turn.outcome.problem is not None:
        raise typer.Exit(turn.outcome.problem.exit_code)
    if turn.outcome.is_silent:
        raise typer.Exit(AnswerInvalidError.exit_code)
