"""Locks of turns and of jobs: no two models think on this machine at once; how work is stopped.

A turn holds `.bumble/talking`. A tick, or the process that settles after a turn, holds
`.bumble/tick.lock`; the latter can be stopped at any time and has its process id in
`.bumble/settling`: a tick stops it, and who begins to talk where the model is on this machine. The
system frees both locks when their holder dies.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from datetime import timedelta

from bumble.entity.folder import Entity
from bumble.errors import LockedError
from bumble.files import disk

TURN_LOCK, WORK_LOCK, SETTLING_PID = "talking", "tick.lock", "settling"
RECENT = timedelta(minutes=1)  # somebody who spoke this recently is still talking
MOMENT_SECONDS = 0.25  # others hold a lock this long when they look whether it is held
STOP_SECONDS = 3.0


def hold_turn(entity: Entity) -> AbstractContextManager[bool]:
    """Show others that a turn runs; several may run at once."""
    return _if_free(entity, TURN_LOCK, MOMENT_SECONDS)


def is_turn_running(entity: Entity) -> bool:
    """Whether a turn runs right now."""
    return _is_held(entity, TURN_LOCK)


@contextmanager
def hold_work(
    entity: Entity, *, stoppable: bool = False, seconds: float = MOMENT_SECONDS
) -> Iterator[bool]:
    """Be the one process that works between turns.

    Args:
        entity: Where.
        stoppable: Whether others may end this process at any time.
        seconds: How long to wait for another one.

    Yields:
        Whether it is; False if another process is at work.
    """
    with _if_free(entity, WORK_LOCK, seconds) as held:
        place = entity.private / SETTLING_PID
        if not held:
            yield False
            return
        if stoppable:
            disk.write_atomic(place, f"{os.getpid()}\n".encode())
        else:
            disk.remove(place)  # what a killed process left there would be stopped
        try:
            yield True
        finally:
            disk.remove(place)


def stop_settling(entity: Entity) -> bool:
    """Stop the process that settles in the background, if there is one.

    It is all or nothing in every pass, so nothing is lost; what it had not written waits.

    Returns:
        Whether nobody is at work any more that could be stopped.
    """
    place = entity.private / SETTLING_PID
    pid = (disk.read_cache(place) or b"").strip()
    if not pid.isdigit() or not _is_held(entity, WORK_LOCK):
        return True  # what a killed process left there is nobody's
    with suppress(ProcessLookupError, PermissionError):
        os.kill(int(pid), signal.SIGTERM)
    with _if_free(entity, WORK_LOCK, STOP_SECONDS) as free:
        if free:
            disk.remove(place)
        return free


def _is_held(entity: Entity, name: str) -> bool:
    if not (entity.private / name).exists():
        return False
    with _if_free(entity, name, 0) as free:
        return not free


@contextmanager
def _if_free(entity: Entity, name: str, timeout_seconds: float) -> Iterator[bool]:
    """Hold a lock of the private folder if nobody else does; say whether."""
    path = entity.private / name
    with ExitStack() as stack:
        try:
            stack.enter_context(disk.lock(path, place=entity.root, timeout_seconds=timeout_seconds))
            free = True
        except LockedError:
            free = False
        yield free
