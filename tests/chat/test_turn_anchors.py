from __future__ import annotations

from pathlib import Path

import pytest

from bumble.entity.folder import Entity
from bumble.llm.scripted import ScriptedModel
from bumble.records import anchors
from bumble.records.base import Provenance
from bumble.runtime import anchor_recall, body_state
from tests.support import lives
from tests.support.turns import act, say, talk

LEVELS = {"dopamine": 0.8, "cortisol": 0.1, "oxytocin": 0.6}


def put(entity: Entity, label: str, *audience: str) -> Path:
    origin = Provenance("anchor add", audience=audience)
    anchor = anchors.new(label, "We laughed.", LEVELS, lives.NOON, 1.0, provenance=origin)
    file = entity.root / anchors.path(anchor.id)
    file.parent.mkdir(exist_ok=True)
    file.write_text(anchor.source.text)
    return file


def test_its_words_bring_an_anchor_back_once_in_fifteen_minutes(ada: Entity) -> None:
    file = put(ada, "The evening by the sea")
    model, clock = ScriptedModel([say("Yes.")] * 3), lives.Clock()
    runtime = lives.runtime_of(ada, model, clock, {"soma.anchors.by_itself": True})
    talk(runtime, "Do you remember the sea that evening?")
    assert "The evening by the sea: We laughed." in model.requests[0].messages[-1].content
    assert anchors.load(file).recalled == 1
    talk(runtime, "That evening by the sea!")
    assert anchors.load(file).recalled == 1
    clock.forward(minutes=16)
    talk(runtime, "That evening by the sea!")
    assert anchors.load(file).recalled == 2


def test_words_draw_the_body_by_a_quarter(ada: Entity) -> None:
    put(ada, "The evening by the sea")
    runtime = lives.runtime_of(ada)
    soma = body_state.read(runtime, runtime.now())
    stirring = anchor_recall.stir(runtime, soma, "An evening by the sea", ("sam",), soma.at)
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
    anchor = anchors.load(ada.root / "anchors/a-joke.yaml")
    assert (anchor.recalled, anchor.provenance.audience) == (1, ("sam",))


def test_a_broken_anchor_holds_up_no_talk(ada: Entity) -> None:
    put(ada, "The hill").write_text("hormones: [\n")
    done = talk(lives.runtime_of(ada, ScriptedModel([say("Hello.")])), "Hi, the hill!")
    assert done.outcome.said == "Hello."
