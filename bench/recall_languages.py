"""How well questions find the messages that answer them, by language.

German and English from the lives of `bench/data/truth`, whose questions are no messages here;
Spanish and French from `bench/data/recall`. Each person's or life's messages become transcripts of
one folder, once each life alone and once all in one folder, as somebody would have it who speaks
several languages. Prints recall@1, recall@10, nDCG@10 and MRR of words alone and, with --embedder,
of all that counts. With --squad, the paragraphs and questions of a file in SQuAD's form instead,
each article a conversation: ARCD for Arabic, JaQuAD for Japanese, fetched and kept elsewhere. With
--madial, the dialogues and memories of a folder of MADial-Bench (`data/ch`, NAACL 2025) in place of
them: a dialogue up to its test turn is a question, asked by whoever speaks in it; the memories of
each person lie in a folder of their own, as its makers have them, and those of both in one.
Run it as `python -m bench.recall_languages`.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench.recall import WEIGHTS, Question, Scores, mean, open_named, score
from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.index.chunks import spoken_name
from bumble.index.rows import Filter
from bumble.index.search import opened, search
from bumble.index.sync import sync
from bumble.models.embed.protocol import Embedder
from bumble.records import base, sessions
from bumble.records.sessions import Message
from bumble.text import yaml_read

DATA = Path(__file__).resolve().parent / "data"
START = datetime(2026, 2, 2, 20, tzinfo=UTC)
MESSAGES_A_SESSION = 10
ALL = "all in one folder"
SAID = re.compile(r'<\w+>:"?(.*?)"?$')  # a line of a dialogue
RELEVANT = "relevant-id"


class Life(Struct, frozen=True):
    """What was said in a language, and what is asked about it."""

    name: str  # of who said it, and who asks
    language: str
    texts: Mapping[str, tuple[int, str]]  # number of the session and text, by number
    questions: Sequence[tuple[str, tuple[str, ...]]]  # text, and numbers of what answers it


def lives() -> list[Life]:
    """Read all there are."""
    written = sorted((DATA / "recall").glob("*.yaml"))
    planted = sorted((DATA / "truth" / "lives").glob("*.yaml"))
    return [_planted(file) for file in planted] + [_written(file) for file in written]


def _read(file: Path) -> dict[str, Any]:
    return yaml_read.parse_mapping(file.read_text(encoding="utf-8"))


def _planted(file: Path) -> Life:
    life = _read(file)
    texts, asked = {}, []
    for message in life["messages"]:
        if message["label"] == "question":
            asked.append((message["text"], tuple(map(str, message.get("answer_in", ())))))
        else:
            texts[str(message["i"])] = (message["session"], message["text"])
    for question in life["later_questions"]:
        asked.append((question["text"], tuple(map(str, question.get("about", ())))))
    answered = [(text, tuple(n for n in numbers if n in texts)) for text, numbers in asked]
    return Life(file.stem, life["language"], texts, [each for each in answered if each[1]])


def _written(file: Path) -> Life:
    life = _read(file)
    texts = {str(n): (n // MESSAGES_A_SESSION, text) for n, text in enumerate(life["messages"])}
    asked = [(each["text"], tuple(map(str, each["answer_in"]))) for each in life["questions"]]
    return Life(file.stem, file.stem, texts, asked)


def _squad(file: Path) -> Life:
    articles = json.loads(file.read_text(encoding="utf-8"))["data"]
    paragraphs = [(n, each) for n, article in enumerate(articles) for each in article["paragraphs"]]
    return Life(
        "reader",
        file.stem,
        {str(n): (at, each["context"]) for n, (at, each) in enumerate(paragraphs)},
        [
            (asked["question"], (str(n),))
            for n, (_, each) in enumerate(paragraphs)
            for asked in each["qas"]
        ],
    )


def _dialogues(folder: Path) -> list[Life]:
    (told,), (asked,) = (list(folder.glob(f"*-{name}.json")) for name in ("memory", "dialogue"))
    rows = [row for line in told.open(encoding="utf-8") for row in json.loads(line).items()]
    talks = [json.loads(line) for line in asked.open(encoding="utf-8")]
    return [
        Life(
            f"person-{person}",
            folder.name,
            {key: (int(key), row["event"]) for key, row in rows if row["user-id"] == person},
            [
                (_until(talk["dialogue"], talk["test-turn"][0]), tuple(map(str, talk[RELEVANT])))
                for talk in talks
                if talk["user-id"] == person
            ],
        )
        for person in sorted({row["user-id"] for _, row in rows})
    ]


def _until(lines: Sequence[str], turn: int) -> str:
    said = (SAID.match(line.strip()) for line in lines[:turn])
    return "\n".join(line[1] for line in said if line)


def write(entity: Entity, life: Life) -> list[Question]:
    """Write a life as transcripts. Returns its questions, with the ids of what answers them."""
    rng, ids = random.Random(life.name), dict[str, str]()
    rows = [(number, session, text) for number, (session, text) in life.texts.items()]
    for session_number, each in groupby(rows, key=lambda row: row[1]):
        start = START + timedelta(days=session_number)
        messages = []
        for n, (number, _, text) in enumerate(each):
            at = start + timedelta(minutes=n)
            ids[number] = base.new_id(sessions.MESSAGE_PREFIX, at, rng)
            messages.append(Message(ids[number], at, "user", text, life.name))
        session = sessions.new(base.new_id(sessions.PREFIX, start, rng), start, life.name)
        plan = (
            sessions.plan_start(session, "bench"),
            sessions.plan_append(session, messages, "bench"),
        )
        changes.apply(entity.root, ChangeSet("bench", plan))
    return [
        Question(text, life.language, frozenset(ids[number] for number in numbers))
        for text, numbers in life.questions
    ]


def measure(some: Iterable[Life], embedder: Embedder | None) -> dict[str, list[Scores]]:
    """Write lives into one folder and ask all their questions. Returns the scores by language."""
    scores: dict[str, list[Scores]] = {}
    with tempfile.TemporaryDirectory() as place:
        entity = Entity(Path(place))
        asked = [(life.name, question) for life in some for question in write(entity, life)]
        sync(entity, embedder, name="Ada", zone=UTC)
        with opened(entity) as index:
            for name, question in asked:
                hits = search(
                    index,
                    question.text,
                    embedder,
                    only=Filter(kinds=("message",)),
                    limit=20,
                    asker=spoken_name(name),
                )
                scores.setdefault(question.category, []).append(
                    score([hit.id for hit in hits], question.evidence)
                )
    return scores


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--embedder", default="none", help="a name of the catalog, or none")
    parser.add_argument("--weights-folder", type=Path, default=WEIGHTS)
    parser.add_argument("--squad", type=Path, metavar="FILE", help="ask these questions instead")
    parser.add_argument("--madial", type=Path, metavar="DIR", help="or these")
    options = parser.parse_args()
    embedder = open_named(options.embedder, options.weights_folder)
    if options.madial:
        everything = _dialogues(options.madial)
    else:
        everything = [_squad(options.squad)] if options.squad else lives()
    alone: dict[str, list[Scores]] = {}
    for life in everything:
        for language, scores in measure([life], embedder).items():
            alone.setdefault(language, []).extend(scores)
    legs = {"each alone": alone}
    if len(everything) > 1:
        legs[ALL] = measure(everything, embedder)
    for title, found in legs.items():
        print(f"{title}, embedder {options.embedder}")
        print(f"  {'':10} questions  recall@1 recall@10   nDCG@10       MRR")
        for language, scores in sorted(found.items()):
            row = mean(scores)
            shown = (row.recall_1, row.recall_10, row.ndcg_10, row.mrr)
            figures = " ".join(f"{100 * x:9.1f}" for x in shown)
            print(f"  {language:10} {len(scores):9} {figures}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
