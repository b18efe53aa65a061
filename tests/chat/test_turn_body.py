from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from bumble.body.affects import Affect
from bumble.body.bars import Bar
from bumble.body.noise import Fragment
from bumble.body.soma import FeltLine, Soma
from bumble.entity.folder import Entity
from bumble.errors import AnswerInvalidError
from bumble.llm.scripted import ScriptedModel
from bumble.prompt import preamble
from bumble.records import anchors
from bumble.records import soma as store
from bumble.records.base import Provenance
from bumble.runtime import body_state
from bumble.runtime.runtime import Runtime
from tests.support import lives
from tests.support.turns import Clock, act, runtime_of, say, talk


def settled(runtime: Runtime, **prompt: object) -> Runtime:
    """A runtime with other settings of the prompt."""
    changed = replace(runtime.config.prompt, **prompt)
    return replace(runtime, config=replace(runtime.config, prompt=changed))


def moved(runtime: Runtime, *, felt: int = 0, **values: float) -> Soma:
    """The body with some bars set, and a number of feelings."""
    soma = body_state.read(runtime, runtime.now())
    levels = {
        **soma.bars.levels,
        **{name: Bar(value, soma.bars.levels[name].rest) for name, value in values.items()},
    }
    return replace(
        soma,
        bars=replace(soma.bars, levels=levels),
        affects=tuple(Affect(f"feeling-{n}", 0.5, soma.at) for n in range(felt)),
        felt=FeltLine("a kite in the wind", soma.at) if felt else None,
        noise=(Fragment("bees do not queue", "thought", 0.4, soma.at),) if felt else (),
    )


