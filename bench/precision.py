"""Whether `recall` shows what answers and little else, and whether it understands periods.

The lives of `bench/data/precision` (three languages, written before the rules that they measure)
become folders: each message a conversation of its day, each belief a file, some of them put right
by later ones. `one`, `several` and `none` are searched as `bumble recall` does without `-n`: prints
precision, recall and how much is shown. `periods` name a time: prints recall@10 and nDCG@10 with
the period and without. Run it as `python -m bench.precision`.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, time
from pathlib import Path
from statistics import fmean
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct
from msgspec.structs import replace

from bench.recall import WEIGHTS, Scores, mean, open_named, score
from bumble.entity import changes, settings
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.index.memory import Memory
from bumble.index.rows import Period
from bumble.models.embed.protocol import Embedder
from bumble.recall import memory_search
from bumble.recall.memory_search import Search
from bumble.records import base, beliefs, sessions
from bumble.records.sessions import Message
from bumble.text import yaml_read

DATA = Path(__file__).resolve().parent / "data" / "precision"
KINDS = ("one", "several", "none")
PERIODS = "periods"
NOON = time(12, tzinfo=UTC)
SHOWN = 10  # records in the usual list
LEGS = ("list", "without period", "answers")  # the best, and what `bumble recall` shows


class Case(Struct, frozen=True):
    """A question, and the records that answer it."""

    kind: str  # one of KINDS, or PERIODS
    text: str
    answers: frozenset[str]


class Life(Struct, frozen=True):
    """A life in its folder, and what is asked."""

    memory: Memory
    language: str
    now: datetime
    cases: Sequence[Case]


def _at(day: object) -> datetime:
    return datetime.combine(datetime.fromisoformat(str(day)).date(), NOON)


def write(entity: Entity, life: Mapping[str, Any], person: str) -> dict[str, str]:
    """Write a life as records. Returns their ids by the names that its questions give them."""
    rng, ids, plan = random.Random(person), dict[str, str](), []
    for n, (day, text) in enumerate(life["messages"]):
        at = _at(day)
        ids[str(n)] = base.new_id(sessions.MESSAGE_PREFIX, at, rng)
        session = sessions.new(base.new_id(sessions.PREFIX, at, rng), at, person)
        message = Message(ids[str(n)], at, "user", text, person)
        plan += [
            sessions.plan_start(session, "bench"),
            sessions.plan_append(session, [message], "bench"),
        ]
    for n, (day, text, *_) in reversed(list(enumerate(life["beliefs"]))):
        at = _at(day)
        ids[f"b{n}"] = base.new_id(beliefs.BELIEF.prefix, at, rng)
        later = tuple(ids[f"b{m}"] for m, each in enumerate(life["beliefs"]) if each[2:] == [n])
        belief = beliefs.new(
            ids[f"b{n}"], text, "world_fact", 0.5 if later else 0.9, at, contradicts=later
        )
        plan.append(beliefs.BELIEF.plan_new(belief, "bench"))
    changes.apply(entity.root, ChangeSet("bench", tuple(plan)))
    return ids


def lives(embedder: Embedder | None, folder: Path) -> Iterator[Life]:
    """Write and index every life."""
    for file in sorted(DATA.glob("*.yaml")):
        life = yaml_read.parse_mapping(file.read_text(encoding="utf-8"))
        entity = Entity(folder / file.stem)
        ids = write(entity, life, file.stem)
        memory = Memory(entity, lambda: embedder, name="Ada", zone=ZoneInfo("UTC"))
        memory.sync()
        cases = [
            Case(kind, text, frozenset(ids[str(name)] for name in named))
            for kind in (*KINDS, PERIODS)
            for text, named in life[kind]
        ]
        yield Life(memory, str(life["language"]), _at(life["now"]), cases)


def look(life: Life, case: Case, *, leg: str) -> list[str]:
    """Return the ids of the records that a question finds, in one of LEGS."""
    config, search = settings.load().config, Search((), "content", life.now)
    given = (life.memory, config, search, case.text)
    if leg == "answers":
        return [hit.id for hit in memory_search.answers(*given).answers]
    if leg == "without period":
        never = datetime(1, 1, 1, tzinfo=UTC)
        given = (life.memory, config, replace(search, period=Period(never, never)), case.text)
    hits = memory_search.find(*given, limit=SHOWN, unasked=False, touching=True)
    return [hit.id for hit in hits]


def show(everything: Sequence[Life]) -> None:
    """Print how much of what is shown answers, and how much of what answers is shown."""
    print(f"{'':24} cases precision  recall  shown")
    for leg in LEGS:
        rows: dict[str, list[tuple[float, float, int]]] = {}
        for life in everything:
            for case in life.cases:
                ids = frozenset(look(life, case, leg=leg))
                right = len(ids & case.answers)
                precision = right / len(ids) if ids else float(not case.answers)
                recall = right / len(case.answers) if case.answers else 1.0
                for row in (case.kind, *([life.language] if case.kind in KINDS else [])):
                    rows.setdefault(row, []).append((precision, recall, len(ids)))
        for row, values in sorted(rows.items()):
            precision, recall, shown = map(fmean, zip(*values, strict=True))
            print(f"{leg:15} {row:8} {len(values):5} {precision:9.2f} {recall:7.2f} {shown:6.1f}")


def show_periods(everything: Sequence[Life]) -> None:
    """Print how well what a period asks for is ranked."""
    for leg in ("list", "without period"):
        scores: list[Scores] = [
            score(look(life, case, leg=leg), case.answers)
            for life in everything
            for case in life.cases
            if case.kind == PERIODS
        ]
        row = mean(scores)
        print(
            f"{leg:15} {len(scores)} questions with a period:"
            f" nDCG@10 {100 * row.ndcg_10:.1f}, recall@10 {100 * row.recall_10:.1f}"
        )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--embedder", default="all-minilm-l6-v2", help="of the catalog, or none")
    parser.add_argument("--weights-folder", type=Path, default=WEIGHTS)
    options = parser.parse_args()
    embedder = open_named(options.embedder, options.weights_folder)
    print(f"embedder {options.embedder}")
    with tempfile.TemporaryDirectory() as folder:
        everything = list(lives(embedder, Path(folder)))
        show(everything)
        show_periods(everything)
    return 0


if __name__ == "__main__":
    sys.exit(main())
