from __future__ import annotations

import math

import pytest

from tests.support.running import Run


def test_an_episode_is_added_listed_and_shown(run: Run) -> None:
    run.ok("episode", "add", "We watched the tide", "--significance", "0.7", "--person", "sam")
    line = run.ok("episode", "list").out
    assert line.split()[1:] == ["2026-05-24", "12:01", "0.70", "We", "watched", "the", "tide"]
    shown = run.ok("episode", "show", line.split()[0]).out
    assert shown.startswith("We watched the tide\n")
    assert "people        Sam\n" in shown
    assert "file          episodes/2026/05/24-we-watched-the-tide-ep_" in shown


@pytest.mark.parametrize("when", ["1955-03-02", "1001-01-02"])
def test_the_far_past_can_be_remembered(run: Run, when: str) -> None:
    run.ok("episode", "add", "Sam was born", "--at", when)
    assert run.ok("episode", "show", "last", "--json").data["at"].startswith(when)


TOLD = "Sam told me of the tide.\n\n---\n\nI felt it.\n"


def test_what_is_left_of_its_significance_is_shown(run: Run) -> None:
    run.ok("episode", "add", "Storm", "--significance", "0.8", "--at", "2026-05-24T12:00")
    half = "2026-06-20T18:00:00+01:00"
    shown = run.ok("episode", "show", "last", "--now", half)
    assert "significance  0.58 now, 0.80 when it happened" in shown.out
    data = run.ok("episode", "show", "last", "--json", "--now", half).data
    assert data["significance"] == 0.8
    assert data["significance_now"] == pytest.approx(0.8 * math.exp(-0.001 * 654 / 2), abs=1e-4)
    assert " 0.58 " in run.ok("episode", "list", "--now", half).out


def test_feelings_source_and_reflection_are_shown(run: Run) -> None:
    run.write(
        "episodes/2026/05/ep_a.md",
        "---\nat: 2026-05-23T03:12:47+02:00\nsignificance: 0.5\npeople: [sam]\n"
        "imprints: [{emotion: anxious, intensity: 0.6, trigger: the storm}]\n"
        f"summary_source: excerpt\n---\n\n{TOLD}",
    )
    shown = run.ok("episode", "show", "last").out
    assert "Sam told me of the tide.\n\n---\n\nI felt it." in shown
    assert "felt          anxious 0.60 (the storm)" in shown
    assert "told from     excerpt: " in shown
    data = run.ok("episode", "show", "last", "--json").data
    assert (data["narrative"], data["reflection"]) == ("Sam told me of the tide.", "I felt it.")
    line = run.ok("episode", "list").out
    assert "Sam told me of the tide. (excerpt)" in line
    assert "I felt it" not in line


def test_an_episode_is_removed(run: Run) -> None:
    run.ok("episode", "add", "We flew a kite.")
    run.ok("episode", "remove", "last", "--dry-run")
    [episode] = run.ok("episode", "list", "--json").data
    assert run("episode", "remove", episode["id"]).code == 13
    assert run("episode", "remove", "last", stdin="n\n", terminal=True).code == 13
    run.ok("episode", "remove", episode["id"], "--yes")
    assert run.ok("episode", "list", "--json").data == []


def test_episodes_have_tags_by_which_they_are_listed_and_found(run: Run) -> None:
    tags = ("--tag", "#Old Boat", "--tag", "harbour")
    run.ok("episode", "add", "We tarred the hull #harbour", *tags)
    run.ok("episode", "add", "We tarred the roof")
    (listed,) = run.ok("episode", "list", "--tag", "old-boat", "--json").data
    assert listed["tags"] == ["Old Boat", "harbour"]
    assert "tags          Old Boat, harbour\n" in run.ok("episode", "show", listed["id"]).out
    assert run.ok("episode", "list", "--tag", "roof", "--json").data == []
    tags = ("--tag", "Old boat", "--tag", "HARBOUR")
    (hit,) = run.ok("recall", "tarred", *tags, "--json").data["hits"]
    assert hit["id"] == listed["id"]
    assert run.ok("recall", "tarred", "--tag", "attic", "--json").data["hits"] == []
    topics = run.ok("petri", "--json").data["topics"]
    assert ("old-boat", "tag") in [(topic["name"], topic["type"]) for topic in topics]


def test_who_took_part_has_to_be_somebody(run: Run) -> None:
    assert 'There is no person "Mara"' in run("episode", "add", "We met.", "--person", "Mara").err
    run.ok("person", "add", "Mara", "She bakes.")
    run.ok("episode", "add", "We met.", "--person", "Mara")
