from __future__ import annotations

import json

import pytest

from bumble.chat import context_report
from bumble.chat.context_report import ContextReport
from bumble.chat.reply_writer import Turn
from bumble.entity.folder import Entity
from bumble.llm.protocol import Request
from bumble.llm.scripted import ScriptedModel
from bumble.records import session_files
from bumble.records.base import Provenance
from bumble.text import tokens
from tests.support import living
from tests.support.turns import NOON, act, runtime_of, say, talk


def talked(entity: Entity) -> tuple[ContextReport, Turn, Request]:
    model = ScriptedModel([say("Hello."), act("recall", query="rain"), say("Rain.")])
    runtime = runtime_of(entity, model)
    talk(runtime, "Hello there.")
    done = talk(runtime, "Why does rain feel like home?")
    sent = next(one for one in model.requests if one.messages == done.composed.request.messages)
    return context_report.of(runtime, done, "run"), done, sent


def test_the_totals_are_those_of_the_request_that_was_sent(ada: Entity) -> None:
    found, _, sent = talked(ada)
    assert found.messages_bytes == sum(len(one.content.encode()) for one in sent.messages)
    assert found.schema_bytes == len(json.dumps(sent.schema, ensure_ascii=False).encode())
    assert found.total_bytes == found.messages_bytes + found.schema_bytes  # a script wraps nothing
    chars = found.system_chars + found.history_chars + found.last_chars
    assert chars == sum(len(one.content) for one in sent.messages)
    assert found.history_messages == len(sent.messages) - 2


def test_the_parts_of_the_system_prompt_add_up_to_the_whole_of_it(ada: Entity) -> None:
    (ada.root / "GENOME.md").write_text("I like rain.")
    found, done, _ = talked(ada)
    assert sum(part.chars for part in found.system) == found.system_chars
    assert found.system[0].name == "frame"
    assert "GENOME.md" not in done.recalled.stable.parts[0].text


@pytest.mark.parametrize(
    ("question", "fits"),
    [("Has the loudspeaker of the radio come?", True), ("What shall I cook tonight?", False)],
)
def test_the_brief_of_the_last_conversation_is_reported_with_its_likeness(
    ada: Entity, question: str, fits: bool
) -> None:
    lines = (("sam", "The loudspeaker comes from Porto."), ("ada", "Good."))
    last = living.talked(ada, "ses_1", *lines)
    text = "## What it was about\nThe loudspeaker of the radio."
    origin = Provenance(by="handover", audience=("sam",))
    living.write(ada, session_files.plan_handover(last.id, None, text, NOON, origin, ""))
    runtime = runtime_of(ada, ScriptedModel([say("Yes.")]))
    done = talk(runtime, question, new=True)
    found = context_report.of(runtime, done, "run").handover
    assert found is not None
    assert (found.session, found.fits) == ("ses_1", fits)
    assert found.likeness is not None
    assert (found.likeness >= found.wants) == fits
    assert (text in done.composed.request.messages[-1].content) == fits


def test_in_a_small_room_what_no_memory_tells_yet_is_told_before_what_comes_to_mind(
    ada: Entity,
) -> None:
    living.heard(ada, ("sam", "The loudspeaker is for sale."), name="ses_1")
    done = talk(runtime_of(ada, ScriptedModel([say("Yes.")])), "And the loudspeaker?", new=True)
    assert [block.name for block in done.composed.blocks][:2] == ["now", "handover"]


def test_the_budget_names_what_every_request_costs(ada: Entity) -> None:
    found, done, _ = talked(ada)
    rows = dict(context_report.budget(found))
    assert rows["Base overhead"] == found.system_chars // 4
    assert rows["System prompt"] + rows["Tool definitions"] == rows["Base overhead"]
    assert rows["Conversation"] == found.history_chars // 4
    assert rows["Wrapping by the backend"] == tokens.MESSAGE_TOKENS * len(
        done.composed.request.messages
    )
    assert "- say(text)" in done.recalled.stable.text
    assert rows["Tool definitions"] == sum(part.chars for part in found.tools) // 4


def test_the_budget_says_what_a_turn_and_a_result_come_to(ada: Entity) -> None:
    model = ScriptedModel([act("recall", query="rain"), say("Rain."), say("Tea."), say("Snow.")])
    runtime = runtime_of(ada, model)
    first = context_report.of(runtime, talk(runtime, "Why does rain feel like home?"), "run")
    assert (first.turn_tokens, first.result_tokens) == (0, 0)
    before = talk(runtime, "And tea?").session.messages
    rows = dict(
        context_report.budget(
            found := context_report.of(runtime, talk(runtime, "And snow?"), "run")
        )
    )
    (result,) = [one for one in before if one.role == "tool"]
    assert rows["A tool's result (typical)"] == tokens.estimate_message(result.text)
    whole = sum(tokens.estimate_message(one.text) for one in before)
    assert rows["Conversation per turn (typical)"] == whole // 2
    assert context_report.to_data(found)["budget"] == rows
