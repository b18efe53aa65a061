"""How long `recall` takes in a folder with many memories, in new processes, part by part.

A twentieth of the memories are episodes with a file each, the rest turns in transcripts of 50: the
turns of the LoCoMo-shaped file that `--data` names with names and dates varied, made-up sentences
where there is none. The first `--embedded` texts go through the embedder; the others get vectors
and tokens of these with a few signs turned, since a million texts would take it an hour. Then a
process is started for each round: one that searches, one that syncs with nothing changed, one with
one file changed. Each part is printed as soon as it is known; all is written to
`bench/out/scale.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from msgspec import Struct

from bumble.entity.settings import SCHEMA_VERSION
from bumble.index.sqlite import open_to_read
from bumble.models.embed.protocol import DocumentTokens, Embedder, Floats

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data" / "locomo-dev.json"
OUT = ROOT / "bench" / "out"
QUERY = "the day the lantern went out at the harbour"
QUERIES = [f"who {verb} the letter near the bridge" for verb in ("lost", "mended", "sold", "hid")]
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
PARTS = (
    *("imports", "embedder", "sync", "open", "search", "warm", "whole process", "processor"),
    "megabytes",
)
TURNS = 50  # of a transcript
WARM_ROUNDS = 8  # of the queries; the embedder's graph is rewritten after its first runs
NAMES = (
    "Ada",
    "Ben",
    "Cleo",
    "Dan",
    "Eva",
    "Finn",
    "Greta",
    "Hugo",
    "Ines",
    "Kira",
    "Luca",
    "Mila",
)
_DIGITS = re.compile(r"\b\d+\b")


class Turns(Struct, frozen=True):
    """What is said in some conversations, to be varied; without any, sentences are made up."""

    texts: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # of who speaks in them

    def draw(self, rng: random.Random) -> str:
        """Make up a text, different each time."""
        if not self.texts:
            return sentences(rng)
        at = datetime(2000, 1, 1, tzinfo=UTC) + timedelta(days=rng.randrange(20_000))
        turn = _DIGITS.sub(lambda _: str(rng.randrange(1, 60)), rng.choice(self.texts))
        for name in self.names:
            turn = re.sub(rf"\b{name}\b", lambda _: rng.choice(NAMES), turn)
        return f"{turn} ({rng.choice(NAMES)}, {at.day} {at:%B %Y})"


def turns_of(data: Path) -> Turns:
    """Read the turns of all conversations of a file; none if it is not there."""
    if not data.is_file():
        return Turns()
    conversations = [sample["conversation"] for sample in json.loads(data.read_text())]
    every = [
        turn
        for conversation in conversations
        for key, session in conversation.items()
        if re.fullmatch(r"session_\d+", key)
        for turn in session
    ]
    names = sorted({re.escape(turn["speaker"]) for turn in every})
    return Turns(tuple(turn["text"] for turn in every), tuple(names))


def sentences(rng: random.Random) -> str:
    """Make up a few sentences."""
    made = [
        f"We {rng.choice(VERBS)} the {rng.choice(NOUNS)} near the {rng.choice(NOUNS)}"
        f" {rng.choice(HOW)}, and number {rng.randrange(10_000)} {rng.choice(VERBS)}"
        f" a {rng.choice(NOUNS)}."
        for _ in range(rng.randint(2, 6))
    ]
    return " ".join(made)


def make(folder: Path, turns: Turns, count: int, episodes: int) -> None:
    """Write an entity folder with so many memories, some of them episodes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    head = f"schema_version: {SCHEMA_VERSION}\nname: Ada\nowner: {{name: Sam}}\n"
    (folder / "entity.yaml").write_text(head)
    rng, start = random.Random(7), datetime(2020, 1, 1, 8, tzinfo=UTC)
    for n in range(episodes):
        at = start + timedelta(hours=5 * n)
        place = folder / "episodes" / f"{at:%Y}" / f"{at:%m}"
        place.mkdir(parents=True, exist_ok=True)
        meta = f"at: {at.isoformat()}\nsignificance: {rng.random():.2f}\npeople: [sam]\n"
        (place / f"ep_{n:026d}.md").write_text(f"---\n{meta}---\n\n{turns.draw(rng)}\n")
    for n in range(0, count - episodes, TURNS):
        texts = [turns.draw(rng) for _ in range(min(TURNS, count - episodes - n))]
        session(folder, n // TURNS, texts)


def session(folder: Path, number: int, texts: Sequence[str]) -> None:
    """Write one transcript."""
    at, stem = datetime(2020, 1, 2, 9, tzinfo=UTC) + timedelta(hours=number), f"ses_{number:026d}"
    rows: list[dict[str, Any]] = [
        {"type": "session", "id": stem, "at": at.isoformat(), "by": "sam"}
    ]
    for n, text in enumerate(texts):
        role = {"role": "assistant"} if n % 2 else {"role": "user", "speaker": "sam"}
        row = {"type": "message", "id": f"msg_{number:020d}{n:06d}", "text": text}
        rows.append(row | role | {"at": (at + timedelta(seconds=n)).isoformat()})
    (folder / "sessions" / stem).mkdir(parents=True)
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "sessions" / stem / "messages.jsonl").write_text(lines)


