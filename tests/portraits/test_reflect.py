from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bumble.entity.folder import Entity
from bumble.errors import ModelUnreachableError
from bumble.llm.protocol import Completion, OnText, Request
from bumble.llm.scripted import Reply
from bumble.portraits import reflect
from bumble.records import relationships, state
from bumble.records.base import Provenance
from bumble.records.relationships import PendingNote, Relationship, Scores
from bumble.records.sessions import Appraised
from bumble.runtime import people
from bumble.runtime.job import JobResult, apply
from bumble.runtime.runtime import Runtime
from tests.support.living import NOON, ada, asked, known, runtime_of, talked, told

DOG = ("sam", "I have a dog called Biscuit. He is old and sleeps all day.")
ANSWER = ("ada", "He sounds dear. I hope Rex is well too.")
PORTRAIT = ["Sam has a dog called Biscuit.", "Biscuit is old and sleeps all day."]
SCORES = told(
    "scores",
    familiarity=0.3,
    warmth=1.7,
    trust=0.6,
    tension=-1,
    investment=0.4,
    dynamic="They are easy with each other.",
    topics=["the old dog", "sailing to Iceland"],
    unresolved=[],
)
OFF: dict[str, Any] = {"memory__relational__score_derivation": False}


@pytest.fixture
def entity(tmp_path: Path) -> Entity:
    return ada(tmp_path)


def sam(entity: Entity) -> Relationship:
    return relationships.find(entity.relationships, "sam")


def reflected(runtime: Runtime, *, allow_shrink: bool = False) -> JobResult:
    (job,) = reflect.check(runtime).jobs
    outcome = reflect.run(runtime, job, allow_shrink=allow_shrink)
    apply(runtime, outcome)
    return outcome


def test_a_first_reflection_draws_the_portrait_with_scores_and_says_where_from(
    entity: Entity,
) -> None:
    known(entity, "Sam")
    talk = talked(entity, "ses_1", DOG, ANSWER)
    runtime = runtime_of(entity, told("reflect", about=PORTRAIT, mine=""), SCORES)
    outcome = reflected(runtime)
    one = sam(entity)
    assert one.text == "\n".join(PORTRAIT)
    assert one.scores == Scores(0.3, 1.0, 0.6, 0.0, 0.4)
    assert (one.dynamic, one.topics) == ("They are easy with each other.", ("the old dog",))
    assert one.last_reflection == one.last_scored == NOON
    assert one.provenance == Provenance(
        "reflect", "scripted", ("ses_1", talk.messages[0].id), "owner", ("sam",)
    )
    assert outcome.trailers == (("Evidence", talk.messages[0].id), ("Model", "scripted"))
    assert reflect.check(runtime).jobs == ()


def test_the_model_reads_the_talk_with_that_person_alone(entity: Entity) -> None:
    known(entity, "Sam")
    known(entity, "Bo")
    talked(
        entity,
        "ses_1",
        ("bo", "My secret is a boat."),
        ("ada", "A boat, Bo!"),
        DOG,
        ANSWER,
        by="bo",
        present=("sam",),
    )
    runtime = runtime_of(entity, told("reflect", about=PORTRAIT, mine=""), **OFF)
    job = next(one for one in reflect.check(runtime).jobs if one.person == "sam")
    reflect.run(runtime, job)
    (prompt,) = asked(runtime, "reflect")
    assert 'Sam said: "I have a dog called Biscuit.' in prompt
    assert 'I answered: "He sounds dear.' in prompt
    assert "boat" not in prompt


def test_what_the_entity_made_up_itself_is_no_evidence(entity: Entity) -> None:
    known(entity, "Sam")
    talked(entity, "ses_1", DOG, ANSWER)
    lines = [*PORTRAIT, "Sam also has a dog called Rex.", "I have a dog called Biscuit."]
    outcome = reflected(runtime_of(entity, told("reflect", about=lines, mine=""), **OFF))
    assert sam(entity).text == "\n".join(PORTRAIT)
    assert outcome.data["dropped"] == [
        "Sam also has a dog called Rex. (nobody said Rex)",
        "I have a dog called Biscuit. (that is Sam's, not Ada's)",
    ]


