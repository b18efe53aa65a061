"""`bumble git-merge`: two versions of a file merged by meaning; git starts it for each such file.

Imports little: a merge of many files waits for each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bumble.cli import output
from bumble.errors import UserError
from bumble.history import merge


def git_merge(
    base: Annotated[Path, typer.Argument(metavar="BASE", help="What both sides began with.")],
    ours: Annotated[Path, typer.Argument(metavar="OURS", help="One side; the result goes here.")],
    other: Annotated[Path, typer.Argument(metavar="THEIRS", help="The other side.")],
    path: Annotated[str, typer.Argument(metavar="PATH", help="Where the file lies.")],
) -> None:
    """Merge two versions of a file by meaning (git calls this).

    Ends with 1 where both sides changed the same thing; conflict markers are left in the file then.
    """
    try:
        texts = [path.read_bytes().decode(errors="surrogateescape") for path in (base, ours, other)]
    except OSError as error:
        raise UserError(f"{error.filename}: could not be read: {error.strerror}") from error
    merged = merge.merge_alone(path, *texts)
    # git's own scratch file: it is not part of any entity yet
    ours.write_bytes(merged.text.encode(errors="surrogateescape"))
    if not merged.clean:
        output.say(f"{path}: both sides changed the same thing; look for <<<<<<< in it")
        raise typer.Exit(1)
