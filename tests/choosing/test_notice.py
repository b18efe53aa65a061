from __future__ import annotations

import os
from datetime import timedelta

import pytest
from msgspec.structs import replace

from bumble.abilities.tiers import ABLE, Abilities
from bumble.agent import participants
from bumble.choosing import notice, rules
from bumble.entity.folder import Entity
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.records import session_files
from bumble.records.notices import Notice
from bumble.runtime import runner
from bumble.runtime.job import apply
from bumble.runtime.runner import Pass
from bumble.runtime.runtime import Runtime
from tests.support import kills
from tests.support.absent_model import Absent, Leaving
from tests.support.turns import Clock, runtime_of, say, stored, talk

PASS = Pass("notice", notice.check, notice.run)
OPEN = "the captain of that boat smiled at the whole crew"  # no rule decides it


def label(share: float) -> Reply:
    probabilities = {"fact": share, "chat": 1 - share}
    return Reply("fact", purpose="notice", probabilities=probabilities)


def talked(ada: Entity, *texts: str, clock: Clock | None = None) -> None:
    runtime = runtime_of(ada, ScriptedModel([say("I see.") for _ in texts]), clock)
    for text in texts:
        talk(runtime, text)


def choosing(ada: Entity, *replies: Reply) -> Runtime:
    return replace(runtime_of(ada, ScriptedModel(list(replies))), abilities=Abilities())


def settle(runtime: Runtime) -> list[runner.Settled]:
    return list(runner.settle(runtime, (PASS,)))


def test_rules_come_first_and_the_model_is_asked_about_the_rest(ada: Entity) -> None:
    talked(ada, "my sister died in march, she lived in Leeds", OPEN, "thanks, that helps")
    runtime = choosing(ada, label(0.7))
    settle(runtime)
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
    runtime = replace(choosing(ada), abilities=Abilities(unmeasured="none"))
    settle(runtime)
    (only,) = stored(ada).notices.values()
    assert (only.keep, only.why) == (False, notice.LEANS)


def test_where_the_model_writes_the_pass_does_nothing(ada: Entity) -> None:
    talked(ada, OPEN)
    assert settle(replace(choosing(ada), abilities=ABLE)) == []


def notices_of(ada: Entity) -> list[Notice]:
    return list(stored(ada).notices.values())


def test_a_backend_without_probabilities_is_asked_for_the_label_itself(ada: Entity) -> None:
    talked(ada, OPEN)
    settle(choosing(ada, Reply("plan", purpose="notice")))
    assert [(each.keep, each.share) for each in notices_of(ada)] == [(True, 1.0)]


def test_an_answer_that_is_no_label_leaves_it_to_the_rules(ada: Entity) -> None:
    talked(ada, OPEN)
    settle(choosing(ada, Reply("Sure!", purpose="notice")))
    assert [(each.keep, each.why) for each in notices_of(ada)] == [(False, notice.LEANS)]


def test_one_token_is_asked_for_and_the_message_stands_last(ada: Entity) -> None:
    talked(ada, OPEN)
    runtime = choosing(ada, label(0.7))
    settle(runtime)
    assert isinstance(runtime.model, ScriptedModel)
    (request,) = runtime.model.requests
    assert (request.max_tokens, request.temperature, request.schema) == (1, 0.0, None)
    assert request.messages[-1].content == OPEN
    assert (request.top_logprobs, request.cache_id) == (30, "cycle:notice")


def test_what_a_tool_or_an_import_brought_is_not_noticed(ada: Entity) -> None:
    talked(ada, OPEN)
    session = stored(ada)
    asked = next(message for message in session.messages if message.role == "user")
    for trust in ("tool", "imported"):
        brought = replace(asked, id=f"msg_{trust}", trust=trust)
        assert notice.of(choosing(ada), session, [brought]) == ({}, [])
    spoken = [message for message in session.messages if message.role == "assistant"]
    assert notice.of(choosing(ada), session, spoken) == ({}, [])


def test_a_model_that_cannot_be_reached_leaves_the_messages_waiting(ada: Entity) -> None:
    talked(ada, OPEN, "my sister Ines died in march")
    runtime = replace(choosing(ada), model=Absent([]))
    (failed,) = settle(runtime)
    assert failed.problem is not None
    assert notices_of(ada) == []
    settle(choosing(ada, label(0.7)))
    assert len(notices_of(ada)) == 2


def test_a_confidence_and_a_feeling_are_noted_with_the_message(ada: Entity) -> None:
    talked(ada, "don't tell anyone but i am so ashamed of my brother")
    settle(choosing(ada))
    (only,) = notices_of(ada)
    assert (only.confided, only.feelings, only.keep) == (True, ("ashamed",), True)


