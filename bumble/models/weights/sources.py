"""What a pull may use (endpoint, environment, progress), and how a source refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field


def _ignore_progress(done_bytes: int, total_bytes: int) -> None:
    """Show nothing."""


def _ignore_note(line: str) -> None:
    """Say nothing."""


class PullOptions(Struct, frozen=True):
    """What a pull may use of the world."""

    environment: Mapping[str, str] = field(default_factory=dict)  # of the processes it starts
    endpoint: str | None = None  # of the hub; None: what HF_ENDPOINT says, else the public one
    progress: Callable[[int, int], None] = _ignore_progress  # bytes done, bytes in all
    note: Callable[[str], None] = _ignore_note  # gets a line on a source that was passed over
    answers: dict[str, str | None] = field(default_factory=dict)  # of hubs; none is asked twice


class SourceRefusedError(Exception):
    """A source does not give the file; the text is its reason. `pull` goes on to the next."""
