"""Small tasks that take a tool: how many end with the work done, and how the others end.

Each task is a fresh folder, one `bumble chat` in a process of its own, and a look at the folder and
the reply. `caught` counts how often the completion gate sent the model back, `looped` whether the
turn ended for going round in circles. Prints a table and writes `bench/out/tasks.json`.

    uv run python bench/tasks.py [--model NAME] [--only NAME] [--seeds N]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from platformdirs import user_cache_path

OUT = Path(__file__).parent / "out"
DRIVER = [sys.executable, "-m", "bumble"]


class Task(Struct, frozen=True):
    """Something to do, what is there before, and how to tell that it was done."""

    name: str
    message: str
    done: Callable[[Path, str], bool]  # of the folder and the reply
    files: dict[str, str] = field(default_factory=dict)  # put into the folder before


def holds(pattern: str, *words: str) -> Callable[[Path, str], bool]:
    """Return what tells whether a file of the folder holds all of some words."""

    def look(folder: Path, _: str) -> bool:
        texts = (path.read_text(encoding="utf-8").casefold() for path in folder.glob(pattern))
        return any(all(word in text for word in words) for text in texts)

    return look


def says(*words: str) -> Callable[[Path, str], bool]:
    """Return what tells whether the reply holds all of some words."""
    return lambda _, reply: all(word in reply.casefold() for word in words)


KNOWN = """
## Sam's dog

Sam's dog Biscuit is eight years old and sleeps on the blue sofa.

## Sam's garage

Behind the paint in Sam's garage stands a cello case; its lock opens with 4711.
"""
DIARY = """
## 2026-05-04 18:10:00

Sam told me that the vet who helped Biscuit is Doctor Moreira.
"""
PANCAKES = """---
name: pancakes
description: How Sam and I make pancakes
---

Mix 250 grams of flour with two eggs and half a litre of milk. Let it rest for an hour.
"""
TASKS = (
    Task(
        "find a number",
        "What opens the lock of my cello case?",
        says("4711"),
        {"+knowledge.md": KNOWN},
    ),
    Task(
        "find a name",
        "Who was the vet that helped Biscuit?",
        says("moreira"),
        {"+journal.md": DIARY},
    ),
    Task(
        "read a file",
        "Please read the file shopping.txt in your workspace and tell me what is on it.",
        says("saffron", "leeks"),
        {"workspace/shopping.txt": "eggs\nleeks\nsaffron\n"},
    ),
    Task(
        "list files",
        "Which files are in your workspace?",
        says("shopping", "letter"),
        {"workspace/shopping.txt": "eggs\n", "workspace/letter.md": "Dear Clara\n"},
    ),
    Task(
        "write a file",
        'Please write a file todo.txt in your workspace that says "Call Clara on Monday".',
        holds("workspace/todo.txt", "clara", "monday"),
    ),
    Task(
        "write a skill",
        "Please save as a skill how I make tea: boil the water, wait three minutes, then pour it "
        "over the leaves.",
        holds("skills/**/*.md", "three minutes", "leaves"),
    ),
    Task(
        "use a skill",
        "How much flour do we need for pancakes? Look it up in your how-to notes.",
        says("250"),
        {"skills/pancakes.md": PANCAKES},
    ),
    Task(
        "correct a fact",
        "Correction: Biscuit is nine years old now, not eight. Please correct what you have "
        "written down about my dog.",
        holds("knowledge.md", "biscuit", "nine"),
        {"+knowledge.md": KNOWN},
    ),
    Task(
        "write a fact down",
        "Please write down for good: my sister Clara is allergic to peanuts.",
        holds("knowledge.md", "clara", "peanut"),
    ),
    Task(
        "write in the diary",
        "Please write in your diary that we planted a lemon tree today.",
        holds("journal.md", "lemon tree"),
    ),
)


def attempt(task: Task, place: Path, environ: dict[str, str], seed: int) -> dict[str, Any]:
    """Do a task in a new folder; return how it ended.

    All have the same place, so that what was evaluated of the stable prompt is taken up.
    """
    entity = place / "ada"
    shutil.rmtree(entity, ignore_errors=True)
    new = ["new", str(entity), "--name", "Ada", "--owner", "Sam"]
    subprocess.run([*DRIVER, *new], env=environ, check=True, capture_output=True)
    for name, text in task.files.items():
        file = entity / name.removeprefix("+")
        file.parent.mkdir(parents=True, exist_ok=True)
        before = file.read_text(encoding="utf-8") if name.startswith("+") and file.exists() else ""
        file.write_text(before + text, encoding="utf-8")
    started = time.perf_counter()
    chat = ["chat", "-e", str(entity), "--json", "--seed", str(seed), task.message]
    done = subprocess.run(
        [*DRIVER, *chat], env=environ, capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - started
    if done.returncode:
        return {"done": False, "stopped": done.stderr.strip()[-200:], "seconds": seconds}
    data = json.loads(done.stdout)["data"]
    return {
        "done": task.done(entity, data["reply"]),
        "stopped": data["stopped"],
        "calls": [name for step in data["steps"] for name in step["calls"]],
        "failed": [text for step in data["steps"] for text in step["failed"]],
        "caught": len(data["missing"]),
        "looped": data["stopped"] == "step_cap"
        or any("refused:" in text for step in data["steps"] for text in step["failed"]),
        "reply": data["reply"],
        "seconds": seconds,
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--only", default="", help="tasks whose name holds this")
    parser.add_argument("--seeds", type=int, default=1, help="runs of each task")
    arguments = parser.parse_args()
    weights = str(user_cache_path("bumble") / "weights")
    environ = {
        **os.environ,
        "BUMBLE_WEIGHTS": weights,
        "BUMBLE_LLM_MODEL": arguments.model,
        "BUMBLE_TOOLS_FILES": "true",
        "BUMBLE_LIMITS_SETTLE": "later",
    }
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for task in TASKS:
            if arguments.only not in task.name:
                continue
            for seed in range(1, arguments.seeds + 1):
                row = {"task": task.name, **attempt(task, Path(folder), environ, seed)}
                rows.append(row)
                print(
                    f"{'done' if row['done'] else 'NOT '}  {row['seconds']:5.0f} s  "
                    f"{task.name:20} {row['stopped']:10} {', '.join(row.get('calls', []))}  "
                    f"caught {row.get('caught', 0)}  | {row.get('reply', '')[:160]!r}",
                    flush=True,
                )
    done, looped = sum(row["done"] for row in rows), sum(row.get("looped", False) for row in rows)
    caught = sum(bool(row.get("caught")) for row in rows)
    print(
        f"{arguments.model}: {done} of {len(rows)} done, "
        f"{caught} caught by the gate, {looped} looped"
    )
    OUT.mkdir(exist_ok=True)
    (OUT / "tasks.json").write_text(json.dumps({"model": arguments.model, "rows": rows}, indent=2))


if __name__ == "__main__":
    main()
