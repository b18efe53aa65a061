"""The agent loop: ask, carry out, ask again, until the entity has spoken; always bounded.

Works on messages and tools only; storing what happened is the turn's business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from bumble import prompts
from bumble.cycles import history
from bumble.entity.config import LoopConfig
from bumble.llm import actions
from bumble.llm.protocol import Completion, Message, Model, Request, Tool, ToolCall
from bumble.llm.saying import SayReader
from bumble.mind.tools import AGENCY, Plan, Result

Stopped = Literal["done", "step_cap", "interrupted", "length"]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Profile:
    """How much a turn may cost."""

    name: str
    max_tokens: int
    thinking: bool
    temperature: float
    preamble_max_tokens: int


@dataclass(frozen=True)
class Step:
    """One answer of the model and what came of it."""

    said: str  # what the person heard, empty if nothing
    calls: tuple[ToolCall, ...]  # work that was asked for
    results: tuple[Result, ...]  # one a call


@dataclass
class Outcome:
    """What a loop did."""

    steps: list[Step] = field(default_factory=list)
    completions: list[Completion] = field(default_factory=list)
    stopped: Stopped = "done"

    @property
    def said(self) -> str:
        """All the person heard."""
        return "\n\n".join(step.said for step in self.steps if step.said)

    @property
    def plans(self) -> list[Plan]:
        """What the tools want written, in the order of their calls."""
        results = [result for step in self.steps for result in step.results]
        return [result.plan for result in results if result.plan is not None]


class _Speaker:
    """Streams what is said, and remembers it in case the answer is cut off."""

    def __init__(self, say: Say, said_before: Sequence[str]) -> None:
        self.reader = SayReader()
        self.say, self.said_before = say, said_before
        self.heard = ""
        self.shown = False

    def feed(self, piece: str) -> None:
        self._hear(self.reader.feed(piece))

    def _hear(self, text: str) -> None:
        self.heard += text
        # an answer that only repeats what was said must not be seen twice: hold it while it could
        if not self.shown and any(
            before.startswith(self.heard.strip()) for before in self.said_before
        ):
            return
        self._show(text if self.shown else self.heard)

    def _show(self, text: str) -> None:
        if text:
            if not self.shown and self.said_before:
                text = f"\n\n{text}"
            self.shown = True
            self.say(text)

    def finish(self) -> str:
        """Return what was said in all; an echo of something said before counts as nothing."""
        self._hear(self.reader.finish())
        said = self.heard.strip()
        if said in self.said_before:
            return ""
        if not self.shown:
            self._show(self.heard)
        return said


def run(
    model: Model,
    request: Request,
    tools: Sequence[Tool],
    config: LoopConfig,
    carry_out: Callable[[ToolCall], Result],
    say: Say,
    *,
    person: str,
) -> Outcome:
    """Let the model act until the turn ends.

    Args:
        model: Who is asked.
        request: Stable prompt, history and the message with its preamble; budget and thinking.
        tools: What may be called.
        config: Bounds.
        carry_out: Runs one work call; never raises for what the model got wrong.
        say: Receives what the person hears, piece by piece.
        person: What the person is called.

    Returns:
        The steps; on Ctrl-C those up to then, with what was heard of the last.
    """
    outcome = Outcome()
    # Work and speech are apart: what is said beside a call would be said without its result.
    schema = actions.schema(
        [[t for t in tools if t.name in AGENCY], [t for t in tools if t.name not in AGENCY]]
    )
    messages = list(request.messages)
    cap = max(6, min(25, 6 + max(0, min(16, config.max_tool_rounds))))
    for _ in range(cap):
        asked = replace(request, messages=tuple(messages), schema=schema)
        speaker = _Speaker(say, [step.said for step in outcome.steps if step.said])
        try:
            completion = model.complete(asked, speaker.feed)
        except KeyboardInterrupt:
            outcome.steps.append(Step(speaker.finish(), (), ()))
            outcome.stopped = "interrupted"
            return outcome
        outcome.completions.append(completion)
        step = _carry_out(
            completion, speaker.finish(), carry_out, outcome.steps, config.repeat_limit
        )
        outcome.steps.append(step)
        if not step.calls:
            outcome.stopped = "length" if completion.finish_reason == "length" else "done"
            return outcome
        back = f"{_results(step)}\n\n{_nudge(outcome, step, person)}"  # only results are stored
        done = history.uncontrolled(completion.text)
        messages += [Message("assistant", done), Message("user", back)]
    outcome.stopped = "step_cap"
    return outcome


def _carry_out(
    completion: Completion,
    said: str,
    carry_out: Callable[[ToolCall], Result],
    before: Sequence[Step],
    repeat_limit: int,
) -> Step:
    calls = completion.tool_calls or actions.parse(completion.text)
    work = tuple(call for call in calls if call.name not in AGENCY)
    results: list[Result] = []
    earlier = [call for step in before for call in step.calls]
    for call in work:
        if _repeats(call, earlier) >= repeat_limit:
            text = (
                f"refused: {call.name} was called like this {repeat_limit} times; use its results"
            )
            results.append(Result(text, failed=True))
        else:
            results.append(carry_out(call))
        earlier.append(call)
    return Step(said, work, tuple(results))


def _repeats(call: ToolCall, earlier: Sequence[ToolCall]) -> int:
    """Count how often a call was made in a row just before."""
    count = 0
    for one in reversed(earlier):
        if (one.name, one.arguments) != (call.name, call.arguments):
            break
        count += 1
    return count


def _results(step: Step) -> str:
    return "\n\n".join(
        history.result_text(call.name, result.text)
        for call, result in zip(step.calls, step.results, strict=True)
    )


def _nudge(outcome: Outcome, step: Step, person: str) -> str:
    """Turn the model back to the person: what failed, and what they have heard already."""
    failed = [
        call.name for call, result in zip(step.calls, step.results, strict=True) if result.failed
    ]
    return prompts.load("nudge").fill(
        failed=f" {', '.join(failed)} failed." if failed else "",
        said=f" {person} has heard this already: {outcome.said}" if outcome.said else "",
        person=person,
    )
