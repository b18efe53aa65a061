"""The harness of every job between turns: gather, ask, verify, plan, apply.

`check` of a job gathers what is due, with its conditions. `ask` asks the model once, by the prompt
of the job, which holds the answer to its `ClaimSources` (`guard/verifier`). The result plans on the
files as they are when it is applied, so a hand edit in between is neither lost nor a reason to ask
again. `settle` runs jobs until nothing is due.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from bumble.entity import secrets
from bumble.entity.changes import Change, ChangeSet
from bumble.entity.folder import Entity
from bumble.errors import (
    AnswerInvalidError,
    CredentialsError,
    FileChangedError,
    LimitReachedError,
    LockedError,
    ModelUnreachableError,
    UserError,
    WeightsMissingError,
)
from bumble.files import disk
from bumble.llm import ledger, prompts, structured
from bumble.llm.protocol import PromptMessage, Request
from bumble.records.base import Provenance
from bumble.runtime import audiences, review_queue, spoken
from bumble.text import moments
from bumble.text.schema import choice as choice
from bumble.text.schema import closed as closed

if TYPE_CHECKING:
    from bumble.runtime.runtime import Runtime

APPLY_TRIES = 12  # a dozen processes may write the same few files at once
MOST_VAIN = 1_000  # marks of what was asked in vain; the oldest go
# What leaves a job without a model's answer: it waits, or is done without, and says so.
NO_ANSWER = (AnswerInvalidError, CredentialsError, ModelUnreachableError, WeightsMissingError)

J = TypeVar("J")


class Condition(Struct, frozen=True):
    """One condition of a cycle (a gate): what is the case, what has to be, whether it passes."""

    name: str
    value: str  # what is the case, for people: "12 min since the last"
    wants: str  # what has to be the case: "at least 5 min"
    passes: bool


def silence(entity: Entity, at: datetime, least: float) -> Condition:
    """Return the condition that nobody has said anything for so many seconds."""
    newest = spoken.last_said(entity, at)
    quiet = None if newest is None else moments.gap(newest, at).total_seconds()
    value = "nobody has spoken yet" if quiet is None else f"{round(quiet)} s"
    return Condition("silence", value, f"at least {least:g} s", quiet is None or quiet >= least)


class Due(Struct, Generic[J], frozen=True):
    """The jobs of a cycle that wait, and its conditions; found without a model and writing."""

    conditions: tuple[Condition, ...]
    jobs: tuple[J, ...]  # in the order in which they are to be done; empty: nothing to do

    @property
    def due(self) -> bool:
        """Whether every condition passes and there is something to do."""
        return bool(self.jobs) and all(condition.passes for condition in self.conditions)


class Stretch(Struct, frozen=True):
    """A conversation from its beginning to one of its messages."""

    session: str
    last: str  # id of the message


class JobPlan(Struct, frozen=True):
    """The changes of a job on the files as they are, and what these were found to be."""

    changes: Sequence[Change | None]
    late: tuple[str, ...] = ()  # told after the lines: what is other than when the model was asked
    data: Mapping[str, Any] = field(default_factory=dict)  # the same for --json
    ran: bool = True  # False: what was made is not kept after all


class JobResult(Struct, frozen=True):
    """The result of a job: the changes to write, and what a person is told of them."""

    title: str  # of the change set: "remember: Sam's new dog"
    # on the files as they are when it is called; bare changes, where nothing can be told of them
    plan: Callable[[], JobPlan | Sequence[Change | None]]
    lines: tuple[str, ...] = ()  # what a person is told
    data: Mapping[str, Any] = field(default_factory=dict)  # the same for --json
    trailers: tuple[tuple[str, str], ...] = ()  # for the history: ("Evidence", "msg_…")
    ran: bool = True  # False: there was nothing in it, or nothing could be made of it
    record: str = ""  # id of the record it makes, for the run ledger; empty: none of its own
    summarised: Stretch | None = None  # what leaves the view, for a summary stands for it
    asked: bool = True  # whether a model was; what costs nothing counts against no limit
    marks: tuple[str, ...] = ()  # of what it dealt with, for what waits for review
    late: tuple[str, ...] = ()  # what its plan told, once there is one
    held: tuple[str, ...] = ()  # what a person is told where it was held back
    vain: tuple[str, ...] = ()  # marks of what the model answered that nothing could be made of
    origins: tuple[Provenance, ...] = ()  # of the records it wrote: for whom they are
    about: str = ""  # id of the conversation, or the person, that it dealt with
    written: Sequence[Any] = ()  # what was applied, as whoever applied it shows it

    def whole_plan(self) -> JobPlan:
        """Plan on the files as they are now."""
        plan = self.plan()
        return plan if isinstance(plan, JobPlan) else JobPlan(plan)

    def planned(self) -> tuple[JobResult, ChangeSet]:
        """Plan on the files as they are now: the result with what that tells, and the changes."""
        plan = self.whole_plan()
        result = replace(
            self, late=plan.late, data={**self.data, **plan.data}, ran=self.ran and plan.ran
        )
        changes = tuple(filter(None, plan.changes))
        return result, ChangeSet(self.title, changes, self.trailers, marks=self.marks)

    @property
    def report(self) -> dict[str, Any]:
        """What `--json` says of it."""
        return {"title": self.title, "ran": self.ran, **self.data}

    @property
    def told(self) -> tuple[str, ...]:
        """What a person is told in the end."""
        return (*self.lines, *self.late, *self.held)


def traced(evidence: Iterable[str], model: str) -> tuple[tuple[str, str], ...]:
    """Return the trailers of a result: what it rests on, and the model that wrote it, if any."""
    trailers = tuple(("Evidence", id_) for id_ in evidence)
    return (*trailers, ("Model", model)) if model else trailers


def apply(runtime: Runtime, outcome: JobResult) -> JobResult:
    """Write what a job wants written; planned again if somebody edits a file meanwhile.

    Returns:
        The result, with the files written, and what is to be told of that.

    Raises:
        FileChangedError: If files keep changing.
    """
    for _ in range(APPLY_TRIES - 1):
        with suppress(FileChangedError):
            return _write(runtime, outcome)
    return _write(runtime, outcome)


def _write(runtime: Runtime, outcome: JobResult) -> JobResult:
    result, change_set = outcome.planned()
    origins = audiences.of_changes(runtime.entity.root, change_set.changes, lines=False)
    written = runtime.apply(change_set)
    note_vain(runtime, outcome.vain)
    held = (review_queue.HELD_BACK,) if runtime.holds_back(change_set) else ()
    return replace(result, written=written, held=held, origins=origins)


def vain(runtime: Runtime) -> list[str]:
    """Return the marks of what was asked in vain, the oldest first, each as often as it was.

    What can't be read there has none: it is asked once more. It is this machine's alone.
    """
    with suppress(ValueError, TypeError):
        return list(map(str, json.loads(disk.read_cache(runtime.entity.vain) or b"[]")))
    return []


def note_vain(runtime: Runtime, marks: Sequence[str]) -> None:
    """Note marks of what was asked in vain: whoever asks about the same finds them there."""
    if marks and runtime.writes:
        kept = [*vain(runtime), *marks][-MOST_VAIN:]
        disk.write_cache(runtime.entity.vain, json.dumps(kept).encode())


NOT_NOW = (LockedError, *ledger.NO_MODEL)  # the other jobs of a kind would meet the same

# Writes a result, and returns it as it was written.
Apply: TypeAlias = "Callable[[Runtime, JobResult], JobResult]"
Held = Callable[[], str | None]


class Pass(Struct, frozen=True):
    """One kind of job: how its jobs are found, and how one is run.

    A job may have `marks` of what it is about: to be proposed for review, or asked in vain, once.
    """

    name: str
    check: Callable[[Runtime], Due[Any]]
    run: Callable[[Runtime, Any], JobResult]
    thinks: bool = True  # whether it may ask the model
    at_once: bool = False  # whether it does what was due at its beginning, and no more
    written_as: str = ""  # what its commits are called; empty: as it


WAITS = (LimitReachedError, FileChangedError, LockedError)  # nothing to be done about it now


class Settled(Struct, frozen=True):
    """One job with its result, or with what it waits for; then nothing of it was written."""

    name: str  # of its pass
    outcome: JobResult | None = None
    problem: UserError | None = None  # why it waits
    held: str = ""  # why the pass was not begun, or not gone on with

    @property
    def failure(self) -> UserError | None:
        """What a person has to see to; None: it was done, or waits for what passes by itself."""
        return None if isinstance(self.problem, WAITS) else self.problem


def never() -> None:
    """Hold nothing back."""


def settle(
    runtime: Runtime,
    passes: Sequence[Pass],
    limit: int | None = None,
    write: Apply = apply,
    *,
    held: Held = never,
) -> Iterator[Settled]:
    """Run jobs while there is anything to do, at most so many, and yield each once written.

    A pass that is due is done to its end before the next begins. Stopping in the middle loses
    nothing: what was not written waits as before. Where another process keeps the entity's lock,
    all the rest waits.

    Args:
        runtime: Whose jobs.
        passes: The kinds, most urgent first.
        limit: How many in all that ask a model; None: all that are due.
        write: Writes what a job wants written.
        held: Says why no model may be asked right now; None: it may.
    """
    left = limit
    for kind in passes:
        for settled in _settle_kind(runtime, kind, left, write, held if kind.thinks else never):
            yield settled
            if left is not None and settled.outcome is not None and settled.outcome.asked:
                left -= 1
            if isinstance(settled.problem, LockedError):
                return


def _settle_kind(
    runtime: Runtime, kind: Pass, left: int | None, write: Apply, held: Held
) -> Iterator[Settled]:
    """Run the jobs of one kind; a job that failed, or changed nothing, is not tried again.

    Where nothing is written, what is due stays due: it is asked for once, or it would never end.
    So it is of a pass that bounds by itself how much it does at once.
    """
    tried: list[Any] = []
    waiting: Due[Any] | None = None
    successes = failures = 0
    most = 1  # failures: one for each job, so that one that fails keeps no other from its turn
    while True:
        if (reason := held()) is not None:
            yield Settled(kind.name, held=reason)
            return
        if left is not None and successes >= left:
            return
        try:
            is_asked_again = runtime.writes and not kind.at_once
            waiting = kind.check(runtime) if waiting is None or is_asked_again else waiting
        except UserError as error:
            yield Settled(kind.name, problem=error)
            return
        job = next((candidate for candidate in waiting.jobs if candidate not in tried), None)
        most = max(most, len(waiting.jobs))
        if not waiting.due or job is None or failures >= most:
            return
        tried.append(job)
        try:
            runtime.check_review(kind.name)
            outcome = write(runtime, replace(kind.run(runtime, job), about=_about(job)))
        except UserError as error:
            failures += 1
            if isinstance(error, AnswerInvalidError):
                note_vain(runtime, getattr(job, "marks", ()))
            yield Settled(kind.name, problem=error)
            if isinstance(error, NOT_NOW):
                return
            continue
        failures += not outcome.written
        successes += outcome.asked
        yield Settled(kind.name, outcome)


def _about(job: Any) -> str:
    """Return the id of the conversation, or the person, that a job deals with; empty: of none."""
    names = ("session_id", "session", "person", "episode")
    found = next(filter(None, (getattr(job, name, None) for name in names)), "")
    return found if isinstance(found, str) else getattr(found, "session", "") or found.id


def request(
    runtime: Runtime,
    purpose: str,
    slots: Mapping[str, str],
    *,
    max_tokens: int,
    temperature: float,
) -> Request:
    """Make the request of a cycle; its seed is the next of the life's chance.

    Args:
        runtime: Who asks.
        purpose: The cycle, which is also the name of its prompt.
        slots: What the prompt takes.
        max_tokens: Of the answer.
        temperature: Of the answer.
    """
    return Request(
        messages=messages(purpose, slots),
        purpose=purpose,
        max_tokens=max_tokens,
        temperature=temperature,
        seed=runtime.rng.getrandbits(31),
        cache_id=cache_id(purpose),
    )


def ask(
    runtime: Runtime,
    purpose: str,
    slots: Mapping[str, str],
    schema: Mapping[str, Any],
    *,
    max_tokens: int,
    temperature: float,
) -> Any:
    """Ask for an answer of a form, as every job does; what it says has still to be checked.

    Raises:
        AnswerInvalidError: If it can't be used.
        ModelUnreachableError: If no model answers; likewise what else stands in its way.
    """
    asked = request(runtime, purpose, slots, max_tokens=max_tokens, temperature=temperature)
    return structured.answer(runtime.model, asked, schema)


def array(item: Mapping[str, Any], most: int, *, least: int = 0) -> dict[str, Any]:
    """Describe a list of so many things."""
    return {"type": "array", "items": item, "minItems": least, "maxItems": most}


def text(most: int) -> dict[str, Any]:
    """Describe a text of so many characters."""
    return {"type": "string", "maxLength": most}


def messages(prompt: str, slots: Mapping[str, str]) -> tuple[PromptMessage, ...]:
    """Fill a prompt: its instructions, its examples, and what is asked now, without secrets."""
    # each labelled row by itself: what is secret in one takes nothing of the next
    rows = {name: re.split(r"\n(?=\[)", text) for name, text in slots.items()}
    shown = {name: "\n".join(map(secrets.redacted, each)) for name, each in rows.items()}
    return tuple(PromptMessage(role, text) for role, text in prompts.load(prompt).turns(**shown))


def cache_id(purpose: str) -> str:
    """Name what is evaluated once for all requests of a purpose: they begin alike."""
    return f"cycle:{purpose}"
