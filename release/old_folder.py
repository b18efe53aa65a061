"""A folder for later versions to open: `python -m release.old_folder`, before each release.

Makes tests/data/entity-VERSION.tar.gz by the commands themselves, with a scripted model, caches and
all. What is in it is made up. It is made once a version and never again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from bumble import __version__
from release.contents import ROOT

OUT = ROOT / "tests" / "data" / f"entity-{__version__}.tar.gz"
REPLIES = ("A dog at last! What is he afraid of?", "Then we keep him from the waves.")
COMMANDS = (
    ("chat", "I am Sam. My dog is called Biscuit."),
    ("chat", "He is afraid of the sea."),
    ("knowledge", "set", "Biscuit", "Biscuit is Sam's dog."),
    ("journal", "add", "Sam told me of Biscuit."),
    ("belief", "add", "Sam is kind to animals", "--category", "world_fact"),
    ("skill", "set", "walks", "--description", "How we plan walks", "Ask where the sea is."),
    ("remind", "add", "Walk the dog", "--at", "2027-05-24T18:00"),
    ("project", "add", "Teach Biscuit to swim"),
    ("chat", "--new-session", "Do you know my dog?"),
    ("index",),
)


def main() -> int:
    """Make the folder, and pack it."""
    if OUT.exists():
        print(f"{OUT.relative_to(ROOT)} is there; a version's folder is made once")
        return 1
    with tempfile.TemporaryDirectory() as home:
        script = Path(home) / "script.jsonl"
        lines = [json.dumps(reply) for reply in (*REPLIES, "Yes: Biscuit, who fears the sea.")]
        script.write_text("\n".join([*lines, ""]), "utf-8")
        environ = {"PATH": os.environ["PATH"], "HOME": home, "BUMBLE_EMBEDDING_MODEL": "none"}
        environ |= {"BUMBLE_LLM_MODEL": f"script:{script}", "BUMBLE_LIMITS_SETTLE": "later"}
        bumble = [sys.executable, "-P", "-m", "bumble"]
        new = (
            "new",
            "ada",
            "--no-git",
            "--name",
            "Ada",
            "--owner",
            "Sam",
            "--timezone",
            "Europe/Lisbon",
        )
        for at, words in enumerate((new, *COMMANDS)):
            then = ["-e", "ada", "--now", f"2026-05-24T{10 + at}:00:00+01:00"]
            command = [*bumble, *words, *([] if words is new else then)]
            subprocess.run(command, cwd=home, env=environ, check=True)
        with tarfile.open(OUT, "w:gz", compresslevel=9) as archive:
            archive.add(Path(home) / "ada", "ada", filter=_packed)
    print(f"{OUT.relative_to(ROOT)}: {OUT.stat().st_size:,} bytes")
    return 0


def _packed(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Leave out who made it."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    sys.exit(main())
