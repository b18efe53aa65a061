"""What HTTP backends share: errors in the user's words, limits of size, guarded connections.

Guarded: keys and prompts go to the address they are meant for and to no other, whatever it says;
and nobody sends more than there is room for.
"""

from __future__ import annotations

import base64
import contextlib
import math
import socket
from collections.abc import Iterable, Iterator, Mapping
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
from bumble.llm.wire import Piece, SilentError, StatusError
from bumble.text import printable
from bumble.text.words import one_line

ANSWER_BYTES = 16 << 20  # of an answer on the wire: some forty thousand tokens, or a list of models
ERROR_BYTES = 64 << 10  # of a page that says what is wrong; the rest is not read
TEXT_CHARS = 64 << 10  # of the text of an answer, beside
CHARS_PER_TOKEN = 64  # of the tokens it was allowed
_PORTS = {"http": 80, "https": 443}


class RedirectedError(ValueError):
    """The server sent the request on to another address, where it is not meant to go."""


class PageError(ValueError):
    """The server sent a page for people."""


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
            ValueError: If there are more bytes than the limit.
        """
        left = self._limit
        for piece in self._body:
            if len(piece) > left:
                if not self._cuts:
                    raise ValueError(f"it sent more than {self._limit >> 20} MB and was cut off")
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
        self.url = printable.bare_url(url).rstrip("/")
        self.shown = printable.shown_url(self.url)
        try:
            _ = urlsplit(self.url).port
        except ValueError as problem:
            raise UsageError(
                f"{self.shown} is no address of a server: {problem}\n"
                "Give one that is, with llm.base_url or llm.ollama_url."
            ) from problem
        login = unquote(printable.url_login(url))
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
            ValueError: If it is compressed, which was not asked for.
        """
        is_answer = response.is_success
        packed = response.headers.pop("content-encoding", "identity").lower() != "identity"
        if packed and is_answer:
            raise ValueError("it is compressed, though it was asked not to be")
        limit = ANSWER_BYTES if is_answer else 0 if packed else ERROR_BYTES
        response.stream = Measured(response.stream, limit, cuts=not is_answer)

    def hushed(self, text: str) -> str:
        """Return what the server said without the secrets it was sent."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def measured(pieces: Iterable[Piece], max_tokens: int) -> Iterator[Piece]:
    """Yield the pieces of an answer.

    Raises:
        ValueError: If it is longer than the tokens it was allowed could be.
    """
    left = limit = TEXT_CHARS + CHARS_PER_TOKEN * max_tokens
    for piece in pieces:
        left -= piece.chars
        if left < 0:
            raise ValueError(f"it sent more than {limit:,} characters and was cut off")
        yield piece


class Line:
    """What one request goes over, so that another thread can end it, whatever it waits for."""

    def __init__(self, streams: list[Any]) -> None:
        """Set up.

        Args:
            streams: Of the connections that the client has made; one may be used again.
        """
        self._streams, self._is_ended = streams, False

    def trace(self, _: str, told: Mapping[str, Any]) -> None:
        """Hear of a connection as it is made; httpx's `trace`."""
        if hasattr(told.get("return_value"), "get_extra_info"):
            self._streams.append(told["return_value"])
            if self._is_ended:
                self.end()

    def end(self) -> None:
        """End it, so that the server sees it and stops too."""
        self._is_ended = True
        while self._streams:
            raw = self._streams.pop().get_extra_info("socket")
            # Closing alone would wait until the other thread's read returns.
            with contextlib.suppress(OSError):
                raw.shutdown(socket.SHUT_RDWR)


