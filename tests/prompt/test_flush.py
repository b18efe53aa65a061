from __future__ import annotations

import json
from typing import Any

from msgspec.structs import replace

from bumble.entity.folder import Entity
from bumble.jobs import stretch
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.models.tiers import Abilities
from bumble.prompt import compact
from bumble.prompt.compact import CompactJob
from bumble.records import episodes, knowledge, session_files, sessions, state
from bumble.records.sessions import Session
from bumble.runtime.job import JobResult, apply
from bumble.runtime.runtime import Runtime
from tests.support import lives
from tests.support.reading import reading, with_reader
from tests.support.stretches import Citing, claim, fact, makes
from tests.support.talks import TALK, said
from tests.support.turns import snapshot

CHATTER = "It was a day like any other, with this and that and then a little more of it. " * 4
LONG = (*TALK, *[("Sam", CHATTER), ("Ada", "I see, go on.")] * 24, ("Sam", "Bye."), ("Ada", "Bye."))
MOVED = claim("Sam lives in Lisbon.", "m1", rests=["moved to Lisbon"])
HOME = replace(
    makes(MOVED, knowledge=[fact("Sam's home", MOVED)], always=True), contains="moved to Lisbon"
)
NOTHING = makes(always=True)
BROKEN = Reply("I would rather not.", "stretch", always=True)
NOTES = Reply(json.dumps(dict.fromkeys(compact.HEADINGS, "")), "compact", always=True)


def awake(ada: Entity, *replies: Reply, flags: dict[str, Any] | None = None) -> Runtime:
    model = Citing([*replies, NOTES], context_tokens=4096)
    return replace(lives.runtime_of(ada, model, flags=flags), flush=stretch.flush)


def asked(runtime: Runtime, purpose: str = "stretch") -> list[str]:
    model = runtime.model
    assert isinstance(model, ScriptedModel)
    return [one.messages[-1].content for one in model.requests if one.purpose == purpose]


def flushed(runtime: Runtime, session: Session, limit: int | None = None) -> JobResult:
    made = compact.run(runtime, CompactJob(session, 500))
    return stretch.flush(runtime, made, limit=limit, note=lambda _: None)


def titles(ada: Entity) -> list[str]:
    return [one.title for one in knowledge.read(ada.knowledge).sections if not one.locked]


def test_what_leaves_the_view_is_known_before_it_does(ada: Entity) -> None:
    runtime = awake(ada, HOME, NOTHING)
    outcome = flushed(runtime, said(ada, LONG))
    assert titles(ada) == ["Sam's home"]
    assert not session_files.find(ada.sessions, "ses_1").compactions
    assert any("1 fact" in line for line in outcome.lines)
    assert outcome.data["flush"][0]["kept"][0]["text"] == "Sam lives in Lisbon."
    apply(runtime, outcome)
    assert session_files.find(ada.sessions, "ses_1").compactions


def test_what_stays_in_view_is_left_to_distillation(ada: Entity) -> None:
    runtime, session = awake(ada, HOME, NOTHING), said(ada, LONG)
    outcome = flushed(runtime, session)
    last = [one["last"] for one in outcome.data["records"] if one["kind"] == "summary"][-1]
    waits = state.waiting_messages(state.read(ada.state), session)
    ids = [one.id for one in session.messages]
    assert waits[0].id == ids[ids.index(last) + 1]


def test_nothing_is_drawn_twice_by_flush_or_distillation(ada: Entity) -> None:
    runtime, session = awake(ada, HOME, NOTHING), said(ada, LONG)
    apply(runtime, flushed(runtime, session))
    first = asked(runtime)
    for job in stretch.check(runtime, force=True).jobs:
        apply(runtime, stretch.run(runtime, job))
    assert sum("moved to Lisbon" in one for one in asked(runtime)) == 1
    assert len(asked(runtime)) > len(first)
    before, drawn = snapshot(ada.root), len(asked(runtime))
    compacted = session_files.find(ada.sessions, "ses_1")
    undone = sessions.appended(
        compacted, [sessions.Undo(runtime.now(), one.id) for one in compacted.compactions]
    )
    flushed(runtime, undone)
    assert len(asked(runtime)) == drawn
    assert snapshot(ada.root) == before


def test_what_was_distilled_before_is_not_drawn_again(ada: Entity) -> None:
    runtime, session = awake(ada, HOME, NOTHING), said(ada, LONG)
    for job in stretch.check(runtime, force=True).jobs:
        apply(runtime, stretch.run(runtime, job))
    drawn = len(asked(runtime))
    outcome = flushed(runtime, session)
    assert outcome.data["flush"] == []
    assert len(asked(runtime)) == drawn


def test_a_failed_flush_is_told_and_what_it_was_about_waits(ada: Entity) -> None:
    runtime, session = awake(ada, BROKEN), said(ada, LONG)
    before = state.first_waiting(state.read(ada.state), "ses_1")
    outcome = flushed(runtime, session)
    assert any("Nothing was made of it" in line for line in outcome.lines)
    apply(runtime, outcome)
    assert session_files.find(ada.sessions, "ses_1").compactions
    assert state.first_waiting(state.read(ada.state), "ses_1") == before
    assert titles(ada) == []


def test_where_no_model_may_write_what_leaves_the_view_is_quoted(ada: Entity) -> None:
    session = said(ada, LONG)
    known = {each.text: reading("tell", keep=True) for each in session.messages}
    runtime = replace(awake(ada, HOME, NOTHING), abilities=lambda: Abilities("none"))
    outcome = flushed(with_reader(runtime, known), session)
    assert asked(runtime) == []
    assert any("messages" in line for line in outcome.lines)
    assert any("moved to Lisbon" in one.text for one in episodes.EPISODE.readable(ada.episodes))


def test_a_turn_waits_for_no_more_windows_than_after_any_turn(ada: Entity) -> None:
    runtime = awake(ada, HOME, NOTHING, flags={"limits.passes_per_turn": 1})
    _, outcome = compact.make_room(runtime, said(ada, LONG), 500)
    assert outcome is not None
    assert len(asked(runtime)) == 1
    assert titles(ada) == ["Sam's home"]
    assert session_files.find(ada.sessions, "ses_1").compactions


def test_with_an_embedded_model_nobody_waits_and_the_windows_wait(ada: Entity) -> None:
    runtime, session = replace(awake(ada, HOME, NOTHING), local=True), said(ada, LONG)
    before = state.first_waiting(state.read(ada.state), "ses_1")
    _, outcome = compact.make_room(runtime, session, 500)
    assert outcome is not None
    assert asked(runtime) == asked(runtime, "compact") == []
    made = session_files.find(ada.sessions, "ses_1").compactions
    assert [one.extra.get("summary_source") for one in made if one.kind == "summary"] == ["excerpt"]
    assert state.first_waiting(state.read(ada.state), "ses_1") == before


def test_what_was_flushed_comes_to_mind_in_the_same_turn(ada: Entity) -> None:
    runtime, session = awake(ada, HOME, NOTHING), said(ada, LONG)

    def found() -> list[str]:
        hits = runtime.memory.search("Lisbon", kinds=("knowledge",), limit=3)
        return [hit.id for hit in hits if "Lisbon" in hit.text]

    runtime.memory.sync()
    assert found() == []
    compact.make_room(runtime, session, 500)
    assert len(found()) == 1
