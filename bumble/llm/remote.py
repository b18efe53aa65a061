"""What the backends that speak HTTP share: errors in the user's words, and stopping a stream."""

from __future__ import annotations

import contextlib
import json
import socket
from typing import Any, Protocol
from urllib.parse import urlsplit

from bumble.errors import BudgetSpentError, CredentialsError, ModelUnreachableError, UserError
from bumble.llm.pacing import SilentError

_TOO_LONG = (
    "context length",
    "context_length",
    "context size",
    "context window",
    "too many tokens",
)


class Response(Protocol):
    """A response that is being read, as httpx has it."""

    extensions: Any

    def close(self) -> None:
        """Let go of the connection."""


def stop(response: Response | None) -> None:
    """End a response that another thread is reading, so that the server sees it and stops too."""
    if response is None:
        return
    network = response.extensions.get("network_stream")
    raw = network.get_extra_info("socket") if network is not None else None
    if raw is not None:
        # Closing alone would wait until the other thread's read returns.
        with contextlib.suppress(OSError):
            raw.shutdown(socket.SHUT_RDWR)


def json_bytes(body: Any) -> int:
    """Return the length of a body as httpx, and OpenAI's SDK, write it."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return len(text.encode())


def is_loopback(url: str) -> bool:
    """Say whether a URL leads to this machine, where no proxy belongs in between."""
    host = urlsplit(url).hostname or ""
    return host == "localhost" or host == "::1" or host.startswith("127.")


def is_too_long(message: str) -> bool:
    """Say whether a server refused because the prompt is too long for its window."""
    return any(sign in message.lower() for sign in _TOO_LONG)


def refused(url: str, status: int, message: str, model: str) -> UserError:
    """Word a refusal by its HTTP status."""
    said = " ".join(message.split())[:300]
    if status in (401, 403):
        return CredentialsError(
            f"{url} wants another key ({status}): {said}\n"
            "It is read from the variable that llm.api_key_env names, or from secrets.yaml\n"
            "beside your own config file (`bumble config show --origin` says where that is)."
        )
    if is_too_long(message):
        return BudgetSpentError(
            f"The prompt does not fit into the context window of {model}: {said}\n"
            "Begin a new conversation with --new-session, or choose a model with a larger window."
        )
    if status == 404:
        return ModelUnreachableError(
            f"{url} does not have the model {model}: {said}\n"
            "Name one that it has: bumble config set llm.model NAME"
        )
    return ModelUnreachableError(
        f"{url} refused the request ({status}): {said}\nTry again, or choose another model."
    )


def unreachable(url: str, problem: str) -> ModelUnreachableError:
    """Word a failure to get through."""
    return ModelUnreachableError(
        f"{url}: {problem}\n"
        "Is the server running, and is the address right? `bumble status` says what is configured."
    )


def silent(url: str, problem: SilentError) -> ModelUnreachableError:
    """Word a stream that hangs."""
    when = "in the middle of its answer" if problem.began else "before the first token"
    kind = "silence" if problem.began else "first_token"
    return ModelUnreachableError(
        f"{url} said nothing for {problem.seconds:g} s {when}\n"
        f"Try again, or allow more time: `bumble config set llm.{kind}_timeout_seconds SECONDS`."
    )
