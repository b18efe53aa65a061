from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bumble.entity.changes import Change, ChangeSet
from bumble.entity.folder import Entity
from bumble.jobs import consolidate, portrait
from bumble.jobs.portrait import DeepReviewJob
from bumble.records import episodes, knowledge, relationships
from bumble.records.base import Provenance
from bumble.runtime import job, people, review_queue
from tests.support.living import NOON, ada, asked, known, runtime_of, talked, told, write

OFF: dict[str, Any] = {"memory__relational__score_derivation": False}
MORE = "Sam talks to the dog as to a friend."
LINES = ["Sam has a dog called Biscuit.", "The dog matters most to him."]


@pytest.fixture
def entity(tmp_path: Path) -> Entity:
    """Two people who told Ada things, each alone, and one episode of each."""
    folder = ada(tmp_path)
    last = NOON - timedelta(hours=1)
    known(folder, "Sam", "Sam likes the river.", interaction_count=4, last_interaction=last)
    known(folder, "Bo", "Bo fears the harbour.", interaction_count=3, reviewed_at_count=1)
    talked(folder, "ses_1", ("sam", "I have a dog called Biscuit."), ("ada", "Lovely."))
    talked(folder, "ses_2", ("bo", "My secret is a boat."), ("ada", "A boat!"), by="bo")
    for n, person, text in ((1, "sam", "Sam brought his dog."), (2, "bo", "Bo wept about debts.")):
        origin = Provenance("remember", audience=(person,), trust="owner")
        one = episodes.new(f"ep_{n}", NOON, 0.6, text, people=(person,), provenance=origin)
        write(folder, episodes.EPISODE.plan_new(one, ""))
    return folder


def test_somebody_is_due_after_enough_new_talks(entity: Entity) -> None:
    assert [one.person for one in portrait.check(runtime_of(entity)).jobs] == ["sam"]
    off = runtime_of(entity, memory__relational__deep_review_on_consolidation=False)
    assert not portrait.check(off).due


def test_nothing_of_another_person_is_in_the_prompt(entity: Entity) -> None:
    runtime = runtime_of(entity, told("review", about=LINES, mine=""), **OFF)
    portrait.run(runtime, DeepReviewJob("sam"))
    (prompt,) = asked(runtime)
    assert "Biscuit" in prompt and "brought his dog" in prompt and "likes the river" in prompt
    for secret in ("Bo", "boat", "debts", "harbour"):
        assert secret not in prompt


def test_what_somebody_passes_on_is_none_of_their_words(entity: Entity) -> None:
    talked(entity, "ses_3", ("sam", "Look at that:\n> I leave for Quimper.\nOdd."))
    runtime = runtime_of(entity, told("review", about=LINES, mine=""), **OFF)
    portrait.run(runtime, DeepReviewJob("sam"))
    (prompt,) = asked(runtime)
    assert "Odd." in prompt and "Quimper" not in prompt


def test_what_is_too_long_leaves_room_to_what_weighs_less(entity: Entity) -> None:
    long = episodes.new("ep_3", NOON, 0.9, "He rowed. " * 200, people=("sam",))
    write(entity, episodes.EPISODE.plan_new(long, ""))
    for most, read in ((1200, [True, True]), (200, [True, False]), (1, [False, False])):
        answer = told("review", about=LINES, mine="")
        room: dict[str, Any] = {"memory__relational__deep_review_max_tokens": most}
        runtime = runtime_of(entity, answer, **OFF, **room)
        portrait.run(runtime, DeepReviewJob("sam"))
        (prompt,) = asked(runtime)
        assert [text in prompt for text in ("brought his dog", "He rowed.")] == read


