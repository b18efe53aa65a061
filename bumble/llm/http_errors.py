"""What HTTP backends share: errors in the user's words, limits of size, guarded connections.

Guarded: keys and prompts go to the address they are meant for and to no other, whatever it says;
and nobody sends more than there is room for.
"""

from __future__ import annotations

import base64
import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx2

from bumble.errors import (
    AnswerInvalidError,
    BudgetSpentError,
    CredentialsError,
    ModelUnreachableError,
    UsageError,
    UserError,
)
from bumble.llm.wire import SilentError, StatusError
from bumble.text import urls
from bumble.text.words import one_line

_TOO_LONG = (
    "context length",
    "context_length",
    "context size",
    "context window",
    "too many tokens",
    "prompt is too long",
)
_NO_CREDIT = ("insufficient_quota", "insufficient credit", "credit balance", "billing_hard_limit")
_FILTERED = ("content_filter", "content_policy", "content management policy", "safety_violations")
_NOT_HERE = ("unsupported_country", "country, region", "user location is not supported")


ANSWER_BYTES = 16 << 20  # of an answer on the wire: some forty thousand tokens, or a list of models
ERROR_BYTES = 64 << 10  # of a page that says what is wrong; the rest is not read
TEXT_CHARS = 64 << 10  # of the text of an answer, beside
CHARS_PER_TOKEN = 64  # of the tokens it was allowed
_PORTS = {"http": 80, "https": 443}


class RedirectedError(ValueError):
    """The server sent the request on to another address, where it is not meant to go."""


class TooMuchError(ValueError):
    """The server sent more than there is room for, or in a form whose length can't be told."""


class Measured(httpx2.SyncByteStream):
    """The body of a response, in pieces, and no more of it than a limit."""

    def __init__(self, body: Any, limit_bytes: int, *, cuts: bool) -> None:
        """Set up.

        Args:
            body: The stream as it comes from the wire.
            limit_bytes: How much may come.
            cuts: Whether the body just ends there; else it is an error.
        """
        self._body, self._limit, self._cuts = body, limit_bytes, cuts

    def __iter__(self) -> Iterator[bytes]:
        """Yield the pieces.

        Raises:
            TooMuchError: If there are more bytes than the limit.
        """
        left = self._limit
        for piece in self._body:
            if len(piece) > left:
                if not self._cuts:
                    raise TooMuchError(f"it sent more than {self._limit >> 20} MB and was cut off")
                yield piece[:left]
                return
            left -= len(piece)
            yield piece

    def close(self) -> None:
        """Let go of the connection."""
        self._body.close()


