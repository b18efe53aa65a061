from __future__ import annotations

import random
from datetime import timedelta

import pytest
from msgspec.structs import replace

from bumble.chat import participants, turn
from bumble.chat.reply_writer import Heard, ReplyStream
from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.errors import RefusedError
from bumble.jobs import stretch
from bumble.llm.scripted import ScriptedModel
from bumble.prompt import preamble
from bumble.records import (
    beliefs,
    episodes,
    knowledge,
    narrative,
    relationships,
    reminders,
    sessions,
    skills,
)
from bumble.records.base import Provenance
from bumble.records.sessions import Message
from bumble.runtime import job, people
from bumble.text import tokens
from tests.support.stretches import claim, makes
from tests.support.turns import NOON, Clock, act, runtime_of, say, stored, talk

SECRET = "marzipan"  # what Sam told in private, in every kind of memory
FOR_SAM = Provenance("chat", "m", ("ses_1", "msg_1"), "owner", ("sam",))


@pytest.fixture
def private(ada: Entity) -> Entity:
    """Ada, to whom Sam told in private of his marzipan."""
    talk(
        runtime_of(ada, ScriptedModel([say("Your marzipan is safe.")])),
        "I steal marzipan at night.",
    )
    sam = relationships.find(ada.relationships, "sam")
    about = f"Sam steals {SECRET} at night."
    planned = [
        relationships.plan_update(
            sam, "", text=about, dynamic=f"We share {SECRET}.", provenance=FOR_SAM
        ),
        episodes.EPISODE.plan_new(
            episodes.new("ep_1", NOON, 0.9, about, people=("sam",), provenance=FOR_SAM), ""
        ),
        beliefs.BELIEF.plan_new(
            beliefs.new("bel_1", about, "preference", 0.9, NOON, provenance=FOR_SAM), ""
        ),
        knowledge.plan_set(
            knowledge.read(ada.knowledge),
            "[locked] Night",
            about,
            "",
            by_entity=False,
            provenance=FOR_SAM,
        ),
        skills.plan_set(
            [],
            "night sweets",
            about,
            f"How to steal {SECRET} at night.",
            "",
            overwrite=True,
            provenance=FOR_SAM,
        ),
        narrative.plan_tell(None, f"I know of {SECRET}.", NOON, FOR_SAM, ""),
    ]
    changes.apply(ada.root, ChangeSet("", tuple(one for one in planned if one is not None)))
    return ada


def sent(model: ScriptedModel) -> str:
    return "\n".join(one.content for request in model.requests for one in request.messages)


def in_company(entity: Entity, model: ScriptedModel, text: str, speaker: str, *others: str) -> str:
    """One turn of somebody whom others hear; returns the id of the conversation."""
    runtime = replace(
        runtime_of(entity, model), rng=random.Random(text)
    )  # another process each time
    who = people.speaker(entity, runtime.identity, speaker)
    present = [people.speaker(entity, runtime.identity, name) for name in others]
    session, is_new = participants.open_session(runtime, who, runtime.clock(), present=present)
    heard = participants.listen(runtime, session, is_new, who, text)
    runtime.memory.sync()
    turn.answer(runtime, turn.prepare(runtime, Heard(heard, who)), ReplyStream(lambda _: None))
    return session.id


@pytest.mark.parametrize("others", [(), ("Sam",)])
def test_what_one_told_in_private_reaches_no_other_prompt(
    private: Entity, others: tuple[str, ...]
) -> None:
    asking = ["recall", "list_skills", "read_skill"]
    model = ScriptedModel(
        [
            act("recall", query="who steals sweets at night"),
            act("list_skills"),
            act("read_skill", name="night sweets"),
            say("I don't know."),
        ]
    )
    in_company(private, model, "Who steals sweets at night?", "Bo", *others)
    chats = [request for request in model.requests if request.purpose == "chat"]
    assert len(chats) == len(asking) + 1
    assert SECRET not in sent(model)


