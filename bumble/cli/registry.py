"""The list of all jobs between turns, in the order in which they run."""

from __future__ import annotations

from bumble.chat import automations, reminders, wake
from bumble.jobs import consolidate, dream, evolve, stretch, working_memory
from bumble.prompt import handover
from bumble.runtime.job import Pass
from bumble.runtime.review_queue import OF_STRETCH

# What a turn leaves to be made of it, most urgent first.
AFTER_TURN: tuple[Pass, ...] = (
    Pass(stretch.NAME, stretch.check, stretch.run),
    Pass("handover", handover.check, handover.run),  # of what was remembered
)

# What a tick does besides: before that, and after it.
BEFORE: tuple[Pass, ...] = (
    Pass("reminders", reminders.check, reminders.run, thinks=False, written_as="remind"),
    Pass("automations", automations.check, automations.run, written_as="automation"),
)
AFTER: tuple[Pass, ...] = (
    Pass("consolidate", consolidate.check, consolidate.run, at_once=True),
    Pass("dream", dream.check, dream.run),
    Pass("working memory", working_memory.check, working_memory.run),
    Pass("evolve", evolve.check, evolve.run),
    # it minds silence by a gate of its own
    Pass("wake", wake.check_tick, wake.run, thinks=False, at_once=True),
)

# What else makes commits by itself, a turn or a command of its own.
BESIDE = ("chat", "compact", "narrate", "soma", "catalysts", "noise")


def everything() -> tuple[Pass, ...]:
    """Return the passes of a tick, in order."""
    return (*BEFORE, *AFTER_TURN, *AFTER)


def cycles() -> tuple[str, ...]:
    """Return what makes commits by itself, as they are called."""
    return (*(one.written_as or one.name for one in everything()), *OF_STRETCH, *BESIDE)
