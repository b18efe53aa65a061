"""What comes to mind by itself: small talk is to bring nothing, a question what answers it.

Questions are those of the LoCoMo-shaped file that `--data` names, each against the index of its own
conversation, and of the lives in four languages that `bench.recall_languages` asks; small talk are
the greetings, thanks, reactions and idle remarks of `bench/data/truth/router`, by writers who saw
neither rules nor thresholds, against the same indexes. Prints for some thresholds of nearness the
share of lines that bring anything, and of questions whose answer comes. Run it as
`python -m bench.unasked`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC
from pathlib import Path

from msgspec import Struct, field

from bench import recall_languages
from bench.recall import DATA, WEIGHTS, Question, open_named, questions, write_entity
from bumble.entity import settings
from bumble.entity.folder import Entity
from bumble.index.rows import Filter
from bumble.index.search import opened, search
from bumble.index.sync import sync
from bumble.models.embed.protocol import Embedder
from bumble.text import yaml_read

ROUTER = Path(__file__).resolve().parent / "data" / "truth" / "router"
SMALL_TALK = ("greeting", "thanks", "reaction", "chat")
STEP = 0.05
THRESHOLDS = [STEP * n for n in range(3, 10)]


class Nearness(Struct):
    """How near the best came, a number a line."""

    small_talk: list[float] = field(default_factory=list)
    questions: list[float] = field(default_factory=list)  # the nearest of what was found
    answers: list[float] = field(default_factory=list)  # the nearest of what answers it


def small_talk(language: str) -> list[str]:
    """Read the lines of small talk in a language."""
    lines = yaml_read.parse((ROUTER / f"{language}.yaml").read_text(encoding="utf-8"))
    return [str(line["text"]) for line in lines if line["kind"] in SMALL_TALK]


def look(
    entity: Entity,
    name: str,
    embedder: Embedder,
    asked: Sequence[Question],
    lines: Iterable[str],
    limit: int,
) -> Nearness:
    """Index a folder and look up what is asked and what is only said."""
    sync(entity, embedder, name=name, zone=UTC)
    seen = Nearness()
    with opened(entity) as index:

        def found(text: str) -> list[tuple[str, float]]:
            hits = search(index, text, embedder, only=Filter(kinds=("message",)), limit=limit)
            return [(hit.id, hit.parts.nearness or 0.0) for hit in hits]

        for line in lines:
            seen.small_talk.append(max((near for _, near in found(line)), default=0.0))
        for question in asked:
            hits = found(question.text)
            seen.questions.append(max((near for _, near in hits), default=0.0))
            answers = [near for hit_id, near in hits if hit_id in question.evidence]
            seen.answers.append(max(answers, default=0.0))
    return seen


def conversations(
    data: Path, embedder: Embedder, lines: Sequence[str], limit: int
) -> Iterator[Nearness]:
    """Look in the conversations of a file; its adversarial questions have no answer and are out."""
    for sample in json.loads(data.read_text(encoding="utf-8")):
        with tempfile.TemporaryDirectory() as place:
            entity, name, ids = write_entity(Path(place), sample["conversation"])
            asked = [each for each in questions(sample["qa"], ids) if each.category != "5"]
            yield look(entity, name, embedder, asked, lines, limit)


def lives(embedder: Embedder, limit: int) -> Iterator[tuple[str, Nearness]]:
    """Look in the lives in several languages."""
    for life in recall_languages.lives():
        with tempfile.TemporaryDirectory() as place:
            entity = Entity(Path(place))
            asked = recall_languages.write(entity, life)
            lines = small_talk(life.language)
            yield life.language, look(entity, "Ada", embedder, asked, lines, limit)


def share(values: Sequence[float], threshold: float) -> float:
    """Return how many of some numbers reach a threshold, in per cent."""
    return 100 * sum(value >= threshold for value in values) / max(1, len(values))


def show(title: str, every: Sequence[Nearness], now: float) -> None:
    """Print the shares of some indexes together."""
    rows = [
        ("small talk that brings anything", [n for each in every for n in each.small_talk]),
        ("questions that bring anything", [n for each in every for n in each.questions]),
        ("questions whose answer comes", [n for each in every for n in each.answers]),
    ]
    heads = " ".join(f"{n:5.2f}{'*' if n == now else ' '}" for n in steps(now))
    print(f"\n{title:36} lines {heads}")
    for row, values in rows:
        cells = " ".join(f"{share(values, n):5.1f} " for n in steps(now))
        print(f"{row:36} {len(values):5} {cells}")


def steps(now: float) -> list[float]:
    """Return the thresholds that are looked at, the one that holds now among them."""
    return sorted({*(round(n, 2) for n in THRESHOLDS), now})


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--embedder", default="all-minilm-l6-v2")
    parser.add_argument("--weights-folder", type=Path, default=WEIGHTS)
    options = parser.parse_args()
    embedder = open_named(options.embedder, options.weights_folder)
    if embedder is None:
        print("skipped: without an embedder nothing has a nearness")
        return 0
    config = settings.load().config
    now, limit = config.recall.preamble_threshold, config.memory.max_recall_results
    print(f"{options.embedder}; * marks `recall.preamble_threshold`, {limit} memories at most")
    if options.data.is_file():
        every = list(conversations(options.data, embedder, small_talk("en"), limit))
        show(f"{options.data.name}, en", every, now)
    by_language: dict[str, list[Nearness]] = {}
    for language, seen in lives(embedder, limit):
        by_language.setdefault(language, []).append(seen)
    for language, each in sorted(by_language.items()):
        show(f"lives, {language}", each, now)
    return 0


if __name__ == "__main__":
    sys.exit(main())
