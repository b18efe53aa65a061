"""Whether petri's first topics are those that readers of a conversation would name.

Takes lists that readers wrote from the conversations alone, each a JSON object: id of a
conversation to words that name a topic; by default those of `bench/data/petri`, fifteen words a
conversation. The readers saw nothing of each other. A topic is there if a name of one of the first
twenty has the word's stem. Prints, for every conversation, the share of the words that all readers
name that is there, those that are not, and how many of the words of any reader are.
Writes `bench/out/petri.json`. Needs no model; the conversations are no part of the repository.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from bench.recall import DATA, OUT, write_entity
from bumble.entity import settings
from bumble.entity.create import NewEntity
from bumble.index.memory import Memory
from bumble.llm.scripted import ScriptedModel
from bumble.models.embed.protocol import Embedder
from bumble.models.tiers import Abilities
from bumble.recall import survey, topic_mining
from bumble.records import session_files
from bumble.runtime.runtime import Runtime
from tests.support import newborns

TOPICS = 20
LISTS = sorted((Path(__file__).parent / "data/petri").glob("*.json"))


def open_life(root: Path, conversation: Mapping[str, Any], embedder: Embedder | None) -> Runtime:
    """Open the entity of a conversation, at the time of its last message."""
    name = str(conversation.get("speaker_b", "assistant"))
    owner = str(conversation.get("speaker_a", "user"))
    entity = newborns.created(root / "entity", NewEntity(name, "curious", owner, "UTC"))
    loaded = settings.load(entity.file)
    if loaded.identity is None:
        raise TypeError("a newborn has an identity")
    memory = Memory(entity, lambda: embedder, name=name, zone=ZoneInfo("UTC"))

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
        abilities=lambda: Abilities(),
    )


def first_topics(runtime: Runtime, count: int = TOPICS) -> list[topic_mining.Topic]:
    """Return the topics that stand out most."""
    runtime.memory.sync()
    return list(survey.take(runtime.memory, runtime.now(), None).topics[:count])


def is_named(word: str, topics: Sequence[topic_mining.Topic]) -> bool:
    """Whether a topic has the stem of a word among its names."""
    stems = set(topic_mining.key_of(word))
    return any(stems <= set(key) for topic in topics for key in topic.keys)


def shared(lists: Sequence[dict[str, list[str]]], conversation: str) -> list[str]:
    """Return the words that every reader names of a conversation, by their stems."""
    first, *others = [each.get(conversation, []) for each in lists]
    return [
        word
        for word in first
        if all(topic_mining.key_of(word) in map(topic_mining.key_of, words) for words in others)
    ]


def any_of(lists: Sequence[dict[str, list[str]]], conversation: str) -> list[str]:
    """Return the words that any reader names of a conversation, each stem once."""
    words = [word for each in lists for word in each.get(conversation, [])]
    return list({topic_mining.key_of(word): word for word in words}.values())


def main() -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lists", type=Path, nargs="*", default=LISTS, help="readers' lists, JSON")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, default=OUT / "petri.json")
    options = parser.parse_args()
    if not options.data.is_file():
        print(f"skipped: there is no {options.data}")
        return 0
    lists = [json.loads(path.read_text()) for path in options.lists]
    rows = {}
    for sample in json.loads(options.data.read_text()):
        name = sample["sample_id"]
        wanted, any_wanted = shared(lists, name), any_of(lists, name)
        with tempfile.TemporaryDirectory() as folder:
            runtime = open_life(Path(folder), sample["conversation"], None)
            write_entity(runtime.entity.root, sample["conversation"])
            topics = first_topics(runtime)
        missing = [word for word in wanted if not is_named(word, topics)]
        there = len(wanted) - len(missing)
        by_any = sum(is_named(word, topics) for word in any_wanted)
        rows[name] = {"all": [there, len(wanted)], "any": [by_any, len(any_wanted)]}
        print(f"{name}: {there} of {len(wanted)} ({there / max(len(wanted), 1):.0%})", end="")
        print(f", by any reader {by_any} of {len(any_wanted)}; not {', '.join(missing) or '-'}")
        print(f"  {', '.join(topic.name for topic in topics)}")
    total, most = (sum(row["all"][place] for row in rows.values()) for place in (0, 1))
    print(f"together: {total} of {most} ({total / max(most, 1):.0%})")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
