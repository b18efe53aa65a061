from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bumble.entity.folder import Entity
from bumble.errors import (
    BudgetSpentError,
    FileChangedError,
    LockedError,
    ModelUnreachableError,
    RecordInvalidError,
)
from bumble.llm.budget import Budgeted, Limits, Spent
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.runtime import job, runner
from bumble.runtime.job import Due, JobResult
from bumble.runtime.runner import Settled
from bumble.runtime.runtime import Runtime
from tests.support.absent_model import Absent
from tests.support.small import small, wait, words
from tests.support.turns import life_of


@pytest.fixture
def life(ada: Entity) -> Runtime:
    return life_of(ada, ScriptedModel([Reply("Yes.", always=True)]))


def told(done: list[Settled]) -> list[str]:
    return [
        one.outcome.title if one.outcome else f"{one.name}! {type(one.problem).__name__}"
        for one in done
    ]


def test_one_kind_is_done_to_its_end_before_the_next_begins(life: Runtime) -> None:
    wait(life, "b 1", "a 1", "b 2", "a 2")
    done = list(runner.settle(life, [small("a"), small("b")], None))
    assert told(done) == ["a: 1", "a: 2", "b: 1", "b: 2"]
    assert life.entity.journal.read_text().endswith("a 1\na 2\nb 1\nb 2\n")


def test_no_more_passes_are_made_than_the_limit_allows(life: Runtime) -> None:
    wait(life, "a 1", "a 2", "b 1")
    passes = [small("a"), small("b")]
    assert told(list(runner.settle(life, passes, 0))) == []
    assert told(list(runner.settle(life, passes, 2))) == ["a: 1", "a: 2"]
    assert words(life, "b") == ["1"]


def test_a_job_that_fails_waits_and_the_others_go_on(life: Runtime) -> None:
    def refuse(word: str) -> None:
        if word == "broken":
            raise RecordInvalidError(Path("x.md"), "no record")

    wait(life, "a broken", "a 2", "b 1")
    done = list(runner.settle(life, [small("a", refuse), small("b")], None))
    assert told(done) == ["a! RecordInvalidError", "a: 2", "b: 1"]
    assert words(life, "a") == ["broken"]


def test_without_a_model_what_needs_none_goes_on_and_it_is_asked_for_once(life: Runtime) -> None:
    absent = Absent([])
    life = replace(life, model=Budgeted(absent, Limits(None, None, Spent)))
    wait(life, "a 1", "a 2", "b 1", "c 1")
    passes = [small("a", thinks=True), small("b"), small("c", thinks=True)]
    done = list(runner.settle(life, passes, None))
    assert told(done) == ["a! ModelUnreachableError", "b: 1", "c! ModelUnreachableError"]
    assert len(absent.requests) == 1
    assert words(life, "a") == ["1", "2"]
    assert isinstance(done[0].problem, ModelUnreachableError)


def test_a_spent_budget_leaves_the_rest_for_later_and_lists_it(life: Runtime) -> None:
    life = replace(life, model=Budgeted(life.model, Limits(1, None, Spent)))
    wait(life, "a 1", "a 2", "b 1")
    done = list(runner.settle(life, [small("a", thinks=True), small("b")], None))
    assert told(done) == ["a: 1", "a! BudgetSpentError", "b: 1"]
    assert words(life, "a") == ["2"]
    assert isinstance(done[1].problem, BudgetSpentError)


def test_a_file_that_keeps_changing_leaves_its_pass_waiting(life: Runtime) -> None:
    def meddle(*_: object) -> JobResult:
        raise FileChangedError(Path("workspace/waiting.txt"))

    wait(life, "a 1")
    done = list(runner.settle(life, [small("a")], None, meddle))
    assert told(done) == ["a! FileChangedError"]
    assert words(life, "a") == ["1"]


def test_a_locked_entity_ends_it_at_once(life: Runtime) -> None:
    def locked(*_: object) -> JobResult:
        raise LockedError(Path("ada"), 1)

    wait(life, "a 1", "a 2", "b 1")
    done = list(runner.settle(life, [small("a"), small("b")], None, locked))
    assert told(done) == ["a! LockedError"]


def test_a_job_that_does_not_move_is_done_once(life: Runtime) -> None:
    wait(life, "a 1", "a 2")
    done = list(runner.settle(life, [small("a")], None, lambda _, outcome: outcome))
    assert told(done) == ["a: 1", "a: 2"]


def test_a_check_that_fails_is_reported_and_passed_over(life: Runtime) -> None:
    def broken(_: Runtime) -> Due[str]:
        raise RecordInvalidError(Path("state.yaml"), "not YAML")

    wait(life, "a 1", "b 1")
    passes = [replace(small("a"), check=broken), small("b")]
    assert told(list(runner.settle(life, passes, None))) == ["a! RecordInvalidError", "b: 1"]


def test_a_job_that_is_settled_by_itself_keeps_no_other_from_its_turn(life: Runtime) -> None:
    def apply(life: Runtime, outcome: JobResult) -> JobResult:
        if outcome.title == "a: 1":
            wait(life, "a 2")  # somebody else has done it
            return outcome
        return job.apply(life, outcome)

    wait(life, "a 1", "a 2")
    assert told(list(runner.settle(life, [small("a")], None, apply))) == ["a: 1", "a: 2"]
    assert words(life, "a") == []
