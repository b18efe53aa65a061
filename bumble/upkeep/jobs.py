"""The list of all jobs between turns, in the order in which they run."""

from __future__ import annotations

from functools import partial

from bumble.choosing import notice
from bumble.context import handover
from bumble.episodes import appraise, remember
from bumble.facts import distill
from bumble.portraits import reflect
from bumble.runtime.runner import Pass
from bumble.sleep import consolidate, dream, evolve, living_memory, stray_thoughts
from bumble.upkeep import automations, day_prefix, reminders, wake

# What a turn leaves to be made of it, most urgent first.
AFTER_TURN: tuple[Pass, ...] = (
    Pass("notice", notice.check, notice.run),
    Pass("appraise", appraise.check, appraise.run),
    Pass("remember", remember.check, remember.run),
    Pass("reflect", reflect.check, reflect.run),
    Pass("distill", distill.check, partial(distill.run, judge=False)),
)

# What a tick does besides: before that, and after it.
BEFORE: tuple[Pass, ...] = (
    Pass("reminders", reminders.check, reminders.run, thinks=False),
    Pass("automations", automations.check, automations.run),
)
AFTER: tuple[Pass, ...] = (
    Pass("handover", handover.check, handover.run),
    Pass("consolidate", consolidate.check, consolidate.run, at_once=True),
    Pass("dream", dream.check, dream.run),
    Pass("working memory", living_memory.check, living_memory.run),
    Pass("evolve", evolve.check, evolve.run),
    Pass("prefix", day_prefix.check, day_prefix.run),
    Pass("noise", partial(stray_thoughts.check, stirred=True), stray_thoughts.run),
    Pass("wake", wake.check_tick, wake.run, thinks=False),  # it minds silence by a gate of its own
)


def everything() -> tuple[Pass, ...]:
    """Return the passes of a tick, in order."""
    return (*BEFORE, *AFTER_TURN, *AFTER)
