from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.jobs import musings
from bumble.llm.scripted import Reply
from bumble.models.tiers import Abilities
from bumble.recall import catalyze, survey, topic_questions
from bumble.recall.memory_search import Search
from bumble.records import base, beliefs, episodes, sessions, topics
from bumble.records.sessions import Message
from bumble.runtime import job
from bumble.runtime.runtime import Runtime
from bumble.text import tokens
from tests.support import living
from tests.support.living import NOON

SAID = (
    (20, "Our boat has a leak near the keel."),
    (18, "Should we really sell the boat before winter comes?"),
    (9, "The boat is in the yard now, Olaf repairs it."),
    (8, "How long will Olaf need for the boat?"),
    (2, "The boat swims again!"),
)


def talk(
    entity: Entity, by: str = "sam", said: tuple[tuple[int, str], ...] = SAID, first: int = 0
) -> None:
    for number, (days, words) in enumerate(said, first):
        at = NOON - timedelta(days=days)
        session = sessions.new(f"ses_{by}{number}", at, by)
        trust = "owner" if by == "sam" else "person"
        message = Message(f"msg_{by}{number}", at, "user", words, by, trust=trust)
        planned = sessions.plan_start(session, "x"), sessions.plan_append(session, [message], "x")
        changes.apply(entity.root, ChangeSet("x", planned))


@pytest.fixture
def ada(tmp_path: Path) -> Entity:
    entity = living.ada(tmp_path)
    talk(entity)
    return entity


def by_form(runtime: Runtime) -> Runtime:
    return replace(runtime, abilities=lambda: Abilities())


def draw(runtime: Runtime, name: str = "boat") -> list[topics.TopicFile]:
    for drawing in musings.check_topics(runtime, name=name).jobs:
        job.apply(runtime, musings.run(runtime, drawing))
    return list(topics.TOPIC.readable(runtime.entity.topics))


def drawn(entity: Entity) -> Runtime:
    """Draw the questions of the boat."""
    asked = "Should we sell the boat before winter comes?", "How long is the boat in the yard?"
    runtime = living.runtime_of(entity, answer(*asked))
    draw(runtime)
    return runtime


def answer(*questions: str, name: str = "Boat") -> Reply:
    listed = [{"uses": ["m1", "m3"], "question": question} for question in questions]
    return Reply(json.dumps({"t1": listed, "names": {"t1": name}}))


def test_where_no_model_may_write_none_are_drawn(ada: Entity) -> None:
    due = topic_questions.check(by_form(living.runtime_of(ada)))
    assert (due.due, due.conditions[0].value) == (False, "may not write")


def test_a_model_writes_them_and_what_it_makes_up_is_left_out(ada: Entity) -> None:
    runtime = living.runtime_of(
        ada, answer("What does the boat mean to us?", "Why did Bartholomew sink the boat?")
    )
    (boat,) = draw(runtime)
    assert [each.text for each in boat.catalysts] == ["What does the boat mean to us?"]
    assert boat.catalysts[0].sources == ("msg_sam0", "msg_sam2")
    assert (boat.provenance.model, boat.provenance.audience) == ("scripted", ("sam",))


def test_they_are_drawn_anew_only_where_a_new_mention_changes_what_they_come_from(
    ada: Entity,
) -> None:
    runtime = drawn(ada)
    assert not topic_questions.check(runtime, name="boat").due
    assert topic_questions.check(runtime, name="boat", force=True).due
    talk(ada, "sam", ((1, "Is the boat cold inside?"),), first=5)
    assert topic_questions.check(living.runtime_of(ada), name="boat").due


def test_what_somebody_else_said_in_private_is_in_no_catalyst(ada: Entity) -> None:
    talk(ada, "kim", ((5, "May I secretly borrow the boat on Sunday?"),))
    drawn(ada)
    (boat,) = topics.TOPIC.readable(ada.topics)
    assert "secretly" not in boat.source.text