def test_a_correction_names_what_it_may_put_right_likeliest_first(ada: Entity) -> None:
    talked(
        ada,
        "my sister Ines moved to Leeds on 3 march",
        "the dentist appointment is on thursday",
        "scrap that, the dentist appointment is on friday now",
    )
    first, second, third = (each for each in stored(ada).messages if each.role == "user")
    settle(choosing(ada, Reply("2", purpose="correction", probabilities={"2": 0.9, "1": 0.1})))
    noticed = stored(ada).notices
    assert noticed[third.id].corrects[0] == second.id
    assert noticed[first.id].corrects == noticed[second.id].corrects == ()


def test_a_correction_of_nothing_that_was_said_names_nothing(ada: Entity) -> None:
    talked(ada, "my sister Ines moved to Leeds on 3 march", "scrap that, no cheese any more")
    settle(choosing(ada, label(0.7)))
    assert [each.corrects for each in notices_of(ada)] == [(), ()]


def test_a_correction_finds_what_was_said_in_another_conversation(ada: Entity) -> None:
    clock = Clock()
    runtime = runtime_of(ada, ScriptedModel([say("I see."), say("I see.")]), clock)
    before = talk(runtime, "the dentist appointment is on thursday").session
    clock.at += timedelta(days=2)
    later = talk(runtime, "scrap that, the dentist appointment is friday now", new=True).session
    at_last = session_files.find(ada.sessions, later.id)
    asked = next(message for message in before.messages if message.role == "user")
    notices, _ = notice.of(choosing(ada), at_last, at_last.messages)
    assert [each.corrects for each in notices.values()] == [(asked.id,)]


@pytest.mark.parametrize(
    "later",
    [
        "nothing doing in Freyburg before the 24th, the sexton put his back out",
        "sexton put his back out. Freyburg 24th",
    ],
)
def test_a_date_beside_a_word_that_had_one_says_more_of_it(ada: Entity, later: str) -> None:
    talked(ada, "I take the clockwork out in Freyburg on September 16, the sexton opens", later)
    settle(choosing(ada, label(0.01)))
    before, after = notices_of(ada)
    assert (after.keep, after.why, after.corrects) == (True, notice.FOLLOWS, (before.message,))


@pytest.mark.parametrize(
    ("later", "corrects"),
    [
        ("I take the clockwork out in Freyburg on September 24, the sexton is ill", True),
        ("I saw my mother in Freyburg on September 24, she is well", False),
    ],
)
def test_what_is_kept_corrects_what_it_shares_a_date_and_three_words_with(
    ada: Entity, later: str, corrects: bool
) -> None:
    talked(ada, "I take the clockwork out in Freyburg on September 16, the sexton opens", later)
    settle(choosing(ada, label(0.9)))
    before, after = notices_of(ada)
    assert after.keep
    assert after.corrects == ((before.message,) if corrects else ())


@pytest.mark.parametrize(
    ("earlier", "later", "corrects"),
    [
        (
            "my round starts at 5:50, first comes Dettmer",
            "Dettmer moved, my round starts 6:40",
            True,
        ),
        ("Sam plays hockey in Leeds on May 3", "Sam gets new hockey boots on May 9", False),
    ],
)
def test_what_is_kept_corrects_what_it_shares_an_hour_and_two_words_with(
    ada: Entity, earlier: str, later: str, corrects: bool
) -> None:
    talked(ada, earlier, later)
    settle(choosing(ada, label(0.9), label(0.9)))
    before, after = notices_of(ada)
    assert after.keep
    assert after.corrects == ((before.message,) if corrects else ())


def test_a_number_beside_one_word_of_what_had_one_says_more_of_it_but_corrects_nothing(
    ada: Entity,
) -> None:
    talked(ada, "my daughter Dev is 12 and plays hockey", "the crew gave Dev 3 photos")
    settle(choosing(ada, label(0.01)))
    after = notices_of(ada)[-1]
    assert (after.keep, after.why, after.corrects) == (True, notice.FOLLOWS, ())


@pytest.mark.parametrize(
    "later",
    [
        "the sexton of Freyburg smiled at the whole crew",  # nothing that could be another now
        "the 24th smiled at the whole crew",  # a date of something else
        "can the sexton do Freyburg on the 24th?",
        "lol the sexton of Freyburg marries his bell on the 24th",
    ],
)
def test_no_figure_or_no_word_of_it_or_no_statement_takes_nothing_up(
    ada: Entity, later: str
) -> None:
    talked(ada, "I take the clockwork out in Freyburg on September 16, the sexton opens", later)
    settle(choosing(ada, label(0.01)))
    assert notices_of(ada)[-1].keep is False


