"""The Ollama backend, by its own SDK, which can set and report the context window.

Ollama cuts a prompt that is too long without a word, so the window is asked for with every request,
read back from what it loaded, and a smaller one is reported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import closing
from typing import Any, TypeVar

import httpx
import ollama
from msgspec import Struct, field

from bumble.errors import ModelUnreachableError
from bumble.llm import http_errors, logprobs
from bumble.llm.protocol import Completion, FinishReason, OnText, Request, Usage
from bumble.llm.stream_timeouts import SilentError, Timeouts, ends_at, paced, within
from bumble.llm.thinking import ThinkFilter
from bumble.text.words import one_line

_PROBLEMS = (ollama.ResponseError, httpx.HTTPError, OSError, ValueError)
# What the SDK does where an answer is no object, or nested too deep.
_SHAPES = (AttributeError, TypeError, RecursionError)
_ASKED_SECONDS = 10.0  # for all of an answer to a question about the model

T = TypeVar("T")


class _Facts(Struct, frozen=True):
    """What the server says of a model."""

    trained_tokens: int | None = None
    has_thinking: bool = False


class OllamaModel:
    """A `Model` behind an Ollama server."""

    def __init__(
        self,
        model: str,
        *,
        host: str = "http://127.0.0.1:11434",
        context_tokens: int = 8192,
        api_key: str | None = None,
        timeouts: Timeouts | None = None,
        retries: int = 2,
        on_warning: Callable[[str], None] | None = None,
        sleep: Callable[[float], None] = time.sleep,
        stopwatch: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Set up without connecting.

        Args:
            model: As `ollama list` names it.
            host: The server's address.
            context_tokens: The window to ask for (`num_ctx`).
            api_key: None sends none.
            timeouts: How long the server may keep silent.
            retries: How often a request is sent again if it failed before its first token.
            on_warning: Told in a sentence when the window is smaller than asked for.
            sleep: Waits between two tries.
            stopwatch: Counts seconds from anywhere.
        """
        self.name = f"ollama:{model}"
        self._peer = http_errors.Peer(host, api_key)
        self._model, self._url = model, self._peer.url
        self._asked_tokens, self._real_tokens = context_tokens, context_tokens
        self._timeouts, self._retries = timeouts or Timeouts(), retries
        self._on_warning, self._sleep, self._stopwatch = on_warning, sleep, stopwatch
        self._facts: _Facts | None = None
        self._read_back = False
        self._response: httpx.Response | None = None
        self._client = self._connect()

    @property
    def context_tokens(self) -> int | None:
        """The window asked for, or what the server made of it."""
        trained = self._known().trained_tokens
        return min(self._real_tokens, trained or self._real_tokens)

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        """Answer a request; see `Model.complete`."""
        attempt, until = 0, ends_at(request.seconds)
        while True:
            answer = _Answer()
            try:
                completion = self._try(request, answer, on_text, until)
                break
            except (*_PROBLEMS, SilentError) as problem:
                if attempt == self._retries or answer.began or not _is_passing(problem):
                    raise self._worded(problem, answer) from problem
            self._sleep(0.5 * 2**attempt)
            attempt += 1
        self._check_window()
        return completion

    def warm(self, request: Request) -> None:
        """Do nothing: the server looks after its own cache."""

    def request_bytes(self, request: Request) -> int:
        """Return the length of the body as the SDK writes it: without what is empty or None."""
        body = {name: value for name, value in self._body(request).items() if value is not None}
        body["messages"] = [
            {name: value for name, value in one.items() if value} for one in body["messages"]
        ]
        return http_errors.json_bytes({"tools": [], **body, "stream": True})

    def close(self) -> None:
        """Close the connection."""
        self._client.close()  # type: ignore[no-untyped-call]

    def _try(
        self, request: Request, answer: _Answer, on_text: OnText | None, until: float | None
    ) -> Completion:
        started = self._stopwatch()
        first: float | None = None
        chunks = paced(
            lambda: self._stream(request),
            is_token=_has_token,
            stop=lambda: http_errors.stop(self._response),
            problems=_PROBLEMS,
            timeouts=self._timeouts,
            until=until,
        )
        with closing(chunks):
            for chunk in chunks:
                shown = answer.take(chunk)
                http_errors.check_length(answer.chars, request.max_tokens)
                if first is None and answer.began:
                    first = self._stopwatch() - started
                if shown and on_text is not None:
                    on_text(shown)
        if answer.finish_reason is None:
            raise ConnectionError("the stream ended before its end")
        rest = answer.thinking.finish()
        if rest and on_text is not None:
            on_text(rest)
        return Completion(
            text=answer.thinking.text,
            finish_reason=answer.finish_reason,
            model=self.name,
            reasoning=answer.reasoning + answer.thinking.reasoning,
            usage=answer.usage,
            first_logprobs=answer.first_logprobs,
            first_token_seconds=first,
            seconds=self._stopwatch() - started,
        )

    def _stream(self, request: Request) -> Generator[ollama.ChatResponse, None, None]:
        try:
            yield from self._client.chat(**self._body(request), stream=True)
        except _SHAPES as problem:
            raise ValueError(f"no answer of Ollama's ({problem})") from problem

    def _body(self, request: Request) -> dict[str, Any]:
        facts = self._known()
        options: dict[str, Any] = {
            "num_ctx": self._asked_tokens,
            "num_predict": request.max_tokens,
            "temperature": request.temperature,
        }
        if request.seed is not None:
            options["seed"] = request.seed
        return {
            "model": self._model,
            "messages": [
                {"role": message.role, "content": message.content} for message in request.messages
            ],
            "format": dict(request.schema) if request.schema is not None else None,
            "think": request.thinking if facts.has_thinking else None,
            "options": options,
            "logprobs": True if request.top_logprobs else None,
            "top_logprobs": min(request.top_logprobs, logprobs.MOST) or None,
        }

    def _known(self) -> _Facts:
        if self._facts is None:
            try:
                shown = _asked(lambda: self._client.show(self._model))
            except _PROBLEMS:
                return _Facts()  # the request itself will say what is wrong
            lengths = [
                value
                for name, value in (shown.modelinfo or {}).items()
                if name.endswith(".context_length") and isinstance(value, int)
            ]
            able = shown.capabilities or []
            self._facts = _Facts(next(iter(lengths), None), "thinking" in able)
        return self._facts

    def _check_window(self) -> None:
        """Read back, once, the window that the model was loaded with."""
        if self._read_back:
            return
        self._read_back = True
        try:
            running = _asked(self._client.ps).models
        except _PROBLEMS:
            return
        names = (self._model, f"{self._model}:latest")
        for model in running:
            length = model.context_length
            if model.model in names and length is not None and length < self._asked_tokens:
                self._real_tokens = length
                if self._on_warning is not None:
                    self._on_warning(
                        f"Ollama gives {self._model} a window of {length} tokens, "
                        f"not the {self._asked_tokens} asked for; longer prompts would be cut."
                    )

    def _connect(self) -> ollama.Client:
        def remember(response: httpx.Response) -> None:
            self._response = response  # the SDK hides it, and stopping needs it
            self._peer.guard_response(response, _Stream)

        slowest = max(self._timeouts.first_token_seconds, self._timeouts.silence_seconds) + 5
        return ollama.Client(
            host=self._url,
            timeout=httpx.Timeout(slowest, connect=self._timeouts.connect_seconds),
            trust_env=not http_errors.is_loopback(self._url),
            event_hooks={"request": [self._peer.guard_request], "response": [remember]},
        )

    def _worded(self, problem: Exception, answer: _Answer) -> Exception:
        if isinstance(problem, ollama.ResponseError) and problem.status_code > 0:
            said = self._peer.hushed(problem.error)
            return http_errors.refused(self._peer.shown, problem.status_code, said, self._model)
        if isinstance(problem, http_errors.RedirectedError):
            return http_errors.redirected(self._peer.shown, problem)
        if isinstance(problem, SilentError):
            return http_errors.silent(self._peer.shown, problem)
        if isinstance(problem, httpx.ConnectError | httpx.ConnectTimeout):
            return http_errors.unreachable(self._peer.shown, f"cannot be reached ({problem})")
        if isinstance(problem, ValueError):
            return http_errors.unreadable(self._peer.shown, problem, answer.thinking.text)
        said = self._peer.hushed(one_line(str(problem))[:300])
        return ModelUnreachableError(
            f"{self._peer.shown}: the answer was cut off: {said}\nTry again."
        )


