"""The conversation at the terminal: prompt line, history, several lines, slash commands."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct, field
from msgspec.structs import replace
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from bumble.cli import output
from bumble.cli.talk import conversation, turn_view
from bumble.errors import UsageError, UserError
from bumble.files import disk
from bumble.runtime import people
from bumble.text.printable import whole

HELP = """\
/help       this list
/status     which entity, model and conversation this is, how full the window, what waits
/me         how the entity sees you
/context    what the last request was made of; `detail`: part by part
/usage      what the last answer cost; `tokens`: say it after every answer, `off`: no more
/compact    show this conversation shorter from now on; nothing of it is lost
/think      think before answers, `off`: never; until the next conversation
/verbose    say which rule and which tools an answer used; `off` stops it
/reasoning  show what the model thought, where it says; `off` stops it
/model      which model answers; with a name: another one, until you leave
/new        begin a new conversation
/quit       leave (also Ctrl-D)
Inside a message /think, /verbose and /reasoning hold for that message alone.
@path puts a file below this folder beside your message.
Enter sends; Alt-Enter, or Ctrl-J, begins a new line.
Ctrl-C stops an answer and keeps what was said."""


class ReplState(Struct):
    """How a conversation at the terminal goes."""

    usage: bool  # whether each answer says what it cost
    debug_prefix: bool = False  # whether it says where its request first differs from the last
    wishes: turn_view.Wishes = field(default_factory=dict)  # until the next conversation


def run(talk: conversation.Conversation, *, usage: bool, debug_prefix: bool = False) -> None:
    """Talk until the person leaves."""
    shell = talk.opened.shell
    session: PromptSession[str] = PromptSession(
        history=_history(talk),
        completer=WordCompleter(
            sorted(f"/{name}" for name in (*COMMANDS, *turn_view.SWITCHES)), sentence=True
        ),
        complete_while_typing=False,
        key_bindings=_keys(),
        multiline=True,
    )
    state = ReplState(usage, debug_prefix)
    output.say(f"{talk.opened.identity.name} is here. /help lists the commands, /quit leaves.")
    talk.warm_ahead()
    while True:
        try:
            typed = session.prompt(f"{talk.person.name}> ", prompt_continuation="  ")
        except EOFError:
            return
        except KeyboardInterrupt:
            if shell.stops.ending is not None:
                raise
            continue
        if not (text := whole(typed).strip()):
            continue
        try:
            shell.stops.received = None  # of an answer that had ended by then
            with shell.stops.held():
                if _take(talk, state, text):
                    return
        except KeyboardInterrupt:  # the conversation goes on: the message is stored
            if shell.stops.ending is not None:
                raise
            output.stopped("interrupted")
        except UserError as error:  # the conversation goes on: the message is stored
            output.error(shell, str(error), kind=type(error).__name__, code=error.exit_code)


def _take(talk: conversation.Conversation, state: ReplState, text: str) -> bool:
    """Carry out or answer what was typed; whether that ends the conversation."""
    name = next(iter(text[1:].split()), "") if text.startswith("/") else ""
    if name in COMMANDS:
        words, takes = text.removeprefix(f"/{name}").strip(), turn_view.SHORTCUTS.get(name, ())
        if words and name != "model" and words not in takes:
            needs = f"takes {' or '.join(sorted(takes))}" if takes else "stands alone"
            raise UsageError(f"/{name} {needs}. Nothing was sent.")
        with talk.opened.shell.stops.open():
            COMMANDS[name](talk, state, words)
        return name in LEAVING
    typed = turn_view.read(text, shortcuts=talk.person.trust == "owner")
    for shortcut, word in typed.shortcuts:
        COMMANDS[shortcut](talk, state, word)
    if typed.text:
        stops = talk.opened.shell.stops
        try:
            with stops.open():  # it may ask
                talk.introduce(typed.text)
        except KeyboardInterrupt:
            stops.postpone()  # the message is stored first
        _answer(talk, state, replace(typed, wishes={**state.wishes, **typed.wishes}))
    else:
        state.wishes = {**state.wishes, **typed.wishes}
        for switch, is_on in typed.wishes.items():
            output.say(f"/{switch} is {'on' if is_on else 'off'} until the next conversation.")
    return False


def _answer(talk: conversation.Conversation, state: ReplState, message: turn_view.Typed) -> None:
    talk.opened.shell.warnings.clear()  # what is said again is meant for this message, too
    turn = turn_view.answer(talk, message, output.speech(talk.opened.identity.name, always=True))
    if talk.opened.shell.stops.ending is not None:
        raise KeyboardInterrupt
    with talk.opened.shell.stops.open():
        turn_view.finish(
            talk, turn, message.wishes, usage=state.usage, debug_prefix=state.debug_prefix
        )
        if turn.outcome.stopped != "interrupted" and talk.after_answer():
            conversation.in_background(talk.opened)


def _history(talk: conversation.Conversation) -> FileHistory | InMemoryHistory:
    """What was typed before, kept with the entity's private files; nothing of it when incognito."""
    place = talk.opened.entity.typed
    with suppress(OSError):  # something else has its name, or nothing may be written
        if talk.runtime.writes:
            disk.append(place, b"")  # made here first, so that it is never readable by others
            return _WholeHistory(os.fspath(disk.settled(place)))
    return InMemoryHistory()


