from __future__ import annotations

from msgspec.structs import replace

from bumble.cli.talk import conversation
from bumble.entity.folder import Entity
from bumble.llm.scripted import ScriptedModel
from bumble.models.abilities.tiers import Abilities
from bumble.records import sessions
from tests.support.turns import NOON, runtime_of


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
