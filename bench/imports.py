"""How long an import of a large export takes, and how much memory: a ChatGPT export, made up.

The export is written straight to the disk, a conversation at a time, then imported by a process of
its own whose peak of memory is asked of the system. A second run shows what it costs to find that
everything is there. The claim that it checks: 300 MB of JSON stay under 300 MB of memory (61 MB
when it was written).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WORDS = (
    *("harbour", "lantern", "tide", "kitchen", "garden", "letter", "river", "mountain", "window"),
    *("market", "violin", "bicycle", "library", "orchard", "station", "blanket", "teacher", "rain"),
    *("we", "I", "the", "found", "lost", "mended", "painted", "carried", "near", "quietly", "été"),
)
MEASURED = """
import resource, sys
from bumble.cli.app import main
code = main(sys.argv[1:])
print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


def conversation(rng: random.Random, number: int, messages: int) -> dict[str, Any]:
    """Make up a conversation in the shape of the export."""
    at = 1_600_000_000 + number * 9000
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None}}
    parent = "root"
    for n in range(messages):
        node = f"{number}-{n}"
        message = {
            "id": node,
            "author": {"role": "assistant" if n % 2 else "user", "metadata": {}},
            "create_time": at + n * 30.5,
            "content": {
                "content_type": "text",
                "parts": [" ".join(rng.choices(WORDS, k=rng.randint(20, 400)))],
            },
            "recipient": "all",
            "status": "finished_successfully",
            "metadata": {"model_slug": "gpt-5", "request_id": f"{rng.random():.17f}"},
        }
        mapping[node] = {"id": node, "message": message, "parent": parent, "children": []}
        parent = node
    title = " ".join(rng.choices(WORDS, k=4))
    head = {"id": f"c{number}", "title": title, "create_time": at, "current_node": parent}
    return {**head, "mapping": mapping}


def pieces(megabytes: float) -> Iterator[str]:
    """Yield the text of an export of about that size."""
    rng, size, number = random.Random(5), 0, 0
    yield "["
    while size < megabytes * 1_000_000:
        text = json.dumps(conversation(rng, number, 400 if number % 40 == 7 else 20))
        yield ("," if number else "") + text
        size += len(text)
        number += 1
    yield "]"


def write(place: Path, megabytes: float) -> Path:
    """Write an export, zipped as it comes."""
    archive = place / "export.zip"
    with (
        zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out,
        out.open("conversations-000.json", "w", force_zip64=True) as stream,
    ):
        for piece in pieces(megabytes):
            stream.write(piece.encode())
    return archive


def run(place: Path, *words: str) -> tuple[float, float]:
    """Run a command in a process of its own; return seconds, and megabytes at the most."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *words],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HOME": str(place)},
    )
    code, peak = done.stderr.splitlines()[-1].split()
    if code != "0":
        sys.exit(done.stderr)
    print(done.stdout.strip())
    return time.perf_counter() - began, int(peak) / 1000


def main() -> None:
    """Make an export, import it twice, print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=300)
    parser.add_argument("--git", action="store_true", help="into a folder with a history")
    parser.add_argument("--at-most", type=float, metavar="MB", help="fail if it takes more memory")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        archive, entity = write(place, options.megabytes), str(place / "ada")
        run(place, "new", entity, *([] if options.git else ["--no-git"]))
        for what in ("first", "again"):
            seconds, peak = run(place, "import", str(archive), "-e", entity)
            print(f"{what}: {seconds:.1f} s, at most {peak:.0f} MB")
            if options.at_most and peak > options.at_most:
                sys.exit(f"more than {options.at_most:.0f} MB")
        seconds, peak = run(place, "status", "-e", entity)
        print(f"status: {seconds:.1f} s, at most {peak:.0f} MB")


if __name__ == "__main__":
    main()
