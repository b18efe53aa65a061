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
