"""What `bumble report` makes of a month of 10,000 memories: size, time, memory, first paint.

The memories are made up: episodes, talks, beliefs that rest on both, dreams, a diary, a body that
moved, in a repository with a commit for each change of the body. The page is made by the real
command in new processes, and drawn by Chromium where there is one. Prints a table and writes
`bench/out/report.json`.

    uv run python -m bench.report [--count 10000] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

from msgspec.structs import asdict

from bench.scale import sentences
from bumble.body.config import BAR_NAMES
from bumble.entity.settings import SCHEMA_VERSION
from bumble.records import beliefs, dreams, episodes, relationships
from bumble.records.base import Provenance
from bumble.records.episodes import Imprint
from bumble.text.markdown import Document
from tests.support import browser

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "bench" / "out"
START, DAYS = datetime(2026, 5, 1, 7, tzinfo=UTC), 30
PEOPLE = ("sam", "bo", "mira", "theo", "yuki")
FEELINGS = ("joy", "wonder", "worry", "pride", "grief", "calm", "longing")
MOODS = ("content", "curious", "restless")
DREAMS, DIARY, BODIES = 30, 60, 1_440  # nights, mornings and evenings, every half hour
TURNS = 8  # of a talk


def make(folder: Path, count: int) -> None:
    """Write a life of so many memories."""
    rng = random.Random(7)
    folder.mkdir(parents=True)
    head = f"schema_version: {SCHEMA_VERSION}\nname: Ada\nowner: {{name: Sam}}\n"
    (folder / "entity.yaml").write_text(head)
    rest = count - len(PEOPLE) - DREAMS - DIARY
    talks, held = rest // 4, rest // 5
    lived = rest - talks - held
    for person in PEOPLE:
        _person(folder, rng, person)
    for n in range(talks):
        _talk(folder, rng, n, _moment(n, talks))
    for n in range(lived):
        _episode(folder, rng, n, _moment(n, lived), talks)
    for n in range(held):
        _belief(folder, rng, n, _moment(n, held), talks, lived)
    for n in range(DREAMS):
        _dream(folder, rng, n, _moment(n, DREAMS), lived)
    moments = [_moment(n, DIARY) for n in range(DIARY)]
    entries = (f"## {at:%Y-%m-%d %H:%M:%S}\n\n{sentences(rng)}\n" for at in moments)
    (folder / "journal.md").write_text("\n".join(entries))
    _commit(folder, rng)


def _moment(n: int, count: int) -> datetime:
    return START + timedelta(days=DAYS) * n / count


def _write(path: Path, document: Document) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document.text)


def _person(folder: Path, rng: random.Random, person: str) -> None:
    born = relationships.new(person.capitalize(), START)
    scores = {name: round(rng.random(), 2) for name in asdict(born.scores)}
    document = born.source.with_meta("scores", value=scores).with_body(sentences(rng))
    _write(folder / "relationships" / f"{person}.md", document)


def _message_id(talk: int, turn: int) -> str:
    return f"msg_{talk:020d}{turn:06d}"


def _talk(folder: Path, rng: random.Random, n: int, at: datetime) -> None:
    stem, person = f"ses_{n:026d}", rng.choice(PEOPLE)
    rows: list[dict[str, Any]] = [
        {"type": "session", "id": stem, "at": at.isoformat(), "by": person}
    ]
    for turn in range(TURNS):
        role = {"role": "assistant"} if turn % 2 else {"role": "user", "speaker": person}
        when = (at + timedelta(minutes=turn)).isoformat()
        head = {"type": "message", "id": _message_id(n, turn), "at": when}
        rows.append({**head, **role, "text": sentences(rng)})
    place = folder / "sessions" / stem
    place.mkdir(parents=True)
    (place / "messages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _levels(rng: random.Random) -> dict[str, int]:
    return {name: rng.randint(10, 90) for name in BAR_NAMES}


def _episode(folder: Path, rng: random.Random, n: int, at: datetime, talks: int) -> None:
    talk, stem = rng.randrange(talks), f"ep_{n:026d}"
    tag = " ".join(f"{name}={level}%" for name, level in _levels(rng).items())
    sources = tuple(_message_id(talk, turn) for turn in range(0, TURNS, 2))
    episode = episodes.new(
        stem,
        at,
        rng.random(),
        f"{sentences(rng)}\n\n---\n\n{sentences(rng)}",
        people=(rng.choice(PEOPLE),),
        imprints=(Imprint(rng.choice(FEELINGS), rng.random()),),
        soma=f"{tag} mood={rng.choice(MOODS)}",
        session=f"ses_{talk:026d}",
        provenance=Provenance(by="remember", model="scripted", sources=sources),
    )
    _write(folder / "episodes" / f"{at:%Y}" / f"{at:%m}" / f"{stem}.md", episode.source)


def _belief(folder: Path, rng: random.Random, n: int, at: datetime, talks: int, lived: int) -> None:
    claim, stem = sentences(rng).partition(".")[0], f"bel_{n:026d}"
    evidence = (_message_id(rng.randrange(talks), 0), f"ep_{rng.randrange(lived):026d}")
    origin = Provenance(by="distill", model="scripted", trust="person")
    belief = beliefs.new(stem, claim, "world_fact", 0.7, at, evidence=evidence, provenance=origin)
    _write(folder / "beliefs" / f"{stem}.md", belief.source)


def _dream(folder: Path, rng: random.Random, n: int, at: datetime, lived: int) -> None:
    stem, pair = f"drm_{n:026d}", [f"ep_{rng.randrange(lived):026d}" for _ in range(2)]
    images = (sentences(rng), sentences(rng))
    dream = dreams.new(stem, at, ((pair[0], pair[1]),), images, sentences(rng))
    _write(folder / "dreams" / f"{stem}.md", dream.source)


def _commit(folder: Path, rng: random.Random) -> None:
    """Put the files into a repository, and behind them a commit for each body."""
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    dates = {"GIT_AUTHOR_DATE": START.isoformat(), "GIT_COMMITTER_DATE": START.isoformat()}
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "born"], check=True, env={**os.environ, **dates})
    stream = "".join(_commands(rng)).encode()
    subprocess.run([*git, "fast-import", "--quiet", "--force"], input=stream, check=True)
    subprocess.run([*git, "reset", "-q", "--hard"], check=True)


def _commands(rng: random.Random) -> Iterator[str]:
    for n in range(BODIES):
        at = _moment(n, BODIES)
        bars = "".join(f"  {name}: {{value: {v}, rest: 50}}\n" for name, v in _levels(rng).items())
        stamp = at.isoformat()
        levels = "dopamine: 0.5, cortisol: 0.1, oxytocin: 0.2"
        body = f"bars:\n  at: {stamp}\n{bars}hormones: {{at: '{stamp}', {levels}}}\naffects: []\n"
        message = "soma tick: the body\n\nCycle: tick\n"
        yield "commit refs/heads/main\n"
        yield f"committer a <a@b> {int(at.timestamp())} +0000\n"
        yield f"data {len(message)}\n{message}"
        yield "from refs/heads/main^0\n" if n == 0 else ""
        yield f"M 100644 inline soma.yaml\ndata {len(body)}\n{body}\n"


def made(folder: Path, page: Path) -> dict[str, float]:
    """Make the page in a process of its own; return what it took."""
    command = [sys.executable, "-m", "bumble", "report", "-e", str(folder), str(page)]
    now = (START + timedelta(days=DAYS)).isoformat()
    started = time.perf_counter()
    process = subprocess.Popen([*command, "--now", now], cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return {
        "seconds to make": time.perf_counter() - started,
        "seconds of processor": usage.ru_utime + usage.ru_stime,
        "megabytes of memory": usage.ru_maxrss / 1_000,
        "megabytes of page": page.stat().st_size / 1e6,
    }


def _show(rows: dict[str, float]) -> None:
    for name, value in rows.items():
        print(f"{name:36} {value:9.2f}", flush=True)


def main() -> None:
    """Make, draw, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="live in this folder, and leave it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.keep or Path(scratch) / "ada").resolve()
        shutil.rmtree(folder, ignore_errors=True)
        make(folder, options.count)
        page = folder.parent / "report.html"
        rounds = [made(folder, page) for _ in range(options.rounds)]
        rows = {name: median(each[name] for each in rounds) for name in rounds[0]}
        _show(rows)
        if browser.MISSING:
            print(f"not drawn: {browser.MISSING}")
        else:
            with browser.opened() as running:
                drawn = [browser.timings(running, page) for _ in range(options.rounds)]
            drawing = {name: median(each[name] for each in drawn) for name in drawn[0]}
            _show(drawing)
            rows |= drawing
    OUT.mkdir(exist_ok=True)
    (OUT / "report.json").write_text(json.dumps({"count": options.count, **rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
