"""When `bumble distill` takes a stretch that still goes on: the conditions, each with its verdict.

Due when there is a new turn, and enough time or enough turns have passed, in a conversation deep
enough; the more is felt, the fewer turns. Else a stretch is dealt with once it is over.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence

from bumble.entity.config import DistillationConfig
from bumble.errors import RecordInvalidError
from bumble.records import session_files
from bumble.records.sessions import Message, Session
from bumble.runtime import body_state
from bumble.runtime.job import Condition
from bumble.runtime.runtime import Runtime
from bumble.text import moments

URGENCY_FROM = 0.6  # emotional intensity from which fewer turns are enough
ENOUGH = "enough was said"  # what closes a stretch that goes on


def conditions(
    runtime: Runtime, session: Session, waiting: Sequence[Message]
) -> tuple[Condition, ...]:
    """Return what has to hold before a stretch that goes on is dealt with."""
    config, now = runtime.config.memory.distillation, runtime.now()
    new, depth = _turns(waiting), _depth(runtime, session, config.min_turns_absolute)
    intensity = body_state.intensity(runtime, body_state.read(runtime, now))
    enough = turns_needed(intensity, config)
    first = waiting[0].at if waiting else now
    seconds = moments.gap(first, now).total_seconds()
    return (
        Condition("enabled", "yes" if config.enabled else "no", "yes", config.enabled),
        Condition("new turns", f"{new} in {session.id}", "at least 1", new >= 1),
        Condition(
            "time or turns",
            f"{seconds:.0f} s, {new} turns",
            f"at least {config.cycle_seconds:g} s or {enough} turns",
            seconds >= config.cycle_seconds or new >= enough,
        ),
        Condition(
            "depth",
            f"{depth} turns",
            f"at least {config.min_turns_absolute}",
            depth >= config.min_turns_absolute,
        ),
        Condition(
            "urgency",
            f"{intensity:.2f} felt, so {enough} turns are enough",
            f"fewer than {config.min_turns} above {URGENCY_FROM:g}",
            True,
        ),
    )


def turns_needed(intensity: float, config: DistillationConfig) -> int:
    """Return how many new turns are enough when so much is felt."""
    over = max(0.0, intensity - URGENCY_FROM)
    share = over / (1 - URGENCY_FROM)
    return max(1, math.ceil(config.min_turns / (1 + share * (config.soma_urgency_divisor - 1))))


def _depth(runtime: Runtime, session: Session, least: int) -> int:
    """Count the turns the entity has heard: of this conversation, then of others until enough."""
    depth = _turns(session.messages)
    for path in reversed(session_files.paths(runtime.entity.sessions)):
        if depth >= least:
            break
        if path.parent.name != session.id:
            with contextlib.suppress(RecordInvalidError):
                depth += _turns(session_files.load(path).messages)
    return depth


def _turns(messages: Sequence[Message]) -> int:
    return sum(message.role == "user" for message in messages)
