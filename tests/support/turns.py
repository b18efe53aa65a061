"""Turns of an entity with a scripted model, and a clock that only moves when asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bumble.chat import participants, turn
from bumble.chat.reply_writer import Heard, ReplyStream, Turn
from bumble.entity.folder import Entity
from bumble.llm.scripted import Reply
from bumble.records import session_files, sessions
from bumble.runtime import people
from bumble.runtime.runtime import Runtime
from tests.support.lives import NOON as NOON
from tests.support.lives import Clock as Clock
from tests.support.lives import runtime_of as runtime_of


def act(tool: str, **arguments: Any) -> Reply:
    return Reply(json.dumps({"actions": [{"tool": tool, "arguments": arguments}]}), purpose="chat")


def say(text: str) -> Reply:
    return act("say", text=text)


def talk(
    runtime: Runtime,
    text: str,
    speaker: str | None = None,
    *,
    new: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Turn:
    """One turn, as a process of its own has it."""
    who = people.speaker(runtime.entity, runtime.identity, speaker)
    session, is_new = participants.open_session(runtime, who, runtime.clock(), new=new)
    heard = participants.listen(runtime, session, is_new, who, text)
    runtime.memory.sync()
    prepared = turn.prepare(runtime, Heard(heard, who))
    return turn.answer(runtime, prepared, ReplyStream(say))


def stored(entity: Entity) -> sessions.Session:
    (file,) = session_files.paths(entity.sessions)
    return session_files.load(file)


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }
