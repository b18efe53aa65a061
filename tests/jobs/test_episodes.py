from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bumble.body import ebb
from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.jobs import episode, stretch
from bumble.jobs.scene import END, LENGTH, PAUSE
from bumble.llm import ledger
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.records import episodes, journal, knowledge, relationships, sessions
from bumble.records.base import Provenance
from bumble.records.episodes import Episode
from bumble.records.sessions import End, Session
from bumble.runtime import job
from bumble.runtime.job import JobResult, Pass, apply
from bumble.runtime.runtime import Runtime
from tests.support.remembering import DOG, FOUND, GLAD, OURS, TAG, felt, held, tells, waits
from tests.support.stretches import Citing, makes
from tests.support.turns import NOON, Clock, runtime_of, say, talk

GOOD = "Sam told me that his dog Biscuit ran away at the lighthouse. Biscuit ran away."
WINDOWS = "It is me, Bo, and I have been painting windows for the whole week."
WHY = "I felt how much Biscuit means to Sam."
HOUR = timedelta(hours=1)
PASS = Pass("stretch", stretch.check, stretch.run)


def living(entity: Entity, *replies: Reply, at: datetime = NOON + HOUR) -> Runtime:
    clock = Clock()
    clock.at = at
    return runtime_of(entity, Citing(replies), clock)


def dog(entity: Entity, at: datetime = NOON, *, chance: int = 0) -> Session:
    return held(entity, at, ("Sam", DOG, OURS), ("Sam", FOUND, GLAD), chance=chance)


def remembered(runtime: Runtime) -> list[Episode]:
    list(job.settle(runtime, [PASS], None))
    return list(episodes.EPISODE.readable(runtime.entity.episodes))


def test_a_conversation_that_goes_on_is_left_alone(ada: Entity) -> None:
    dog(ada)
    found = stretch.check(living(ada, at=NOON + timedelta(minutes=5)))
    assert (found.due, found.conditions[0].value) == (False, "0 over, 1 going on")


def test_turns_that_were_talked_are_remembered_after_a_pause(ada: Entity) -> None:
    clock = Clock()
    talk(runtime_of(ada, ScriptedModel([say(OURS)]), clock), DOG)
    assert not stretch.check(runtime_of(ada, ScriptedModel([]), clock)).due
    (one,) = remembered(living(ada, tells(GOOD, WHY)))
    assert one.telling.narrative == GOOD


def test_an_episode_has_the_tags_people_wrote_and_the_titles_they_named(ada: Entity) -> None:
    for title, origin in (("The Boat", Provenance()), ("Ring", Provenance("", audience=("kim",)))):
        facts = knowledge.read(ada.knowledge)
        change = knowledge.plan_set(facts, title, "Mine.", "x", by_entity=True, provenance=origin)
        assert change is not None
        changes.apply(ada.root, ChangeSet("know", (change,)))
    held(ada, NOON, ("Sam", f"{DOG} He sleeps in the boat, on my ring. #Dogs", OURS))
    (one,) = remembered(living(ada, tells(GOOD, WHY)))
    assert one.tags == ("Dogs", "The Boat")


def test_what_is_told_of_a_talk_with_tools_is_worth_what_it_rests_on(ada: Entity) -> None:
    held(ada, NOON, ("Sam", DOG, OURS), ("Sam", FOUND, GLAD), tool=True)
    runtime = living(ada, makes(GOOD, reflection=WHY, journal="Six slippers."))
    (one,) = remembered(runtime)
    (entry,) = journal.read(ada.journal, runtime.zone).entries
    assert (one.provenance.trust, entry.provenance.trust) == ("entity", "entity")


def test_an_episode_says_all_that_it_should(ada: Entity) -> None:
    session = dog(ada)
    runtime = living(ada, tells(GOOD, WHY))
    (outcome,) = (one.outcome for one in job.settle(runtime, [PASS], None))
    assert outcome is not None
    assert outcome.trailers == (("Evidence", session.id), ("Model", "scripted"))
    (one,) = episodes.EPISODE.readable(ada.episodes)
    titled = GOOD
    assert (one.telling.narrative, one.telling.reflection) == (titled, WHY)
    assert one.at == NOON
    assert one.at.utcoffset() == HOUR  # Lisbon in summer
    assert (one.people, one.session, one.summary_source) == (("sam",), session.id, "")
    assert one.provenance.by == "remember"
    assert one.provenance.model == "scripted"
    assert one.provenance.sources == (session.id, *(each.id for each in session.messages))
    assert (one.provenance.trust, one.provenance.audience) == ("entity", ("sam",))
    tag = ebb.parse_tag(one.soma)
    assert tag and tag.mood == "curious"
    assert one.soma == TAG
    assert waits(runtime) == {}


