"""The options shared by commands: `--entity`, `--json`, `--now`, `--dry-run`, `--check`…."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

NOTHING_DUE = 4  # with --exit-code

IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Its id, an end of it that no other has, or `last`.")
]
TagOption = Annotated[
    list[str] | None,
    typer.Option("--tag", "-t", metavar="TAG", help="With or without `#`; may be repeated."),
]
EntityOption = Annotated[
    Path | None,
    typer.Option(
        "-e",
        "--entity",
        metavar="DIR",
        help="The entity folder. Default: $BUMBLE_ENTITY, else from here upward.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
EverythingOption = Annotated[
    bool, typer.Option("--all", help="What others told in confidence, too; and what is over.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Show what would change; write nothing.")
]
NowOption = Annotated[
    str | None, typer.Option("--now", metavar="ISO", help="Take this as the present time.")
]
AsOfOption = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="DATE",
        help="As it was then: a day with all its hours, or a time. From git, if there is any.",
    ),
]
SeedOption = Annotated[
    int | None, typer.Option("--seed", metavar="N", help="Take chance from this seed.")
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Answer yes to every question.")]
LimitOption = Annotated[
    int, typer.Option("--limit", "-n", min=1, metavar="N", help="At most this many.")
]
LockTimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--lock-timeout",
        min=0,
        metavar="SECONDS",
        help="How long to wait for another writer. Default: limits.lock_timeout_seconds.",
    ),
]
CheckOption = Annotated[
    bool, typer.Option("--check", help="Say what is due and why; write nothing, ask no model.")
]
ExitCodeOption = Annotated[
    bool, typer.Option("--exit-code", help=f"Exit with {NOTHING_DUE} when nothing is due.")
]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", "-v", help="Say what was done, also where nobody watches.")
]