def catalyzed(runtime: Runtime, register: str, reader: str = "sam") -> catalyze.Catalyzed:
    at = Search((reader,), "content", NOON)
    query = "sell the boat before winter"
    return catalyze.find(*(runtime.memory, runtime.config, at, query), register=register, limit=3)


def test_catalyze_says_which_questions_brought_what(ada: Entity) -> None:
    runtime = living.runtime_of(ada)
    runtime.memory.sync()
    assert catalyzed(runtime, "explore").note.startswith("Plain search: no topic has catalysts")
    runtime = drawn(ada)
    runtime.memory.sync()
    result = catalyzed(runtime, "explore")
    assert result.hits[0].id == "msg_sam1"
    assert result.contributions[0].topic == "Boat"
    assert result.contributions[0].count > 0
    newest = [hit.at for hit in catalyzed(runtime, "continuity").hits if hit.at]
    assert newest == sorted(newest, reverse=True)


def test_a_stranger_meets_neither_catalysts_nor_what_they_point_to(ada: Entity) -> None:
    runtime = drawn(ada)
    runtime.memory.sync()
    result = catalyzed(runtime, "reference", reader="kim")
    assert {hit.kind for hit in result.hits} == {"knowledge"}
    assert result.contributions == ()


def test_the_overview_is_of_what_may_be_told_to_all_and_is_no_quotation(ada: Entity) -> None:
    runtime = living.runtime_of(ada, prompt__topics_min_window_tokens=1)
    for name, trust, audience in (
        ("Boat", "owner", ()),
        ("Yard", "person", ("sam",)),
        ("Keel", "person", ("kim",)),
        ("Forum", "imported", ()),
    ):
        asked = [topics.Catalyst(f"What of the {name} {n}?") for n in range(4)]
        origin = base.Provenance(by="catalysts", trust=trust, audience=audience)
        made = topics.new(name, asked, NOON, provenance=origin)
        living.write(ada, topics.plan_draw(None, made, "x"))
    first = "- Boat: What of the Boat 0? | What of the Boat 1? | What of the Boat 2?"
    second = first.replace("Boat", "Yard")
    assert survey.overview(runtime, ("sam",)) == f"<memory>\n{first}\n{second}\n</memory>"
    assert survey.overview(runtime, ("sam", "kim")) == f"<memory>\n{first}\n</memory>"
    small = living.runtime_of(ada, prompt__topics_min_window_tokens=10**6)
    assert survey.overview(small, ("sam",)) == ""


def test_the_overview_holds_to_its_length_those_drawn_last_first(ada: Entity) -> None:
    runtime = living.runtime_of(ada, prompt__topics_min_window_tokens=1)
    for number in range(survey.TOPICS + 2):
        asked = [topics.Catalyst("Why " + "so " * 20 * number + "often?")]
        at = NOON - timedelta(days=number)
        living.write(ada, topics.plan_draw(None, topics.new(f"Thing {number}", asked, at), "x"))
    lines = survey.overview(runtime, ("sam",)).splitlines()[1:-1]
    assert [line.split(":")[0] for line in lines] == [f"- Thing {n}" for n in range(len(lines))]
    assert 5 < len(lines) < survey.TOPICS
    assert tokens.estimate("\n".join(lines)) <= survey.MOST_TOKENS


def test_the_tool_recall_takes_a_register_and_says_how_to_tell_it(ada: Entity) -> None:
    runtime = living.runtime_of(ada)
    runtime.memory.sync()
    session = sessions.new("ses_now", NOON, "sam")
    plain = catalyze.answer(runtime, "the leak", session, "")
    guided = catalyze.answer(runtime, "the leak", session, "reference")
    assert "Our boat has a leak" in plain.text
    assert guided.text.endswith(catalyze.GUIDANCE["reference"])


