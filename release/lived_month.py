"""The lived folders under examples/: `python -m release.lived_month [ada|bea] [--keep FOLDER]`.

`ada` is a month by the real commands: talks, and ticks in the evenings and nights. A server on this
machine stands in for an able model; it answers with what a writer wrote in `lived_month.yaml`.
`bea` lives the same month with smollm2-135m, whose weights must be there. Each
replaces the folder of its name. Run both anew when the format of the folder changes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path
from ruamel.yaml import YAML

from bumble.cli.app import main as main_of_bumble
from bumble.cli.process import Shell
from release.contents import ROOT
from tests.support import mind
from tests.support.fake_server import FakeServer

PLAN = Path(__file__).with_suffix(".yaml")
EXAMPLES = ROOT / "examples"
WEIGHTS = str(user_cache_path("bumble") / "weights")
WRITER = "a-writer"  # what the records say of which model wrote them
SMALLEST = "smollm2-135m"
KNOWN = re.compile(r"^(k\d+): [^:]*: (.*)$", re.MULTILINE)
MEMORY = re.compile(r"^\[(e\d+)\] \S+: # (.*)$", re.MULTILINE)
PORTRAIT = re.compile(r"<portrait-so-far>\n(.*?)\n</portrait-so-far>", re.DOTALL)
LEFT_OUT = (".git", ".bumble", ".history", "memory.db*")


def main() -> int:
    """Live, and put the folder in its place."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=("ada", "bea"), nargs="?", default="ada")
    parser.add_argument("--keep", type=Path, help="leave the whole folder, with its history, here")
    asked = parser.parse_args()
    plan = YAML(typ="safe").load(PLAN.read_text("utf-8"))
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = home  # nothing of the user shows through
        folder = Path(home) / asked.name
        lived = live_written if asked.name == "ada" else live_small
        lived(plan, Path(home), folder)
        place = EXAMPLES / asked.name
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(folder, place, ignore=shutil.ignore_patterns(*LEFT_OUT))
        if asked.keep:
            shutil.copytree(folder, asked.keep, dirs_exist_ok=True)
    files = [path for path in place.rglob("*") if path.is_file()]
    print(f"{place.relative_to(ROOT)}: {len(files)} files")
    return 0


def live_written(plan: Mapping[str, Any], home: Path, folder: Path) -> None:
    """Live the month with what the writer wrote."""
    server = FakeServer()
    dreams, thoughts = iter(plan["dreams"]), cycle(plan["thoughts"])
    says = partial(answer, plan, dreams, thoughts)
    server.routes[mind.CHAT] = partial(mind.respond, says=says)
    environ = {
        "BUMBLE_LLM_BASE_URL": f"{server.url}/v1",
        "BUMBLE_LLM_MODEL": WRITER,
        "BUMBLE_LLM_ABILITIES_TALK": "{any: write}",
        "BUMBLE_LLM_ABILITIES_MEMORY": "{any: write}",
    }
    try:
        bumble = partial(run, home, folder, environ)
        talk(plan, bumble, plan["name"], plan["talks"])
        end = moment(plan["talks"][-1]["at"]) + timedelta(days=1)
        bumble(end, "narrate", "--force")
    finally:
        server.close()


def live_small(plan: Mapping[str, Any], home: Path, folder: Path) -> None:
    """Live the month with the smallest model, which dreams nothing and tells nothing."""
    weights = os.environ.get("BUMBLE_WEIGHTS", WEIGHTS)
    environ = {"BUMBLE_LLM_MODEL": SMALLEST, "BUMBLE_WEIGHTS": weights}
    environ |= {"BUMBLE_EMBEDDING_MODEL": "multilingual-e5-small"}
    bumble = partial(run, home, folder, environ)
    talk({**plan, "nights": ()}, bumble, "Bea", plan["talks"])


def run(
    home: Path, folder: Path, environ: Mapping[str, str], at: datetime | None, *words: str
) -> None:
    """Run a command, at a time; in this process, whose modules are loaded once."""
    command = [*words, "-e", str(folder)] if at else [*words, str(folder)]
    clean = {"PATH": os.environ["PATH"], "HOME": str(home), "BUMBLE_EMBEDDING_MODEL": "none"}
    clean |= {"BUMBLE_LIMITS_SETTLE": "later", **environ}
    shell = Shell(clean, home, home, now_given=at, rng=random.Random(f"{at}{words}"))
    if code := main_of_bumble(command, shell):
        raise SystemExit(f"bumble {' '.join(command)} ended with {code}")


def talk(plan: Mapping[str, Any], bumble: Any, name: str, talks: list[Mapping[str, Any]]) -> None:
    """Have it born, talked with, and left alone in the evenings and nights."""
    new = ("new", "--name", name, "--owner", plan["owner"], "--timezone", plan["timezone"])
    bumble(None, *new)
    for number, one in enumerate(talks, 1):
        at = moment(one["at"])
        speaker = () if one["with"] == plan["owner"] else ("--as", one["with"])
        for turn, (said, *_) in enumerate(one["lines"]):
            new_session = ("--new-session",) if turn == 0 else ()
            bumble(
                at + timedelta(minutes=2 * turn),
                "chat",
                *speaker,
                *new_session,
                said.replace(plan["name"], name),
            )
        bumble(at + timedelta(minutes=40), "tick")
        if number in plan["nights"]:
            night = at.replace(hour=3, minute=10) + timedelta(days=1)
            bumble(night, "dream", "--force")