# How a refusal is worded, by what it is about (`StatusError.matter`).
_REFUSALS: Mapping[str, tuple[type[UserError], str]] = {
    "credit": (
        BudgetSpentError,
        "{url}: the account has nothing left to spend ({status}): {reason}\n"
        "Add credit there, or talk by another model: bumble config set llm.model NAME",
    ),
    "place": (
        ModelUnreachableError,
        "{url} doesn't serve this country or region ({status}): {reason}\n"
        "Choose another provider, or a model on this machine: bumble config set llm.model NAME",
    ),
    "key": (
        CredentialsError,
        "{url} wants another key ({status}): {reason}\n"
        "`bumble model show` names the variable that it is read from; it may stand in\n"
        "secrets.yaml too, beside your own config file (`bumble config show --origin`).",
    ),
    "length": (
        BudgetSpentError,
        "The prompt does not fit into the context window of {model}: {reason}\n"
        "Begin a new conversation with --new-session, or choose a model with a larger window.",
    ),
    "talk": (
        ModelUnreachableError,
        "{url} has no talk with {model} in this form ({status}): {reason}\n"
        "Choose another model: bumble config set llm.model NAME",
    ),
    "model": (
        ModelUnreachableError,
        "{url} does not have the model {model}: {reason}\n"
        "`bumble model show {model}` names those most like it: bumble config set llm.model NAME",
    ),
    "rate": (
        ModelUnreachableError,
        "{url} takes no more requests for now ({status}): {reason}\nTry again{after}.",
    ),
    "down": (
        ModelUnreachableError,
        "{url} is overloaded or down ({status}): {reason}\n"
        "Try again in a minute, or choose another model.",
    ),
    "form": (
        ModelUnreachableError,
        "{url} refused the request ({status}): {reason}\nTry again, or choose another model.",
    ),
}
_UNITS = ((86400, "days"), (3600, "hours"), (60, "minutes"), (1, "s"))


def refused(peer: Peer, problem: StatusError, model: str) -> UserError:
    """Word a refusal: what it was about, and what helps."""
    reason, matter = one_line(peer.hushed(problem.message))[:300], problem.matter
    if matter == "filter":
        return filtered(peer.shown, reason)
    kind, sentence = _REFUSALS[matter]
    after = f" in {_span(problem.wait)}" if problem.wait else " in a minute"
    facts = {"url": peer.shown, "status": problem.status, "model": model, "after": after}
    return kind(sentence.format(reason=reason, **facts))


def _span(seconds: float) -> str:
    """Write a time in the largest unit of which it has two or more."""
    size, unit = next((one for one in _UNITS if seconds >= 2 * one[0]), _UNITS[-1])
    return f"{math.ceil(seconds / size)} {unit}"


def filtered(url: str, reason: str = "") -> AnswerInvalidError:
    """Word that the provider held an answer or a question back."""
    why = f": {reason}" if reason else ""
    return AnswerInvalidError(
        f"The content filter of {url} held this back{why}\n"
        "Say it in other words, or choose another model.",
        answer="",
    )


def worded(peer: Peer, problem: Exception, model: str, answer: str) -> Exception:
    """Say in the user's words what went wrong with a request.

    Args:
        peer: The server.
        problem: What was raised.
        model: Its name.
        answer: What had come of an answer.
    """
    url = peer.shown
    match problem:
        case StatusError():
            return refused(peer, problem, model)
        case RedirectedError():
            return ModelUnreachableError(
                f"{url} sends requests on to {problem}; your key and your words stay here\n"
                "If that is where they should go, make it the address: bumble config set --user "
                "llm.base_url URL"
            )
        case SilentError():
            when = "in the middle of its answer" if problem.began else "before the first token"
            kind = "silence" if problem.began else "first_token"
            return ModelUnreachableError(
                f"{url} said nothing for {problem.seconds:g} s {when}\nTry again, or allow more "
                f"time: `bumble config set llm.{kind}_timeout_seconds SECONDS`."
            )
        case httpx2.TimeoutException() | httpx2.ConnectError() | httpx2.UnsupportedProtocol():
            is_late = isinstance(problem, httpx2.TimeoutException)
            why = "no answer in time" if is_late else f"cannot be reached ({problem})"
            return ModelUnreachableError(
                f"{url}: {why}\nIs the server running, and is the address right? `bumble status` "
                "says what is configured."
            )
        case PageError():
            return ModelUnreachableError(
                f"{url} answers with a web page, as no endpoint does\nIs the address right? Most "
                "end in `/v1`: bumble config set --user llm.base_url URL"
            )
        case ValueError() if not isinstance(problem, OSError):
            return AnswerInvalidError(
                f"{url} answered with something unreadable: {problem}\nTry again.", answer=answer
            )
    said = peer.hushed(one_line(str(problem))[:300])
    what = "the answer was cut off" if answer else "no answer came"
    return ModelUnreachableError(f"{url}: {what}: {said}\nTry again.")