def test_what_another_process_noticed_meanwhile_is_not_noticed_twice(ada: Entity) -> None:
    talked(ada, OPEN)
    first, second = choosing(ada, label(0.7)), choosing(ada, label(0.2))
    (due,) = notice.check(first).jobs
    outcome = notice.run(second, due)
    settle(first)
    assert apply(second, outcome).written == []
    assert [each.keep for each in notices_of(ada)] == [True]


def test_an_unanswered_message_waits(ada: Entity) -> None:
    runtime = runtime_of(ada, ScriptedModel([]))
    who = participants.person(ada, runtime.identity, None)
    session, is_new = participants.open_session(runtime, who, runtime.clock(), new=True)
    participants.listen(runtime, session, is_new, who, OPEN)
    assert notice.check(choosing(ada)).jobs == ()


@kills.forks
def test_a_process_killed_while_it_notices_loses_no_message(ada: Entity) -> None:
    talked(ada, OPEN, "my sister Ines died in march")
    for calls in range(1, 40):

        def work(last: int = calls) -> None:
            def die(n: int, is_done: bool) -> None:
                if n == last and is_done:
                    os._exit(9)

            with kills.every_call(die):
                settle(choosing(ada, label(0.7)))

        ended = kills.in_child(work)
        assert len(notices_of(ada)) in (0, 2)
        if ended == 0:
            break
    settle(choosing(ada, label(0.7)))
    lines = [line for line in stored(ada).source.splitlines() if '"type":"notice"' in line]
    assert len(lines) == len(notices_of(ada)) == 2


def test_a_message_that_asks_for_silence_makes_the_one_before_confided(ada: Entity) -> None:
    clock = Clock()
    talked(ada, "i got the job in leeds, starting on 3 may", "don't tell anyone", clock=clock)
    settle(choosing(ada, label(0.7), label(0.1)))
    first, _ = notices_of(ada)
    assert (first.keep, first.confided) == (True, True)


def test_a_request_for_silence_reaches_what_was_noticed_before_it_came(ada: Entity) -> None:
    clock = Clock()
    talked(ada, "i got the job in leeds, starting on 3 may", clock=clock)
    settle(choosing(ada, label(0.7)))
    assert [each.confided for each in notices_of(ada)] == [False]
    talk(runtime_of(ada, ScriptedModel([say("Fine.")]), clock), "don't tell anyone")
    settle(choosing(ada, label(0.1)))
    assert notices_of(ada)[0].confided


def test_an_announced_confidence_is_the_next_message_not_the_one_before(ada: Entity) -> None:
    talked(
        ada,
        "i got the job in leeds, starting on 3 may",
        "this stays between us:",
        "i owe my uncle 4000 pounds since march",
    )
    settle(choosing(ada, label(0.1), label(0.1)))
    first, _, third = notices_of(ada)
    assert (first.confided, third.confided) == (False, True)


def test_a_request_for_silence_does_not_reach_what_was_said_long_before(ada: Entity) -> None:
    clock = Clock()
    runtime = runtime_of(ada, ScriptedModel([say("I see."), say("I see.")]), clock)
    talk(runtime, "i got the job in leeds, starting on 3 may")
    clock.at += timedelta(minutes=20)
    talk(runtime, "don't tell anyone")
    settle(choosing(ada, label(0.1)))
    assert [each.confided for each in notices_of(ada)] == [False, False]


def test_what_was_asked_stays_when_the_model_goes_away_in_the_middle(ada: Entity) -> None:
    talked(ada, OPEN, "the harbour was full of boats and gulls")
    *_, failed = settle(replace(choosing(ada), model=Leaving([label(0.7)])))
    assert failed.problem is not None
    assert [each.share for each in notices_of(ada)] == [0.7]
    settle(choosing(ada, label(0.2)))
    assert [each.share for each in notices_of(ada)] == [0.7, 0.2]


def test_what_is_surely_only_imagined_is_no_correction() -> None:
    text = "sometimes I am a baker in Trinity instead, my sister no longer in Kiel"
    verdict = rules.judge(text, "en")
    assert verdict.corrects
    assert notice.decided(verdict, notice.Opinion(tells_nothing=True)).keep
    imagined = notice.Opinion(tells_nothing=True, is_surely_imagined=True)
    assert not notice.decided(verdict, imagined).keep


@pytest.mark.parametrize(
    ("language", "plan"),
    [("en", "from next monday on I am in Oslo"), ("de", "ab nächster Woche bin ich in Oslo")],
)
def test_a_plan_from_a_day_on_puts_nothing_right(language: str, plan: str) -> None:
    verdict = rules.judge(plan, language)
    assert (verdict.keep, verdict.corrects) == (True, False)
