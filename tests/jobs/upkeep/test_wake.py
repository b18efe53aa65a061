from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from bumble.body.noise import DREAM, THOUGHT, Fragment
from bumble.chat import reminders as delivery
from bumble.chat import wake
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.llm.protocol import Completion, OnText, Request
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.models.tiers import Abilities
from bumble.records import journal, projects, reminders, session_files, sessions
from bumble.records.base import Provenance
from bumble.runtime import body_state, job
from bumble.runtime.job import JobResult, Pass
from bumble.runtime.runtime import Runtime
from tests.support.living import talked, write
from tests.support.sweeps import WHOLE, sampled, turns
from tests.support.turns import Clock, runtime_of

LISBON = ZoneInfo("Europe/Lisbon")
MORNING = datetime(2026, 5, 25, 9, tzinfo=LISBON)
PASSES = (
    Pass("reminders", delivery.check, delivery.run, thinks=False),
    Pass("wake", wake.check_tick, wake.run, thinks=False, at_once=True),
)


def acts(*calls: tuple[str, dict[str, Any]]) -> str:
    return json.dumps({"actions": [{"tool": name, "arguments": each} for name, each in calls]})


class Stubborn(ScriptedModel):
    """A model that wants the same whenever it may, and far more of it than it may."""

    def __init__(self, favourite: str) -> None:
        super().__init__([Reply("", always=True)])
        self.favourite = favourite

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        given = super().complete(request, None)
        return replace(given, text=self._text(request))

    def greetings(self) -> list[str]:
        return [f"Hello {len(self.requests)}.{number}" for number in range(3)]

    def _text(self, request: Request) -> str:
        schema = json.dumps(dict(request.schema or {}))
        if self.favourite == wake.LEAVE_MESSAGE and wake.LEAVE_MESSAGE in schema:
            return acts(*((wake.LEAVE_MESSAGE, {"text": text}) for text in self.greetings()))
        if self.favourite == "say":
            said = {"text": self.greetings()[0], "then": "more"}
            return acts(("say", said), ("recall", {"query": said["text"]}))
        if self.favourite == "recall":
            return acts(("recall", {"query": f"the garden {len(self.requests)}"}))
        text = f"A morning {len(self.requests)}."
        return acts(("write_journal", {"text": text}), ("end_turn", {}))


def awake(entity: Entity, model: ScriptedModel, at: datetime = MORNING, **values: Any) -> Runtime:
    clock = Clock()
    clock.at = at
    runtime = runtime_of(entity, model, clock)
    settings = replace(runtime.config.wake, enabled=True, **values)
    return replace(runtime, config=replace(runtime.config, wake=settings))


def woken(runtime: Runtime) -> JobResult:
    (found,) = wake.check_tick(runtime).jobs
    outcome = wake.run(runtime, found)
    job.apply(runtime, outcome)
    return outcome


def think(runtime: Runtime, *thoughts: Fragment) -> None:
    write(
        runtime.entity,
        body_state.plan(runtime, MORNING, lambda soma: replace(soma, noise=thoughts), ""),
    )


@pytest.fixture
def entity(ada: Entity) -> Entity:
    said = (("sam", "I planted the beans behind the shed."), ("ada", "Good."))
    talked(ada, "ses_1", *said, at=MORNING - timedelta(hours=3))
    return ada


def test_a_wake_in_2036_delays_no_later_one(entity: Entity) -> None:
    future = MORNING.replace(year=2036)
    assert woken(awake(entity, ScriptedModel([]), future)).data["woke"]
    assert woken(awake(entity, ScriptedModel([]))).data["woke"]
    soon = MORNING + timedelta(seconds=30)
    assert not woken(awake(entity, ScriptedModel([]), soon)).data["woke"]
    assert woken(awake(entity, ScriptedModel([]), MORNING + timedelta(hours=6))).data["woke"]


