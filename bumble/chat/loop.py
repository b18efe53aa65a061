"""The agent loop: rounds of tools, repeated calls, answers that go in circles, refusals.

Works on messages and tools only; storing what happened is the turn's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from itertools import groupby
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from bumble import patterns
from bumble.chat import route
from bumble.chat.completion_gate import ANNOUNCES, SILENT, Gate, ToolUse
from bumble.chat.tool_list import MORE, SAY
from bumble.chat.tools import AGENCY, KEEPS, READ_ONLY, SEARCHES, Plan, Result
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
from bumble.llm.say_stream import SayReader
from bumble.prompt import transcript
from bumble.runtime.runtime import Runtime
from bumble.text import tokens, words

MOST_REPEATED = 80  # characters of the end that are looked for at the beginning of what follows
LEAST_REPEATED = 12  # fewer may be chance, unless they are the whole last word
_LAST_WORD, _FIRST_WORD = patterns.compile(r"[^\W_]+\Z"), patterns.compile(r"[^\W_]+")


def is_open(text: str) -> bool:
    """Whether the beginning of what follows is too short yet to decide by."""
    return not text.strip() or (len(text) < MOST_REPEATED and len(text.split()) < 2)


def joined(before: str, text: str, language: str) -> str:
    """Return what follows as it belongs behind what was said, the blank between them included.

    Args:
        before: What was said, to where it was cut.
        text: The beginning of what follows, at least its first word.
        language: That is spoken, `de`.
    """
    for length in range(min(MOST_REPEATED, len(before), len(text)), 0, -1):
        is_word = length == len(before) or not before[-length - 1].isalnum()
        if before.endswith(text[:length]) and (length >= LEAST_REPEATED or _is_end(before, length)):
            return text[length:] if is_word else text
    if not before or before[-1].isspace() or text[:1].isspace():
        return text
    last, first = _LAST_WORD.search(before), _FIRST_WORD.match(text)
    if not last or not first:
        return text if not last or not text[:1].isalnum() else f" {text}"
    return text if _is_one_word(last[0], first[0], language) else f" {text}"


def _is_end(before: str, length: int) -> bool:
    """Whether so many characters are just the last word, or what there is of it."""
    last = _LAST_WORD.search(before)
    return length > 1 and last is not None and len(last[0]) == length


def _is_one_word(last: str, first: str, language: str) -> bool:
    """Whether two pieces are one word rather than two, by how common each of them is."""
    whole = (last + first).casefold()
    if words.is_listed(whole, language):
        apart = min(
            words.frequency(last.casefold(), language),
            words.frequency(first.casefold(), language),
        )
        return words.frequency(whole, language) > apart or apart <= words.RAREST
    return not all(words.is_listed(part.casefold(), language) for part in (last, first))


ENDS = frozenset({SAY.name, "end_turn"})  # calls after which nothing follows
REPEAT_LIMIT = 3  # identical calls in a row before the next is refused
PREVIEWS, PREVIEW_CHARS = 8, 280  # outputs of tools that the gate sees, and how much of each
MOST_IDLE = 1  # answers in a row that may go on, say nothing, and come to nothing new
STANDS_STILL = "what was to be done has failed each time"
LENGTH_STOPS = 3  # answers cut off in a row before the advice to write a file

# Why a turn ended: by itself; to hear more first; at a bound; with something that the gate still
# misses; or on the way: the person broke it off, no answer could be read, or the model failed.
Stopped = Literal[
    "done",
    "waiting",
    "step_cap",
    "length",
    "repeating",
    "unfinished",
    "interrupted",
    "unreadable",
    "failed",
]
Say = Callable[[str], None]
Breakable = Callable[[], AbstractContextManager[None]]
UNREADABLE = "That could not be read. Answer with the JSON of actions and nothing else."
CUT_CALL = "That was cut off and not done. Do it again, much shorter, or in several parts."
UNREAD_CHARS = 400  # of an answer that can't be read, when the model is told so
CIRCLE_REACH = 8_000  # characters, from the end, in which an answer may go round
CIRCLE_CHARS, CIRCLE_TIMES = 40, 12  # the end of an answer, and how often it may stand there
REFUSED = "refused:"
PAUSE = "\n\n"  # between two things said
QUESTION = patterns.compile("[?？؟]")
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
    goes_on: bool = False  # whether it continues speech that was cut off, right behind it

    @property
    def effect(self) -> list[tuple[str, str]]:
        """What its calls came to."""
        return [(call.name, one.text) for call, one in zip(self.calls, self.results, strict=True)]

    @property
    def tells_all(self) -> bool:
        """Whether speech beside work needs no more: what that gives is that it was done."""
        is_speech = bool(self.said) and not self.announces
        return is_speech and bool(self.calls) and all(map(is_told, self.calls, self.results))


def is_told(call: Action, result: Result) -> bool:
    """Whether a call has come to nothing that the entity didn't know when it made it."""
    return call.name in KEEPS and not result.failed


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
        """Whether no answer came, though the entity does not wait for more."""
        return not self.said and self.stopped not in ("waiting", "interrupted")

    @property
    def plans(self) -> list[Plan]:
        """What the tools want written, in the order of their calls."""
        results = [result for step in self.steps for result in step.results]
        return [*self.beside, *(plan for result in results for plan in result.plans)]

    def work(self) -> list[ToolUse]:
        """The last tools that ran, each with the beginning of its result."""
        pairs = [pair for step in self.steps for pair in zip(step.calls, step.results, strict=True)]
        return [
            ToolUse(
                call.name,
                words.one_line(result.text)[:PREVIEW_CHARS],
                result.failed,
                tells=not is_told(call, result),
            )
            for call, result in pairs[max(0, len(pairs) - PREVIEWS) :]
        ]


