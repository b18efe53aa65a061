from __future__ import annotations

import pytest

from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.records import beliefs, relationships
from bumble.records.base import Provenance
from tests.support.running import NOON, Run


@pytest.fixture
def held(full: Run) -> Run:
    """Ada with a belief that rests on a message, and on one that is gone."""
    origin = Provenance("distill", "tiny", ("ses_first", "msg_1"), "owner", ("sam",))
    one = beliefs.new(
        "bel_2", "Sam asks of rain.", "world_fact", 0.8, NOON, evidence=("msg_1", "ep_gone"),
        provenance=origin,
    )  # fmt: skip
    changes.apply(full.entity.root, ChangeSet("", (beliefs.BELIEF.plan_new(one, ""),)))
    return full


def test_the_tree_ends_in_the_words_that_were_said(held: Run) -> None:
    ran = held.ok("why", "bel_2")
    assert ran.out.splitlines() == [
        "belief bel_2  2026-05-24 12:00  beliefs/bel_2.md:5",
        "│ Sam asks of rain.",
        "│   distill, tiny, owner",
        "├─ ep_gone: not here any more: forgotten, or not merged yet",
        "└─ session ses_first  2026-05-24 12:00  sessions/ses_first/messages.jsonl:1",
        "   │ 1 message with sam",
        "   └─ message msg_1  2026-05-24 12:00  sessions/ses_first/messages.jsonl:2",
        "        sam: Is it rain?",
    ]
    assert ran.err == "1 source is not here any more: forgotten, or not merged yet.\n"


def test_json_is_nested_and_says_what_could_not_be_found(held: Run) -> None:
    answer = held.ok("why", "bel_2", "--json").json
    assert (answer["schema"], answer["warnings"]) == ("bumble/why/1", [])
    data = answer["data"]
    assert data["missing"] == ["ep_gone"]
    assert (data["by"], data["model"], data["trust"]) == ("distill", "tiny", "owner")
    gone, talk = data["rests_on"]
    assert (gone["id"], gone["resolved"]) == ("ep_gone", False)
    (said,) = talk["rests_on"]
    assert (said["text"], said["speaker"], said["line"]) == ("Is it rain?", "sam", 2)
    assert said["path"] == "sessions/ses_first/messages.jsonl"


def test_what_a_person_wrote_says_so(full: Run) -> None:
    assert "written by hand" in full.ok("why", "Pets").out
    assert full.ok("why", "Pets", "--json").data["by_hand"] is True


@pytest.mark.parametrize("argv", [["Pets"], ["bel_2"], ["Bo"], ["2026-05-24"], ["msg_1"], ["tea"]])
def test_looking_changes_no_byte_and_no_time(held: Run, argv: list[str]) -> None:
    before = held.state()
    held.ok("why", *argv)
    held.ok("why", *argv, "--json")
    assert held.state() == before


def test_what_is_not_there_names_the_nearest(full: Run) -> None:
    ran = full("why", "bel_11")
    assert ran.code == 1
    assert 'There is no belief "bel_11".' in ran.err
    assert "bel_1" in ran.err
    assert full("why", "nothing", "like", "it").code == 1


@pytest.fixture
def drawn(full: Run) -> Run:
    """Sam's portrait with a line of a program and one of a hand."""
    sam = relationships.new("Sam", NOON)
    line = "Sam asks whether it is rain."
    marks = {relationships.line_key(line): Provenance("reflect", "tiny", ("ses_first", "msg_1"))}
    origin = Provenance("reflect", "tiny", ("ses_first", "msg_1"), "owner")
    more = relationships.plan_update(
        sam, "", text=f"{line}\n\nSam is tall.", lines=marks, provenance=origin
    )
    planned = [relationships.PERSON.plan_new(sam, ""), *([more] if more else [])]
    for change in planned:
        changes.apply(full.entity.root, ChangeSet("", (change,)))
    return full


def test_a_sentence_leads_to_the_message_that_says_it(drawn: Run) -> None:
    data = drawn.ok("why", "whether it is rain", "--json").data
    assert (data["kind"], data["id"]) == ("person", "sam")
    assert data["sentence"] == "Sam asks whether it is rain."
    assert (data["by"], data["model"]) == ("reflect", "tiny")
    file = (drawn.entity.root / data["path"]).read_text().splitlines()
    assert file[data["line"] - 1] == data["sentence"]
    (talk,) = data["rests_on"]
    assert [below["id"] for below in talk["rests_on"]] == ["msg_1"]


def test_a_line_of_a_hand_says_so(drawn: Run) -> None:
    ran = drawn.ok("why", "Sam is tall.")
    assert "Sam is tall." in ran.out and "written by hand" in ran.out
    assert "whether" not in ran.out


def test_words_of_a_message_alone_lead_to_it(full: Run) -> None:
    assert full.ok("why", "is it rain", "--json").data["id"] == "msg_1"


def test_one_word_of_a_message_leads_to_it(full: Run) -> None:
    assert full.ok("why", "rain", "--kind", "message", "--json").data["id"] == "msg_1"
    assert "rain" in full.ok("why", "rain").out
    assert 'There is no record "snow".' in full("why", "snow").err


def test_a_sentence_that_stands_nowhere_is_told(drawn: Run) -> None:
    assert drawn("why", "nothing", "that", "stands", "here").code == 1


def test_words_in_several_records_name_the_others(drawn: Run) -> None:
    drawn.write("knowledge.md", "## Sam here\n\nSam is tall.\n")
    ran = drawn.ok("why", "Sam is tall")
    assert ran.out.startswith("person sam")
    assert "knowledge Sam here" in ran.err
    assert drawn.ok("why", "Sam is tall", "--kind", "knowledge").out.startswith("knowledge")
