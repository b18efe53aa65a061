"""What a turn hands from step to step, and the protocol of who writes its reply.

Each value is frozen and made once, by the step that stands beside it: no later step asks again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import Protocol

from msgspec import Struct, field

from bumble.body.soma import Soma
from bumble.chat.loop import Breakable, LoopOutcome
from bumble.chat.route import Route
from bumble.chat.speaker import Say
from bumble.entity.changes import Change
from bumble.llm.protocol import Block, Request, Tool
from bumble.models.embed.reader import MessageReading
from bumble.prompt.handover import Brief
from bumble.prompt.system import Stable
from bumble.prompt.transcript import View
from bumble.records.base import Provenance
from bumble.records.sessions import Message, Session
from bumble.runtime.body_state import Stirring
from bumble.runtime.people import Person
from bumble.runtime.runtime import ProfileName, Runtime
from bumble.text import words


class Heard(Struct, frozen=True):
    """Step 1, listen: a message that is stored, and is to be answered."""

    session: Session  # with the message
    who: Person  # who said it
    last_spoke: datetime | None = None  # when they last said something before; None: never
    attached: str = ""  # files that go with the message, as data; never stored
    notes: tuple[str, ...] = ()  # what the person should hear about these

    @property
    def message(self) -> Message:
        """What is answered."""
        return self.session.messages[-1]

    @property
    def is_question(self) -> bool:
        """Whether it ends as one."""
        return self.message.text.rstrip().endswith(words.QUESTION_MARKS)


class Moment(Struct, frozen=True):
    """Step 2, read: how the body is as the message leaves it."""

    soma: Soma
    stirring: Stirring | None  # the anchor that came back by itself


class Reading(Struct, frozen=True):
    """Step 2, read: what a message is."""

    language: str
    route: Route  # how much thought it is worth
    said: MessageReading = MessageReading()  # what the reader says; empty where none is asked
    # The sentences of a longer message that ask for something, each as it is read by itself.
    asked: tuple[tuple[str, MessageReading], ...] = ()


class Recalled(Struct, frozen=True):
    """Step 3, recall: what the model is shown of the conversation and of memory."""

    session: Session  # with the message; shown shorter, where it was too long
    stable: Stable
    seen: View  # of the conversation
    memories: tuple[Block, ...] = ()
    brief: Brief | None = None  # of the last conversation, whether it fits or not
    outside: tuple[Tool, ...] = ()  # tools of other programs that it may use
    notes: tuple[str, ...] = ()  # what the person should hear about


class Composed(Struct, frozen=True):
    """Step 4, compose: the request."""

    request: Request
    blocks: tuple[Block, ...]  # what is true right now, as it is sent
    notes: tuple[str, ...] = ()  # what the person should hear about


class WrittenReply(Struct, frozen=True):
    """Steps 5 and 6, generate and check: what was said and done."""

    outcome: LoopOutcome = field(default_factory=LoopOutcome)
    originals: tuple[Change, ...] = ()  # of results that were cut
    read: frozenset[str] = frozenset()  # tiers of what was read that is only quoted
    worded: str = ""  # what a reply is about that no model wrote; empty: the model wrote it
    slip: str = ""  # why the reply is no example for later ones


class Turn(Struct, frozen=True):
    """A turn, as far as it has come."""

    writer: ReplyWriter
    heard: Heard
    moment: Moment
    reading: Reading
    recalled: Recalled
    composed: Composed
    reply: WrittenReply = field(default_factory=WrittenReply)
    stored: Session | None = None  # step 7, commit: with the reply
    unwritten: tuple[str, ...] = ()  # likewise: what could not be written, and why

    @property
    def session(self) -> Session:
        """The conversation, with the reply once that is stored."""
        return self.stored or self.recalled.session

    @property
    def outcome(self) -> LoopOutcome:
        """What was said and done."""
        return self.reply.outcome

    @property
    def notes(self) -> tuple[str, ...]:
        """What the person should hear about."""
        return (*self.heard.notes, *self.recalled.notes, *self.composed.notes, *self.unwritten)


class ReplyStream(Struct, frozen=True):
    """How a reply reaches the person."""

    say: Say  # hears it, piece by piece; whole, where it is held back until it is checked
    sign: Callable[[], None] = lambda: None  # called before the model is asked for what is held
    breakable: Breakable = nullcontext  # encloses what the person may break off


class ReplyWriter(Protocol):
    """Who writes replies: `able_reply` where the model may, `plain_reply` where it may not."""

    def read(
        self, runtime: Runtime, heard: Heard, language: str, asked: ProfileName | None
    ) -> Reading:
        """Say what a message is; `asked` is how much thought was asked for, if it was."""

    def recall(
        self, runtime: Runtime, heard: Heard, moment: Moment, reading: Reading, *, compacts: bool
    ) -> Recalled:
        """Gather what the model is shown.

        `compacts`: whether a conversation that is too long is made shorter first.
        """

    def compose(
        self, runtime: Runtime, heard: Heard, moment: Moment, reading: Reading, recalled: Recalled
    ) -> Composed:
        """Make the request."""

    def generate(self, runtime: Runtime, turn: Turn, voice: ReplyStream) -> WrittenReply:
        """Write the reply, checked before any of it is said that may still be held back."""

    def stable(self, runtime: Runtime, readers: Sequence[str], language: str = "") -> Stable:
        """Make what every request of a talk with some people begins with, from the files."""


def origin_of(runtime: Runtime, heard: Heard) -> Provenance:
    """Return the origin of what is written for a message."""
    return Provenance(
        by="chat",
        model=runtime.model.name,
        sources=(heard.session.id, heard.message.id),
        trust=heard.who.trust,
        audience=heard.session.people,
    )
