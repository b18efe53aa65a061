from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.running import Run, UseEditor

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


def test_options_are_written_down(run: Run) -> None:
    run.ok(
        "belief", "add", "Sam likes rain", "--category", "preference", "--confidence", "1",
        "--evidence", "msg_1", "--evidence", "ep_2",
    )  # fmt: skip
    data = run.ok("belief", "show", "last", "--json").data
    assert data["category"] == "preference"
    assert data["confidence"] == 0.99
    assert data["evidence"] == ["msg_1", "ep_2"]
    assert data["provenance"] == {"by": "belief add"}


def test_the_same_claim_is_one_belief(kettle: Run) -> None:
    before = kettle.state()
    ran = kettle.ok("belief", "add", "the  kettle whistles")
    assert only_id(kettle) in ran.out
    assert kettle.state() == before


def test_a_category_that_is_none_names_the_nearest(run: Run) -> None:
    for command in (["add", "x"], ["list"]):
        ran = run("belief", *command, "--category", "preferense")
        assert ran.code == 2
        assert "Did you mean preference?" in ran.err


def test_a_confidence_out_of_range_is_refused(run: Run) -> None:
    assert run("belief", "add", "x", "--confidence", "1.5").code == 2


def test_archived_beliefs_are_listed_on_demand(kettle: Run) -> None:
    belief_id = only_id(kettle)
    file = file_of(kettle, belief_id)
    file.write_text(file.read_text().replace("---\n\n", "status: archived\n---\n\n"))
    assert kettle.ok("belief", "list", "--json").data == []
    assert "archived" in kettle.ok("belief", "list", "--archived").out


def test_the_newest_stand_first_and_a_limit_says_so(run: Run) -> None:
    for claim in ("one", "two", "three"):
        run.ok("belief", "add", claim)
    ran = run.ok("belief", "list", "--limit", "2")
    assert [line.split()[-1] for line in ran.out.splitlines()] == ["three", "two"]
    assert "--limit" in ran.err


def test_an_id_can_be_given_by_an_end_that_no_other_has(run: Run) -> None:
    for name in ("bel_tea", "bel_sea", "bel_rain"):
        run.write(
            f"beliefs/{name}.md",
            HEAD + "X\n",
        )
    assert run.ok("belief", "show", "rain", "--json").data["id"] == "bel_rain"
    ran = run("belief", "show", "ea")
    assert ran.code == 1
    assert "bel_sea, bel_tea" in ran.err
    assert 'Did you mean "bel_tea"?' in run("belief", "show", "bel_teas").err
    assert "bel_rain  " in run.ok("belief", "list").out


@pytest.mark.parametrize("wrong", ["", "../../../etc/passwd", "nope", "*"])
def test_an_id_that_is_none_is_refused(kettle: Run, wrong: str) -> None:
    assert kettle("belief", "show", wrong).code == 1


def test_a_broken_belief_is_told_by_file_and_line(kettle: Run) -> None:
    kettle.write(
        "beliefs/bel_bad.md",
        HEAD.replace("0.8", "3") + "X\n",
    )
    ran = kettle("belief", "list", "--json")
    assert ran.code == 12
    assert len(ran.data) == 1
    assert "bel_bad.md:3" in ran.json["warnings"][0]
    shown = kettle("belief", "show", "bel_bad")
    assert shown.code == 12
    assert "bel_bad.md:3" in shown.err


def test_a_belief_is_edited_in_its_file(kettle: Run, use_editor: UseEditor) -> None:
    use_editor("file.write_text(file.read_text().replace('whistles', 'sings'))")
    kettle.ok("belief", "edit", "last")
    assert kettle.ok("belief", "show", "last", "--json").data["text"] == "The kettle sings"


def test_no_beliefs_is_said_beside_the_results(run: Run) -> None:
    ran = run.ok("belief", "list")
    assert ran.out == ""
    assert "bumble belief add" in ran.err
    assert run("belief", "show", "last").err == "error: There is no belief yet.\n"


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


def test_confirming_a_thousand_times_makes_nothing_certain(kettle: Run) -> None:
    for _ in range(20):
        assert kettle("belief", "confirm", "last").code == 0
    assert kettle.ok("belief", "show", "last", "--json").data["confidence"] <= 0.99


def test_a_belief_is_contradicted_and_both_are_linked(kettle: Run) -> None:
    first = only_id(kettle)
    kettle.ok("belief", "add", "The kettle hums")
    kettle.ok("belief", "contradict", first, "--with", "last")
    newest, oldest = kettle.ok("belief", "list", "--json").data
    assert oldest["confidence"] == pytest.approx(0.48, abs=0.001)
    assert oldest["contradicts"] == [newest["id"]]
    assert newest["contradicts"] == [first]
    assert newest["confidence"] == pytest.approx(0.8, abs=0.001)


def test_a_dry_run_of_either_writes_nothing(kettle: Run) -> None:
    before = kettle.state()
    for verb in ("confirm", "contradict"):
        assert "confidence" in kettle.ok("belief", verb, "last", "--dry-run").out
    assert kettle.state() == before


def test_what_can_not_be_is_refused(kettle: Run) -> None:
    assert kettle("belief", "confirm", "last", "--by", "magic").code == 2
    assert kettle("belief", "contradict", "last", "--with", "last").code == 2
    assert kettle("belief", "contradict", "last", "--with", "nobody").code == 1


def test_an_archived_belief_is_shown_with_all_and_comes_back_when_confirmed(kettle: Run) -> None:
    file = file_of(kettle, only_id(kettle))
    file.write_text(file.read_text().replace("---\n\n", "status: archived\n---\n\n"))
    assert "archived" in kettle.ok("belief", "list", "--all").out
    kettle.ok("belief", "confirm", "last")
    assert [one["archived"] for one in kettle.ok("belief", "list", "--json").data] == [False]


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
