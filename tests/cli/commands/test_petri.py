from __future__ import annotations

import pytest

from bumble.records import base
from tests.support import looking
from tests.support.running import Run

DAYS = ("The boat has a leak.", "Will we sell the boat next winter?", "Olaf repairs the boat.")


@pytest.fixture
def ada(run: Run) -> Run:
    """Ada, to whom Sam spoke of a boat on three days, and Kim of a secret."""
    looking.without_models(run)
    for day, words in enumerate(DAYS, 10):
        at = f"2026-05-{day}T12:00:00+00:00"
        path = f"sessions/ses_{day}/messages.jsonl"
        head = f'{{"type":"session","id":"ses_{day}","at":"{at}","by":"sam"}}\n'
        run.write(
            path,
            head + f'{{"type":"message","id":"msg_{day}","at":"{at}","role":"user",'
            f'"text":"{words}","speaker":"sam","trust":"owner"}}\n',
        )
    return run


def test_petri_lists_what_recurs_with_its_trend(ada: Run) -> None:
    topics = {each["name"]: each for each in ada.ok("petri", "--json").data["topics"]}
    boat = topics["Boat"]
    assert (boat["type"], boat["frequency"], boat["activity_trend"]) == ("word", 3, "rising")
    assert boat["catalysts"] == []
    assert ada.ok("petri", "--json").data["topics"] == list(topics.values())


def test_a_topic_shows_its_mentions_the_newest_first(ada: Run) -> None:
    data = ada.ok("petri", "boats", "--json").data
    assert [record["id"] for record in data["records"]] == ["msg_12", "msg_11", "msg_10"]
    assert "Boat" in ada("petri", "Boot").err


def test_topics_are_ordered_by_relation_to_a_query(ada: Run) -> None:
    topics = ada.ok("petri", "--query", "sell the boat", "--json").data["topics"]
    assert topics[0]["name"] == "Boat"


def test_catalysts_check_writes_nothing_and_names_what_is_due(ada: Run) -> None:
    ran = ada.ok("catalysts", "--check")
    assert "topics" in ran.out
    assert not ada.file("topics").exists()


def test_what_was_learnt_today_is_a_topic_of_today(ada: Run) -> None:
    message = base.stable_id("msg", ada.now, "1")
    origin = f"<!-- {{by: distill by form, from: [{message}], trust: owner}} -->"
    ada.write("knowledge.md", f"## Sister, Ana, Porto\n{origin}\n\nShe plays the cello.\n")
    (topic,) = (
        each
        for each in ada.ok("petri", "--json").data["topics"]
        if each["name"] == "Sister, Ana, Porto"
    )
    assert (topic["frequency"], topic["days_since_last_seen"]) == (1, 0)
    assert topic["activity_trend"] != "dormant"
