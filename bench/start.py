"""How long bumble takes to start, beside a bare typer app of two commands, in one run.

The commands take turns, so that a busy machine is busy for all of them alike. Prints wall and CPU
time of each and what `bumble --help` imports, and writes it all to `bench/out/start.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from msgspec import Struct
from msgspec.structs import asdict

from bumble.entity.create import NewEntity
from tests.support import newborns

OUT = Path(__file__).resolve().parent / "out" / "start.json"
LIMIT = 1.5  # times the bare app
READ_SECONDS = 0.5
BARE = """
import typer
app = typer.Typer({options})
@app.command()
def one(name: str) -> None:
    "Do one thing."
@app.command()
def other(name: str) -> None:
    "Do another."
app()
"""
_IMPORT = re.compile(r"import time:\s+(\d+) \|\s+\d+ \| ( *)(\S+)")


class Timing(Struct, frozen=True):
    """What runs of one command took, in milliseconds."""

    command: str
    best_ms: float
    median_ms: float
    cpu_ms: float  # of the best run


def timings(
    commands: Mapping[str, Sequence[str]], environ: Mapping[str, str], rounds: int
) -> list[Timing]:
    """Run the commands in turn, the first round unmeasured."""
    walls: dict[str, list[float]] = {name: [] for name in commands}
    cpus: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            wall, cpu = _once(command, environ)
            if number:
                walls[name].append(wall * 1000)
                cpus[name].append(cpu * 1000)
    return [
        Timing(name, min(walls[name]), median(walls[name]), min(cpus[name])) for name in commands
    ]


def _once(command: Sequence[str], environ: Mapping[str, str]) -> tuple[float, float]:
    before = os.times()
    started = time.perf_counter()
    subprocess.run(
        command,
        env=environ,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wall, after = time.perf_counter() - started, os.times()
    spent = after.children_user + after.children_system
    return wall, spent - before.children_user - before.children_system


def parts(command: Sequence[str], environ: Mapping[str, str]) -> list[tuple[str, float]]:
    """Return what a command imports by top-level package, in milliseconds, the dearest first."""
    timed = [command[0], "-X", "importtime", *command[1:]]
    done = subprocess.run(timed, env=environ, check=True, capture_output=True, text=True)
    spent: dict[str, float] = {}
    for own, _, name in _IMPORT.findall(done.stderr):
        package = name.partition(".")[0]
        spent[package] = spent.get(package, 0.0) + int(own) / 1000
    return sorted(spent.items(), key=lambda item: -item[1])


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        newborns.created(place / "ada", NewEntity("Ada", "curious", "Sam", "UTC"))
        commands = _commands(place)
        environ = {
            **os.environ,
            "HOME": folder,
            "XDG_CONFIG_HOME": str(place / "config"),
            "BUMBLE_ENTITY": str(place / "ada"),
            "PYTHONPYCACHEPREFIX": str(place / "compiled"),
        }
        environ.pop("PYTHONDONTWRITEBYTECODE", None)  # compiling is no part of a start
        found = timings(commands, environ, rounds)
        imports = parts(commands["bumble --help"], environ)
    _show(found, imports)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    data = {"rounds": rounds, "timings": [asdict(one) for one in found], "imports_ms": imports}
    OUT.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


def _commands(place: Path) -> dict[str, list[str]]:
    found = {"python": [sys.executable, "-c", "pass"]}
    for name, options in (("bare app", ""), ("bare app, plain help", "rich_markup_mode=None")):
        script = place / f"{name.replace(' ', '-')}.py"
        script.write_text(BARE.format(options=options), encoding="utf-8")
        found[name] = [sys.executable, str(script), "--help"]
    for words in (
        "--help",
        "--version",
        "config get llm.model",
        "knowledge list",
        "session list",
        "person list",
        "model list",
    ):
        found[f"bumble {words}"] = [sys.executable, "-m", "bumble", *words.split()]
    return found


def _show(found: Sequence[Timing], imports: Sequence[tuple[str, float]]) -> None:
    plain = next(one for one in found if one.command == "bare app, plain help")
    print(f"{'command':24} {'best':>8} {'median':>8} {'CPU':>8}   of the bare app, plain help")
    for one in found:
        share = one.best_ms / plain.best_ms
        print(
            f"{one.command:24} {one.best_ms:5.0f} ms {one.median_ms:5.0f} ms {one.cpu_ms:5.0f} ms"
            f"   {share:.2f} x"
        )
    start = max(
        one.best_ms for one in found if one.command in ("bumble --help", "bumble --version")
    )
    reads = [one for one in found if one.command.startswith("bumble ") and "--" not in one.command]
    slowest = max(reads, key=lambda one: one.best_ms)
    print(f"\nstart: {start / plain.best_ms:.2f} x the bare app (at most {LIMIT})")
    print(f"slowest read: {slowest.best_ms / 1000:.2f} s, {slowest.command} (under {READ_SECONDS})")
    print("\nimports of bumble --help: ", end="")
    print(", ".join(f"{name} {spent:.0f} ms" for name, spent in imports[:12]))


if __name__ == "__main__":
    main()
