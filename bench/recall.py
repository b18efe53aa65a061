"""How well `recall` finds the turns that answer a question, by the product's own index and search.

Every conversation of a LoCoMo-shaped file, or of a folder of talks, becomes an entity folder whose
sessions are transcripts. Each question is searched for in its own conversation only: with all that
counts, without each of it, and by words alone. Prints recall@1/5/10/20, MRR and
nDCG@10 by category (LoCoMo's 5 are adversarial: the question names the wrong person), a table of
what each part brings, and writes all to `bench/out/recall.json`. --embedder takes any of the
catalog; weights were chosen on all-minilm-l6-v2.

With --random-imprints, the turns are also ranked as if each had left a feeling that has nothing to
do with the question, in a random mood: what that costs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, fields, replace

from bumble.body import affects
from bumble.body.config import EMOTIONS, FeltMemoryConfig
from bumble.bridges.imports import items
from bumble.entity import changes, settings
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.index import place as index_place
from bumble.index import rerank
from bumble.index.late import Shares
from bumble.index.postgres_server import PostgresServer
from bumble.index.rows import Filter
from bumble.index.search import Factor, Hit, opened, search
from bumble.index.sync import sync
from bumble.models.embed.protocol import Embedder
from bumble.models.weights import catalog, pull
from bumble.models.weights.embedders import open_embedder
from bumble.models.weights.store import PullOptions
from bumble.recall import periods
from bumble.records import base, relationships, sessions
from bumble.records.sessions import Message
from bumble.text import yaml_read
from tests.support.hashing import HashingEmbedder

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data" / "locomo-dev.json"
OUT = ROOT / "bench" / "out"
WEIGHTS = OUT / "weights"
ALL = Shares()
PARTS: dict[str, dict[str, Any]] = {  # what is switched off, and how
    "texts in the question": {"covered": 0.0},
    "turns before": {"before": ()},
    "words": {"words": 0.0},
    "surroundings": {"around": 0.0},
    "questions": {"asks": 0.0},
    "first person": {"own": 0.0},
    "named speaker": {"named": 0.0},
    "period": {"period": 0.0},
}
NOTHING = {name: value for part in PARTS.values() for name, value in part.items()}


class Leg(Struct, frozen=True):
    """One way to rank."""

    shares: Shares | None = ALL  # None: words alone
    few: int = rerank.FEW


EVERYTHING = "everything"
CHARGED = "with random imprints"  # everything, times a factor of chance
LEGS = {
    EVERYTHING: Leg(),
    "every chunk ranked": Leg(few=1_000_000),
    "words alone": Leg(None),
    "tokens alone": Leg(shares=replace(ALL, **NOTHING)),
} | {f"without {name}": Leg(shares=replace(ALL, **off)) for name, off in PARTS.items()}
MAX_AGE_DAYS = 60
_DATES = ("%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d")
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


class Question(Struct, frozen=True):
    """A question and the turns that answer it."""

    text: str
    category: str
    evidence: frozenset[str]  # ids of messages


class Scores(Struct, frozen=True):
    """How well the answers to some questions were found, each in [0, 1]."""

    recall_1: float
    recall_5: float
    recall_10: float
    recall_20: float
    mrr: float
    ndcg_10: float


def score(found: Sequence[str], evidence: frozenset[str]) -> Scores:
    """Score one ranking of message ids."""
    places = [place for place, one in enumerate(found) if one in evidence]
    gains = [1 / math.log2(place + 2) for place in places if place < 10]
    best = sum(1 / math.log2(place + 2) for place in range(min(10, len(evidence))))
    within = {k: sum(place < k for place in places) / len(evidence) for k in (1, 5, 10, 20)}
    first = 1 / (places[0] + 1) if places else 0.0
    return Scores(within[1], within[5], within[10], within[20], first, sum(gains) / best)


def mean(scores: Sequence[Scores]) -> Scores:
    """Average scores."""
    return Scores(*(fmean(getattr(one, field.name) for one in scores) for field in fields(Scores)))


def moment(text: str) -> datetime:
    """Read the date of a session in any of the forms that chat corpora use."""
    for form in _DATES:
        try:
            return datetime.strptime(text.strip(), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def samples(path: Path) -> list[dict[str, Any]]:
    """Read a LoCoMo-shaped file, or the talks of a folder (`bench/data/talks`) in that shape."""
    if path.is_dir():
        return [_of_talk(file) for file in sorted(path.rglob("*.yaml"))]
    read: list[dict[str, Any]] = json.loads(path.read_text())
    return read


def _of_talk(file: Path) -> dict[str, Any]:
    talk = yaml_read.parse_mapping(file.read_text(encoding="utf-8"))
    conversation = dict(zip(("speaker_a", "speaker_b"), talk["speakers"], strict=True))
    for n, session in enumerate(talk["sessions"]):
        conversation[f"session_{n}_date_time"] = f"{session['date']}"
        conversation[f"session_{n}"] = [
            {"speaker": speaker, "text": text, "dia_id": f"D{n}:{turn}"}
            for turn, (speaker, text) in enumerate(session["turns"])
        ]
    asked = [
        {
            "question": each["q"],
            "category": each["kind"],
            "evidence": [f"D{n}:{turn}" for n, turn in each["a"]],
        }
        for each in talk["questions"]
    ]
    return {"conversation": conversation, "qa": asked}


def said(turn: Mapping[str, Any]) -> str:
    """Return a turn as an import writes it: a picture that went with it is named in its place."""
    caption = turn.get("blip_caption")
    shown = [items.marked("picture", caption)] if caption else []
    return "\n".join([turn["text"], *shown])


def write_entity(root: Path, conversation: Mapping[str, Any]) -> tuple[Entity, str, dict[str, str]]:
    """Write a conversation as transcripts: speaker b is the entity, all others speak to it.

    Returns:
        The entity, its name, and the message id of every turn.
    """
    entity, rng = Entity(root), random.Random(0)
    name = str(conversation.get("speaker_b", "assistant"))
    ids: dict[str, str] = {}
    numbers = [int(key.split("_")[1]) for key in conversation if re.fullmatch(r"session_\d+", key)]
    for number in sorted(numbers):
        start = moment(conversation[f"session_{number}_date_time"])
        messages = []
        for n, turn in enumerate(conversation[f"session_{number}"]):
            at = start + timedelta(seconds=n)
            ids[turn["dia_id"]] = base.new_id(sessions.MESSAGE_PREFIX, at, rng)
            by_entity = turn["speaker"] == name
            messages.append(
                Message(
                    ids[turn["dia_id"]],
                    at,
                    "assistant" if by_entity else "user",
                    said(turn),
                    "" if by_entity else relationships.person_id(turn["speaker"]),
                )
            )
        person = relationships.person_id(str(conversation.get("speaker_a", "user")))
        session = sessions.new(base.new_id(sessions.PREFIX, start, rng), start, person)
        plan = (
            sessions.plan_start(session, "bench"),
            sessions.plan_append(session, messages, "bench"),
        )
        changes.apply(root, ChangeSet("bench", plan))
    return entity, name, ids


def questions(asked: Sequence[Mapping[str, Any]], ids: Mapping[str, str]) -> Iterator[Question]:
    """Yield the questions that have evidence in the conversation; broken ids are mended."""
    for one in asked:
        evidence = set()
        for raw in one.get("evidence") or []:
            whole = [raw] if raw in ids else []
            mended = [f"D{int(a)}:{int(b)}" for a, b in _EVIDENCE.findall(str(raw))]
            evidence |= {ids[turn] for turn in whole or mended if turn in ids}
        if evidence:
            yield Question(str(one["question"]), str(one["category"]), frozenset(evidence))


def chance_factor(question: str, memory: FeltMemoryConfig) -> Factor:
    """Give every turn one or two feelings by chance, the same for all questions, and a mood."""
    mood = random.Random(question).choice(EMOTIONS)

    def of(hit: Hit) -> float:
        rng = random.Random(hit.id)
        felt = [
            affects.Imprint(rng.choice(EMOTIONS), rng.random(), "")
            for _ in range(rng.randint(1, 2))
        ]
        age = rng.random() * MAX_AGE_DAYS * 86_400
        return affects.imprint_factor(felt, mood, age, memory)

    return Factor(of, 1 + memory.imprint_recall_weight * affects.IMPRINT_CAP)


def measure(
    path: Path,
    embedder: Embedder | None,
    legs: Mapping[str, Leg],
    *,
    imprints: bool = False,
    server: str = "",
) -> tuple[dict[str, Any], int]:
    """Run every question against the index of its own conversation.

    Returns:
        By leg and category, all scores; and how many questions had no usable evidence.
    """
    legs = dict(legs) if embedder else {"words alone": LEGS["words alone"]}
    legs |= {CHARGED: next(iter(legs.values()))} if imprints else {}
    memory = settings.load().config.memory
    found: dict[str, dict[str, list[Scores]]] = {leg: {} for leg in legs}
    dropped = 0
    for sample in samples(path):
        with tempfile.TemporaryDirectory() as place:
            entity, name, ids = write_entity(Path(place), sample["conversation"])
            at = index_place.of(entity)
            at = replace(at, server=PostgresServer(server)) if server else at
            sync(entity, embedder, name=name, zone=UTC, where=at)
            asked = list(questions(sample["qa"], ids))
            dropped += len(sample["qa"]) - len(asked)
            with opened(entity, at) as index:
                last = datetime.fromisoformat(index.store.rows("select max(at) from @chunks")[0][0])
                for question in asked:
                    period = periods.read(question.text, last)  # asked when all was said
                    for leg, how in legs.items():
                        rerank.FEW = how.few
                        hits = search(
                            index,
                            question.text,
                            embedder if how.shares else None,
                            only=Filter(kinds=("message",)),
                            limit=20,
                            shares=how.shares or ALL,
                            period=period,
                            factor=chance_factor(question.text, memory) if leg == CHARGED else None,
                        )
                        scores = score([hit.id for hit in hits], question.evidence)
                        found[leg].setdefault(question.category, []).append(scores)
    return found, dropped


def summary(found: Mapping[str, Sequence[Scores]]) -> dict[str, Scores]:
    """Average by category, over the categories, and over all questions."""
    rows = {category: mean(found[category]) for category in sorted(found)}
    everything = [one for scores in found.values() for one in scores]
    return rows | {"mean of categories": mean(list(rows.values())), "micro": mean(everything)}


def open_named(name: str, folder: Path) -> Embedder | None:
    """Open an embedder by the catalog's name; `hashing` and `none` need no weights."""
    if name in ("hashing", "none"):
        return HashingEmbedder() if name == "hashing" else None
    entry = catalog.load().entry(name)
    pull.pull(entry, folder, PullOptions(environment=os.environ))
    return open_embedder(folder, entry)


