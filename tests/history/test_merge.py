from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bumble.body import soma as body
from bumble.body.familiarity import STRANGER
from bumble.files import git
from bumble.history.merge import merge
from bumble.records import (
    automations,
    beliefs,
    journal,
    knowledge,
    relationships,
    reminders,
    sessions,
    state,
)
from bumble.records.base import Provenance, parse_mapping
from bumble.records.fields import ABSENT, mapping, moved
from bumble.records.relationships import unportrayed
from bumble.text import yaml_edit
from tests.support.sweeps import examples

BELIEF, SAM = "beliefs/bel_1.md", "relationships/sam.md"
NOON = datetime(2026, 5, 24, 12, tzinfo=UTC)


def later(hours: float) -> datetime:
    return NOON + timedelta(hours=hours)


def joined(path: str, base: str, ours: str, theirs: str) -> str:
    """Merge both ways round; what is meant must not depend on whose side is whose."""
    one, other = merge(path, base, ours, theirs), merge(path, base, theirs, ours)
    assert one.clean, one.text
    assert other.clean
    return one.text


# --- beliefs


def belief(confidence: float, hours: float, *evidence: str, archived: bool = False) -> str:
    one = beliefs.new(
        "bel_1", "Sam likes rain", "preference", confidence, NOON, evidence=("msg_0", *evidence)
    )
    if hours or archived:
        changed = beliefs.plan_update(one, "", at=later(hours), archived=archived)
        assert changed is not None
        assert changed.data is not None
        return changed.data.decode()
    return one.source.text


def test_confidence_rests_on_the_evidence_of_both_sides() -> None:
    text = joined(BELIEF, belief(0.5, 0), belief(0.6, 1, "msg_1"), belief(0.7, 2, "msg_2"))
    found = beliefs.BELIEF.parse(text, "bel_1")
    assert found.confidence == pytest.approx(1 - 0.4 * 0.3 / 0.5)
    assert found.evidence == ("msg_0", "msg_1", "msg_2")
    assert found.reinforced == later(2)


def test_contradictions_multiply_and_meet_confirmations() -> None:
    both = joined(BELIEF, belief(0.5, 0), belief(0.3, 1, "msg_1"), belief(0.3, 2, "msg_2"))
    assert beliefs.BELIEF.parse(both, "bel_1").confidence == pytest.approx(0.18)
    mixed = joined(BELIEF, belief(0.5, 0), belief(0.75, 1, "msg_1"), belief(0.3, 2, "msg_2"))
    assert beliefs.BELIEF.parse(mixed, "bel_1").confidence == pytest.approx(0.45)


@settings(max_examples=examples(40))
@given(
    c=st.tuples(*[st.floats(0, 0.99).map(lambda x: round(x, 4))] * 3),
    extra=st.tuples(*[st.lists(st.sampled_from(["msg_1", "msg_2", "msg_3"]), unique=True)] * 2),
    hours=st.tuples(st.floats(0.1, 50), st.floats(0.1, 50)),
)
def test_beliefs_merge_alike_both_ways_and_can_be_read(
    c: tuple[float, float, float],
    extra: tuple[list[str], list[str]],
    hours: tuple[float, float],
) -> None:
    base = belief(c[0], 0)
    ours, theirs = belief(c[1], hours[0], *extra[0]), belief(c[2], hours[1], *extra[1])
    one, other = (
        beliefs.BELIEF.parse(merge("beliefs/b.md", base, *sides).text, "b")
        for sides in ((ours, theirs), (theirs, ours))
    )
    assert one.source.meta == other.source.meta
    assert one.text == "Sam likes rain"
    assert merge("beliefs/b.md", base, ours, base).text == ours
    assert merge("beliefs/b.md", base, base, theirs).text == theirs


# --- people


def person(count: int, hours: float, text: str = "", **values: object) -> str:
    one = relationships.new("Sam", NOON)
    change = relationships.plan_update(
        one,
        "",
        interaction_count=count,
        last_interaction=later(hours),
        text=text or None,
        **values,  # type: ignore[arg-type]
    )
    assert change is not None
    assert change.data is not None
    return change.data.decode()


