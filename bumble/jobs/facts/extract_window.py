"""The window of conversation an extraction reads: how it is split and numbered."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo

from msgspec import Struct

from bumble.guard import excerpt, secrets
from bumble.guard.excerpt import SpokenLine
from bumble.records import base
from bumble.records.provenance import is_untrusted
from bumble.records.sessions import Message, Session
from bumble.text import tokens
from bumble.text.words import one_line

USER = "user"


class Window(Struct, frozen=True):
    """Consecutive messages of a conversation, numbered, with who took part."""

    session: str  # id
    people: tuple[str, ...]  # ids of all who took part in the conversation
    names: Mapping[str, str]  # what they are called, by id
    entity: str  # what the entity is called
    messages: tuple[Message, ...]
    zone: tzinfo
    is_read: bool = False  # whether the entity took no part, and only reads what was said

    @property
    def hash(self) -> str:
        """A digest of the messages: the same window is not distilled twice."""
        content = "\n".join(f"{message.id} {message.text}" for message in self.messages)
        return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:16]

    @property
    def last(self) -> Message:
        """The message that the cursor moves behind."""
        return self.messages[-1]

    @property
    def numbers(self) -> range:
        return range(1, len(self.messages) + 1)

    @property
    def speakers(self) -> tuple[str, ...]:
        """The names of the people who say something in it."""
        person_messages = [self.messages[n - 1] for n in self.numbers if self.is_persons(n)]
        return tuple(dict.fromkeys(self.speaker(message) for message in person_messages))

    def text(self, limit_chars: int, most_chars: int | None = None) -> str:
        """Render the messages for a prompt, secrets left out.

        Args:
            limit_chars: What one message may take; it is cut there.
            most_chars: What all may take; of more, the lines that say most are shown.
        """
        shown = {
            n: _shown(message.text, limit_chars)
            for n, message in enumerate(self.messages, 1)
            if message.text.strip()
        }
        if most_chars is not None and sum(map(len, shown.values())) > most_chars:
            shown = self._most_telling(shown, most_chars)
        messages = self.messages
        return "\n".join(
            f"[{n}] {self.speaker(messages[n - 1])}: {text}" for n, text in shown.items()
        )

    def _most_telling(self, shown: Mapping[int, str], most_chars: int) -> dict[int, str]:
        lines = [
            SpokenLine(str(n), "", part, 1.0 if self.is_persons(n) else excerpt.OWN_WEIGHT)
            for n, text in shown.items()
            for part in excerpt.parts(text)
        ]
        parts_by_number: dict[int, list[str]] = {}
        for line in excerpt.choose(lines, most_chars // 4):
            parts_by_number.setdefault(int(line.message), []).append(line.text)
        return {n: " ".join(texts) for n, texts in parts_by_number.items()}

    def speaker(self, message: Message) -> str:
        """Return who said a message, as the model is shown it."""
        if message.role == USER:
            named = message.extra.get("name")
            return str(named or self.names.get(message.speaker, "") or message.speaker or "person")
        if message.role == "assistant":  # in an imported conversation another one than this entity
            return str(message.extra.get("name") or self.entity)
        return "(tool)"

    def is_evidence(self, number: int) -> bool:
        """Whether a message may be what a memory rests on."""
        message = self.messages[number - 1] if 1 <= number <= len(self.messages) else None
        return (
            message is not None
            and message.role != "tool"
            and not is_untrusted(message.trust)
            and bool(message.text.strip())
        )

    def is_persons(self, number: int) -> bool:
        """Whether a person said it, not the entity."""
        return self.is_evidence(number) and self.messages[number - 1].role == USER

    def source(self, number: int) -> str:
        """Return a message with who said it and when: what its memories may name."""
        message = self.messages[number - 1]
        return f"{self.speaker(message)} ({day(message.at, self.zone)}): {message.text}"

    def ids(self, numbers: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.messages[number - 1].id for number in numbers)

    def trust(self, numbers: Sequence[int]) -> str:
        """Return the lowest trust of some messages."""
        return base.lowest_trust(self.messages[number - 1].trust for number in numbers)


def day(at: datetime, zone: tzinfo) -> str:
    """Write a day so that any way to write it again is found in it."""
    return f"{at.astimezone(zone):%A %Y-%m-%d}"


def _shown(text: str, limit_chars: int) -> str:
    line = secrets.redacted(one_line(text)).replace("</", "‹/")
    return tokens.cut(line, max(1, limit_chars // 4))


def split_windows(
    session: Session,
    messages: Sequence[Message],
    names: Mapping[str, str],
    entity: str,
    zone: tzinfo,
    budget_chars: int,
) -> list[Window]:
    """Cut messages into windows of a size, each at the beginning of a turn where that is possible.

    Messages at the end that have no reply yet are left for later.
    """
    unanswered = {message.id for message in session.unanswered}
    settled = [message for message in messages if message.id not in unanswered]
    groups: list[list[Message]] = [[]]
    used = 0
    for turn in _turns(settled):
        size = sum(min(len(message.text), budget_chars) + 20 for message in turn)
        if groups[-1] and used + size > budget_chars:
            groups.append([])
            used = 0
        groups[-1] += turn
        used += size
    return [
        Window(
            *(session.id, session.people, names, entity, tuple(group), zone),
            is_read=session.imported is not None,
        )
        for group in groups
        if group
    ]


def _turns(messages: Sequence[Message]) -> list[list[Message]]:
    turns: list[list[Message]] = []
    for message in messages:
        if message.role == USER or not turns:
            turns.append([])
        turns[-1].append(message)
    return turns
