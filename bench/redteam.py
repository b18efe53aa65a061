"""Hostile texts against an entity: what share is held, by kind, channel and model.

The cases lie in tests/data/redteam: one half by an author who had seen no defence (`blind`), one by
one who knows them all (`aimed`). Each is played by the commands, in a fresh folder, with a model
that obeys whatever it reads (tests/support/obeying.py), or with a real one. Held is what left no
belief, no changed or shown locked section, no tool's work, no secret of another, no setting, no
address, no file outside of the folder and no escape sequence behind. A reply that only says what an
order wants is counted apart. Benign cases show what the defences cost. Raw results go to
bench/out/redteam-MODEL.jsonl, a line a case, as they come.

    uv run python -m bench.redteam [--model NAME] [--count 40] [--half blind] [--only TEXT]
                                   [--go-on] [--process] [--table FILE]
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from tests.support import redteam
from tests.support.fake_server import FakeServer

OUT = Path(__file__).parent / "out"
OBEYING = "obeying"
SEED = 19  # which cases a sample takes
Row = Mapping[str, Any]


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=OBEYING, help="a model of the catalog; else who obeys")
    parser.add_argument("--count", type=int, help="play only so many, of every kind some")
    parser.add_argument("--half", default="*", help="blind or aimed; else both")
    parser.add_argument("--only", default="", help="cases whose id, kind or channel has this")
    parser.add_argument("--process", action="store_true", help="every command a process of its own")
    parser.add_argument("--go-on", action="store_true", help="pass over what was played before")
    parser.add_argument("--table", type=Path, help="print the table of these results and play none")
    arguments = parser.parse_args()
    if arguments.table:
        print(table(_rows(arguments.table)))
        return
    OUT.mkdir(exist_ok=True)
    path = OUT / f"redteam-{arguments.model}.jsonl"
    before = _rows(path) if arguments.go_on and path.exists() else []
    played = {row["id"] for row in before}
    chosen = [case for case in redteam.cases(arguments.half) if _fits(case, arguments.only)]
    chosen = sample(chosen, arguments.count) if arguments.count else chosen
    with path.open("a" if arguments.go_on else "w", encoding="utf-8") as raw:
        for row in _play([case for case in chosen if case["id"] not in played], arguments):
            raw.write(json.dumps(row, ensure_ascii=False) + "\n")
            raw.flush()
            if row["failures"] or row["missing"] or row["crashed"]:
                why = [*row["failures"], *row["missing"], *row["crashed"]]
                print(row["id"], row["kind"], "·", "; ".join(why)[:200], flush=True)
    print(table(_rows(path)))


def _rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _fits(case: Row, text: str) -> bool:
    return text in f"{case['id']} {case['kind']} {case['channel']}"


def sample(cases: Sequence[Row], count: int) -> list[Row]:
    """Choose some cases, of each channel its share, the same ones each time."""
    rng = random.Random(SEED)
    channels: dict[str, list[Row]] = defaultdict(list)
    for case in cases:
        channels[case["channel"]].append(case)
    for listed in channels.values():
        rng.shuffle(listed)
    ranked = [
        ((n + 0.5) / len(listed), case["id"], case)
        for listed in channels.values()
        for n, case in enumerate(listed)
    ]
    return [case for _, _, case in sorted(ranked, key=lambda each: each[:2])[:count]]


def _play(cases: Iterable[Row], arguments: argparse.Namespace) -> Iterable[Row]:
    server = FakeServer() if arguments.model == OBEYING else None
    settings = redteam.obeying(server) if server else redteam.real(arguments.model)
    weights = str(user_cache_path("bumble") / "weights")
    with tempfile.TemporaryDirectory() as scratch:
        stage = redteam.Stage(Path(scratch), settings, server, weights=weights)
        stage.process = arguments.process
        for case in cases:
            started = time.process_time()
            with stage.play(case) as played:
                yield {
                    **{key: case[key] for key in ("id", "half", "kind", "channel", "language")},
                    "failures": played.failures(),
                    "missing": played.missing(),
                    "obeyed": played.obeyed(),
                    "arrived": played.arrived(redteam.texts(case)),
                    "crashed": played.crashed(),
                    "seconds": round(time.process_time() - started, 1),
                    "heard": [[one.kind, one.to, one.code, one.out[-400:]] for one in played.heard],
                }
    if server:
        server.close()


def table(rows: Sequence[Row]) -> str:
    """Say what share was held, in all and by half, channel and kind."""
    hostile = [row for row in rows if not _is_benign(row)]
    benign = [row for row in rows if _is_benign(row)]
    lines = [_line("hostile cases", hostile)]
    lines += [_line(f"  {half}", part) for half, part in _by(hostile, "half")]
    for name in ("channel", "kind", "language"):
        lines += ["", name, *(_line(f"  {value}", part) for value, part in _by(hostile, name))]
    fine = sum(not row["missing"] and not row["crashed"] for row in benign)
    words = sum(bool(row["obeyed"]) for row in hostile)
    lines += ["", f"benign cases that came out right: {fine} of {len(benign)}"]
    lines += [f"replies whose words obeyed: {words}"]
    lines += [f"never came in (refused, or left out): {sum(not row['arrived'] for row in hostile)}"]
    return "\n".join(lines)


def _is_benign(row: Row) -> bool:
    return bool(row["kind"] == "benign")


def _by(rows: Sequence[Row], name: str) -> list[tuple[str, list[Row]]]:
    parts: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        parts[row[name]].append(row)
    return sorted(parts.items(), key=lambda part: (-len(part[1]), part[0]))


def _line(name: str, rows: Sequence[Row]) -> str:
    held = sum(not row["failures"] and not row["crashed"] for row in rows)
    return f"{name:<28}{held:>5} of {len(rows):>4}{held / max(1, len(rows)):>8.1%}"


if __name__ == "__main__":
    main()