def test_of_two_portraits_of_its_own_the_later_comes_first_and_what_the_other_learnt_stays() -> (
    None
):
    base, mine = person(5, 0, "Old."), Provenance(by="reflect", sources=("ses_1", "msg_1"))
    ours = person(6, 1, "One.", last_reflection=later(1), provenance=mine)
    theirs = person(7, 2, "Two.", last_reflection=later(2), provenance=mine)
    found = relationships.PERSON.parse(joined(SAM, base, ours, theirs), "sam")
    assert (found.text, found.interaction_count) == ("Two.\nOne.", 8)


def test_of_two_portraits_of_one_moment_both_stay_whichever_side_merges() -> None:
    mine = Provenance(by="reflect", sources=("ses_1", "msg_1"))
    base = person(5, 0, "Old.", provenance=mine)
    sides = [
        person(5, 0, text, last_reflection=later(1), provenance=mine) for text in ("One.", "Two.")
    ]
    told = {
        relationships.PERSON.parse(joined(SAM, base, *pair), "sam").text
        for pair in (sides, sides[::-1])
    }
    assert told == {"Two.\nOne."}


def test_of_two_pages_that_nobody_drew_the_links_of_both_stay_the_newest_above() -> None:
    def page(*days: int) -> str:
        one = relationships.PERSON.parse(person(1, 0), "sam")
        for day in (0, *days):
            line = f"- {day} May: [it](../episodes/ep_{day}.md)" if day else "We met."
            origin = Provenance(by="remember by form", sources=(f"ep_{day}",))
            change = relationships.plan_update(one, "", **unportrayed(one, line, origin))
            assert change is not None and change.data is not None
            one = relationships.PERSON.parse(change.data.decode(), "sam")
        return one.source.text

    found = relationships.PERSON.parse(joined(SAM, page(1), page(1, 2), page(1, 3)), "sam")
    assert found.source.body == "We met.\n\n" + "\n".join(
        f"- {day} May: [it](../episodes/ep_{day}.md)" for day in (3, 2, 1)
    )
    assert (found.text, len(found.lines or {})) == ("", 4)


def test_scoring_on_both_sides_and_what_came_before_leave_no_marker() -> None:
    def scored(hours: float, health: float) -> str:
        times = {"last_reflection": later(hours), "last_scored": later(hours)}
        return person(6, hours, "Same.", previous_health=health, **times)

    found = relationships.PERSON.parse(joined(SAM, "", scored(1, 0.6), scored(2, 0.4)), "sam")
    assert (found.last_scored, found.previous_health) == (later(2), 0.4)


def test_who_is_met_on_both_sides_is_no_warmer_for_that() -> None:
    sides = [person(1, n, scores=replace(STRANGER, trust=0.6)) for n in (1, 2)]
    found = relationships.PERSON.parse(joined(SAM, "", *sides), "sam")
    moved = 0.6 + 0.6 - STRANGER.trust
    assert (found.scores.warmth, found.scores.trust) == (STRANGER.warmth, moved)


def test_two_portraits_by_hand_leave_markers_in_the_text_and_whole_counters() -> None:
    merged = merge(SAM, person(5, 0, "Old."), person(6, 1, "One."), person(7, 2, "Two."))
    assert not merged.clean
    assert "<<<<<<< ours\nOne." in merged.text
    assert "interaction_count: 8" in merged.text


def test_an_audience_is_kept_to_those_who_may_meet_both_sides() -> None:
    told = [Provenance(by="reflect", audience=who) for who in (("bo", "sam"), ("cy", "sam"))]
    sides = [person(6, n, "Same.", provenance=told[n]) for n in range(2)]
    found = relationships.PERSON.parse(joined(SAM, person(5, 0), *sides), "sam")
    assert found.audience == ("sam",)
    apart = [Provenance(by="reflect", audience=(who,)) for who in ("bo", "cy")]
    sides = [person(6, n, "Same.", provenance=apart[n]) for n in range(2)]
    assert not merge(SAM, person(5, 0), *sides).clean


# --- the body and where the cycles stand


