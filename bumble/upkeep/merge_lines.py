"""Merging texts line by line, as git does; where both sides changed a line, both are left in."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from bumble import git


@dataclass(frozen=True)
class Merged:
    """What two versions become."""

    text: str
    clean: bool  # no markers were left


def merge(base: str, ours: str, theirs: str) -> Merged:
    """Join what each side changed of a base."""
    if ours == theirs or theirs == base:
        return Merged(ours, True)
    if ours == base:
        return Merged(theirs, True)
    sides = {"ours": ours, "base": base, "theirs": theirs}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in sides.items():
            Path(folder, name).write_bytes(text.encode(errors="surrogateescape"))
        labels = [word for name in sides for word in ("-L", name)]
        done = git.merge_file(Path(folder), "-p", *labels, *sides)
    if 0 <= done.code < git.NOT_INSTALLED:
        return Merged(done.text, done.code == 0)
    return Merged(f"<<<<<<< ours\n{_ended(ours)}=======\n{_ended(theirs)}>>>>>>> theirs\n", False)


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"
