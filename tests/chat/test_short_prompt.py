"""The short prompt: what it takes, in each language."""

from __future__ import annotations

import pytest

from bumble.chat import plain_reply
from bumble.entity.folder import Entity
from bumble.llm.scripted import ScriptedModel
from bumble.prompt.system import Stable
from bumble.records import sessions
from tests.support.turns import NOON, runtime_of

MOST_TOKENS = 440  # estimated, which is more than it takes; the day and the message come on top


def short(ada: Entity, language: str) -> Stable:
    talk = sessions.new("ses_1", NOON, "sam")
    return plain_reply.stable(runtime_of(ada, ScriptedModel([])), talk.people, language)


@pytest.mark.parametrize("language", ["de", "en", "es", "fr", "it", "pt"])
def test_the_first_prompt_takes_a_small_model_few_tokens(ada: Entity, language: str) -> None:
    assert short(ada, language).tokens <= MOST_TOKENS
