"""The short prompt: what it takes, in each language."""

from __future__ import annotations

import pytest

from bumble.chat import plain_reply
from bumble.entity import settings
from bumble.entity.folder import Entity

MOST_TOKENS = 440  # estimated, which is more than it takes; the day and the message come on top


@pytest.mark.parametrize("language", ["de", "en", "es", "fr", "it", "pt"])
def test_the_first_prompt_takes_a_small_model_few_tokens(ada: Entity, language: str) -> None:
    loaded = settings.load(ada.file)
    assert loaded.identity is not None
    stable = plain_reply.stable(ada, loaded.identity, loaded.config.prompt, language)
    assert stable.tokens <= MOST_TOKENS


def test_what_the_entity_is_stands_there_only_in_the_language_of_the_prompt(ada: Entity) -> None:
    loaded = settings.load(ada.file)
    assert loaded.identity is not None
    texts = {
        code: plain_reply.stable(ada, loaded.identity, loaded.config.prompt, code).text
        for code in ("en", "de")
    }
    assert "I am Ada." in texts["en"]
    assert "I am Ada." not in texts["de"]
