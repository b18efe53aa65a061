from __future__ import annotations

import pytest

from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.records import beliefs
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
    changes.apply(full.entity.root, ChangeSet("", (beliefs.plan_new(one, ""),)))
    return full


def test_the_tree_ends_in_the_words_that_were_said(held: Run) -> None:
    ran = held.ok("why", "bel_2")
    assert ran.out.splitlines() == [
        "belief bel_2  2026-05-24 12:00  beliefs/bel_2.md:14",
        "│ Sam asks of rain.",
        "│   written by distill, with tiny",
        "│   trust owner; only for sam",
        "├─ ep_gone: not here any more: forgotten, or not merged yet",
        "└─ session ses_first  2026-05-24 12:00  sessions/ses_first/messages.jsonl:1",
        "   │ 1 message with sam",
        "   │   only for sam",
        "   └─ message msg_1  2026-05-24 12:00  sessions/ses_first/messages.jsonl:2",
        "        sam: Is it rain?",
        "          only for sam",
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


def test_a_command_that_wrote_something_is_named(full: Run) -> None:
    belief_id = full.ok("belief", "add", "Tea is good", "--json").data["id"]
    assert "written by belief add" in full.ok("why", belief_id).out


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


def test_an_unknown_kind_names_the_kinds(full: Run) -> None:
    ran = full("why", "Bo", "--kind", "persons")
    assert ran.code == 2
    assert 'Did you mean "person"?' in ran.err


def test_a_broken_file_is_named(full: Run) -> None:
    full.write("beliefs/bel_1.md", "---\n[\n---\n\nx\n")
    ran = full("why", "bel_1")
    assert ran.code == 12
    assert "beliefs/bel_1.md" in ran.err


def test_nothing_asked_and_no_entity_are_refused(full: Run) -> None:
    assert full("why").code == 2
    assert full("why", " ").code == 2
    assert full("why", "x", cwd=full.entity.root.parent).code == 10


def test_control_characters_never_reach_the_terminal(full: Run) -> None:
    full.write("knowledge.md", "## Pets\n\nA cat\x1b[31m\x9b2J\x07.\n")
    assert not set("\x1b\x9b\x07") & set(full.ok("why", "Pets").out)
