"""A long run of damaged inputs over every reader, in one process: what came of each, counted.

Run as `python -m tests.support.fuzzing COUNT SEED`; prints one line of JSON.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from tests.support import damage, parsers

MOST_FAILURES = 40  # that are told in full


def run(count: int, seed: int) -> dict[str, Any]:
    """Read `count` damaged inputs, one reader after another.

    Returns:
        Outcomes by reader, failures with what brings them back, the slowest reading in seconds, and
        the most memory that the process has had, in megabytes.
    """
    outcomes: dict[str, Counter[str]] = {name: Counter() for name in parsers.READERS}
    failures: list[dict[str, Any]] = []
    slowest = (0.0, "")
    names = list(parsers.READERS)
    with tempfile.TemporaryDirectory() as place:
        for number in range(count):
            name = names[number % len(names)]
            begun = time.perf_counter()
            outcome = read_one(name, f"{seed} {number}", Path(place), failures)
            outcomes[name][outcome] += 1
            slowest = max(slowest, (time.perf_counter() - begun, f"{name}: {seed} {number}"))
    return {
        "inputs": count,
        "outcomes": {name: dict(counter) for name, counter in outcomes.items()},
        "failures": failures[:MOST_FAILURES],
        "failed": len(failures),
        "slowest": slowest,
        "most_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def read_one(name: str, seed: str, place: Path, failures: list[dict[str, Any]]) -> str:
    """Damage a sample of a reader by a seed, and let it be read."""
    rng = random.Random(seed)
    reader = parsers.READERS[name]
    data = damage.damaged(rng.choice(reader.samples), rng)
    try:
        return reader.try_to(data, place)
    except Exception:  # whatever it is, it is what is looked for
        last = traceback.format_exc().strip().splitlines()[-6:]
        failures.append({"reader": name, "seed": seed, "trace": "\n".join(last)})
        return "failed"


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2]))))  # noqa: T201
