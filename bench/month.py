"""A month of an entity's life by the real commands: 20 days of talks, a tick each half hour.

The model is a set of rules behind a server on this machine (tests/upkeep/mind.py); on `--real` of
the days on which people talk it is a real one, with real embeddings. Prints what each day cost, and
what was found wrong: too many dreams, dreams by day or while somebody talked, pairs dreamt again,
anything done twice, files that can't be read. Writes JSON.

    uv run python -m bench.month [--days 30] [--talks 20] [--no-git] [--keep FOLDER]
                                 [--real 3 --model qwen2.5-coder-1.5b]
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from datetime import timedelta
from pathlib import Path

from platformdirs import user_cache_path

from tests.support import mind, month

OUT = Path(__file__).parent / "out"


def main() -> None:
    """Live and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--talks", type=int, default=20, help="days on which people talk")
    parser.add_argument("--no-git", action="store_true")
    parser.add_argument("--keep", type=Path, help="live in this folder, and leave it")
    parser.add_argument("--real", type=int, default=0, help="the last so many days with talk")
    parser.add_argument("--model", default="qwen2.5-coder-1.5b", help="who thinks on those")
    arguments = parser.parse_args()
    weights = user_cache_path("bumble") / "weights"
    with tempfile.TemporaryDirectory() as scratch, mind.serving() as server:
        home = Path(scratch) / "home"
        os.environ["HOME"] = str(home)  # nothing of the user shows through
        for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
            os.environ.pop(name, None)
        folder = (arguments.keep or Path(scratch) / "ada").resolve()
        lived = month.born(folder, server, home, git=not arguments.no_git)
        started = time.perf_counter()
        whole = list(month.moments(arguments.days, talks=arguments.talks))
        ends = month.START + timedelta(days=arguments.talks, hours=12)  # the night belongs to it
        begins = ends - timedelta(days=arguments.real)
        rules = lived.environ
        real = {name: text for name, text in rules.items() if not name.startswith("BUMBLE_LLM_")}
        real |= {"BUMBLE_LLM_MODEL": arguments.model, "BUMBLE_WEIGHTS": str(weights)}
        real |= {"BUMBLE_EMBEDDING_MODEL": "all-minilm-l6-v2"}
        lived.live([one for one in whole if one.at < begins])
        lived.environ = real
        lived.live([one for one in whole if begins <= one.at < ends])
        lived.environ = rules
        lived.live([one for one in whole if one.at >= max(begins, ends)])
        seconds = time.perf_counter() - started
        lived.check(month.START + timedelta(days=arguments.days))
        _show(lived, seconds)


def _show(lived: month.Stretch, seconds: float) -> None:
    rows, asked = month.by_day(lived), month.purposes(lived.entity)
    print("day    turns  calls (chat)  tokens  episodes  runs  dreams at")
    for row in rows:
        print(
            "{day}  {turns:5}  {calls:5} ({of_chat:4})  {tokens:6}  {episodes:8}  "
            "{runs:4}  ".format(**row)
            + " ".join(row["dreams"])
        )
    for purpose, (calls, tokens) in sorted(asked.items(), key=lambda one: -one[1][1]):
        print(f"{purpose:14} {calls:5} calls {tokens:8} tokens")
    print(f"{lived.ticks} ticks, {lived.repeated} of them made twice, in {seconds:.0f} s")
    print(f"found wrong: {len(lived.findings)}")
    for one in lived.findings:
        print(f"  {one}")
    OUT.mkdir(exist_ok=True)
    report = {"days": rows, "purposes": asked, "found": lived.findings, "ticks": lived.ticks}
    place = OUT / "month.json"
    place.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"written to {place}")


if __name__ == "__main__":
    main()
