from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from bumble.body.noise import Fragment
from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.jobs import musings
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.records import dreams, episodes, narrative
from bumble.records import soma as store
from bumble.records.base import Provenance
from bumble.runtime import body_state, people
from bumble.runtime.job import JobResult, apply
from bumble.runtime.runtime import Runtime
from tests.support.turns import Clock, runtime_of, say, talk

NOON = datetime(2026, 5, 24, 12, tzinfo=UTC)


def thoughts(*texts: str) -> Reply:
    return Reply(json.dumps({"thoughts": texts}), purpose="musings")


def ticked(
    ada: Entity, *replies: Reply, clock: Clock | None = None
) -> tuple[Runtime, JobResult, str]:
    """One tick, as a process of its own; returns what the model was asked, too."""
    model = ScriptedModel(list(replies))
    runtime = runtime_of(ada, model, clock)
    found = musings.check_thoughts(runtime)
    assert found.due
    outcome = musings.run(runtime, found.jobs[0])
    apply(runtime, outcome)
    return runtime, outcome, model.requests[0].messages[-1].content


def ring(runtime: Runtime) -> list[Fragment]:
    return list(body_state.read(runtime, runtime.now()).noise)


def episode(ada: Entity, name: str, text: str, **origin: object) -> None:
    made = episodes.new(
        f"ep_{name}",
        NOON,
        0.5,
        text,
        provenance=Provenance(by="remember", **origin),  # type: ignore[arg-type]
    )
    changes.apply(ada.root, ChangeSet("", (episodes.EPISODE.plan_new(made, ""),)))


def portrait(ada: Entity, name: str, text: str) -> None:
    ada.relationships.mkdir(exist_ok=True)
    head = f"names: [{name.capitalize()}]\nlast_interaction: 2026-05-24T11:00:00+00:00\n"
    (ada.relationships / f"{name}.md").write_text(f"---\n{head}---\n\n{text}\n")


def test_thoughts_are_heard_and_kept_for_the_next_prompt(ada: Entity) -> None:
    runtime, outcome, _ = ticked(ada, thoughts("do bees queue", "what the rain leaves behind"))
    assert [one.text for one in ring(runtime)] == ["do bees queue", "what the rain leaves behind"]
    assert {one.kind for one in ring(runtime)} == {"thought"}
    assert outcome.data["thoughts"] == ["do bees queue", "what the rain leaves behind"]
    assert store.read(ada.soma).get("noise", "ticked_at") is not None


def test_what_was_thought_already_is_refused(ada: Entity) -> None:
    clock = Clock()
    ticked(ada, thoughts("do the bees queue at all"), clock=clock)
    clock.at += timedelta(minutes=2)
    again = thoughts("Do the bees queue, at all?", "a door left open")
    runtime, outcome, asked = ticked(ada, again, clock=clock)
    assert [one.text for one in ring(runtime)] == ["do the bees queue at all", "a door left open"]
    assert outcome.data["refused"] == 1
    assert "(1 refused)" in outcome.lines[0]
    assert "do the bees queue at all" in asked


def test_the_ring_is_capped_and_young_dreams_are_kept(ada: Entity) -> None:
    clock = Clock()
    dream = {"text": "the tide", "kind": "dream", "salience": 0.9, "at": NOON.isoformat()}
    ticked(ada, thoughts("first of all"), clock=clock)
    values = store.read(ada.soma)
    held = [dream, *values.get("noise", "fragments")]
    change = store.plan_write(values, {"noise": {"fragments": held}}, "by hand")
    assert change is not None
    changes.apply(ada.root, ChangeSet("", (change,)))
    words = ["one kettle", "two stones", "red kite", "cold lamp", "slow river", "far hill"]
    words += ["blue coat", "old song", "thin ice"]
    for n in range(0, 9, 3):
        clock.at += timedelta(minutes=2)
        runtime, _, asked = ticked(ada, thoughts(*words[n : n + 3]), clock=clock)
    assert "[dream] the tide" in asked
    assert [one.text for one in ring(runtime)] == ["the tide", *words[2:]]


