"""Which messages are worth remembering: by rules alone, by the examples, and by a model's labels.

Messages lie in one file a language, in a folder a writer, each with `text`, `keep` and `kind`.
The rules have been improved by all of the examples that bumble brings along: messages of another
folder, by a writer who has not seen them, tell more. `floor` keeps what has a digit or is longer
than most. What the rules leave open is decided by the other writers' examples (`--embedder`: none
is ever judged by itself, nor by its writer's), or by the labels of a model, which stay in
`bench/out/choosing-MODEL.json`. `marks.yaml` says what else the rules should see. Prints tables and
writes them as JSON. `--learn` writes what an embedder learns from all examples, to be shipped.

    uv run python -m bench.choosing [--messages FOLDER] [--embedder NAME] [--model NAME] [--wrong]
    uv run python -m bench.choosing --learn --embedder NAME
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from platformdirs import user_cache_path
from ruamel.yaml import YAML

from bench.recall import open_named
from bumble.choosing import answers, examples, label, learning, notice, rules
from bumble.choosing.learning import Lesson
from bumble.choosing.notice import Opinion
from bumble.choosing.rules import Verdict
from bumble.embed.likeness import Likeness
from bumble.embed.protocol import Embedder
from bumble.llm.embedded import EmbeddedModel
from bumble.llm.protocol import Model
from bumble.weights import catalog, store

HERE = Path(__file__).parent
OUT = HERE / "out"
MESSAGES = Path(str(learning.FOLDER / examples.LESSON.folder))
LEARNED = Path(str(learning.LEARNED))
LESSONS: tuple[Lesson[Any], ...] = (examples.LESSON, answers.LESSON)
MARKS = HERE / "data" / "choosing" / "marks.yaml"
CONTEXT_TOKENS = 4096
CACHE_BYTES = 500_000_000


class Labelled(Struct, frozen=True):
    """One message, what is right, and what is said of it."""

    text: str
    keep: bool
    kind: str
    verdict: Verdict
    opinion: Opinion  # of the examples; nothing without an embedder


class Learned:
    """What an embedder makes of messages by the examples of all writers but the message's own."""

    def __init__(self, embedder: Embedder | None) -> None:
        self.embedder, self.examples = embedder, examples.load()
        self.known: dict[str, Likeness] = {}

    def opinion(self, text: str, writer: str, verdict: Verdict) -> Opinion:
        """Say what is held of a message; nothing without an embedder."""
        if self.embedder is None:
            return Opinion()
        if writer not in self.known:
            others = [example for example in self.examples if example.writer != writer]
            self.known[writer] = examples.learn(self.embedder, others)
        return notice.of_worth(examples.of(self.known[writer], self.embedder, text), verdict)


class Labels(Struct):
    """The shares a model gave, and what they cost."""

    model: Model | None
    shares: dict[str, float | None]
    cpu_seconds: float = 0.0
    asked: int = 0

    def share(self, text: str) -> float | None:
        """Return the share of a message, asked for once."""
        if text not in self.shares and self.model is not None:
            before = resource.getrusage(resource.RUSAGE_SELF)
            self.shares[text] = label.share(self.model, text)
            after = resource.getrusage(resource.RUSAGE_SELF)
            self.cpu_seconds += after.ru_utime + after.ru_stime
            self.cpu_seconds -= before.ru_utime + before.ru_stime
            self.asked += 1
        return self.shares.get(text)


def read(path: Path, learned: Learned) -> list[Labelled]:
    """Read the messages of a language, and judge them."""
    entries = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    return [
        Labelled(
            entry["text"],
            entry["keep"],
            entry["kind"],
            verdict,
            learned.opinion(entry["text"], path.parent.name, verdict),
        )
        for entry in entries
        if "keep" in entry
        for verdict in [rules.judge(entry["text"], path.stem)]
    ]


def scores(pairs: Iterable[tuple[bool, bool]]) -> dict[str, float]:
    """Return F1, precision and recall of what was kept, by pairs of (kept, right)."""
    counts = Counter(pairs)
    right, false, missed = counts[True, True], counts[True, False], counts[False, True]
    return {
        "f1": round(2 * right / max(1, 2 * right + false + missed), 3),
        "precision": round(right / max(1, right + false), 3),
        "recall": round(right / max(1, right + missed), 3),
    }


def table(messages: Sequence[Labelled], labels: Labels) -> dict[str, Any]:
    """Return the scores of some messages by each way to choose."""
    usual = statistics.median(len(each.text) for each in messages)

    def floor(text: str) -> bool:
        return any(char.isdigit() for char in text) or len(text) > usual

    row: dict[str, Any] = {
        "messages": len(messages),
        "floor": scores((floor(each.text), each.keep) for each in messages),
        "rules": scores((each.verdict.leans, each.keep) for each in messages),
        "open": round(sum(each.verdict.keep is None for each in messages) / len(messages), 2),
    }
    if messages[0].opinion.by:
        row["examples"] = scores((chosen(each), each.keep) for each in messages)
        jokes = [each for each in messages if each.kind.startswith("joke")]
        row["jokes"] = f"{sum(map(chosen, jokes))} of {len(jokes)}"
    if labels.model is not None:
        row["labels"] = scores((by_label(each, labels), each.keep) for each in messages)
    return row


def chosen(each: Labelled) -> bool:
    """Whether a message is kept by the rules and the examples."""
    return notice.decided(each.verdict, each.opinion).keep


def by_label(each: Labelled, labels: Labels) -> bool:
    """Whether a message is kept by the rules, and by a model where they leave it open."""
    share = labels.share(each.text) if each.verdict.keep is None else None
    if share is None:
        return each.verdict.leans
    return notice.decided(each.verdict, Opinion(share, share >= each.verdict.least_share)).keep