class Peer:
    """A server: its address as it may be shown, and the key that goes there and nowhere else."""

    def __init__(self, url: str, api_key: str | None) -> None:
        """Set up.

        Args:
            url: The address; a name and password in it are sent where there is no key.
            api_key: None sends none.

        Raises:
            UsageError: If it is no address.
            CredentialsError: If the key is none, but something that stands for one.
        """
        self.url = urls.bare(url).rstrip("/")
        self.shown = urls.shown(self.url)
        try:
            _ = urlsplit(self.url).port
        except ValueError as problem:
            raise UsageError(
                f"{self.shown} is no address of a server: {problem}\n"
                "Give one that is, with llm.base_url or llm.ollama_url."
            ) from problem
        login = unquote(urls.login(url))
        self._secrets = [each for each in (api_key, login.partition(":")[2]) if each]
        self._authorization: str | None = None
        if api_key is not None:
            if not (api_key.isascii() and api_key.isprintable()):
                raise CredentialsError(
                    f"the key for {self.shown} has characters that no key has, such as “…”\n"
                    "Is it the placeholder of an instruction? Put your own in its place."
                )
            self._authorization = f"Bearer {api_key}"
        elif login:
            self._authorization = f"Basic {base64.b64encode(login.encode()).decode()}"
        self._home: tuple[Any, ...] | None = None

    def guard_request(self, request: Any) -> None:
        """Put the key into a request; called before each is sent, redirected ones too.

        Raises:
            RedirectedError: If it does not go where the first one went.
        """
        url = request.url
        place = (url.scheme, url.host, url.port or _PORTS.get(url.scheme))
        self._home = self._home or place  # the first is our own
        if place != self._home:
            raise RedirectedError(f"{place[0]}://{place[1]}:{place[2]}")
        request.headers.pop("authorization", None)  # an SDK may take one from the environment
        if self._authorization is not None:
            request.headers["Authorization"] = self._authorization
        # What comes compressed has no length that could be limited before it is unpacked.
        request.headers["Accept-Encoding"] = "identity"

    def guard_response(self, response: httpx2.Response) -> None:
        """Limit the body of a response; called before it is read.

        Raises:
            TooMuchError: If it is compressed, which was not asked for.
        """
        is_answer = response.is_success
        packed = response.headers.pop("content-encoding", "identity").lower() != "identity"
        if packed and is_answer:
            raise TooMuchError("it is compressed, though it was asked not to be")
        limit = ANSWER_BYTES if is_answer else 0 if packed else ERROR_BYTES
        response.stream = Measured(response.stream, limit, cuts=not is_answer)

    def hushed(self, text: str) -> str:
        """Return what the server said without the secrets it was sent."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def check_length(chars: int, max_tokens: int) -> None:
    """Refuse an answer that is longer than the tokens it was allowed could be.

    Raises:
        TooMuchError: If it is.
    """
    limit = TEXT_CHARS + CHARS_PER_TOKEN * max_tokens
    if chars > limit:
        raise TooMuchError(f"it sent more than {limit:,} characters and was cut off")


def stop(response: httpx2.Response | None) -> None:
    """End a response that another thread is reading, so that the server sees it and stops too."""
    if response is None:
        return
    network = response.extensions.get("network_stream")
    raw = network.get_extra_info("socket") if network is not None else None
    if raw is not None:
        # Closing alone would wait until the other thread's read returns.
        with contextlib.suppress(OSError):
            raw.shutdown(socket.SHUT_RDWR)


def is_too_long(message: str) -> bool:
    """Say whether a server refused because the prompt is too long for its window."""
    return any(sign in message.lower() for sign in _TOO_LONG)


def is_out_of_credit(problem: StatusError) -> bool:
    """Say whether a refusal means that nothing is left of what was paid for."""
    said = f"{problem.code} {problem.message}".lower()
    return problem.status == 402 or any(sign in said for sign in _NO_CREDIT)


def refused(url: str, problem: StatusError, hushed: Callable[[str], str], model: str) -> UserError:
    """Word a refusal: what it was about, and what helps.

    Args:
        url: As it may be shown.
        problem: The refusal.
        hushed: Takes secrets out of what the server said.
        model: Its name.
    """
    status, reason = problem.status, one_line(hushed(problem.message))[:300]
    said = f"{problem.code} {problem.message}".lower()
    if is_out_of_credit(problem):
        return BudgetSpentError(
            f"{url}: the account has nothing left to spend ({status}): {reason}\n"
            "Add credit there, or talk by another model: bumble config set llm.model NAME"
        )
    if any(sign in said for sign in _FILTERED):
        return filtered(url, reason)
    if any(sign in said for sign in _NOT_HERE):
        return ModelUnreachableError(
            f"{url} doesn't serve this country or region ({status}): {reason}\n"
            "Choose another provider, or a model on this machine: bumble config set llm.model NAME"
        )
    if status in (401, 403):
        return CredentialsError(
            f"{url} wants another key ({status}): {reason}\n"
            "`bumble model show` names the variable that it is read from; it may stand in\n"
            "secrets.yaml too, beside your own config file (`bumble config show --origin`)."
        )
    if is_too_long(problem.message):
        return BudgetSpentError(
            f"The prompt does not fit into the context window of {model}: {reason}\n"
            "Begin a new conversation with --new-session, or choose a model with a larger window."
        )
    if status == 404 or "model_not_found" in said:
        return ModelUnreachableError(
            f"{url} does not have the model {model}: {reason}\n"
            "`bumble status` names those that it has: bumble config set llm.model NAME"
        )
    if status == 429:
        after = f" in {problem.wait:g} s" if problem.wait else " in a minute"
        return ModelUnreachableError(
            f"{url} takes no more requests for now (429): {reason}\nTry again{after}."
        )
    if status in (502, 503, 504, 529) or "overloaded" in said:
        return ModelUnreachableError(
            f"{url} is overloaded or down ({status}): {reason}\n"
            "Try again in a minute, or choose another model."
        )
    return ModelUnreachableError(
        f"{url} refused the request ({status}): {reason}\nTry again, or choose another model."
    )


def filtered(url: str, reason: str = "") -> AnswerInvalidError:
    """Word that the provider held an answer or a question back."""
    why = f": {reason}" if reason else ""
    return AnswerInvalidError(
        f"The content filter of {url} held this back{why}\n"
        "Say it in other words, or choose another model.",
        answer="",
    )


def redirected(url: str, problem: RedirectedError) -> ModelUnreachableError:
    """Word a redirect to another place."""
    return ModelUnreachableError(
        f"{url} sends requests on to {problem}; your key and your words stay here\n"
        "If that is where they should go, make it the address: bumble config set --user "
        "llm.base_url URL"
    )


def unreadable(url: str, problem: ValueError, answer: str) -> AnswerInvalidError:
    """Word an answer that is not what it should be."""
    return AnswerInvalidError(
        f"{url} answered with something unreadable: {problem}\nTry again.", answer=answer
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
