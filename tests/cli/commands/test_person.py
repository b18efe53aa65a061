from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

import pytest

from bumble.jobs.forgetting import forget
from tests.support import chatting
from tests.support.running import Run, UseEditor
from tests.support.stretches import claim, makes

BO = """---
names: [Bo, Bodil]
scores: {familiarity: 0.4, warmth: 0.7, trust: 0.5, tension: 0.1, investment: 0.3}
interaction_count: 12
first_met: "2026-05-01T10:00:00+01:00"
last_interaction: "2026-05-20T18:00:00+01:00"
pending:
  - {text: moved to Porto}
topics: [tea, tides]
---

Bo is patient with me.
"""


@pytest.fixture
def bo(run: Run) -> Run:
    run.write("relationships/bo.md", BO)
    return run


def test_a_person_is_shown_with_portrait_scores_and_counters(bo: Run) -> None:
    shown = bo.ok("person", "show", "bodil").out
    assert shown.startswith("# Bo\n\nBo is patient with me.\n")
    for told in ("warmth 0.70", "exchanges  12", "tea, tides", "moved to Porto"):
        assert told in shown
    assert "2026-05-20 18:00" in shown


def test_somebody_is_introduced_with_a_portrait(run: Run) -> None:
    run.ok("person", "add", "Ana Lima", "--also", "Ana", "Ana fixes boats.")
    data = run.ok("person", "show", "ana", "--json").data
    assert data["id"] == "ana-lima"
    assert data["names"] == ["Ana Lima", "Ana"]
    assert data["text"] == "Ana fixes boats."
    assert data["first_met"] == "2026-05-24T12:01:00+01:00"


@pytest.mark.parametrize("name", ["BO", "bodil"])
def test_a_name_somebody_has_is_refused(bo: Run, name: str) -> None:
    before = bo.state()
    assert bo("person", "add", name).code == 13
    assert bo("person", "add", "Somebody", "--also", name).code == 13
    assert bo.state() == before


def test_scores_are_checked_when_edited(bo: Run, use_editor: UseEditor) -> None:
    use_editor("file.write_text(file.read_text().replace('warmth: 0.7', 'warmth: 7'))")
    ran = bo("person", "edit", "Bo")
    assert ran.code == 12
    assert "`warmth`" in ran.err
    assert bo.text("relationships/bo.md") == BO


def test_forget_names_what_it_cannot_decide(full: Run) -> None:
    full.ok("remind", "add", "Call Sam.", "--at", "2031-01-01 09:00", "--deliver", "journal")
    data = full.ok("person", "forget", "Sam", "--dry-run", "--json").data
    places = {entry["path"]: entry["reason"] for entry in data["undecided"]}
    assert "entity.yaml" in places
    (reminder,) = (path for path in places if path.startswith("reminders/"))
    ran = full.ok("person", "forget", "Sam", "--yes")
    assert f"undecided: {reminder}: {places[reminder]}." in ran.err


def test_an_owner_of_another_name_stays_who_they_are(run: Run) -> None:
    run.write("script.yaml", "- text: Fine.\n  always: true\n")
    run.ok("config", "set", "llm.model", f"script:{run.file('script.yaml')}")
    run.ok("chat", "I am Sam.")
    settings = run.text("entity.yaml")
    run.write("entity.yaml", settings.replace("name: Sam", "name: Alexandra"))
    run.ok("chat", "And now I am called Alexandra.")
    run.ok("chat", "By that name.", "--as", "Alexandra")
    assert [one["id"] for one in run.ok("person", "list", "--json").data] == ["sam"]
    messages = run.ok("session", "show", "--json").data["messages"]
    assert {one["trust"] for one in messages if one["role"] == "user"} == {"owner"}
    run.ok("chat", "Hello.", "--as", "Kim")
    assert {one["id"] for one in run.ok("person", "list", "--json").data} == {"sam", "kim"}


def appraised(run: Run, **points: float) -> dict[str, Any]:
    """Talk with Sam, whose words do so much to the body, and return how Sam then stands."""
    said = claim("Sam asked me of bees.", "m1", rests=["two bees"])
    chatting.script(
        run,
        {"purpose": "chat", "text": "I see.", "always": True},
        {"purpose": "stretch", "text": makes(said, felt={"bars": points}).text, "always": True},
    )
    run.ok("chat", "Do you know the one about the two bees and the open window?")
    run.ok("distill", "--force")
    return dict(run.ok("person", "show", "Sam", "--json").data)


@pytest.mark.parametrize(
    ("bar", "level", "way"), [("comfort", 0.52, "warming"), ("tension", 0.48, "cooling")]
)
def test_without_portraits_what_a_talk_did_moves_warmth_and_trust_by_the_step(
    run: Run, bar: str, level: float, way: str
) -> None:
    run.ok("config", "set", "memory.relational.enabled", "false")
    stands = appraised(run, **{bar: 4})
    assert (stands["scores"]["warmth"], stands["scores"]["trust"]) == (level, level)
    assert stands["bond"]["trajectory"] == way