def soma(hours: float, social: float, **values: object) -> str:
    bars = {
        name: {"value": social if name == "social" else 50.0, "rest": 50.0}
        for name in ("social", "curiosity", "creative", "tension", "comfort")
    }
    levels = {"dopamine": 0.2, "cortisol": 0.1, "oxytocin": 0.3}
    at = later(hours).isoformat()
    whole = {"bars": {"at": at, **bars}, "hormones": {"at": at, **levels}, **values}
    return yaml_edit.dump(whole)


def thought(text: str, hours: float, kind: str = "thought") -> dict[str, object]:
    return {"text": text, "kind": kind, "salience": 0.5, "at": later(hours).isoformat()}


def test_the_body_is_as_it_was_later_and_holds_the_thoughts_of_both() -> None:
    base = soma(0, 50, noise={"ticked_at": None, "fragments": [thought("old rain", 0)]})
    ours = soma(1, 60, noise={"ticked_at": None, "fragments": [thought("a blue door", 1)]})
    theirs = soma(2, 40, noise={
        "ticked_at": later(2).isoformat(),
        "fragments": [thought("old rain", 0), thought("the sea at night", 2, "dream")],
    })  # fmt: skip
    found = body.from_mapping(parse_mapping(joined("soma.yaml", base, ours, theirs)).values)
    assert found.bars.levels["social"].value == 40
    assert found.bars.at == later(2)
    assert [one.text for one in found.noise] == ["a blue door", "the sea at night"]
    assert found.noise_ticked_at == later(2)


def test_near_doubles_are_held_once_and_the_ring_keeps_its_size() -> None:
    ours = soma(1, 60, noise={"fragments": [thought(f"thing number {n}{n}", n) for n in range(8)]})
    theirs = soma(2, 40, noise={"fragments": [thought(f"other{n} word{n}", n) for n in range(8)]
                                + [thought("thing number 00", 9)]})  # fmt: skip
    found = body.from_mapping(parse_mapping(joined("soma.yaml", soma(0, 50), ours, theirs)).values)
    assert len(found.noise) == 9
    assert len({one.text for one in found.noise}) == 9


def test_feelings_join_and_one_that_has_faded_is_gone() -> None:
    def feels(*names: str) -> list[dict[str, object]]:
        return [{"name": name, "intensity": 0.5, "at": NOON.isoformat()} for name in names]

    text = joined(
        "soma.yaml",
        soma(0, 50, affects=feels("awe")),
        soma(1, 50, affects=feels("joy")),
        soma(2, 50, affects=feels("awe", "envy")),
    )
    found = body.from_mapping(parse_mapping(text).values)
    assert sorted(one.name for one in found.affects) == ["envy", "joy"]


def test_a_section_that_a_hand_emptied_takes_the_later_run() -> None:
    base, run = ({"consolidate": {"at": later(hours).isoformat()}} for hours in (0, 24))
    emptied = {"consolidate": None}
    assert state.STATE.join(base, emptied, run) == state.STATE.join(base, run, emptied) == run


@pytest.mark.parametrize("path", ["state.yaml", "soma.yaml"])
def test_a_value_that_nobody_can_decide_leaves_no_markers_where_nothing_works_then(
    path: str,
) -> None:
    sides = [f"x: same\nnote: {note}\n" for note in ("o", "p", "q")]
    assert joined(path, *sides) == "x: same\nnote: q\n"
    assert joined(path, sides[0], "a: [\n", sides[2]) == sides[2]


CURSORS = st.dictionaries(
    st.sampled_from("abc"), st.integers(0, 4).map(lambda n: f"msg_{n}"), max_size=3
)


@given(base=CURSORS, ours=CURSORS, theirs=CURSORS)
def test_cursors_merge_alike_both_ways(
    base: dict[str, str], ours: dict[str, str], theirs: dict[str, str]
) -> None:
    one = mapping(base, ours, theirs, {}, moved)
    assert one == mapping(base, theirs, ours, {}, moved)
    assert mapping(base, base, theirs, {}, moved) == theirs
    assert mapping(base, ours, base, {}, moved) == ours
    assert ABSENT not in one.values()


def test_a_comment_by_hand_on_either_side_stays() -> None:
    base = "# mine\na: 1\nb: 1\n"
    merged = joined(
        "state.yaml", base, "# mine\n# ours\na: 2\nb: 1\n", "# mine\na: 3\nb: 1 # theirs\n"
    )
    assert merged == "# mine\n# ours\na: 4\nb: 1 # theirs\n"


