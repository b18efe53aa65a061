"""A scripted model for tests and demonstrations: replies from a list or a file.

A file is YAML (a list) or JSONL (one item a line). An item that is a bare text answers purpose
`chat` when the request holds as many assistant messages as there were bare texts before it: so a
conversation goes on across processes. An item that is a mapping is a rule; the first one that
matches and is not used up answers:

    - Hello, I am Ada.                    # the first answer of a chat
    - {purpose: distill, json: {beliefs: []}}
    - {contains: weather, text: It rains., always: true}
    - {purpose: chat, json: {actions: [{tool: recall, arguments: {query: bees}}]}}

A scripted model may write in every language. An item `abilities` says what else it is trusted with:

    - {abilities: {talk: {de: choose, any: write}, memory: {any: none}}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bumble.errors import AnswerInvalidError, RecordInvalidError, UserError
from bumble.files import disk
from bumble.llm.protocol import Completion, FinishReason, OnText, Request, Usage
from bumble.text import tokens, yaml_read

ABILITIES = "abilities"
MAX_BYTES = 1_000_000
_PIECE_CHARS = 7  # odd on purpose: pieces end in the middle of words and escapes


class Reply(Struct, frozen=True, forbid_unknown_fields=True):
    """One answer, and the requests it is meant for."""

    text: str = ""
    purpose: str | None = None  # the request's purpose; None takes any
    contains: str | None = None  # stands in the last message of the request
    turn: int | None = None  # how many assistant messages the request holds
    always: bool = False  # answers again and again, not once
    finish_reason: FinishReason = "stop"
    reasoning: str = ""

    def matches(self, request: Request) -> bool:
        """Say whether this reply is meant for a request."""
        turn = sum(message.role == "assistant" for message in request.messages)
        last = request.messages[-1].content if request.messages else ""
        return (
            self.purpose in (None, request.purpose)
            and self.turn in (None, turn)
            and (self.contains is None or self.contains in last)
        )


class ScriptedModel:
    """A `Model` that answers from a list of replies."""

    native_tools = False

    def __init__(
        self,
        replies: Sequence[Reply],
        *,
        name: str = "scripted",
        context_tokens: int | None = 32768,
    ) -> None:
        self.name = name
        self.context_tokens = context_tokens
        self.requests: list[Request] = []  # all that was asked, oldest first
        self.warmed: list[Request] = []
        self.closed = False
        self._left = list(replies)

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        """Answer with the first reply that matches, in pieces of a few characters."""
        self.requests.append(request)
        reply = next((reply for reply in self._left if reply.matches(request)), None)
        if reply is None:
            asked = request.messages[-1].content[:200] if request.messages else ""
            raise AnswerInvalidError(
                f"The script {self.name} has no answer left for {request.purpose}: {asked!r}\n"
                "Add one to the script, or mark one `always: true`."
            )
        if not reply.always:
            self._left.remove(reply)
        if on_text is not None:
            for start in range(0, len(reply.text), _PIECE_CHARS):
                on_text(reply.text[start : start + _PIECE_CHARS])
        told = sum(tokens.estimate_message(message.content) for message in request.messages)
        return Completion(
            text=reply.text,
            finish_reason=reply.finish_reason,
            model=self.name,
            reasoning=reply.reasoning,
            usage=Usage(told, None, len(reply.text) // 4 + 1),
            first_token_seconds=0.0,
        )

    def warm(self, request: Request) -> None:
        """Remember what was to be warmed."""
        self.warmed.append(request)

    def request_bytes(self, request: Request) -> int:
        """Count the texts, and the schema of the answer: there is nothing around them."""
        texts = (request.schema_text, *(message.content for message in request.messages))
        return sum(len(text.encode()) for text in texts)

    def close(self) -> None:
        """Remember that this was closed."""
        self.closed = True


class AbsentModel(ScriptedModel):
    """A model that could not be opened: what looks at an entity without asking needs none."""

    def __init__(self, error: UserError) -> None:
        """Set up.

        Args:
            error: Why there is none; every question raises it.
        """
        super().__init__((), name="none", context_tokens=None)
        self.error = error

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        """Raise what stands in the way."""
        raise self.error


def read(path: Path) -> tuple[Reply, ...]:
    """Read the replies of a script.

    Raises:
        RecordInvalidError: If it is no plain file, too large, or not a list of replies.
    """
    items = _items(path)
    try:
        return parse(items)
    except ValueError as problem:
        raise RecordInvalidError(path, str(problem)) from problem


def abilities(path: Path) -> Any:
    """Return what a script says its model is trusted with, as it stands there; None: nothing.

    Raises:
        RecordInvalidError: If it is no script.
    """
    items = _items(path)
    listed = items if isinstance(items, list) else ()
    return next((item[ABILITIES] for item in listed if _names_abilities(item)), None)


def _names_abilities(item: Any) -> bool:
    return isinstance(item, dict) and set(item) == {ABILITIES}


def _items(path: Path) -> Any:
    try:
        data = disk.read(path, most=MAX_BYTES + 1)
        source = data.decode()
    except (OSError, UnicodeDecodeError) as problem:
        raise RecordInvalidError(path, f"cannot be read: {problem}") from problem
    if len(data) > MAX_BYTES:
        raise RecordInvalidError(path, f"a script has at most {MAX_BYTES:,} bytes")
    try:
        if path.suffix == ".jsonl":
            return [json.loads(line) for line in source.splitlines() if line.strip()]
        return yaml_read.parse(source) or []
    except yaml_read.SourceError as problem:
        raise RecordInvalidError(path, problem.problem, problem.line) from problem
    except (RecursionError, ValueError) as problem:
        raise RecordInvalidError(path, str(problem)) from problem


def parse(items: Any) -> tuple[Reply, ...]:
    """Read replies from the items of a script.

    Raises:
        ValueError: If an item is neither a text nor a rule.
    """
    if not isinstance(items, list):
        raise ValueError("a script is a list of replies")
    replies: list[Reply] = []
    turn = 0
    for number, item in enumerate(items, start=1):
        if _names_abilities(item):
            continue
        if isinstance(item, str):
            replies.append(Reply(item, purpose="chat", turn=turn))
            turn += 1
        elif isinstance(item, dict):
            replies.append(_rule(item, number))
        else:
            raise ValueError(f"reply {number} is neither a text nor a rule")
    return tuple(replies)


def _rule(item: Mapping[str, Any], number: int) -> Reply:
    given = dict(item)
    if "json" in given:
        given["text"] = json.dumps(given.pop("json"), ensure_ascii=False)
    try:
        return msgspec.convert(given, Reply)
    except msgspec.ValidationError as problem:
        raise ValueError(f"reply {number}: {problem}") from problem