def schema(tools: Sequence[Tool], *, speech_only: bool = False) -> Mapping[str, Any]:
    """Describe an answer of the loop: speech, or work.

    They are apart because what is said beside a call would be said without its result.
    """
    agency = [tool for tool in tools if tool.name in AGENCY]
    work = [tool for tool in tools if tool.name not in AGENCY]
    return actions.schema([agency] if speech_only else [agency, work])


class _Speaker:
    """Streams what is said: set apart from what was said before, or right behind what was cut off.

    An answer that goes round in circles is ended: it would fill its budget with one sentence.
    """

    def __init__(
        self, say: Say, each: list[str], before: str, *, goes_on: bool, language: str
    ) -> None:
        """Begin an answer.

        Args:
            say: Hears it.
            each: Texts that were said in this turn, which are not said again; grows.
            before: All that was said by earlier answers of this turn.
            goes_on: Whether it continues that, where it was cut off.
            language: That is spoken.
        """
        self.reader = SayReader(each)
        self.each, self.earlier = each, tuple(each)
        self.say, self.before, self.language = say, before, language
        self.goes_on = goes_on
        self.read = self.heard = ""  # as it came, and as it is heard
        self.shown = False

    def feed(self, piece: str) -> None:
        self._hear(self.reader.feed(piece))
        end, far = self.heard[-CIRCLE_CHARS:], self.heard[-CIRCLE_REACH:]
        if len(end) == CIRCLE_CHARS and far.count(end) >= CIRCLE_TIMES:
            raise EnoughError

    def _hear(self, text: str, *, ends: bool = False) -> None:
        self.read += text
        self.heard += text
        if not self.shown:
            if not self.heard.strip() or (self.goes_on and is_open(self.heard) and not ends):
                return
            if self.goes_on:
                self.heard = joined(self.before, self.heard, self.language)
            text = self.heard if self.goes_on or not self.before else f"{PAUSE}{self.heard}"
        if text:
            self.shown = True
            self.say(text)

    def finish(self, spoken: Sequence[str] | None = None) -> str:
        """Return what was said; a blank at the beginning of what goes on belongs to it.

        Args:
            spoken: What the answer says, now that it is read as a whole: all that could not be read
                while it came is said now; None: it was broken off.
        """
        if spoken is None:
            rest = self.reader.finish()
        else:
            new = [text for text in dict.fromkeys(spoken) if text not in self.earlier]
            said = PAUSE.join(new)
            rest = said[len(self.read) :] if said.startswith(self.read) else ""
            self.each += new
        self._hear(rest, ends=True)
        return self.heard.rstrip() if self.goes_on and self.heard.strip() else self.heard.strip()


