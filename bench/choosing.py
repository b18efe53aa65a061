"""Which messages are worth remembering: by rules alone, and with a model's labels.

Messages lie in one file a language, also in folders below, each with `text`, `keep` and `kind`;
every second one is `held` (their wording was read while the rules were written: fresh messages in
another folder tell more). `floor` keeps what has a digit or is longer than most. `marks.yaml` says
what else the rules should see. Labels are asked for what the rules leave open, and stay in
`bench/out/choosing-MODEL.json`. Prints tables and writes them as JSON.

    uv run python bench/choosing.py [--messages FOLDER] [--model NAME] [--wrong]
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path
from ruamel.yaml import YAML

from bumble.choosing import label, notice, rules
from bumble.choosing.rules import Verdict
from bumble.llm.embedded import EmbeddedModel
from bumble.llm.protocol import Model
from bumble.weights import catalog, store

HERE = Path(__file__).parent
OUT = HERE / "out"
MESSAGES = HERE / "data" / "truth" / "keep"
MARKS = HERE / "data" / "choosing" / "marks.yaml"
CONTEXT_TOKENS = 4096
CACHE_BYTES = 500_000_000


@dataclass(frozen=True)
class Labelled:
    """One message, what is right, and what the rules say."""

    text: str
    keep: bool
    kind: str
    half: str  # `dev` or `held`
    verdict: Verdict


@dataclass
class Labels:
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


def read(path: Path) -> list[Labelled]:
    """Read the messages of a language, and judge them."""
    entries = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    return [
        Labelled(
            entry["text"],
            entry["keep"],
            entry.get("kind", ""),
            "held" if n % 2 else "dev",
            rules.judge(entry["text"], path.stem),
        )
        for n, entry in enumerate(entries)
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
        "without model": round(
            sum(each.verdict.keep is not None for each in messages) / len(messages), 2
        ),
    }
    if labels.model is not None:
        row["both"] = scores((chosen(each, labels), each.keep) for each in messages)
    return row


def chosen(each: Labelled, labels: Labels) -> bool:
    """Whether a message is kept by the rules, and by the model where they leave it open."""
    share = labels.share(each.text) if each.verdict.keep is None else None
    return notice.decided(each.verdict, share)[0]


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
    false = sum(each.verdict.confided for each in messages if each.kind != "confidence")
    return f"{sum(each.verdict.confided for each in real)} of {len(real)}, {false} false"


def wrong(language: str, messages: Sequence[Labelled], labels: Labels) -> None:
    """Print what was chosen wrongly."""
    for each in messages:
        if chosen(each, labels) != each.keep:
            said = "missed" if each.keep else "false"
            share = labels.shares.get(each.text)
            print(f"{language} {said} ({each.kind}, {each.verdict.why}, {share}): {each.text}")


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
    parser.add_argument("--wrong", action="store_true", help="list what was chosen wrongly")
    arguments = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    kept = OUT / f"choosing-{arguments.model}.json"
    before = json.loads(kept.read_text()) if arguments.model and kept.is_file() else {}
    labels = Labels(opened(arguments.model) if arguments.model else None, before)
    report: dict[str, Any] = {"languages": {}, "marks": marks(MARKS)}
    print("F1 (precision, recall); `without`: share of messages that need no model")
    for path in sorted(arguments.messages.rglob("*.yaml")):
        messages = read(path)
        name = f"{path.stem}{'' if path.parent == arguments.messages else f' {path.parent.name}'}"
        for half in ("dev", "held"):
            row = table([each for each in messages if each.half == half], labels)
            report["languages"][f"{name} {half}"] = row
            cells = [f"{way} {shown(row[way])}" for way in ("floor", "rules", "both") if way in row]
            print(f"{name} {half:4}  {'  '.join(cells)}  without {row['without model']:.2f}")
        print(f"{name} confided {confided(messages)}")
        if arguments.wrong:
            wrong(name, messages, labels)
        if arguments.model:
            kept.write_text(json.dumps(labels.shares, ensure_ascii=False))
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