@pytest.mark.parametrize(
    ("at", "values", "gate"),
    [
        (MORNING - timedelta(hours=3) + timedelta(seconds=60), {}, "silence: 5"),
        (MORNING + timedelta(hours=14), {}, "quiet hours: 23:00"),
        (MORNING, {"max_per_day": 0}, "budget of the day: 0 wakes today"),
    ],
)
def test_each_closed_gate_says_why(
    entity: Entity, at: datetime, values: dict[str, Any], gate: str
) -> None:
    model = Stubborn("write_journal")
    outcome = woken(awake(entity, model, at, **values))
    assert gate in outcome.title
    assert outcome.data["woke"] is False
    assert not model.requests


def test_a_reason_to_stay_asleep_is_written_once_as_long_as_it_holds(entity: Entity) -> None:
    runtime = awake(entity, Stubborn("write_journal"), MORNING + timedelta(hours=14))
    woken(runtime)
    before = entity.state.read_bytes()
    woken(runtime)
    assert entity.state.read_bytes() == before


def test_a_dream_that_lingers_wakes_it_before_a_louder_thought(entity: Entity) -> None:
    old = MORNING - timedelta(hours=1)
    runtime = awake(entity, Stubborn("write_journal"))
    think(
        runtime,
        Fragment("the bees do not queue", THOUGHT, 0.6, old),
        Fragment("i plant whales", DREAM, 0.5, old),
        Fragment("it is loud in here", THOUGHT, 0.9, MORNING),
    )
    outcome = woken(runtime)
    assert outcome.title == "wake: write_journal, because of a dream that lingers"
    assert "i plant whales" in runtime.model.requests[0].messages[-1].content  # type: ignore[attr-defined]


def test_what_was_thought_of_one_person_is_for_them_alone(entity: Entity) -> None:
    thought = Fragment("Kim hides marzipan", THOUGHT, 0.8, MORNING - timedelta(hours=1), ("kim",))
    runtime = awake(entity, Stubborn("write_journal"))
    think(runtime, thought)
    woken(runtime)
    assert journal.read(entity.journal, LISBON).entries[-1].audience == ("kim",)


def test_a_message_is_left_as_a_reminder_and_never_more_than_two(entity: Entity) -> None:
    runtime = awake(entity, Stubborn(wake.LEAVE_MESSAGE))
    outcome = woken(runtime)
    assert outcome.data["messages"] == 2
    left = list(reminders.REMINDER.readable(entity.reminders))
    assert [(one.person, one.deliver, one.provenance.by) for one in left] == [
        ("sam", "session", "wake")
    ] * 2
    night = awake(entity, Stubborn(wake.LEAVE_MESSAGE), MORNING + timedelta(hours=14))
    assert "quiet hours" in (delivery.waits_for(night, left[0]) or "")
    assert "a talk with sam" in (delivery.waits_for(runtime, left[0]) or "")
    assert delivery.waits_for(replace(runtime, show=print), left[0]) is None
    assert delivery.worded(runtime, left[0], MORNING) == left[0].text


def test_a_session_ends_when_its_time_is_over(entity: Entity) -> None:
    runtime = awake(entity, Stubborn("recall"))
    clock = runtime.clock

    class Slow(Stubborn):
        def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
            clock.at += timedelta(minutes=7)  # type: ignore[attr-defined]
            return super().complete(request, on_text)

    slow = Slow("recall")
    outcome = woken(replace(runtime, model=slow))
    assert 1 <= outcome.data["steps"] <= 3
    assert len(slow.requests) <= 4


def test_it_never_takes_more_steps_than_it_may(entity: Entity) -> None:
    model = Stubborn("recall")
    outcome = woken(awake(entity, model))
    assert outcome.data["steps"] <= 16
    assert len(model.requests) <= 17


def test_it_is_asked_no_more_once_it_has_said_enough(entity: Entity) -> None:
    model = Stubborn("say")
    outcome = woken(awake(entity, model))
    assert len(model.requests) == outcome.data["steps"] == wake.MOST_SAYS
    assert f"Hello {wake.MOST_SAYS}.0" in entity.journal.read_text()


