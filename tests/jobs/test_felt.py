from __future__ import annotations

import json
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from bumble.body.config import EMOTIONS
from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.errors import AnswerInvalidError
from bumble.jobs import stretch
from bumble.jobs.scene import StretchJob
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.records import anchors, relationships, state
from bumble.records import soma as store
from bumble.records.sessions import Session
from bumble.runtime import body_state, job
from bumble.runtime.job import JobResult, Pass, apply
from bumble.runtime.runtime import Runtime
from tests.support.stretches import Citing, makes
from tests.support.talks import said
from tests.support.turns import Clock, runtime_of, say, stored, talk

ANSWER: dict[str, Any] = {
    "bars": {"social": 4, "curiosity": 6, "creative": 0, "tension": -3, "comfort": 2},
    "affects": ["amused", "a little proud"],
    "felt": "a quick bright tug",
    "imprint": {"emotion": "amused", "intensity": 0.6, "trigger": "the joke about bees"},
}
LOUD = {name: {"value": 96.0} for name in ("social", "curiosity", "comfort")}


def felt(**differs: Any) -> Reply:
    return makes(felt={**ANSWER, **differs})


def talked(
    ada: Entity, *texts: str, clock: Clock | None = None, speaker: str | None = None
) -> Runtime:
    runtime = runtime_of(ada, ScriptedModel([say("I see.") for _ in texts]), clock)
    for text in texts:
        talk(runtime, text, speaker)
    return runtime


def appraised(
    ada: Entity, *replies: Reply, clock: Clock | None = None
) -> tuple[Runtime, JobResult]:
    """Appraise what waits first, as a process of its own."""
    runtime = runtime_of(ada, Citing(list(replies)), clock)
    found = stretch.check(runtime, force=True)
    assert found.due
    outcome = stretch.run(runtime, found.jobs[0])
    apply(runtime, outcome)
    return runtime, outcome


def levels(runtime: Runtime) -> dict[str, float]:
    soma = body_state.read(runtime, runtime.now())
    return {name: bar.value for name, bar in soma.bars.levels.items()}


def waits(ada: Entity, session: Session) -> str | None:
    return state.first_waiting(state.read(ada.state), session.id)


def due(runtime: Runtime) -> tuple[StretchJob, ...]:
    return stretch.check(runtime, force=True).jobs


def test_a_turn_moves_the_body_and_is_noted_in_the_transcript(ada: Entity) -> None:
    clock = Clock()
    before = levels(talked(ada, "Do you know the joke about bees?", clock=clock))
    runtime, outcome = appraised(ada, felt(), clock=clock)
    after = levels(runtime)
    assert after["social"] - before["social"] == pytest.approx(
        4 * (1 - before["social"] / 100), abs=0.01
    )
    assert after["tension"] - before["tension"] == pytest.approx(-3, abs=0.01)
    soma = body_state.read(runtime, runtime.now())
    assert {one.name for one in soma.affects} == {"amused", "a-little-proud"}
    assert soma.felt is not None
    assert (soma.felt.text, soma.felt.audience) == ("a quick bright tug", ("sam",))
    session = stored(ada)
    noted = session.appraisals[session.messages[0].id]
    assert noted.points["curiosity"] == 6
    assert (noted.emotion, noted.intensity) == ("amused", 0.6)
    assert noted.trigger == "the joke about bees"
    assert noted.extra == {"model": "scripted"}
    assert waits(ada, session) is None
    assert not due(runtime)
    assert outcome.data["points"]["social"] == 4
    model = runtime.model
    assert isinstance(model, Citing)
    told = "\n".join(one.content for one in model.requests[0].messages)
    assert ", ".join(EMOTIONS) in told  # also where an answer is held to no schema