def test_a_calm_talk_amends_by_lines(entity: Entity) -> None:
    portrait = ["Sam mends old clocks.", "Sam lives by the river in Lisbon."]
    known(entity, "Sam", "\n".join(portrait))
    felt = Appraised(NOON, "msg_1000", {"comfort": 2}, emotion="content", intensity=0.2)
    talked(entity, "ses_1", DOG, ANSWER, felt=felt)
    edits = [{"op": "insert", "line": 1, "text": PORTRAIT[0]}]
    runtime = runtime_of(entity, told("amend", edits=edits), **OFF)
    reflected(runtime)
    assert sam(entity).text.split("\n") == [portrait[0], PORTRAIT[0], portrait[1]]
    assert "2: Sam lives by the river" in asked(runtime)[0]


def test_a_charged_talk_writes_the_portrait_anew(entity: Entity) -> None:
    known(entity, "Sam", "Sam has a dog called Biscuit. It is young.")
    felt = Appraised(
        NOON, "msg_1000", {"tension": 9}, "A cold shock.", emotion="anxious", intensity=0.8
    )
    talked(entity, "ses_1", ("sam", "Biscuit is very ill."), ("ada", "Oh no."), felt=felt)
    new = ["Sam has a dog called Biscuit.", "Biscuit is very ill now."]
    runtime = runtime_of(entity, told("reflect", about=new, mine=""), **OFF)
    reflected(runtime)
    assert sam(entity).text == "\n".join(new)
    assert "It felt like this: A cold shock." in asked(runtime)[0]
    (kept,) = (entity.root / ".history" / "relationships").iterdir()
    assert "It is young." in kept.read_text()


def test_an_empty_list_of_edits_is_a_good_answer(entity: Entity) -> None:
    one = known(
        entity, "Sam", "Sam mends old clocks by the river.", pending=(PendingNote("He moved."),)
    )
    talked(entity, "ses_1", ("sam", "Good morning to you!"), ("ada", "Morning."))
    reflected(runtime_of(entity, told("amend", edits=[]), **OFF))
    assert sam(entity).text == one.text
    assert sam(entity).pending == () and sam(entity).last_reflection == NOON


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply("Sure! Here it is", purpose="reflect"), "no usable answer"),
        (Reply('{"about": ["Sam', purpose="reflect", finish_reason="length"), "cut off"),
        (told("reflect", about=["His dog is Rex."], mine=""), "nothing in the answer"),
        (told("reflect", about=["Sam has a dog."], mine=""), "too little was usable"),
    ],
)
def test_where_the_model_fails_the_persons_own_words_are_kept(
    entity: Entity, reply: Reply, why: str
) -> None:
    known(entity, "Sam", pending=(PendingNote("He moved."),))
    talked(entity, "ses_1", DOG, ANSWER)
    runtime = runtime_of(entity, reply)
    outcome = reflected(runtime)
    one = sam(entity)
    assert one.text == f'## In their own words\n\n> 2026-05-24: "{DOG[1]}"'
    assert (one.portrait_source, one.last_reflection) == ("excerpt", None)
    assert [note.text for note in one.pending] == ["He moved."]
    assert why in outcome.data["refused"]
    assert reflect.check(runtime).jobs == ()


def test_the_next_good_reflection_takes_the_place_of_the_own_words(entity: Entity) -> None:
    known(entity, "Sam")
    talked(entity, "ses_1", DOG, ANSWER)
    reflected(runtime_of(entity, Reply("?", purpose="reflect")))
    talked(entity, "ses_2", ("sam", "We walk by the river."), ("ada", "How nice."))
    runtime = runtime_of(
        entity, told("reflect", about=[*PORTRAIT, "They walk by the river."], mine=""), **OFF
    )
    reflected(runtime)
    assert DOG[1] in asked(runtime)[0]
    assert sam(entity).text == "\n".join([*PORTRAIT, "They walk by the river."])
    assert sam(entity).portrait_source == ""


def test_named_alone_a_person_is_due_for_the_own_words_that_wait(entity: Entity) -> None:
    known(entity, "Sam")
    talked(entity, "ses_1", DOG, ANSWER)
    reflected(runtime_of(entity, Reply("?", purpose="reflect")))
    runtime = runtime_of(entity, told("reflect", about=PORTRAIT, mine=""), **OFF)
    assert reflect.check(runtime).jobs == ()
    (job,) = reflect.check(runtime, "sam").jobs
    apply(runtime, reflect.run(runtime, job))
    assert sam(entity).text == "\n".join(PORTRAIT)
    assert reflect.check(runtime, "sam").jobs == ()


