"""What every job between turns has: conditions, due work, a result, and its application.

The model is asked once; what it said is then written on the files as they are at that moment, so
a hand edit in between is neither lost nor a reason to ask again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from bumble.entity.changes import Change, ChangeSet
from bumble.entity.commits import CYCLE
from bumble.errors import (
    AnswerInvalidError,
    CredentialsError,
    FileChangedError,
    ModelUnreachableError,
    WeightsMissingError,
)
from bumble.records import state
from bumble.records.base import Provenance
from bumble.runtime import audiences
from bumble.runtime.review_queue import HELD_BACK

if TYPE_CHECKING:
    from bumble.runtime.runtime import Runtime  # what only looks at a cycle's words needs no index

HOUSEKEEPING = "housekeeping"  # the title of a commit that holds no change of meaning
APPLY_TRIES = 12  # a dozen processes may write the same few files at once
# What leaves a job without a model's answer: it waits, or is done without, and says so.
NO_ANSWER = (AnswerInvalidError, CredentialsError, ModelUnreachableError, WeightsMissingError)

J = TypeVar("J")


class Condition(Struct, frozen=True):
    """One condition of a cycle (a gate): what is the case, what has to be, whether it passes."""

    name: str
    value: str  # what is the case, for people: "12 min since the last"
    wants: str  # what has to be the case: "at least 5 min"
    passes: bool


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
    in_vain: bool = False  # whether the model answered and nothing could be made of it
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

    def change_set(self) -> ChangeSet:
        """Return the changes to make, planned on the files as they are now."""
        return self.planned()[1]

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
        try:
            return _write(runtime, outcome)
        except FileChangedError:
            continue
    return _write(runtime, outcome)


def _plainly(change_set: ChangeSet) -> ChangeSet:
    """Say of a set that only moves cursors on that it is housekeeping."""
    if not change_set or any(change.path != state.PATH for change in change_set.changes):
        return change_set
    cycle, _, about = change_set.title.partition(": ")
    trailers = (*change_set.trailers, (CYCLE, cycle))
    return replace(change_set, title=f"{HOUSEKEEPING}: {about or cycle}", trailers=trailers)


def _write(runtime: Runtime, outcome: JobResult) -> JobResult:
    result, change_set = outcome.planned()
    origins = audiences.of_changes(runtime.entity.root, change_set.changes)
    written = runtime.apply(_plainly(change_set))
    held = (HELD_BACK,) if runtime.holds_back(change_set) else ()
    return replace(result, written=written, held=held, origins=origins)
