"""How long `recall` takes in a folder with 10,000 episodes, in new processes, part by part.

Makes the folder once, indexes it, then starts a process for each round: one that searches, one that
syncs with nothing changed. Where the command exists, `bumble recall` is timed beside its parts.
Prints a table and writes `bench/out/scale.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "bench" / "out"
QUERY = "the day the lantern went out at the harbour"
NOUNS = (
    *("harbour", "lantern", "tide", "kitchen", "garden", "letter", "river", "mountain", "window"),
    *("market", "violin", "bicycle", "library", "orchard", "station", "blanket", "teacher"),
    *("brother", "neighbour", "doctor", "promise", "secret", "argument", "recipe", "photo"),
    *("storm", "island", "engine", "feather", "mirror", "ladder", "candle", "pocket", "bridge"),
)
VERBS = (
    *("found", "lost", "mended", "painted", "carried", "forgot", "remembered", "followed"),
    *("measured", "sold", "borrowed", "planted", "opened", "closed", "burned", "washed", "hid"),
)
HOW = ("quietly", "twice", "at dawn", "in the rain", "for hours", "after work", "before lunch")
PARTS = ("imports", "embedder", "sync", "open", "search", "whole process", "processor")


def text(rng: random.Random) -> str:
    """Make up a few sentences, different each time."""
    sentences = [
        f"We {rng.choice(VERBS)} the {rng.choice(NOUNS)} near the {rng.choice(NOUNS)}"
        f" {rng.choice(HOW)}, and number {rng.randrange(10_000)} {rng.choice(VERBS)}"
        f" a {rng.choice(NOUNS)}."
        for _ in range(rng.randint(2, 6))
    ]
    return " ".join(sentences)


def make(folder: Path, count: int) -> None:
    """Write an entity folder with `count` episodes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "entity.yaml").write_text("schema_version: 1\nname: Ada\n")
    rng, start = random.Random(7), datetime(2020, 1, 1, 8, tzinfo=UTC)
    for n in range(count):
        at = start + timedelta(hours=5 * n)
        place = folder / "episodes" / f"{at:%Y}" / f"{at:%m}"
        place.mkdir(parents=True, exist_ok=True)
        meta = f"at: {at.isoformat()}\nsignificance: {rng.random():.2f}\npeople: [sam]\n"
        (place / f"ep_{n:026d}.md").write_text(f"---\n{meta}---\n\n{text(rng)}\n")


def child(folder: Path, embedder_name: str, weights: Path, *, searches: bool) -> None:
    """Do what a command does, in this process, and print how long each part took."""
    from_start = time.perf_counter()
    from bumble.entity.folder import Entity
    from bumble.index.search import opened, search
    from bumble.index.sync import sync

    marks = [("imports", from_start), ("embedder", time.perf_counter())]
    embedder = None
    if searches:
        sys.path.insert(0, str(ROOT / "bench"))
        from recall import open_named

        embedder = open_named(embedder_name, weights)
    marks.append(("sync", time.perf_counter()))
    entity = Entity(folder)
    report = sync(entity, embedder, name="Ada", zone=UTC)
    marks.append(("open", time.perf_counter()))
    if searches:
        with opened(entity) as index:
            marks.append(("search", time.perf_counter()))
            assert search(index, QUERY, embedder)
    marks.append(("end", time.perf_counter()))
    parts = {name: after - start for (name, start), (_, after) in pairwise(marks)}
    print(json.dumps({"parts": parts, "report": [report.added, report.changed, report.embedded]}))


def run(command: list[str]) -> tuple[float, subprocess.CompletedProcess[str]]:
    """Run a process to its end. Returns the seconds it took, and what it left."""
    # Where Python may not keep its bytecode, every process compiles all it imports: ours may.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return time.perf_counter() - started, done


def processor_seconds() -> float:
    """Return what ended child processes have used: on a busy machine the fairer measure."""
    used = os.times()
    return used.children_user + used.children_system


def rounds(command: list[str], count: int) -> dict[str, float]:
    """Time the parts of a child process; the median of several."""
    seen: dict[str, list[float]] = {}
    for _ in range(count):
        used = processor_seconds()
        seconds, done = run(command)
        if done.returncode:
            raise SystemExit(done.stderr)
        parts = json.loads(done.stdout)["parts"]
        parts |= {"whole process": seconds, "processor": processor_seconds() - used}
        for name, part in parts.items():
            seen.setdefault(name, []).append(part)
    return {name: median(times) for name, times in seen.items()}


def command_line(folder: Path, count: int) -> float | None:
    """Time `bumble recall` itself; None where there is no such command, or no model for it."""
    command = [sys.executable, "-m", "bumble", "-e", str(folder), "recall", QUERY]
    results = [run(command) for _ in range(count)]
    if any(done.returncode for _, done in results):
        return None
    return median(seconds for seconds, _ in results)


def main() -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--embedder", default="all-minilm-l6-v2")
    parser.add_argument("--weights-folder", type=Path, default=OUT / "weights")
    parser.add_argument("--folder", type=Path, default=OUT / "scale")
    parser.add_argument("--keep", action="store_true", help="use the folder that is there")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", choices=("recall", "sync"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        searches = options.child == "recall"
        child(options.folder, options.embedder, options.weights_folder, searches=searches)
        return 0
    if not options.keep or not options.folder.is_dir():
        make(options.folder, options.episodes)
    this = [sys.executable, str(Path(__file__)), "--embedder", options.embedder]
    this += ["--weights-folder", str(options.weights_folder), "--folder", str(options.folder)]
    first, done = run([*this, "--child", "recall"])
    if done.returncode:
        raise SystemExit(done.stderr)
    result: dict[str, Any] = {
        "episodes": options.episodes,
        "embedder": options.embedder,
        "first sync and search": first,
        "recall": rounds([*this, "--child", "recall"], options.rounds),
        "sync, nothing changed": rounds([*this, "--child", "sync"], options.rounds),
        "bumble recall": command_line(options.folder, options.rounds),
    }
    print(f"{options.episodes} episodes, {options.embedder}; first sync and search {first:.1f} s")
    print(f"{'milliseconds':24} " + " ".join(f"{part:>13}" for part in PARTS))
    for row in ("recall", "sync, nothing changed"):
        print(f"{row:24} " + " ".join(f"{1000 * result[row].get(p, 0):13.0f}" for p in PARTS))
    whole = result["bumble recall"]
    print("bumble recall            " + (f"{1000 * whole:.0f}" if whole else "not to be had here"))
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "scale.json").write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
