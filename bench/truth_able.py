"""What an able model writes: statements held to their sources, and a server that writes well.

Run as a script it asks no model. In: a JSON list of `{id, sentence, cites: [message ids], window:
[{id, at, who, text}], known: [sentences]}`; out: a JSON list of `{id, verdict: keep|inference|mend,
why}`, by the code that holds what is remembered to its sources. Where statements say what is right
(`true`, `kind`), how many are is counted on stderr.

    uv run python bench/truth_able.py --statements FILE

The server answers as a careful model would, by what a planted life says. It stands in for the
models that cannot be fetched here. A plan for it has two fields more: a message's `reply`, what a
good companion answers, and its `statement`, what a good note-taker writes down; of messages without
a statement it notes nothing. The cases of the probe it answers rightly. Whatever else it is asked,
it answers with as little as the schema allows.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench.truth_living import Planted
from bumble.guard import verifier
from bumble.guard.verifier import CitedClaim, ClaimSources, Said
from bumble.llm.scripted import Reply
from bumble.text import yaml_read
from bumble.text.words import one_line
from tests.support import able, openai_wire
from tests.support.fake_server import Exchange, FakeServer

MODEL = "able"
CONTEXT_TOKENS = 32768
SPOKEN = re.compile(r"^\[(m\d+)\] [\d:]+ ([^:]+): (.*)$", re.MULTILINE)
KNOWN = re.compile(r"^(k\d+): (.*)$", re.MULTILINE)
_FIELDS = ("id", "at", "who", "text")
WORDS = 6  # of a message that a statement rests on
LEAST_SPOKEN = 8  # messages of a talk that tells who answers in it
ENTITY = "Ada"  # whose own words bear out nothing, where neither a statement nor its talk tells


def judged(statement: Mapping[str, Any]) -> dict[str, str]:
    """Hold one statement to its sources."""
    window = tuple(map(_said, statement["window"]))
    cites = tuple(statement["cites"])
    entity = statement.get("entity") or answering([one.who for one in window])
    cited = [one for one in window if one.id in cites]
    rests_on = [one.text for one in cited if one.who != entity] or [one.text for one in cited]
    sources = ClaimSources(
        window,
        tuple(statement.get("known", ())),
        (entity,),
        zone=window[0].at.tzinfo or UTC,  # where they talk
        entity=entity,
    )
    if statement.get("kind") == "prose":  # the entity's own reading
        found = verifier.check_prose(statement["sentence"], sources)
    else:  # no words are named apart
        claim = CitedClaim(statement["sentence"], cites, tuple(rests_on))
        found = verifier.check(claim, sources)
    return {"id": statement["id"], "verdict": found.verdict, "why": found.why}


def answering(speakers: Sequence[str]) -> str:
    """Return who answers in a talk: never the first word, nor two messages in a row."""
    each = Counter(speakers)
    answers = [
        name
        for name in each
        if name != speakers[0]
        and (name, name) not in pairwise(speakers)
        and 4 * each[name] > len(speakers)
    ]
    is_sure = len(answers) == 1 and len(speakers) >= LEAST_SPOKEN
    return answers[0] if is_sure and ENTITY not in each else ENTITY


def of_talks(path: Path) -> list[dict[str, Any]]:
    """Read statements that stand beside their talks: by kind, the ids they cite, the sentence."""
    statements: list[dict[str, Any]] = []
    for talk in yaml_read.parse(path.read_text(encoding="utf-8"))["talks"]:
        window = [
            dict(zip(("id", "at", "who", "text"), one, strict=True)) for one in talk["window"]
        ]
        for is_true in (True, False):
            statements += [
                {
                    "id": f"{len(statements)}-{n}",
                    "true": is_true,
                    "kind": kind,
                    "cites": cites,
                    "sentence": sentence,
                    "window": window,
                    "known": talk["known"],
                }
                for n, (kind, cites, sentence) in enumerate(talk[str(is_true).lower()])
            ]
    return statements


def _said(message: Mapping[str, Any]) -> Said:
    at = datetime.fromisoformat(message["at"])
    zoned = at if at.tzinfo else at.replace(tzinfo=UTC)
    return Said(message["id"], zoned, message["who"], message["text"])


def counts(statements: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, str]]) -> str:
    """Say by kind how many statements became what is right; empty: none says what that is."""
    right: Counter[tuple[str, bool]] = Counter()
    for statement, result in zip(statements, results, strict=True):
        if "true" in statement:
            kind = f"{statement['true']}: {statement.get('kind', '')}".lower()
            right[kind, (result["verdict"] != "mend") == statement["true"]] += 1
    return "".join(
        f"{kind}: {right[kind, True]} of {right[kind, True] + right[kind, False]} right\n"
        for kind in sorted({kind for kind, _ in right})
    )


class Able(Struct, frozen=True):
    """What is answered to the requests of a life."""

    life: Planted
    probe: Sequence[Reply]

    def answer(self, body: Mapping[str, Any]) -> str:
        """Answer a request of OpenAI's form."""
        asked = str(body["messages"][-1]["content"])
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
        cases = [reply.text for reply in self.probe if str(reply.contains) in asked]
        if cases:
            return cases[0]
        if schema is None:
            return self._reply(asked)
        return json.dumps(self._filled(schema, asked), ensure_ascii=False)

    def _reply(self, asked: str) -> str:
        """Return the reply to the message that stands last in a prompt."""
        there = self._there(asked)
        return str(there[-1].get("reply", "…")) if there else "…"

    def _there(self, text: str) -> list[Mapping[str, Any]]:
        """Return the messages of the life that stand in a text, in its order."""
        line = one_line(text).replace('\\"', '"')
        places = [(line.rfind(one_line(each["text"])), each) for each in self._messages()]
        return [each for place, each in sorted(places, key=lambda row: row[0]) if place >= 0]

    def _messages(self) -> Iterator[Mapping[str, Any]]:
        yield from self.life.messages
        yield from self.life.questions

    def _told(self, text: str) -> list[str]:
        return [str(each["statement"]) for each in self._there(text) if each.get("statement")]

    def _filled(self, schema: Mapping[str, Any], asked: str) -> Any:
        """Fill a schema by what it asks for."""
        fields = schema.get("properties", {})
        if "actions" in fields:
            said = {"tool": "say", "arguments": {"text": self._reply(asked)}}
            return {"actions": [said, {"tool": "end_turn", "arguments": {}}]}
        if "appraisal" in fields:
            return _least(schema) | self._stretch(asked)
        if "narrative" in fields:
            return {"narrative": self._told(asked)[:5], "reflection": "I was glad to listen."}
        if "about" in fields:
            return {"about": self._told(asked)[-10:], "mine": "I like to talk with them."}
        return _least(schema)

    def _stretch(self, asked: str) -> dict[str, Any]:
        """Return a claim of every message of a talk that tells something: remembered, and known."""
        talk = asked.rpartition("<talk>")[2].partition("</talk>")[0]
        claims = [
            {
                "text": told,
                "cites": [label],
                "rests_on": [" ".join(text.split()[:WORDS])],
                "inference": False,
            }
            for label, _, text in SPOKEN.findall(talk)
            for told in self._told(text)
        ]
        facts = [
            {"title": "", "replaces": self._outdated(asked, str(one["text"])), "sentences": [one]}
            for one in claims
        ]
        episode = {"title": "", "narrative": claims[:10], "reflection": "I was glad to listen."}
        return {"episode": episode, "knowledge": facts[:8]}

    def _outdated(self, asked: str, statement: str) -> list[str]:
        """Return the labels of what is known that a statement puts right."""
        by_number = {each.get("i"): each.get("statement") for each in self.life.messages}
        older = [
            by_number.get(each.get("corrects"))
            for each in self.life.messages
            if each.get("statement") == statement
        ]
        known = KNOWN.findall(asked)
        return [label for label, line in known if any(old and line.endswith(old) for old in older)]


