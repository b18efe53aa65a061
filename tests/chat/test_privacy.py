from __future__ import annotations

import re
from datetime import timedelta
from zoneinfo import ZoneInfo

from bumble.chat import participants, turn
from bumble.chat.reply_writer import Heard, ReplyStream
from bumble.entity import changes
from bumble.entity.changes import Change, ChangeSet
from bumble.entity.folder import Entity
from bumble.llm.scripted import ScriptedModel
from bumble.records import (
    beliefs,
    dreams,
    episodes,
    journal,
    knowledge,
    narrative,
    relationships,
    sessions,
    skills,
)
from bumble.records.base import Provenance
from bumble.records.relationships import PendingNote
from bumble.records.sessions import Message
from bumble.runtime import people
from tests.support.turns import NOON, Clock, act, runtime_of, say, talk

ZONE = ZoneInfo("Europe/Lisbon")
SAM_ONLY = Provenance("distill", "m", ("msg_1",), "owner", ("sam",))
# One word for each place where what Sam said in private may lie.
PLACES = (
    *("message", "episode", "belief", "knowledge", "locked", "portrait", "dynamic", "pending"),
    *("journal", "narrative", "dream", "skill", "tool", "diary"),
)
SECRETS = {place: f"lighthouse{place}" for place in PLACES}


def write(entity: Entity, *planned: Change | None) -> None:
    changes.apply(entity.root, ChangeSet("", tuple(one for one in planned if one is not None)))


def confide(entity: Entity, clock: Clock) -> None:
    """A life in which Sam has said something in private in every place."""
    s = {place: f"The secret is {word}." for place, word in SECRETS.items()}
    replies = [
        act("update_knowledge", title="Talk", body=s["tool"]),
        act("write_journal", text=s["diary"]),
        say(f"I keep {SECRETS['message']}."),
    ]
    talk(runtime_of(entity, ScriptedModel(replies), clock), f"{s['message']} {s['tool']}")
    book = knowledge.read(entity.knowledge)
    known = relationships.find(entity.relationships, "sam")
    note = PendingNote(s["pending"], NOON, SAM_ONLY)
    told = ("The secret", "how to keep it", f"Say {SECRETS['skill']}.", "")
    write(
        entity,
        knowledge.plan_set(
            book, "Secret", s["knowledge"], "", by_entity=False, provenance=SAM_ONLY
        ),
        episodes.EPISODE.plan_new(
            episodes.new("ep_1", NOON, 0.9, s["episode"], provenance=SAM_ONLY), ""
        ),
        beliefs.BELIEF.plan_new(
            beliefs.new("bel_1", s["belief"], "world_fact", 0.9, NOON, provenance=SAM_ONLY), ""
        ),
        relationships.plan_update(
            known, "", dynamic=s["dynamic"], pending=(note,), text=s["portrait"]
        ),
        journal.plan_add(NOON, s["journal"], ZONE, "", provenance=SAM_ONLY),
        narrative.plan_tell(None, s["narrative"], NOON, SAM_ONLY, ""),
        dreams.DREAM.plan_new(
            dreams.new("drm_1", NOON, (), (s["dream"],), s["dream"], provenance=SAM_ONLY), ""
        ),
        skills.plan_set([], *told, overwrite=False, provenance=SAM_ONLY),
    )
    book = knowledge.read(entity.knowledge)
    write(
        entity,
        knowledge.plan_set(
            book, "[locked] Rule", s["locked"], "", by_entity=False, provenance=SAM_ONLY
        ),
    )


def asking() -> ScriptedModel:
    """A model that looks for the secret wherever it can."""
    return ScriptedModel(
        [
            act("recall", query="the secret"),
            act("recall", query="The secret is lighthousejournal lighthousediary lighthousedream"),
            act("recall", query="lighthousejournal"),
            act("recall", query="Sam"),
            act("list_skills"),
            act("list_skills", filter="secret"),
            act("read_skill", name="The secret"),
            act("read_skill", name="The secrets"),
            act("update_skill", name="The secret", description="x", body="y"),
            act("update_knowledge", title="Secret", body="x"),
            act("update_knowledge", title="Talk", body="x"),
            act("update_knowledge", title="Rule", body="x"),
            say("I don't know."),
        ]
    )


def sent(model: ScriptedModel) -> str:
    """Return all that any request held, but for what the model itself wrote."""
    return "\n".join(
        re.sub('Already searched: .*"', "", one.content)  # its own questions, told back to it
        for request in model.requests
        for one in request.messages
        if one.role != "assistant"
    ).casefold()


def test_nothing_that_one_person_said_in_private_reaches_another(ada: Entity) -> None:
    clock = Clock()
    confide(ada, clock)
    before = {path: path.read_bytes() for path in ada.root.glob("*.md") if path != ada.journal}
    model = asking()
    talk(runtime_of(ada, model, clock), "What is the secret that Sam told you? Why?", "Kim")
    assert [word for word in SECRETS.values() if word in sent(model)] == []
    assert before == {path: path.read_bytes() for path in before}


def test_what_sam_said_is_there_for_sam(ada: Entity) -> None:
    clock = Clock()
    confide(ada, clock)
    clock.at += timedelta(days=1)
    model = asking()
    talk(runtime_of(ada, model, clock), "What is the secret I told you? Why?", new=True)
    found = {place for place, word in SECRETS.items() if word in sent(model)}
    assert {"message", "belief", "journal", "portrait", "skill", "knowledge"} <= found


def test_a_conversation_of_two_holds_only_what_both_may_hear(ada: Entity) -> None:
    clock = Clock()
    confide(ada, clock)
    session = sessions.new("ses_both", clock(), "kim")
    hello = Message("msg_kim", clock(), "user", "Hello you two.", "kim", trust="person")
    write(ada, sessions.plan_start(session, ""), sessions.plan_append(session, [hello], ""))
    model = asking()
    runtime = runtime_of(ada, model, clock)
    who = people.speaker(ada, runtime.identity, None)
    both = sessions.appended(session, [hello])
    heard = participants.listen(runtime, both, False, who, "What is the secret I told you? Why?")
    runtime.memory.sync()
    turn.answer(runtime, turn.prepare(runtime, Heard(heard, who)), ReplyStream(lambda _: None))
    assert heard.people == ("kim", "sam")
    assert [word for word in SECRETS.values() if word in sent(model)] == []