def run(
    model: Model,
    request: Request,
    tools: Sequence[Tool],
    config: LoopConfig,
    carry_out: Callable[[Action], Result],
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
    outcome = LoopOutcome()
    messages, each = list(request.messages), list[str]()  # each text that was said
    beside = ""  # text beside calls, which is the answer where no other comes
    known = offered(tools, speech_only=False)
    writes = any(tool.name == "write_file" for tool in tools)
    tries = _Tries(LONG_ADVICE if writes else SHORT_ADVICE)
    cap = max(6, min(25, 6 + max(0, min(16, config.max_tool_rounds))))
    for _ in range(cap):
        over = _is_over(outcome, config, tries)
        answers = schema(tools, speech_only=over)
        may = offered(tools, speech_only=over)
        asked = fits(replace(request, messages=tuple(messages), schema=answers, tools=may))
        goes_on = tries.cuts > 0 and bool(outcome.said)
        speaker = _Speaker(say, each, outcome.said, goes_on=goes_on, language=language)
        done = len(outcome.steps)
        carries = _no_more if over else carry_out  # not every backend keeps to a schema
        try:
            with breakable():
                completion = model.complete(asked, speaker.feed)
                outcome.completions.append(completion)
                calls = _calls(completion, known)
                beside = completion.beside or beside
                if calls is None:
                    did = PromptMessage("assistant", completion.text[:UNREAD_CHARS])
                    back = _told(_unread(outcome, completion, tries))
                else:
                    is_last = over or all(call.name in ENDS for call in calls)
                    unsaid = [beside] if beside and is_last and not outcome.said else []
                    heard = speaker.finish(_spoken(calls) or unsaid)
                    step = _step(calls, heard, carries, outcome.steps)
                    outcome.steps.append(replace(step, goes_on=goes_on))
                    tries.count(completion, outcome.steps, over=over)
                    did = _did(completion, calls, step)
                    back = _back(outcome, step, config, person, gate, tries)
        except (KeyboardInterrupt, EnoughError, UserError) as problem:
            heard = speaker.finish() if len(outcome.steps) == done else ""
            if heard:
                outcome.steps.append(LoopStep(heard, (), (), goes_on=goes_on))
            return _broken_off(outcome, problem)
        if back is None:
            return outcome
        messages += [did, back]
    outcome.stopped = "step_cap"
    return outcome


def offered(tools: Sequence[Tool], *, speech_only: bool) -> tuple[Tool, ...]:
    """Return what may be called natively: all, or speech alone, which announces nothing."""
    if speech_only:
        return tuple(tool for tool in tools if tool.name in AGENCY)
    return tuple(SAY if tool.name == SAY.name else tool for tool in tools)


def _did(completion: Completion, calls: Sequence[Action], step: LoopStep) -> PromptMessage:
    """Return what the model did, as it is shown what it did."""
    thoughts = [str(call.arguments.get("text", "")) for call in calls if call.name == "think"]
    bare = step.said or "\n".join(thoughts)
    return PromptMessage("assistant", completion.text, bare=bare, calls=step.calls)


def _told(text: str | None) -> PromptMessage | None:
    return None if text is None else PromptMessage("user", text)


class _Tries(Struct):
    """What the bounds of a loop are held against."""

    advice: str  # at the last answer that may be cut off
    rounds: int = 0  # in which tools were used
    cuts: int = 0  # answers that were cut off, in a row
    idle: int = 0  # answers in a row that went on, said nothing, and came to nothing new
    unreadable: bool = False  # whether the model was told once

    def count(self, completion: Completion, steps: Sequence[LoopStep], *, over: bool) -> None:
        """Count the last step."""
        *before, step = steps[-2:]
        cut = completion.finish_reason == "length" and not step.calls
        self.cuts = self.cuts + 1 if cut else 0
        failed = all(result.failed for result in step.results)
        stands = over or (failed and [step.effect] == [one.effect for one in before])
        is_idle = stands and not step.said and (bool(step.calls) or not step.ends)
        self.idle = self.idle + 1 if is_idle else 0
        self.rounds += bool(step.calls)


def _calls(completion: Completion, tools: Sequence[Tool]) -> tuple[Action, ...] | None:
    """Return what an answer asks for, None if that can't be read."""
    try:
        return actions.parse(completion.text, tools)
    except AnswerInvalidError:
        return None


def _spoken(calls: Sequence[Action]) -> list[str]:
    texts = [call.arguments.get("text") for call in calls if call.name == SAY.name]
    return [text for text in texts if text and isinstance(text, str)]


def _unread(outcome: LoopOutcome, completion: Completion, tries: _Tries) -> str | None:
    """Return what the model is told of an answer that can't be read, None if the turn ends."""
    if completion.finish_reason == "length":  # in the middle of a call, which is not run half
        tries.cuts += 1
        if tries.cuts > LENGTH_STOPS:
            outcome.stopped = "length"
            return None
        return CUT_CALL
    if tries.unreadable:
        outcome.stopped = "unreadable"
        outcome.problem = AnswerInvalidError(
            "the model's answer could not be read, and not at the second try either\n"
            "Say it again, or choose a larger model with `bumble config set llm.model NAME`.",
            answer=completion.text,
        )
        return None
    tries.unreadable = True
    return UNREADABLE


def _broken_off(
    outcome: LoopOutcome, problem: KeyboardInterrupt | EnoughError | UserError
) -> LoopOutcome:
    """End a turn on the way, keeping what was said and done; a failure before that is raised."""
    if not isinstance(problem, UserError):
        outcome.stopped = "interrupted" if isinstance(problem, KeyboardInterrupt) else "repeating"
        return outcome
    if not any(step.said or step.calls for step in outcome.steps):
        raise problem
    outcome.stopped, outcome.problem = "failed", problem
    return outcome


def _is_over(outcome: LoopOutcome, config: LoopConfig, tries: _Tries) -> bool:
    """Whether no tool may be used any more: only speech is left."""
    used_up = tries.rounds >= config.max_tool_rounds
    return used_up or tries.idle > 0 or _goes_in_circles(outcome.steps)


def _goes_in_circles(steps: Sequence[LoopStep]) -> bool:
    """Whether a call was refused, or three answers had the same effect."""
    if steps and any(result.text.startswith(REFUSED) for result in steps[-1].results):
        return True
    effects = [step.effect for step in steps[-3:]]
    return len(effects) == 3 and bool(effects[0]) and effects[0] == effects[1] == effects[2]


def _back(
    outcome: LoopOutcome, step: LoopStep, config: LoopConfig, person: str, gate: Gate, tries: _Tries
) -> PromptMessage | None:
    """Return what the model is told next, None if the turn ends; only results are stored."""
    over = _is_over(outcome, config, tries)
    if step.tells_all:
        return None
    if tries.idle > MOST_IDLE:
        outcome.stopped = "unfinished"
        outcome.missing.append(STANDS_STILL if outcome.said else SILENT)
        return None
    if step.calls:
        nudge = _nudge(outcome, step, person, gate.message, over=over)
        results = tuple(
            ToolResult(call.id, transcript.result_text(call.name, result.text))
            for call, result in zip(step.calls, step.results, strict=True)
        )
        text = "\n\n".join([*(result.text for result in results), nudge])
        # whose model has tools of its own knows what results are for
        has_news = over or any(result.failed for result in step.results)
        return PromptMessage("user", text, bare=nudge if has_news else "", results=results)
    return _told(_unworked(outcome, step, person, gate, tries, over=over))


def _unworked(
    outcome: LoopOutcome,
    step: LoopStep,
    person: str,
    gate: Gate,
    tries: _Tries,
    *,
    over: bool,
) -> str | None:
    """Return what the model is told after an answer without work, None if the turn ends."""
    if tries.cuts > LENGTH_STOPS:
        outcome.stopped = "length"
        return None
    if tries.cuts:
        advice = tries.advice if tries.cuts == LENGTH_STOPS else ""
        return prompts.load("cut_off").fill(advice=advice)
    if step.waits and not outcome.said:
        outcome.stopped = "waiting"
        return None
    if not step.ends:  # it only thought
        return _unfinished(outcome, "now speak" if over else "now speak, or act", person, over=over)
    announced = ANNOUNCES if step.announces and not over else ""
    missing = announced or gate.missing(outcome.said, outcome.work())
    if not missing:
        return None
    outcome.missing.append(missing)
    if len(outcome.missing) > gate.config.max_continues:
        outcome.stopped = "unfinished"
        return None
    return _unfinished(outcome, missing, person, over=over)


def _unfinished(outcome: LoopOutcome, missing: str, person: str, *, over: bool) -> str:
    heard = f" {person} has heard this already: {outcome.said}" if outcome.said else ""
    return prompts.load("unfinished").fill(
        missing=missing, said=heard, way=WITHOUT_TOOLS if over else BY_TOOL, person=person
    )


def _step(
    calls: Sequence[Action],
    speech: str,
    carry_out: Callable[[Action], Result],
    before: Sequence[LoopStep],
) -> LoopStep:
    agency = {call.name for call in calls} & AGENCY
    work = tuple(call for call in calls if call.name not in AGENCY)
    earlier = [call for step in before for call in step.calls]
    results: list[Result] = []
    for read_only, group in groupby(work, lambda call: call.name in READ_ONLY):
        row = list(group)
        refused = [_refused(call, [*earlier, *row[:n]], REPEAT_LIMIT) for n, call in enumerate(row)]
        pairs = list(zip(row, refused, strict=True))
        if read_only and len(row) > 1:  # they change nothing, so none waits for another
            with ThreadPoolExecutor(len(row)) as pool:
                results += pool.map(lambda pair: pair[1] or carry_out(pair[0]), pairs)
        else:
            results += [refusal or carry_out(call) for call, refusal in pairs]
        earlier += row
    return LoopStep(
        speech,
        work,
        tuple(results),
        ends=agency != {"think"} or bool(speech),
        waits="wait" in agency,
        announces=any(call.arguments.get("then") == MORE for call in calls if call.name == "say"),
    )


def _no_more(call: Action) -> Result:
    return Result(f"refused: no tool may be used any more; {call.name} did not run", failed=True)


def _refused(call: Action, earlier: Sequence[Action], limit: int) -> Result | None:
    """Refuse a call that was made so often in a row just before."""
    last = [(each.name, each.arguments) for each in earlier[-limit:]]
    if last != [(call.name, call.arguments)] * limit:
        return None
    text = f"{REFUSED} {call.name} was called like this {limit} times; use its results"
    return Result(text, failed=True)


def _nudge(outcome: LoopOutcome, step: LoopStep, person: str, message: str, *, over: bool) -> str:
    """Turn the model back to the person: what failed, what was searched, what they heard and said.

    A small model answers what stands last: after the results alone it has lost the question. Asked
    for what it has found by now, it says that it doesn't know, as the person did.
    """
    failed = [
        call.name for call, result in zip(step.calls, step.results, strict=True) if result.failed
    ]
    steps = outcome.steps
    searches = [call for each in steps for call in each.calls if call.name in SEARCHES]
    asked = [f'"{value}"' for call in searches for value in call.arguments.values()]
    slots = {
        "asked": f" Already searched: {', '.join(dict.fromkeys(asked))}." if asked else "",
        "said": f" {person} has heard this already: {outcome.said}" if outcome.said else "",
        "person": person,
        "message": transcript.spoken(person, tokens.cut(words.one_line(message), MESSAGE_TOKENS)),
    }
    names = ", ".join(dict.fromkeys(failed))
    if failed and not over:
        return prompts.load("failed").fill(**slots, failed=names)
    if QUESTION.search(message) and all(result.found for result in step.results):
        return prompts.load("found").fill(**slots)
    if over:
        return prompts.load("final").fill(
            **slots, failed=f" {names} failed: say so." if names else ""
        )
    return prompts.load("nudge").fill(**slots)


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

    Raises:
        UserError: If the model fails before it has done anything.
    """
    return run(
        runtime.model,
        request,
        declared,
        bounds,
        once_a_file(carry_out),
        lambda _: None,
        person=person,
        gate=Gate(runtime.model, runtime.config.cognition.gate, task, judges="never"),
        fits=lambda request: route.fitting(runtime, request),
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