# --- knowledge, journal, story


FACTS = "Preface.\n\n## Pets\n\nA dog.\n\n## [locked] Home\n\nLisbon.\n"


def test_sections_of_both_sides_are_joined_and_each_is_merged_by_itself() -> None:
    ours = FACTS.replace("A dog.", "A dog.\nA cat.") + "\n## Work\n\nBaker.\n"
    theirs = FACTS.replace("Lisbon.", "Porto.") + "\n## Food\n\nSoup.\n"
    found = knowledge.parse(joined("knowledge.md", FACTS, ours, theirs))
    assert {one.title: one.text for one in found.sections} == {
        "Pets": "A dog.\nA cat.",
        "Home": "Porto.",
        "Work": "Baker.",
        "Food": "Soup.",
    }
    assert knowledge.find(found, "Home").locked  # type: ignore[union-attr]


def test_a_real_clash_stays_within_its_section() -> None:
    ours, theirs = (
        FACTS.replace("A dog.", pet) + f"\n## {pet}\n\nx\n" for pet in ("A fox.", "A cow.")
    )
    merged = merge("knowledge.md", FACTS, ours, theirs)
    assert not merged.clean
    assert "<<<<<<< ours\nA fox.\n" in merged.text
    assert merged.text.count("<<<<<<<") == 1
    assert "## A fox." in merged.text
    assert "## A cow." in merged.text


def test_where_a_text_comes_from_is_joined() -> None:
    def facts(trust: str, *sources: str) -> str:
        change = knowledge.plan_set(
            knowledge.parse(""), "Pets", "A dog.", "", by_entity=True,
            provenance=Provenance(by="distill", sources=sources, trust=trust),
        )  # fmt: skip
        assert change is not None
        return (change.data or b"").decode()

    text = joined("knowledge.md", "", facts("owner", "msg_1"), facts("person", "msg_2"))
    (section,) = knowledge.parse(text).sections
    assert section.provenance.sources == ("msg_1", "msg_2")
    assert section.provenance.trust == "person"
    assert section.text == "A dog."


DIARY = "# Journal\n\n## 2026-05-24 03:00:00 #dream\n\nI slept.\n"


def entry(at: str, text: str) -> str:
    return f"\n## {at} #dream\n\n{text}\n\nIt rained.\n"


def test_entries_of_both_sides_stay_whole_and_stand_in_order() -> None:
    ours = DIARY + entry("2026-05-25 03:00:00", "I flew.") + entry("2026-05-27 03:00:00", "I sank.")
    theirs = DIARY + entry("2026-05-26 03:00:00", "I swam.")
    found = journal.parse(joined("journal.md", DIARY, ours, theirs), zone=UTC)
    assert [one.text for one in found.entries] == [
        "I slept.",
        "I flew.\n\nIt rained.",
        "I swam.\n\nIt rained.",
        "I sank.\n\nIt rained.",
    ]


def test_an_entry_that_both_sides_changed_is_a_conflict() -> None:
    before = DIARY + entry("2026-05-25 03:00:00", "I slept.")
    sides = [before.replace("I slept.", f"I {did}.") for did in ("flew", "swam")]
    assert not merge("journal.md", before, *sides).clean


DAYS = st.lists(
    st.tuples(st.integers(1, 28), st.sampled_from(["x", "It rained.", "y\n\nz"])), max_size=4
)


@settings(max_examples=examples(30))
@given(ours=DAYS, theirs=DAYS)
def test_no_entry_is_lost_or_doubled_and_the_order_of_sides_does_not_matter(
    ours: list[tuple[int, str]], theirs: list[tuple[int, str]]
) -> None:
    def diary(days: list[tuple[int, str]], minute: int) -> str:
        unique = dict(days)
        return DIARY + "".join(
            entry(f"2026-06-{day:02} 03:{minute:02}:00", text)
            for day, text in sorted(unique.items())
        )

    sides = diary(ours, 1), diary(theirs, 2)
    merged = joined("journal.md", DIARY, *sides)
    entries = {one.source.strip() for one in journal.parse(merged, zone=UTC).entries}
    assert entries == {
        one.source.strip() for side in sides for one in journal.parse(side, zone=UTC).entries
    }
    assert merge("journal.md", DIARY, sides[1], sides[0]).text == merged


