from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from bumble.body import ebb
from bumble.body.affects import Affect
from bumble.entity.folder import Entity
from bumble.llm.scripted import ScriptedModel
from bumble.prompt import preamble
from bumble.records import dreams, working
from bumble.records.base import Provenance
from bumble.runtime import body_state
from tests.support.living import write
from tests.support.turns import NOON, Clock, runtime_of, say, talk

FRAGMENT = "i plant whales behind the shed"
SHED = "Do you still remember the shed that we built together last summer?"


@pytest.fixture
def entity(ada: Entity) -> Entity:
    (ada.root / "working").mkdir(exist_ok=True)
    return ada


def sent(model: ScriptedModel) -> tuple[str, str]:
    """The stable part, and the last message with what heads it."""
    messages = [one for one in model.requests if one.purpose == "chat"][-1].messages
    return messages[0].content, messages[-1].content


def answered(entity: Entity, text: str, clock: Clock | None = None, **who: object) -> str:
    model = ScriptedModel([say("Yes.")])
    talk(runtime_of(entity, model, clock), text, **who)  # type: ignore[arg-type]
    return sent(model)[1]


def test_living_memory_stands_before_the_message_not_in_the_cached_part(entity: Entity) -> None:
    page = "## Niche\n\nI mind the garden.\n\n- [The shed](../episodes/ep_1.md)\n"
    (entity.root / working.PATH).write_text(page)
    model = ScriptedModel([say("Yes.")])
    talk(runtime_of(entity, model), SHED)
    stable, last = sent(model)
    assert "I mind the garden." not in stable
    assert "I mind the garden." in last
    assert "- The shed\n" in last
    assert "I mind the garden." not in (next(entity.sessions.glob("*/*.jsonl"))).read_text()


def test_nobody_meets_a_line_that_is_not_for_them(entity: Entity) -> None:
    lines = {"Bond": [("Sam is afraid of dogs.", Provenance("dream", audience=("sam",)))]}
    write(entity, working.plan_rewrite("", lines, "dream"))
    origin = Provenance("chat", trust="owner", audience=("sam",))
    note = working.plan_note(NOON, "directive", "Sam wants it short.", NOON.tzinfo, origin, "")  # type: ignore[arg-type]
    write(entity, note)
    clock = Clock()
    mine = answered(entity, SHED, clock)
    clock.at += timedelta(minutes=1)
    assert "afraid of dogs" in mine
    assert "Sam wants it short." in mine
    assert "<!--" not in mine
    theirs = answered(entity, SHED, clock, speaker="Kim", new=True)
    assert "afraid of dogs" not in theirs
    assert "short" not in theirs
    assert "working-memory" not in theirs


def test_long_living_memory_is_cut_at_a_line_to_its_budget(entity: Entity) -> None:
    rows = "\n".join(f"- line {n} about the garden behind the shed" for n in range(150))
    (entity.root / working.PATH).write_text(f"## Niche\n\n{rows}\n")
    last = answered(entity, SHED)
    assert "line 3 " in last
    assert "line 149" not in last
    assert "</working-memory>" in last


def dreamt(entity: Entity, audience: tuple[str, ...] = ()) -> None:
    origin = Provenance("dream", audience=audience)
    one = dreams.new("drm_1", NOON, (), (FRAGMENT,), "what stays", provenance=origin)
    write(entity, dreams.DREAM.plan_new(one, ""))


def test_a_dream_fades_within_its_talk_and_is_told_to_those_it_is_for(entity: Entity) -> None:
    dreamt(entity, ("sam",))
    assert FRAGMENT not in answered(entity, SHED, speaker="Kim")
    (next(entity.sessions.glob("*/*.jsonl"))).unlink()
    clock = Clock()
    seen = [FRAGMENT in answered(entity, SHED, clock) for _ in range(4)]
    assert seen == [True, True, True, False]


@pytest.mark.parametrize("what", ["dopamine", "feeling"])
def test_calm_bars_hide_no_dominant_hormone_and_no_strong_feeling(
    entity: Entity, what: str
) -> None:
    runtime = runtime_of(entity, ScriptedModel([]))
    soma = body_state.read(runtime, runtime.now())
    assert ebb.shown_tier(soma) == "quiet"
    if what == "dopamine":
        levels = {**soma.hormones.levels, "dopamine": 0.8}
        soma = replace(soma, hormones=replace(soma.hormones, levels=levels))
    else:
        soma = replace(soma, affects=(Affect("grief", 0.8, soma.at),))
    text = preamble.body_text(runtime, soma, "deliberate")
    assert not text.startswith("Body: quiet")
    assert ("DOMINANT" if what == "dopamine" else "grief (0.8)") in text
