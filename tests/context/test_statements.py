from __future__ import annotations

import pytest

from bumble.context import statements
from bumble.context.statements import Excerpt, Question, Scored, Statement
from bumble.entity.folder import Entity
from bumble.llm.scripted import ScriptedModel
from tests.support.turns import runtime_of

RAIN, TEA = "It rained all day in the valley.", "We drank tea and played cards until ten."


def score(ada: Entity, question: Question, *texts: str) -> list[Scored]:
    said = [
        Statement(Excerpt(text, None, "sam", "Sam"), text, 0.0, is_near=False) for text in texts
    ]
    return statements.score(runtime_of(ada, ScriptedModel([])), said, question)


@pytest.mark.parametrize(
    ("language", "asked", "told"),
    [
        ("en", "how much do i owe my brother", "my bro lent me 900 for the boiler"),
        ("de", "wieviel schuld ich meim bruder eig", "hab mir vom bruder 1800 euro gepumpt"),
        ("fr", "il s'appelle comment le médecin", "le toubib s'appelle Garnier, rue Pasteur"),
    ],
)
def test_what_was_told_in_other_words_answers(
    ada: Entity, language: str, asked: str, told: str
) -> None:
    best = score(ada, Question(asked, language, number="how" not in asked), told, RAIN, TEA)[0]
    assert best.statement.quote.text == told
    assert best.shares
    assert best.answers


def test_the_name_alone_of_whom_it_is_asked_answers_nothing(ada: Entity) -> None:
    ada.relationships.mkdir(parents=True, exist_ok=True)
    ada.relationships.joinpath("lena.md").write_text("---\nname: Lena\n---\n")
    best = score(ada, Question("what is Lena allergic to?", "en"), "Lena is here today.", RAIN)[0]
    assert not best.shares
    assert not best.answers


def test_a_number_goes_before_words_where_it_is_asked_for(ada: Entity) -> None:
    told = ("The ferry to the island leaves early.", "The ferry costs 12 for the two of us.")
    question = Question("what does the ferry to the island cost", "en", number=True)
    assert score(ada, question, *told)[0].statement.quote.text == told[1]


def lead(ada: Entity, cosines: list[float]) -> tuple[str, bool]:
    """Say which of some statements is first, and whether it is clear."""
    said = [
        Statement(Excerpt(f"It was {n}.", None, "sam", "Sam"), str(n), 0.1, False, cosine=cosine)
        for n, cosine in enumerate(cosines)
    ]
    question = Question("who plays cards with me", "en")
    best = statements.score(runtime_of(ada, ScriptedModel([])), said, question)[0]
    return best.statement.id, best.is_clear


def test_one_of_many_that_is_far_ahead_in_meaning_is_clear(ada: Entity) -> None:
    near, usual = -0.02, [-0.2 - n / 100 for n in range(9)]
    assert lead(ada, [near, *usual]) == ("0", True)
    assert lead(ada, [near, near - 0.01, *usual]) == ("0", False), "another is as near"
    assert lead(ada, [-0.12, *usual]) == ("0", False), "too far from what answers are like"
    assert lead(ada, [near, *usual[:2]]) == ("0", False), "of few one is always ahead"