def test_a_rewrite_that_loses_too_much_is_refused_unless_allowed(entity: Entity) -> None:
    long = "\n".join(["Sam mends old clocks by the river.", "He is patient with clocks."] * 3)
    lines = ["Sam has a dog called Biscuit, who is old."]
    felt = Appraised(NOON, "msg_1000", {}, emotion="content", intensity=0.9)
    for allowed in (False, True):
        folder = ada(entity.root.parent / str(allowed))
        known(folder, "Sam", long)
        talked(folder, "ses_1", DOG, ANSWER, felt=felt)
        runtime = runtime_of(folder, told("reflect", about=lines, mine=""), **OFF)
        outcome = reflected(runtime, allow_shrink=allowed)
        assert sam(folder).text.startswith(lines[0] if allowed else long)
        assert ("--allow-shrink" in outcome.lines[0]) is not allowed


def test_a_portrait_edited_meanwhile_stays_and_the_talk_waits(entity: Entity) -> None:
    known(entity, "Sam")
    talked(entity, "ses_1", DOG, ANSWER)
    runtime = runtime_of(entity, told("reflect", about=PORTRAIT, mine=""), **OFF)
    (job,) = reflect.check(runtime).jobs
    outcome = reflect.run(runtime, job)
    file = entity.relationships / "sam.md"
    file.write_text(file.read_text() + "\nWritten by hand.\n")
    before = file.read_bytes()
    outcome = apply(runtime, outcome)
    assert file.read_bytes() == before
    assert "edited meanwhile" in outcome.late[0]
    assert reflect.check(runtime).jobs == (job,)


def test_a_hand_edit_beside_the_portrait_is_kept(entity: Entity) -> None:
    known(entity, "Sam")
    talked(entity, "ses_1", DOG, ANSWER)
    runtime = runtime_of(entity, told("reflect", about=PORTRAIT, mine=""), **OFF)
    (job,) = reflect.check(runtime).jobs
    outcome = reflect.run(runtime, job)
    file = entity.relationships / "sam.md"
    file.write_text(file.read_text().replace("names: [Sam]", "names: [Sam, Sammy]  # mine"))
    apply(runtime, outcome)
    assert "# mine" in file.read_text() and PORTRAIT[0] in file.read_text()


def test_two_processes_with_one_talk_write_once(entity: Entity) -> None:
    known(entity, "Sam")
    talked(entity, "ses_1", DOG, ANSWER)
    lives = [runtime_of(entity, told("reflect", about=PORTRAIT, mine=""), **OFF) for _ in range(2)]
    outcomes = [reflect.run(each, reflect.check(each).jobs[0]) for each in lives]
    apply(lives[0], outcomes[0])
    before = (entity.relationships / "sam.md").read_bytes()
    apply(lives[1], outcomes[1])
    assert (entity.relationships / "sam.md").read_bytes() == before


class _Gone:
    name, context_tokens = "gone", None

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        raise ModelUnreachableError("nothing answers")

    def warm(self, request: Request) -> None:
        """Nothing to warm."""

    def request_bytes(self, request: Request) -> int:
        return 0

    def close(self) -> None:
        """Nothing to close."""


def test_without_a_model_the_talk_waits(entity: Entity) -> None:
    known(entity, "Sam")
    talked(entity, "ses_1", DOG, ANSWER)
    runtime = replace(runtime_of(entity), model=_Gone())
    (job,) = reflect.check(runtime).jobs
    with pytest.raises(ModelUnreachableError):
        reflect.run(runtime, job)
    assert reflect.check(runtime).jobs == (job,)


def test_notes_that_are_not_for_the_person_or_not_trusted_stay_out(entity: Entity) -> None:
    notes = (
        PendingNote("Bo says he snores.", provenance=Provenance("distill", audience=("bo",))),
        PendingNote("A page says he won.", provenance=Provenance("distill", trust="tool")),
        PendingNote("He moved to Porto.", provenance=Provenance("distill", audience=("sam",))),
    )
    known(entity, "Sam", pending=notes)
    talked(entity, "ses_1", DOG, ANSWER)
    runtime = runtime_of(
        entity, told("reflect", about=[*PORTRAIT, "He moved to Porto."], mine=""), **OFF
    )
    reflected(runtime)
    (prompt,) = asked(runtime)
    assert "Porto" in prompt and "snores" not in prompt and "won" not in prompt
    assert sam(entity).text.endswith("He moved to Porto.")
    assert [note.text for note in sam(entity).pending] == [
        "Bo says he snores.",
        "A page says he won.",
    ]


