from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from bumble.abilities.tiers import Abilities
from bumble.agent import acts
from bumble.choosing import notice
from bumble.context import remembered, statements
from bumble.context.statements import Excerpt, Question, Scored, Statement
from bumble.entity.folder import Entity
from bumble.llm.scripted import ScriptedModel
from bumble.runtime import runner
from bumble.runtime.runner import Pass
from tests.support.turns import Clock, runtime_of, talk

SECRET = "I borrowed 6500 of the savings for bets"


def nearest(
    ada: Entity,
    *scored: Scored,
    confided: frozenset[str] = frozenset(),
    idle: frozenset[str] = frozenset(),
) -> str | None:
    heard = remembered._Heard({}, {}, {}, confided, asked=set(), kept=set(), idle=idle)
    runtime = runtime_of(ada, ScriptedModel([]))
    quotes = remembered._nearest(runtime, scored, heard, of_memory=True)
    return quotes[0].text if quotes else None


def scored(
    text: str,
    *,
    part: float = 0.0,
    nearness: float = 0.5,
    near: bool = True,
    matter: bool = True,
) -> Scored:
    said = Statement(Excerpt(text, None, "sam", "Sam"), text, nearness, near)
    return Scored(said, 0, 1.0, part, part > 0, shares_matter=matter, answers=False)


def test_what_was_told_in_confidence_is_no_guess(ada: Entity) -> None:
    assert nearest(ada, scored(SECRET, matter=False)) == SECRET
    assert nearest(ada, scored(SECRET, matter=False), confided=frozenset({SECRET})) is None


def test_what_was_told_in_confidence_comes_where_it_is_asked_for(ada: Entity) -> None:
    assert nearest(ada, scored(SECRET, part=0.3), confided=frozenset({SECRET})) == SECRET
    by_kin = scored(SECRET, part=0.3, matter=False)
    assert nearest(ada, by_kin, confided=frozenset({SECRET})) is None


def test_a_guess_has_a_word_of_the_question_or_is_near_it(ada: Entity) -> None:
    few = scored("It rained.", part=0.1, nearness=0.1, near=False)
    some = scored("I row on Tuesdays.", part=0.2, nearness=0.1, near=False)
    assert nearest(ada, few) is None
    assert nearest(ada, some) is not None


def statement(text: str, cosine: float, worth: int = 1) -> Statement:
    quote = Excerpt(text, None, "sam", "Sam")
    return Statement(quote, text, 0.5, is_near=True, cosine=cosine, worth=worth)


def test_what_is_farther_than_answers_are_is_no_guess(ada: Entity) -> None:
    asked = Question("which day is the regatta on the lake?", "en")
    told = [statement(text, -0.1) for text in ("The regatta is on Sunday.", "It rained.")]
    for cosine, likely in ((-0.05, False), (0.2, True)):
        rows = [replace(told[0], cosine=cosine), told[1]]
        best, *_ = statements.score(runtime_of(ada, ScriptedModel([])), rows, asked)
        assert (best.statement.quote.text, best.likely) == ("The regatta is on Sunday.", likely)


def ranked(ada: Entity, asked: str, *told: Statement) -> list[str]:
    scored = statements.score(runtime_of(ada, ScriptedModel([])), told, Question(asked, "en"))
    return [each.statement.quote.text for each in scored]


def test_meaning_puts_answers_in_order_and_a_shared_word_by_chance_does_not(ada: Entity) -> None:
    asked = "what was that date with the ear clinic?"
    near = statement("Castle Hill want me in on the 21st for my hearing.", 0.8)
    far = statement("The date palm on the landing has died.", 0.2)
    other = statement("My dog is called Biscuit.", 0.1)
    assert ranked(ada, asked, far, other, near)[0] == near.id


def test_a_name_in_the_possessive_is_nothing_that_is_asked(ada: Entity) -> None:
    known = frozenset({"nora"})
    assert statements._telling({"nora": "nora's", "flight": "flight"}, known) == {"flight"}


