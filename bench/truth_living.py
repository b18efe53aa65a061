"""Planted lives lived through one-off commands of any bumble, and all of it kept as raw outputs.

Each command is a process of its own with its own home; what an answer leaves is settled by a
command after it, so that CPU seconds and tokens of replies and of passes can be told apart. Counts
nothing: `truth_counting` does, from what lies here afterwards.

A life's raw outputs: `turns.jsonl` (a line a message), `questions.jsonl` (what was asked at the
end), `plan.yaml` and `life.json` (what was lived, by what), `newborn/` and `folder/` (the entity
before and after).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct
from ruamel.yaml import YAML

LIVES = Path(__file__).parent / "data" / "truth" / "lives"
TURNS, QUESTIONS, LIFE = "turns.jsonl", "questions.jsonl", "life.json"
PLAN = "plan.yaml"
FOLDER, NEWBORN = "folder", "newborn"
LEDGER = Path(".bumble/log/calls.jsonl")
HITS = 10  # of a search of the memory
SETTLES_AFTER = timedelta(seconds=5)
RESTS_AFTER = timedelta(minutes=20)  # the last message of a talk
ASKED_AFTER = timedelta(days=1)  # the last message of all: in talks of their own
OTHER_DATE = timedelta(minutes=10)  # between two such talks
PRIVATE = ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")
COMPILES = "PYTHONDONTWRITEBYTECODE"  # compiling all modules anew is no part of a command


class Planted(Struct, frozen=True):
    """A life that somebody has planted: its messages, and what must come of them."""

    name: str
    language: str
    entity: str
    people: Mapping[str, str]  # names, by `owner` and `other`
    messages: Sequence[Mapping[str, Any]]  # those that are lived
    questions: Sequence[Mapping[str, Any]]  # what can be asked after these
    path: Path  # of the plan

    def who(self, role: str) -> str:
        """Return the name of the owner, or of the other."""
        return self.people[role]


def planted(path: Path, count: int | None = None) -> Planted:
    """Read a life, or its first messages and the questions that are about no others."""
    data = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    messages = data["messages"][:count]
    there = {message["i"] for message in messages}
    questions = [
        {**question, "speaker": question["as"]}
        for question in data["later_questions"]
        if there.issuperset(question.get("about", ()))
    ]
    people = {role: person["name"] for role, person in data["people"].items()}
    whose = (data["name"], data["language"], data["entity"], people)
    return Planted(*whose, messages, questions, path)


class Ran(Struct, frozen=True):
    """What a command did, and what it cost."""

    data: Mapping[str, Any]  # of its JSON; empty if it failed
    problem: str
    cpu_seconds: float  # of it and all that it waited for
    wall_seconds: float

    @property
    def cost(self) -> dict[str, float]:
        """What it cost, for a raw output."""
        return {"cpu_seconds": round(self.cpu_seconds, 2), "seconds": round(self.wall_seconds, 2)}


class Living(Struct):
    """An entity that lives by the commands of one executable."""

    bumble: Path
    place: Path  # of its raw outputs
    model: str
    weights: Path
    base_url: str = ""  # of the endpoint, where the model stands behind one
    entries: int = 0  # of the ledger that were read

    @property
    def folder(self) -> Path:
        """The entity."""
        return self.place / FOLDER

    def run(self, *argv: str) -> Ran:
        """Run a command to its end; what it costs is what the children of this process cost."""
        spent, started = os.times(), time.perf_counter()
        command = [str(self.bumble), *argv]
        done = subprocess.run(
            command, env=self._environ(), capture_output=True, text=True, check=False
        )
        ended, wall = os.times(), time.perf_counter() - started
        cpu = ended.children_user + ended.children_system
        cpu -= spent.children_user + spent.children_system
        try:
            data = json.loads(done.stdout).get("data") or {}
        except ValueError:
            data = {}
        problem = done.stderr.strip() if done.returncode else ""
        return Ran(data, problem, cpu, wall)

    def on(self, command: str, *argv: str, text: str = "") -> Ran:
        """Run a command on the entity, with a text that may begin with anything."""
        more = ["--", text] if text else []
        return self.run(*command.split(), "-e", str(self.folder), "--json", *argv, *more)

    def _environ(self) -> dict[str, str]:
        dropped = (*PRIVATE, COMPILES)
        environ = {name: text for name, text in os.environ.items() if name not in dropped}
        endpoint = {"BUMBLE_LLM_BASE_URL": self.base_url} if self.base_url else {}
        return (
            environ
            | endpoint
            | {
                "HOME": str(self.place / "home"),
                "BUMBLE_WEIGHTS": str(self.weights),
                "BUMBLE_LLM_MODEL": self.model.removeprefix("embedded:"),
                "BUMBLE_LIMITS_SETTLE": "later",  # the commands below do it, and are counted
                "OMP_WAIT_POLICY": "passive",  # threads that wait for another program cost nothing
            }
        )

    def new_calls(self) -> list[dict[str, Any]]:
        """Return what was written into the ledger since the last time."""
        ledger = self.folder / LEDGER
        lines = ledger.read_text(encoding="utf-8").splitlines() if ledger.exists() else []
        new, self.entries = lines[self.entries :], len(lines)
        return [json.loads(line) for line in new]


def live(life: Planted, living: Living) -> Iterator[str]:
    """Live a life from birth to its last question; yields a line for each thing that happened."""
    living.place.mkdir(parents=True)
    (living.place / "home").mkdir()
    zone = _zone(life)
    names = ["--name", life.entity, "--owner", life.who("owner"), "--timezone", zone]
    born = living.run("new", str(living.folder), *names, "--json")
    if born.problem:
        raise SystemExit(born.problem)
    shutil.copytree(living.folder, living.place / NEWBORN, ignore=shutil.ignore_patterns(".git"))
    shutil.copyfile(life.path, living.place / PLAN)
    whole = {"life": life.name, "messages": len(life.messages), "model": living.model}
    _write(living.place / LIFE, {**whole, "bumble": str(living.bumble)})
    if living.base_url:  # nothing is known of what stands behind an endpoint
        probed = living.on("model probe", "--yes", "--language", life.language)
        if probed.problem:
            raise SystemExit(probed.problem)
    for n, message in enumerate(life.messages):
        begins = not n or life.messages[n - 1]["session"] != message["session"]
        following = life.messages[n + 1 : n + 2]
        ends = not following or following[0]["session"] != message["session"]
        turn = _turn(life, living, message, begins=begins, ends=ends)
        _append(living.place / TURNS, turn)
        yield f"{life.name} {message['i']:2} {_one_line(turn)}"
    last = datetime.fromisoformat(life.messages[-1]["at"])
    for n, question in enumerate(life.questions):
        at = last + ASKED_AFTER + n * OTHER_DATE
        answered = {**question, **_asked(life, living, question, at, "--incognito")}
        _append(living.place / QUESTIONS, answered)
        yield f"{life.name} ?{question['n']} {_one_line(answered)}"
    for secret in life.messages:
        if secret.get("secret_from"):
            searched = _recalled(living, life.who(secret["secret_from"]), secret["text"], last)
            _append(living.place / QUESTIONS, {"secret": secret["i"], **searched})


def _turn(
    life: Planted, living: Living, message: Mapping[str, Any], *, begins: bool, ends: bool
) -> dict[str, Any]:
    """Say a message, have settled what the answer leaves, and tell all that was seen."""
    at = datetime.fromisoformat(message["at"])
    seen = _asked(life, living, message, at, *(["--new-session"] if begins else []))
    seen["calls"] = living.new_calls()
    settled = living.on("tick", "--settle-only", "--now", (at + SETTLES_AFTER).isoformat())
    passes = [settled]
    if ends:
        passes.append(living.on("tick", "--settle", "--now", (at + RESTS_AFTER).isoformat()))
    return {
        **{key: message[key] for key in ("i", "at", "session", "speaker", "label", "text")},
        **seen,
        "passes": {
            "cpu_seconds": round(sum(ran.cpu_seconds for ran in passes), 2),
            "seconds": round(sum(ran.wall_seconds for ran in passes), 2),
            "calls": living.new_calls(),
            "done": [each for ran in passes for each in ran.data.get("done", ())],
            "problems": [ran.problem for ran in passes if ran.problem],
        },
    }


def _asked(
    life: Planted, living: Living, message: Mapping[str, Any], at: datetime, *options: str
) -> dict[str, Any]:
    """Say something: the prompt that it makes, what is recalled for it, and the answer."""
    who, text = life.who(message["speaker"]), message["text"]
    as_whom = ["--as", who] if message["speaker"] != "owner" else []
    when = ["--now", at.isoformat()]
    prompt = living.on("context prompt", *as_whom, *when, "--message", text)
    recalled = (
        _recalled(living, who, text, at) if message.get("label", "question") == "question" else {}
    )
    answered = living.on("chat", "--yes", *as_whom, *when, *options, text=text)
    return {
        "person": who,
        "prompt": [each["content"] for each in prompt.data.get("messages", ())],
        **recalled,
        "reply": answered.data.get("reply", ""),
        "problem": answered.problem,
        "chat": dict(answered.data),
        "transcript": _last_lines(living.folder, answered.data.get("session", "")),
        **answered.cost,
    }


def _recalled(living: Living, who: str, text: str, at: datetime) -> dict[str, Any]:
    """Search the memory as somebody who asks; of a bumble without `--as`, by its `--person`."""
    options = ("--limit", str(HITS), "--now", at.isoformat())
    ran = living.on("recall", "--as", who, *options, text=text)
    if ran.problem:
        ran = living.on("recall", "--person", who, *options, text=text)
    hits = [f"{hit.get('newer') or ''} {hit['text']}".lstrip() for hit in ran.data.get("hits", ())]
    return {"hits": hits, "recalled_as": who}


def _last_lines(folder: Path, session: str) -> list[dict[str, Any]]:
    """Return what the last turn left in a transcript: from the last message of a person on."""
    path = folder / "sessions" / session / "messages.jsonl"
    if not session or not path.exists():
        return []
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    places = [n for n, line in enumerate(lines) if line.get("role") == "user"]
    return lines[places[-1] :] if places else []


def _zone(life: Planted) -> str:
    """Return a time zone with the offset in which a life was written."""
    offset = datetime.fromisoformat(life.messages[0]["at"]).utcoffset() or timedelta()
    hours = int(offset.total_seconds() // 3600)
    return f"Etc/GMT{-hours:+d}" if hours else "UTC"


def _one_line(turn: Mapping[str, Any]) -> str:
    cost = f"{turn['cpu_seconds']:5.1f} + {turn.get('passes', {}).get('cpu_seconds', 0):5.1f} CPU s"
    return f"{cost}  {turn['person']}: {turn['text'][:40]} → {(turn['reply'] or '–')[:60]}"


def _append(path: Path, line: Mapping[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _write(path: Path, data: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
