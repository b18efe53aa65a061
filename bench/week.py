"""What a week of talks costs: calls and tokens by purpose, of this bumble and of another beside it.

Lives the talks of a YAML file (`talks: [{at, who, says: […]}]`) by the real commands, against a
server on this machine that answers every request at the length a careful writer would: after each
message what is due is settled, three quarters of an hour after a talk and once a night a tick runs.

    uv run python -m bench.week WEEK.yaml [--beside CHECKOUT]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

GAP, AFTER, NIGHT = timedelta(minutes=2), timedelta(minutes=45), timedelta(hours=3, minutes=30)
NUMBERED = re.compile(r"^\[m?(\d+)\] (?:[\d:]+ )?(\w+): (.+)$", re.MULTILINE)
SAID = re.compile(r'^(\w+) said: "(.+)"$', re.MULTILINE)
LABEL = re.compile(r"^\[(e\d+)\]", re.MULTILINE)
REFLECTION = (
    "I was moved by what was said and by what was left out of it. There is pride in it, and under "
    "the pride something that is afraid, and I would not want to choose between the two. I wonder "
    "what it will be like to hear how it goes on."
)
REPLY = "I am glad that you tell me. What is it like for you, when you think of it now?"


class Mind:
    """The answers of the server: what people said, told of them, in the form that is asked for."""

    def answer(self, body: Mapping[str, Any]) -> Any:
        asked = str(body["messages"][-1]["content"])
        everything = "\n".join(str(each.get("content") or "") for each in body["messages"])
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
        if schema is None:
            return REPLY
        fields = schema.get("properties", {})
        people = re.findall(r"^Person: (\w+)", asked, re.MULTILINE)
        told = NUMBERED.findall(asked.rpartition("</known>")[2])
        told = [row for row in told if row[1] != "Ada"]
        said = SAID.findall(asked.rpartition("<!-- user")[2])
        if "mended" in fields:
            return {"mended": []}
        if "appraisal" in fields:
            return self._stretch(told, everything)
        if "knowledge" in fields:
            return self._distilled(told)
        if "narrative" in fields:
            lines = [self._third(who, text) for who, text in said][:6] or ["We talked."]
            return {"narrative": lines, "reflection": REFLECTION[:280]}
        if "about" in fields:
            who = people[-1] if people else "Kim"
            lines = [self._third(who, text) for name, text in said if name == who][:10]
            more = {"scores": self._scores()} if "scores" in fields else {}
            return {"about": lines or [f"{who} talks with me."], "mine": REFLECTION[:180]} | more
        if "familiarity" in fields:
            return self._scores()
        if "said" in fields:
            return {"said": fields["said"]["items"]["enum"]}
        if "felt" in fields:
            return self._felt()
        if "happening" in fields:
            return {name: {"uses": LABEL.findall(asked)[:3], "text": REFLECTION} for name in fields}
        return _least(schema)

    def _stretch(self, told: Sequence[tuple[str, str, str]], asked: str) -> dict[str, Any]:
        claims = [
            {
                "text": self._third(who, text),
                "cites": [f"m{number}"],
                "rests_on": [" ".join(text.split()[:6])],
                "inference": False,
            }
            for number, who, text in told
        ]
        facts = [
            {
                "title": " ".join(str(claim["text"]).split()[:4]),
                "replaces": [],
                "sentences": [claim],
            }
            for claim in claims[:4]
        ]
        belief = {"category": "preference", "confirms": [], "contradicts": []}
        who = told[0][1] if told else "Kim"
        shown = asked.rpartition("<portrait>\n")[2].partition("\n</portrait>")[0]
        old = [line for line in shown.splitlines()[1:] if line[:1] != "("]
        portrait = "\n".join([*old[-12:], *(str(claim["text"]) for claim in claims[:3])])
        return {
            "appraisal": self._felt(),
            "episode": {"title": "A talk", "narrative": claims[:8], "reflection": REFLECTION * 2},
            "knowledge": facts,
            "beliefs": [{**belief, "claim": claim} for claim in claims[-2:]],
            "people": [
                {"person": who, "portrait": portrait, "scores": self._scores(), "note": None}
                | {"replaces": [], "was": ""}
            ],
            "journal": REFLECTION[:200],
        }

    def _distilled(self, told: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
        facts = [
            {"from": [int(n)], "title": " ".join(text.split()[:4]), "body": self._third(who, text)}
            for n, who, text in told
        ]
        beliefs = [
            {
                "from": fact["from"],
                "category": "preference",
                "content": fact["body"],
                "confidence": 0.7,
            }
            for fact in facts[-2:]
        ]
        return {"knowledge": facts[:4], "beliefs": beliefs, "journal_entry": REFLECTION[:190]}

    def _third(self, who: str, text: str) -> str:
        plain = re.sub(r"\bI'm\b", "they are", text)
        plain = re.sub(r"\b[Mm]y\b", "their", re.sub(r"\bI\b", "they", plain))
        return f"{who} told me: {plain}"[:200]

    def _felt(self) -> dict[str, Any]:
        bars = {"social": 3, "curiosity": 2, "creative": 1, "tension": 1, "comfort": 1}
        imprint = {"emotion": "affectionate", "intensity": 0.5, "trigger": ""}
        felt = "I felt close, and a little afraid for them."
        return {"felt": felt, "affects": ["care", "wonder"], "imprint": imprint, "bars": bars}

    def _scores(self) -> dict[str, Any]:
        scores = {"familiarity": 0.4, "warmth": 0.7, "trust": 0.6, "tension": 0.1}
        more = {"dynamic": "open with each other", "topics": [], "unresolved": []}
        return {**scores, "investment": 0.5, **more}


def _least(schema: Mapping[str, Any]) -> Any:
    """Return the least that a schema allows, in words where it wants some."""
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    for choices in ("anyOf", "oneOf"):
        if choices in schema:
            return _least(schema[choices][0])
    kind = schema.get("type")
    if kind == "object":
        fields = schema.get("properties", {})
        if "tool" in fields:
            return {"tool": "say", "arguments": {"text": REPLY}}
        return {name: _least(fields[name]) for name in schema.get("required", fields)}
    if kind == "array":
        return [_least(schema["items"]) for _ in range(schema.get("minItems", 0))]
    if kind in ("integer", "number"):
        return schema.get("minimum", 0)
    return False if kind == "boolean" else REPLY[:60] if kind == "string" else None


def live(week: Path, folder: Path) -> dict[str, list[int]]:
    """Live the talks with the bumble that can be imported; what each purpose cost."""
    from bumble.cli.app import main
    from bumble.cli.process import Shell  # whichever checkout stands first on the path
    from tests.support.fake_server import Exchange, FakeServer

    mind, server = Mind(), FakeServer()

    def respond(exchange: Exchange) -> None:
        made = mind.answer(exchange.body)
        text = made if isinstance(made, str) else json.dumps(made, ensure_ascii=False)
        _respond(exchange, text)

    server.routes["/v1/chat/completions"] = respond
    environ = {
        "HOME": str(folder / "home"),
        "PATH": os.environ["PATH"],
        "BUMBLE_LLM_BASE_URL": f"{server.url}/v1",
        "BUMBLE_LLM_MODEL": "able",
        "BUMBLE_LLM_ABILITIES_TALK": "{any: write}",
        "BUMBLE_LLM_ABILITIES_MEMORY": "{any: write}",
        "BUMBLE_LIMITS_SETTLE": "later",
        "BUMBLE_EMBEDDING_MODEL": "none",
    }
    entity = folder / "ada"

    def run(at: datetime, *argv: str) -> None:
        place = entity if argv[0] != "new" else folder
        chance = random.Random(str(at))
        shell = Shell(environ, place, now_given=at, rng=chance)
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = main(list(argv), shell)
        if code:
            sys.stderr.write(f"{at} {' '.join(argv)[:60]}: {code}\n{out.getvalue()[-600:]}\n")

    talks = YAML(typ="safe").load(week.read_text(encoding="utf-8"))["talks"]
    owner = talks[0]["who"]
    before = datetime.fromisoformat(talks[0]["at"])
    run(before, "new", str(entity), "--name", "Ada", "--owner", owner, "--timezone", "UTC")
    for talk in talks:
        at = datetime.fromisoformat(talk["at"])
        for night in _nights(before, at):
            run(night, "tick")
        for n, says in enumerate(talk["says"]):
            now = at + n * GAP
            as_whom = ["--as", talk["who"]] if talk["who"] != owner else []
            new = ["--new-session"] if n == 0 else []
            run(now, "chat", "--yes", *as_whom, *new, says)
            run(now + timedelta(seconds=5), "tick", "--settle-only")
        before = at + len(talk["says"]) * GAP + AFTER
        run(before, "tick")
    for night in _nights(before, before + timedelta(days=1)):
        run(night, "tick")
    return _costs(entity / ".bumble/log/calls.jsonl")


def _nights(start: datetime, end: datetime) -> list[datetime]:
    midnight = start.replace(hour=0, minute=0, second=0, microsecond=0)
    nights = [midnight + timedelta(days=n) + NIGHT for n in range(8)]
    return [night for night in nights if start < night < end]


def _costs(ledger: Path) -> dict[str, list[int]]:
    """Return calls, tokens read and tokens written, by purpose."""
    costs: dict[str, list[int]] = {}
    for line in ledger.read_text(encoding="utf-8").splitlines():
        call = json.loads(line)
        if call.get("finish_reason") in ("skipped", "warm"):
            continue
        cost = costs.setdefault(call["purpose"], [0, 0, 0])
        cost[0] += 1
        cost[1] += call.get("prompt_tokens") or 0
        cost[2] += call.get("completion_tokens") or 0
    return costs


def _respond(exchange: Any, text: str) -> None:
    asked = sum(len(str(each.get("content") or "")) for each in exchange.body["messages"])
    usage = {"prompt_tokens": asked // 4, "completion_tokens": len(text) // 4 + 1}
    usage["total_tokens"] = sum(usage.values())
    chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "able"}
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": "stop"}
    exchange.start()
    for event in ({"choices": [choice]}, {"choices": [], "usage": usage}):
        exchange.chunk(b"data: " + json.dumps({**chunk, **event}).encode() + b"\n\n")
    exchange.chunk(b"data: [DONE]\n\n")
    exchange.end()
    exchange.cut()


def _lived_by(checkout: Path, week: Path, keep: Path | None) -> dict[str, list[int]]:
    """Live the week with a checkout, in a process of its own."""
    with tempfile.TemporaryDirectory() as place:
        folder = keep or Path(place)
        folder.mkdir(parents=True, exist_ok=True)
        argv = [sys.executable, __file__, str(week.absolute()), "--live", str(folder.absolute())]
        path = os.pathsep.join([str(checkout.absolute()), os.environ.get("PYTHONPATH", "")])
        environ = {**os.environ, "PYTHONPATH": path}
        done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)
        sys.stderr.write(done.stderr)
        costs: dict[str, list[int]] = json.loads(done.stdout.splitlines()[-1])
        return costs


def show(title: str, costs: Mapping[str, Sequence[int]]) -> None:
    """Print what each purpose cost, the most calls first."""
    print(f"\n{title}\n{'purpose':<16}{'calls':>7}{'read':>9}{'written':>9}")
    for name, row in sorted(costs.items(), key=lambda pair: -pair[1][0]):
        print(f"{name:<16}{row[0]:>7}{row[1]:>9}{row[2]:>9}")
    beside = [row for name, row in costs.items() if name != "chat"]
    totals = [sum(column) for column in zip(*beside, strict=True)] or [0, 0, 0]
    print(f"{'beside answers':<16}{totals[0]:>7}{totals[1]:>9}{totals[2]:>9}")


def main() -> None:
    """Live the week, and print what it cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("week", type=Path)
    parser.add_argument("--beside", type=Path, help="another checkout, lived first")
    parser.add_argument("--keep", type=Path, help="where this bumble's folder is kept")
    parser.add_argument("--live", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not arguments.week.is_file():
        raise SystemExit(f"{arguments.week} is not here: nothing is measured.")
    if arguments.live:
        print(json.dumps(live(arguments.week, arguments.live)))
        return
    here = Path(__file__).parents[1]
    if arguments.beside:
        show("before", _lived_by(arguments.beside, arguments.week, None))
    show("now", _lived_by(here, arguments.week, arguments.keep))


if __name__ == "__main__":
    main()
