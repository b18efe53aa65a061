"""Acting with nobody there: what a model does of its own accord, or for a task, by its tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bumble.chat import loop, turn_budget
from bumble.chat.completion_gate import Gate
from bumble.chat.tools import Result
from bumble.entity.config import LoopConfig
from bumble.llm.protocol import Action, Request, Tool
from bumble.runtime.runtime import Runtime

CarryOut = Callable[[Action], Result]


def act(
    runtime: Runtime,
    request: Request,
    declared: Sequence[Tool],
    bounds: LoopConfig,
    carry_out: CarryOut,
    *,
    person: str,
    task: str,
) -> loop.LoopOutcome:
    """Let the model act until it is done; nobody hears what it says meanwhile.

    Args:
        runtime: Whose model is asked.
        request: Stable prompt and task.
        declared: What may be called.
        bounds: Of rounds and calls.
        carry_out: Runs one call; here each file is written by one of them at most.
        person: What they are called whom it thinks of.
        task: What it is to do, for the completion gate.

    Raises:
        UserError: If the model fails before it has done anything.
    """
    return loop.run(
        runtime.model,
        request,
        declared,
        bounds,
        once_a_file(carry_out),
        lambda _: None,
        person=person,
        gate=Gate(runtime.model, runtime.config.cognition.gate, task, judges="never"),
        fits=lambda request: turn_budget.fitting(runtime, request),
    )


def once_a_file(carry_out: CarryOut) -> CarryOut:
    """Refuse a second call that writes a file: it would be planned on the file without the first.

    What is only added to a file, as to the diary, may come several times.
    """
    written: set[str] = set()

    def guarded(call: Action) -> Result:
        result = carry_out(call)
        changes = [change for plan in result.plans if (change := plan()) and not change.adds]
        for change in changes:
            if change.path in written:
                return Result(f"failed: {change.path} was written already", failed=True)
        written.update(change.path for change in changes)
        return result

    return guarded
