"""Turns below the tier `write`: what code answers, quotes, tasks, drafts, and a few words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import pytest
from msgspec.structs import replace

from bumble.chat import code_answers
from bumble.entity.folder import Entity
from bumble.fallback import templates
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.models.abilities.tiers import Abilities, Tier
from bumble.models.embed.reader import MessageReading
from bumble.records import reminders
from bumble.runtime.runtime import Runtime
from tests.support import turns
from tests.support.reading import reading, with_reader
from tests.support.turns import runtime_of

OLIVES = "I can't stand olives"
ASKED = "what can't I stand?"


class Talk:
    """A conversation of Sam, a message after the other."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    def say(self, text: str) -> str:
        """Say something; return what is answered."""
        return turns.talk(self.runtime, text).outcome.said


def told(
    entity: Entity, known: Mapping[str, MessageReading], *replies: str, tier: Tier = "none"
) -> tuple[Talk, Runtime]:
    model = ScriptedModel([Reply(text, purpose="chat") for text in replies])
    runtime = replace(with_reader(runtime_of(entity, model), known), abilities=Abilities(tier))
    return Talk(runtime), runtime


def test_a_question_of_memory_is_answered_with_what_was_said_in_this_very_talk(
    ada: Entity,
) -> None:
    known = {OLIVES: reading("tell", keep=True), ASKED: reading("ask_memory")}
    talk, _ = told(ada, known)
    assert talk.say(OLIVES) == "Noted."
    answer = talk.say(ASKED)
    assert "olives" in answer
    assert ASKED not in answer


def test_what_was_put_right_comes_after_the_word_that_put_it_right(ada: Entity) -> None:
    old, new, when = "Frank comes on the 12th", "Frank comes on the 15th now", "when comes Frank"
    known = {
        old: reading("tell", keep=True),
        new: reading("correct", "tell", keep=True),
        when: reading("ask_memory"),
    }
    talk, _ = told(ada, known)
    for text in (old, new):
        talk.say(text)
    answer = talk.say(when)
    assert answer.index("15th") < answer.index("12th")


def test_a_reminder_is_set_and_said_back_with_its_time(ada: Entity) -> None:
    text = "remind me tomorrow at 9 to ring the vet"
    read = reading("remind", when="tomorrow", what="at 9 to ring the vet")
    talk, runtime = told(ada, {text: read})
    assert talk.say(text) == "I'll remind you on 25 May, 09:00: to ring the vet"
    (made,) = reminders.read(ada.reminders)
    assert made.at.astimezone(runtime.zone) == datetime(2026, 5, 25, 9, tzinfo=runtime.zone)
    assert (made.text, made.person) == ("to ring the vet", "sam")


@pytest.mark.parametrize(
    ("text", "language", "result"),
    [
        ("whats 17 times 24", "en", "408"),
        ("12% of 340?", "en", "40.8"),
        ("12 por ciento de 340", "es", "40.8"),
        ("was ist 3 mal 45", "de", "135"),
        ("(3+4)*2 please", "en", "14"),
        ("7 / 0", "en", ""),
        ("call me at 030 555", "en", ""),
        ("9" * 30 + " * 2", "en", ""),
    ],
)
def test_sums_are_worked_out_by_code(text: str, language: str, result: str) -> None:
    signs = templates.load(language).signs
    assert code_answers.calculated(text, signs) == result


@pytest.mark.parametrize("ask", ["what did we talk about today", "Today, what did we talk about?"])
def test_what_was_said_today_is_told_within_the_same_talk(ada: Entity, ask: str) -> None:
    known = {OLIVES: reading("tell", keep=True), ask: reading("ask_talk", "ask_memory")}
    talk, _ = told(ada, known)
    talk.say(OLIVES)
    assert OLIVES in talk.say(ask)


def test_of_what_was_put_right_the_newer_word_goes_first(ada: Entity) -> None:
    old, new, ask = "Frank comes on the 12th", "Frank comes on the 15th now", "what do you know"
    known = {
        old: reading("tell", keep=True),
        new: reading("correct", "tell", keep=True),
        ask: reading("ask_known"),
    }
    talk, _ = told(ada, known)
    talk.say(old)
    talk.say(new)
    assert talk.say(ask).splitlines()[1:] == [f"- 24 May: “{new}”. Before that: 24 May: “{old}”"]


def test_a_task_goes_to_the_model_and_its_answer_is_said_whole(ada: Entity) -> None:
    haiku = "Grey November sea\nfolds its letters one by one\nand sends none of them"
    talk, _ = told(ada, {"a haiku please": reading("task")}, haiku, tier="choose")
    assert talk.say("a haiku please") == haiku


def test_a_task_is_heard_line_by_line_and_never_a_secret(ada: Entity) -> None:
    poem = (
        "The fox took Pickle. Snow fell!\nThe key is sk-proj-9aZ3kQ7mX2vB8nL4wT6yR1cD5fG0hJ\nEnd."
    )
    runtime = with_reader(
        runtime_of(ada, ScriptedModel([Reply(poem, purpose="chat")])),
        {"a poem please": reading("task")},
    )
    runtime = replace(runtime, abilities=Abilities("choose"))
    heard: list[str] = []
    done = turns.talk(runtime, "a poem please", say=heard.append)
    assert heard == ["The fox took Pickle. ", "Snow fell!\n"]
    assert done.outcome.said == "The fox took Pickle. Snow fell!"
    assert "sk-proj" not in "".join(message.text for message in done.session.messages)


def test_without_a_model_a_task_is_refused_in_plain_words(ada: Entity) -> None:
    talk, _ = told(ada, {"a haiku please": reading("task")})
    assert "bumble model list" in talk.say("a haiku please")


def test_where_no_draft_can_be_said_a_few_words_stand_that_claim_nothing(ada: Entity) -> None:
    said = "my mother died last week"
    known = {said: reading("tell", keep=True, heavy=2)}
    talk, _ = told(ada, known, said, said, tier="choose")
    assert talk.say(said) == "I'm sorry to hear that."