def main() -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--embedder", default="all-minilm-l6-v2")
    parser.add_argument("--leg", action="append", choices=list(LEGS), help="this one alone")
    parser.add_argument("--weights-folder", type=Path, default=WEIGHTS)
    parser.add_argument("--out", type=Path, default=OUT / "recall.json")
    parser.add_argument("--random-imprints", action="store_true", help="what chance feelings cost")
    parser.add_argument("--server", default="", help="a Postgres that the indexes stand on instead")
    options = parser.parse_args()
    if not options.data.exists():
        print(f"skipped: there is no {options.data}")
        return 0
    started = time.perf_counter()
    embedder = open_named(options.embedder, options.weights_folder)
    found, dropped = measure(
        options.data,
        embedder,
        {name: LEGS[name] for name in options.leg or LEGS},
        imprints=options.random_imprints,
        server=options.server,
    )
    seconds = time.perf_counter() - started
    rows = {leg: summary(scores) for leg, scores in found.items()}
    asked = sum(len(scores) for scores in next(iter(found.values())).values())
    print(f"{options.data.name}, {options.embedder}: {asked} questions, {dropped} without evidence")
    for leg, table in rows.items():
        print(f"\n{leg:28} " + " ".join(f"{field.name:>9}" for field in fields(Scores)))
        for category, scores in table.items():
            print(f"{category:28} " + " ".join(f"{100 * x:9.1f}" for x in asdict(scores).values()))
    print(f"\n{'mean of categories':28} {'nDCG@10':>8} {'':>6}   micro recall@10")
    whole = rows[next(iter(rows))]
    for leg, table in rows.items():
        ndcg, recall = table["mean of categories"].ndcg_10, table["micro"].recall_10
        less = [ndcg - whole["mean of categories"].ndcg_10, recall - whole["micro"].recall_10]
        print(
            f"{leg:28} {100 * ndcg:8.1f} {100 * less[0]:+6.1f}"
            f" {100 * recall:8.1f} {100 * less[1]:+6.1f}"
        )
    if options.random_imprints:
        plain, charged = (rows[leg]["mean of categories"] for leg in (next(iter(rows)), CHARGED))
        cost = 100 * (plain.ndcg_10 - charged.ndcg_10)
        print(f"\nrandom imprints cost {cost:.2f} points of nDCG@10, mean of categories")
    print(f"\n{seconds:.0f} s")
    result = {
        "data": options.data.name,
        "embedder": options.embedder,
        "questions": asked,
        "dropped": dropped,
        "scores": {
            leg: {row: asdict(scores) for row, scores in table.items()}
            for leg, table in rows.items()
        },
        "seconds": seconds,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
