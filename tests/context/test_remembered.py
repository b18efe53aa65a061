from __future__ import annotations

from bumble.context import remembered
from bumble.context.statements import Quote, Scored, Statement
from bumble.entity.folder import Entity
from bumble.llm.scripted import ScriptedModel
from tests.support.turns import life_of

SECRET = "I borrowed 6500 of the savings for bets"


def nearest(ada: Entity, *scored: Scored, confided: frozenset[str] = frozenset()) -> str | None:
    heard = remembered._Heard({}, {}, {}, confided, frozenset())
    life = life_of(ada, ScriptedModel([]))
    quote = remembered._nearest(life, scored, heard, of_memory=True)
    return quote.text if quote else None


def scored(text: str, *, part: float = 0.0, nearness: float = 0.5, near: bool = True) -> Scored:
    said = Statement(Quote(text, None, "sam", "Sam"), text, nearness, near)
    return Scored(said, 0, 1.0, part, part > 0, answers=False)


def test_what_was_told_in_confidence_is_no_guess(ada: Entity) -> None:
    assert nearest(ada, scored(SECRET)) == SECRET
    assert nearest(ada, scored(SECRET), confided=frozenset({SECRET})) is None


def test_what_was_told_in_confidence_comes_where_it_is_asked_for(ada: Entity) -> None:
    assert nearest(ada, scored(SECRET, part=0.3), confided=frozenset({SECRET})) == SECRET


def test_a_guess_has_a_word_of_the_question_or_is_near_it(ada: Entity) -> None:
    assert nearest(ada, scored("It rained.", part=0.1, near=False)) is None
    assert nearest(ada, scored("I row on Tuesdays.", part=0.2, near=False)) is not None


def test_of_several_guesses_words_and_nearness_choose_together(ada: Entity) -> None:
    far = scored("I am proud of the new method.", part=0.2, nearness=0.01, near=False)
    near = scored("I must not take ibuprofen.", part=0.1, nearness=0.4)
    assert nearest(ada, far, near) == "I must not take ibuprofen."
