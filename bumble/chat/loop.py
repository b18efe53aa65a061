"""The agent loop: rounds of tools, repeated calls, refusals, why a turn ends.

Works on messages and tools only; storing what happened is the turn's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from contextvars import Context, copy_context
from itertools import groupby, repeat, starmap
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from bumble.chat import route
from bumble.chat.completion_gate import ANNOUNCES, SILENT, Gate, is_told
from bumble.chat.speaker import PAUSE, Say, Speaker
from bumble.chat.tool_list import MORE, NOTHING, SAY
from bumble.chat.tools import AGENCY, READ_ONLY, SEARCHES
from bumble.entity.config import LoopConfig
from bumble.errors import AnswerInvalidError, UserError
from bumble.llm import actions, prompts
from bumble.llm.protocol import (
    Action,
    Completion,
    EnoughError,
    Model,
    PromptMessage,
    Request,
    Tool,
    ToolResult,
)
from bumble.prompt import transcript
from bumble.runtime.runtime import Plan, Result, Runtime
from bumble.text import tokens, words

ENDS = frozenset({SAY.name, "end_turn"})  # calls after which nothing follows
REPEAT_LIMIT = 3  # identical calls in a row before the next is refused
MOST_IDLE = 1  # answers in a row that may go on, say nothing, and come to nothing new
STANDS_STILL = "what was to be done has failed each time"
LENGTH_STOPS = 3  # answers cut off in a row before the advice to write a file

# Why a turn ended: by itself; to hear more first, or as it was not spoken to; at a bound; with
# something that the gate misses; or on the way: the person broke it off, no answer could be read,
# or the model failed.
Stopped = Literal[
    "done",
    "waiting",
    "silent",
    "step_cap",
    "length",
    "repeating",
    "unfinished",
    "interrupted",
    "unreadable",
    "failed",
]
CarryOut = Callable[[Action], Result]
Breakable = Callable[[], AbstractContextManager[None]]
UNREADABLE = "That could not be read. Answer with the JSON of actions and nothing else."
CUT_CALL = "That was cut off and not done. Do it again, much shorter, or in several parts."
UNREAD_CHARS = 400  # of an answer that can't be read, when the model is told so
REFUSED = "refused:"
MESSAGE_TOKENS = 80  # of what the person said, as the model is reminded of it
LONG_ADVICE = " If it is that long, write it to a file with write_file and say where it is."
BY_TOOL, WITHOUT_TOOLS = "Do it now with a tool, or", "No tool may be used any more:"
SHORT_ADVICE = " Say the rest in one sentence."  # where no file may be written


class LoopStep(Struct, frozen=True):
    """One answer of the model and what came of it."""

    said: str  # what the person heard, empty if nothing
    calls: tuple[Action, ...]  # work that was asked for
    results: tuple[Result, ...]  # one a call
    ends: bool = True  # whether the model wants the turn to end with it
    waits: bool = False  # whether it would rather hear more first
    announces: bool = False  # whether it says that it only announced what it has still to do
    says_all: bool = False  # whether it says that nothing is left to do
    goes_on: bool = False  # whether it continues speech that was cut off, right behind it
    is_silence: bool = False  # whether it ends the turn, and does nothing else

    @property
    def pairs(self) -> list[tuple[Action, Result]]:
        """Each call, and what came of it."""
        return list(zip(self.calls, self.results, strict=True))

    @property
    def effect(self) -> list[tuple[str, str]]:
        """What its calls came to."""
        return [(call.name, result.text) for call, result in self.pairs]


class LoopOutcome(Struct):
    """What a loop did."""

    steps: list[LoopStep] = field(default_factory=list)
    completions: list[Completion] = field(default_factory=list)
    stopped: Stopped = "done"
    missing: list[str] = field(default_factory=list)  # what the gate found missing, each time
    problem: UserError | None = None  # of "unreadable" and "failed"
    beside: list[Plan] = field(default_factory=list)  # what is written with it, by no tool

    @property
    def said(self) -> str:
        """All the person heard."""
        spoken = [step for step in self.steps if step.said]
        pieces = [f"{'' if step.goes_on else PAUSE}{step.said}" for step in spoken[1:]]
        return "".join([*(step.said for step in spoken[:1]), *pieces])

    @property
    def is_silent(self) -> bool:
        """Whether no answer came, though the entity does not mean to be silent."""
        return not self.said and self.stopped not in ("waiting", "silent", "interrupted")

    @property
    def plans(self) -> list[Plan]:
        """What the tools want written, in the order of their calls."""
        return [*self.beside, *(plan for _, result in self.pairs for plan in result.plans)]

    @property
    def pairs(self) -> list[tuple[Action, Result]]:
        """All calls that were carried out, and what came of each."""
        return [pair for step in self.steps for pair in step.pairs]


def schema(tools: Sequence[Tool], *, speech_only: bool = False) -> Mapping[str, Any]:
    """Describe an answer of the loop: speech, or work.

    They are apart because what is said beside a call would be said without its result.
    """
    agency = [tool for tool in tools if tool.name in AGENCY]
    work = [tool for tool in tools if tool.name not in AGENCY]
    return actions.schema([agency] if speech_only else [agency, work])


def run(
    model: Model,
    request: Request,
    tools: Sequence[Tool],
    config: LoopConfig,
    carry_out: CarryOut,
    say: Say,
    *,
    person: str,
    gate: Gate,
    language: str = words.DEFAULT_LANGUAGE,
    fits: Callable[[Request], Request] = lambda request: request,
    breakable: Breakable = nullcontext,
) -> LoopOutcome:
    """Let the model act until the turn ends.

    Args:
        model: Who is asked.
        request: Stable prompt, history and the message with its preamble; budget and thinking.
        tools: What may be called; declared on every request, also where only speech is left.
        config: Bounds.
        carry_out: Runs one work call; never raises for what the model got wrong.
        say: Receives what the person hears, piece by piece.
        person: What the person is called.
        gate: Decides whether the turn may end.
        language: That is spoken.
        fits: Shortens the answer that a request allows to what the window has room for.
        breakable: Encloses what a person may break off; what they break off is kept as it is.

    Returns:
        The steps; where it was broken off, those up to then, with what was heard of the last.

    Raises:
        UserError: If the model fails before it has said or done anything.
    """
    turn = _Turn(tools, config, carry_out, person, gate)
    outcome, messages, each = turn.outcome, list(request.messages), list[str]()
    for _ in range(max(6, min(25, 6 + max(0, min(16, config.max_tool_rounds))))):
        over, done = turn.is_over, len(outcome.steps)
        goes_on = turn.cuts > 0 and bool(outcome.said)
        speaker = Speaker(say, each, outcome.said, goes_on=goes_on, language=language)
        asked = replace(
            request,
            messages=tuple(messages),
            schema=schema(tools, speech_only=over),
            tools=offered(tools, speech_only=over),
        )
        try:
            with breakable():
                completion = model.complete(fits(asked), speaker.feed)
                outcome.completions.append(completion)
                did, told = turn.take(completion, speaker)
        except (KeyboardInterrupt, EnoughError, UserError) as problem:
            if len(outcome.steps) == done and (heard := speaker.finish()):
                outcome.steps.append(LoopStep(heard, (), (), goes_on=goes_on))
            return _broken_off(outcome, problem)
        if isinstance(told, str):
            outcome.stopped = told
            return outcome
        messages += [did, told]
    outcome.stopped = "step_cap"
    return outcome


def _broken_off(
    outcome: LoopOutcome, problem: KeyboardInterrupt | EnoughError | UserError
) -> LoopOutcome:
    """End a turn on the way, keeping what was said and done; a failure before that is raised."""
    if not isinstance(problem, UserError):
        outcome.stopped = "interrupted" if isinstance(problem, KeyboardInterrupt) else "repeating"
    elif not any(step.said or step.calls for step in outcome.steps):
        raise problem
    else:
        outcome.stopped, outcome.problem = "failed", problem
    return outcome


def offered(tools: Sequence[Tool], *, speech_only: bool) -> tuple[Tool, ...]:
    """Return what may be called natively: all, or speech alone, which announces nothing."""
    if speech_only:
        return tuple(tool for tool in tools if tool.name in AGENCY)
    return tuple(SAY if tool.name == SAY.name else tool for tool in tools)


class _Turn(Struct):
    """A turn while it goes on: what was done, and what its bounds are held against."""

    tools: Sequence[Tool]
    config: LoopConfig
    carry_out: CarryOut
    person: str
    gate: Gate
    outcome: LoopOutcome = field(default_factory=LoopOutcome)
    beside: str = ""  # text beside calls, which is the answer where no other comes
    rounds: int = 0  # in which tools were used
    cuts: int = 0  # answers that were cut off, in a row
    idle: int = 0  # answers in a row that went on, said nothing, and came to nothing new
    unreadable: bool = False  # whether the model was told once

    @property
    def is_over(self) -> bool:
        """Whether no tool may be used any more: only speech is left.

        Its rounds are used up, a call was refused, or three answers had the same effect.
        """
        *_, last = [LoopStep("", (), ()), *self.outcome.steps]
        refused = any(result.text.startswith(REFUSED) for result in last.results)
        effects = [step.effect for step in self.outcome.steps[-3:]]
        circles = bool(last.calls) and effects == [last.effect] * 3
        return self.rounds >= self.config.max_tool_rounds or self.idle > 0 or refused or circles

    def take(
        self, completion: Completion, speaker: Speaker
    ) -> tuple[PromptMessage, PromptMessage | Stopped]:
        """Say and do what an answer wants.

        Returns:
            What the model did, as it is shown it, and what it is told next, or why the turn ends;
            only results are stored.
        """
        over, outcome = self.is_over, self.outcome
        self.beside = completion.beside or self.beside
        try:
            calls = completion.calls or actions.parse(
                completion.text, offered(self.tools, speech_only=False)
            )
        except AnswerInvalidError:
            did = PromptMessage("assistant", completion.text[:UNREAD_CHARS])
            return did, self._unread(completion)
        is_last = over or all(call.name in ENDS for call in calls)
        unsaid = [self.beside] if self.beside and is_last and not outcome.said else []
        heard = speaker.finish(actions.spoken(calls) or unsaid)
        step = self._step(calls, heard, goes_on=speaker.goes_on)
        before = [one.effect for one in outcome.steps[-1:]]
        self.cuts = self.cuts + 1 if completion.finish_reason == "length" and not step.calls else 0
        stands = over or (all(result.failed for result in step.results) and [step.effect] == before)
        is_idle = stands and not step.said and (bool(step.calls) or not step.ends)
        self.idle = self.idle + 1 if is_idle else 0
        self.rounds += bool(step.calls)
        outcome.steps.append(step)
        thoughts = [str(call.arguments.get("text", "")) for call in calls if call.name == "think"]
        bare = step.said or "\n".join(thoughts)
        did = PromptMessage("assistant", completion.text, bare=bare, calls=step.calls)
        return did, self._back(step)

    def _unread(self, completion: Completion) -> PromptMessage | Stopped:
        """Return what the model is told of an answer that can't be read."""
        if completion.finish_reason == "length":  # in the middle of a call, which is not run half
            self.cuts += 1
            return "length" if self.cuts > LENGTH_STOPS else PromptMessage("user", CUT_CALL)
        if not self.unreadable:
            self.unreadable = True
            return PromptMessage("user", UNREADABLE)
        self.outcome.problem = AnswerInvalidError(
            "the model's answer could not be read, and not at the second try either\n"
            "Say it again, or choose a larger model with `bumble config set llm.model NAME`.",
            answer=completion.text,
        )
        return "unreadable"

    def _step(self, calls: Sequence[Action], said: str, *, goes_on: bool) -> LoopStep:
        """Carry out what an answer wants; what only reads runs beside each other."""
        agency = {call.name for call in calls} & AGENCY
        work = [call for call in calls if call.name not in AGENCY]
        over, results = self.is_over, list[Result]()
        earlier = [call for call, _ in self.outcome.pairs]

        def done(call: Action, place: int) -> Result:
            if over:  # not every backend keeps to a schema
                text = f"refused: no tool may be used any more; {call.name} did not run"
                return Result(text, failed=True)
            return _refused(call, [*earlier, *work[:place]]) or self.carry_out(call)

        for read_only, group in groupby(enumerate(work), lambda one: one[1].name in READ_ONLY):
            places, row = zip(*group, strict=True)
            if read_only and len(row) > 1:  # they change nothing, so none waits for another
                with ThreadPoolExecutor(len(row)) as pool:
                    contexts = [copy_context() for _ in row]
                    results += pool.map(Context.run, contexts, repeat(done), row, places)
            else:
                results += map(done, row, places)
        told = [one.arguments.get("then") for one in calls if one.name == "say"]
        then = [one for one in told if one is not None]  # whatever that is: nothing has checked it
        return LoopStep(
            said,
            tuple(work),
            tuple(results),
            ends=agency != {"think"} or bool(said),
            waits="wait" in agency,
            announces=MORE in then,
            says_all=bool(then) and all(one == NOTHING for one in then),
            goes_on=goes_on,
            is_silence=[call.name for call in calls] == ["end_turn"] and not said,
        )

    def _back(self, step: LoopStep) -> PromptMessage | Stopped:
        is_speech = bool(step.said) and not step.announces
        if is_speech and step.calls and all(starmap(is_told, step.pairs)):
            return "done"  # what that work gives is that it was done
        if self.idle > MOST_IDLE:
            self.outcome.missing.append(STANDS_STILL if self.outcome.said else SILENT)
            return "unfinished"
        if not step.calls:
            return self._unworked(step)
        results = [
            ToolResult(call.id, transcript.result_text(call.name, result.text))
            for call, result in step.pairs
        ]
        nudge = self._nudge(step)
        text = "\n\n".join([*(result.text for result in results), nudge])
        # whose model has tools of its own knows what results are for
        if self.is_over or any(result.failed for result in step.results):
            results[-1] = ToolResult(results[-1].id, f"{results[-1].text}\n\n{nudge}")
        return PromptMessage("user", text, bare="", results=tuple(results))

    def _unworked(self, step: LoopStep) -> PromptMessage | Stopped:
        """Return what the model is told after an answer without work."""
        over, outcome = self.is_over, self.outcome
        if self.cuts > LENGTH_STOPS:
            return "length"
        if self.cuts:
            writes = any(tool.name == "write_file" for tool in self.tools)
            advice = LONG_ADVICE if writes else SHORT_ADVICE
            advice = advice if self.cuts == LENGTH_STOPS else ""
            return PromptMessage("user", prompts.load("cut_off").fill(advice=advice))
        if step.waits and not self.outcome.said:
            return "waiting"
        if step.is_silence and self.gate.may_be_silent and not (outcome.said or outcome.pairs):
            return "silent"
        missing = "now speak" if over else "now speak, or act"
        if step.ends:  # else it only thought
            announced = ANNOUNCES if step.announces and not over else ""
            missing = announced or self.gate.missing(
                self.outcome.said, self.outcome.pairs, says_all=step.says_all
            )
            if not missing:
                return "done"
            self.outcome.missing.append(missing)
            if len(self.outcome.missing) > self.gate.config.max_continues:
                return "unfinished"
        way = WITHOUT_TOOLS if over else BY_TOOL
        slots = {"missing": missing, "said": self._heard, "way": way, "person": self.person}
        return PromptMessage("user", prompts.load("unfinished").fill(**slots))

    @property
    def _heard(self) -> str:
        said = self.outcome.said
        return f" {self.person} has heard this already: {said}" if said else ""

    def _nudge(self, step: LoopStep) -> str:
        """Turn the model back to the person: what failed, was searched, what they heard and said.

        A small model answers what stands last: after the results alone it has lost the question.
        Asked for what it has found by now, it says that it doesn't know, as the person did.
        """
        message, over = self.gate.message, self.is_over
        searches = [call.arguments for call, _ in self.outcome.pairs if call.name in SEARCHES]
        asked = [f'"{value}"' for arguments in searches for value in arguments.values()]
        names = ", ".join(dict.fromkeys(call.name for call, one in step.pairs if one.failed))
        said = tokens.cut(words.one_line(message), MESSAGE_TOKENS)
        slots = {
            "asked": f" Already searched: {', '.join(dict.fromkeys(asked))}." if asked else "",
            "said": self._heard,
            "person": self.person,
            "message": transcript.spoken(self.person, said),
        }
        if names and not over:
            return prompts.load("failed").fill(**slots, failed=names)
        if route.QUESTION.search(message) and all(result.found for result in step.results):
            return prompts.load("found").fill(**slots)
        if over:
            failed = f" {names} failed: say so." if names else ""
            return prompts.load("final").fill(**slots, failed=failed)
        return prompts.load("nudge").fill(**slots)