@pytest.mark.parametrize(
    "replies",
    [
        [],
        [Reply("I feel fine.", purpose="stretch")] * 2,
        [Reply('{"appraisal": "all up"}', purpose="stretch")] * 2,
        [Reply(json.dumps(ANSWER)[:60], purpose="stretch")] * 2,
        [felt(imprint={"emotion": "hungry", "intensity": 1, "trigger": "x"})] * 2,
    ],
    ids=["no answer", "prose", "wrong type", "cut off", "unknown emotion"],
)
def test_without_a_usable_answer_the_body_stays_and_it_waits(
    ada: Entity, replies: list[Reply]
) -> None:
    talked(ada, "Tell me a joke.")
    before, transcript = ada.soma.read_bytes(), stored(ada).source
    _, outcome = appraised(ada, *replies)
    assert ada.soma.read_bytes() == before
    assert stored(ada).source == transcript
    assert waits(ada, stored(ada)) == stored(ada).messages[0].id
    assert outcome.data["why"] and outcome.vain


def test_catching_up_costs_a_call_a_dozen_turns_and_ends_behind_all_of_them(ada: Entity) -> None:
    texts = [f"This is number {n} of what I say. " + "It is long. " * 30 for n in range(30)]
    said(ada, [line for text in texts for line in (("Sam", text), ("Ada", "I see."))])
    model, clock = Citing([felt()] * 9), Clock()
    clock.at += timedelta(hours=2)
    runtime = runtime_of(ada, model, clock)
    forced = partial(stretch.check, force=True)
    made = list(job.settle(runtime, [Pass("stretch", forced, stretch.run)], None))
    assert len(made) == len(model.requests) == 3
    assert "number 11 of" in model.requests[0].messages[-1].content
    assert waits(ada, stored(ada)) is None
    assert len(stored(ada).appraisals) == 3


def test_what_was_said_before_a_pause_is_shown_as_said_before(ada: Entity) -> None:
    clock = Clock()
    talked(ada, "Good morning.", clock=clock)
    clock.at += timedelta(minutes=31)
    talked(ada, "Me again.", clock=clock)
    runtime = runtime_of(ada, Citing([felt(), felt()]), clock)
    apply(runtime, stretch.run(runtime, due(runtime)[0]))
    asked = runtime.model.requests[0].messages[-1].content  # type: ignore[attr-defined]
    assert "Good morning." in asked
    assert "Me again." not in asked
    apply(runtime, stretch.run(runtime, due(runtime)[0]))
    second = runtime.model.requests[1].messages[-1].content  # type: ignore[attr-defined]
    before, _, now = second.partition("<talk>")
    assert "Good morning." in before
    assert "Me again." in now


def test_a_late_appraisal_moves_the_body_by_what_would_be_left_of_it(ada: Entity) -> None:
    clock = Clock()
    talked(ada, "Tell me a joke.", clock=clock)
    clock.at += timedelta(minutes=90)
    before = levels(runtime_of(ada, ScriptedModel([]), clock))
    runtime, _ = appraised(ada, felt(), clock=clock)
    assert levels(runtime)["tension"] - before["tension"] == pytest.approx(-1.5, abs=0.01)
    session = stored(ada)
    assert session.appraisals[session.messages[0].id].points["tension"] == -3


def test_a_message_without_an_answer_waits_for_it(ada: Entity) -> None:
    clock = Clock()
    talked(ada, "Hello.", clock=clock)
    runtime = runtime_of(ada, Citing([felt()]), clock)
    with pytest.raises(AnswerInvalidError):
        talk(runtime, "Are you there?")
    apply(runtime, stretch.run(runtime, due(runtime)[0]))
    assert not due(runtime)
    assert waits(ada, stored(ada)) == stored(ada).messages[-1].id
    talk(runtime_of(ada, ScriptedModel([say("I am.")]), clock), "Well?")
    assert due(runtime)


def test_the_faster_of_two_processes_appraises(ada: Entity) -> None:
    talked(ada, "Hello.")
    one, other = (runtime_of(ada, Citing([felt()])) for _ in range(2))
    job = due(one)[0]
    slow = stretch.run(other, job)
    apply(one, stretch.run(one, job))
    body = ada.soma.read_bytes()
    assert apply(other, slow).written == []
    assert ada.soma.read_bytes() == body
    assert stored(ada).source.count('"appraisal"') == 1


