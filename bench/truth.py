"""How much of what an entity says and keeps is true: planted lives lived by commands, and counted.

Lives the planted lives of `data/truth` by the commands of one bumble, keeps every output in a
folder a life, and counts them. `--count` counts what was lived before, so that anybody can.

    uv run python -m bench.truth --out OUT [--bumble PATH] [--model embedded:NAME]
                                 [--lives aylin,ravi] [--messages N]
    uv run python -m bench.truth --count OUT [OUT …] [--judge-sheet FILE | --judged FILE FILE]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from platformdirs import user_cache_path

from bench import truth_living
from bench.truth_living import Living


def main() -> None:
    """Live, count and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    every = ",".join(sorted(path.stem for path in truth_living.LIVES.glob("*.yaml")))
    parser.add_argument("--bumble", type=Path, default=Path(sys.executable).with_name("bumble"))
    parser.add_argument("--model", default="embedded:qwen2.5-coder-1.5b")
    parser.add_argument("--lives", default=every, help="their names, with commas between")
    parser.add_argument("--messages", type=int, help="the first so many of each")
    parser.add_argument("--out", type=Path, help="where the raw outputs are kept")
    arguments = parser.parse_args()
    for name in arguments.lives.split(","):
        living = Living(
            arguments.bumble.absolute(),
            (arguments.out / name).absolute(),
            arguments.model,
            user_cache_path("bumble") / "weights",
        )
        for line in truth_living.live(truth_living.planted(name, arguments.messages), living):
            print(line, flush=True)


if __name__ == "__main__":
    main()