def reminder(at: float, said: float | None = None, *, done: bool = False) -> str:
    more = f"delivered: {later(said).isoformat()}\n" if said is not None else ""
    more += "done: true\n" if done else ""
    return f"---\nat: {later(at).isoformat()}\n{more}deliver: journal\n---\n\nTea!\n"


@pytest.mark.parametrize(
    ("ours", "theirs", "at", "said", "done"),
    [
        (reminder(24, 1), reminder(48, 25), 48, 25, False),  # it repeats
        (reminder(0, 1, done=True), reminder(0, 2, done=True), 0, 2, True),
        (reminder(0, 1, done=True), reminder(9), 9, 1, False),  # put off before it was said there
    ],
)
def test_a_reminder_said_on_either_side_is_said(
    ours: str, theirs: str, at: float, said: float, done: bool
) -> None:
    found = reminders.REMINDER.parse(
        joined("reminders/rem_1.md", reminder(0), ours, theirs), "rem_1"
    )
    assert (found.at, found.delivered, found.done) == (later(at), later(said), done)


def test_an_automation_has_failed_as_often_as_when_it_ran_last() -> None:
    def ran(hours: float, failures: int, *, enabled: bool = True) -> str:
        more = f"failures: {failures}\n" if failures else ""
        more += "" if enabled else "enabled: false\n"
        head = f'schedule: "0 8 * * *"\nlast: {later(hours).isoformat()}\n{more}'
        return f"---\n{head}---\n\nLook back.\n"

    path = "automations/aut_1.md"
    text = joined(path, ran(0, 1), ran(24, 2), ran(48, 0, enabled=False))
    found = automations.AUTOMATION.parse(text, "aut_1")
    assert (found.last, found.failures, found.enabled) == (later(48), 0, False)


def test_a_side_that_cannot_be_read_is_merged_line_by_line() -> None:
    for path in (
        "soma.yaml",
        "state.yaml",
        "beliefs/b.md",
        "relationships/s.md",
        "knowledge.md",
        "reminders/r.md",
        "automations/a.md",
        "handover.md",
    ):
        merged = merge(path, "a: 1\n", "---\nx: [\n", "---\ny: }\n")
        assert not merged.clean
        assert "<<<<<<< ours\nx: [" in merged.text


def test_a_transcript_that_git_joins_line_by_line_keeps_every_message(tmp_path: Path) -> None:
    head = sessions.new("ses_1", NOON, "sam")
    told = [sessions.Message(f"msg_{n}", later(n), "user", "It rained.", "sam") for n in range(4)]
    base = sessions.appended(head, told[:1])
    ours, theirs = (sessions.appended(base, [one]) for one in told[1:3])
    for name, one in (("base", base), ("ours", ours), ("theirs", theirs)):
        (tmp_path / name).write_text(one.source)
    done = git.merge_file(tmp_path, "-p", "--union", "ours", "base", "theirs")
    assert [one.id for one in sessions.parse(done.text).messages] == ["msg_0", "msg_1", "msg_2"]


def test_recalls_of_an_anchor_on_both_sides_count() -> None:
    head = "label: The sea  # ours\nhormones: {dopamine: 0.5, cortisol: 0.1, oxytocin: 0.4}\n"
    base, current, incoming = (
        f"{head}at: 2026-05-24T12:00:00Z\nrecalled: {count}\n"
        f"last_recalled: 2026-05-{day}T12:00:00Z\n"
        for count, day in ((1, 25), (3, 27), (2, 26))
    )
    merged = merge("anchors/the-sea.yaml", base, current, incoming)
    assert merged.clean
    assert "recalled: 4\n" in merged.text
    assert "last_recalled: 2026-05-27T12:00:00Z" in merged.text
    assert "# ours" in merged.text


def test_a_project_that_is_done_on_one_side_is_done_and_steps_of_both_stay() -> None:
    base = "---\ntitle: Boat  # ours\nstatus: active\nnext: [sand]\n---\n\nTo sail.\n"
    current = base.replace("active", "done").replace("[sand]", "[sand, paint]")
    incoming = base.replace("active", "paused").replace("[sand]", "[sand, varnish]")
    merged = merge("projects/boat.md", base, current, incoming)
    assert merged.clean
    assert "status: done" in merged.text
    assert "next: [sand, paint, varnish]" in merged.text