def test_what_two_say_to_one_another_waits_for_no_answer(ada: Entity) -> None:
    model = ScriptedModel([act("end_turn"), say("Nine.")])
    in_company(ada, model, "Bo, how much was it?", "Sam", "Bo")
    talked = stored(ada)
    assert len(model.requests) == 1 and talked.unanswered == ()
    in_company(ada, model, "Ada, do you know?", "Bo", "Sam")
    assert '"text":""' not in sent(model)


def test_in_company_there_is_a_line_for_each_within_the_budget(private: Entity) -> None:
    bo = relationships.new("Bo", NOON)
    open_text = relationships.plan_update(bo, "", text="Bo bakes bread. " * 400)
    changes.apply(
        private.root,
        ChangeSet("", tuple(filter(None, [relationships.PERSON.plan_new(bo, ""), open_text]))),
    )
    model = ScriptedModel([say("Hello both.")])
    in_company(private, model, "We are both here, what do you know of us?", "Sam", "Bo")
    asked = model.requests[0].messages[-1].content
    assert "Bo can hear you too: what one told you alone is not shown to you now." in asked
    block = asked[asked.index("Who is here:") : asked.index("</memory>")]
    lines = [line for line in block.split("\n") if line.startswith("- ")]
    assert lines[0] == "- Sam (forming, 1 turn so far)"
    assert lines[1].startswith("- Bo (forming, 0 turns so far): Bo bakes bread.")
    assert tokens.estimate(block) <= 800


def test_the_same_company_goes_on_with_its_conversation_and_no_other_does(ada: Entity) -> None:
    model = ScriptedModel([say(f"Answer {n}.") for n in range(5)])
    alone = in_company(ada, model, "Only me.", "Sam")
    both = in_company(ada, model, "Bo is here.", "Sam", "Bo")
    assert in_company(ada, model, "And I speak.", "Bo", "Sam") == both != alone
    assert in_company(ada, model, "Only me again.", "Sam") == alone
    assert in_company(ada, model, "Only me, Bo.", "Bo") not in (alone, both)


def test_nobody_is_let_into_a_conversation_they_did_not_hear(ada: Entity) -> None:
    runtime = runtime_of(ada, ScriptedModel([say("Safe.")]), Clock())
    session = talk(runtime, "This stays with us.").session
    bo = people.speaker(ada, runtime.identity, "Bo")
    with pytest.raises(RefusedError, match="bo would read"):
        participants.open_session(runtime, bo, NOON, session_id=session.id)
    sam = people.speaker(ada, runtime.identity, None)
    with pytest.raises(RefusedError, match="bo would read"):
        participants.open_session(runtime, sam, NOON, session_id=session.id, present=[bo])


def test_what_is_written_in_company_is_for_all_who_heard_it(ada: Entity) -> None:
    model = ScriptedModel([act("update_knowledge", title="Tea", body="At four."), say("Noted.")])
    in_company(ada, model, "Tea is at four.", "Sam", "Bo")
    section = knowledge.find(knowledge.read(ada.knowledge), "Tea")
    assert section is not None
    assert section.provenance.audience == ("sam", "bo")


def test_who_only_listens_has_a_file_and_is_in_the_episode_and_its_audience(ada: Entity) -> None:
    clock = Clock()
    told = makes(claim("Sam flew a red kite.", "m1", rests=["red kite"]))
    runtime = runtime_of(ada, ScriptedModel([say("Lovely."), told]), clock)
    sam, kim = (people.speaker(ada, runtime.identity, name) for name in ("Sam", "Kim Lee"))
    session, is_new = participants.open_session(runtime, sam, clock.at, present=[kim])
    text = "We flew a red kite at the beach today, and it broke in the storm."
    heard = participants.listen(runtime, session, is_new, sam, text, listeners=[kim])
    assert relationships.find(ada.relationships, kim.id).names == ("Kim Lee",)
    runtime.memory.sync()
    turn.answer(runtime, turn.prepare(runtime, Heard(heard, sam)), ReplyStream(lambda _: None))
    clock.at += timedelta(hours=8)
    [due] = stretch.check(runtime).jobs
    job.apply(runtime, stretch.run(runtime, due))
    [episode] = list(episodes.EPISODE.readable(ada.episodes))
    assert episode.people == ("sam", kim.id)
    assert set(episode.provenance.audience) == {"sam", kim.id}