class Perturbing:
    """An embedder that embeds the first texts, and makes up the rest from these."""

    def __init__(self, inner: Embedder, most: int) -> None:
        self.identity, self.unrelated_cosine = inner.identity, inner.unrelated_cosine
        self.multilingual = inner.multilingual
        self.embed_query = inner.embed_query
        self._inner, self._most, self._rng = inner, most, np.random.default_rng(7)
        self._vectors: list[Floats] = []
        self._tokens: list[DocumentTokens] = []

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Embed, or make up."""
        return self.embed_documents_by_token(texts)[0]

    def embed_documents_by_token(self, texts: Sequence[str]) -> tuple[Floats, list[DocumentTokens]]:
        """Embed, or make up."""
        if len(self._vectors) < self._most:
            vectors, tokens = self._inner.embed_documents_by_token(texts)
            self._vectors += list(vectors)
            self._tokens += tokens
            return vectors, tokens
        chosen = self._rng.integers(len(self._vectors), size=len(texts))
        noise = self._rng.normal(0, 0.02, (len(texts), self.identity.dimensions))
        mixed = np.stack([self._vectors[n] for n in chosen]) + noise.astype(np.float32)
        units: Floats = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
        return units, [self._turned(self._tokens[n]) for n in chosen]

    def _turned(self, tokens: DocumentTokens) -> DocumentTokens:
        shape = tokens.signs.shape
        few = np.uint8(1) << self._rng.integers(0, 8, shape, np.uint8)
        return DocumentTokens(tokens.pieces, tokens.signs ^ (few * (self._rng.random(shape) < 0.2)))


def child(options: argparse.Namespace) -> None:
    """Do what a command does, in this process, and print how long each part took."""
    from_start = time.perf_counter()
    from bumble.entity.folder import Entity
    from bumble.index.search import opened, search
    from bumble.index.sync import sync

    marks, embedder = [("imports", from_start), ("embedder", time.perf_counter())], None
    searches = options.child != "sync"
    if searches:
        sys.path.insert(0, str(ROOT))
        from bench.recall import open_named

        embedder = open_named(options.embedder, options.weights_folder)
        if options.child == "first" and embedder:
            embedder = Perturbing(embedder, options.embedded)
    marks.append(("sync", time.perf_counter()))
    entity = Entity(options.folder)
    report = sync(entity, embedder, name="Ada", zone=UTC)
    marks.append(("open", time.perf_counter()))
    warm = list[float]()
    if searches:
        with opened(entity) as index:
            marks.append(("search", time.perf_counter()))
            search(index, QUERY, embedder)
            marks.append(("end", time.perf_counter()))
            for query in QUERIES * WARM_ROUNDS:
                started = time.perf_counter()
                search(index, query, embedder)
                warm.append(time.perf_counter() - started)
    else:
        marks.append(("end", time.perf_counter()))
    parts = {name: after - start for (name, start), (_, after) in pairwise(marks)}
    parts |= {"warm": median(warm)} if warm else {}
    parts["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(json.dumps({"parts": parts, "report": [report.added, report.changed, report.embedded]}))


def disk(folder: Path) -> dict[str, float]:
    """Return the megabytes of each table of the index."""
    with closing(open_to_read(folder / "memory.db")) as database:
        rows = database.rows("select name, sum(pgsize) from dbstat group by name order by 2 desc")
    return {str(name): int(size) / 1e6 for name, size in rows}


def run(
    command: list[str], settings: Mapping[str, str] | None = None
) -> tuple[float, subprocess.CompletedProcess[str]]:
    """Run a process to its end. Returns the seconds it took, and what it left."""
    # Where Python may not keep its bytecode, every process compiles all it imports: ours may.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= settings or {}
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


def command_line(options: argparse.Namespace) -> float | None:
    """Time `bumble recall` itself; None where there is no such command, or no model for it."""
    folder = str(options.folder)
    command = [sys.executable, "-m", "bumble", "-e", folder, "recall", QUERY, "--as", "sam"]
    settings = {
        "BUMBLE_EMBEDDING_MODEL": options.embedder,
        "BUMBLE_WEIGHTS": str(options.weights_folder.absolute()),
    }
    results = [run(command, settings) for _ in range(options.rounds)]
    if any(done.returncode for _, done in results):
        return None
    return median(seconds for seconds, _ in results)


def main() -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--records-only", action="store_true", help="a file for each memory")
    parser.add_argument("--embedder", default="all-minilm-l6-v2")
    parser.add_argument("--embedded", type=int, default=20_000)
    parser.add_argument("--weights-folder", type=Path, default=OUT / "weights")
    parser.add_argument("--folder", type=Path, default=OUT / "scale")
    parser.add_argument("--keep", action="store_true", help="use the folder that is there")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", choices=("first", "recall", "sync"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options)
        return 0
    results = [measure(options, count) for count in options.memories]
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "scale.json").write_text(json.dumps(results, indent=1) + "\n")
    return 0


def measure(options: argparse.Namespace, count: int) -> dict[str, Any]:
    """Measure a folder with so many memories, and print each part."""
    if not options.keep or not options.folder.is_dir():
        episodes = count if options.records_only else count // 20
        make(options.folder, turns_of(options.data), count, episodes)
    this = [sys.executable, str(Path(__file__)), "--embedder", options.embedder]
    this += ["--weights-folder", str(options.weights_folder), "--folder", str(options.folder)]
    this += ["--embedded", str(options.embedded)]
    first, done = run([*this, "--child", "first"])
    if done.returncode:
        raise SystemExit(done.stderr)
    parts = json.loads(done.stdout)["parts"]
    per_second = count / parts["sync"]
    result: dict[str, Any] = {"memories": count, "embedder": options.embedder, "first": parts}
    print(
        f"\n{count} memories, {options.embedder}, {options.embedded} texts embedded: first sync and"
        f" search {first:.1f} s, {per_second:.0f} memories a second, {parts['megabytes']:.0f} MB"
    )
    print(f"{'milliseconds':24} " + " ".join(f"{part:>13}" for part in PARTS))
    for row, name in (("recall", "recall"), ("sync, nothing changed", "sync")):
        result[row] = rounds([*this, "--child", name], options.rounds)
        show(row, result[row])
    path = next((options.folder / "episodes").rglob("*.md"))
    path.write_text(path.read_text() + "\nAnd then it rained.\n")
    result["recall, one file changed"] = rounds([*this, "--child", "recall"], 1)
    show("recall, one file changed", result["recall, one file changed"])
    result["bumble recall"] = command_line(options)
    whole = result["bumble recall"]
    print("bumble recall            " + (f"{1000 * whole:.0f}" if whole else "not to be had here"))
    result["disk"] = disk(options.folder)
    sizes = [f"{name} {size:.0f}" for name, size in result["disk"].items() if size >= 1]
    print(f"megabytes on disk        {sum(result['disk'].values()):.0f}: {', '.join(sizes)}")
    return result


def show(row: str, parts: dict[str, float]) -> None:
    """Print a row of the table."""
    scale = {"megabytes": 1.0}
    cells = (f"{scale.get(part, 1000) * parts.get(part, 0):13.0f}" for part in PARTS)
    print(f"{row:24} " + " ".join(cells), flush=True)


if __name__ == "__main__":
    sys.exit(main())
