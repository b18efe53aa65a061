"""What a model draws from forty labelled conversations, with and without the evidence check.

Each window is shown to the model once; its items are then counted as they came, and as the check
left them. A fact is found when all its patterns stand in one item. An item is invented when it
holds something forbidden, when nothing should have been drawn, or when the evidence check drops it
as nobody's words. Prints a table and writes every item to `bench/out/distill-MODEL.json`.

    uv run python bench/distill.py --model qwen2.5-coder-1.5b [--only NAME] [--first N] [--judge]
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec.structs import asdict
from platformdirs import user_cache_path
from ruamel.yaml import YAML

from bumble.errors import AnswerInvalidError
from bumble.facts import extract, verify
from bumble.facts.extract import ExtractedItem, Extraction, Options
from bumble.facts.extract_window import Window
from bumble.llm.embedded import EmbeddedModel
from bumble.llm.protocol import Model
from bumble.records.sessions import Message
from bumble.weights import catalog, store

HERE = Path(__file__).parent
OUT = HERE / "out"
LABELS = HERE / "data" / "distill" / "windows.yaml"
NOON = datetime(2026, 5, 24, 12, tzinfo=UTC)
OPTIONS = Options(max_tokens=800, temperature=0.15, budget_chars=6000, relational="others")
CONTEXT_TOKENS = 8192


def window_of(label: Mapping[str, Any]) -> Window:
    """Make a window of a labelled conversation."""
    messages, people = [], dict[str, str]()
    for n, line in enumerate(label["messages"], 1):
        [(speaker, text)] = line.items()
        role = {"Ada": "assistant", "tool": "tool"}.get(speaker, "user")
        trust = {"Ada": "entity", "Sam": "owner", "tool": "tool", "imported": "imported"}
        if role == "user" and speaker != "imported":
            people[speaker.lower()] = speaker
        messages.append(
            Message(
                id=f"msg_{n:03}",
                at=NOON + timedelta(minutes=n),
                role=role,
                text=str(text),
                speaker=speaker.lower() if role == "user" else "",
                trust=trust.get(speaker, "person"),
                extra={"name": speaker} if role == "user" else {},
            )
        )
    return Window(label["id"], tuple(people), people, "Ada", tuple(messages), UTC)


def said(item: ExtractedItem) -> str:
    """Return all that an item says."""
    return f"{item.title}: {item.text}" if item.title else item.text


def found(label: Mapping[str, Any], texts: Sequence[str]) -> list[bool]:
    """Tell for each expected fact whether one of the texts holds it."""
    facts = label.get("expect", [])
    return [any(all(_in(one, text) for one in fact) for text in texts) for fact in facts]


def invented(label: Mapping[str, Any], texts: Sequence[str]) -> list[str]:
    """Return the texts that should not be there."""
    if label.get("nothing"):
        return list(texts)
    forbidden = label.get("forbidden", [])
    return [text for text in texts if any(_in(one, text) for one in forbidden)]


def _in(pattern: object, text: str) -> bool:
    return re.search(str(pattern), text, re.IGNORECASE | re.MULTILINE) is not None


def run(model: Model, label: Mapping[str, Any], *, judge: bool) -> dict[str, Any]:
    """Draw from one window, and score what came with and without the check."""
    window, known = window_of(label), dict(label.get("knowledge", {}))
    started = time.perf_counter()
    try:
        drawn = extract.draw(model, window, OPTIONS, known)
        problem = ""
    except AnswerInvalidError as error:
        drawn, problem = Extraction(), str(error).splitlines()[0]
    seconds = time.perf_counter() - started
    kept, rejected = verify.check(window, drawn.items, known)
    stages = {"as drawn": list(drawn.items), "checked": kept}
    if judge:
        stages["judged"], doubted = verify.judge(model, window, kept, OPTIONS)
        rejected += doubted
    scores = {}
    for name, items in stages.items():
        texts = [said(one) for one in items]
        scores[name] = {
            "items": len(texts),
            "found": found(label, texts),
            "invented": invented(label, texts),
        }
    return {
        "id": label["id"],
        "kind": label["kind"],
        "seconds": round(seconds, 1),
        "problem": problem,
        "malformed": drawn.malformed,
        "drawn": [asdict(one) for one in drawn.items],
        "dropped": [{"reason": one.reason, "text": said(one.item)} for one in rejected],
        "journal": {"as drawn": drawn.journal, "checked": verify.journal(window, drawn)},
        "scores": scores,
    }


def totals(rows: Sequence[Mapping[str, Any]], stage: str) -> dict[str, float]:
    """Add up a stage over some windows."""
    facts = [one for row in rows for one in row["scores"][stage]["found"]]
    items = sum(row["scores"][stage]["items"] for row in rows)
    wrong = sum(len(row["scores"][stage]["invented"]) for row in rows)
    return {
        "facts": len(facts),
        "found": sum(facts),
        "items": items,
        "invented": wrong,
        "found_share": round(sum(facts) / len(facts), 3) if facts else 0.0,
        "invented_share": round(wrong / items, 3) if items else 0.0,
    }


def open_model(name: str) -> Model:
    """Open weights that are on this machine."""
    entry = catalog.load().entry(name)
    weights = store.require(user_cache_path("bumble") / "weights", entry)
    return EmbeddedModel(
        weights.weights,
        name=name,
        sha256=entry.files[0].sha256,
        context_tokens=CONTEXT_TOKENS,
        cache_dir=None,
        cache_limit_bytes=0,
        on_load=lambda: None,
    )


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--only", default="", help="windows whose id begins so")
    parser.add_argument("--first", type=int, default=None, help="so many windows")
    parser.add_argument("--judge", action="store_true", help="ask the model again")
    parser.add_argument("--windows", type=Path, default=LABELS)
    arguments = parser.parse_args()
    labels = YAML(typ="safe").load(arguments.windows.read_text(encoding="utf-8"))
    chosen = [one for one in labels if one["id"].startswith(arguments.only)][: arguments.first]
    model = open_model(arguments.model)
    rows = []
    for label in chosen:
        row = run(model, label, judge=arguments.judge)
        rows.append(row)
        cells = [
            f"{stage} {sum(one['found'])}/{len(one['found'])} found of {one['items']} items, "
            f"{len(one['invented'])} invented"
            for stage, one in row["scores"].items()
        ]
        print(f"{row['id']:18} {row['seconds']:6.1f} s  " + " | ".join(cells), flush=True)
    model.close()
    stages = list(rows[0]["scores"]) if rows else []
    kinds = ["all", *dict.fromkeys(row["kind"] for row in rows)]
    table = {
        kind: {
            stage: totals([row for row in rows if kind in ("all", row["kind"])], stage)
            for stage in stages
        }
        for kind in kinds
    }
    for kind, by_stage in table.items():
        for stage, one in by_stage.items():
            print(
                f"{kind:15} {stage:9} found {one['found']:3}/{one['facts']:3} "
                f"invented {one['invented']:3}/{one['items']:3}"
            )
    OUT.mkdir(exist_ok=True)
    report = {"model": arguments.model, "totals": table, "windows": rows}
    place = OUT / f"distill-{arguments.model}.json"
    place.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"written to {place}")


if __name__ == "__main__":
    main()