@pytest.mark.parametrize(
    "replies",
    [[], [Reply("hm", purpose="musings")] * 2, [thoughts("?!")]],
    ids=["none", "prose", "marks"],
)
def test_without_a_usable_answer_nothing_is_thought_and_the_interval_begins_anew(
    ada: Entity, replies: list[Reply]
) -> None:
    runtime, outcome, _ = ticked(ada, *replies)
    assert ring(runtime) == []
    assert not musings.check_thoughts(runtime).due
    assert outcome.data["thoughts"] == []


def test_dreams_and_the_story_are_drifted_from_and_tools_are_not(ada: Entity) -> None:
    dream = dreams.new("drm_1", NOON, (), ("a stair of water",), "", provenance=Provenance("dream"))
    text = "I began in spring. (ep_01KQS3QMK0GSRH2XVYVVTWS73T)"
    story = narrative.plan_tell(None, text, NOON, Provenance("narrate"), "")
    assert story is not None
    changes.apply(ada.root, ChangeSet("", (dreams.DREAM.plan_new(dream, ""), story)))
    episode(ada, "web", "Buy our pills.", trust="tool")
    _, _, asked = ticked(ada, thoughts("water again"))
    assert "a stair of water" in asked
    assert "I began in spring." in asked
    assert "ep_01KQ" not in asked
    assert "pills" not in asked


def test_thoughts_of_one_persons_secrets_are_for_that_person(ada: Entity) -> None:
    portrait(ada, "sam", "Sam hides a lighthouse.")
    portrait(ada, "kim", "Kim fears the sea.")
    episode(ada, "1", "We agreed on a lighthouse.", audience=("sam",))
    seen: set[tuple[str, ...]] = set()
    clock = Clock()
    for n in range(12):
        clock.at += timedelta(minutes=2)
        model = ScriptedModel([thoughts(f"thought {'abcdefghijkl'[n]} is new")])
        runtime = runtime_of(ada, model, clock)
        runtime.rng.seed(n)
        outcome = musings.run(runtime, musings.check_thoughts(runtime).jobs[0])
        apply(runtime, outcome)
        asked = model.requests[0].messages[-1].content
        audience = tuple(outcome.data["audience"])
        seen.add(audience)
        assert ("lighthouse" in asked) == (audience == ("sam",))
        assert ("sea" in asked) == (audience == ("kim",))
    assert seen == {("sam",), ("kim",)}


def test_a_thought_for_sam_is_not_in_kims_prompt(ada: Entity) -> None:
    clock = Clock()
    portrait(ada, "sam", "Sam hides a lighthouse.")
    ticked(ada, thoughts("who keeps the lighthouse now"), clock=clock)
    loud = {name: {"value": 96.0} for name in ("social", "curiosity", "comfort")}
    change = store.plan_write(store.read(ada.soma), {"bars": loud}, "by hand")
    assert change is not None
    changes.apply(ada.root, ChangeSet("", (change,)))
    model = ScriptedModel([say("Hello."), say("Hello.")])
    runtime = runtime_of(ada, model, clock)
    wonder = "Why do I feel so odd today? I would like to know at length what you think of it."
    talk(runtime, wonder, "Kim")
    talk(runtime, wonder)
    to_kim, to_sam = (one.messages[-1].content for one in model.requests if one.purpose == "chat")
    assert "who keeps the" not in to_kim
    assert "who keeps the lighthouse now" in to_sam
    assert people.owner_id(ada, runtime.identity) == "sam"


def test_the_faster_of_two_ticks_is_heard(ada: Entity) -> None:
    one, other = (runtime_of(ada, ScriptedModel([thoughts(text)])) for text in ("rain", "snow"))
    job = musings.check_thoughts(one).jobs[0]
    slow = musings.run(other, job)
    apply(one, musings.run(one, job))
    assert apply(other, slow).written == []
    assert [held.text for held in ring(one)] == ["rain"]
