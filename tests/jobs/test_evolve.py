from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bumble.entity.folder import Entity
from bumble.errors import AnswerInvalidError
from bumble.jobs import evolve
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.models.tiers import Abilities
from bumble.records import proposals, state
from bumble.runtime import job
from bumble.runtime.runtime import Runtime
from tests.support.nights import dreamer, runtime_of

ANSWER: dict[str, Any] = {
    "traits": [{"text": "warmth", "way": "more", "reason": "I cared.", "from": ["e1"]}],
    "behaviours": [{"text": "I ask how it went.", "reason": "It helped.", "from": ["e1", "e2"]}],
    "curiosity": [
        {"text": "tomatoes", "reason": "They grow.", "from": ["e1"]},
        {"text": "Sam and the storm", "reason": "It was loud.", "from": ["e2"]},
    ],
}


def answer(**differs: Any) -> Reply:
    return Reply(json.dumps({**ANSWER, **differs}), purpose="evolve")


@pytest.fixture
def ada(tmp_path: Path) -> Entity:
    entity = dreamer(tmp_path)
    met(entity, 100)
    return entity


def met(entity: Entity, count: int) -> None:
    file = entity.root / "relationships/sam.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(
        f"---\nnames: [Sam]\ninteraction_count: {count}\ntopics: [the sea]\n---\n\nA friend.\n"
    )


def looked_back(runtime: Runtime) -> proposals.Proposal | None:
    due = evolve.check(runtime)
    assert due.due
    job.apply(runtime, evolve.run(runtime, due.jobs[0]))
    return next(iter(proposals.PROPOSAL.readable(runtime.entity.evolution)), None)


def test_a_proposal_changes_nothing_and_names_nobody(ada: Entity) -> None:
    before = ada.file.read_bytes()
    runtime = runtime_of(ada, ScriptedModel([answer()]))
    proposal = looked_back(runtime)
    assert proposal is not None
    assert ada.file.read_bytes() == before
    assert [(item.text, item.change) for item in proposal.traits] == [("warmth", 0.01)]
    assert [item.text for item in proposal.behaviours] == ["I ask how it went."]
    assert [item.text for item in proposal.topics] == ["tomatoes"]
    assert proposal.behaviours[0].sources == ("ep_01", "ep_02")
    assert "+    warmth: 0.51" in proposal.source.text
    assert not evolve.check(runtime).due


def test_it_looks_back_every_hundred_interactions(ada: Entity) -> None:
    met(ada, 99)
    runtime = runtime_of(ada, ScriptedModel([answer()]))
    assert not evolve.check(runtime).due
    met(ada, 100)
    proposal = looked_back(runtime)
    assert proposal is not None
    (ada.root / proposals.PROPOSAL.path(proposal.id)).unlink()
    met(ada, 199)
    assert not evolve.check(runtime).due
    met(ada, 200)
    assert evolve.check(runtime).due


def test_below_write_nothing_is_due(ada: Entity) -> None:
    runtime = replace(runtime_of(ada, ScriptedModel([answer()])), abilities=lambda: Abilities())
    assert not evolve.check(runtime, force=True).due


def test_what_nothing_bears_out_is_left_out(ada: Entity) -> None:
    made_up = {"text": "I quote Napoleon.", "reason": "He won in 1805.", "from": ["e1"]}
    proposal = looked_back(runtime_of(ada, ScriptedModel([answer(behaviours=[made_up])])))
    assert proposal is not None
    assert proposal.behaviours == ()


def test_nothing_to_propose_still_counts(ada: Entity) -> None:
    empty = answer(traits=[], behaviours=[], curiosity=[])
    runtime = runtime_of(ada, ScriptedModel([empty]))
    assert looked_back(runtime) is None
    assert state.read(ada.state).get("evolve", "interactions") == 100


@pytest.mark.parametrize(
    ("name", "item"),
    [
        ("遥", "遥には、お茶の話から聞く。"),
        ("نور", "أسأل نور عن قهوتها"),
        ("प्रिया", "प्रिया की चाय"),
    ],
)
def test_a_name_without_capitals_is_seen_inside_a_word(ada: Entity, name: str, item: str) -> None:
    page = f"---\nnames: [{name}]\n---\n\n{item} 妹の病気 お茶の話から聞く\n"
    (ada.root / "relationships/friend.md").write_text(page, encoding="utf-8")
    named = {"text": item, "reason": "It was good.", "from": ["e1"]}
    runtime = runtime_of(ada, ScriptedModel([answer(behaviours=[named], curiosity=[named])]))
    proposal = looked_back(runtime)
    assert proposal is not None
    assert (proposal.behaviours, proposal.topics) == ((), ())


def test_an_answer_that_cannot_be_used_is_asked_for_again_a_little_later(ada: Entity) -> None:
    runtime = runtime_of(ada, ScriptedModel([Reply("Well.", purpose="evolve")] * 3))
    (left,) = job.settle(runtime, [job.Pass("evolve", evolve.check, evolve.run)])
    assert isinstance(left.problem, AnswerInvalidError)
    assert state.read(ada.state).get("evolve") is None
    met(ada, 109)
    assert not evolve.check(runtime).due
    assert evolve.check(runtime, force=True).due
    met(ada, 110)
    assert evolve.check(runtime).due
