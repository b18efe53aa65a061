"""One-off conversations in a row with the embedded model: what the prompt cache saves.

Each turn is a process of its own, as a shell user has it; two of them ask for tools. `evaluated` is
what the first request of a turn left to evaluate, `message` the estimated tokens of its last
message, preamble included; `tools` counts the requests after the first, `later` what these left to
evaluate and `new` what they had more than the one before. At the end a turn is asked again with the
cache removed. Prints a table and writes JSON.

    uv run python bench/talk.py [--model NAME] [--history TURNS]
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
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

OUT = Path(__file__).parent / "out"
TURNS = (
    "Hi, I'm Sam. I live in Lisbon and my dog is called Biscuit.",
    "I repair old radios for a living, mostly valve sets from the fifties.",
    "Yesterday a customer brought one that had been under water for a week.",
    "Write in your journal that Biscuit had a bath today.",
    "I think I can save it, but the loudspeaker is gone.",
    "Look in your journal: what did Biscuit have today?",
    "What is my dog called, and where do I live?",
)


def chat(entity: Path, text: str, environ: dict[str, str], *options: str) -> dict[str, Any]:
    """Say something in a process of its own; return what it reports, with its wall time."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "bumble", "chat", "-e", str(entity), "--json", *options, text]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(done.stderr)
    data: dict[str, Any] = json.loads(done.stdout)["data"]
    command = [sys.executable, "-m", "bumble", "-e", str(entity), "context", "json"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    sent = json.loads(done.stdout)["data"]
    return {**data, "wall_seconds": wall, "last_chars": sent["last_chars"]}


def row(turn: dict[str, Any]) -> dict[str, float]:
    """Return what the requests of a turn cost."""
    prompts = turn["usage"]["prompt_tokens"]
    cached = [count or 0 for count in turn["usage"]["cached_tokens"]]
    return {
        "prompt": prompts[0],
        "cached": cached[0],
        "evaluated": prompts[0] - cached[0],
        "message": turn["last_chars"] // 4,
        "tools": len(prompts) - 1,
        "later": sum(prompts[1:]) - sum(cached[1:]),
        "new": prompts[-1] - prompts[0],
        "first_token_s": round(turn["seconds"]["first_token"][0], 2),
        "answer_s": round(turn["seconds"]["total"][0], 2),
        "wall_s": round(turn["wall_seconds"], 2),
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--history", type=int, default=0, help="turns before the five")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        environ = {
            **os.environ,
            "XDG_CACHE_HOME": str(place / "cache"),
            "BUMBLE_WEIGHTS": str(user_cache_path("bumble") / "weights"),
            "BUMBLE_LLM_MODEL": arguments.model,
        }
        entity = place / "ada"
        for n in range(arguments.history):
            chat(entity, f"{TURNS[1]} That was number {n}.", environ, "--new", "--yes")
        turns = [chat(entity, text, environ, "--new", "--yes") for text in TURNS]
        warm = chat(entity, "And what do I do for a living?", environ)
        shutil.rmtree(place / "cache" / "bumble" / "prompts")
        cold = chat(entity, "And what did I say my name was?", environ)
    rows = [row(turn) for turn in (*turns, warm, cold)]
    names = [f"turn {n + 1}" for n in range(len(turns))] + ["with cache", "cache removed"]
    print(f"{arguments.model}, {arguments.history} turns before")
    print("  ".join(["".ljust(14), *(name.rjust(13) for name in rows[0])]))
    for name, cells in zip(names, rows, strict=True):
        print("  ".join([name.ljust(14), *(str(cell).rjust(13) for cell in cells.values())]))
    ratio = rows[-2]["first_token_s"] / rows[-1]["first_token_s"]
    print(f"time to first token, with the cache / without: {ratio:.2f}")
    for turn in turns:
        print(f"> {turn['reply']}")
    OUT.mkdir(exist_ok=True)
    report = {"model": arguments.model, "history": arguments.history, "ratio": ratio}
    report["turns"] = dict(zip(names, rows, strict=True))
    (OUT / "talk.json").write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
