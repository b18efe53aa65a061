"""The backend for any OpenAI-compatible endpoint, by the official SDK; schema fallbacks.

The SDK would take keys, organisations and headers from the environment; here only what is passed
in is sent, so that a key never travels to an address it was not meant for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any

import httpx2
import openai
from msgspec import Struct, field
from msgspec.structs import replace

from bumble.errors import ModelUnreachableError
from bumble.llm import http_errors, logprobs, openai_format
from bumble.llm.openai_format import Piece
from bumble.llm.protocol import Completion, FinishReason, OnText, PromptMessage, Request, Usage
from bumble.llm.stream_timeouts import SilentError, Timeouts, ends_at, paced, within
from bumble.llm.thinking import ThinkFilter
from bumble.text.words import one_line

_PROBLEMS = (openai.OpenAIError, OSError, ValueError)
_ASK_PROBLEMS = (*_PROBLEMS, RecursionError)
_OWN_HEADERS = ("host", "accept", "accept-encoding", "connection", "content-type", "user-agent")
_SCHEMA_MODES = ("json_schema", "tool", "json_object", "plain")  # tried in this order
_SCHEMA_REFUSALS = (400, 404, 415, 422, 501)  # 404: a router knows no server that can do it
_ASK_SECONDS = 3.0  # for questions about the model, which only inform
_ASKED_SECONDS = 10.0  # for all of an answer to one


class OpenAICompatibleModel:
    """A `Model` behind an OpenAI-compatible endpoint."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        timeouts: Timeouts | None = None,
        retries: int = 2,
        context_tokens: int | None = None,
        switch_thinking: bool | None = None,
        enforces: bool = True,
        sleep: Callable[[float], None] = time.sleep,
        stopwatch: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Set up without connecting.

        Args:
            base_url: As `https://api.openai.com/v1`.
            model: The server's name of the model.
            api_key: None sends none.
            timeouts: How long the server may keep silent.
            retries: How often a request is sent again if it failed before its first token.
            context_tokens: The context window, where the user knows it; None asks the server.
            switch_thinking: Whether to send the template's thinking switch, which llama-server and
                vLLM take and others may refuse; None sends it to this machine's servers only.
            enforces: Whether the server is asked to enforce schemas; False only tells them.
            sleep: Waits between two tries.
            stopwatch: Counts seconds from anywhere.
        """
        self.name = f"openai:{model}"
        self._peer = http_errors.Peer(base_url, api_key)
        self._url, self._model = self._peer.url, model
        self._timeouts, self._retries = timeouts or Timeouts(), retries
        self._sleep, self._stopwatch = sleep, stopwatch
        self._known_context = context_tokens
        self._asked_context = context_tokens is not None
        # indices into _SCHEMA_MODES: where it begins, and what the server has not refused so far
        self._first_mode = 0 if enforces else _SCHEMA_MODES.index("plain")
        self._schema_mode = self._first_mode
        self._only_objects = False  # whether it refused a schema of something else
        self._gives_logprobs = True  # as long as it has not refused them
        self._thinks_unopened = False
        self._limit_name = (
            "max_completion_tokens" if "//api.openai.com" in self._url else "max_tokens"
        )
        self._switches_thinking = (
            http_errors.is_loopback(self._url) if switch_thinking is None else switch_thinking
        )
        self._client = _client(self._peer, self._timeouts)

    @property
    def context_tokens(self) -> int | None:
        """The context window, asked of the server once; None where it does not say."""
        if not self._asked_context:
            self._asked_context = True
            self._known_context = self._ask_context()
        return self._known_context

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        """Answer a request; see `Model.complete`."""
        attempt, until = 0, ends_at(request.seconds)
        while True:
            answer = _Answer(ThinkFilter(opened=request.thinking and self._thinks_unopened))
            try:
                return self._try(request, answer, on_text, until)
            except (*_PROBLEMS, SilentError) as problem:
                if attempt == self._retries or answer.began or not _is_passing(problem):
                    raise self._worded(problem, answer) from problem
            self._sleep(0.5 * 2**attempt)
            attempt += 1

    def warm(self, request: Request) -> None:
        """Do nothing: a server looks after its own cache."""

    def request_bytes(self, request: Request) -> int:
        """Return the length of the body, in the first way to enforce a schema not yet refused."""
        return http_errors.json_bytes(self._body(request, self._mode(request)))

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _try(
        self, request: Request, answer: _Answer, on_text: OnText | None, until: float | None
    ) -> Completion:
        """Send the request once, stepping down from a way to enforce the schema that is refused."""
        started = self._stopwatch()
        first: float | None = None
        while True:
            mode = self._mode(request)
            answer.as_tool = mode == "tool"
            try:
                with closing(self._stream(request, mode, until)) as pieces:
                    for piece in pieces:
                        shown = answer.take(piece)
                        http_errors.check_length(answer.chars, request.max_tokens)
                        if first is None and answer.began:
                            first = self._stopwatch() - started
                        if shown and on_text is not None:
                            on_text(shown)
                break
            except openai.APIStatusError as problem:
                if self._is_about_logprobs(problem, request):
                    self._gives_logprobs = False
                    continue
                refused = problem.status_code in _SCHEMA_REFUSALS
                hopeless = not refused or http_errors.is_too_long(problem.message)
                if mode == "plain" or answer.began or hopeless:
                    self._schema_mode = self._first_mode  # it was not the schema that was refused
                    raise
                if _is_object(request):
                    self._schema_mode = _SCHEMA_MODES.index(mode) + 1
                else:
                    self._only_objects = True
        if answer.finish_reason is None:
            raise ConnectionError("the stream ended before its end")
        rest = answer.thinking.finish()
        if rest and on_text is not None:
            on_text(rest)
        self._thinks_unopened = self._thinks_unopened or answer.thinking.unopened
        completion = answer.completion(self.name)
        return replace(completion, first_token_seconds=first, seconds=self._stopwatch() - started)

    def _mode(self, request: Request) -> str:
        if request.schema is None:
            return "plain"
        mode = _SCHEMA_MODES[self._schema_mode]
        if not _is_object(request):  # OpenAI takes none of it; no other mode can hold it
            return "plain" if self._only_objects or mode != "json_schema" else mode
        return mode

    def _stream(
        self, request: Request, mode: str, until: float | None
    ) -> Generator[Piece, None, None]:
        opened: list[openai.Stream[object]] = []
        kind = openai.Stream[object]  # as plain data: the SDK's own classes take any type for any

        def read() -> Generator[Piece, None, None]:
            body = self._body(request, mode)
            try:
                opened.append(
                    self._client.post(
                        "/chat/completions", body=body, cast_to=object, stream=True, stream_cls=kind
                    )
                )
                yield from map(openai_format.read_event, opened[0])
            except RecursionError as problem:
                raise ValueError("its JSON is nested too deep") from problem

        return paced(
            read,
            is_token=lambda piece: piece.is_token,
            stop=lambda: http_errors.stop(opened[0].response if opened else None),
            problems=_PROBLEMS,
            timeouts=self._timeouts,
            until=until,
        )

    def _body(self, request: Request, mode: str) -> dict[str, Any]:
        messages: Sequence[PromptMessage] = request.messages
        if request.schema is not None and mode in ("json_object", "plain"):
            messages = openai_format.with_schema(messages, request)
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [openai_format.message_body(message) for message in messages],
            self._limit_name: request.max_tokens,
            "temperature": request.temperature,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.seed is not None:
            body["seed"] = request.seed
        if self._switches_thinking:
            body["chat_template_kwargs"] = {"enable_thinking": request.thinking}
        if self._asks_logprobs(request):
            most = min(request.top_logprobs, logprobs.MOST)
            body |= {"logprobs": True, "top_logprobs": most}
        return body | openai_format.enforced(request, mode)

    def _asks_logprobs(self, request: Request) -> bool:
        return request.top_logprobs > 0 and self._gives_logprobs

    def _is_about_logprobs(self, problem: openai.APIStatusError, request: Request) -> bool:
        """Say whether the request was refused for asking: models that reason give none."""
        refused = problem.status_code in (*_SCHEMA_REFUSALS, 403)
        return refused and self._asks_logprobs(request) and "logprob" in problem.message.lower()

    def _worded(self, problem: Exception, answer: _Answer) -> Exception:
        if isinstance(problem, openai.APIStatusError):
            said = self._peer.hushed(problem.message)
            return http_errors.refused(self._peer.shown, problem.status_code, said, self._model)
        if isinstance(problem, http_errors.RedirectedError):
            return http_errors.redirected(self._peer.shown, problem)
        if isinstance(problem, SilentError):
            return http_errors.silent(self._peer.shown, problem)
        if isinstance(problem, openai.APITimeoutError):
            return http_errors.unreachable(self._peer.shown, "no answer in time")
        if isinstance(problem, openai.APIConnectionError) and not answer.began:
            reason = problem.__cause__ or problem
            return http_errors.unreachable(self._peer.shown, f"cannot be reached ({reason})")
        if isinstance(problem, ValueError) and not isinstance(problem, OSError):
            return http_errors.unreadable(self._peer.shown, problem, answer.thinking.text)
        said = self._peer.hushed(one_line(str(problem))[:300])
        return ModelUnreachableError(
            f"{self._peer.shown}: the answer was cut off: {said}\nTry again."
        )

    def _ask_context(self) -> int | None:
        listed = self._ask("/models")
        entries = listed.get("data") if isinstance(listed, dict) else None
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and entry.get("id") == self._model:
                # vLLM, OpenRouter and LM Studio each have a name of their own for it.
                for field_name in ("max_model_len", "context_length", "loaded_context_length"):
                    if isinstance(entry.get(field_name), int):
                        return int(entry[field_name])
        props = self._ask(self._url.removesuffix("/v1") + "/props")  # llama-server
        settings = props.get("default_generation_settings") if isinstance(props, dict) else None
        length = settings.get("n_ctx") if isinstance(settings, dict) else None
        return length if isinstance(length, int) else None

    def _ask(self, path: str) -> Any:
        client = self._client.with_options(timeout=_ASK_SECONDS, max_retries=0)
        try:
            return within(_ASKED_SECONDS, lambda: client.get(path, cast_to=object), _ASK_PROBLEMS)
        except _ASK_PROBLEMS:
            return None  # it informs, nothing more: the request itself will say what is wrong


class _Answer(Struct):
    """What the chunks of one answer add up to."""

    thinking: ThinkFilter
    as_tool: bool = False  # the text is the arguments of the one tool that was forced
    began: bool = False
    finish_reason: FinishReason | None = None
    reasoning: str = ""
    usage: Usage = field(default_factory=Usage)
    first_logprobs: dict[str, float] = field(default_factory=dict)
    chars: int = 0  # of all that has come

    def take(self, piece: Piece) -> str:
        """Take the next piece; return what it adds to the visible text."""
        self.usage = piece.usage or self.usage
        self.first_logprobs = self.first_logprobs or piece.logprobs
        self.began = self.began or piece.is_token
        self.chars += piece.chars
        self.reasoning += piece.reasoning
        shown = self.thinking.feed(piece.text)
        if self.as_tool:
            shown += self.thinking.feed(piece.arguments)
        if piece.finish_reason:
            self.finish_reason = "length" if piece.finish_reason == "length" else "stop"
        return shown

    def completion(self, name: str) -> Completion:
        """Sum up."""
        return Completion(
            text=self.thinking.text,
            finish_reason=self.finish_reason or "stop",
            model=name,
            reasoning=self.reasoning + self.thinking.reasoning,
            usage=self.usage,
            first_logprobs=self.first_logprobs,
        )


def _is_object(request: Request) -> bool:
    return request.schema is not None and request.schema.get("type") == "object"


class _Stream(http_errors.Measured, httpx2.SyncByteStream):
    """A body with a limit."""


def _client(peer: http_errors.Peer, timeouts: Timeouts) -> openai.OpenAI:
    def only_ours(request: httpx2.Request) -> None:
        for name in list(request.headers):
            if name.lower() not in _OWN_HEADERS and not name.lower().startswith("content-"):
                del request.headers[name]
        peer.guard_request(request)

    def only_so_much(response: httpx2.Response) -> None:
        peer.guard_response(response, _Stream)

    slowest = max(timeouts.first_token_seconds, timeouts.silence_seconds) + 5
    return openai.OpenAI(
        base_url=peer.url,
        api_key="none",  # the guard puts the key in, where it belongs
        max_retries=0,
        timeout=openai.Timeout(slowest, connect=timeouts.connect_seconds),
        http_client=openai.DefaultHttpxClient(
            trust_env=not http_errors.is_loopback(peer.url),
            event_hooks={"request": [only_ours], "response": [only_so_much]},
        ),
    )


def _is_passing(problem: Exception) -> bool:
    """Say whether the same request may succeed in a moment."""
    if isinstance(problem, openai.APIStatusError):
        return problem.status_code in (408, 409, 429) or problem.status_code >= 500
    if isinstance(problem, openai.APITimeoutError):
        return False
    return isinstance(problem, openai.APIConnectionError | ConnectionError)
