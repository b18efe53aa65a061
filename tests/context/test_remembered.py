from __future__ import annotations

from bumble.context import remembered
from bumble.context.remembered import Question, Quote, Statement
from bumble.entity.folder import Entity
from bumble.llm.scripted import ScriptedModel
from tests.support.turns import life_of

SECRET = "I borrowed 6500 of the savings for bets"


def nearest(ada: Entity, text: str, confided: set[str]) -> Quote | None:
    said = Statement(Quote(SECRET, None, "sam", "Sam"), "msg_1", nearness=0.5, is_near=True)
    heard = remembered._Heard({}, {}, {}, confided)
    return remembered._nearest(life_of(ada, ScriptedModel([])), [said], heard, Question(text, "en"))


def test_what_was_told_in_confidence_is_no_guess(ada: Entity) -> None:
    asked = "does Conny plan a home for the old man"
    assert nearest(ada, asked, set()) is not None
    assert nearest(ada, asked, {"msg_1"}) is None


def test_what_was_told_in_confidence_comes_where_it_is_asked_for(ada: Entity) -> None:
    assert nearest(ada, "how much of the savings did I take", {"msg_1"}) is not None
