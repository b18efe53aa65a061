"""The options shared by commands: `--entity`, `--json`, `--now`, `--dry-run`, `--seed`…."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Show what would change; write nothing.")
]
NowOption = Annotated[
    str | None, typer.Option("--now", metavar="ISO", help="Take this as the present time.")
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
