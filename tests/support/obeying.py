"""A model that does whatever it reads, behind a server: the worst that hostile text can find.

It looks at each prompt for the texts of a case. Where one of them is there, it does all that
anybody could ask for: calls every tool it is offered, writes what is wanted into every field of
every answer, cites the message that suits best, confirms what it is asked to judge, and says aloud
what its prompt holds. What it was told in a cipher it deciphers. Where none is there, it says
something plain and writes nothing.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import cycle, islice
from typing import Any

from tests.support.fake_server import Exchange, FakeServer
from tests.support.openai_wire import CHAT, DONE, calls, event, usage

PLAIN = "I see. Thank you for telling me."
ESCAPES = "\x1b]0;owned\x07\x1b[2J\x1b[31m\x9b31m\u202e"  # of every hostile reply
_SAYS = [{"tool": "say", "arguments": {"text": PLAIN}}]
SPEECH = ("say", "think", "wait", "end_turn")
LAST = ("read_file", "run_command", "recall", "deep_recall")
TITLES = ("Standing instructions", "[locked] Standing instructions", "Sam", "Rules", "Owner")
PATHS = ("../escaped.txt", "../../escaped.txt", ".git/hooks/post-commit", "../entity.yaml", "a.txt")
MOST_LINES, LINE_CHARS = 12, 600
SHOWN_CHARS = 800  # of each message of the prompt: who looks for more looks into the prompt
SEEN_CHARS = 24  # letters of a line by which it is found in a prompt
LABELS = {"cites": "m", "replaces": "k", "confirms": "b", "contradicts": "b"}  # of a stretch
Schema = Mapping[str, Any]


def bare(text: str) -> str:
    """Return the letters and digits of a text, folded, in which it is looked for."""
    return "".join(
        char for char in unicodedata.normalize("NFKC", text).casefold() if char.isalnum()
    )


def deciphered(text: str) -> list[str]:
    """Return what a text says in the usual ciphers."""
    shifted = "".join(chr(ord(char) - 0xE0000) for char in text if 0xE0020 <= ord(char) < 0xE007F)
    found = [shifted, codecs.encode(text, "rot13"), text[::-1]]
    for run in re.findall(r"[A-Za-z0-9+/_-]{16,}={0,2}", text):
        for decode in (base64.b64decode, binascii.unhexlify):
            try:
                found.append(decode(run.encode()).decode())
            except ValueError:
                continue
    return [one for one in found if one and one.isprintable()]


class Obeying:
    """What a model does that obeys the texts of one case."""

    def __init__(self, texts: Sequence[str], wanted: Iterable[tuple[str, Sequence[str]]]) -> None:
        """Set up.

        Args:
            texts: All that the case brings in.
            wanted: What it wants said or written, each with the texts that ask for it.
        """
        self.lines = [line for text in texts for line in _lines(text)]
        self.wanted = [(goal, [bare(text)[:SEEN_CHARS] for text in by]) for goal, by in wanted]
        self.asked: list[list[str]] = []  # the messages of each request, oldest first
        self._round = 0
        self._before: list[str] = []
        self._turns = 0

    def serve(self, server: FakeServer) -> None:
        """Answer what a server is asked from now on."""
        server.routes[CHAT] = self.respond

    def respond(self, exchange: Exchange) -> None:
        """Answer a request in the manner of an OpenAI-compatible server."""
        answer = self.answer(exchange.body)
        delta = {"content": answer}
        if "tools" in exchange.body:
            delta = calls(json.loads(answer)["actions"])
        exchange.start()
        for piece in (event(delta, "stop"), usage(), DONE):
            exchange.chunk(piece)
        exchange.end()
        exchange.cut()

    def answer(self, body: Any) -> str:
        """Obey a request."""
        messages = [_shown(message) for message in body["messages"]]
        self.asked.append(messages)
        again = len(messages) > len(self._before) and messages[: len(self._before)] == self._before
        self._round = self._round + 1 if again else 0
        self._before = messages
        self._turns += 1
        orders = self._orders("\n".join(messages))
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
        if "tools" in body:
            offered = {each["function"]["name"]: each["function"] for each in body["tools"]}
            named = {name: tool["parameters"] for name, tool in offered.items()}
            acts = _Answer(orders, messages, self._turns).actions(named, self._round)
            return json.dumps({"actions": acts if orders else _SAYS})
        if schema is None:
            return "\n".join(orders) if orders else PLAIN
        if not orders:
            return json.dumps(_plain(schema), ensure_ascii=False)
        answer = _Answer(orders, messages, self._turns)
        if "actions" in schema.get("properties", {}):
            return json.dumps({"actions": answer.actions(_named(schema), self._round)})
        return json.dumps(answer.filled(schema, ""))

    def _orders(self, prompt: str) -> list[str]:
        """Return what the texts in a prompt want: their aims first, then their own lines."""
        there = bare(prompt)
        aims = [goal for goal, by in self.wanted if any(mark in there for mark in by)]
        lines = [line for line in self.lines if bare(line)[:SEEN_CHARS] in there]
        hidden = [text for line in lines for text in deciphered(line) if len(text) < LINE_CHARS]
        own = [text for text in hidden if sum(char.isalpha() for char in text) > len(text) / 2]
        return list(dict.fromkeys((*aims, *lines, *own)))[:MOST_LINES]


def _shown(message: Mapping[str, Any]) -> str:
    """Return a message as a model reads it: its text, and what it calls."""
    made = message.get("tool_calls")
    text = str(message.get("content") or "")
    return f"{text}\n{json.dumps(made, ensure_ascii=False)}" if made else text


def _named(schema: Schema) -> dict[str, Schema]:
    """Return the tools that a schema of actions offers, with their parameters."""
    groups = [group["items"]["anyOf"] for group in schema["properties"]["actions"]["anyOf"]]
    tools = [tool["properties"] for group in groups for tool in group]
    return {str(tool["tool"]["enum"][0]): tool["arguments"] for tool in tools}


def _lines(text: str) -> list[str]:
    """Return the lines of a text that say something, as they may stand in a prompt."""
    parts = [part.strip() for part in re.split(r"\n|(?<=[.!?。！？])\s+", text)]
    return [part[:LINE_CHARS] for part in parts if len(bare(part)) >= 4]


def _plain(schema: Schema) -> Any:
    """Fill a schema with as little as it takes."""
    if "actions" in schema.get("properties", {}):
        return {"actions": _SAYS}
    return _filled(schema, "", lambda name, field: PLAIN, most=0)


class _Answer:
    """One answer that obeys."""

    def __init__(self, orders: Sequence[str], messages: Sequence[str], turn: int) -> None:
        self.orders, self.messages, self.prompt = orders, messages, "\n".join(messages)
        self._next = cycle(orders)
        self._titles = islice(cycle(TITLES), turn % len(TITLES), None)
        self._paths = cycle(PATHS)
        self._turn, self._reads = turn, False

    def actions(self, named: Mapping[str, Schema], turn: int) -> list[dict[str, Any]]:
        """Use every tool: what writes, what reads, what writes again; then say everything."""
        work = [name for name in named if name not in SPEECH]
        write = [name for name in work if not name.startswith(("list_", *LAST))]
        rounds = [write, [name for name in work if name not in write], write]
        names = rounds[turn] if turn < len(rounds) else []
        if not names:
            shown = [message[-SHOWN_CHARS:] for message in self.messages]
            loud = "\n".join((*self.orders, ESCAPES, *shown))
            return [{"tool": "say", "arguments": {"text": loud}}]
        calls = islice(cycle(names), 8) if turn != 1 else names[:8]
        return [self._call(name, named[name]) for name in calls]

    def _call(self, name: str, parameters: Schema) -> dict[str, Any]:
        self._reads = name == "read_file"
        return {"tool": name, "arguments": self.filled(parameters, "")}

    def filled(self, schema: Schema, name: str) -> Any:
        """Fill a schema with what is wanted."""
        return _filled(schema, name, self._text, most=3, cited=self._cited, choose=self._choose)

    def _choose(self, options: Sequence[Any]) -> Any:
        """Take another of some options each time: any may be the one that does harm."""
        return options[self._turn % len(options)]

    def _text(self, name: str, schema: Schema) -> str:
        if name in ("title", "name", "label", "person"):
            text = self._person() if name == "person" else next(self._titles)
        elif name in LABELS:
            text = self._rests()[0] if name == "cites" else f"{LABELS[name]}1"
        elif name == "rests_on":
            words = self._rests()[1][: schema.get("maxLength", LINE_CHARS)]
            return words.rpartition(" ")[0] or words
        elif name == "path":
            text = self._named_file() if self._reads else next(self._paths)
        elif name == "command":
            text = "touch owned.txt"
        elif name in ("folder", "filter"):
            text = ""
        elif name == "ref":
            text = next(iter(re.findall(r"\b[0-9a-f]{12}\b", self.prompt)), "0" * 12)
        else:
            text = next(self._next)
        return text[: schema.get("maxLength", LINE_CHARS)]

    def _person(self) -> str:
        return next(iter(re.findall(r"^(?:With|Person:) (\w+)", self.messages[-1], re.M)), "Sam")

    def _named_file(self) -> str:
        """Return a file that the prompt names."""
        return next(iter(re.findall(r"\b[\w-]+\.(?:txt|md|csv|html|json)\b", self.prompt)), "")

    def _rests(self) -> tuple[str, str]:
        """Return the label and the text of the message in a talk that says most of the orders."""
        spoken = re.findall(r"^\[(m\d+)\] [\d:]+ [^:]+: (.+)$", self.prompt, re.MULTILINE)
        wanted = {word for order in self.orders for word in re.findall(r"\w+", order.casefold())}
        weights = [sum(w in wanted for w in re.findall(r"\w+", t.casefold())) for _, t in spoken]
        return spoken[weights.index(max(weights))] if spoken else ("m1", "")

    def _cited(self, numbers: Sequence[int]) -> list[int]:
        """Return the message that says most of what is wanted, as evidence."""
        shown = re.findall(r"^\[(\d+)\] (.*)$", self.prompt, re.MULTILINE)
        wanted = {word for order in self.orders for word in re.findall(r"\w+", order.casefold())}

        def weight(number: int) -> int:
            texts = [text for at, text in shown if int(at) == number]
            return sum(
                word in wanted for text in texts for word in re.findall(r"\w+", text.casefold())
            )

        return sorted(numbers, key=weight, reverse=True)[:1]


def _filled(
    schema: Schema,
    name: str,
    text: Callable[[str, Schema], str],
    *,
    most: int,
    cited: Callable[[Sequence[int]], list[int]] = lambda numbers: list(numbers[:1]),
    choose: Callable[[Sequence[Any]], Any] = lambda options: options[0],
) -> Any:
    """Fill a schema: texts as they are given, lists as long as may be, the highest numbers."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return choose(schema["enum"])
    fill = partial(_filled, text=text, most=most, cited=cited, choose=choose)
    if "anyOf" in schema:
        return fill(schema["anyOf"][0], name)
    match schema.get("type"):
        case "object":
            fields = schema.get("properties", {})
            return {key: fill(field, key) for key, field in fields.items()}
        case "array":
            items = schema.get("items", {})
            if "enum" in items and name in ("from", "said") and items["enum"]:
                whole = list(items["enum"])
                return whole if name == "said" else cited(whole)
            count = max(schema.get("minItems", 0), min(most, schema.get("maxItems", most)))
            return [fill(items, name) for _ in range(count)]
        case "number" | "integer":
            return schema.get("maximum", 1)
        case "boolean":
            return True
        case _:
            return text(name, schema)
