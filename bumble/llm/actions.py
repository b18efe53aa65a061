"""Tool calls as JSON text: the action schema, and how an answer is read as actions.

The shape is `{"actions": [{"tool": NAME, "arguments": {…}}, …]}`. What is said to the user is an
action too, `say`, whose text can be read while it comes. Text not of this shape is speech.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct, field

from bumble import patterns
from bumble.errors import AnswerInvalidError
from bumble.llm import marks, structured, written_calls
from bumble.llm.protocol import (
    Action,
    Completion,
    FinishReason,
    OnText,
    PromptMessage,
    Tool,
    Usage,
)
from bumble.llm.say_reader import SayReader
from bumble.llm.wire import CallPart, Piece
from bumble.text.printable import each_text, whole
from bumble.text.schema import choice, closed

_LENGTHS = ("length", "max_tokens", "model_length")  # what servers call an answer that was cut off
_FILTERS = ("content_filter", "refusal")  # begin what they call one that was held back
_NAME = patterns.compile(r"[\w-]+")
_TEXT = patterns.compile(r'\A\s*"(.*)"\s*\Z', re.DOTALL)
_QUOTE = patterns.compile(r'(\\.)|"', re.DOTALL)  # within a text of JSON; or what is escaped
MAX_ACTIONS = 8  # in one answer; a bound keeps a small model from going on for ever


def schema(groups: Sequence[Sequence[Tool]]) -> Mapping[str, Any]:
    """Build the schema of an answer made of calls, for constrained decoding.

    Args:
        groups: Tools that may be called beside each other; an answer keeps to one group.
    """
    # "tool" comes first: a grammar keeps this order, so `say` is known before its text streams.
    rows = [
        {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_ACTIONS,
            "items": {
                "anyOf": [
                    closed({"tool": choice([tool.name]), "arguments": tool.parameters})
                    for tool in group
                ]
            },
        }
        for group in groups
        if group
    ]
    return closed({"actions": {"anyOf": rows}})


def parse(text: str, tools: Sequence[Tool] = ()) -> tuple[Action, ...]:
    """Read the tool calls of an answer; plain text is `say` and `end_turn`.

    Of an answer that was cut off, the complete actions count, and of a `say` what was said. An
    incomplete call of another tool is dropped, never run half.

    Args:
        text: The answer.
        tools: What may be called; near misses of their names and arguments are read as these.

    Raises:
        AnswerInvalidError: If the answer is meant as actions and none can be read.
    """
    if not text.strip():
        return ()
    calls, said = _read_calls(text, tools), SayReader(text).texts
    told = [arguments.get("text") for name, arguments in calls if name == "say"]
    if said == [text.strip()]:
        calls = calls or [("say", {"text": text.strip()}), ("end_turn", {})]
    else:  # what was said of a `say` that was cut off
        cut = [one for one in said[len(told) :] if one and one not in told]
        calls += [("say", {"text": one}) for one in cut]
    if not calls:
        raise AnswerInvalidError("The model's actions could not be read.", answer=text)
    return _numbered(calls)


def _numbered(calls: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[Action, ...]:
    return tuple(
        Action(f"call_{number}", name, arguments)
        for number, (name, arguments) in enumerate(calls, start=1)
    )


def said_in(text: str) -> str:
    """Read what an answer says to the user."""
    with suppress(AnswerInvalidError):
        return "\n\n".join(dict.fromkeys(spoken(parse(text))))
    return ""


def spoken(calls: Iterable[Action]) -> list[str]:
    """Return the texts that calls say."""
    texts = [call.arguments.get("text") for call in calls if call.name == "say"]
    return [text for text in texts if text and isinstance(text, str)]


def _read_calls(text: str, tools: Sequence[Tool]) -> list[tuple[str, Mapping[str, Any]]]:
    try:
        value, missing = structured.load(text)
    except ValueError:
        return []
    # 1. find the list; in prose, only the full shape counts: an example in a sentence is no call
    if isinstance(value, dict) and isinstance(value.get("actions"), list):
        found, depth = value["actions"], 2
    else:
        found, depth = (value, 1) if isinstance(value, list) else ([value], 0)
    if depth < 2 and not text.lstrip().startswith(("{", "[", "```")):
        return []
    # 2. leave out what was cut off in the middle
    if len(missing) > depth:
        found = found[:-1]
    keys = ("tool", "name") if depth == 2 else ("tool",)
    items = (item for item in found if isinstance(item, dict))
    named_by = ((next((item[key] for key in keys if key in item), None), item) for item in items)
    return [
        _meant(named(name, tools), item.get("arguments"), tools)
        for name, item in named_by
        if isinstance(name, str)
    ]


def named(name: str, tools: Sequence[Tool]) -> str:
    """Return the tool that a name stands for: a namespace before it, or a channel behind, is none.

    Capitals make no difference. A name that is none of theirs, or could be several, is returned as
    it is.
    """
    known = {tool.name for tool in tools}
    words = {word.casefold() for word in _NAME.findall(name)}
    found = [one for one in known if one.casefold() in words]
    return name if name in known or len(found) != 1 else found[0]


def _meant(name: str, given: Any, tools: Sequence[Tool]) -> tuple[str, Mapping[str, Any]]:
    """Return a call as it was meant, its arguments written as a text, misnamed, or in parts."""
    told = next((tool.parameters for tool in tools if tool.name == name), {})
    fields, required = told.get("properties"), told.get("required")
    fields = fields if isinstance(fields, dict) else {}  # other programs declare as they like
    with suppress(ValueError):  # words may begin like JSON
        while isinstance(given, str) and given.lstrip().startswith('"'):
            given = json.loads(given, strict=False)
        if isinstance(given, str) and given.lstrip().startswith("{"):
            given, written = None, given
            given = structured.load(_escaped(written, fields))[0]
    if isinstance(given, dict) and len(given) == 1 and fields and not given.keys() & fields:
        (inner,) = given.values()  # some put another object around
        given = inner if isinstance(inner, dict) and inner.keys() & fields else given
    meant = dict(given) if isinstance(given, dict) else {"": given}
    texts = [
        key
        for key, one in fields.items()
        if isinstance(one, dict) and one.get("type") == "string" and "enum" not in one
    ]
    # the text that lacks is the one under a name that is none of the tool's
    needed = required if isinstance(required, list | tuple) else ()
    lacking = [key for key in texts if key in needed and key not in meant]
    strange = [key for key in meant if key not in fields and isinstance(meant[key], str | list)]
    if len(lacking) == len(strange) == 1:
        meant[lacking[0]] = meant.pop(strange[0])
    for key in texts:
        if isinstance(meant.get(key), list):
            meant[key] = "\n".join(map(str, meant[key]))
    meant.pop("", None)
    if name == "say" and isinstance(said := meant.get("text"), str):
        meant["text"] = marks.unthought(said)
    return str(whole(name)), whole(meant)


def _escaped(text: str, fields: Iterable[str]) -> str:
    """Return an object whose texts end where the next field begins, with no bare quote in them."""
    names = "|".join(map(re.escape, fields))
    body = text.rstrip().removesuffix("}")
    parts = re.split(rf'((?:^\s*{{|,)\s*"(?:{names})"\s*:)', body)
    return "".join(_TEXT.sub(_without_quotes, part) for part in parts) + text[len(body) :]


def _without_quotes(text: re.Match[str]) -> str:
    inner = _QUOTE.sub(lambda match: match[1] or '\\"', text[1])
    return f'"{inner}"'


NO_RESULT = "(it did not run)"
SILENCE = "…"  # where the entity ended a turn without a word


def declared(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Declare tools; no text of theirs holds a control token, wherever they come from."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": marks.plain(tool.description),
                "parameters": each_text(tool.parameters, marks.plain),
            },
        }
        for tool in tools
    ]


def messages(told: Sequence[PromptMessage]) -> list[dict[str, Any]]:
    """Write messages with their calls and results.

    Each call is followed by its result, as endpoints insist. Some of them take no word of the user
    right after one: what was said beside the calls stands between, or that nothing was.
    """
    written: list[dict[str, Any]] = []
    waiting: dict[str, str] = {}  # calls without a result so far: own id to the one that was sent
    for number, one in enumerate(told):
        text, called = one.text, None
        if one.role == "user":
            called = written[-1] if waiting else None
            results = [(waiting.pop(each.id, None), each.text) for each in one.results]
            written += [_result(sent, said) for sent, said in results if sent]
            loose = (said for sent, said in results if not sent)  # of calls not shown any more
            text = "\n\n".join([*loose, *([text] if text else [])])
        _end(written, waiting)
        if called and one.results and written[-1]["role"] == "tool":
            if not text:
                continue
            written.append({"role": "assistant", "content": called.pop("content", SILENCE)})
        message: dict[str, Any] = {"role": one.role}
        if text or not one.calls:
            message["content"] = text
        if one.calls:
            waiting = {call.id: f"call_{number}_{k}" for k, call in enumerate(one.calls)}
            plain = ((call.name, each_text(call.arguments, marks.plain)) for call in one.calls)
            called_as = [
                {"name": name, "arguments": json.dumps(given, ensure_ascii=False)}
                for name, given in plain
            ]
            message["tool_calls"] = [
                {"id": sent, "type": "function", "function": function}
                for sent, function in zip(waiting.values(), called_as, strict=True)
            ]
        written.append(message)
    _end(written, waiting)
    return written


def _end(written: list[dict[str, Any]], waiting: dict[str, str]) -> None:
    """Give calls a result that never got one: they were broken off."""
    written += [_result(sent, NO_RESULT) for sent in waiting.values()]
    waiting.clear()


def _result(sent: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": sent, "content": text}


class Call(Struct):
    """A call, as its pieces came."""

    index: int
    id: str
    name: str
    arguments: str = ""

    @property
    def text(self) -> str:
        """It as an action that is still open."""
        given = "" if self.is_bare else self.arguments
        return f'{{"tool":{json.dumps(self.name)},"arguments":{given}'

    @property
    def is_bare(self) -> bool:
        """Whether its arguments are empty: from some servers they come behind that."""
        return self.arguments.strip() == "{}"

    @property
    def is_whole(self) -> bool:
        """Whether its arguments are JSON from beginning to end."""
        with suppress(ValueError, RecursionError):
            return not structured.is_deep(json.loads(self.arguments, strict=False))
        return False


class Answer(Struct):
    """What the pieces of one answer add up to.

    What `say` is given is handed on as it comes, in the JSON of actions, one after the other though
    their pieces may come mixed.
    """

    thinking: marks.ThinkFilter
    tools: Sequence[Tool] = ()  # what may be called; without them a call's arguments are text
    on_text: OnText | None = None
    stopwatch: Callable[[], float] = time.perf_counter
    since: float = 0.0  # when it was asked for, and how long its first token took
    first: float | None = None
    finish_reason: FinishReason | None = None
    was_filtered: bool = False
    reasoning: str = ""
    usage: Usage = field(default_factory=Usage)
    calls: list[Call] = field(default_factory=list)
    shown: int = 0  # characters of what they say that were handed on

    @property
    def text(self) -> str:
        """What came of it, as it came."""
        return str(whole("".join(one.text for one in self.calls) or self.thinking.text))

    @property
    def unopened(self) -> bool:
        """Whether a thought ended in it that never began: the template begins it."""
        says = (one for call in self.calls for one in SayReader(call.text).filters)
        return any(one.unopened for one in (self.thinking, *says))

    def read(self, pieces: Iterable[Piece], since: float) -> None:
        """Take the pieces as they come, and hand on what they show."""
        self.since = since
        for piece in pieces:
            shown = self.take(piece)
            if piece.is_token and self.first is None:
                self.first = self.stopwatch() - since
            if shown and self.on_text is not None:
                self.on_text(shown)

    def take(self, piece: Piece) -> str:
        """Take the next piece; return what it adds to the visible text."""
        self.usage = piece.usage or self.usage
        self.reasoning += piece.reasoning
        if piece.finish_reason:
            self.finish_reason = "length" if piece.finish_reason.lower() in _LENGTHS else "stop"
            self.was_filtered = piece.finish_reason.lower().startswith(_FILTERS)
        shown = self.thinking.feed(piece.text)
        if not self.tools:
            return shown + "".join(self.thinking.feed(part.arguments) for part in piece.calls)
        for part in piece.calls:
            self._add(part)
        return self._spoken() if self.calls else shown

    def _add(self, part: CallPart) -> None:
        numbered = [one for one in self.calls if one.index == part.index]
        if part.name and (not numbered or self._begins(part, numbered[-1])):
            numbered = [Call(part.index, part.id, named(part.name, self.tools))]
            self.calls += numbered
        for call in (numbered or self.calls)[-1:]:
            call.arguments = ("" if call.is_bare else call.arguments) + part.arguments

    def _begins(self, part: CallPart, call: Call) -> bool:
        """Whether a piece begins another call: some endpoints number all of them alike."""
        is_other = bool(part.id and call.id and part.id != call.id and call.arguments)
        # no JSON goes on so; its own may not be strict
        is_broken = part.arguments.startswith("{") and call.arguments.rstrip().endswith("}")
        is_next = bool(part.arguments) and (call.is_whole or is_broken)
        return is_other or is_next or named(part.name, self.tools) != call.name

    def _spoken(self) -> str:
        """Return what its calls say that was not handed on.

        While a thought is supposed to go on that waits: its words may end it.
        """
        text = '{"actions":['
        says = [one for one in self.calls if one.name == "say" and not self.thinking.is_open]
        for call in says:
            text += ("," if call is not says[0] else "") + call.text
            if call is says[-1] or not call.is_whole:
                break
            text += "}"
        added, self.shown = text[self.shown :], len(text)
        return added

    def _called(self, *, is_whole: bool) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield its calls as they were meant; of one that was cut off, what it says."""
        for call in self.calls:
            given = call.arguments.strip() or "{}"
            is_cut = given.startswith("{") and not given.endswith("}")
            if call.is_whole:
                yield _meant(call.name, json.loads(given, strict=False), self.tools)
            elif is_cut or (call is self.calls[-1] and not is_whole):
                yield from (("say", {"text": one}) for one in SayReader(call.text).texts if one)
            else:  # in a form of its own
                yield _meant(call.name, given, self.tools)

    def completion(self, name: str) -> Completion:
        """End it, hand on what was held back, and sum up; text beside calls was thought."""
        is_whole = self.finish_reason != "length"
        rest, prose = self.thinking.finish(is_whole=is_whole), self.thinking.text
        if self.tools and not self.calls:
            prose, written = written_calls.read(prose, self.tools)
            self.calls = [Call(n, "", *call) for n, call in enumerate(written)]
        if rest and not self.calls and self.on_text is not None:
            self.on_text(rest)
        calls = _numbered(self._called(is_whole=is_whole))
        written_out = [{"tool": one.name, "arguments": one.arguments} for one in calls]
        text = json.dumps({"actions": written_out}, ensure_ascii=False, separators=(",", ":"))
        beside = prose if self.calls else ""
        return Completion(
            text=text if calls else self.text,
            finish_reason=self.finish_reason or "stop",
            model=name,
            reasoning=self.reasoning + self.thinking.reasoning + beside,
            calls=calls,
            beside=beside,
            usage=self.usage,
            first_token_seconds=self.first,
            seconds=self.stopwatch() - self.since,
        )