def test_scores_that_a_portrait_gave_are_not_moved_by_a_talk(run: Run) -> None:
    scored = BO.replace("[Bo, Bodil]", "[Sam]").replace(
        "pending:", 'last_scored: "2026-05-20T18:00:00+01:00"\npending:'
    )
    run.write("relationships/sam.md", scored)
    assert appraised(run, comfort=4)["scores"]["warmth"] == 0.7


def test_what_a_forgotten_owner_adds_later_stays(full: Run) -> None:
    full.ok("remind", "add", "Tea", "--in", "5d")
    full.ok("person", "forget", "Sam", "--yes")
    full.ok("remind", "add", "later", "--in", "5d")
    assert "later" in full.ok("remind", "list").out
    assert "forgotten-back" not in full("doctor").out


def test_a_name_that_another_page_answers_to_is_not_forgotten_with_one(run: Run) -> None:
    grete = "---\naliases: [Mudder]\n---\n\nGrete, my mother.\n"
    run.write("relationships/Grete.md", grete)
    run.write("relationships/Karl.md", "---\naliases: [Mudder]\n---\n\nKarl, my uncle.\n")
    machine = run.write("skills/machine.md", "The sewing machine of Mudder.\n")
    ran = run.ok("person", "forget", "Karl", "--yes", "--json")
    assert ran.data["shared"] == {"Mudder": "Grete"}
    assert "has a name that may be somebody else's" in str(ran.data["undecided"])
    assert "Grete answers to Mudder, too" in ran.err
    assert "forgotten-back" not in run("doctor").out
    run("doctor", "--fix")
    assert (run.entity.root / "relationships/Grete.md").read_text() == grete
    assert machine.read_text() == "The sewing machine of Mudder.\n"
    grete = grete.replace("[Mudder]", "[Mudder, Karl]")  # given since
    run.write("relationships/Grete.md", grete)
    run("doctor", "--fix")
    assert (run.entity.root / "relationships/Grete.md").read_text() == grete


@pytest.mark.parametrize("by_hand", [True, False])
def test_somebody_else_of_a_name_that_was_forgotten_stays(run: Run, *, by_hand: bool) -> None:
    run.write("relationships/Karl.md", "Karl, my uncle.\n")
    run.ok("person", "forget", "Karl", "--yes")
    if by_hand:
        run.write("relationships/Karl.md", "Karl, my neighbour.\n")
    else:
        run.ok("person", "add", "Karl", "Karl, my neighbour.")
    chatting.script(run, "Hello.", "Hello.")
    for _ in range(2):
        assert "forgotten-back" not in run("doctor").out
        run("doctor", "--fix")
        assert "neighbour" in run.ok("person", "show", "Karl").out
        run.ok("chat", "--as", "Karl", "I have a ladder.")
    assert run.ok("person", "show", "Karl", "--json").data["first_met"]


def test_what_a_person_writes_of_one_who_was_forgotten_stays(run: Run) -> None:
    run.write("relationships/Karl.md", "Karl, my uncle.\n")
    run.ok("person", "forget", "Karl", "--yes")
    page = run.write(
        "episodes/2026/05/Ladder.md",
        "---\nat: 2026-05-23\npeople: [Karl]\n---\n\nKarl lent me a ladder.\n",
    )
    before = page.read_bytes()
    assert "forgotten-back" not in run("doctor").out
    run("doctor", "--fix")
    assert page.read_bytes() == before


def test_earlier_versions_of_a_clone_forget_whom_a_merge_forgot(run: Run) -> None:
    run.write("relationships/Karl.md", "Karl, my uncle.\n")
    run.write("knowledge.md", "## Choir\n\nBo sings.\n")
    run.ok("person", "forget", "Karl", "--yes")
    named = run.write(".history/knowledge.ce51d21abc83.md", "## Choir\n\nKarl sings.\n")
    other = run.write(".history/knowledge.ce51d21abc84.md", "## Choir\n\nBo sings.\n")
    assert "forgotten-back" in run("doctor").out
    run("doctor", "--fix")
    assert not named.exists()
    assert other.exists()
    assert "forgotten-back" not in run("doctor").out


def test_a_page_by_hand_of_a_time_before_is_not_shown_by_a_look_back(run: Run) -> None:
    run.write("relationships/Karl.md", "Karl, my uncle.\n")
    run.write("relationships/Bo.md", "Bo, my aunt.\n")
    run.ok("person", "forget", "Karl", "--yes")
    run.write("relationships/Karl.md", "Karl, my uncle.\n")  # as git gives it back
    before, after = run.now - timedelta(days=1), run.now + timedelta(days=1)
    gone = forget.plan_again(run.entity, UTC, of=before)
    assert [one.path for one in gone.changes] == ["relationships/Karl.md"]
    assert not forget.plan_again(run.entity, UTC, of=after).changes
