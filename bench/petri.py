"""Whether petri's first topics are those that readers of a conversation would name.

Takes lists that readers wrote from the conversations alone, each a JSON object: id of a
conversation to words that name a topic. A topic is there if a name of one of the first twenty has
the word's stem. Prints, for every conversation, how many of the words that all readers name are
there, and those that are not. Needs no model; lists and conversations are no part of the
repository.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.catalyze import TOPICS, open_life
from bench.recall import DATA, write_entity
from bumble.runtime.runtime import Runtime
from bumble.topics import petri, survey


def first_topics(life: Runtime, count: int = TOPICS) -> list[petri.Topic]:
    """Return the topics that stand out most."""
    life.memory.sync()
    return list(survey.take(life.memory, life.now(), None).topics[:count])


def is_named(word: str, topics: Sequence[petri.Topic]) -> bool:
    """Whether a topic has the stem of a word among its names."""
    stems = set(petri.key_of(word))
    return any(stems <= set(key) for topic in topics for key in topic.keys)


def shared(lists: Sequence[dict[str, list[str]]], conversation: str) -> list[str]:
    """Return the words that every reader names of a conversation, by their stems."""
    first, *others = [each.get(conversation, []) for each in lists]
    return [
        word
        for word in first
        if all(petri.key_of(word) in map(petri.key_of, words) for words in others)
    ]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lists", type=Path, nargs="+", help="a reader's list, as JSON")
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    if not options.data.is_file():
        print(f"skipped: there is no {options.data}")
        return 0
    lists = [json.loads(path.read_text()) for path in options.lists]
    for sample in json.loads(options.data.read_text()):
        wanted = shared(lists, sample["sample_id"])
        with tempfile.TemporaryDirectory() as folder:
            life = open_life(Path(folder), sample["conversation"], None)
            write_entity(life.entity.root, sample["conversation"])
            topics = first_topics(life)
        missing = [word for word in wanted if not is_named(word, topics)]
        print(f"{sample['sample_id']}: {len(wanted) - len(missing)} of {len(wanted)}", end="")
        print(f"; not {', '.join(missing)}" if missing else "")
        print(f"  {', '.join(topic.name for topic in topics)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
