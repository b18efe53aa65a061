"""A conversation at the terminal: history, several lines, slash commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from bumble.cli import chat, context, output, settling
from bumble.errors import UserError

if TYPE_CHECKING:
    from bumble.cli.minds import OpenMind

HELP = """\
/help      this list
/status    which entity, model and conversation this is
/me        how the entity sees you
/context   what the last request was made of
/new       begin a new conversation
/quit      leave (also Ctrl-D)
Enter sends; Alt-Enter, or Ctrl-J, begins a new line.
Ctrl-C stops an answer and keeps what was said."""


def run(mind: OpenMind, *, usage: bool) -> None:
    """Talk until the person leaves."""
    shell = mind.opened.shell
    session: PromptSession[str] = PromptSession(
        history=_history(mind),
        completer=WordCompleter(sorted(f"/{name}" for name in COMMANDS), sentence=True),
        complete_while_typing=False,
        key_bindings=_keys(),
        multiline=True,
    )
    name = mind.opened.identity.name
    output.say(f"{name} is here. /help lists the commands, /quit leaves.")
    while True:
        try:
            text = session.prompt(f"{mind.person.name}> ", prompt_continuation="  ").strip()
        except EOFError:
            return
        except KeyboardInterrupt:
            continue
        if not text:
            continue
        if text.startswith("/"):
            if _command(mind, text):
                return
            continue
        try:
            _answer(mind, name, text, usage=usage)
        except UserError as error:  # the conversation goes on: the message is stored
            output.error(shell, "chat", str(error), kind=type(error).__name__, code=error.exit_code)


def _answer(mind: OpenMind, name: str, text: str, *, usage: bool) -> None:
    for said in mind.unheard():
        output.say(f"{name} said in the meantime: {said}")
    output.piece(f"{name}> ")
    turn = mind.answer(text, output.piece)
    output.piece("\n")
    for note in turn.notes:
        output.say(f"note: {note}")
    output.stopped(turn.outcome.stopped)
    mind.finish(turn)
    if usage:
        output.say(chat.footer(mind, turn))
    if turn.outcome.stopped != "interrupted" and settling.after_answer(mind):
        settling.in_background(mind.opened)


def _history(mind: OpenMind) -> FileHistory | InMemoryHistory:
    """What was typed before, kept with the entity's private files; nothing of it when incognito."""
    if not mind.life.writes:
        return InMemoryHistory()
    place = mind.opened.entity.private / "history"
    place.parent.mkdir(exist_ok=True)
    return FileHistory(str(place))


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    @keys.add("c-j")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys


def _command(mind: OpenMind, text: str) -> bool:
    """Carry out a slash command; whether it ends the conversation."""
    name = text[1:].split()[0] if text[1:].split() else ""
    action = COMMANDS.get(name)
    if action is None:
        output.say(f"There is no command /{name}; /help lists them. It was not sent.")
        return False
    return action(mind)


def _help(mind: OpenMind) -> bool:
    output.say(HELP)
    return False


def _status(mind: OpenMind) -> bool:
    output.say("\n".join(mind.status()))
    return False


def _me(mind: OpenMind) -> bool:
    from bumble.cycles import people

    known = people.known(mind.life, mind.person.id)
    if known is None:
        output.say("You have not talked yet.")
        return False
    stages = mind.life.config.memory.relational.stages
    output.say(f"{known.name}: {people.standing(known, stages, mind.life.now()).line}")
    output.say(known.text or "There is no portrait of you yet.")
    return False


def _context(mind: OpenMind) -> bool:
    found = mind.report()
    output.say("\n".join(context.listed(found)) if found else "Nothing has been sent yet.")
    return False


def _new(mind: OpenMind) -> bool:
    mind.begin(session_id=None, new=True)
    output.say("A new conversation begins.")
    return False


def _quit(mind: OpenMind) -> bool:
    return True


COMMANDS: dict[str, Callable[[OpenMind], bool]] = {
    "help": _help,
    "status": _status,
    "me": _me,
    "context": _context,
    "new": _new,
    "quit": _quit,
    "exit": _quit,
}
