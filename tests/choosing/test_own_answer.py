from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from bumble.abilities.tiers import Abilities
from bumble.choosing import by_form, notice, own_answer
from bumble.context import remembered
from bumble.context.statements import Question
from bumble.entity.folder import Entity
from bumble.llm.scripted import ScriptedModel
from bumble.records.sessions import Message, Session
from bumble.runtime import runner
from bumble.runtime.runner import Pass
from bumble.runtime.runtime import Runtime
from tests.support.turns import Clock, runtime_of, say, stored, talk

SHOE = "what's my nephew's shoe size again?"
HOLLERED = "Never mind, he hollered it down the stairs. Eight and a half."
ANSWERED = (
    ("en", SHOE, HOLLERED),
    ("en", "Where did my sister go on holiday?", "found it, some island called madeira"),
    ("de", "Wie heißt nochmal der Lehrer von meiner Tochter?", "Ach ja, Herr Brandes."),
    ("es", "¿Qué número calza mi hijo?", "Ya lo encontré, el 41."),
    ("fr", "Quelle pointure fait ma fille déjà ?", "C'est bon, du 38."),
    ("it", "che numero di scarpe porta mio figlio?", "41!! l'ha letto dentro quella vecchia"),
    ("pt", "que horas é a apresentação da minha filha?", "15h40, achei no grupo das mães"),
)
LEFT_OPEN = (
    ("en", "Who wrote Moby Dick?", "Never mind, it was Melville."),  # of nobody's life
    ("en", SHOE, "Never mind, what's for dinner?"),
    ("en", SHOE, "Haha he'd need a 99 on each foot lol"),
    ("en", SHOE, "ok thanks"),
    ("en", SHOE, "My father, a Lutheran to the bone, held that work is prayer."),
    ("en", "My nephew is here.", "Never mind, 8 of us now."),  # asks nothing
    ("de", "Wie heißt nochmal der Lehrer von meiner Tochter?", "na gut, dann eben nicht"),
)


def quiet(ada: Entity, clock: Clock | None = None) -> Runtime:
    runtime = runtime_of(ada, ScriptedModel([say("I don't know.") for _ in range(6)]), clock)
    return replace(runtime, abilities=Abilities(unmeasured="none"))


def talked(runtime: Runtime, *texts: str) -> tuple[Session, list[Message]]:
    for text in texts:
        talk(runtime, text)
    session = stored(runtime.entity)
    return session, [message for message in session.messages if message.role == "user"]


@pytest.mark.parametrize(("language", "asked", "answer"), ANSWERED)
def test_what_one_asked_and_found_out_oneself(
    ada: Entity, language: str, asked: str, answer: str
) -> None:
    session, (question, found_out) = talked(quiet(ada), asked, answer)
    assert own_answer.question(session, found_out, language) == question


@pytest.mark.parametrize(("language", "asked", "answer"), LEFT_OPEN)
def test_what_answers_nothing_of_oneself(
    ada: Entity, language: str, asked: str, answer: str
) -> None:
    session, (_, other) = talked(quiet(ada), asked, answer)
    assert own_answer.question(session, other, language) is None


def test_an_hour_later_it_is_about_something_else(ada: Entity) -> None:
    clock = Clock()
    runtime = quiet(ada, clock)
    talked(runtime, SHOE)
    clock.at += timedelta(minutes=16)
    session, (_, other) = talked(runtime, HOLLERED)
    assert own_answer.question(session, other, "en") is None


def test_question_and_answer_are_one_quote_that_rests_on_both(ada: Entity) -> None:
    runtime = quiet(ada)
    session, messages = talked(runtime, SHOE, HOLLERED)
    noticed = by_form.notices(runtime, session, messages)
    assert [noticed.of[message.id].keep for message in messages] == [False, True]
    wording = by_form.in_language(runtime, "en")
    assert wording is not None
    (saying,) = by_form.sayings(runtime, session, messages, noticed, wording)
    assert saying.quote.words == f"{SHOE} … {HOLLERED}"
    origin = by_form.origin("distill", session, [saying], session.people)
    assert origin.sources == (session.id, messages[1].id, messages[0].id)


def test_a_later_question_is_answered_with_both(ada: Entity) -> None:
    runtime = quiet(ada)
    talked(runtime, SHOE, HOLLERED)
    list(runner.settle(runtime, (Pass("notice", notice.check, notice.run),)))
    later, _ = talked(runtime, "which size of shoe does my nephew have?")
    answer = remembered.answer(runtime, later, Question(later.messages[-2].text, "en"))
    assert [quote.text for quote in answer.quotes] == [f"{SHOE} … {HOLLERED}"]
