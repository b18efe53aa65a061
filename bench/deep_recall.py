"""Whether deep recall finds all the turns that a question over several places needs.

Of every LoCoMo-shaped conversation the questions with two or more turns of evidence: the share of
which all turns are among the lines that are quoted, and the share of the turns; by rule, and for
`recall` alone with as many lines. Writes `bench/out/deep_recall.json`. Needs no chat model.

`--questions FILE` asks others in their place: a JSON list of {conversation, question, evidence},
by the ids of LoCoMo, as `bench/data/deep_recall/ten.json` is. `--model NAME` (weights that are
here, as `bumble model list` names them) has a model plan as well: an answer is right where the
places that it cites hold all of the evidence.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from bench.recall import DATA, OUT, WEIGHTS, Question, open_named, questions, write_entity
from bumble.entity import settings
from bumble.entity.config import Identity
from bumble.index.memory import Memory
from bumble.llm.embedded import EmbeddedModel
from bumble.llm.protocol import Model
from bumble.llm.scripted import ScriptedModel
from bumble.models.abilities.tiers import ABLE
from bumble.models.embed.protocol import Embedder
from bumble.models.weights import catalog, store
from bumble.recall.deep_recall import by_rule, deep, reach
from bumble.recall.recalled import Search
from bumble.runtime.runtime import Runtime

LINES = (5, 10)
RECALL, RULE, PLAN = "recall", "by rule", "planned by the model"
WINDOW_TOKENS = 8192
ADVERSARIAL = "5"  # of LoCoMo: what is asked for isn't there


def runtime_of(
    place: Path, embedder: Embedder | None, conversation: dict[str, object]
) -> tuple[Runtime, dict[str, str]]:
    """Open a conversation as an entity's memory; with the message id of every turn."""
    entity, name, ids = write_entity(place, conversation)
    loaded = settings.load()
    memory = Memory(
        entity, lambda: embedder, name=name, zone=ZoneInfo("UTC"), config=loaded.config.recall
    )
    identity = Identity(schema_version=2, name=name)
    now = datetime.now(UTC) + timedelta(days=1)
    runtime = Runtime(
        entity,
        identity,
        loaded.config,
        ScriptedModel([]),
        memory,
        lambda: now,
        random.Random(0),
    )
    memory.sync()
    return runtime, ids


def found(runtime: Runtime, question: Question, lines: int) -> dict[str, float]:
    """Return by way the share of the evidence among so many lines."""
    place = reach.of_scope(runtime, Search((), "calm", runtime.now()), "all_sessions")
    quoted, _ = by_rule.answer(place, question.text, lines)
    plain = place.search(question.text, limit=lines)
    ways = {RECALL: {hit.id for hit in plain}, RULE: {source.id for source in quoted}}
    return {way: len(ids & question.evidence) / len(question.evidence) for way, ids in ways.items()}


def planned(runtime: Runtime, question: Question) -> dict[str, float]:
    """Return the share of the evidence that a model's answer cites; 0 where it gave none."""
    search = Search((), "calm", runtime.now())
    result = deep.recall(runtime, search, question.text, "all_sessions")
    cited = {source.id for source in result.sources} if result.way == "plan" else set()
    print(f"  {result.way}: {question.text} {result.answer or '-'} ({result.ended})", flush=True)
    return {PLAN: len(cited & question.evidence) / len(question.evidence)}


def model_named(name: str, folder: Path) -> Model:
    """Open weights of this machine."""
    entry = next(entry for entry in catalog.load() if entry.name == name)
    return EmbeddedModel(
        store.require(folder, entry).weights,
        name=name,
        sha256=entry.files[0].sha256,
        context_tokens=WINDOW_TOKENS,
        cache_dir=None,
        cache_limit_bytes=0,
    )


def asked_of(path: Path | None, sample: dict[str, Any], ids: dict[str, str]) -> list[Question]:
    """Return the questions of a conversation that need more than one place."""
    if path is not None:
        rows = [
            {**row, "category": ""}
            for row in json.loads(path.read_text())
            if row["conversation"] == sample["sample_id"]
        ]
        return list(questions(rows, ids))
    return [
        question
        for question in questions(sample["qa"], ids)
        if len(question.evidence) > 1 and question.category != ADVERSARIAL
    ]


def main() -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--embedder", default="all-minilm-l6-v2")
    parser.add_argument("--weights-folder", type=Path, default=WEIGHTS)
    parser.add_argument("--most", type=int, default=None, help="questions of a conversation")
    parser.add_argument("--questions", type=Path, default=None, help="others, as JSON")
    parser.add_argument("--model", default=None, help="weights that plan, too")
    parser.add_argument("--conversations", type=int, default=None)
    parser.add_argument("--out", type=Path, default=OUT / "deep_recall.json")
    options = parser.parse_args()
    if not options.data.is_file():
        print(f"skipped: there is no {options.data}")
        return 0
    started = time.perf_counter()
    embedder = open_named(options.embedder, options.weights_folder)
    model = model_named(options.model, options.weights_folder) if options.model else None
    shares: dict[str, list[float]] = {}
    for sample in json.loads(options.data.read_text())[: options.conversations]:
        with tempfile.TemporaryDirectory() as folder:
            runtime, ids = runtime_of(Path(folder), embedder, sample["conversation"])
            if model is not None:
                runtime = replace(runtime, model=model, abilities=ABLE)
            for question in asked_of(options.questions, sample, ids)[: options.most]:
                if model is not None:
                    for way, share in planned(runtime, question).items():
                        shares.setdefault(way, []).append(share)
                for lines in LINES:
                    for way, share in found(runtime, question, lines).items():
                        shares.setdefault(f"{way}, {lines} lines", []).append(share)
    rows = {
        way: {
            "questions": len(values),
            "all_evidence": fmean(value == 1.0 for value in values),
            "evidence": fmean(values),
        }
        for way, values in shares.items()
    }
    for way, row in rows.items():
        print(f"{way:20} {100 * row['all_evidence']:5.1f} {100 * row['evidence']:5.1f}")
    print(f"{time.perf_counter() - started:.0f} s")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(
        json.dumps({"embedder": options.embedder, "ways": rows}, indent=1) + "\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
