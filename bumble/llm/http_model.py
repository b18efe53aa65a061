"""A model behind a server, over HTTP: sending, streaming, patience, and what its endpoint refuses.

Only what is passed in is sent, so that a key never travels to an address it was not meant for.
What an endpoint refuses is left out of the next try, and of every later request.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any

import httpx2
from msgspec.structs import replace

from bumble.errors import AnswerInvalidError
from bumble.llm import detect, http_errors, openai_format, structured
from bumble.llm.actions import Answer
from bumble.llm.marks import ThinkFilter
from bumble.llm.ollama_format import OllamaDialect
from bumble.llm.protocol import Completion, OnText, Request
from bumble.llm.wire import (
    HabitFile,
    Habits,
    Piece,
    SilentError,
    StatusError,
    Timeouts,
    ToolChoice,
    ends_at,
    paced,
    within,
)
from bumble.text import printable
from bumble.text.schema import schema_error

Dialect = openai_format.OpenAIDialect | OllamaDialect
_PROBLEMS = (StatusError, httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError)
_ASK_SECONDS = 3.0  # for questions about the model, which only inform
_ASKED_SECONDS = 10.0  # for all of an answer to one
_MOST_REFUSALS = 12  # of one request, each for another matter of form
_MOST_WAIT_SECONDS = 30.0  # that a server may ask for; who wants more is not asked again
_PAGE = "<"  # begins a page for people


class HttpModel:
    """A `Model` behind a server."""

    def __init__(
        self,
        name: str,
        peer: http_errors.Peer,
        dialect: Dialect,
        *,
        timeouts: Timeouts | None = None,
        retries: int = 2,
        context_tokens: int | None = None,
        most_tokens: int | None = None,
        list_headers: Mapping[str, str] | None = None,
        habits: HabitFile | None = None,
        on_warning: Callable[[str], None] = lambda _: None,
        sleep: Callable[[float], None] = time.sleep,
        stopwatch: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Set up without connecting.

        Args:
            name: Backend and model, as `openai:gpt-5`.
            peer: The server, and the key for it.
            dialect: What it speaks.
            timeouts: How long the server may keep silent.
            retries: How often a request is sent again if it failed before its first token.
            context_tokens: The context window, where the user knows it; None asks the server.
            most_tokens: A window that was asked for: what the server says can only be smaller.
            list_headers: What goes along when the server is asked about its models.
            habits: Where it is kept what the endpoint takes; None: in this object alone.
            on_warning: Told in a sentence when the window is smaller than asked for.
            sleep: Waits between two tries.
            stopwatch: Counts seconds from anywhere.
        """
        self.name, self._dialect = name, dialect
        self._peer = peer
        self._timeouts, self._retries = timeouts or Timeouts(), retries
        self._sleep, self._stopwatch = sleep, stopwatch
        self._told_tokens, self._most_tokens = context_tokens, most_tokens
        self._on_warning, self._looked = on_warning, False
        self._list_headers = dict(list_headers or {})
        self._habit_file = habits or HabitFile(None, "", lambda: datetime.max.replace(tzinfo=UTC))
        self._asked = False  # whether it was since the last request
        self._connections: list[Any] = []  # made by the client

    @cached_property
    def _client(self) -> httpx2.Client:
        """The connection, made for the first request: certificates take a while to be read."""
        timeouts, url = self._timeouts, self._peer.url
        slowest = max(timeouts.first_token_seconds, timeouts.silence_seconds) + 5
        return httpx2.Client(
            trust_env=not printable.is_loopback(url),
            follow_redirects=True,
            verify=not url.startswith("http://"),  # no certificates are read for nothing
            timeout=httpx2.Timeout(slowest, connect=timeouts.connect_seconds),
            headers={"User-Agent": "bumble"},
            event_hooks={
                "request": [self._peer.guard_request],
                "response": [self._peer.guard_response],
            },
        )

    @property
    def native_tools(self) -> bool:
        """Whether requests may carry tools."""
        return self._dialect.native(self._habits)

    @property
    def context_tokens(self) -> int | None:
        """The context window; None where nobody says."""
        if self._told_tokens is not None:
            return self._told_tokens
        known = self._informed().context_tokens
        if self._most_tokens is None:
            return known
        return min(self._most_tokens, known or self._most_tokens)

    @property
    def told(self) -> Habits:
        """What is known of the model, and what the server tells of it."""
        if self._informed().names:  # it may have come since: that costs a question each time
            self._learn(self._dialect.learned(self._ask, self._habits))
        return self._habits

    @property
    def prices(self) -> tuple[float, float] | None:
        """Dollars for a million tokens read and written, where the server has said it."""
        return self._habits.prices

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        """Answer a request; see `Model.complete`."""
        self._asked = False  # who could not be reached may be there now
        if self._dialect.asks_first:
            self._informed()
        completion = self._patiently(request, on_text)
        if _is_unsaid(completion):
            completion = self._without_thought(request, on_text)
        self._look_at_window()
        return completion

    def warm(self, request: Request) -> None:
        """Do nothing: a server looks after its own cache."""

    def request_bytes(self, request: Request) -> int:
        """Return the length of the body as it would be sent now."""
        if self._dialect.asks_first:
            self._informed()
        return len(_encoded(self._dialect.body(request, self._habits)))

    def close(self) -> None:
        """Close the connection, if there was one."""
        if "_client" in self.__dict__:
            self._client.close()

    @cached_property
    def _habits(self) -> Habits:
        return self._habit_file.load()

    def _learn(self, habits: Habits) -> None:
        if habits != self._habits:
            self._habits = habits
            self._habit_file.keep(habits)

    def _informed(self) -> Habits:
        if not self._habits.asked and not self._asked:
            self._asked = True
            self._learn(self._dialect.learned(self._ask, self._habits))
        return self._habits

    def _without_thought(self, request: Request, on_text: OnText | None) -> Completion:
        """Ask once more a model that said nothing for thought: not to think, with more room."""
        self._learn(replace(self._habits, reasons=True))
        completion = self._patiently(replace(request, thinking=False), on_text)
        if not _is_unsaid(completion):
            return completion
        thought = len(completion.reasoning)
        why = f"{thought:,} characters of thought" if thought else "its longest length was reached"
        raise AnswerInvalidError(
            f"{self.name} thought, and said nothing ({why}, no answer)\n"
            "Allow it longer answers: `bumble config set "
            "cognition.reflex_max_tokens 4096`; or choose another model.",
            answer="",
        )

    def _patiently(self, request: Request, on_text: OnText | None) -> Completion:
        """Send a request, again if it fails before its first token and that may pass."""
        attempt, until = 0, ends_at(request.seconds)
        while True:
            thinking = ThinkFilter(opened=self._habits.opens_thinking)
            answer = Answer(thinking, request.tools, on_text, self._stopwatch)
            try:
                return self._in_form(request, self._habits, answer, until)
            except (*_PROBLEMS, SilentError) as problem:
                if attempt == self._retries or answer.first is not None or not _is_passing(problem):
                    raise http_errors.worded(
                        self._peer, problem, self._dialect.model, answer.text
                    ) from problem
                asked_for = problem.wait if isinstance(problem, StatusError) else 0.0
            self._sleep(max(0.5 * 2**attempt, asked_for))
            attempt += 1

    def _in_form(
        self,
        request: Request,
        habits: Habits,
        answer: Answer,
        until: float | None,
        left: int = _MOST_REFUSALS,
    ) -> Completion:
        """Send the request, each time without what was refused of it; what passes is learned."""
        body, since = self._dialect.body(request, habits), self._stopwatch()
        try:
            with closing(self._stream(body, request.max_tokens, until)) as pieces:
                answer.read(pieces, since)
        except StatusError as problem:
            less = self._dialect.without(problem, request, body, habits)
            if less is None or answer.first is not None or not left:
                raise
            return self._in_form(request, less, answer, until, left - 1)
        if answer.finish_reason is None:
            raise ConnectionError("the stream ended before its end")
        if answer.was_filtered:
            raise http_errors.filtered(self._peer.shown)
        completion = answer.completion(self.name)
        calls = bool(request.tools) and self._dialect.native(self._habits)
        habits = _seen(answer, habits, self._habits, calls=calls)
        if _passes_over(body, answer):  # once it may be one server behind a router
            mode = habits.schema_mode + habits.doubts_schema
            habits = replace(habits, schema_mode=mode, doubts_schema=True)
        self._learn(habits)
        return completion

    def _stream(
        self, body: dict[str, Any], max_tokens: int, until: float | None
    ) -> Generator[Piece, None, None]:
        line = http_errors.Line(self._connections)

        def read() -> Generator[Piece, None, None]:
            headers = {"Content-Type": "application/json", "Accept": "text/event-stream, */*"}
            url = self._peer.url + self._dialect.path
            told = {"trace": line.trace}
            with self._client.stream(
                "POST", url, content=_encoded(body), headers=headers, extensions=told
            ) as response:
                if not response.is_success:
                    raise _status_error(response)
                pieces = self._dialect.pieces(_events(response, self._dialect))
                yield from http_errors.measured(pieces, max_tokens)

        return paced(
            read,
            is_token=lambda piece: piece.is_token,
            stop=line.end,
            problems=_PROBLEMS,
            timeouts=self._timeouts,
            until=until,
        )

    def _look_at_window(self) -> None:
        """Read back, once, the window that the model was loaded with."""
        dialect = self._dialect
        if self._looked or self._most_tokens is None or not isinstance(dialect, OllamaDialect):
            return
        self._looked = True
        loaded = dialect.loaded_tokens(self._ask)
        if loaded is not None and loaded < self._most_tokens:
            asked, self._most_tokens = self._most_tokens, loaded
            self._on_warning(
                f"Ollama gives {self._dialect.model} a window of {loaded} tokens, "
                f"not the {asked} asked for; longer prompts would be cut."
            )

    def _ask(self, path: str, post: Any) -> Any:
        """Ask the server about its models; None where it can't be reached, {} where it refuses."""
        url = path if "://" in path else self._peer.url + path
        line = http_errors.Line(self._connections)

        def ask() -> Any:
            method, headers = "GET" if post is None else "POST", self._list_headers
            answer = self._client.request(
                method,
                url,
                json=post,
                headers=headers,
                timeout=_ASK_SECONDS,
                extensions={"trace": line.trace},
            )
            return answer.raise_for_status().json()

        problems = (*_PROBLEMS, RecursionError)
        try:
            return within(_ASKED_SECONDS, ask, problems)
        except httpx2.HTTPStatusError:
            return {}
        except (*problems, TimeoutError):
            return None
        except KeyboardInterrupt:
            line.end()
            raise


