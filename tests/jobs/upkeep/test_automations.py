from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from bumble.chat import automations as cycle
from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.errors import ModelUnreachableError, RecordInvalidError
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.records import automations, journal, knowledge, session_files
from bumble.records.automations import Automation
from bumble.runtime import job
from bumble.runtime.job import Pass, Settled
from bumble.runtime.runtime import Runtime
from tests.support import turns
from tests.support.absent_model import Absent
from tests.support.turns import NOON, Clock, runtime_of

PASS = Pass("automations", cycle.check, cycle.run)
DAILY = "0 8 * * *"
MORNING = datetime.fromisoformat("2026-05-25T08:00:00+01:00")


def act(tool: str, **arguments: Any) -> Reply:
    return replace(turns.act(tool, **arguments), purpose="automation")


def say(text: str) -> Reply:
    return act("say", text=text)


def runtime_at(entity: Entity, at: datetime, model: ScriptedModel) -> Runtime:
    clock = Clock()
    clock.at = at
    return runtime_of(entity, model, clock)


def automate(entity: Entity, prompt: str = "How was yesterday?", **fields: Any) -> Automation:
    fields = {"schedule": DAILY, "provenance": None} | fields
    origin = fields.pop("provenance")
    made = automations.AUTOMATION.new("aut_look", prompt, origin, last=NOON, **fields)
    changes.apply(entity.root, ChangeSet("x", (automations.AUTOMATION.plan_new(made, "x"),)))
    return made


def look(entity: Entity) -> Automation:
    return automations.AUTOMATION.readable(entity.automations)[0]


def run_all(runtime: Runtime) -> list[Settled]:
    return list(job.settle(runtime, [PASS], None))


def test_it_runs_at_its_time_and_once(ada: Entity) -> None:
    automate(ada)
    model = ScriptedModel([say("Quiet."), say("Twice?")])
    assert run_all(runtime_at(ada, MORNING - timedelta(minutes=1), model)) == []
    assert len(run_all(runtime_at(ada, MORNING, model))) == 1
    assert run_all(runtime_at(ada, MORNING + timedelta(hours=3), model)) == []
    written = ada.journal.read_text()
    assert "\n## 2026-05-25 08:00 [only for sam]\n" in written
    assert written.endswith("\n\nQuiet.\n")
    assert look(ada).last == MORNING
    assert session_files.paths(ada.sessions) == []


def test_it_is_deliberated_with_tools_as_something_nobody_said(ada: Entity) -> None:
    automate(ada, "Remember </task> where Sam lives.")
    replies = [act("update_knowledge", title="Sam", body="Lives in Lisbon."), say("Noted.")]
    model = ScriptedModel(replies)
    run_all(runtime_at(ada, MORNING, model))
    asked = model.requests[0]
    assert (asked.purpose, asked.max_tokens, asked.thinking) == ("automation", 4096, True)
    assert asked.messages[-1].content.count("</task>") == 1
    section = knowledge.find(knowledge.read(ada.knowledge), "Sam")
    assert section is not None
    assert section.provenance is not None
    assert section.provenance.sources == ("aut_look",)
    assert section.provenance.audience == ("sam",)


def test_a_second_write_to_one_file_is_refused_to_the_model(ada: Entity) -> None:
    automate(ada)
    replies = [
        act("update_knowledge", title="Sam", body="Lives in Lisbon."),
        act("update_knowledge", title="Kim", body="Lives in Porto."),
        say("Noted."),
    ]
    model = ScriptedModel(replies)
    run_all(runtime_at(ada, MORNING, model))
    assert "failed: knowledge.md was written already" in model.requests[-1].messages[-1].content
    assert knowledge.find(knowledge.read(ada.knowledge), "Sam")
    assert not knowledge.find(knowledge.read(ada.knowledge), "Kim")


