from __future__ import annotations

import threading

from msgspec.structs import replace

from bumble.cli.talk import conversation
from bumble.cli.talk.conversation import Warming
from bumble.entity.folder import Entity
from bumble.llm.protocol import PromptMessage, Request
from bumble.llm.scripted import ScriptedModel
from bumble.models.abilities.tiers import Abilities
from bumble.records import sessions
from tests.support.turns import NOON, runtime_of

REQUEST = Request([PromptMessage("system", "You are Ada.")])


class Slow(ScriptedModel):
    """Evaluates until it is stopped."""

    def __init__(self) -> None:
        super().__init__([])
        self.asked: list[bool] = []
        self.begun = threading.Event()

    def warm(self, request: Request) -> None:
        assert request.stop is not None
        self.asked.append(request.stop.is_set())
        if not request.stop.is_set():
            self.begun.set()
            assert request.stop.wait(20)


def test_it_loads_first_and_then_evaluates_until_it_is_ended() -> None:
    model = Slow()
    warmed = Warming(model, REQUEST)
    assert model.begun.wait(10)
    assert model.asked == [True, False]
    warmed.end()
    assert not [thread for thread in threading.enumerate() if thread.name == "warming"]


def test_only_a_model_in_this_process_that_talks_is_warmed(ada: Entity) -> None:
    runtime = runtime_of(ada, ScriptedModel([]))
    session = sessions.new("ses_1", NOON, "sam")
    assert conversation.beginning(runtime, session, "sam") is None
    local = replace(runtime, local=True)
    request = conversation.beginning(local, session, "sam")
    assert request is not None
    assert request.messages[0].role == "system"
    assert request.cache_id == "ses_1"
    assert conversation.beginning(replace(local, writes=False), session, "sam") is None
    none = replace(local, abilities=Abilities("none"))
    assert conversation.beginning(none, session, "sam") is None