def test_in_company_a_portrait_gives_what_all_may_know(private: Entity) -> None:
    both = Provenance(audience=("sam", "bo"))
    shared = episodes.new("ep_8", NOON, 0.9, "Bo mended the pump.", people=("bo",), provenance=both)
    his = Provenance(audience=("bo",))
    alone = episodes.new("ep_9", NOON, 0.9, "Bo is in debt.", people=("bo",), provenance=his)
    planned = [episodes.EPISODE.plan_new(one, "") for one in (shared, alone)]
    planned.append(relationships.PERSON.plan_new(relationships.new("Bo", NOON, provenance=his), ""))
    changes.apply(private.root, ChangeSet("", tuple(planned)))
    model = ScriptedModel([say("Hello both.")])
    in_company(private, model, "We are both here.", "Sam", "Bo")
    asked = model.requests[0].messages[-1].content
    assert "- Bo (forming, 0 turns so far): Bo mended the pump." in asked
    assert "debt" not in asked


def test_in_company_what_gave_way_is_left_out_and_the_rest_told_apart(ada: Entity) -> None:
    sentences = {
        "bel_old": ("Sam plays no chess.", 0.4, NOON - timedelta(days=1), ("bel_new",)),
        "bel_new": ("Sam plays chess.", 0.95, NOON, ("bel_old",)),
        "bel_tea": ("Sam likes tea.", 0.9, NOON, ()),
    }
    planned = [
        beliefs.BELIEF.plan_new(
            beliefs.new(name, text, "preference", confidence, formed, contradicts=contradicted), ""
        )
        for name, (text, confidence, formed, contradicted) in sentences.items()
    ]
    known = [
        relationships.PERSON.plan_new(relationships.new(name, NOON), "") for name in ("Sam", "Bo")
    ]
    changes.apply(ada.root, ChangeSet("", (*planned, *filter(None, known))))
    model = ScriptedModel([say("Hello both.")])
    in_company(ada, model, "What do you know of us?", "Sam", "Bo")
    asked = model.requests[0].messages[-1].content
    (line,) = [row for row in asked.split("\n") if row.startswith("- Sam (")]
    assert "no chess" not in line
    assert "Sam plays chess.; Sam likes tea." in line or "Sam likes tea.; Sam plays chess." in line


@pytest.mark.parametrize(
    ("origin", "others", "shown"),
    [
        (Provenance(), [], True),
        (Provenance(), ["bo"], False),  # the owner's own, of whom nobody else was told
        (Provenance(audience=("sam", "bo")), ["bo"], True),
        (Provenance(by="mcp", trust="tool", audience=("sam",)), [], False),
    ],
)
def test_reminders_are_shown_to_those_who_were_told_and_none_that_a_program_set(
    ada: Entity, origin: Provenance, others: list[str], shown: bool
) -> None:
    at = NOON + timedelta(days=30)
    told = ("rem_1", at, "Buy the ring.")
    one = reminders.new(*told, person="sam", deliver=reminders.SESSION, provenance=origin)
    changes.apply(ada.root, ChangeSet("", (reminders.REMINDER.plan_new(one, ""),)))
    messages = (Message("msg_1", NOON, "user", "Hello.", speaker="sam"),)
    session = replace(sessions.new("ses_1", NOON, "sam", others), messages=messages)
    text = preamble.reminders_text(runtime_of(ada, ScriptedModel([])), session)
    assert ("Buy the ring." in text) is shown