def test_the_same_stretch_is_the_same_episode_in_every_process(ada: Entity) -> None:
    dog(ada)
    first, second = living(ada, tells(GOOD)), living(ada, tells(f"{GOOD} I was glad."))
    (job,) = stretch.check(first).jobs
    mine, theirs = stretch.run(first, job), stretch.run(second, job)
    apply(first, mine)
    before = (ada.root / "state.yaml").exists() and (ada.root / "state.yaml").read_bytes()
    assert not theirs.planned()[1]
    assert apply(second, theirs).written == []
    assert len(list(episodes.EPISODE.readable(ada.episodes))) == 1
    assert ((ada.root / "state.yaml").exists() and (ada.root / "state.yaml").read_bytes()) == before


def test_a_faster_process_between_plan_and_write_is_noticed(ada: Entity) -> None:
    dog(ada)
    runtime = living(ada, tells(GOOD, always=True))
    (job,) = stretch.check(runtime).jobs
    mine, theirs = stretch.run(runtime, job), stretch.run(runtime, job)
    planned: list[bool] = []

    def plan_late() -> Sequence[changes.Change]:
        planned_now = theirs.planned()[1].changes
        if not planned:
            planned.append(True)
            apply(runtime, mine)
        return planned_now

    late = JobResult(theirs.title, plan_late)
    assert apply(runtime, late).written == []


def test_new_messages_during_the_pass_go_on_waiting(ada: Entity) -> None:
    session = dog(ada)
    runtime = living(ada, tells(GOOD))
    (job,) = stretch.check(runtime).jobs
    outcome = stretch.run(runtime, job)
    talk(living(ada, say("Yes?"), at=NOON + HOUR), "Are you there?")
    apply(runtime, outcome)
    assert waits(runtime)[session.id] > job.messages[-1].id


def test_a_stretch_ends_with_its_conversation_or_at_twelve_turns(ada: Entity) -> None:
    session = dog(ada)
    end = sessions.plan_append(session, [End(NOON + timedelta(minutes=3))], "")
    changes.apply(ada.root, ChangeSet("", (end,)))
    held(ada, NOON, *[("Kim", "hm", "ok")] * 13, chance=1)
    found = stretch.check(living(ada, at=NOON + timedelta(minutes=14)))
    assert [job.closed for job in found.jobs] == [END, LENGTH]
    assert [len(job.messages) for job in found.jobs] == [4, 24]
    assert stretch.check(living(ada)).jobs[-1].closed == PAUSE


def test_what_matters_too_little_leaves_no_file_but_a_reason(ada: Entity) -> None:
    held(ada, NOON, ("Sam", "hello there Ada", "hello Sam"))
    held(ada, NOON + 2 * HOUR, ("Sam", "hello there Ada", "hello Sam"))
    runtime = living(
        ada,
        tells("Sam said hello there to me, Ada, and I said hello there.", always=True),
        at=NOON + 9 * HOUR,
    )
    jobs = stretch.check(runtime).jobs
    apply(runtime, stretch.run(runtime, jobs[0]))
    outcome = stretch.run(runtime, jobs[1])
    apply(runtime, outcome)
    assert len(list(episodes.EPISODE.readable(ada.episodes))) == 1
    assert waits(runtime) == {}
    assert "is below 0.30" in " ".join(outcome.lines)
    (line,) = ledger.read_newest(ada.ledger)
    assert (line.purpose, line.finish_reason, line.model) == ("remember", "skipped", "")
    assert line.detail["reason"] == outcome.data["why"]
    assert line.detail["session"] == jobs[1].session_id


def test_significance_is_what_its_parts_say(ada: Entity) -> None:
    moved = [
        felt("anxious", 0.4, NOON, tension=10, comfort=-8),
        felt("content", 0.6, NOON, tension=-6),
    ]
    session = held(ada, NOON, ("Sam", DOG, OURS), ("Sam", FOUND, GLAD), appraised=moved)
    sam = relationships.new("Sam", NOON, id="sam")
    known = ChangeSet("", (relationships.PERSON.plan_new(sam, ""),))
    changes.apply(ada.root, known)
    file = ada.root / relationships.PERSON.path("sam")
    file.write_text(file.read_text().replace("names:", "scores: {familiarity: 0.5}\nnames:"))
    runtime = living(ada)
    (job,) = stretch.check(runtime).jobs
    read = episode.conversation(runtime, session.id)
    assert read is not None
    weight = episode.weigh(runtime, read, job)
    assert weight.shares["meaningful"] == pytest.approx(0.15)
    assert weight.shares["familiarity"] == pytest.approx(0.05)
    assert weight.shares["appraisal"] == pytest.approx(0.35 * (4 + 8) / 40)
    assert weight.shares["novelty"] == pytest.approx(0.3)


@pytest.mark.parametrize(("curiosity", "felt_then"), [(70, ()), (95, ("curious",))])
def test_without_appraisal_a_strong_mood_marks_it(
    ada: Entity, curiosity: int, felt_then: tuple[str, ...]
) -> None:
    session = dog(ada)
    file = ada.root / sessions.path(session.id)
    file.write_text(file.read_text().replace("curiosity=68%", f"curiosity={curiosity}%"))
    (one,) = remembered(living(ada, tells(GOOD)))
    assert tuple(each.emotion for each in one.imprints) == felt_then


