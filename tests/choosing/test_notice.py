from __future__ import annotations

from dataclasses import replace

from bumble.abilities.tiers import ABLE, Abilities
from bumble.choosing import notice
from bumble.entity.folder import Entity
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.runtime import runner
from bumble.runtime.runner import Pass
from bumble.runtime.runtime import Runtime
from tests.support.turns import Clock, life_of, say, stored, talk

PASS = Pass("notice", notice.check, notice.run)
OPEN = "the captain of that boat smiled at the whole crew"  # no rule decides it


def label(share: float) -> Reply:
    probabilities = {"fact": share, "chat": 1 - share}
    return Reply("fact", purpose="notice", probabilities=probabilities)


def talked(ada: Entity, *texts: str, clock: Clock | None = None) -> None:
    life = life_of(ada, ScriptedModel([say("I see.") for _ in texts]), clock)
    for text in texts:
        talk(life, text)


def choosing(ada: Entity, *replies: Reply) -> Runtime:
    return replace(life_of(ada, ScriptedModel(list(replies))), abilities=Abilities())


def settle(life: Runtime) -> list[runner.Settled]:
    return list(runner.settle(life, (PASS,)))


def test_rules_come_first_and_the_model_is_asked_about_the_rest(ada: Entity) -> None:
    talked(ada, "my sister died in march, she lived in Leeds", OPEN, "thanks, that helps")
    life = choosing(ada, label(0.7))
    settle(life)
    first, second, third = stored(ada).notices.values()
    assert (first.keep, first.share) == (True, None)
    assert (second.keep, second.why, second.share) == (True, "model", 0.7)
    assert second.extra == {"model": "scripted"}
    assert third.keep is False


def test_below_the_threshold_the_model_drops_it(ada: Entity) -> None:
    talked(ada, OPEN)
    settle(choosing(ada, label(0.39)))
    (only,) = stored(ada).notices.values()
    assert only.keep is False


def test_a_later_process_asks_nothing_again(ada: Entity) -> None:
    talked(ada, OPEN)
    settle(choosing(ada, label(0.7)))
    again = choosing(ada)
    assert settle(again) == []
    session = stored(ada)
    notices, new = notice.of(again, session, session.messages)
    assert (len(notices), new, again.model.name) == (1, [], "scripted")
    assert len(session.notices) == session.source.count('"type":"notice"') == 1


def test_without_any_ability_rules_decide_alone(ada: Entity) -> None:
    talked(ada, OPEN)
    life = replace(choosing(ada), abilities=Abilities(unmeasured="none"))
    settle(life)
    (only,) = stored(ada).notices.values()
    assert (only.keep, only.why) == (False, notice.LEANS)


def test_where_the_model_writes_the_pass_does_nothing(ada: Entity) -> None:
    talked(ada, OPEN)
    assert settle(replace(choosing(ada), abilities=ABLE)) == []