def marks(path: Path) -> dict[str, dict[str, str]]:
    """Return how often each mark is seen where it is, and where it isn't, by language."""
    rows = {}
    for language, entries in YAML(typ="safe").load(path.read_text(encoding="utf-8")).items():
        seen: Counter[tuple[str, bool, bool]] = Counter()
        for entry in entries:
            verdict = rules.judge(entry["text"], language)
            for mark in ("confided", "feelings", "corrects"):
                wanted = entry.get(mark, () if mark == "feelings" else False)
                value = getattr(verdict, mark)
                is_right = list(value) == list(wanted) if mark == "feelings" else value == wanted
                seen[mark, bool(wanted), is_right] += 1
        rows[language] = {
            mark: f"{seen[mark, True, True]} of {seen[mark, True, True] + seen[mark, True, False]}"
            f", {seen[mark, False, False]} false"
            for mark in ("confided", "feelings", "corrects")
        }
    return rows


def confided(messages: Sequence[Labelled]) -> str:
    """Return how many confidences of a labelled set are seen, and what else is taken for one."""
    real = [each for each in messages if each.kind == "confidence"]
    false = sum(_is_confided(each) for each in messages if each.kind != "confidence")
    return f"{sum(map(_is_confided, real))} of {len(real)}, {false} false"


def _is_confided(each: Labelled) -> bool:
    return notice.decided(each.verdict, each.opinion).confided


def wrong(language: str, messages: Sequence[Labelled]) -> None:
    """Print what was chosen wrongly by rules and examples."""
    for each in messages:
        if chosen(each) != each.keep:
            mistake = "missed" if each.keep else "false"
            why = f"{each.kind}, {each.verdict.why}, {each.opinion.share}"
            print(f"{language} {mistake} ({why}): {each.text}")


def learn(name: str) -> list[Path]:
    """Write what an embedder learns from all texts, in place of what it did before."""
    embedder = open_named(name, user_cache_path("bumble") / "weights")
    if embedder is None:
        raise SystemExit(f"{name} has no weights to learn with")
    for before in LEARNED.glob(f"{name}-*.npz"):
        before.unlink()
    LEARNED.mkdir(exist_ok=True)
    paths = [LEARNED / lesson.filename(embedder.identity) for lesson in LESSONS]
    for lesson, path in zip(LESSONS, paths, strict=True):
        with path.open("wb") as file:
            lesson.learn(embedder).write(file)
    return paths


def opened(name: str) -> EmbeddedModel:
    """Open the weights of a model that is on this machine."""
    entry = catalog.load().entry(name)
    cache = user_cache_path("bumble")
    return EmbeddedModel(
        store.require(cache / "weights", entry).weights,
        name=name,
        sha256=entry.files[0].sha256,
        context_tokens=CONTEXT_TOKENS,
        cache_dir=cache / "prompts",
        cache_limit_bytes=CACHE_BYTES,
    )


def shown(scored: Mapping[str, float]) -> str:
    """Render scores in a line."""
    return f"{scored['f1']:.3f} ({scored['precision']:.2f}, {scored['recall']:.2f})"


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=Path, default=MESSAGES)
    parser.add_argument("--model", help="asked about what rules leave open")
    parser.add_argument("--embedder", help="by whose vectors a message is like the examples")
    parser.add_argument("--learn", action="store_true", help="write what it learns from all")
    parser.add_argument("--wrong", action="store_true", help="list what was chosen wrongly")
    arguments = parser.parse_args()
    if arguments.learn:
        print(learn(arguments.embedder))
        return
    OUT.mkdir(exist_ok=True)
    asked = OUT / f"choosing-{arguments.model}.json"
    before = json.loads(asked.read_text()) if arguments.model and asked.is_file() else {}
    labels = Labels(opened(arguments.model) if arguments.model else None, before)
    embedder = arguments.embedder and open_named(
        arguments.embedder, user_cache_path("bumble") / "weights"
    )
    learned = Learned(embedder or None)
    report: dict[str, Any] = {"languages": {}, "marks": marks(MARKS)}
    print("F1 (precision, recall); `open`: share of messages that the rules leave open")
    for path in sorted(arguments.messages.rglob("*.yaml")):
        messages = read(path, learned)
        if not messages:  # of questions alone
            continue
        name = f"{path.stem} {path.parent.name}"
        row = table(messages, labels)
        report["languages"][name] = row
        ways = [way for way in ("floor", "rules", "examples", "labels") if way in row]
        cells = [f"{way} {shown(row[way])}" for way in ways]
        jokes = f"  jokes kept {row['jokes']}" if "jokes" in row else ""
        print(f"{name}  {'  '.join(cells)}  open {row['open']:.2f}{jokes}")
        print(f"{name} confided {confided(messages)}")
        if arguments.wrong:
            wrong(name, messages)
        if arguments.model:
            asked.write_text(json.dumps(labels.shares, ensure_ascii=False))
    for language, row in report["marks"].items():
        print(f"{language} marks: {'; '.join(f'{mark} {text}' for mark, text in row.items())}")
    if labels.asked:
        report["cpu_seconds"] = round(labels.cpu_seconds / labels.asked, 2)
        print(f"{labels.asked} asked, {report['cpu_seconds']} CPU s each")
    (OUT / "choosing.json").write_text(json.dumps(report, ensure_ascii=False, indent=1))
    if isinstance(labels.model, EmbeddedModel):
        labels.model.close()


if __name__ == "__main__":
    main()
