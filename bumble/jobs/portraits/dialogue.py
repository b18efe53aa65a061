"""What the entity and one person said, as reflection reads it: how much, where it starts."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from bumble.entity.changes import Change
from bumble.records import session_files, state
from bumble.records.sessions import Message, Session
from bumble.runtime import cursors
from bumble.runtime.cursors import REFLECT
from bumble.runtime.runtime import Runtime
from bumble.text import tokens
from bumble.text.words import one_line

TALK_TOKENS = 900  # of a conversation in one pass; what does not fit waits for the next
MESSAGE_TOKENS = 200  # of one message


class Dialogue(Struct, frozen=True):
    """The messages between one person and the entity that one reflection thinks about."""

    session: Session | None  # None: no conversation, only what waits in the person's own file
    start: str | None = None  # where the cursor stood
    last: str = ""  # id of the last message that is dealt with; empty: none is
    statements: tuple[Message, ...] = ()  # by the person
    answers: tuple[Message, ...] = ()  # of the entity to them
    text: str = ""  # as the model reads it


def read(runtime: Runtime, session_id: str, person: str) -> Dialogue:
    """Read what waits of the talk with one person; what others said in it is left out."""
    file = state.read(runtime.entity.state)
    session = session_files.find(runtime.entity.sessions, session_id)
    key = (REFLECT, person)
    unanswered = {message.id for message in session.unanswered}
    waiting = [
        message for message in cursors.messages(file, session, key) if message.id not in unanswered
    ]
    statements, answers, lines = list[Message](), list[Message](), list[str]()
    used, last = 0, ""
    for message, turned_to in between(waiting):
        shown = line(runtime, message) if turned_to == person else ""
        used += tokens.estimate(shown)
        if used > TALK_TOKENS and message.role == "user" and statements:
            break
        last = message.id
        if shown:
            lines.append(shown)
            (statements if message.role == "user" else answers).append(message)
    start = cursors.first(file, session.id, key)
    return Dialogue(session, start, last, tuple(statements), tuple(answers), "\n".join(lines))


def between(messages: Iterable[Message]) -> Iterable[tuple[Message, str]]:
    """Yield messages, each with the id of the person who spoke it or whom it answers."""
    turned_to = ""
    for message in messages:
        turned_to = message.speaker if message.role == "user" else turned_to
        yield message, turned_to


def line(runtime: Runtime, message: Message) -> str:
    """Word a message so that a small model knows whose "I" it is; empty for one without words."""
    text = tokens.cut(one_line(message.text), MESSAGE_TOKENS)
    if not text or message.role == "tool":
        return ""
    if message.role == "assistant":
        return f'I answered: "{text}"'
    return f'{message.extra.get("name") or message.speaker} said: "{text}"'


def start(runtime: Runtime, session_id: str, person: str) -> str | None:
    """Return the id of the first message that waits for a reflection on a person."""
    return cursors.first(state.read(runtime.entity.state), session_id, (REFLECT, person))


def plan_moved(runtime: Runtime, dialogue: Dialogue, person: str) -> Change | None:
    """Plan to move the cursor behind the messages of a dialogue, on the files as they are."""
    if dialogue.session is None or not dialogue.last:
        return None
    session = session_files.find(runtime.entity.sessions, dialogue.session.id)
    file = state.read(runtime.entity.state)
    moves = [((REFLECT, person), dialogue.last)]
    return cursors.plan_moved(file, session, moves, {}, "thought about it")