def test_it_waits_for_its_owners_word_where_reflections_do(entity: Entity) -> None:
    runtime = runtime_of(entity, told("review", about=LINES, mine=""), **OFF)
    step = next(
        step for step in consolidate.check(runtime).jobs if getattr(step.job, "person", "") == "sam"
    )
    outcome = consolidate.run(runtime, step)
    planned = ChangeSet(outcome.title, (Change("relationships/sam.md", "", b""),))
    assert review_queue.is_held(planned, ("reflect",))
    assert review_queue.is_held(planned, ("stretch",))  # it rests on the same talks
    assert not review_queue.is_held(planned, ("remember",))


def test_a_review_counts_and_does_not_move_the_last_talk(entity: Entity) -> None:
    runtime = runtime_of(entity, told("review", about=LINES, mine=""), **OFF)
    before = people.find_person(runtime, "sam")
    outcome = portrait.run(runtime, DeepReviewJob("sam"))
    job.apply(runtime, outcome)
    after = people.find_person(runtime, "sam")
    assert before is not None and after is not None
    assert after.text == "\n".join(LINES)
    assert after.last_interaction == before.last_interaction
    assert (after.reviewed_at_count, after.interaction_count) == (4, 4)
    assert set(after.provenance.sources) == {"ep_1", "msg_1000"}
    assert outcome.trailers[-1] == ("Model", "scripted")
    assert not portrait.check(runtime).due


def test_what_knowledge_says_is_not_said_again_in_a_portrait(entity: Entity) -> None:
    book = knowledge.read(entity.knowledge)
    origin = Provenance("distill", audience=("sam",))
    write(
        entity, knowledge.plan_set(book, "Biscuit", LINES[0], "", by_entity=True, provenance=origin)
    )
    runtime = runtime_of(entity, told("review", about=[*LINES, MORE], mine=""), **OFF)
    job.apply(runtime, portrait.run(runtime, DeepReviewJob("sam")))
    assert relationships.find(entity.relationships, "sam").text == f"{LINES[1]}\n{MORE}"


def test_a_review_that_fails_leaves_the_portrait_and_does_not_count_as_one(
    entity: Entity,
) -> None:
    runtime = runtime_of(entity, told("review", about=["His dog is Rex."], mine=""), **OFF)
    outcome = portrait.run(runtime, DeepReviewJob("sam"))
    job.apply(runtime, outcome)
    assert relationships.find(entity.relationships, "sam").text == "Sam likes the river."
    assert "nothing in the answer" in outcome.lines[0]
    assert "Model" not in dict(outcome.trailers)
    assert relationships.find(entity.relationships, "sam").reviewed_at_count == 0
    assert portrait.check(runtime).due


def test_a_review_asked_in_vain_is_asked_again_only_after_more_talks(entity: Entity) -> None:
    def due(nights: int, *, force: bool = False) -> bool:
        later = replace(runtime, clock=lambda: NOON + timedelta(days=nights))
        steps = consolidate.check(later, force=force).jobs
        return any(getattr(step.job, "person", "") == "sam" for step in steps)

    runtime = runtime_of(entity, told("review", about=["His dog is Rex."], mine=""), **OFF)
    step = next(
        step for step in consolidate.check(runtime).jobs if getattr(step.job, "person", "") == "sam"
    )
    job.apply(runtime, consolidate.run(runtime, step))
    assert portrait.check(runtime).due  # it doesn't count as a review
    assert not due(0) and not due(1) and not due(30)
    assert due(1, force=True)
    sam = relationships.find(entity.relationships, "sam")
    write(entity, relationships.plan_update(sam, "", interaction_count=sam.interaction_count + 3))
    assert due(1)


def test_a_portrait_edited_during_the_review_stays(entity: Entity) -> None:
    runtime = runtime_of(entity, told("review", about=LINES, mine=""), **OFF)
    outcome = portrait.run(runtime, DeepReviewJob("sam"))
    file = entity.relationships / "sam.md"
    file.write_text(file.read_text() + "By hand.\n")
    before = file.read_bytes()
    outcome = job.apply(runtime, outcome)
    assert file.read_bytes() == before and "edited meanwhile" in outcome.late[0]