def test_two_guesses_are_quoted_the_nearest_first(ada: Entity) -> None:
    runtime = runtime_of(ada, ScriptedModel([]))
    heard = remembered._Heard({}, {}, {}, frozenset(), asked=set(), kept=set(), idle=set())
    said = statement("I fly on the 9th.", 0.9)
    best = Scored(said, 0, 4.0, 0.0, shares=False, shares_matter=False, answers=False)
    others = [
        replace(best, statement=statement(text, 0.5), points=points)
        for text, points in (("It rained.", 1.5), ("It snowed.", 1.0))
    ]
    guesses = remembered._nearest(runtime, [best, *others], heard, of_memory=True)
    assert [each.text for each in guesses] == ["I fly on the 9th.", "It rained."]


def test_a_joke_answers_after_what_was_worth_keeping(ada: Entity) -> None:
    joke = statement("My boots have applied for the clinic.", 0.5, worth=-1)
    told = statement("The clinic will see me on the 21st.", 0.5)
    assert ranked(ada, "when is the clinic?", joke, told)[0] == told.id


def test_without_vectors_words_alone_tell(ada: Entity) -> None:
    quote = Excerpt("The clinic will see me on the 21st.", None, "sam", "Sam")
    told = Statement(quote, quote.text, 0.0, is_near=True)
    other = replace(told, quote=replace(quote, text="It rained."), id="It rained.")
    assert ranked(ada, "when is the clinic?", other, told)[0] == told.id


def test_a_joke_is_no_guess_but_where_it_has_the_words_of_the_question(ada: Entity) -> None:
    joke = scored("My boots applied for a medal.", part=0.4)
    idle = frozenset({"My boots applied for a medal."})
    assert nearest(ada, joke) is not None
    assert nearest(ada, joke, idle=idle) is None
    assert nearest(ada, replace(joke, answers=True), idle=idle) is not None


def test_what_is_far_ahead_of_all_else_is_a_guess_though_it_has_no_word(ada: Entity) -> None:
    far = replace(scored(SECRET, matter=False, nearness=0.1, near=False), likely=False)
    assert nearest(ada, far, confided=frozenset({SECRET})) is None
    clear = replace(far, is_clear=True)
    assert nearest(ada, clear, confided=frozenset({SECRET})) == SECRET


def answered(ada: Entity, told: str, asked: str) -> str:
    """Tell something in German, have it noticed, and ask for it the next day."""
    clock = Clock()
    runtime = replace(
        runtime_of(ada, ScriptedModel([]), clock), abilities=Abilities(unmeasured="none")
    )
    talk(runtime, told)
    list(runner.settle(runtime, (Pass("notice", notice.check, notice.run),)))
    clock.at += timedelta(days=1)
    return talk(runtime, asked).outcome.said


def test_what_was_kept_answers_though_it_begins_as_questions_do(ada: Entity) -> None:
    told = "was wichtiges: wespenstich ist bei mir notarzt, ich hab eine allergie dagegen"
    assert "wespenstich" in answered(ada, told, "auf welchen stich reagier ich allergisch?")


def test_my_wife_is_no_title(ada: Entity) -> None:
    told = "meine frau ist köchin auf einem schiff, sie ist bis zum 21. november weg"
    assert "21. november" in answered(ada, told, "bis wann ist meine frau unterwegs")


def test_when_i_must_do_something_is_asked_of_memory() -> None:
    assert acts.of("wann muss ich das schlagwerk ausbauen?", "de") == "recall"
    assert acts.of("muss ich das schlagwerk ausbauen?", "de") == "opinion"


@pytest.mark.parametrize(
    ("asked", "language"),
    [
        ("was hat die seilwinde gekostet", "de"),
        ("what did I pay for the winch", "en"),
        ("cuánto costó la grúa", "es"),
        ("combien a coûté le treuil", "fr"),
        ("quanto è costato l'argano", "it"),
        ("quanto custou o guincho", "pt"),
    ],
)
def test_what_something_cost_is_a_number(asked: str, language: str) -> None:
    assert acts.asks_number(asked, language)
