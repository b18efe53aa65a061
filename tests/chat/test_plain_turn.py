"""Turns below the tier `write`: what code answers, quotes, tasks, drafts, and a few words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from bumble.chat import code_answers, memory_answer
from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.fallback import due_time, notices, templates
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.models.embed.reader import MessageReading
from bumble.models.tiers import Abilities, Tier
from bumble.records import base, beliefs, knowledge, relationships, reminders, sessions
from bumble.records.base import Provenance
from bumble.records.sessions import Message, Notice
from bumble.runtime.runtime import Runtime
from tests.support import turns
from tests.support.lives import NOON
from tests.support.living import write
from tests.support.reading import doubtful, reading, with_reader
from tests.support.turns import runtime_of

OLIVES = "I can't stand olives"
ASKED = "what can't I stand?"
LONG_AGO = datetime(2024, 11, 5, 10, tzinfo=UTC)


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
    runtime = replace(
        with_reader(runtime_of(entity, model), known), abilities=lambda: Abilities(tier)
    )
    return Talk(runtime), runtime


def test_a_question_of_memory_is_answered_with_what_was_said_in_this_very_talk(
    ada: Entity,
) -> None:
    known = {OLIVES: reading("tell", keep=True), ASKED: reading("ask_memory")}
    talk, _ = told(ada, known)
    assert talk.say(OLIVES) in replies("heard")
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


def test_of_two_corrections_of_one_fact_none_is_lost(ada: Entity) -> None:
    comes, day, hour = "Rex comes on monday at 2", "no, tuesday", "and at 3, not 2"
    known = {
        comes: reading("tell", keep=True),
        day: reading("correct", keep=True, replies={"corrected": 3.0}),
        hour: reading("task"),
        f"{comes} / {hour}": reading("correct", replies={"corrected": 3.0}),
        "when Rex": reading("ask_memory"),
    }
    talk, _ = told(ada, known)
    answers = [talk.say(text) for text in (comes, day, hour)]
    assert answers[2] in replies("corrected")
    answer = talk.say("when Rex")
    assert answer.index(hour) < answer.index(day) < answer.index(comes)


def test_the_newest_word_on_the_same_thing_comes_first_though_nobody_called_it_a_correction(
    ada: Entity,
) -> None:
    old, new, ask = "Ruth lives in Ghent now", "Ruth moved, lives in Lille now", "where lives Ruth"
    known = {text: reading("tell", keep=True) for text in (old, new)}
    talk, _ = told(ada, known | {ask: reading("ask_memory")})
    for text in (new, "it rains", old):
        talk.say(text)
    answer = talk.say(ask)
    assert answer.index("Ghent") < answer.index("Lille")


def test_both_words_that_answer_stand_before_what_only_shares_a_word_with_one(ada: Entity) -> None:
    both = "three hens, Pickle, Mabel, Ghost, and Frank comes on Friday the 12th"
    other, new = "the fox took three hens, Pickle, Mabel, Ghost", "Frank comes on the 15th"
    known = {text: reading("tell", keep=True) for text in (both, other, new)}
    talk, _ = told(ada, known | {"when comes Frank on": reading("ask_memory")})
    for text in (both, new, other):
        talk.say(text)
    answer = talk.say("when comes Frank on")
    assert answer.index("15th") < answer.index("12th")
    assert "fox" not in answer


def replies(name: str) -> tuple[str, ...]:
    """Return the wordings of a short reply."""
    return templates.load("en").replies[name]


BERO, WHEN = "Bero gets here on the 9th", "when is Bero here"


@pytest.mark.parametrize("kind", ["ask_world", "ask_time"])
def test_whatever_a_question_looks_like_what_was_told_answers_it_where_the_model_says_so(
    ada: Entity, kind: str
) -> None:
    known = {BERO: reading("tell", keep=True), WHEN: doubtful(kind)}
    talk, runtime = told(ada, known, "yes", tier="choose")
    talk.say(BERO)
    assert BERO in talk.say(WHEN)
    (asked,) = runtime.model.requests  # type: ignore[attr-defined]
    assert asked.messages[-1].content == f"Told: {BERO}\nAsked: {WHEN}"


def test_what_is_surely_asked_of_the_entity_code_answers(ada: Entity) -> None:
    asked = ("and who are you?", "how are you?", "what can you do?", "do you sleep at night?")
    known = {BERO: reading("tell", keep=True)} | {one: reading("ask_entity") for one in asked}
    talk, runtime = told(ada, known, "Yes, I sleep.", tier="choose")
    talk.say(BERO)
    line = templates.load("en")
    own = line.self.format(name="Ada")
    assert [talk.say(one) for one in asked] == [own, line.well, line.able, line.alive]
    assert talk.say(asked[3]) == own  # not twice the same
    assert runtime.model.requests == []  # type: ignore[attr-defined]


def test_of_several_sentences_the_one_that_asks_is_answered(ada: Entity) -> None:
    both = f"{WHEN}? my aunt is on the phone, she lives in Whitby."
    known = {BERO: reading("tell", keep=True), both: reading("tell", keep=True)}
    talk, _ = told(ada, known | {f"{WHEN}?": reading("ask_memory")})
    talk.say(BERO)
    assert BERO in talk.say(both)


ASKS = "Remind me on Friday to pay the rent."


@pytest.mark.parametrize(
    ("own", "other", "says", "due"),
    [
        ("Remind me on Friday at 3 pm to pay the rent.", "The clock rings at 5.", "at 5", "15:00"),
        (ASKS, "The clock rings at 5.", "at 5", "09:00"),
        (ASKS, "After work, like 11 in the morning.", "like 11 in the morning", "11:00"),
        (ASKS, "Good night, until Sunday.", "until Sunday", "09:00"),
    ],
)
def test_a_reminder_takes_its_time_from_its_own_sentence_and_what_is_behind_it(
    ada: Entity, own: str, other: str, says: str, due: str
) -> None:
    both = f"{other} {own}" if "clock" in other else f"{own} {other}"
    when = "on Friday at 3 pm" if "3 pm" in own else "on Friday"
    known = {
        both: reading("remind", when=says, what="to pay the rent"),
        own: reading("remind", when=when, what="to pay the rent"),
    }
    talk, _ = told(ada, known)
    answer = talk.say(both)
    assert "Friday" in answer
    assert due in answer


def test_an_answer_written_as_a_script_loses_its_speaker(ada: Entity) -> None:
    asked = "do you sleep?"
    talk, _ = told(ada, {asked: reading("joke")}, "Sam: I never sleep.", tier="choose")
    assert talk.say(asked) == "I never sleep."


def test_what_is_a_task_most_likely_is_one(ada: Entity) -> None:
    asked = "explain me the difference, please"
    unsure = reading("task")
    unsure = replace(unsure, scores={**unsure.scores, "task": -0.5})
    talk, _ = told(ada, {asked: unsure}, "It is this.", tier="choose")
    assert talk.say(asked) == "It is this."


def test_what_is_surely_nothing_else_goes_on_with_a_task(ada: Entity) -> None:
    task, again = "a rhyme about rain", "ok. so the second line is right like this?"
    unsure = reading()
    unsure = replace(unsure, scores={**unsure.scores, "joke": -0.5})
    known = {task: reading("task"), again: unsure}
    talk, runtime = told(ada, known, "Rain, rain.", "Yes, it is.", tier="choose")
    talk.say(task)
    assert talk.say(again) == "Yes, it is."
    asked = runtime.model.requests[-1]  # type: ignore[attr-defined]
    assert "Rain, rain." in [one.content for one in asked.messages]


def test_who_only_tells_something_does_not_hear_it_in_another_order(ada: Entity) -> None:
    task, again = "an idea for the garden", "no ski slope. the council turned that down"
    unsure = replace(reading(), scores={"joke": -0.5})
    known = {task: reading("task"), again: unsure}
    talk, _ = told(ada, known, "A pond.", "The council turned down that ski slope.", tier="choose")
    talk.say(task)
    assert "council" not in talk.say(again)


def test_a_question_that_nothing_told_answers_goes_to_the_model(ada: Entity) -> None:
    known = {BERO: reading("tell", keep=True), WHEN: doubtful("ask_world")}
    talk, _ = told(ada, known, "no", "In spring.", tier="choose")
    talk.say(BERO)
    assert talk.say(WHEN) == "In spring."


@pytest.mark.parametrize(
    ("ask", "is_of_them"),
    [
        ("what mark did odete get?", True),
        ("Does Will like eels?", True),
        ("will it rain in June?", False),
    ],
)
def test_of_somebody_it_has_met_no_model_is_asked(
    ada: Entity, ask: str, *, is_of_them: bool
) -> None:
    talk, runtime = told(ada, {ask: reading("ask_world")}, "An eight.", tier="choose")
    for name in ("Odete", "Will"):
        write(ada, relationships.PERSON.plan_new(relationships.new(name, NOON), ""))
    assert (talk.say(ask) == templates.load("en").unknown) is is_of_them
    assert len(runtime.model.requests) == int(not is_of_them)  # type: ignore[attr-defined]


def test_what_a_person_wrote_down_answers_whatever_kind_it_is(ada: Entity) -> None:
    ask = "what was grandad afraid of?"
    talk, _ = told(ada, {ask: reading("ask_memory")}, *["Yes."] * 3, tier="choose")
    held = beliefs.new("bel_01", "Grandad was afraid of thunder.", "world_fact", 0.8, NOON)
    write(ada, beliefs.BELIEF.plan_new(held, ""))
    assert talk.say(ask) == "“Grandad was afraid of thunder.”"


def test_a_question_is_no_answer_to_a_question(ada: Entity) -> None:
    first, ask = "Hi, I'm Sam. What was grandad's boat called?", "what was grandad's boat called?"
    talk, _ = told(ada, {first: reading("tell", keep=True), ask: reading("ask_memory")})
    talk.say(first)
    assert talk.say(ask) == templates.load("en").unknown


def test_what_is_told_before_a_question_answers_one(ada: Entity) -> None:
    first, ask = "My dentist is Dr Huber, do you know her?", "who is my dentist?"
    talk, _ = told(ada, {first: reading("tell", keep=True), ask: reading("ask_memory")})
    talk.say(first)
    assert "Dr Huber" in talk.say(ask)


def test_what_is_told_behind_a_question_answers_one(ada: Entity) -> None:
    first, ask = "Karl? He's my brother, a baker in Graz.", "who is Karl?"
    talk, _ = told(ada, {first: reading("tell", keep=True), ask: reading("ask_memory")})
    talk.say(first)
    assert "a baker in Graz" in talk.say(ask)


def test_what_was_told_on_a_day_is_listed_where_nothing_else_is_named(ada: Entity) -> None:
    ask, other = "What did I tell you on Sunday?", "what did I tell you of eels by boat on Sunday?"
    seems = reading("ask_memory")
    seems = replace(seems, scores={**seems.scores, "ask_talk": -1.6})
    talk, _ = told(ada, {OLIVES: reading("tell", keep=True), ask: seems, other: seems})
    talk.say(OLIVES)
    assert OLIVES in talk.say(ask)
    assert OLIVES not in talk.say(other)


def test_what_only_shares_a_word_with_a_question_is_quoted_if_the_model_says_so(
    ada: Entity,
) -> None:
    said, ask = "an old grey dog barked at that dentist", "when am I due, dentist?"
    known = {said: reading("tell", keep=True), ask: reading("ask_memory")}
    talk, _ = told(ada, known, "no", "yes", tier="choose")
    talk.say(said)
    for answer in (templates.load("en").unknown, said):
        assert answer in talk.say(ask)


def test_beside_what_surely_answers_the_model_is_asked_what_was_said_since(ada: Entity) -> None:
    since, rain = "his flight changed, Bero on the 15th", "it rains"
    ask = "Bero gets here on the what"
    known = {text: reading("tell", keep=True) for text in (BERO, since, rain)}
    talk, runtime = told(ada, known | {ask: reading("ask_memory")}, "yes", tier="choose")
    for text in (rain, BERO, since):
        talk.say(text)
    answer = talk.say(ask)
    assert answer.index("15th") < answer.index("9th")
    (asked,) = runtime.model.requests  # type: ignore[attr-defined]
    assert asked.messages[-1].content == f"Told: {since}\nAsked: {ask}"


def test_what_perhaps_asks_for_what_was_told_is_a_task_where_nothing_answers_it(
    ada: Entity,
) -> None:
    ask = "what do I cook when Bero gets here"
    perhaps = reading("ask_memory")
    perhaps = replace(perhaps, scores={**perhaps.scores, "ask_memory": 1.1, "task": -1.8})
    known = {BERO: reading("tell", keep=True), ask: perhaps}
    talk, _ = told(ada, known, "no", "Beans on toast.", tier="choose")
    talk.say(BERO)
    assert talk.say(ask) == "Beans on toast."


def test_of_two_messages_that_are_near_the_one_that_answers_is_quoted(ada: Entity) -> None:
    other, ask = "Bero here has a dog on the 9th floor", "when is Bero here on the 9th"
    known = {text: reading("tell", keep=True) for text in (BERO, other)}
    talk, _ = told(ada, known | {ask: doubtful("ask_world")}, "yes", "no", tier="choose")
    for text in (BERO, other):
        talk.say(text)
    assert len(talk.say(ask).splitlines()) == 2  # what leads over to it, and one quote


def test_who_asks_what_is_known_in_an_unsure_way_hears_that(ada: Entity) -> None:
    ask = "what is it you know"
    talk, _ = told(
        ada, {OLIVES: reading("tell", keep=True), ask: doubtful("ask_known")}, tier="choose"
    )
    talk.say(OLIVES)
    assert OLIVES in talk.say(ask)


def test_a_question_that_nobody_answers_is_not_listened_to(ada: Entity) -> None:
    ask = "which shoes do I wear"
    perhaps = reading("ask_memory")
    perhaps = replace(perhaps, scores={**perhaps.scores, "ask_memory": 1.1, "task": -6.0})
    talk, _ = told(ada, {ask: perhaps}, tier="choose")
    assert talk.say(ask) == templates.load("en").unknown


def test_who_asks_how_many_hears_what_happened_since_to_what_was_counted(ada: Entity) -> None:
    had = "we keep three hens, pickle and mabel. my brother bero comes on friday"
    since, other, ask = "a fox got pickle", "beros train is late", "how many hens"
    known = {text: reading("tell", keep=True) for text in (had, since, other)}
    talk, _ = told(ada, known | {ask: reading("ask_memory")})
    for text in (had, since, other):
        talk.say(text)
    answer = talk.say(ask)
    assert answer.index(since) < answer.index(had)
    assert other not in answer
    assert since not in talk.say("where are pickle and mabel kept")


def test_what_somebody_asked_is_not_among_what_was_said(ada: Entity) -> None:
    asked, ask = "what can't I stand?", "what did we talk about today"
    known = {
        OLIVES: reading("tell", keep=True),
        asked: reading("ask_memory"),
        ask: reading("ask_talk"),
    }
    talk, _ = told(ada, known)
    for text in (OLIVES, asked):
        talk.say(text)
    assert asked not in talk.say(ask)


def test_what_nobody_told_is_said_to_be_unknown(ada: Entity) -> None:
    talk, _ = told(ada, {"what is my shoe size": reading("ask_memory")})
    assert talk.say("what is my shoe size") == (
        "Nothing comes to mind that I can tell you about that."
    )


def test_what_a_model_that_writes_knows_goes_before_older_words(ada: Entity) -> None:
    had, ask = "my locker number is 214", "what is my locker number"
    talk, _ = told(ada, {had: reading("tell", keep=True), ask: reading("ask_memory")})
    talk.say(had)
    later = base.stable_id("msg", NOON + timedelta(days=1), "locker")
    origin = Provenance("distill", "able", (later,), "owner", ("sam",))
    book = knowledge.read(ada.knowledge)
    text = "Sam's locker number is 241."
    write(ada, knowledge.plan_set(book, "Locker", text, "", by_entity=True, provenance=origin))
    answer = talk.say(ask)
    assert "241" in answer and "214" not in answer


def test_a_reminder_is_set_and_said_back_with_its_time(ada: Entity) -> None:
    text = "remind me tomorrow at 9 to ring the vet"
    read = reading("remind", when="tomorrow at 9", what="to ring the vet")
    talk, runtime = told(ada, {text: read})
    assert talk.say(text) == "I'll remind you on Monday, 25 May, 09:00: to ring the vet"
    (made,) = reminders.REMINDER.readable(ada.reminders)
    assert made.at.astimezone(runtime.zone) == datetime(2026, 5, 25, 9, tzinfo=runtime.zone)
    assert (made.text, made.person) == ("to ring the vet", "sam")


def test_what_a_reminder_is_for_is_copied_whole_by_the_model_and_held_to_what_was_said(
    ada: Entity,
) -> None:
    text = "remind me tomorrow at 9 to take my cutter in the house of Mrs Hanrahan, it stayed there"
    read = reading("remind", when="tomorrow at 9", what="take my cutter in the")
    talk, _ = told(ada, {text: read}, "take my cutter in the house of Mrs Hanrahan", tier="choose")
    assert talk.say(text).endswith("09:00: take my cutter in the house of Mrs Hanrahan")
    other = "remind me tomorrow at 9 to feed the goat"
    talk, _ = told(
        ada, {other: reading("remind", when="tomorrow at 9", what="feed")}, "the cow", tier="choose"
    )
    assert talk.say(other).endswith("09:00: remind me to feed the goat")


def test_what_the_reader_and_the_model_find_a_reminder_is_for_is_joined_where_it_meets(
    ada: Entity,
) -> None:
    text = "Remind me tomorrow at 9 to ring Hilda about the boat"
    read = reading("remind", when="tomorrow at 9", what="to ring Hilda")
    talk, _ = told(ada, {text: read}, "ring Hilda about the boat", tier="choose")
    assert talk.say(text).endswith("09:00: to ring Hilda about the boat")


def test_what_a_reminder_is_for_may_be_said_in_the_sentence_before(ada: Entity) -> None:
    text = "I must ring them about the pills. Tell me tomorrow at 9, ok?"
    read = reading("remind", when="tomorrow at 9", what="the pills")
    talk, _ = told(ada, {text: read})
    assert talk.say(text).endswith("25 May, 09:00: I must ring them about the pills")


def test_what_a_reminder_is_for_is_neither_a_time_nor_the_request(ada: Entity) -> None:
    text = "thursday 9:15 job interview in Derry, remind me an hour before"
    known = {
        text: reading("remind", when="thursday 9:15", what="job interview"),
        "remind me an hour": reading("remind"),
    }
    for copied in ("an hour before", "remind me an hour"):
        talk, _ = told(ada, known, copied, tier="choose")
        assert talk.say(text).endswith("Thursday, 28 May, 08:15: job interview")


def test_of_a_reminder_whose_purpose_the_model_misses_a_word_is_said(ada: Entity) -> None:
    text = "thursday 9:15 interview, remind me an hour before"
    known = {text: reading("remind", when="thursday 9:15", what="interview")}
    talk, _ = told(ada, known, "an hour before", tier="choose")
    assert talk.say(text).endswith("08:15: interview")


def test_no_letter_has_what_was_told_in_confidence(ada: Entity) -> None:
    secret, task = "keep it to yourself: I panic in the shafts", "write to my landlord, it is cold"
    known = {secret: reading("confide", keep=True), task: reading("task")}
    talk, runtime = told(ada, known, "Dear landlord, it is cold.", tier="choose")
    talk.say(secret)
    assert talk.say(task) == "Dear landlord, it is cold."
    asked = runtime.model.requests[-1]  # type: ignore[attr-defined]
    assert "shafts" not in " ".join(one.content for one in asked.messages)


def test_no_reminder_is_promised_that_is_not_set(ada: Entity) -> None:
    text, later = "remind me when the kettle boils", "tomorrow at 8, or when it sings"
    known = {text: reading("remind", what="the kettle"), later: reading("tell")}
    talk, _ = told(ada, known)
    assert talk.say(text) == "When should I remind you?"
    assert list(reminders.REMINDER.readable(ada.reminders)) == []
    assert "08:00: the kettle" in talk.say(later)
    assert [one.text for one in reminders.REMINDER.readable(ada.reminders)] == ["the kettle"]


def test_what_is_told_behind_that_question_sets_no_reminder(ada: Entity) -> None:
    text, later = "remind me of the kettle", "mum comes tomorrow at 8"
    known = {text: reading("remind", what="the kettle"), later: reading("tell", keep=True)}
    talk, _ = told(ada, known)
    talk.say(text)
    assert talk.say(later) in replies("heard")
    assert list(reminders.REMINDER.readable(ada.reminders)) == []


def noted(talk: Talk) -> dict[str, Notice]:
    """Return what each message of a conversation is, by its text."""
    session = turns.stored(talk.runtime.entity)
    found = notices.notices(talk.runtime, session, session.messages).of
    return {each.text: found[each.id] for each in session.messages if each.id in found}


def test_what_answers_when_is_no_correction_of_what_was_told_before(ada: Entity) -> None:
    comes, wish, when = "the plumber comes on tuesday at 9", "remind me of the oven", "at 10"
    known = {
        comes: reading("tell", keep=True),
        wish: reading("remind", what="the oven"),
        when: reading("correct", "tell"),
    }
    talk, _ = told(ada, known)
    for text in (comes, wish):
        talk.say(text)
    assert "22:00: the oven" in talk.say(when)
    assert (noted(talk)[when].why, noted(talk)[when].corrects) == ("remind", ())


def test_another_time_said_behind_a_reminder_moves_it(ada: Entity) -> None:
    comes, wish, when = "the plumber comes on tuesday at 9", "friday at 9 the oven", "at 10, not 9"
    known = {
        comes: reading("tell", keep=True),
        wish: reading("remind", when="friday at 9", what="the oven"),
        when: reading("correct"),
    }
    talk, _ = told(ada, known)
    for text in (comes, wish):
        talk.say(text)
    assert talk.say(when).endswith("Friday, 29 May, 10:00: the oven")
    (moved,) = reminders.REMINDER.readable(ada.reminders)
    assert (moved.at.day, moved.at.hour) == (29, 10)
    assert noted(talk)[when].corrects == ()


def test_a_wish_of_its_own_is_no_answer_to_when(ada: Entity) -> None:
    wish, other, again = "remind me of the rent", "wake me up at 5:30", "remind me at 9 please"
    known = {
        wish: reading("remind", what="the rent"),
        other: reading("remind", when="at 5:30"),
        again: reading("remind", when="at 9"),
    }
    talk, _ = told(ada, known)
    talk.say(wish)
    assert talk.say(other).endswith("17:30: wake me up")
    talk.say(wish)
    assert talk.say(again).endswith(": the rent")


def test_a_wish_with_another_purpose_is_no_answer_to_when(ada: Entity) -> None:
    wish, other = "remind me of the rent", "in two hours please the bins"
    known = {
        wish: reading("remind", what="the rent"),
        other: reading("remind", when="in two hours", what="the bins"),
    }
    talk, _ = told(ada, known | {"of the oven, one day": reading("remind", what="the oven")})
    talk.say(wish)
    assert talk.say(other).endswith("15:00: the bins")
    talk.say(wish)
    assert talk.say("of the oven, one day") == templates.load("en").when


def test_a_time_said_again_is_of_what_was_to_be_said(ada: Entity) -> None:
    wish, vague = "remind me of the kettle", "at some hour"
    known = {wish: reading("remind", what="the kettle"), vague: reading("tell", when="at some")}
    talk, _ = told(ada, known | {"the kettle": reading("tell")})
    talk.say(wish)
    hint = talk.say(vague)
    assert hint.endswith('bumble remind add "the kettle" --at 2026-05-25T09:00')
    assert talk.say("2026-11-02 09:00").endswith("Monday, 2 November, 09:00: the kettle")


def test_a_time_alone_is_no_reminder(ada: Entity) -> None:
    text = "2026-11-03 10:00"
    talk, _ = told(ada, {text: reading("remind", when="2026-11-03 10:00")})
    assert talk.say(text) == templates.load("en").what
    assert list(reminders.REMINDER.readable(ada.reminders)) == []


def test_what_comes_each_time_is_not_set_from_half_a_mark(ada: Entity) -> None:
    text = "كل يوم جمعة الساعة 7 مساءً"
    talk, _ = told(ada, {text: reading("remind", when="كل يوم", what="القمامة")})
    assert "bumble remind add" in talk.say(text)


def test_a_wish_that_is_only_said_again_answers_no_when(ada: Entity) -> None:
    wish = "remind me of the oven"
    talk, _ = told(ada, {wish: reading("remind", when="the", what="the oven")})
    assert [talk.say(wish) for _ in range(2)] == [templates.load("en").when] * 2


def test_an_answer_that_names_no_time_sets_no_reminder(ada: Entity) -> None:
    text, later = "remind me of the kettle", "never mind, it sings"
    known = {text: reading("remind", what="the kettle"), later: reading("tell")}
    talk, _ = told(ada, known)
    talk.say(text)
    assert talk.say(later) in replies("seen")
    assert list(reminders.REMINDER.readable(ada.reminders)) == []


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


@pytest.mark.parametrize(
    ("text", "when", "language", "day_and_hour"),
    [
        ("ring him in 20 minutes", "in 20 minutes", "en", (24, 18, 20)),
        ("ring him in half an hour", "in half an hour", "en", (24, 18, 30)),
        ("the bins, at 8", "at 8", "en", (24, 20, 0)),
        ("at 8 the bins, the brown one this week", "at 8", "en", (24, 20, 0)),
        ("the bins, quarter past 5", "quarter past 5", "en", (25, 17, 15)),
        ("tomorrow, the bins", "tomorrow", "en", (25, 9, 0)),
        ("on the 30th at noon", "the 30th at noon", "en", (30, 12, 0)),
        ("friday at 4, the boiler", "friday at 4", "en", (27, 16, 0)),
        ("school thurs 6pm", "thurs 6pm", "en", (26, 18, 0)),
        ("on tuesday at 2", "tuesday at 2", "en", (31, 14, 0)),
        ("morgen um halb neun zum Tierarzt", "morgen um halb neun", "de", (25, 8, 30)),
        ("Freitag 17 Uhr Blumen", "Freitag 17 Uhr", "de", (27, 17, 0)),
        ("in einer halben Stunde", "in einer halben Stunde", "de", (24, 18, 30)),
        ("zaterdag 14u taart", "zaterdag 14u", "nl", (28, 14, 0)),
        ("am Freitagabend Sauna", "am Freitagabend", "de", (27, 18, 0)),
        ("on thursday evening, choir", "thursday evening", "en", (26, 18, 0)),
        ("tonight the bins", "tonight", "en", (24, 21, 0)),
        ("in anderthalb Stunden Nudeln", "in anderthalb Stunden", "de", (24, 19, 30)),
        ("good morning, the bins", "", "en", None),
        ("when the kettle boils", "", "en", None),
        ("no time in this", "", "xx", None),
        ("morgen om half 9 bellen", "morgen om half 9", "nl", (25, 8, 30)),
        ("morgenochtend om half 9", "morgenochtend om half 9", "nl", (25, 8, 30)),
        ("jutro o 17 odebrać tort", "jutro o 17", "pl", (25, 17, 0)),
        ("jutro wieczorem o 8", "jutro wieczorem o 8", "pl", (25, 20, 0)),
        ("明日の朝6時に起こして", "明日の朝6時", "ja", (25, 6, 0)),
        ("明天早上8点提醒我", "", "zh", None),
        (
            "the day after tomorrow at 10 the parcel",
            "the day after tomorrow at 10",
            "en",
            (26, 10, 0),
        ),
        ("après-demain à 10h le garage", "demain à 10h", "fr", (26, 10, 0)),
        ("pasado mañana a las 10 el paquete", "pasado mañana a las 10", "es", (26, 10, 0)),
        ("depois de amanhã às 10 de ir", "depois de amanhã às 10 de", "pt", (26, 10, 0)),
        ("dopodomani alle 10 il pacco", "dopodomani alle 10", "it", (26, 10, 0)),
        ("mardi prochain 14h30 le garage", "mardi prochain 14h30", "fr", (31, 14, 30)),
        ("a shout on the 14th afore eight", "the 14th afore eight", "en", None),
    ],
)
def test_times_are_read_as_people_say_them(
    text: str, when: str, language: str, day_and_hour: tuple[int, int, int] | None
) -> None:
    at = datetime(2026, 3, 24, 18, 0, tzinfo=UTC)  # a Tuesday
    right = day_and_hour and datetime(2026, 3, day_and_hour[0], *day_and_hour[1:], tzinfo=UTC)
    assert due_time.time_of(text, when, language, at) == right


@pytest.mark.parametrize(
    ("when", "language", "cron"),
    [
        ("every Monday at 7pm", "en", "0 19 * * 1"),
        ("every day at 8 pm", "en", "0 20 * * *"),
        ("every morning", "en", "0 9 * * *"),
        ("every Monday and Thursday at 8", "en", "0 8 * * 1,4"),
        ("the first of every month", "en", "0 9 1 * *"),
        ("on the 15th of each month at 8", "en", "0 8 15 * *"),
        ("jeden Sonntag um 18 Uhr", "de", "0 18 * * 0"),
        ("tous les lundis à 8h", "fr", "0 8 * * 1"),
        ("cada lunes a las 8", "es", "0 8 * * 1"),
        ("elke maandag om 8 uur", "nl", "0 8 * * 1"),
        ("every weekday at 7", "en", "0 7 * * 1-5"),
        ("werktags um 7", "de", "0 7 * * 1-5"),
        ("every friday night at 7", "en", "0 19 * * 5"),
        ("毎週金曜日の夜7時に", "ja", "0 19 * * 5"),
        ("平日の朝7時", "ja", "0 7 * * 1-5"),
        ("每天晚上十点", "zh", "0 22 * * *"),
        ("हर शुक्रवार शाम सात बजे", "hi", "0 19 * * 5"),
        ("كل يوم جمعة الساعة 7 مساءً", "ar", "0 19 * * 5"),
        ("隔週金曜の夜7時", "ja", ""),
        ("every few days", "en", ""),
        ("every couple of days at 8", "en", ""),
        ("var tredje dag", "sv", ""),
        ("varannan måndag kl 8", "sv", ""),
        ("the last Friday of each month", "en", ""),
        ("every other day at 8", "en", ""),
        ("every two weeks on Monday", "en", ""),
        ("jeden zweiten Tag um 8", "de", ""),
        ("every hour", "en", ""),
    ],
)
def test_a_time_that_comes_again_is_a_schedule(when: str, language: str, cron: str) -> None:
    at = datetime(2026, 3, 24, 18, 0, tzinfo=UTC)
    assert due_time.repeats(when, language)
    assert due_time.schedule(when, language, at) == cron


def test_what_is_wished_for_every_time_is_set_for_every_time_or_not_at_all(ada: Entity) -> None:
    text, other = "every monday at 8 the bins", "every few days at 8 the cat"
    known = {
        text: reading("remind", when="every monday at 8", what="the bins"),
        other: reading("remind", when="every few days at 8", what="the cat"),
    }
    talk, _ = told(ada, known)
    assert talk.say(text).endswith("Monday, 25 May, 08:00 (every monday at 8): the bins")
    assert "bumble remind add" in talk.say(other)
    assert [one.repeat for one in reminders.REMINDER.readable(ada.reminders)] == ["0 8 * * 1"]


def test_another_hour_said_behind_what_comes_again_is_of_each_time(ada: Entity) -> None:
    text, later = "every monday at 8 the bins", "no, at 10"
    known = {text: reading("remind", when="every monday at 8", what="the bins")}
    talk, _ = told(ada, known | {later: reading("correct")})
    talk.say(text)
    assert talk.say(later).endswith("Monday, 25 May, 10:00: the bins")
    assert [one.repeat for one in reminders.REMINDER.readable(ada.reminders)] == ["0 10 * * 1"]


def test_a_wish_without_a_time_about_what_is_set_shows_it_and_how_to_remove_it(
    ada: Entity,
) -> None:
    text, later = "friday at 9 the choir practice", "cancel the choir reminder"
    known = {
        text: reading("remind", when="friday at 9", what="the choir practice"),
        later: reading("remind", what="choir"),
    }
    talk, _ = told(ada, known)
    talk.say(text)
    (one,) = reminders.REMINDER.readable(ada.reminders)
    shown = "Friday, 29 May, 09:00: the choir practice"
    assert talk.say(later).endswith(f"{shown} (`bumble remind remove {one.id}`)")


CHOIR, BINS = "friday at 9 the choir practice", "monday at 7 the bins"


def with_two_reminders(ada: Entity, known: Mapping[str, MessageReading]) -> Talk:
    """Return a talk in which two reminders were set, and something was said since."""
    wishes = {
        CHOIR: reading("remind", when="friday at 9", what="the choir practice"),
        BINS: reading("remind", when="monday at 7", what="the bins"),
        OLIVES: reading("tell", keep=True),
    }
    talk, _ = told(ada, {**wishes, **known})
    for text in wishes:
        talk.say(text)
    return talk


def test_the_reminders_that_are_set_are_listed_the_next_first(ada: Entity) -> None:
    ask, line = "what will you remind me of?", templates.load("en").wishes
    known = {ask: reading("ask_reminders")}
    talk, _ = told(ada, known)
    assert talk.say(ask) == line.none
    head, first, second = with_two_reminders(ada, known).say(ask).splitlines()
    assert head == line.waiting
    assert "25 May, 07:00: the bins" in first
    assert "29 May, 09:00: the choir practice" in second


def test_who_asks_to_be_reminded_asks_for_no_list(ada: Entity) -> None:
    ask = "will you remind me to invite her?"
    both = reading("remind", "ask_reminders", what="invite her")
    both = replace(both, scores={**both.scores, "remind": 0.7, "ask_reminders": 0.5})
    whole, seems = f"We play on Christmas Eve. {ask}", reading("ask_reminders")
    talk, _ = told(ada, {ask: both})
    assert talk.say(ask) == templates.load("en").when
    known = {whole: reading("remind"), ask.capitalize(): seems}
    talk, _ = told(ada, known | {ask: seems, "We play on Christmas Eve.": reading("tell")})
    assert talk.say(whole) == templates.load("en").when


def test_a_reminder_that_is_not_wanted_any_more_is_taken_away(ada: Entity) -> None:
    gone, either = "no choir reminder any more", "drop that reminder"
    known = {gone: reading("cancel"), either: reading("cancel")}
    talk, line = with_two_reminders(ada, known), templates.load("en").wishes
    assert len(talk.say(either).splitlines()) == 3  # which one, nobody said
    assert talk.say(gone) == line.withdrawn.format(what="the choir practice")
    assert [one.text for one in reminders.REMINDER.readable(ada.reminders)] == ["the bins"]


@pytest.mark.parametrize("said", ["no bins on tuesday", "nothing else"])
def test_no_reminder_goes_that_nobody_surely_meant(ada: Entity, said: str) -> None:
    talk = with_two_reminders(ada, {said: reading("cancel")})
    assert "bumble remind remove" in talk.say(said)
    assert len(list(reminders.REMINDER.readable(ada.reminders))) == 2


def test_thanks_after_a_reminder_moves_nothing(ada: Entity) -> None:
    known = {CHOIR: reading("remind", when="friday at 9", what="the choir practice")}
    talk, _ = told(ada, {**known, "danke": reading("move")})
    talk.say(CHOIR)
    assert "bumble remind add" not in talk.say("danke")


def test_a_reminder_of_before_is_moved_and_no_second_one_is_set(ada: Entity) -> None:
    moved = "the choir thing on saturday at 10 rather"
    talk = with_two_reminders(ada, {moved: reading("move", when="on saturday at 10")})
    assert talk.say(moved).endswith("Saturday, 30 May, 10:00: the choir practice")
    assert len(list(reminders.REMINDER.readable(ada.reminders))) == 2


def test_a_question_about_the_world_lists_no_reminders(ada: Entity) -> None:
    ask = "what does grandpa drive?"
    talk = with_two_reminders(ada, {ask: reading("ask_world", "ask_reminders")})
    assert "practice" not in talk.say(ask)


def test_who_wants_something_forgotten_hears_what_is_so(ada: Entity) -> None:
    ask = "forget what I said about the olives"
    talk, _ = told(ada, {OLIVES: reading("tell", keep=True), ask: reading("forget")})
    talk.say(OLIVES)
    assert talk.say(ask) == templates.load("en").wishes.stays


def test_who_is_to_be_woken_is_not_awake_yet() -> None:
    at = datetime(2026, 3, 24, 18, 0, tzinfo=UTC)
    woken = due_time.time_of("wake me at 5", "at 5", "en", at, wakes=True)
    assert woken == datetime(2026, 3, 25, 5, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("written", "result"),
    [
        ("3 * 6.49 + 11.20", "3 * 6.49 + 11.20 = 30.67"),
        ("`3*6.49 + 11.20 =`", "3*6.49 + 11.20 = 30.67"),
        ("6.49 + 11.20", ""),  # a number is left out
        ("3 * 6.49 + 11.20 - 2", ""),  # one was made up
        ("none", ""),
    ],
)
def test_a_sum_that_a_model_wrote_has_the_numbers_of_the_message(written: str, result: str) -> None:
    asked = "3 bags at 6.49 and a roll of netting 11.20, what's that?"
    assert code_answers.worked_out(written, asked, "en") == result


@pytest.mark.parametrize(
    ("asked", "language", "written", "result"),
    [
        ("die Wohnung kostet 1.260, wir sind zu 7", "de", "1.260 / 7", "1260 / 7 = 180"),
        ("52 litres at 1.789 each", "en", "52 * 1.789", "52 * 1.789 = 93.028"),
        ("3200 less 980 and 19%", "en", "3200 - 980 - 3200 * 19 / 100", "1612"),
        ("8 sacks of 12.500 kg", "en", "12.500 * 8", "12.500 * 8 = 100"),
        ("15% of 240", "en", "15 * 15 * 240 / 100", ""),
    ],
)
def test_numbers_of_a_sum_are_read_as_they_were_written(
    asked: str, language: str, written: str, result: str
) -> None:
    found = code_answers.worked_out(written, asked, language)
    assert found.endswith(result)
    assert bool(found) == bool(result)


def test_who_is_asked_for_by_name_is_told_of_however_far_the_words_are() -> None:
    assert memory_answer.is_named("My brother Tom lives in Leeds.", "Who is Tom?")
    assert not memory_answer.is_named("My brother Tim lives in Leeds.", "Who is Tom?")
    assert not memory_answer.is_named("Bea, whose birthday it was, ate.", "When is my birthday?")


def test_who_tells_of_somebody_else_is_not_greeted_by_that_name(ada: Entity) -> None:
    text = "my granddaughter becky put you on this computer"
    talk, _ = told(ada, {text: reading("introduce", "tell", keep=True, name="becky")})
    assert "Becky" not in talk.say(text)


def test_who_introduces_themselves_hears_of_nothing_that_is_unknown(ada: Entity) -> None:
    text, first, last = "im sam, i sing. whos this then", "im sam, i sing.", "whos this then"
    noted = {"noted": 2.0}
    known = {
        text: reading("introduce", "ask_memory", keep=True, name="sam", replies=noted),
        first: reading("introduce", "tell", keep=True, name="sam", replies=noted),
        f"{first} / {last}": reading("ask_memory"),
        last: reading("ask_memory"),
    }
    talk, _ = told(ada, known)
    assert talk.say(text) == "Hello Sam. I'm Ada. I live in this folder and remember what I'm told."


def test_who_introduces_themselves_is_greeted_by_name_and_told_who_it_is(ada: Entity) -> None:
    text = "good evening, im sam and i drive the school bus"
    talk, _ = told(ada, {text: reading("introduce", name="sam")})
    assert talk.say(text).startswith("Hello Sam. I'm Ada.")


def test_a_name_is_known_by_code(ada: Entity) -> None:
    talk, _ = told(
        ada,
        {
            "whats my name": replace(
                reading("ask_name", "ask_memory"), scores={"ask_name": 4.0, "ask_memory": 5.0}
            )
        },
    )
    assert talk.say("whats my name").startswith("You're Sam. I'm Ada.")


def test_what_is_known_of_somebody_is_what_they_told(ada: Entity) -> None:
    ask = "what do you know about me"
    talk, _ = told(ada, {OLIVES: reading("tell", keep=True), ask: reading("ask_known")})
    talk.say(OLIVES)
    assert OLIVES in talk.say(ask)


def test_of_all_that_is_known_what_is_worth_most_is_listed(ada: Entity) -> None:
    ask, small = "what do you know about me", replace(reading("tell", keep=True), keep=0.1)
    idle = [
        "rain",
        "fog",
        "wind",
        "hail",
        "snow",
        "sleet",
        "dust",
        "frost",
        "mist",
        "smoke",
        "ice",
        "thaw",
    ]
    known = dict.fromkeys(idle, small) | {ask: reading("ask_known")}
    talk, _ = told(ada, known | {OLIVES: reading("tell", keep=True)})
    for text in (OLIVES, *idle):
        talk.say(text)
    _, *rows, more = talk.say(ask).splitlines()
    assert OLIVES in rows[-1] and len(rows) == code_answers.KNOWN
    assert more == f"+{len(idle) + 1 - len(rows)}: `bumble show Sam`"


@pytest.mark.parametrize("ask", ["what did we talk about today", "Today, what did we talk about?"])
def test_what_was_said_today_is_told_within_the_same_talk(ada: Entity, ask: str) -> None:
    known = {OLIVES: reading("tell", keep=True), ask: reading("ask_talk", "ask_memory")}
    talk, _ = told(ada, known)
    talk.say(OLIVES)
    assert OLIVES in talk.say(ask)


@pytest.mark.parametrize(
    ("ask", "score"), [("what did I tell you of olives", 0.5), ("all you know of Ruth?", 3.9)]
)
def test_who_asks_for_one_thing_hears_that_and_not_all_that_is_known(
    ada: Entity, ask: str, score: float
) -> None:
    other, asks = "Ruth has all the boats", reading("ask_memory")
    known = {text: reading("tell", keep=True) for text in (OLIVES, other, "it rains")}
    asks = replace(asks, scores={**asks.scores, "ask_known": score})
    talk, _ = told(ada, known | {ask: asks})
    for text in known:
        talk.say(text)
    answer = talk.say(ask)
    assert (OLIVES in answer, other in answer) == ("olives" in ask, "Ruth" in ask)
    assert "it rains" not in answer


def test_who_asks_what_was_told_on_a_day_hears_that_of_the_day(ada: Entity) -> None:
    ask, asks = "what did I tell you of olives today", reading("ask_memory")
    asks = replace(asks, scores={**asks.scores, "ask_talk": 1.7})
    talk, _ = told(ada, {ask: asks})
    for text in (OLIVES, "it rains"):
        talk.say(text)
    assert "it rains" in talk.say(ask)


def test_a_question_before_a_confidence_is_no_question_where_the_whole_is_none(ada: Entity) -> None:
    ask, said = "Can you keep a secret?", "I'm getting divorced."
    perhaps = reading("ask_entity")
    perhaps = replace(perhaps, scores={**perhaps.scores, "ask_entity": 1.5})
    both = reading("confide", "tell", keep=True, replies={"secret": 2.4})
    talk, _ = told(ada, {f"{ask} {said}": both, ask: perhaps})
    assert talk.say(f"{ask} {said}") in replies("secret")


def test_a_wish_that_no_sentence_has_is_none(ada: Entity) -> None:
    whole = reading("remind", keep=True, replies={"secret": 2.4})
    whole = replace(whole, scores={**whole.scores, "remind": 1.8, "confide": 0.1})
    talk, _ = told(ada, {"I'll surprise Nell with a boat. Don't tell her!": whole})
    assert talk.say("I'll surprise Nell with a boat. Don't tell her!") in replies("secret")


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


def test_an_answer_is_said_without_the_line_that_announces_it(ada: Entity) -> None:
    talk, _ = told(
        ada,
        {"two lines please": reading("task")},
        "Sure! Here you go:\n\nFog.\nDog.",
        tier="choose",
    )
    assert talk.say("two lines please") == "Fog.\nDog."


def test_an_answer_begins_with_no_assistants_phrase(ada: Entity) -> None:
    known = {text: reading("task") for text in ("two lines please", "two more")}
    refused = "I'm sorry, but I can't assist with that."
    talk, _ = told(
        ada, known, "Let me know if you need anything else. Fog. Dog.", refused, tier="choose"
    )
    assert talk.say("two lines please") == "Fog. Dog."
    assert talk.say("two more") == templates.load("en").cannot


def test_a_task_is_heard_line_by_line_and_never_a_secret(ada: Entity) -> None:
    poem = (
        "The fox took Pickle. Snow fell!\nThe key is sk-proj-9aZ3kQ7mX2vB8nL4wT6yR1cD5fG0hJ\nEnd."
    )
    runtime = with_reader(
        runtime_of(ada, ScriptedModel([Reply(poem, purpose="chat")])),
        {"a poem please": reading("task")},
    )
    runtime = replace(runtime, abilities=lambda: Abilities("choose"))
    heard: list[str] = []
    done = turns.talk(runtime, "a poem please", say=heard.append)
    assert heard == ["The fox took Pickle. Snow fell!\n"]
    assert done.outcome.said == "The fox took Pickle. Snow fell!"
    assert "sk-proj" not in "".join(message.text for message in done.session.messages)


def test_without_a_model_a_task_is_refused_in_plain_words(ada: Entity) -> None:
    talk, _ = told(ada, {"a haiku please": reading("task")})
    assert "bumble model list" in talk.say("a haiku please")


def test_who_only_tells_something_is_answered_without_the_model(ada: Entity) -> None:
    talk, runtime = told(ada, {}, "Hello, Mira! I'm Ada.", tier="choose")
    assert talk.say("the bus broke down again") in replies("seen")
    assert runtime.model.requests == []  # type: ignore[attr-defined]


def test_the_reader_chooses_what_a_friend_would_say(ada: Entity) -> None:
    said = "flop is gone, only flip is left"
    known = {said: reading("tell", keep=True, replies={"noted": 0.1, "sorry": 2.7, "laugh": -2.0})}
    talk, _ = told(ada, known)
    assert talk.say(said) in replies("sorry")


def test_who_listens_does_not_say_the_same_again(ada: Entity) -> None:
    known = {name: reading("tell", keep=True) for name in ("rain", "mud", "a sock")}
    talk, _ = told(ada, known)
    assert {talk.say(said) for said in ("rain", "mud", "a sock")} == set(replies("heard"))


@pytest.mark.parametrize(("heavy", "reply"), [(2, "sorry"), (1, "heard")])
def test_what_is_surely_heavy_needs_less_to_be_felt_with(
    ada: Entity, heavy: int, reply: str
) -> None:
    said = reading("tell", keep=True, heavy=heavy, replies={"sorry": 0.4, "noted": -2.0})
    talk, _ = told(ada, {"the roof is gone": said})
    assert talk.say("the roof is gone") in replies(reply)


@pytest.mark.parametrize(
    ("reply", "heavy", "is_given"),
    [("laugh", 0, True), ("laugh", 1, False), ("lovely", 1, True), ("lovely", 2, False)],
)
def test_nobody_is_glad_of_what_is_heavy(
    ada: Entity, reply: str, heavy: int, is_given: bool
) -> None:
    said = reading("tell", keep=True, heavy=heavy, replies={reply: 2.0, "noted": -2.0})
    talk, _ = told(ada, {"failed it again lol": said})
    assert (talk.say("failed it again lol") in replies(reply)) == is_given


@pytest.mark.parametrize(("keep", "reply"), [(True, "noted"), (False, "seen")])
def test_that_it_is_kept_is_said_of_what_is_kept(ada: Entity, keep: bool, reply: str) -> None:
    known = {"swimming is on Tuesdays": reading("tell", keep=keep, replies={"noted": -0.1})}
    talk, _ = told(ada, known)
    assert talk.say("swimming is on Tuesdays") in replies(reply)


def test_a_reply_that_says_what_is_done_with_a_message_is_true(ada: Entity) -> None:
    claims = {"noted": 5.0, "secret": 4.0, "wow": 3.0}
    known = {
        "a cup fell": reading("tell", replies=claims),
        "mind that i live in a mill": reading("remember", keep=True, replies=claims),
        "nobody knows i left": reading("confide", keep=True, replies=claims | {"noted": 1.0}),
    }
    talk, _ = told(ada, known)
    assert talk.say("a cup fell") in replies("wow")
    assert talk.say("mind that i live in a mill") in replies("noted")
    assert talk.say("nobody knows i left") in replies("secret")


def test_a_message_is_no_task_where_none_of_its_sentences_is(ada: Entity) -> None:
    parts = ("The bike is his.", "I will mend it well.")
    whole = replace(doubtful("tell", task=0.4), replies={"lovely": 3.0})
    text = " ".join(parts)
    known = {text: whole, **dict.fromkeys(parts, reading("tell"))}
    talk, _ = told(ada, known)
    assert talk.say(text) in replies("lovely")


def test_who_greets_and_tells_is_greeted_and_heard(ada: Entity) -> None:
    text = "good morning! the cat brought a mouse"
    known = {text: reading("tell", "greet", replies={"laugh": 3.0})}
    talk, _ = told(ada, known)
    answer = talk.say(text)
    assert answer.startswith("Hello")
    assert answer.endswith(replies("laugh"))


def test_a_laugh_is_no_answer_to_a_question(ada: Entity) -> None:
    said = "do you sleep, or wait there in the dark? poor you"
    talk, _ = told(ada, {said: reading("joke")}, "I don't sleep.", tier="choose")
    assert talk.say(said) == "I don't sleep."


def test_an_answer_that_is_only_a_placeholder_is_none(ada: Entity) -> None:
    known = {"write a card for renate": reading("task")}
    talk, _ = told(ada, known, "[Here is the card]", tier="choose")
    assert "bumble model list" in talk.say("write a card for renate")


def test_what_looks_like_a_task_but_names_a_time_is_a_reminder(ada: Entity) -> None:
    text = "a nudge on friday at 4 about the cake"
    perhaps = reading("task", when="friday at 4", what="the cake")
    talk, _ = told(ada, {text: perhaps})
    assert "16:00" in talk.say(text)
    assert [each.text for each in reminders.REMINDER.readable(ada.reminders)] == ["the cake"]


def test_an_answer_that_gives_the_message_back_is_not_said(ada: Entity) -> None:
    asked = "do you like rain?"
    talk, _ = told(ada, {asked: reading("joke")}, f"{asked} I've never been wet.", tier="choose")
    assert talk.say(asked) == "I've never been wet."


def test_of_an_answer_the_first_sentences_are_said(ada: Entity) -> None:
    asked, answer = "do you like rain?", "I do. I like its sound. I hear it. It goes on and on."
    talk, _ = told(ada, {asked: reading("joke")}, answer, tier="choose")
    assert talk.say(asked) == "I do. I like its sound. I hear it."


def test_an_answer_that_goes_round_in_circles_ends(ada: Entity) -> None:
    poem = "Leeks are a gift of the earth,\nand of the rain.\nLeeks are a gift of the earth,\nand"
    talk, _ = told(ada, {"a poem please": reading("task")}, poem, tier="choose")
    assert talk.say("a poem please") == "Leeks are a gift of the earth,\nand of the rain."


def test_of_a_list_that_begins_anew_no_bare_number_is_left(ada: Entity) -> None:
    steps = "1. Scrape the wax off first.\n2. Iron it through paper.\n"
    again = "3. Scrape the wax off first."
    talk, _ = told(ada, {"wax?": reading("task")}, f"{steps}{again}", tier="choose")
    assert talk.say("wax?") == steps.strip()


def test_so_does_one_that_says_the_same_words_again_within_a_line(ada: Entity) -> None:
    talk, _ = told(ada, {"a rhyme": reading("task")}, "Tidy" + " clean up," * 50, tier="choose")
    assert talk.say("a rhyme") == "Tidy clean up,"


def test_a_task_is_about_what_was_just_told(ada: Entity) -> None:
    said, task = "my brother comes on friday, he has never seen snow", "plan his first day"
    known = {said: reading("tell", keep=True), task: reading("task")}
    talk, runtime = told(ada, known, "Go sledging.", tier="choose")
    talk.say(said)
    assert talk.say(task) == "Go sledging."
    asked = runtime.model.requests[-1]  # type: ignore[attr-defined]
    *before, last = asked.messages
    assert said in last.content and last.content.endswith(task)
    assert not any(said in one.content for one in before)  # the same for every task
    noted = replies("noted")  # which a small model would say again
    assert not any(line in one.content for one in asked.messages for line in noted)


def test_where_no_draft_can_be_said_a_few_words_stand_that_claim_nothing(ada: Entity) -> None:
    said = "my mother died last week"
    known = {said: reading("tell", keep=True, replies={"condole": 3.0})}
    talk, _ = told(ada, known, said, said, tier="choose")
    assert talk.say(said) in replies("condole")


def test_in_a_language_without_a_file_no_message_is_given_back(ada: Entity) -> None:
    said, asked = "ik heb een hekel aan olijven", "wat vind ik niet lekker?"
    talk, _ = told(ada, {said: reading("tell", keep=True), asked: reading("ask_memory")})
    assert said not in talk.say(said)
    answer = talk.say(asked)
    assert asked not in answer


def test_a_question_is_no_confidence_whatever_it_looks_like(ada: Entity) -> None:
    said, asked = "ik heb een hekel aan olijven", "heb ik een hekel aan olijven?"
    known = {said: reading("tell", keep=True), asked: reading("confide", "tell")}
    talk, _ = told(ada, known)
    talk.say(said)
    assert said in talk.say(asked)


def test_what_somebody_said_in_a_talk_that_was_imported_answers(ada: Entity) -> None:
    archive = {"from": "chatgpt", "id": "c1"}
    session = sessions.new("ses_01JBWSY000Y0C33HTZTK691CDS", LONG_AGO, "sam", imported=archive)
    said = Message(
        "msg_01JBWSY000Y0C33HTZTK691CDS", LONG_AGO, "user", OLIVES, speaker="sam", trust="owner"
    )
    changes.apply(ada.root, ChangeSet("import", (sessions.plan_start(session, "x", [said]),)))
    talk, _ = told(ada, {ASKED: reading("ask_memory")})
    assert OLIVES in talk.say(ASKED)


def test_what_its_owner_wrote_by_hand_answers_as_it_stands(ada: Entity) -> None:
    by_hand = "\n## Boiler\n\nServiced each May by Hansel, on the left of the cellar.\n"
    ada.knowledge.write_text(f"{ada.knowledge.read_text()}{by_hand}")
    ask, other = "who serviced the boiler in May", "which shoes do I wear"
    known = {text: reading("ask_memory") for text in (ask, other)}
    talk, _ = told(ada, known)
    assert talk.say(ask) == "Boiler: “Serviced each May by Hansel, on the left of the cellar.”"
    assert talk.say(other) == templates.load("en").unknown


def test_of_a_task_no_sentence_is_given_back_that_somebody_said(ada: Entity) -> None:
    said, asked = "My bakery is near Christie station.", "two lines for the shop door"
    drafted = f"Family first this week. Sam: {said}"
    known = {said: reading("tell", keep=True), asked: reading("task")}
    talk, _ = told(ada, known, drafted, tier="choose")
    talk.say(said)
    assert talk.say(asked) == "Family first this week."


def test_what_is_to_be_translated_is_not_asked(ada: Entity) -> None:
    order, asked = "translate into french:", WHEN
    text = f"{order} {asked}"
    known = {BERO: reading("tell", keep=True), text: reading("ask_memory"), order: reading("task")}
    talk, runtime = told(ada, known, "Quand Bero arrive-t-il ?", tier="choose")
    talk.say(BERO)
    assert talk.say(text) == "Quand Bero arrive-t-il ?"
    (request,) = runtime.model.requests  # type: ignore[attr-defined]
    assert request.messages[-1].content.endswith(f'{order} "{asked}"')


def test_a_text_may_hold_what_it_was_asked_to_say(ada: Entity) -> None:
    asked = "a sign for the door: closed on Friday for family"
    talk, _ = told(ada, {asked: reading("task")}, "Closed on Friday for family.", tier="choose")
    assert talk.say(asked) == "Closed on Friday for family."


def test_a_reminder_beside_a_question_is_planned(ada: Entity) -> None:
    first, second = "remind me tomorrow at 9 to call the vet.", f"and {WHEN}?"
    remind = reading("remind", when="tomorrow at 9", what="call the vet")
    both = doubtful("ask_memory", remind=-1.0, task=-3.0)
    known = {BERO: reading("tell", keep=True), f"{first} {second}": both}
    talk, _ = told(ada, known | {first: remind, second: reading("ask_memory")})
    talk.say(BERO)
    assert "09:00" in talk.say(f"{first} {second}")
    assert [each.text for each in reminders.REMINDER.readable(ada.reminders)] == ["call the vet"]


def test_what_puts_a_task_right_goes_on_with_it(ada: Entity) -> None:
    task, again = "a rhyme about rain", "a bit shorter, and no umbrella in it"
    known = {task: reading("task"), again: reading("correct")}
    talk, _ = told(ada, known, "Rain, rain, go away from my umbrella.", "Rain, go.", tier="choose")
    talk.say(task)
    assert talk.say(again) == "Rain, go."


def test_each_sentence_that_asks_is_answered(ada: Entity) -> None:
    both = f"{WHEN}? and who are you?"
    known = {BERO: reading("tell", keep=True), both: reading("ask_memory")}
    parts = {f"{WHEN}?": reading("ask_memory"), "and who are you?": reading("ask_entity")}
    talk, _ = told(ada, known | parts)
    talk.say(BERO)
    answer = talk.say(both)
    assert BERO in answer
    assert templates.load("en").self.format(name="Ada") in answer


def test_an_unsure_question_without_its_mark_is_not_answered_with_ignorance(ada: Entity) -> None:
    said = "right thats me. night"
    unsure = reading("ask_memory")
    unsure = replace(unsure, scores={**unsure.scores, "ask_memory": -0.5})
    talk, _ = told(ada, {said: unsure})
    assert talk.say(said) != templates.load("en").unknown


def test_what_was_told_with_a_task_is_found(ada: Entity) -> None:
    task, ask = "how many panels for a fence of 14 metres", "how long was that fence"
    known = {task: reading("task"), ask: reading("ask_memory")}
    talk, _ = told(ada, known, "Eight.", "yes", tier="choose")
    talk.say(task)
    assert "14 metres" in talk.say(ask)