def test_a_long_talk_is_thought_about_in_parts_and_none_is_lost(entity: Entity) -> None:
    known(entity, "Sam")
    lines = [
        ("sam", f"The dog slept on day {n} of the year, " + "and slept " * 60) for n in range(9)
    ]
    talked(entity, "ses_1", *lines, ("ada", "So it did."))
    runtime = runtime_of(
        entity, *[told("reflect", about=["The dog slept on, day after day."], mine="")] * 1, **OFF
    )
    reflected(runtime)
    first = state.read(entity.state).get("sessions", "ses_1", "reflect", "sam")
    assert f"day {int(first[-3:]) - 1} of" in asked(runtime)[0]
    assert f"day {int(first[-3:])} of" not in asked(runtime)[0]


def test_scores_that_cannot_be_read_stay_and_it_is_said(entity: Entity) -> None:
    known(entity, "Sam", scores=Scores(0.2, 0.7, 0.5, 0.1, 0.3))
    talked(entity, "ses_1", DOG, ANSWER)
    bad = told("scores", familiarity="high")
    outcome = reflected(runtime_of(entity, told("reflect", about=PORTRAIT, mine=""), bad))
    assert sam(entity).scores == Scores(0.2, 0.7, 0.5, 0.1, 0.3)
    assert "could not be read" in outcome.lines[-1]


def test_gates_say_what_stands_in_the_way(entity: Entity) -> None:
    known(entity, "Sam", last_reflection=NOON - timedelta(seconds=10))
    assert [gate.passes for gate in reflect.check(runtime_of(entity)).conditions] == [
        True,
        False,
        True,
    ]
    talked(entity, "ses_1", DOG, ANSWER)
    found = reflect.check(runtime_of(entity))
    assert [gate.passes for gate in found.conditions] == [True, True, False]
    assert reflect.check(runtime_of(entity, at=NOON + timedelta(seconds=20))).due
    off = runtime_of(entity, at=NOON + timedelta(hours=1), memory__relational__enabled=False)
    assert not reflect.check(off).due


def test_where_nobody_waits_no_reflection_is_said_never_to_have_been(entity: Entity) -> None:
    known(entity, "Sam", last_reflection=NOON)
    conditions = {each.name: each.value for each in reflect.check(runtime_of(entity)).conditions}
    assert conditions["last reflection"] == "nobody waits"


def test_a_time_that_a_wrong_clock_left_far_ahead_is_not_waited_for(entity: Entity) -> None:
    known(entity, "Sam", last_reflection=NOON + timedelta(days=9000))
    talked(entity, "ses_1", DOG, ANSWER)
    assert reflect.check(runtime_of(entity)).due


def test_only_scores_are_kept_where_portraits_are_no_files(entity: Entity) -> None:
    known(entity, "Sam")
    talked(entity, "ses_1", DOG, ANSWER)
    runtime = runtime_of(
        entity,
        told("reflect", about=PORTRAIT, mine=""),
        SCORES,
        memory__relational__flush_to_disk=False,
    )
    reflected(runtime)
    assert sam(entity).text == "" and sam(entity).scores.trust == 0.6
    assert people.find_person(runtime, "sam") is not None


def test_the_portrait_counts_nothing_as_said_that_only_another_said(entity: Entity) -> None:
    known(entity, "Sam")
    talked(
        entity, "ses_1", ("bo", "My boat is the Marlin."), DOG, ANSWER, by="bo", present=("sam",)
    )
    runtime = runtime_of(
        entity, told("reflect", about=[*PORTRAIT, "Sam sails the Marlin."], mine=""), **OFF
    )
    job = next(one for one in reflect.check(runtime).jobs if one.person == "sam")
    apply(runtime, reflect.run(runtime, job))
    assert "Marlin" not in sam(entity).text
    assert reflect.check(runtime).jobs[0].person == "bo"