def test_the_louder_the_body_the_more_tokens_it_takes_within_its_budget(ada: Entity) -> None:
    runtime = runtime_of(ada, ScriptedModel([]))
    quiet = preamble.body_text(runtime, moved(runtime), "deliberate")
    normal = preamble.body_text(runtime, moved(runtime, felt=2, social=84), "deliberate")
    high = preamble.body_text(
        runtime, moved(runtime, felt=6, social=95, curiosity=95), "deliberate"
    )
    assert quiet.startswith("Body: quiet. Mood: content")
    assert normal.startswith("Body: stirring. Mood: feeling-0")  # it is the stronger
    assert high.startswith("Body: loud.")
    sizes = [len(text) // 4 for text in (quiet, normal, high)]
    assert sizes[0] < sizes[1] < sizes[2] <= runtime.config.prompt.body_max_tokens
    assert "Levels:" not in quiet
    for text in (normal, high):
        assert "Levels: dopamine 0.15 (baseline)" in text
        assert "Tone: be steady and natural." in text
        assert "without mentioning it" in text
    assert "It felt like this: a kite in the wind" in high
    assert "bees do not queue" in high
    reflex = preamble.body_text(runtime, moved(runtime, felt=6, social=95), "reflex")
    assert reflex.startswith("Body: loud. Mood: affectionate")
    assert "\n" not in reflex


@pytest.mark.parametrize("budget", [0, 5, 12, 40, 70, 100, 180, 400])
def test_the_body_keeps_to_its_budget(ada: Entity, budget: int) -> None:
    runtime = settled(runtime_of(ada, ScriptedModel([])), body_max_tokens=budget)
    for soma in (
        moved(runtime),
        moved(runtime, felt=2, social=84),
        moved(runtime, felt=6, social=95),
    ):
        for profile in ("reflex", "deliberate"):
            text = preamble.body_text(runtime, soma, profile)
            assert len(text) // 4 <= budget
            assert bool(text) == (budget >= 12)


def test_only_the_young_are_told_that_they_are(ada: Entity) -> None:
    runtime = runtime_of(ada, ScriptedModel([say("Hello.")]))
    calm, stirred = moved(runtime), moved(runtime, felt=2, social=84)
    for soma in (calm, stirred):
        assert "You are still young" in preamble.body_text(runtime, soma, "deliberate")
    talk(runtime, "Hello.")
    file = ada.root / "sources" / "relationships" / "sam.yaml"
    file.write_text(file.read_text().replace("interaction_count: 1", "interaction_count: 30"))
    for soma in (calm, stirred):
        assert "young" not in preamble.body_text(runtime, soma, "deliberate")


def test_a_turn_saves_what_each_event_did_to_bars_and_hormones(ada: Entity) -> None:
    clock = Clock()
    runtime = runtime_of(ada, ScriptedModel([act("recall", query="bees"), say("Hello.")]), clock)
    born = body_state.read(runtime, runtime.now())
    talk(runtime, "Do you remember the bees?")
    written = store.read(ada.soma).values
    assert abs(datetime.fromisoformat(written["hormones"]["at"]) - clock.at) < timedelta(seconds=1)
    assert written["hormones"]["dopamine"] == pytest.approx(
        0.1500 + 0.02 * 0.85 + 0.03 * 0.833, abs=0.001
    )
    assert written["hormones"]["oxytocin"] == pytest.approx(
        0.2 + 0.03 * 0.8 + 0.01 * 0.776, abs=0.001
    )
    assert written["bars"]["social"]["value"] == pytest.approx(51.48, abs=0.05)
    assert written["bars"]["curiosity"]["value"] > born.bars.value("curiosity")


def test_a_turn_that_fails_saves_no_event(ada: Entity) -> None:
    talk(runtime_of(ada, ScriptedModel([say("Hello.")])), "Hello.")
    before = ada.soma.read_bytes()
    clock = Clock()
    clock.at = datetime(2026, 5, 25, tzinfo=UTC)
    with pytest.raises(AnswerInvalidError):
        talk(runtime_of(ada, ScriptedModel([]), clock), "Hello?")
    assert ada.soma.read_bytes() == before


LEVELS = {"dopamine": 0.8, "cortisol": 0.1, "oxytocin": 0.6}


def put(entity: Entity, label: str, *audience: str) -> Path:
    origin = Provenance("anchor add", audience=audience)
    anchor = anchors.new(label, "We laughed.", LEVELS, lives.NOON, 1.0, provenance=origin)
    file = entity.root / anchors.ANCHOR.path(anchor.id)
    file.parent.mkdir(exist_ok=True)
    file.write_text(anchor.source.text)
    return file


def test_its_words_bring_an_anchor_back_once_in_fifteen_minutes(ada: Entity) -> None:
    file = put(ada, "The evening by the sea")
    model, clock = ScriptedModel([say("Yes.")] * 3), lives.Clock()
    runtime = lives.runtime_of(ada, model, clock, {"soma.anchors.by_itself": True})
    talk(runtime, "Do you remember the sea that evening?")
    assert "The evening by the sea: We laughed." in model.requests[0].messages[-1].content
    assert anchors.ANCHOR.load(file).recalled == 1
    talk(runtime, "That evening by the sea!")
    assert anchors.ANCHOR.load(file).recalled == 1
    clock.forward(minutes=16)
    talk(runtime, "That evening by the sea!")
    assert anchors.ANCHOR.load(file).recalled == 2


def test_words_draw_the_body_by_a_quarter(ada: Entity) -> None:
    put(ada, "The evening by the sea")
    runtime = lives.runtime_of(ada)
    soma = body_state.read(runtime, runtime.now())
    stirring = body_state.stir(runtime, soma, "An evening by the sea", ("sam",), soma.at)
    assert stirring is not None
    moved = stirring.move(soma).hormones.levels
    wanted = {name: 0.75 * soma.hormones.levels[name] + 0.25 * LEVELS[name] for name in LEVELS}
    assert moved == pytest.approx(wanted)


def test_tools_make_and_recall_an_anchor(ada: Entity) -> None:
    replies = [
        act("make_anchor", label="A joke", description="Sam told it."),
        act("recall_anchor", label="a joke"),
        say("Ha."),
    ]
    flags = {"tools.anchors": True, "cognition.gate.enabled": False}
    runtime = lives.runtime_of(
        ada, ScriptedModel([*replies[:1], say("Ha."), *replies[1:]]), flags=flags
    )
    talk(runtime, "I know a joke.")
    done = talk(runtime, "Another?")
    assert "it comes back: A joke: Sam told it." in done.outcome.steps[0].results[0].text
    anchor = anchors.ANCHOR.load(ada.root / "anchors/a-joke.yaml")
    assert (anchor.recalled, anchor.provenance.audience) == (1, ("sam",))


def test_a_broken_anchor_holds_up_no_talk(ada: Entity) -> None:
    put(ada, "The hill").write_text("hormones: [\n")
    done = talk(lives.runtime_of(ada, ScriptedModel([say("Hello.")])), "Hi, the hill!")
    assert done.outcome.said == "Hello."