class _WholeHistory(FileHistory):
    """Takes what a terminal sends that is no text, too."""

    def store_string(self, string: str) -> None:
        """Keep what was typed."""
        super().store_string(whole(string))


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


def _status(talk: conversation.Conversation, state: ReplState, rest: str) -> None:
    switches = [f"/{name} {'on' if is_on else 'off'}" for name, is_on in state.wishes.items()]
    lines = [
        *talk.status(),
        *talk.state(),
        *talk.describe(),
        f"until the next conversation: {', '.join(switches)}" if switches else "",
    ]
    output.say("\n".join(filter(None, lines)))


def _me(talk: conversation.Conversation, state: ReplState, rest: str) -> None:
    if (person := people.readable_person(talk.runtime, talk.person.id)) is None:
        output.say("You have not talked yet.")
        return
    output.say(f"{person.name}: {people.standing(person, talk.runtime.now()).line}")
    output.say(person.text or "There is no portrait of you yet.")


def _context(talk: conversation.Conversation, state: ReplState, rest: str) -> None:
    report = talk.report()
    shown = turn_view.detailed if rest == "detail" else turn_view.listed
    output.say("\n".join(shown(report)) if report else "Nothing has been sent yet.")


def _usage(talk: conversation.Conversation, state: ReplState, rest: str) -> None:
    if rest:
        state.usage = rest not in turn_view.OFF
        does = "says" if state.usage else "does not say"
        output.say(f"Each answer {does} what it cost from now on.")
    else:
        output.say(turn_view.footer(talk, talk.last) if talk.last else "Nothing has been sent yet.")


def _compact(talk: conversation.Conversation, state: ReplState, rest: str) -> None:
    for line in talk.compact(output.say):
        output.say(line)


def _model(talk: conversation.Conversation, state: ReplState, rest: str) -> None:
    if not rest:
        output.say(talk.status()[-1])
        return
    talk.switch_model(rest)
    output.say(
        f"{talk.status()[-1]}\nUntil you leave; to keep it: bumble config set llm.model {rest}"
    )


def _new(talk: conversation.Conversation, state: ReplState, rest: str) -> None:
    talk.begin(session_id=None, new=True)
    talk.warm_ahead()
    state.wishes = {}
    output.say("A new conversation begins.")


LEAVING = ("quit", "exit")
COMMANDS: dict[str, Callable[[conversation.Conversation, ReplState, str], None]] = {
    "help": lambda *_: output.say(HELP),
    "status": _status,
    "me": _me,
    "context": _context,
    "usage": _usage,
    "compact": _compact,
    "model": _model,
    "new": _new,
    **dict.fromkeys(LEAVING, lambda *_: None),
}
