"""Connecting to an Ollama server, in its own form: the window is asked for and read back."""

from __future__ import annotations

from typing import Any

from bumble.llm import http_errors
from bumble.llm.http_model import HttpModel
from bumble.llm.ollama_format import OllamaDialect


def connect(
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
