"""What catalysts bring beside plain recall, and which topics a life has, on LoCoMo-shaped talks.

Every conversation becomes an entity folder; its catalysts are drawn by form (questions that were
really asked), so that no model is needed. Each question is searched for by `recall` and by
`catalyze` in each register. Prints recall@10 and, for questions that rest on several conversations,
how often all turns are among the ten, and by what a way is behind plain recall; then the first
topics of every conversation. Writes `bench/out/catalyze.json`.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import Any
from zoneinfo import ZoneInfo

from bench.recall import DATA, OUT, WEIGHTS, open_named, questions, write_entity
from bumble.entity import create, settings
from bumble.entity.create import NewEntity
from bumble.index.rows import Filter
from bumble.index.memory import Memory
from bumble.llm.scripted import ScriptedModel
from bumble.models.abilities.tiers import Abilities
from bumble.models.embed.protocol import Embedder
from bumble.recall import catalysts, catalyze, survey
from bumble.records import kinds, relationships, session_files
from bumble.runtime import job
from bumble.runtime.runtime import Runtime

POOL, SHOWN, TOPICS = 40, 10, 20
PLAIN, JOINED = "recall", "joined, unordered"
WAYS = (PLAIN, JOINED, *catalyze.REGISTERS)


def open_life(root: Path, conversation: Mapping[str, Any], embedder: Embedder | None) -> Runtime:
    """Open the entity of a conversation, at the time of its last message."""
    name = str(conversation.get("speaker_b", "assistant"))
    owner = str(conversation.get("speaker_a", "user"))
    entity = create.create(root / "entity", NewEntity(name, "curious", owner, "UTC"))
    loaded = settings.load(entity.file)
    if loaded.identity is None:
        raise TypeError("a newborn has an identity")
    memory = Memory(
        entity,
        lambda: embedder,
        name=name,
        zone=ZoneInfo("UTC"),
        config=loaded.config.recall,
    )

    def last() -> datetime:
        infos = map(session_files.read_info, session_files.paths(entity.sessions))
        return max(info.last_at for info in infos)

    return Runtime(
        entity,
        loaded.identity,
        loaded.config,
        ScriptedModel([]),
        memory,
        last,
        random.Random(0),
        abilities=Abilities(),
    )


def draw(runtime: Runtime) -> int:
    """Draw the catalysts of a life; returns how many there are."""
    for drawing in catalysts.check(runtime).jobs:
        job.apply(runtime, catalysts.run(runtime, drawing))
    runtime.memory.sync()
    owner = (relationships.person_id(runtime.identity.owner.name),)
    taken = survey.take(runtime.memory, runtime.now(), owner)
    return sum(len(taken.catalysts(topic)) for topic in taken.topics)


def rankings(runtime: Runtime, query: str) -> dict[str, list[str]]:
    """Return the messages that each way finds, the best first."""
    message = (kinds.SESSION.passages,)
    plain = runtime.memory.search(query, kinds=message, limit=POOL)
    met = runtime.memory.pointers(query, Filter(kinds=message), catalyze.CATALYSTS)
    joined = catalyze.joined_hits(plain, met)
    ways = {PLAIN: plain[:SHOWN], JOINED: joined[:SHOWN]}
    ways |= {
        register: catalyze.ordered(joined, query, register, SHOWN)
        for register in catalyze.REGISTERS
    }
    return {way: [hit.id for hit in hits] for way, hits in ways.items()}


def measure(
    path: Path, embedder: Embedder | None
) -> tuple[dict[str, dict[str, list[float]]], dict[str, list[str]], int]:
    """Run every question in its own conversation.

    Returns:
        By way, the shares found among ten and, of questions over several conversations, whether all
        were; the first topics by conversation; and how many catalysts were drawn.
    """
    scores: dict[str, dict[str, list[float]]] = {way: {"recall": [], "all": []} for way in WAYS}
    topics: dict[str, list[str]] = {}
    drawn = 0
    for sample in json.loads(path.read_text()):
        with tempfile.TemporaryDirectory() as place:
            runtime = open_life(Path(place), sample["conversation"], embedder)
            _, _, ids = write_entity(runtime.entity.root, sample["conversation"])
            drawn += draw(runtime)
            talk = {message: turn.partition(":")[0] for turn, message in ids.items()}
            owner = (relationships.person_id(runtime.identity.owner.name),)
            taken = survey.take(runtime.memory, runtime.now(), owner)
            names = [topic.name for topic in taken.topics[:TOPICS]]
            topics[f"{runtime.identity.owner.name} and {runtime.identity.name}"] = names
            for question in questions(sample["qa"], ids):
                for way, found_ids in rankings(runtime, question.text).items():
                    share = len(question.evidence & set(found_ids)) / len(question.evidence)
                    scores[way]["recall"].append(share)
                    if len({talk[message] for message in question.evidence}) > 1:
                        scores[way]["all"].append(float(share == 1))
    return scores, topics, drawn


def main() -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--embedder", default="all-minilm-l6-v2")
    parser.add_argument("--weights-folder", type=Path, default=WEIGHTS)
    parser.add_argument("--out", type=Path, default=OUT / "catalyze.json")
    options = parser.parse_args()
    if not options.data.is_file():
        print(f"skipped: there is no {options.data}")
        return 0
    embedder = open_named(options.embedder, options.weights_folder)
    scores, topics, drawn = measure(options.data, embedder)
    print(f"{options.data.name}, {options.embedder}: {drawn} catalysts")
    rows = {}
    for way, lists in scores.items():
        rows[way] = {name: fmean(values) for name, values in lists.items() if values}
        counts = f"{len(lists['recall'])} questions, {len(lists['all'])} over several talks"
        figures = "  ".join(f"{name} {100 * value:5.1f}" for name, value in rows[way].items())
        lost = [
            f"{name} by {100 * (rows[PLAIN][name] - value):.1f}"
            for name, value in rows[way].items()
            if value < rows[PLAIN][name]
        ]
        print(f"{way:20} {figures}   {counts}" + (f"   loses {', '.join(lost)}" if lost else ""))
    for pair, names in topics.items():
        print(f"\n{pair}: {', '.join(names)}")
    result = {"embedder": options.embedder, "catalysts": drawn, "scores": rows, "topics": topics}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
