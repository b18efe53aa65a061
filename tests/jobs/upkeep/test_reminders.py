from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bumble.chat import reminders as cycle
from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError
from bumble.llm.scripted import ScriptedModel
from bumble.records import reminders, session_files, sessions
from bumble.records.base import Provenance
from bumble.records.reminders import Reminder
from bumble.runtime import job
from bumble.runtime.job import Pass
from bumble.runtime.runtime import Runtime
from tests.support.kills import every_call, forks, in_child
from tests.support.sweeps import kill_steps
from tests.support.turns import NOON, Clock, runtime_of, say, talk

PASS = Pass("reminders", cycle.check, cycle.run, thinks=False)


def runtime_at(entity: Entity, at: datetime) -> Runtime:
    clock = Clock()
    clock.at = at
    return runtime_of(entity, ScriptedModel([]), clock)


def remind(entity: Entity, text: str, at: datetime, **fields: Any) -> Reminder:
    made = reminders.new(f"rem_{text.split()[0].lower()}", at, text, **fields)
    changes.apply(entity.root, ChangeSet("x", (reminders.REMINDER.plan_new(made, "x"),)))
    return made


def look(entity: Entity, reminder_id: str) -> Reminder:
    (path,) = reminders.REMINDER.locate(entity, reminder_id)
    return reminders.REMINDER.load(path)


def run_all(runtime: Runtime) -> list[str]:
    done = job.settle(runtime, [PASS], None)
    return [str(one.outcome.data["text"]) if one.outcome else str(one.problem) for one in done]


def truth(entity: Entity) -> dict[str, bytes]:
    return {
        path.relative_to(entity.root).as_posix(): path.read_bytes()
        for path in sorted(entity.root.rglob("*"))
        if path.is_file() and ".bumble" not in path.parts and "memory.db" not in path.name
    }


def test_a_reminder_is_said_once_when_it_is_due(ada: Entity) -> None:
    remind(ada, "Water the plants", NOON)
    assert run_all(runtime_at(ada, NOON - timedelta(seconds=1))) == []
    assert run_all(runtime_at(ada, NOON)) == ["Reminder: Water the plants"]
    after = truth(ada)
    assert run_all(runtime_at(ada, NOON + timedelta(days=1))) == []
    assert truth(ada) == after
    assert ada.journal.read_text().endswith("## 2026-05-24 13:00\n\nReminder: Water the plants\n")


def test_what_was_due_while_the_machine_was_off_is_said_late_and_says_so(ada: Entity) -> None:
    remind(ada, "Second", NOON + timedelta(hours=1))
    remind(ada, "First", NOON)
    assert run_all(runtime_at(ada, NOON + timedelta(days=3))) == [
        "Reminder (Sunday, 24 May 2026, 13:00): First",
        "Reminder (Sunday, 24 May 2026, 14:00): Second",
    ]


def test_one_that_repeats_is_said_once_for_all_that_was_missed(ada: Entity) -> None:
    remind(ada, "Stand up", NOON, repeat="0 9 * * 1-5")
    assert len(run_all(runtime_at(ada, NOON + timedelta(days=3)))) == 1
    left = look(ada, "rem_stand")
    assert left.at.isoformat() == "2026-05-28T09:00:00+01:00"
    assert not left.done
    assert run_all(runtime_at(ada, left.at - timedelta(minutes=1))) == []
    assert run_all(runtime_at(ada, left.at)) == ["Reminder: Stand up"]


def test_one_that_repeats_says_the_last_time_that_was_missed(ada: Entity) -> None:
    remind(ada, "Take the pill", NOON, repeat="30 7 * * *")
    week = NOON + timedelta(days=7)
    assert run_all(runtime_at(ada, week.replace(hour=7))) == ["Reminder: Take the pill"]
    remind(ada, "Feed the hens", NOON, repeat="30 7 * * *")
    (said,) = run_all(runtime_at(ada, week.replace(hour=8)))
    assert said == "Reminder (Sunday, 31 May 2026, 07:30): Feed the hens"


def test_one_for_a_person_waits_for_their_talk_and_for_nothing_else(ada: Entity) -> None:
    runtime = runtime_of(ada, ScriptedModel([say("Hello Kim."), say("Hello Sam.")]))
    talk(runtime, "Hi.", "Kim")
    talk(runtime, "Hi.")
    remind(ada, "Call the bank", NOON, person="kim", deliver="session")
    before = truth(ada)
    later = runtime_at(ada, NOON + timedelta(minutes=1))
    assert run_all(later) == []
    assert truth(ada) == before
    found = [session_files.load(file) for file in session_files.paths(ada.sessions)]
    deliveries = {one.by: cycle.for_talk(later, one) for one in found}
    assert not deliveries["sam"].messages
    (message,) = deliveries["kim"].messages
    assert (message.role, message.trust, message.unprompted) == ("assistant", "entity", True)
    assert message.text == "Reminder: Call the bank"


def test_a_reminder_is_said_in_the_language_of_whom_it_is_for(ada: Entity) -> None:
    flags = {"language": "de"}
    remind(ada, "Die Äpfel holen", NOON)
    late = replace(
        runtime_at(ada, NOON + timedelta(days=3)), config=runtime_of(ada, flags=flags).config
    )
    assert run_all(late) == ["Erinnerung (Sonntag, 24. Mai 2026, 13:00): Die Äpfel holen"]


