"""The interface of every chat model: messages in, completion out.

Knows nothing of entities, files or settings. Backends live beside this module.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import force_setattr

from bumble.llm import marks
from bumble.text import tokens

Role = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length", "interrupted"]


class Action(Struct, frozen=True):
    """One action that a model asked for: a tool and its arguments."""

    id: str  # unique within its answer
    name: str
    arguments: Mapping[str, Any]


class ToolResult(Struct, frozen=True):
    """What a call gave back."""

    id: str  # of the call
    text: str

    def __post_init__(self) -> None:
        """Break the control tokens in the text."""
        force_setattr(self, "text", marks.plain(self.text))


class PromptMessage(Struct, frozen=True):
    """One message of a conversation, as a model sees it.

    Control tokens are the chat template's to write: none is left in a message, whoever wrote its
    text. This is the one door through which everything goes that a model is sent.

    `content` is the whole message as text, its calls as JSON and its results in tags. A backend
    whose model has tools of its own takes `bare`, `calls` and `results` instead.
    """

    role: Role
    content: str = ""
    bare: str | None = None  # the text without calls and results; None: `content` holds none
    calls: tuple[Action, ...] = ()  # of the assistant: tools that it used
    results: tuple[ToolResult, ...] = ()  # of the user: what earlier calls gave back

    def __post_init__(self) -> None:
        """Break the control tokens in the text."""
        force_setattr(self, "content", marks.plain(self.content))
        if self.bare is not None:
            force_setattr(self, "bare", marks.plain(self.bare))

    @property
    def text(self) -> str:
        """The message without calls and results."""
        return self.content if self.bare is None else self.bare


class Block(Struct, frozen=True):
    """A named part of a prompt, so that its cost can be told."""

    name: str
    text: str
    trust: str = ""  # the tier of what is in it, if that is only quoted

    @property
    def tokens(self) -> int:
        """Its estimated length."""
        return tokens.estimate(self.text)


class Tool(Struct, frozen=True):
    """A tool as it is declared to a model."""

    name: str
    description: str
    parameters: Mapping[str, Any]  # JSON schema of an object


class Request(Struct, frozen=True):
    """One question to a model."""

    messages: Sequence[PromptMessage]
    purpose: str = "chat"  # what the call ledger files it under
    schema: Mapping[str, Any] | None = (
        None  # JSON schema the text must satisfy; enforced where possible
    )
    tools: Sequence[Tool] = ()  # what may be called, where the model has tools of its own
    toolless: str = ""  # the first message's content, where it turns out to have none
    max_tokens: int = 512
    temperature: float = 0.7
    thinking: bool = False  # let the model reason first, where it can
    seed: int | None = None
    seconds: float | None = None  # that the answer may take in all; None: as the backend says
    stop: threading.Event | None = None  # ends `warm` once it is set; set before: loading is all
    cache_id: str | None = None  # names the conversation whose evaluated prefix is kept
    cache_family: str | None = None  # of conversations that begin alike: a new one starts there

    @property
    def schema_text(self) -> str:
        """The schema as JSON; empty without one."""
        return "" if self.schema is None else json.dumps(self.schema, ensure_ascii=False)


class Usage(Struct, frozen=True):
    """What a completion cost. Counts are the backend's own; None where it does not say."""

    prompt_tokens: int | None = None  # all of the prompt, cached part included
    cached_tokens: int | None = None  # of these, taken from a cache
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None  # of these, what the model thought
    dollars: float | None = None  # where the endpoint says what it costs


class Completion(Struct, frozen=True):
    """One answer of a model."""

    text: str  # visible text, calls as JSON of actions; reasoning is never in it
    finish_reason: FinishReason
    model: str
    reasoning: str = ""  # shown on demand, never stored
    calls: tuple[Action, ...] = ()  # of tools, where it called them otherwise than by its text
    beside: str = ""  # visible text beside calls: thought, unless nothing else is said
    usage: Usage = Usage()
    first_token_seconds: float | None = None  # from sending to the first token, loading excluded
    seconds: float = 0.0  # from sending to the last token, loading excluded


OnText = Callable[[str], None]  # receives each piece of visible text as it comes


class EnoughError(Exception):
    """No more of an answer is wanted, by an `OnText` or by the clock; generation is stopped."""


class Model(Protocol):
    """A chat model. Threads: one request at a time."""

    @property
    def name(self) -> str:
        """Backend and model, as `embedded:qwen3-4b`."""

    @property
    def context_tokens(self) -> int | None:
        """The context window in tokens; None where the backend does not say."""

    @property
    def native_tools(self) -> bool:
        """Whether it takes `Request.tools`; else it is told of them, and answers in a schema."""

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        """Answer a request, handing pieces of text to `on_text` while they come.

        Raises:
            ModelUnreachableError: If nothing answers, or it stops before the end.
            CredentialsError: If the service wants another key.
            AnswerInvalidError: If the backend's answer can't be read.
            KeyboardInterrupt: If the user interrupts; generation has been stopped by then.
            EnoughError: If `on_text` raises it, or the request's seconds are over; likewise.
        """

    def warm(self, request: Request) -> None:
        """Evaluate the messages of a request without answering, where that makes the next request
        that starts alike quicker; nothing elsewhere."""

    def request_bytes(self, request: Request) -> int:
        """Return how many bytes the body has with which a request is first sent; sends nothing."""

    def close(self) -> None:
        """Keep what may outlive the process (the evaluated prefix) and let go of the rest."""


T = TypeVar("T")


class Wrapper:
    """A `Model` that hands every question on to another; a subclass says what it does besides."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def _ask(self, question: Callable[[Model], T]) -> T:
        """Put a question to the wrapped model: the one way to it but closing."""
        return question(self._model)

    @property
    def name(self) -> str:
        return self._ask(lambda model: model.name)

    @property
    def context_tokens(self) -> int | None:
        return self._ask(lambda model: model.context_tokens)

    @property
    def native_tools(self) -> bool:
        return self._ask(lambda model: model.native_tools)

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        return self._ask(lambda model: model.complete(request, on_text))

    def warm(self, request: Request) -> None:
        self._ask(lambda model: model.warm(request))

    def request_bytes(self, request: Request) -> int:
        return self._ask(lambda model: model.request_bytes(request))

    def close(self) -> None:
        self._model.close()


class LazyModel(Wrapper):
    """A model that is opened when it is first asked: most runs of a cycle ask nothing."""

    def __init__(self, opens: Callable[[], Model]) -> None:
        """Set up without opening anything.

        Args:
            opens: Opens the model; what it raises is raised by the first question.
        """
        self._opens = opens

    @cached_property
    def _model(self) -> Model:  # type: ignore[override]
        return self._opens()

    def close(self) -> None:
        """Close the model, if it was opened."""
        if "_model" in self.__dict__:
            self._model.close()
