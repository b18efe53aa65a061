"""What a log says of a record that changed follows from the declaration of its fields."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import PurePosixPath

from msgspec.structs import replace

from bumble.entity.changes import Version
from bumble.history import log
from bumble.records import (
    anchors,
    automations,
    beliefs,
    episodes,
    projects,
    proposals,
    relationships,
)
from bumble.records.relationships import PendingNote, Scores

AT = datetime(2026, 5, 24, 3, 12, 47, tzinfo=UTC)


def test_a_belief_tells_how_sure_it_is_what_speaks_for_it_and_its_words() -> None:
    old = beliefs.new("bel_1", "Sam likes  tea.", "preference", 0.5, AT, evidence=("msg_1",))
    new = replace(old, confidence=0.61, evidence=("msg_2",), archived=True, text="Sam loves tea.")
    assert list(new.changes_since(old)) == [
        'belief bel_1 "Sam likes tea.": confidence 0.50 -> 0.61',
        'belief bel_1 "Sam likes tea.": evidence +msg_2 -msg_1',
        'belief bel_1 "Sam likes tea.": archived',
        "belief bel_1 says",
        "- Sam likes  tea.",
        "+ Sam loves tea.",
    ]
    assert list(old.changes_since(old)) == []


def test_a_long_claim_is_told_cut_and_says_so() -> None:
    text = "What is tuned patiently keeps its place, even where the day moves."
    old = beliefs.new("bel_1", text, "preference", 0.5, AT)
    assert list(replace(old, confidence=0.6).changes_since(old)) == [
        'belief bel_1 "What is tuned patiently keeps its place, even where the day…": '
        "confidence 0.50 -> 0.60"
    ]


def test_a_person_tells_of_talks_scores_notes_and_names() -> None:
    old = relationships.new("Kim", AT)
    note = PendingNote("She rows.")
    new = replace(
        old, names=("Kim", "Kimi"), interaction_count=2, scores=Scores(warmth=0.5), pending=(note,)
    )
    assert sorted(new.changes_since(old)) == [
        "Kim: called Kim, Kimi",
        "Kim: interactions 0 -> 2",
        "Kim: to think about: She rows.",
        "Kim: warmth 0.00 -> 0.50",
    ]


def test_a_portrait_of_which_only_the_sources_changed_says_that_and_shows_no_mark() -> None:
    text = "---\nlines:\n  h0123456789ab: {by: distill, from: [msg_1]}\n---\n\nRows.\n"
    told = relationships.PERSON.tell(PurePosixPath("kim.md"), text, text.replace("msg_1", "msg_2"))
    assert list(told) == ["kim: portrait rests on other words"]


def test_what_lies_in_a_folder_of_its_own_is_told_by_the_name_of_that() -> None:
    for path, text, told in (
        (
            "sessions/ses_1/handover.md",
            "---\nat: 2026-05-24T03:12:47Z\n---\n\nTea.\n",
            "brief of ses_1",
        ),
        ("skills/tea/SKILL.md", "---\ndescription: Boil.\n---\n\nPour.\n", "skill tea: Boil."),
    ):
        assert log.describe(Version(path, None, text.encode()))[0] == f"new {told}"


def test_others_tell_of_what_became_of_them() -> None:
    change = projects.plan_new("Tea", {"next": ("boil",)}, "Calm.", "begin")
    old = projects.PROJECT.parse((change.data or b"").decode(), "tea")
    new = replace(old, status="done", steps=("pour",), why="Calm.\nWarm.")
    assert list(new.changes_since(old)) == [
        "project Tea: active -> done",
        "project Tea: next pour",
        "project Tea: no longer next boil",
        "project Tea: why",
        "+ Warm.",
    ]
    lived = episodes.new("ep_1", AT, 0.5, "We talked.")
    assert list(replace(lived, dormant=True).changes_since(lived)) == ["episode ep_1 left recall"]
    levels = dict.fromkeys(("dopamine", "cortisol", "oxytocin"), 0.5)
    calm = anchors.new("Calm", "By the sea.", levels, AT, 1.0)
    assert list(replace(calm, recalled=2).changes_since(calm)) == [
        'anchor "Calm": recalled 0 -> 2 times'
    ]


def test_what_a_hand_wrote_beside_a_value_stays_where_it_does_not_change() -> None:
    text = "---\nschedule: 0 8 * * *\nfailures: 0  # mine\n---\n\nWrite.\n"
    change = automations.plan_ran(automations.AUTOMATION.parse(text, "aut_1"), AT, 0, "ran")
    assert change is not None
    assert b"failures: 0  # mine\n" in (change.data or b"")


def test_a_proposal_whose_day_of_decision_is_a_word_is_read_all_the_same() -> None:
    text = "---\nat: 2026-05-24T03:12:47Z\ndecided: yesterday\n---\n\nx\n"
    assert proposals.PROPOSAL.parse(text, "evo_1").decided is None