def moment(text: str) -> datetime:
    """Read a time of the plan, which is that of Lisbon in winter."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def answer(
    plan: Mapping[str, Any],
    dreams: Iterator[Mapping[str, Any]],
    thoughts: Iterator[str],
    body: Any,
) -> str:
    """Answer a request of OpenAI's form with what was written for it, else by rules."""
    prompt = str(body["messages"][-1]["content"])
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema") or {}
    fields = schema.get("properties", {})
    if "asleep and dreaming" in str(body["messages"][0]["content"]):
        dream = next(dreams, None) or plan["dreams"][-1]
        return json.dumps(
            {name: dream[name] for name in ("fragments", "thread", "title")}, ensure_ascii=False
        )
    if "thoughts" in fields:
        places = [name for name in fields if name not in ("names", "thoughts")]
        asked: dict[str, Any] = {name: question(plan, prompt, name) for name in places}
        if places:
            asked["names"] = mind.names(prompt)
        return json.dumps(asked | {"thoughts": [next(thoughts)]}, ensure_ascii=False)
    if "episode" in fields:
        made = next((one for one in plan["talks"] if one["lines"][-1][0] in prompt), None)
        if made is not None:
            return json.dumps(remembered(made, prompt), ensure_ascii=False)
    if {"about", "mine"} <= set(fields):  # a second look leaves a portrait as the talks drew it
        *about, mine = PORTRAIT.findall(prompt)[-1].splitlines()
        return json.dumps({"about": about, "mine": mine}, ensure_ascii=False)
    if "happening" in fields:
        titled = {title: label for label, title in MEMORY.findall(prompt)}
        story = {name: part(plan["story"][name], titled) for name in fields}
        return json.dumps(story, ensure_ascii=False)
    lines = [line for one in plan["talks"] for line in one["lines"] if line[0] in prompt]
    said = max(lines, key=lambda line: prompt.rindex(line[0]), default=None)
    if said is None or (fields and "actions" not in fields):
        return mind.answer(body)
    todo = [] if "set for" in prompt else said[2:]  # it hears what came of it, and then speaks
    does = [{"tool": name, "arguments": given} for each in todo for name, given in each.items()]
    act = {"actions": [*does, {"tool": "say", "arguments": {"text": said[1]}}]}
    return json.dumps(act, ensure_ascii=False) if fields else str(said[1])


def part(written: Mapping[str, Any], titled: Mapping[str, str]) -> dict[str, Any]:
    """Return a part of the story, with the memories that it rests on."""
    used = [label for title, label in titled.items() if title.startswith(tuple(written["of"]))]
    return {"uses": used, "text": written["text"]}


def question(plan: Mapping[str, Any], prompt: str, label: str) -> list[dict[str, Any]]:
    """Return what a topic raises, which its first mention is cited for; often nothing."""
    named = re.search(rf"^{label}: (.+) \((m\d+)[^)]*\)$", prompt, re.M)
    if named is None:
        return []
    texts = plan["questions"].get(named[1].casefold(), [])
    return [{"uses": [named[2]], "question": text} for text in texts]


def remembered(one: Mapping[str, Any], prompt: str) -> dict[str, Any]:
    """Return what a talk came to, in the form that is asked for."""
    labels = {text.strip(): label for label, text in KNOWN.findall(prompt)}
    knowledge = [
        {
            "title": fact["title"],
            "replaces": [labels[text] for text in fact.get("replaces", ()) if text in labels],
            "sentences": [claim(*sentence) for sentence in fact["sentences"]],
        }
        for fact in one["knows"]
    ]
    beliefs = [
        {"category": category, "claim": claim(*rest), "confirms": [], "contradicts": []}
        for category, *rest in one.get("believes", ())
    ]
    return {
        "appraisal": {name: one[name] for name in ("felt", "affects", "imprint", "bars")},
        "episode": {
            "title": one["title"],
            "narrative": [claim(*sentence) for sentence in one["told"]],
            "reflection": one["reflection"].strip(),
        },
        "knowledge": knowledge,
        "beliefs": beliefs,
        "people": [person(each) for each in one["people"]],
        "journal": one["journal"],
    }


def person(each: Mapping[str, Any]) -> dict[str, Any]:
    """Return how somebody is seen."""
    scores = each.get("scores")
    rest = {name: each.get(name) for name in ("dynamic", "topics", "unresolved")}
    return {
        "person": each["person"],
        "portrait": each.get("portrait", "").strip(),
        "scores": {**scores, **rest} if scores else None,
        "note": claim(*each["note"]) if "note" in each else None,
        "replaces": [],
        "was": "",
    }


def claim(number: int, text: str, words: str) -> dict[str, Any]:
    """Return a sentence that rests on words of the person's line of that number."""
    label = f"m{2 * number - 1}"  # the answers stand between them
    return {"text": text, "cites": [label], "rests_on": [words], "inference": False}


if __name__ == "__main__":
    sys.exit(main())
