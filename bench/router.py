"""What the router gets right by what the reader says, by language and side.

A table is a folder with a file a language (`de.yaml`), or a file; each row has `text` and
`profile`. Prints a table; `--wrong` lists what is wrong. The reader's weights have to be here:
`bumble model pull multilingual-e5-small`.

    uv run python bench/router.py [TABLE] [--wrong]
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import platformdirs
from ruamel.yaml import YAML

from bumble.chat import route
from bumble.models.embed import reader
from bumble.models.weights import catalog, embedders

TABLE = Path(__file__).parent / "data" / "truth" / "router"
SIDES = ("deliberate", "reflex")


def rows(table: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Read a table: language and row."""
    for file in [table] if table.is_file() else sorted(table.glob("*.yaml")):
        for row in YAML(typ="safe").load(file.read_text(encoding="utf-8")):
            yield row.get("language", file.stem), row


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path, nargs="?", default=TABLE)
    parser.add_argument("--wrong", action="store_true")
    arguments = parser.parse_args()
    folder = platformdirs.user_cache_path("bumble") / "weights"
    entry = catalog.load().entry("multilingual-e5-small")
    reads = reader.over(embedders.open_embedder(folder, entry))
    assert reads is not None
    right: Counter[tuple[str, str]] = Counter()
    total: Counter[tuple[str, str]] = Counter()
    for language, row in rows(arguments.table):
        decision = route.by_reading(row["text"], reads.read(row["text"]))
        for key in (language, "all"):
            total[key, row["profile"]] += 1
            right[key, row["profile"]] += decision.profile == row["profile"]
        if arguments.wrong and decision.profile != row["profile"]:
            print(f"{language} {row['profile'][:5]} {decision.rule}: {row['text']}")
    for language in dict.fromkeys(key[0] for key in total):
        shares = ""
        for side in SIDES:
            count = total[language, side]
            shares += f"  {side} {right[language, side] / count:5.0%} of {count}" if count else ""
        print(f"{language:>4}{shares}")


if __name__ == "__main__":
    main()