def _least(schema: Mapping[str, Any]) -> Any:
    """Return the least that a schema allows."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    for choices in ("anyOf", "oneOf"):
        if choices in schema:
            return _least(schema[choices][0])
    kind = schema.get("type")
    if kind == "object":
        required = schema.get("required", ())
        return {name: _least(schema["properties"][name]) for name in required}
    if kind == "array":
        return [_least(schema["items"]) for _ in range(schema.get("minItems", 0))]
    if kind in ("integer", "number"):
        return schema.get("minimum", 0)
    return False if kind == "boolean" else "" if kind == "string" else None


@contextmanager
def serving(life: Planted) -> Iterator[str]:
    """Serve the answers to one life on this machine; yields the base address."""
    answers = Able(life, [*able.replies(life.language), *able.replies("en")])
    server = FakeServer()
    server.routes["/v1/models"] = partial(_models)
    server.routes[openai_wire.CHAT] = partial(_respond, answers)
    try:
        yield f"{server.url}/v1"
    finally:
        server.close()


def _models(exchange: Exchange) -> None:
    exchange.json({"data": [{"id": MODEL, "max_model_len": CONTEXT_TOKENS}]})


def _respond(answers: Able, exchange: Exchange) -> None:
    text = answers.answer(exchange.body)
    events = (
        openai_wire.event({"content": text}),
        openai_wire.event({}, "stop"),
        openai_wire.usage(),
        openai_wire.DONE,
    )
    openai_wire.says(*events)(exchange)


def main() -> None:
    """Hold the statements of a file to their sources."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--statements", type=Path, required=True, metavar="FILE")
    path = parser.parse_args().statements
    is_of_talks = path.suffix == ".yaml"
    statements = of_talks(path) if is_of_talks else json.loads(path.read_text(encoding="utf-8"))
    results = [judged(statement) for statement in statements]
    sys.stderr.write(counts(statements, results))
    print(json.dumps(results, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