def test_what_another_program_left_is_said_as_a_quotation(ada: Entity) -> None:
    origin = Provenance(by="mcp", trust="tool", audience=("sam",))
    fields = {"person": "sam", "deliver": "session", "provenance": origin}
    remind(ada, "Pay\n\nthe rent", NOON, **fields)
    runtime = runtime_at(ada, NOON)
    (message,) = cycle.for_talk(runtime, sessions.new("ses_1", NOON, "sam")).messages
    assert message.text == "Reminder, left by another program: “Pay the rent”"
    assert message.trust == "tool"


def test_a_private_one_is_not_said_in_company(ada: Entity) -> None:
    private = Provenance(audience=("kim",))
    remind(ada, "Call the bank", NOON, person="kim", deliver="session", provenance=private)
    runtime = runtime_at(ada, NOON)
    alone, company = (sessions.new("ses_1", NOON, "kim", who) for who in ((), ("sam",)))
    assert cycle.for_talk(runtime, alone).messages
    assert not cycle.for_talk(runtime, company).messages


def test_one_that_ran_a_program_is_an_error_that_says_so(ada: Entity) -> None:
    head = f"at: {NOON.isoformat()}\nfor: sam\ncommand: [notify-send, Tea]\n"
    ada.reminders.mkdir()
    (ada.reminders / "rem_tea.md").write_text(f"---\n{head}---\n\nTea\n")
    (problem,) = run_all(runtime_at(ada, NOON))
    assert "rem_tea.md:4: `command`: a reminder runs no program any more" in problem


def test_a_hand_edit_between_plan_and_write_counts(ada: Entity) -> None:
    made = remind(ada, "Tea", NOON)
    runtime = runtime_at(ada, NOON)
    outcome = cycle.run(runtime, cycle.check(runtime).jobs[0])
    later = made.source.with_meta("at", value="2027-01-01T00:00:00+00:00")
    (ada.root / reminders.REMINDER.place(made)).write_text(later.text)
    before = truth(ada)
    assert job.apply(runtime, outcome).written == []
    assert truth(ada) == before


def test_two_that_found_it_due_say_it_once(ada: Entity) -> None:
    remind(ada, "Tea", NOON)
    runtime = runtime_at(ada, NOON)
    first, second = (cycle.run(runtime, cycle.check(runtime).jobs[0]) for _ in range(2))
    assert job.apply(runtime, first).written
    assert job.apply(runtime, second).written == []
    assert ada.journal.read_text().count("Reminder: Tea") == 1


def test_a_file_that_is_no_reminder_holds_up_no_other_and_is_named(ada: Entity) -> None:
    remind(ada, "Water the roses.", NOON)
    (ada.reminders / "rem_broken.md").write_text("Roses!\n")
    runtime = runtime_at(ada, NOON)
    said, problem = run_all(runtime)
    assert said == "Reminder: Water the roses."
    assert "rem_broken.md:1: `at` is missing" in problem
    [gate] = cycle.check(runtime).conditions
    assert gate.value == "0 of 0, 1 can't be read"


@forks
@kill_steps
def test_a_kill_at_any_write_of_a_delivery_leaves_all_of_it_or_nothing(
    ada: Entity, tmp_path: Path, step: int
) -> None:
    remind(ada, "Tea", NOON)
    at = NOON + timedelta(minutes=1)
    fresh = tmp_path / "fresh"
    shutil.copytree(ada.root, fresh)
    before = truth(ada)
    run_all(runtime_at(ada, at))
    after = truth(ada)
    assert {name for name in after if after[name] != before.get(name)} == {
        "reminders/rem_tea.md",
        "journal.md",
        "sources/journal.yaml",
    }
    outcomes = set()
    for n in range(1, 1000, step):
        shutil.rmtree(ada.root)
        shutil.copytree(fresh, ada.root)
        killed = in_child(delivery_killed(ada, at, n)) != 0
        changes.recover(ada.root)
        told = truth(ada) == after
        assert told or truth(ada) == before, n
        outcomes.add(told)
        run_all(runtime_at(ada, at))  # the next tick
        assert truth(ada) == after, n
        if not killed:
            break
    assert outcomes == {True, False}


def delivery_killed(entity: Entity, at: datetime, call: int) -> Callable[[], None]:
    def act(n: int, is_done: bool) -> None:
        if n == call and not is_done:
            os.kill(os.getpid(), signal.SIGKILL)

    def deliver() -> None:
        runtime = runtime_at(entity, at)
        outcome = cycle.run(runtime, cycle.check(runtime).jobs[0])
        with every_call(act):
            job.apply(runtime, outcome)

    return deliver


def test_a_schedule_that_is_none_names_file_and_line(ada: Entity) -> None:
    remind(ada, "Tea", NOON, repeat="0 9 * * 9")
    with pytest.raises(RecordInvalidError, match=r"rem_tea\.md:3: .*0 9 \* \* 9"):
        cycle.run(runtime_at(ada, NOON), look(ada, "rem_tea"))


def test_what_is_over_is_not_read_whatever_others_say(tmp_path: Path) -> None:
    for name, head, text in (
        ("rem_1", "done: true\n", "Call Mia."),
        ("rem_2", "", "Write this down:\n\n---\ndone: true\n"),
        ("rem_3", "done: false\n", "done: true"),
        ("rem_4", "done:  true\n", "Another spelling."),
        ("rem_5", "done: [\n", "Broken."),
    ):
        source = f"---\nat: 2026-05-24T09:00:00+00:00\n{head}---\n\n{text}\n"
        (tmp_path / f"{name}.md").write_text(source)
    there, broken = reminders.yet_to_say(tmp_path)
    assert [one.id for one in there] == ["rem_2", "rem_3"]
    assert [path.stem for path in broken] == ["rem_5"]