def test_where_all_is_made_up_there_is_no_topic(ada: Entity) -> None:
    assert draw(living.runtime_of(ada, answer("Why did Bartholomew sink the boat?"))) == []


def test_a_belief_that_was_put_away_mentions_nothing(ada: Entity) -> None:
    held = beliefs.new("bel_1", "The boat is Sam's.", "world_fact", 0.5, living.NOON)
    living.write(ada, beliefs.BELIEF.plan_new(held, ""))

    def mentions() -> set[str]:
        runtime = living.runtime_of(ada)
        runtime.memory.sync()
        return {text.id for text in survey.mentions(runtime.memory)}

    assert "bel_1" in mentions()
    [belief] = beliefs.BELIEF.readable(ada.beliefs)
    living.write(ada, beliefs.plan_update(belief, "", archived=True))
    assert "bel_1" not in mentions()


def test_a_last_name_is_the_person_s(ada: Entity) -> None:
    living.known(ada, "Olaf Brandt")
    said = tuple((20 - 4 * n, f"Then Brandt came, number {n}.") for n in range(4))
    talk(ada, "sam", said, first=10)
    runtime = living.runtime_of(ada)
    runtime.memory.sync()
    names = [one.name for one in survey.take(runtime.memory, runtime.now(), ("sam",)).topics]
    assert "Olaf Brandt" in names
    assert "Brandt" not in names


def test_of_a_record_the_sentences_that_name_the_topic_are_shown(ada: Entity) -> None:
    long = "It was about other things for a long while. " * 20
    told = episodes.new("ep_winter", NOON, 0.5, f"# Winter\n\n{long}The boat slept in a shed.")
    living.write(ada, episodes.EPISODE.plan_new(told, "x"))
    runtime = living.runtime_of(ada, answer("Why does the boat sleep?"))
    draw(runtime)
    [asked] = living.asked(runtime)
    assert "The boat slept in a shed." in asked
    assert "other things" not in asked


def test_a_topic_that_was_two_has_one_file_named_for_it(ada: Entity) -> None:
    drawn(ada)
    boat = next(iter(topics.TOPIC.readable(ada.topics)))
    other = topics.new("The boat", boat.catalysts, NOON, provenance=boat.provenance)
    living.write(ada, topics.plan_draw(None, other, "of an earlier version"))
    asked = "What does the boat mean to us?"
    draw(living.runtime_of(ada, answer(asked)), "boat")
    topic_files = list(topics.TOPIC.readable(ada.topics))
    assert [(one.id, one.source.body) for one in topic_files] == [
        ("boat", f"# Boat\n\n- {asked}"),
    ]
    assert not (ada.root / "sources/topics/the-boat.yaml").exists()


def test_the_last_mention_is_always_among_what_questions_come_from(ada: Entity) -> None:
    for n in range(12):
        talk(ada, "sam", ((0, f"The boat has a mast number {n}."),), first=5 + n)
        (drawing,) = topic_questions.check(living.runtime_of(ada), name="boat").jobs
        assert drawing.sample[-1].id == drawing.topic.texts[-1].id


def test_a_question_may_rest_on_what_mentions_another_topic(ada: Entity) -> None:
    runtime = living.runtime_of(ada)
    (drawing,) = musings.check_topics(runtime, name="boat").jobs[0].drawings
    labels = topic_questions.labelled([drawing])
    labels["m9"] = replace(labels["m1"], id="msg_yard", text="The yard closes.", trust="person")
    entries = [{"uses": ["m9"], "question": "Where does the boat go when the yard closes?"}]
    outcome = topic_questions.drawn(runtime, drawing, labels, entries, ())
    assert outcome.data["catalysts"] == ["Where does the boat go when the yard closes?"]
    job.apply(runtime, outcome)
    (boat,) = topics.TOPIC.readable(ada.topics)
    assert (boat.catalysts[0].sources, boat.provenance.trust) == (("msg_yard",), "person")