class _Stream(http_errors.Measured, httpx.SyncByteStream):
    """A body with a limit."""


def _asked(question: Callable[[], T]) -> T:
    """Ask about a model, with patience that ends."""
    try:
        return within(_ASKED_SECONDS, question, (*_PROBLEMS, *_SHAPES))
    except _SHAPES as problem:
        raise ValueError(f"no answer of Ollama's ({problem})") from problem


class _Answer(Struct):
    """What the chunks of one answer add up to."""

    thinking: ThinkFilter = field(default_factory=ThinkFilter)
    began: bool = False
    finish_reason: FinishReason | None = None
    reasoning: str = ""
    usage: Usage = field(default_factory=Usage)
    first_logprobs: dict[str, float] = field(default_factory=dict)
    chars: int = 0  # of all that has come

    def take(self, chunk: ollama.ChatResponse) -> str:
        """Take the next chunk; return what it adds to the visible text."""
        self.began = self.began or _has_token(chunk)
        self.chars += len(chunk.message.content or "") + len(chunk.message.thinking or "")
        self.reasoning += chunk.message.thinking or ""
        self.first_logprobs = self.first_logprobs or _candidates(chunk)
        if chunk.done:
            self.finish_reason = "length" if chunk.done_reason == "length" else "stop"
            self.usage = Usage(chunk.prompt_eval_count, None, chunk.eval_count)
        return self.thinking.feed(chunk.message.content or "")


def _has_token(chunk: ollama.ChatResponse) -> bool:
    return bool(chunk.message.content or chunk.message.thinking)


def _candidates(chunk: ollama.ChatResponse) -> dict[str, float]:
    listed = chunk.logprobs[0].top_logprobs if chunk.logprobs else None
    return logprobs.by_text((entry.token, entry.logprob) for entry in listed or ())


def _is_passing(problem: Exception) -> bool:
    """Say whether the same request may succeed in a moment."""
    if isinstance(problem, ollama.ResponseError):
        return problem.status_code == 429 or problem.status_code >= 500
    if isinstance(problem, httpx.TimeoutException):
        return False
    return isinstance(problem, httpx.TransportError | ConnectionError)
