from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from bumble.entity.folder import Entity
from bumble.errors import (
    FileChangedError,
    LimitReachedError,
    LockedError,
    ModelUnreachableError,
    RecordInvalidError,
)
from bumble.llm.ledger import Budgeted, DaySpending, Limits
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.runtime import job
from bumble.runtime.job import JobResult, Settled
from bumble.runtime.runtime import Runtime
from tests.support.absent_model import Absent
from tests.support.small import small, wait, words
from tests.support.turns import runtime_of


@pytest.fixture
def runtime(ada: Entity) -> Runtime:
    return runtime_of(ada, ScriptedModel([Reply("Yes.", always=True)]))


def told(done: list[Settled]) -> list[str]:
    return [
        one.outcome.title if one.outcome else f"{one.name}! {type(one.problem).__name__}"
        for one in done
    ]


def test_one_kind_is_done_to_its_end_before_the_next_begins(runtime: Runtime) -> None:
    wait(runtime, "b 1", "a 1", "b 2", "a 2")
    done = list(job.settle(runtime, [small("a"), small("b")], None))
    assert told(done) == ["a: 1", "a: 2", "b: 1", "b: 2"]
    assert runtime.entity.journal.read_text().endswith("a 1\na 2\nb 1\nb 2\n")


def test_no_more_passes_are_made_than_the_limit_allows(runtime: Runtime) -> None:
    wait(runtime, "a 1", "a 2", "b 1")
    passes = [small("a"), small("b")]
    assert told(list(job.settle(runtime, passes, 0))) == []
    assert told(list(job.settle(runtime, passes, 2))) == ["a: 1", "a: 2"]
    assert words(runtime, "b") == ["1"]


def test_a_job_that_fails_waits_and_the_others_go_on(runtime: Runtime) -> None:
    def refuse(word: str) -> None:
        if word == "broken":
            raise RecordInvalidError(Path("x.md"), "no record")

    wait(runtime, "a broken", "a 2", "b 1")
    done = list(job.settle(runtime, [small("a", refuse), small("b")], None))
    assert told(done) == ["a! RecordInvalidError", "a: 2", "b: 1"]
    assert words(runtime, "a") == ["broken"]


def test_without_a_model_what_needs_none_goes_on_and_it_is_asked_for_once(runtime: Runtime) -> None:
    absent = Absent([])
    runtime = replace(runtime, model=Budgeted(absent, Limits(None, None, DaySpending)))
    wait(runtime, "a 1", "a 2", "b 1", "c 1")
    passes = [small("a", thinks=True), small("b"), small("c", thinks=True)]
    done = list(job.settle(runtime, passes, None))
    assert told(done) == ["a! ModelUnreachableError", "b: 1", "c! ModelUnreachableError"]
    assert len(absent.requests) == 1
    assert words(runtime, "a") == ["1", "2"]
    assert isinstance(done[0].problem, ModelUnreachableError)


def test_a_spent_budget_leaves_the_rest_for_later_and_lists_it(runtime: Runtime) -> None:
    runtime = replace(runtime, model=Budgeted(runtime.model, Limits(1, None, DaySpending)))
    wait(runtime, "a 1", "a 2", "b 1")
    done = list(job.settle(runtime, [small("a", thinks=True), small("b")], None))
    assert told(done) == ["a: 1", "a! LimitReachedError", "b: 1"]
    assert words(runtime, "a") == ["2"]
    assert isinstance(done[1].problem, LimitReachedError)


def test_a_file_that_keeps_changing_leaves_its_pass_waiting(runtime: Runtime) -> None:
    def meddle(*_: object) -> JobResult:
        raise FileChangedError(Path("workspace/waiting.txt"))

    wait(runtime, "a 1")
    done = list(job.settle(runtime, [small("a")], None, meddle))
    assert told(done) == ["a! FileChangedError"]
    assert words(runtime, "a") == ["1"]


def test_a_locked_entity_ends_it_at_once(runtime: Runtime) -> None:
    def locked(*_: object) -> JobResult:
        raise LockedError(Path("ada"), 1)

    wait(runtime, "a 1", "a 2", "b 1")
    done = list(job.settle(runtime, [small("a"), small("b")], None, locked))
    assert told(done) == ["a! LockedError"]


def test_a_job_that_is_settled_by_itself_keeps_no_other_from_its_turn(runtime: Runtime) -> None:
    def apply(runtime: Runtime, outcome: JobResult) -> JobResult:
        if outcome.title == "a: 1":
            wait(runtime, "a 2")  # somebody else has done it
            return outcome
        return job.apply(runtime, outcome)

    wait(runtime, "a 1", "a 2")
    assert told(list(job.settle(runtime, [small("a")], None, apply))) == ["a: 1", "a: 2"]
    assert words(runtime, "a") == []