def test_it_may_rest_without_a_word_for_nobody_listens(entity: Entity) -> None:
    note = acts(("write_journal", {"text": "The tide was low."}))
    model = ScriptedModel([Reply(note), Reply(acts(("end_turn", {})), always=True)])
    woken(awake(entity, model))
    assert len(model.requests) == 2


def test_below_write_it_stays_asleep(entity: Entity) -> None:
    model = Stubborn(wake.LEAVE_MESSAGE)
    runtime = replace(awake(entity, model), abilities=lambda: Abilities())
    assert woken(runtime).data["reason"].startswith("model: may not write")
    assert not model.requests


def boat(entity: Entity, *audience: str) -> None:
    values = {"next": ("sand it",)}
    origin = Provenance("chat", trust="entity", audience=audience)
    write(entity, projects.plan_new("The boat", values, "To sail.", "begin", provenance=origin))


def test_it_takes_up_a_project(entity: Entity) -> None:
    boat(entity)

    class Sander(Stubborn):
        def _text(self, request: Request) -> str:
            if "update_project" not in json.dumps(dict(request.schema or {})):
                return super()._text(request)
            values = {"title": "The boat", "status": "active", "why": "", "next": "sand\nvarnish"}
            return acts(("update_project", values), ("end_turn", {}))

    assert "update_project" in woken(awake(entity, Sander("write_journal"))).data["did"]
    (project,) = projects.PROJECT.readable(entity.projects)
    assert project.steps == ("sand", "varnish")


def listen(runtime: Runtime) -> None:
    """Say what was left for Sam, as the beginning of a talk does."""
    session = session_files.find(runtime.entity.sessions, "ses_1")
    said = delivery.for_talk(runtime, session)
    if said.messages:
        words = sessions.plan_append(session, said.messages, "say what was left")
        runtime.apply(ChangeSet("talk", (words, *said.changes)))


@sampled
@pytest.mark.parametrize("favourite", turns(2, [wake.LEAVE_MESSAGE, "write_journal"]))
def test_a_week_keeps_to_every_limit(entity: Entity, favourite: str) -> None:
    runtime = awake(entity, Stubborn(favourite), MORNING)
    clock = runtime.clock
    assert isinstance(clock, Clock)
    decisions: list[tuple[datetime, JobResult]] = []
    days = 7 if WHOLE else 2
    for number in range(days * 48):
        clock.at = MORNING + timedelta(minutes=30 * number)
        if number % 48 == 0:
            listen(runtime)
        for settled in job.settle(runtime, PASSES):
            assert settled.problem is None
            if settled.name == "wake" and settled.outcome:
                decisions.append((clock.at, settled.outcome))
    assert len(decisions) == days * 48
    for _, outcome in decisions:
        assert " because of " in outcome.title or ": stays asleep, " in outcome.title
    wakes = [(at, one) for at, one in decisions if one.data["woke"]]
    assert len(wakes) > 3 * days - 2
    by_day = Counter(at.astimezone(LISBON).date() for at, _ in wakes)
    assert max(by_day.values()) <= runtime.config.wake.max_per_day
    times = [at for at, _ in wakes]
    gap = timedelta(seconds=runtime.config.wake.min_gap_seconds)
    gap -= timedelta(seconds=1)  # the clock of the tests runs on while it is read
    assert all(after - before >= gap for before, after in pairwise(times))
    assert not any(wake.is_quiet(runtime, at) for at in times)
    used = [set(one.data["did"].split("+")) for _, one in wakes]
    for first in range(len(used)):
        counted = Counter(tool for did in used[first : first + wake.RUT_WINDOW] for tool in did)
        del counted[wake.REST]
        assert max(counted.values(), default=0) <= wake.RUT_TIMES
    session = session_files.find(entity.sessions, "ses_1")
    spoken = [one for one in session.messages if one.unprompted]
    assert spoken if favourite == wake.LEAVE_MESSAGE else True
    assert not any(wake.is_quiet(runtime, one.at) for one in spoken)