def test_all_who_took_part_are_in_it_and_who_came_later_may_not_read_it(ada: Entity) -> None:
    group = [("Sam", DOG, OURS), ("Kim", "Poor Biscuit, I hope he is well!", GLAD)]
    held(ada, NOON, *group, *[("Sam", "hm", "ok")] * 10, ("Bo", WINDOWS, "Hi Bo."))
    told = "Sam told me that Biscuit ran away. Kim said: Poor Biscuit!"
    first, second = remembered(living(ada, tells(told), tells("Bo told me of his windows.")))
    assert first.people == ("sam", "kim")
    assert first.provenance.audience == ("sam", "kim")
    assert second.people == ("bo",)
    assert second.provenance.audience == ("sam", "kim", "bo")
    found = living(ada).memory
    found.sync()
    assert [
        hit.id for hit in found.search("Biscuit", kinds=["episode"], limit=5, people=["kim"])
    ] == [first.id]
    bos = found.search("Biscuit", kinds=["episode"], limit=5, audience=["bo"])
    assert first.id not in [hit.id for hit in bos]


def test_text_of_tools_is_not_told_and_no_source(ada: Entity) -> None:
    session = held(ada, NOON, ("Sam", DOG, OURS), tool=True)
    model = ScriptedModel([tells(GOOD)])
    clock = Clock()
    clock.at = NOON + HOUR
    (one,) = remembered(runtime_of(ada, model, clock))
    assert "a result" not in model.requests[0].messages[-1].content
    said, _, answered = session.messages
    assert one.provenance.sources == (session.id, said.id, answered.id)
    assert one.provenance.trust == "entity"


def test_an_answer_that_is_never_usable_leaves_an_excerpt_and_goes_on(ada: Entity) -> None:
    dog(ada)
    runtime = living(ada)
    for _ in range(stretch.TRIES - 1):
        assert not remembered(runtime) and waits(runtime)
    (one,) = remembered(runtime)
    assert one.summary_source == "excerpt"
    assert one.provenance.model == ""
    assert one.text.startswith(f"> Sam: {DOG}\n")
    assert one.telling.reflection == ""
    assert waits(runtime) == {}


def test_oldest_first_and_one_broken_off_loses_nothing(ada: Entity) -> None:
    dog(ada, NOON + timedelta(minutes=5), chance=2)
    dog(ada, NOON, chance=1)
    runtime = living(ada, tells(GOOD, always=True), at=NOON + 5 * HOUR)
    assert [job.messages[0].at for job in stretch.check(runtime).jobs] == [
        NOON,
        NOON + timedelta(minutes=5),
    ]
    assert len(list(job.settle(runtime, [PASS], 1))) == 1
    assert len(remembered(living(ada, tells(GOOD, always=True), at=NOON + 5 * HOUR))) == 2


def test_episodes_of_two_clones_merge_without_a_conflict(ada: Entity, tmp_path: Path) -> None:
    def git(place: Path, *arguments: str) -> None:
        who = ("-c", "user.name=Sam", "-c", "user.email=sam@example.org")
        subprocess.run(["git", *who, *arguments], cwd=place, check=True, capture_output=True)

    git(ada.root, "init", "-q", "-b", "main")
    git(ada.root, "add", "-A")
    git(ada.root, "commit", "-qm", "born")
    git(tmp_path, "clone", "-q", "ada", "bee")
    for root, chance in ((ada.root, 1), (tmp_path / "bee", 2)):
        clone = Entity(root)
        dog(clone, chance=chance)
        remembered(living(clone, tells(GOOD)))
        git(root, "add", "-A")
        git(root, "commit", "-qm", "live", "--allow-empty")
    git(ada.root, "pull", "-q", "--no-rebase", "--no-edit", str(tmp_path / "bee"), "main")
    assert len({one.id for one in episodes.EPISODE.readable(ada.episodes)}) == 2
    assert not stretch.check(living(ada)).due


def test_an_excerpt_is_short_and_prefers_what_says_most(ada: Entity) -> None:
    turns = [("Sam", "ok", "hm")] * 10
    held(ada, NOON, ("Sam", DOG, OURS), ("Sam", "word " * 2000, "yes"), *turns)
    clock = Clock()
    clock.at = NOON + timedelta(hours=2)
    runtime = runtime_of(ada, ScriptedModel([]), clock)
    (job,) = stretch.check(runtime).jobs
    lines = episode.excerpt(job.messages, lambda one: one.speaker.title()).text.splitlines()
    assert f"> Sam: {DOG}" in lines
    assert len([line for line in lines if line.startswith("> ")]) == episode.EXCERPT_LINES
    assert max(map(len, lines)) < 270


def test_a_conversation_that_is_broken_or_gone_holds_up_no_other(ada: Entity) -> None:
    broken, gone = dog(ada), dog(ada, NOON + timedelta(minutes=1))
    (ada.root / sessions.path(broken.id)).write_text("what\n{}\n")
    shutil.rmtree(ada.sessions / gone.id)
    held(ada, NOON + timedelta(minutes=2), ("Kim", DOG, OURS))
    assert [job.messages[0].speaker for job in stretch.check(living(ada)).jobs] == ["kim"]