def _is_unsaid(completion: Completion) -> bool:
    """Whether nothing was said for thought; of some models only the end of its room shows it."""
    has_thought = bool(completion.reasoning.strip()) or completion.finish_reason == "length"
    return has_thought and not completion.text.strip()


def _seen(answer: Answer, habits: Habits, before: Habits, *, calls: bool) -> Habits:
    """Return habits with what an answer tells of how the model answers.

    Where tools come to nothing once, refused or passed over, that may be of the one answer; a
    schema is surer where it is so twice in a row.

    Args:
        answer: The answer.
        habits: By which its request passed.
        before: As they were.
        calls: Whether calls were asked for at first.
    """
    reasons = bool(answer.usage.reasoning_tokens or answer.reasoning)
    habits = replace(
        habits,
        reasons=habits.reasons or reasons,
        opens_thinking=habits.opens_thinking or answer.unopened,
        doubts_tools=habits.doubts_tools and not answer.calls,
    )
    passed_over = habits.tool_choice == "required" and bool(answer.text) and not answer.calls
    if not calls or not (passed_over or habits.tool_choice == "none"):
        return habits
    choice: ToolChoice = "none" if before.doubts_tools else before.tool_choice
    return replace(habits, doubts_tools=True, tool_choice=choice)


_FORM = ("additionalProperties", "enum", "required", "type")  # what `strict` has a server enforce