def test_a_hand_edit_of_the_body_while_the_model_thinks_is_kept(ada: Entity) -> None:
    runtime = talked(ada, "Hello.")
    asking = runtime_of(ada, Citing([felt()]))
    outcome = stretch.run(asking, due(runtime)[0])
    text = ada.soma.read_text()
    ada.soma.write_text(f"# my own note\n{text}weather: rain\n")
    apply(asking, outcome)
    after = ada.soma.read_text()
    assert after.startswith("# my own note\n")
    assert after.endswith("weather: rain\n") or "weather: rain\n" in after
    assert "a quick bright tug" in after


def test_names_nobody_said_and_words_of_the_person_are_taken_out(ada: Entity) -> None:
    talked(ada, "My secret word is lighthouse, and I am happy.")
    invented = {"emotion": "amused", "intensity": 0.5, "trigger": "what Biscuit did in 1987"}
    runtime, _ = appraised(
        ada,
        felt(affects=["lighthouse", "tender"], felt="Like a pull to Paris.", imprint=invented),
    )
    soma = body_state.read(runtime, runtime.now())
    assert [one.name for one in soma.affects] == ["tender"]
    assert soma.felt is None
    session = stored(ada)
    assert session.appraisals[session.messages[0].id].trigger == ""


def test_what_sam_made_it_feel_is_not_in_kims_prompt(ada: Entity) -> None:
    clock = Clock()
    talked(ada, "I will leave my husband.", clock=clock)
    strong = {"social": 10, "curiosity": 10, "creative": 10, "tension": 10, "comfort": -10}
    line = "the weight of a husband who will be left"
    names = ["awe", "fear", "grief", "tender", "heavy", "torn"]
    appraised(ada, felt(bars=strong, felt=line, affects=names), clock=clock)
    lively = store.plan_write(store.read(ada.soma), {"bars": LOUD}, "by hand")
    assert lively is not None
    changes.apply(ada.root, ChangeSet("by hand", (lively,)))
    model = ScriptedModel([say("Hello."), say("Hello.")])
    runtime = runtime_of(ada, model, clock)
    wonder = "Why do I feel so odd today? I would like to know at length what you think of it."
    talk(runtime, wonder, "Kim")
    talk(runtime, wonder)
    to_kim, to_sam = (one.messages[-1].content for one in model.requests if one.purpose == "chat")
    assert "husband" not in to_kim
    assert "husband" in to_sam


def test_a_bond_lasts_and_is_moved_by_an_appraisal_of_the_day_before(ada: Entity) -> None:
    clock = Clock()
    talked(ada, "Do you know the joke about bees?", clock=clock)
    clock.at += timedelta(days=1)
    appraised(ada, felt(), clock=clock)
    assert relationships.find(ada.relationships, "sam").scores.warmth == pytest.approx(0.52)


CHARGED = {"emotion": "amused", "intensity": 0.9, "trigger": "the joke about bees"}


def test_a_charged_turn_makes_one_anchor_of_what_was_said(ada: Entity) -> None:
    clock = Clock()
    talked(ada, "Do you know the joke about bees?", "And that joke about wasps?", clock=clock)
    appraised(ada, felt(imprint=CHARGED), clock=clock)
    [anchor] = anchors.ANCHOR.readable(ada.anchors)
    assert anchor.label == "the joke about bees"
    assert anchor.description.endswith('"And that joke about wasps?"')
    assert (anchor.provenance.by, anchor.provenance.audience) == ("appraise", ("sam",))
    assert anchor.strength == pytest.approx(0.9, abs=0.01)
    assert anchor.stirred is not None
    talked(ada, "One more joke about bees and wasps!", clock=clock)
    again = {**CHARGED, "trigger": "a joke about wasps"}
    appraised(ada, felt(imprint=again), clock=clock)
    assert len(anchors.ANCHOR.readable(ada.anchors)) == 1  # the other is fresh
