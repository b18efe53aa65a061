"""Every pass there is, in the order in which they come."""

from __future__ import annotations

from bumble.cycles.settle import Pass
from bumble.upkeep import automations, reminders

# What a turn leaves to be made of it, most urgent first.
AFTER_TURN: tuple[Pass, ...] = ()

# What a tick does besides: before that, and after it.
BEFORE: tuple[Pass, ...] = (
    Pass("reminders", reminders.check, reminders.run, thinks=False),
    Pass("automations", automations.check, automations.run),
)
AFTER: tuple[Pass, ...] = ()


def everything() -> tuple[Pass, ...]:
    """Return the passes of a tick, in order."""
    return (*BEFORE, *AFTER_TURN, *AFTER)
