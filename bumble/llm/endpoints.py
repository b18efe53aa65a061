"""Connecting to models behind servers: in OpenAI's form, or in Ollama's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bumble.llm import http_errors, providers
from bumble.llm.http_model import HttpModel
from bumble.llm.ollama_format import OllamaDialect
from bumble.llm.openai_format import OpenAIDialect
from bumble.text import urls

_THINKS = {True: "thinks", False: "thinks_not"}


def openai(
    base_url: str,
    model: str,
    *,
    api_key: str | None = None,
    enforces: bool = True,
    **more: Any,
) -> HttpModel:
    """Return a model behind an endpoint; nothing is sent yet.

    Args:
        base_url: As `https://api.openai.com/v1`.
        model: The endpoint's name of it.
        api_key: None sends none.
        enforces: Whether the endpoint is asked to enforce schemas, and to take tools; False only
            tells it of them.
        more: As `HttpModel` takes it.

    Raises:
        UsageError: If it is no address.
    """
    peer = http_errors.Peer(base_url, api_key)
    url = peer.url
    known = providers.of_url(url)
    thought: Mapping[str, Mapping[str, Any]] = {}
    if known is not None:
        thought = {"thinks": known.thinks, "thinks_not": known.thinks_not}
    elif urls.is_loopback(url):  # the template's switch, which llama-server and vLLM take
        switch = "chat_template_kwargs"
        thought = {name: {switch: {"enable_thinking": on}} for on, name in _THINKS.items()}
    dialect = OpenAIDialect(
        model,
        marks_cache=known is not None and known.marks_cache,
        enforces=enforces,
        root="" if known is not None else url.removesuffix("/v1"),
        **thought,
    )
    headers = known.list_headers if known is not None else {}
    sent = {name: value.replace("$key", api_key or "") for name, value in headers.items()}
    return HttpModel(f"openai:{model}", peer, dialect, list_headers=sent, **more)


def ollama(
    model: str,
    *,
    host: str = "http://127.0.0.1:11434",
    window_tokens: int = 8192,
    api_key: str | None = None,
    **more: Any,
) -> HttpModel:
    """Return a model behind an Ollama server; nothing is sent yet.

    Args:
        model: As `ollama list` names it.
        host: The server's address.
        window_tokens: The window to ask for (`num_ctx`).
        api_key: None sends none.
        more: As `HttpModel` takes it.

    Raises:
        UsageError: If it is no address.
    """
    peer, dialect = http_errors.Peer(host, api_key), OllamaDialect(model, window_tokens)
    return HttpModel(f"ollama:{model}", peer, dialect, most_tokens=window_tokens, **more)
