from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.running import Run

HEAD = '---\ncategory: world_fact\nconfidence: 0.8\nformed: "2026-05-01T10:00:00Z"\n---\n\n'


@pytest.fixture
def kettle(run: Run) -> Run:
    run.ok("belief", "add", "The kettle whistles")
    return run


def file_of(run: Run, belief_id: str) -> Path:
    (file,) = run.file("beliefs").glob(f"*{belief_id}.md")
    return file


def only_id(run: Run) -> str:
    [belief] = run.ok("belief", "list", "--json").data
    return str(belief["id"])


def test_a_belief_is_added_listed_and_shown(kettle: Run) -> None:
    belief_id = only_id(kettle)
    assert kettle.ok("belief", "list").out == (
        f"{belief_id[-6:]}  2026-05-24 12:01  0.80  world_fact  The kettle whistles\n"
    )
    shown = kettle.ok("belief", "show", belief_id[-6:].lower()).out
    assert shown.startswith("The kettle whistles\n")
    assert f"beliefs/the-kettle-whistles-{belief_id}.md" in shown


def test_the_same_claim_is_one_belief(kettle: Run) -> None:
    before = kettle.state()
    ran = kettle.ok("belief", "add", "the  kettle whistles")
    assert only_id(kettle) in ran.out
    assert kettle.state() == before


def test_an_id_can_be_given_by_an_end_that_no_other_has(run: Run) -> None:
    for name in ("bel_tea", "bel_hot-tea", "bel_rain"):
        run.write(
            f"beliefs/{name}.md",
            HEAD + "X\n",
        )
    assert run.ok("belief", "show", "rain", "--json").data["id"] == "bel_rain"
    ran = run("belief", "show", "tea")
    assert ran.code == 1
    assert "bel_hot-tea, bel_tea" in ran.err
    assert 'There is no belief "n"' in run("belief", "remove", "n", "--yes").err  # the end of any
    assert 'Did you mean "bel_tea"?' in run("belief", "show", "bel_teas").err
    assert "bel_rain  " in run.ok("belief", "list").out


def test_confidence_fades_with_the_clock_and_nothing_is_written(kettle: Run) -> None:
    before = kettle.state()
    later = "2026-08-22T12:01:00+01:00"  # 90 days: half of what is above the floor
    [belief] = kettle.ok("belief", "list", "--json", "--now", later).data
    assert belief["confidence"] == pytest.approx(0.425, abs=0.001)
    assert belief["stored_confidence"] == 0.8
    assert "0.42 " in kettle.ok("belief", "list", "--now", later).out
    assert "stored" in kettle.ok("belief", "show", "last").out
    assert kettle.state() == before


@pytest.mark.parametrize(("by", "after"), [("user", 0.85), ("extracted", 0.83), ("dream", 0.82)])
def test_a_belief_is_confirmed(kettle: Run, by: str, after: float) -> None:
    data = kettle.ok("belief", "confirm", "last", "--by", by, "--json").data
    assert data["after"] == pytest.approx(after, abs=0.001)
    shown = kettle.ok("belief", "show", "last", "--json").data
    assert shown["confidence"] == pytest.approx(after, abs=0.001)
    assert shown["reinforced"] == "2026-05-24T12:02:00+01:00"


def test_a_belief_is_contradicted_and_both_are_linked(kettle: Run) -> None:
    first = only_id(kettle)
    kettle.ok("belief", "add", "The kettle hums")
    kettle.ok("belief", "contradict", first, "--with", "last")
    newest, oldest = kettle.ok("belief", "list", "--json").data
    assert oldest["confidence"] == pytest.approx(0.48, abs=0.001)
    assert oldest["contradicts"] == [newest["id"]]
    assert newest["contradicts"] == [first]
    assert newest["confidence"] == pytest.approx(0.8, abs=0.001)


def test_a_belief_that_is_removed_is_linked_by_none(kettle: Run) -> None:
    first = only_id(kettle)
    kettle.ok("belief", "add", "The kettle is silent")
    kettle.ok("belief", "contradict", first, "--with", "last")
    kettle.ok("belief", "remove", first, "--dry-run")
    assert file_of(kettle, first)
    assert kettle("belief", "remove", first, "--json", stdin="y\n", terminal=True).code == 13
    kettle.ok("belief", "remove", first, "--yes")
    assert not list(kettle.file("beliefs").glob(f"*{first}.md"))
    assert kettle.ok("belief", "show", "last", "--json").data["contradicts"] == []


def test_what_was_observed_says_so(run: Run) -> None:
    run.ok("belief", "add", "Sam types late at night", "--source", "observation")
    assert run.ok("belief", "show", "last", "--json").data["source"] == "observation"
    assert run("belief", "add", "Sam is kind", "--source", "hearsay").code == 2


def test_a_category_that_is_none_names_the_nearest(run: Run) -> None:
    for command in (["add", "x"], ["list"]):
        ran = run("belief", *command, "--category", "preferense")
        assert ran.code == 2
        assert 'Did you mean "preference"?' in ran.err


def test_what_a_belief_rests_on_has_to_be_there(run: Run) -> None:
    run.ok("knowledge", "set", "Tea", "Sam drinks it green.")
    for named in ("msg_gone", "Tea", "sam"):  # the last two are no message and no episode
        ran = run("belief", "add", "The boat is red.", "--evidence", named)
        assert f'There is no message or episode "{named}"' in ran.err
    episode = run.ok("episode", "add", "We painted it.", "--json").data["id"]
    as_listed = run.ok("episode", "list").out.split()[0]
    assert as_listed != episode
    for number, named in enumerate((episode, as_listed)):
        belief = ("belief", "add", f"The boat is red, {number}.", "--evidence", named, "--json")
        added = run.ok(*belief).data["id"]
        assert run.ok("belief", "show", added, "--json").data["evidence"] == [episode]