STEPS = st.lists(
    st.tuples(
        st.integers(0, 1),  # which machine
        st.sampled_from(["say", "ask", "end", "sync"]),
        st.integers(-600, 600) | st.sampled_from([-86_400, 18_000, 315_619_200]),  # its clock
    ),
    min_size=4,
    max_size=14,
)


@settings(max_examples=examples(100))
@given(STEPS)
def test_what_is_said_last_is_last_on_both_machines_whatever_their_clocks_say(
    steps: list[tuple[int, str, int]],
) -> None:
    shared = sessions.new("ses_1", NOON, "sam").source
    texts = [shared, shared]
    for n, (machine, what, seconds) in enumerate(steps):
        talk, at = sessions.parse(texts[machine]), later(n) + timedelta(seconds=seconds)
        asked = sessions.Message(f"msg_{n}", at, "user", "It rained.", "sam")
        reply = sessions.Message(f"msg_{n}r", at, "assistant", "Did it?")
        lines: dict[str, list[sessions.Record]]
        lines = {"say": [asked, reply], "ask": [asked], "end": [sessions.End(at)], "sync": []}
        if what == "sync":
            seen = [[one.id for one in sessions.parse(text).messages] for text in texts]
            merged, other = (
                merge(sessions.path("ses_1"), shared, *pair).text for pair in (texts, texts[::-1])
            )
            joined = [one.id for one in sessions.parse(merged).messages]
            assert merged == other
            for ids in seen:
                assert [one for one in joined if one in ids] == ids
            shared, texts = merged, [merged, merged]
            continue
        talk = sessions.appended(talk, lines[what])
        texts[machine] = talk.source
        if what == "end":
            assert talk.ended is not None  # a line of the same time, from before, counts once
        else:
            assert talk.messages[-1].id == (f"msg_{n}r" if what == "say" else f"msg_{n}")
            assert (not talk.unanswered, talk.ended) == (what == "say", None)


OLD, MINE, YOURS = (f"2026-05-2{n}T09:00:00+01:00 note timer" for n in (3, 4, 5))


def test_the_wakes_of_both_clones_count() -> None:
    base = {"wake": {"recent": [OLD], "reason": "gap"}}
    current = {"wake": {"recent": [OLD, MINE], "reason": "woke"}}
    incoming = {"wake": {"recent": [OLD, YOURS], "reason": "silence"}}
    merged = state.STATE.join(base, current, incoming)["wake"]
    assert merged == state.STATE.join(base, incoming, current)["wake"]
    assert merged["recent"] == [OLD, MINE, YOURS]


def test_a_section_that_one_side_renamed_is_still_one_unless_the_title_is_taken() -> None:
    base, path = "## Stay\n\nBo comes. He sings. He rows.\n", "knowledge.md"
    renamed = base.replace("## Stay", "## Bo")
    edited = base.replace("He rows", "He bakes")
    for sides in ((renamed, edited), (edited, renamed)):
        assert merge(path, base, *sides).text == edited.replace("## Stay", "## Bo")
    clash = merge(path, base, renamed.replace("He rows", "He skis"), edited)
    assert (clash.clean, "He skis" in clash.text, edited in clash.text) == (True, True, True)
    split = base.replace("## Stay", "## Song\n\nHe sings.\n\n## Bo").replace(". He sings.", ".")
    both = merge(path, base, split, base.replace("He sings", "He hums"))
    titles = [one.title for one in knowledge.parse(both.text).sections]
    assert (both.clean, titles) == (True, ["Stay", "Song", "Bo"])
    taken = merge(path, base, renamed, f"{edited}\n## Bo\n\nHe is tall.\n").text
    assert [one.title for one in knowledge.parse(taken).sections] == ["Stay", "Bo"]
    twice = merge(path, base, renamed, base.replace("## Stay", "## Guest")).text
    assert [one.title for one in knowledge.parse(twice).sections] == ["Bo", "Guest"]