def _passes_over(body: Mapping[str, Any], answer: Answer) -> bool:
    """Say whether an answer breaks the form that its server was asked to enforce."""
    asked = body.get("response_format", {}).get("json_schema", {})
    if not asked.get("strict") or answer.finish_reason != "stop":
        return False
    try:
        error = schema_error(structured.load(answer.text)[0], asked["schema"])
    except ValueError:
        return False  # no JSON: it may have refused to answer
    return error is not None and error.validator in _FORM


def _encoded(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _status_error(response: httpx2.Response) -> StatusError:
    raw = response.read()
    try:
        told: Any = json.loads(raw)
    except (ValueError, RecursionError):
        text = raw.decode(errors="replace").strip()
        told = response.reason_phrase if not text or text.startswith(_PAGE) else text
    if isinstance(told, list) and told:  # Gemini's
        told = told[0]
    return openai_format.failure(told, response.status_code, _wait(response))


def _wait(response: httpx2.Response) -> float:
    """Return after how many seconds a server wants to be asked again; 0: it doesn't say."""
    if milliseconds := response.headers.get("retry-after-ms", ""):
        return (openai_format.count_of(milliseconds) or 0) / 1000
    told = response.headers.get("retry-after", "")
    if told.replace(".", "", 1).isdigit():
        return float(told)
    try:
        return max(0.0, parsedate_to_datetime(told).timestamp() - time.time())
    except ValueError:
        return 0.0


def _events(response: httpx2.Response, dialect: Dialect) -> Iterator[bytes]:
    """Yield the lines of an answer; of one that is a whole, whatever it is called, one line.

    Raises:
        PageError: If it is a page for people.
    """
    lines = _lines(response)
    first = next((line for line in lines if line.strip()), b"")
    if first.lstrip().startswith(_PAGE.encode()):
        raise http_errors.PageError
    if first.lstrip().startswith((b"{", b"[")) and isinstance(dialect, openai_format.OpenAIDialect):
        yield b"data: " + b" ".join((first, *lines))
        yield b"data: " + openai_format.DONE
    else:
        yield first
        yield from lines


def _lines(response: httpx2.Response) -> Iterator[bytes]:
    """Yield the lines of a body. Only line feeds end one: JSON may hold other separators."""
    held = bytearray()
    for piece in response.iter_bytes():
        first, *more = piece.split(b"\n")
        held += first
        for line in more:
            yield bytes(held)
            held = bytearray(line)
    yield bytes(held)


def _is_passing(problem: Exception) -> bool:
    """Say whether the same request may succeed in a moment."""
    if isinstance(problem, StatusError):
        is_passing = problem.status in (408, 409, 429) or problem.status >= 500
        is_soon = problem.wait <= _MOST_WAIT_SECONDS
        return is_passing and is_soon and problem.matter != "credit"
    if isinstance(problem, httpx2.TimeoutException):
        return False
    return isinstance(problem, httpx2.TransportError | ConnectionError)


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
    known = detect.provider_of(url)
    thinks, thinks_not = (known.thinks, known.thinks_not) if known is not None else ({}, {})
    if known is None and printable.is_loopback(url):  # as llama-server and vLLM switch it
        thinks = {"chat_template_kwargs": {"enable_thinking": True}}
        thinks_not = {"chat_template_kwargs": {"enable_thinking": False}}
    dialect = openai_format.OpenAIDialect(
        model,
        thinks,
        thinks_not,
        marks_cache=known is not None and known.marks_cache,
        enforces=enforces,
        root="" if known is not None else url.removesuffix("/v1"),
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
