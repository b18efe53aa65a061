"""What follows an answer: the jobs it left, run in the background, at once, or later.

The answer is printed and committed by then; whatever happens here, nothing of it is lost.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bumble.cli import output
from bumble.cli.models import models
from bumble.errors import UserError

if TYPE_CHECKING:
    from bumble.cli.opening import Opened
    from bumble.cli.talk.conversation import Conversation


def pending(talk: Conversation) -> dict[str, int]:
    """Return how many jobs of each pass are due; passes without any are left out."""
    from bumble.jobs import registry  # much: nobody waits for it before the answer

    waiting: dict[str, int] = {}
    if not talk.runtime.writes:
        return waiting
    for each in registry.AFTER_TURN:
        with suppress(UserError):  # a broken file is told of by the pass itself, or by doctor
            due = each.check(talk.runtime)
            if due.due:
                waiting[each.name] = len(due.jobs)
    return waiting


def describe(talk: Conversation) -> list[str]:
    """Say what waits, and where it is done: a line, or none."""
    waiting = pending(talk)
    if not waiting:
        return []
    limits = talk.opened.config.limits
    mode = limits.settle if limits.passes_per_turn else "later"
    where = {"background": "in the background", "wait": "now", "later": "by `bumble tick`"}[mode]
    listed = ", ".join(f"{name} {count}" for name, count in waiting.items())
    return [f"[waiting: {listed}; settled {where}]"]


def after_answer(talk: Conversation) -> bool:
    """Settle what the last answer left, if that is to be waited for.

    Returns:
        Whether it is to be settled in the background, once this process has let go of its model.
    """
    limits = talk.opened.config.limits
    if limits.settle == "later" or not limits.passes_per_turn or not pending(talk):
        return False
    if limits.settle == "background":
        return talk.opened.shell.spawn is not None
    try:
        _settle(talk)
    except KeyboardInterrupt:
        output.say("interrupted: the rest is left for later")
    return False


def in_background(opened: Opened) -> None:
    """Start a process that settles; it has the time and the seed of this one."""
    shell = opened.shell
    if shell.spawn is None:
        return
    arguments = ["-e", str(opened.entity.root), "tick", "--settle-only"]
    if shell.now_given is not None:
        arguments += ["--now", shell.now_given.isoformat()]
    if shell.seed is not None:
        arguments += ["--seed", str(shell.seed)]
    try:
        shell.spawn(arguments)
    except OSError as error:
        output.warn(shell, f"what the answer left is done later: {error.strerror or error}")


def _settle(talk: Conversation) -> None:
    from bumble.jobs import locks, registry, tick

    opened, limits = talk.opened, talk.opened.config.limits
    used = len(talk.last.outcome.completions) if talk.last else 0
    model = models.budgeted(opened, talk.runtime.model, calls=max(0, limits.calls_per_turn - used))
    runtime = replace(talk.runtime, model=model)
    with locks.hold_work(opened.entity) as free:
        if not free:
            return
        output.say("settling (Ctrl-C leaves it for later) …")
        for settled in tick.run(runtime, "settle", registry.AFTER_TURN, limits.passes_per_turn):
            if settled.problem is not None:
                output.warn(opened.shell, f"{settled.name} waits: {settled.problem}")
