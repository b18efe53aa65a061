"""What the index costs beside an earlier checkout of the product, and with token vectors or not.

Every figure is of a real command in a process of its own: `bumble index` on a folder that has no
index yet, `bumble recall`, `bumble index` after some new turns. With --before CHECKOUT the commands
of that folder of sources run in turn with ours, each in its own copy of the same memories, and the
ratio of the two is printed. Seconds, seconds of the processor, and the most memory a process had.
Run it as `python -m bench.scale_compared`.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from msgspec import Struct
from msgspec.structs import fields

from bench.scale import DATA, QUERIES, Turns, make, session, turns_of

ROOT = Path(__file__).resolve().parent.parent
NEW_TURNS, OLD_TURNS = 2_000, 50
VERSION = "schema_version:"  # of the folder's format, which each product has its own of
FIRST, RECALL, AFTER = "index, everything new", "recall", f"index, {OLD_TURNS} new turns"
WITHOUT = {"BUMBLE_RECALL_LATE_INTERACTION": "false"}


class Cost(Struct, frozen=True):
    """What a process took."""

    seconds: float
    processor: float
    megabytes: float

    def over(self, other: Cost) -> Cost:
        """Return how many times as much this is."""
        pairs = [(getattr(self, each.name), getattr(other, each.name)) for each in fields(Cost)]
        return Cost(*(mine / theirs for mine, theirs in pairs))


class Product(Struct, frozen=True):
    """A folder of sources, and the variables that its commands get."""

    name: str
    sources: Path
    variables: Mapping[str, str]

    def run(self, folder: Path, *arguments: str) -> Cost:
        """Run a command of it in a process of its own.

        Raises:
            SystemExit: If the command fails.
        """
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment |= {"PYTHONPATH": str(self.sources), **self.variables}
        command = [sys.executable, "-m", "bumble", "-e", str(folder), *arguments]
        with tempfile.TemporaryFile() as errors:
            started = time.perf_counter()
            process = subprocess.Popen(
                command,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=environment,
                cwd=self.sources,
            )
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            seconds = time.perf_counter() - started
            if process.returncode:
                errors.seek(0)
                raise SystemExit(f"{self.name}: {errors.read().decode()}")
        return Cost(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000)


def middle(costs: list[Cost]) -> Cost:
    """Return the median of each figure."""
    return Cost(*(median(getattr(cost, each.name) for cost in costs) for each in fields(Cost)))


def compared(products: list[Product], memories: Path, turns: Turns, rounds: int) -> None:
    """Run the same commands of each product in turn, and print what they cost."""
    costs: dict[str, dict[str, Cost]] = {product.name: {} for product in products}
    sizes = {}
    with tempfile.TemporaryDirectory(dir=memories.parent) as place:
        folders = {product.name: Path(place) / product.name for product in products}
        for product in products:
            folder = folders[product.name]
            shutil.copytree(memories, folder)
            template = (product.sources / "entity-template" / "entity.yaml").read_text()
            [version] = [line for line in template.splitlines() if VERSION in line]
            (folder / "entity.yaml").write_text(f"{version}\nname: Ada\n")
            costs[product.name][FIRST] = product.run(folder, "index")
            sizes[product.name] = megabytes(folder)
        seen: dict[str, list[Cost]] = {product.name: [] for product in products}
        for n in range(rounds):
            for product in products:
                query = QUERIES[n % len(QUERIES)]
                seen[product.name].append(product.run(folders[product.name], "recall", query))
        for product in products:
            costs[product.name][RECALL] = middle(seen[product.name])
            add(folders[product.name], turns, OLD_TURNS)
            costs[product.name][AFTER] = product.run(folders[product.name], "index")
    for row in (FIRST, RECALL, AFTER):
        show(row, {name: by_row[row] for name, by_row in costs.items()})
    print("megabytes on disk         " + ", ".join(f"{n} {size:.0f}" for n, size in sizes.items()))


def megabytes(folder: Path) -> float:
    """Return how much of the disk an index takes."""
    return (folder / "memory.db").stat().st_size / 1e6


def add(folder: Path, turns: Turns, count: int) -> None:
    """Put a new transcript of so many turns into a folder."""
    rng = random.Random(count)
    number = 1_000_000 + len(list((folder / "sessions").glob("*")))
    session(folder, number, [turns.draw(rng) for _ in range(count)])


def show(row: str, costs: Mapping[str, Cost]) -> None:
    """Print a row for each product, and the ratio of the last to the first."""
    for name, cost in costs.items():
        print(
            f"{row:26} {name:16} {cost.seconds:8.2f} s {cost.processor:8.2f} CPU s"
            f" {cost.megabytes:6.0f} MB",
            flush=True,
        )
    if len(costs) > 1:
        first, *_, last = costs.values()
        ratio = last.over(first)
        print(
            f"{row:26} {'ratio':16} {ratio.seconds:8.2f}   {ratio.processor:8.2f}      "
            f" {ratio.megabytes:6.2f}"
        )


def ingested(product: Product, place: Path, turns: Turns) -> None:
    """Index the same new turns with token vectors and without, and print how many a second."""
    costs = {}
    for name, variables in (("without tokens", WITHOUT), ("with tokens", {})):
        folder = place / "ingest"
        make(folder, turns, NEW_TURNS, 0)
        with_them = Product(name, product.sources, {**product.variables, **variables})
        costs[name] = with_them.run(folder, "index")
        shutil.rmtree(folder)
    show(f"index, {NEW_TURNS} turns", costs)
    for name, cost in costs.items():
        print(
            f"turns a second, {name:16} {NEW_TURNS / cost.seconds:6.0f},"
            f" {NEW_TURNS / cost.processor:6.0f} a CPU second"
        )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="an earlier checkout, to compare with")
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--embedder", default="all-minilm-l6-v2")
    parser.add_argument("--folder", type=Path, default=ROOT / "bench" / "out" / "compared")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    turns = turns_of(options.data)
    variables = {"BUMBLE_EMBEDDING_MODEL": options.embedder}
    products = [Product("now", ROOT, variables)]
    if options.before:
        products = [Product("before", options.before.resolve(), variables), *products]
    memories = options.folder / "memories"
    make(memories, turns, options.memories, options.memories // 20)
    print(f"{options.memories} memories, {options.embedder}")
    compared(products, memories, turns, options.rounds)
    ingested(products[-1], options.folder, turns)
    return 0


if __name__ == "__main__":
    sys.exit(main())