def _refused(call: Action, earlier: Sequence[Action]) -> Result | None:
    """Refuse a call that was made so often in a row just before."""
    last = [(each.name, each.arguments) for each in earlier[-REPEAT_LIMIT:]]
    if last != [(call.name, call.arguments)] * REPEAT_LIMIT:
        return None
    text = f"{REFUSED} {call.name} was called like this {REPEAT_LIMIT} times; use its results"
    return Result(text, failed=True)


def act(
    runtime: Runtime,
    request: Request,
    declared: Sequence[Tool],
    bounds: LoopConfig,
    carry_out: CarryOut,
    *,
    person: str,
    task: str,
    fits: Callable[[Request], Request],
    is_heard: bool = True,
) -> LoopOutcome:
    """Let the model act until it is done; nobody hears what it says meanwhile.

    Args:
        runtime: Whose model is asked.
        request: Stable prompt and task.
        declared: What may be called.
        bounds: Of rounds and calls.
        carry_out: Runs one call; here each file is written by one of them at most.
        person: What they are called whom it thinks of.
        task: What it is to do, for the completion gate.
        fits: Shortens the answer that a request allows, or ends it all by `EnoughError`.
        is_heard: Whether what it says is wanted in the end.

    Raises:
        UserError: If the model fails before it has done anything.
    """
    by_rules = replace(runtime.config.cognition.gate, judge="never")
    return run(
        runtime.model,
        request,
        declared,
        bounds,
        once_a_file(carry_out),
        lambda _: None,
        person=person,
        gate=Gate(runtime.model, by_rules, task, is_heard=is_heard),
        fits=fits,
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