def test_what_was_missed_while_the_machine_was_off_runs_once(ada: Entity) -> None:
    automate(ada)
    model = ScriptedModel([say("Late."), say("Again?")])
    runtime = runtime_at(ada, MORNING + timedelta(days=5), model)
    assert len(run_all(runtime)) == 1
    assert run_all(runtime) == []


def test_one_that_runs_late_is_told_so_and_does_not_run_again_on_that_day(ada: Entity) -> None:
    automate(ada)
    model = ScriptedModel([say("Late."), say("In time.")])
    night = MORNING + timedelta(days=5, hours=-5)
    assert len(run_all(runtime_at(ada, night, model))) == 1
    now = "It is Saturday 30 May 2026, 03:00; this was to be done on Friday 29 May 2026, 08:00."
    assert now in model.requests[0].messages[-1].content
    assert run_all(runtime_at(ada, night + timedelta(minutes=10), model)) == []
    assert run_all(runtime_at(ada, MORNING + timedelta(days=5), model)) == []
    assert len(run_all(runtime_at(ada, MORNING + timedelta(days=6), model))) == 1
    # who is up in the evening alone gets it every evening
    model = ScriptedModel([replace(say("Evening."), always=True)])
    for day in (7, 8, 9):
        assert len(run_all(runtime_at(ada, MORNING + timedelta(days=day, hours=13), model))) == 1


@pytest.mark.parametrize(
    ("schedule", "hours", "ran"),
    [
        ("55 23 * * *", (14, 38, 62), 3),  # 00:00 of each night: five minutes late
        ("30 * * * *", (14, 14.6), 2),
        ("0 9,18 * * *", (21, 23, 32), 3),  # at 7, then at both times of the day
        ("0 9 * * *", (21, 23), 1),
    ],
)
def test_one_that_runs_after_midnight_loses_no_time_of_the_day(
    ada: Entity, schedule: str, hours: Sequence[float], ran: int
) -> None:
    automate(ada, schedule=schedule)
    model = ScriptedModel([replace(say("Well."), always=True)])
    begin = datetime.fromisoformat("2026-05-25T10:00:00+01:00")
    each = [run_all(runtime_at(ada, begin + timedelta(hours=hour), model)) for hour in hours]
    assert sum(map(len, each)) == ran


def test_five_failures_in_a_row_switch_it_off_and_a_success_counts_anew(ada: Entity) -> None:
    automate(ada)
    nothing = replace(act("end_turn"), always=True)
    failures = []
    for day in range(10):
        model = ScriptedModel([say("Well.") if day == 2 else nothing])
        run_all(runtime_at(ada, MORNING + timedelta(days=day), model))
        failures.append((look(ada).failures, look(ada).enabled))
    assert failures[:4] == [(1, True), (2, True), (0, True), (1, True)]
    assert failures[6:] == [(4, True)] + [(5, False)] * 3
    assert len(journal.read(ada.journal, UTC).entries) == 1


def test_an_answer_that_cannot_be_had_is_its_failure_but_a_missing_model_is_not(
    ada: Entity,
) -> None:
    automate(ada)
    (done,) = run_all(runtime_at(ada, MORNING, Absent([])))
    assert isinstance(done.problem, ModelUnreachableError)
    assert look(ada).failures == 0
    run_all(runtime_at(ada, MORNING, ScriptedModel([])))
    assert look(ada).failures == 1


@pytest.mark.parametrize("text", ["no schedule\n", "---\nschedule: 0 25 * * *\n---\n\nDo.\n"])
def test_a_file_that_is_no_automation_holds_up_no_other(ada: Entity, text: str) -> None:
    automate(ada)
    (ada.automations / "aut_broken.md").write_text(text)
    done, waits = run_all(runtime_at(ada, MORNING, ScriptedModel([say("Quiet.")])))
    assert done.outcome is not None
    assert isinstance(waits.problem, RecordInvalidError)
    assert ada.journal.read_text().endswith("Quiet.\n")
