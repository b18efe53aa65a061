"""Many entities on one server beside the index in each folder: recall, ingest, disk, walls.

Entities are made as in `scale`, with other words in each; the texts of one get their vectors and
tokens from the hashing embedder, those of the others from these with a few signs turned. Each is
indexed twice: in its folder, and in Postgres. Then 1, 8 and 32 processes recall at once, each time
from another entity and over a connection of its own, as a command does; what a recall finds is
looked up in the folder it was asked of. Where there is no `--server`, one is started from the wheel
that the tests use, with Postgres' own settings. All is printed as it is known, and written to
`bench/out/many.json`.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from datetime import UTC
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import scale  # noqa: E402
from bumble.entity.folder import Entity  # noqa: E402
from bumble.index import place  # noqa: E402
from bumble.index.place import Place  # noqa: E402
from bumble.index.postgres_server import PostgresServer  # noqa: E402
from bumble.index.search import opened, search  # noqa: E402
from bumble.index.sync import sync  # noqa: E402
from tests.support import postgres  # noqa: E402
from tests.support.hashing import HashingEmbedder  # noqa: E402

DIMENSIONS = 384
EMBEDDED = 500  # texts; beyond, vectors are made of these
PROCESSES = (1, 8, 32)
SETTINGS: dict[str, str] = {}  # of a server that is started here
QUERIES = [
    f"who {verb} the {noun} {how}"
    for verb, noun, how in zip(scale.VERBS, scale.NOUNS, scale.HOW * 4, strict=False)
]


def place_of(folder: Path, server: str) -> Place:
    """Return where the index of an entity stands: in its folder, where there is no server."""
    at = place.of(Entity(folder))
    return replace(at, server=PostgresServer(server)) if server else at


def make(folder: Path, count: int, number: int) -> None:
    """Write an entity in whose every text its own number stands."""
    scale.make(folder, scale.Turns(), count, count // 20)
    for path in (*folder.glob("episodes/*/*/*.md"), *folder.glob("sessions/*/messages.jsonl")):
        text = path.read_text()
        path.write_text(text.replace("We ", f"We of house{number}x "))


def fill(options: argparse.Namespace) -> None:
    """Index every entity given, and print what it took."""
    embedder = scale.Perturbing(HashingEmbedder(DIMENSIONS), EMBEDDED)
    chunks, used, started = 0, time.process_time(), time.perf_counter()
    for number in options.fill:
        entity = Entity(options.folder / f"entity-{number}")
        at = place_of(entity.root, options.server)
        sync(entity, embedder, name="Ada", zone=UTC, where=at)
        with opened(entity, at) as index:
            chunks += index.lengths.chunks
    used, passed = time.process_time() - used, time.perf_counter() - started
    print(json.dumps({"chunks": chunks, "processor": used, "seconds": passed}))


def ingest(options: argparse.Namespace, server: str) -> dict[str, float]:
    """Bring every entity's index up to date, some at once. Returns how many passages a second."""
    command = [sys.executable, __file__, "--folder", str(options.folder), "--server", server]
    started, begun = [], time.perf_counter()
    for writer in range(options.writers):
        numbers = map(str, range(writer, options.entities, options.writers))
        this = [*command, "--fill", *numbers]
        started.append(subprocess.Popen(this, stdout=subprocess.PIPE, text=True))
    answers = [json.loads(process.communicate()[0]) for process in started]
    chunks, passed = sum(each["chunks"] for each in answers), time.perf_counter() - begun
    return {
        "chunks": chunks,
        "a second": round(chunks / passed, 1),
        "a second of our processor": round(chunks / sum(each["processor"] for each in answers), 1),
        "seconds": round(passed, 1),
    }


def child(options: argparse.Namespace) -> None:
    """Recall again and again, each time as a new command would; print the seconds of each."""
    embedder, rng = HashingEmbedder(DIMENSIONS), random.Random(options.child)
    folders = sorted(options.folder.glob("entity-*"))
    seconds, strangers, used = [], 0, time.process_time()
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(options.rounds):
        folder = rng.choice(folders)
        number = int(folder.name.rpartition("-")[2])
        started = time.perf_counter()
        with opened(Entity(folder), place_of(folder, options.server)) as index:
            hits = search(index, rng.choice(QUERIES), embedder)
        seconds.append(time.perf_counter() - started)
        strangers += sum(f"house{number}x" not in hit.text for hit in hits)
    used = time.process_time() - used
    print(json.dumps({"seconds": seconds, "strangers": strangers, "processor": used}))


def recall(options: argparse.Namespace, server: str, processes: int) -> dict[str, float]:
    """Have so many processes recall at once. Returns percentiles in ms, and hits of others."""
    command = [sys.executable, __file__, "--folder", str(options.folder), "--server", server]
    rounds = max(4, options.rounds // processes)
    started = [
        subprocess.Popen(
            [*command, "--child", str(n), "--rounds", str(rounds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(processes)
    ]
    for process in started:
        assert process.stdout is not None
        process.stdout.readline()
    begun = time.perf_counter()
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    answers = [json.loads(process.communicate()[0]) for process in started]
    passed = time.perf_counter() - begun
    seconds = np.array([each for answer in answers for each in answer["seconds"]])
    p50, p95 = 1000 * np.percentile(seconds, [50, 95])
    return {
        "p50": round(float(p50), 1),
        "p95": round(float(p95), 1),
        "a second": round(len(seconds) / passed, 1),
        "processor of ours": round(1000 * sum(a["processor"] for a in answers) / len(seconds), 1),
        "hits of others": sum(answer["strangers"] for answer in answers),
    }


def disk(folders: list[Path], server: str) -> float:
    """Return the megabytes that all indexes take."""
    if not server:
        return sum((folder / "memory.db").stat().st_size for folder in folders) / 1e6
    import psycopg

    with psycopg.connect(server) as connection:
        row = connection.execute(
            "select sum(pg_total_relation_size(oid)) from pg_class"
            " where relnamespace = 'bumble'::regnamespace and relkind = 'r'"
        ).fetchone()
    return float(row[0]) / 1e6 if row else 0.0


def main() -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entities", type=int, default=100)
    parser.add_argument("--memories", type=int, default=10_000, help="of each")
    parser.add_argument("--rounds", type=int, default=200, help="recalls, over all processes")
    parser.add_argument("--folder", type=Path, help="where the entities are, or are made")
    parser.add_argument("--server", default="")
    parser.add_argument("--writers", type=int, default=1, help="entities that are indexed at once")
    parser.add_argument("--keep", action="store_true", help="use the entities that are there")
    parser.add_argument("--fill", type=int, nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=scale.OUT / "many.json")
    options = parser.parse_args()
    if options.child is not None:
        child(options)
        return 0
    if options.fill is not None:
        fill(options)
        return 0
    options.folder = options.folder or Path(tempfile.mkdtemp(prefix="bumble-many-"))
    with nullcontext() if options.server else postgres.running(SETTINGS) as own:
        server = own.fresh() if own else options.server
        folders = [options.folder / f"entity-{n}" for n in range(options.entities)]
        for n, folder in enumerate([] if options.keep else folders):
            make(folder, options.memories, n)
        result: dict[str, Any] = {"entities": options.entities, "memories": options.memories}
        for name, address in (("folder", ""), ("postgres", server)):
            result[name] = {"ingest": ingest(options, address), "disk": disk(folders, address)}
            print(f"{name}: {result[name]}", flush=True)
        for processes in PROCESSES:
            for name, address in (("folder", ""), ("postgres", server)):
                result[name][processes] = recall(options, address, processes)
                print(f"{processes:3} processes, {name}: {result[name][processes]}", flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
