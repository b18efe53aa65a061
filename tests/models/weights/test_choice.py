from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from bumble.entity import settings
from bumble.llm.detect import Address, LocalServer
from bumble.models.weights import catalog, choice
from bumble.models.weights.choice import Choice

OLLAMA = LocalServer(Address("Ollama", "ollama", "http://127.0.0.1:11434"), ("qwen3:4b",))
LM_STUDIO = LocalServer(Address("LM Studio", "openai", "http://127.0.0.1:1234"), ("phi-4",))


def choose(servers: Sequence[LocalServer] = (), **flags: Any) -> Choice:
    named = {f"llm.{name}": value for name, value in flags.items()}
    config = settings.load(flags=named).config.llm
    return choice.choose(config, catalog.load(), (), lambda: servers, "flag")


def test_a_provider_brings_its_address_its_key_and_where_none_is_named_its_model() -> None:
    by_default = choose(provider="anthropic")
    assert (by_default.backend, by_default.url) == ("endpoint", "https://api.anthropic.com/v1")
    assert (by_default.model, by_default.key) == ("claude-sonnet-5-5", "ANTHROPIC_API_KEY")
    assert by_default.why == "Anthropic's by default: llm.provider, and llm.model is auto"
    named = choose(provider="anthropic", model="claude-haiku-5-5")
    assert (named.model, named.why) == (
        "claude-haiku-5-5",
        "llm.provider anthropic, llm.model (flag)",
    )


def test_an_address_goes_before_a_provider_and_gets_no_key_of_it() -> None:
    chosen = choose(provider="anthropic", base_url="http://127.0.0.1:9/v1", model="m")
    assert (chosen.url, chosen.key) == ("http://127.0.0.1:9/v1", "OPENAI_API_KEY")


@pytest.mark.parametrize("server", [OLLAMA, LM_STUDIO])
def test_a_server_that_was_found_is_named_no_key(server: LocalServer) -> None:
    assert choose([server]).key == ""
