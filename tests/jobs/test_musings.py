from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bumble.entity.folder import Entity
from bumble.jobs import musings
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.models.tiers import Abilities
from bumble.recall import survey, topic_questions
from bumble.records import topics
from bumble.runtime import body_state
from bumble.runtime.job import apply, note_vain
from tests.support import living

SAID = (
    "Our boat has a leak near the keel.",
    "Should we really sell the boat before winter comes?",
    "The boat is in the yard now, Olaf repairs it.",
    "How long will Olaf need for the boat?",
    "The boat swims again!",
)


@pytest.fixture
def ada(tmp_path: Path) -> Entity:
    entity = living.ada(tmp_path)
    for n, line in enumerate(SAID):
        at = living.NOON - timedelta(days=20 - 4 * n)
        living.talked(entity, f"ses_{n}", ("sam", line), at=at)
    return entity


def answer(count: int, *thoughts: str) -> Reply:
    questions = [{"uses": ["m1"], "question": "What did Boris want of it?"}]
    asked: dict[str, Any] = {f"t{n}": questions for n in range(1, count + 1)}
    asked["t1"] = [*questions, {"uses": ["m1"], "question": "What is still open about the boat?"}]
    names = dict.fromkeys(asked, "Zanzibar")  # of which nobody spoke
    given = asked | {"names": names, "thoughts": list(thoughts)}
    return Reply(json.dumps(given), purpose="musings")


def test_questions_of_all_topics_and_thoughts_are_one_request(ada: Entity) -> None:
    runtime = living.runtime_of(ada)
    [job] = musings.check(runtime).jobs
    model = ScriptedModel([answer(len(job.drawings), "and what then, when it rains...")])
    runtime = replace(runtime, model=model)
    apply(runtime, musings.run(runtime, job))
    assert [one.purpose for one in model.requests] == ["musings"]
    drawn = list(topics.TOPIC.readable(ada.topics))
    assert len(drawn) == len(job.drawings) >= 1
    asked = [catalyst.text for each in drawn for catalyst in each.catalysts]
    assert "What is still open about the boat?" in asked
    assert not any("Boris" in text for text in asked)
    soma = body_state.read(runtime, runtime.now())
    assert "and what then, when it rains..." in [fragment.text for fragment in soma.noise]
    assert drawn[0].provenance.audience == ("sam",)
    living.talked(ada, "ses_new", ("sam", "The boat has no name yet."), at=living.NOON)
    assert not musings.check(runtime).jobs
    assert topic_questions.check(runtime).jobs  # `bumble catalysts` may draw it
    later = living.runtime_of(ada, at=living.NOON + timedelta(days=7))
    assert [one.topic.name for one in musings.check(later).jobs[0].drawings][:1] == ["Boat"]


def test_where_no_model_may_write_nothing_comes_to_mind(ada: Entity) -> None:
    weak = replace(living.runtime_of(ada), abilities=lambda: Abilities("none"))
    assert not musings.check_thoughts(weak).due
    assert not musings.check(weak).jobs


def test_what_has_a_name_goes_before_bare_words_and_nothing_is_asked_in_vain_twice(
    ada: Entity,
) -> None:
    living.known(ada, "Olaf")
    runtime = living.runtime_of(ada)
    [job] = musings.check(runtime).jobs
    assert [one.topic.name for one in job.drawings][:2] == ["Olaf", "Boat"]
    note_vain(runtime, [job.drawings[0].mark])
    [rest] = musings.check(runtime).jobs
    assert "Olaf" not in [one.topic.name for one in rest.drawings]


def test_one_more_mention_is_no_reason_to_ask_again_of_what_raised_no_question(ada: Entity) -> None:
    living.known(ada, "Olaf")

    def marks() -> dict[str, str]:
        [job] = musings.check(living.runtime_of(ada)).jobs
        return {one.topic.name: one.mark for one in job.drawings}

    def mention(n: int) -> None:
        at = living.NOON - timedelta(days=1)
        living.talked(ada, f"ses_o{n}", ("sam", f"Olaf rang again, day {n}."), at=at)

    mention(0)
    before = marks()["Olaf"]
    mention(1)
    assert marks()["Olaf"] == before
    for n in range(2, 10):
        mention(n)
    assert marks()["Olaf"] != before


def test_words_for_one_thing_are_one_topic_called_for_it(ada: Entity) -> None:
    for n, line in enumerate(
        ("My keel cracked.", "I painted the keel.", "The keel of mine holds.")
    ):
        at = living.NOON - timedelta(days=10 - 3 * n)
        living.talked(ada, f"ses_k{n}", ("sam", line), at=at)
    runtime = living.runtime_of(ada)
    [job] = musings.check(runtime).jobs
    said = [one.topic.name for one in job.drawings]
    assert len(said) > 1
    given = json.loads(answer(len(said), "and then").text)
    given["names"] = dict.fromkeys(given["names"], "Repair of the boat")
    runtime = living.runtime_of(ada, Reply(json.dumps(given), purpose="musings"))
    apply(runtime, musings.run(runtime, job))
    [file] = topics.TOPIC.readable(ada.topics)
    assert (file.id, file.name) == ("repair-of-the-boat", "Repair of the boat")
    assert set(file.words) == set(said)
    runtime = living.runtime_of(ada)
    assert not topic_questions.check(runtime).jobs  # nothing new was said of it
    found = survey.take(runtime.memory, runtime.now(), ("sam",)).topics
    assert [one.name for one in found if one.type != "person"] == ["Repair of the boat"]


def test_a_word_for_what_has_a_file_is_kept_there_and_drawn_with_it(ada: Entity) -> None:
    for n, line in enumerate(
        ("My keel cracked.", "I painted the keel.", "The keel of mine holds.")
    ):
        at = living.NOON - timedelta(days=10 - 3 * n)
        living.talked(ada, f"ses_k{n}", ("sam", line), at=at)
    for word in ("keel", "boat"):
        runtime = living.runtime_of(ada)
        [job] = musings.check_topics(runtime, name=word).jobs
        question = {"uses": ["m1"], "question": f"What is still open about the {word}?"}
        given = {"t1": [question], "names": {"t1": "Repair"}}
        runtime = living.runtime_of(ada, Reply(json.dumps(given), purpose="musings"))
        apply(runtime, musings.run(runtime, job))
    [file] = topics.TOPIC.readable(ada.topics)
    assert (file.name, file.words) == ("Repair", ("Keel", "Boat"))
    assert [one.text for one in file.catalysts] == ["What is still open about the keel?"]
    [drawing] = topic_questions.check(living.runtime_of(ada)).jobs
    assert drawing.topic.name == "Repair" and drawing.has_title
    assert len(drawing.topic.keys) == 2


def test_a_word_that_is_no_thing_gets_no_file(ada: Entity) -> None:
    runtime = living.runtime_of(ada)
    [job] = musings.check(runtime).jobs
    given = json.loads(answer(len(job.drawings), "and then").text)
    given["names"] = dict.fromkeys(given["names"], "")
    runtime = living.runtime_of(ada, Reply(json.dumps(given), purpose="musings"))
    apply(runtime, musings.run(runtime, job))
    assert not list(topics.TOPIC.readable(ada.topics))
