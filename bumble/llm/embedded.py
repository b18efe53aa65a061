"""The embedded model: chat completions by llama.cpp within this process, no server.

What was evaluated of a conversation is kept on disk and taken up by the next process, so that only
what is new costs time. Declared tools are not handed to the chat template, because small models do
not keep to it: callers describe them in the prompt and ask with a schema (`actions.schema`).
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any

from bumble.errors import BudgetSpentError, ModelUnreachableError, WeightsMissingError
from bumble.llm import engine, gguf, marks, openai_format, prefix_cache
from bumble.llm.actions import Answer
from bumble.llm.protocol import (
    Completion,
    EnoughError,
    OnText,
    PromptMessage,
    Request,
)
from bumble.llm.wire import StatusError, ends_at

_STOP_SECONDS = 2.0  # how long an interrupt waits for the engine to be still
_REASONING_SHARE = 0.5  # of an answer's tokens, at most, where a grammar holds the rest of it
_DUMMIES = ("A", "0")  # two messages that begin differently, to find what comes before any message


class EmbeddedModel:
    """A `Model` on llama.cpp in this process. The weights are loaded by the first request."""

    native_tools = False  # small models don't keep to what their templates make of tools

    def __init__(
        self,
        path: Path,
        *,
        name: str,
        sha256: str,
        context_tokens: int,
        cache_dir: Path | None,
        cache_limit_bytes: int,
        threads: int | None = None,
        on_load: Callable[[], None] | None = None,
        stopwatch: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Set up without loading.

        Args:
            path: The GGUF file, already verified.
            name: The catalog's name of it.
            sha256: Of the file; part of what a saved prefix is valid for.
            context_tokens: The context window to make room for; never more than what the file
                says the model was trained for.
            cache_dir: Where evaluated prefixes are kept; None writes nothing, ever.
            cache_limit_bytes: How large that folder may grow.
            threads: None takes every core that this process may use.
            on_load: Called just before the weights are loaded.
            stopwatch: Counts seconds from anywhere.
        """
        self.name = f"embedded:{name}"
        self._path, self._sha256, self._threads = path, sha256, threads
        self._asked_tokens = context_tokens
        self._on_load, self._stopwatch = on_load, stopwatch
        self._folder = (
            None if cache_dir is None else prefix_cache.PrefixFolder(cache_dir, cache_limit_bytes)
        )
        self._engine: engine.Engine | None = None
        # family and name of the conversation whose prefix the engine holds
        self._resident: tuple[str | None, str] | None = None
        self._is_saved = True  # whether the file has all of it

    @cached_property
    def context_tokens(self) -> int:
        """The context window; beyond what it was trained for a model writes nonsense."""
        try:
            trained = gguf.context_tokens(self._path)
        except (OSError, ValueError):
            trained = None  # what is wrong with the file is said when it is loaded
        return min(self._asked_tokens, trained or self._asked_tokens)

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        """Answer a request; see `Model.complete`."""
        until = ends_at(request.seconds)  # loading counts: who waits, waits for it too
        loaded = self._loaded()
        started = self._stopwatch()
        self._take_up(loaded, request)
        answer = Answer(marks.ThinkFilter(), on_text=on_text, stopwatch=self._stopwatch)
        body = self._body(request, self._reasoning(loaded, request))
        lines = loaded.stream("/v1/chat/completions", body, until=until)
        try:
            answer.read(openai_format.OpenAIDialect(self.name).pieces(lines), started)
        except StatusError as problem:
            if problem.matter != "length":
                raise self._broken(problem) from problem
            raise BudgetSpentError(
                f"The prompt does not fit into the {self.context_tokens} tokens of {self.name}\n"
                "Begin a new conversation with --new-session, or raise llm.context_tokens."
            ) from problem
        except TimeoutError:
            raise EnoughError from None
        except (OSError, ValueError) as problem:
            raise self._broken(problem) from problem
        finally:
            # However this ends: the connection is closed, and the engine stops.
            lines.close()
            if answer.finish_reason is None:
                loaded.wait_idle(_STOP_SECONDS)
        return answer.completion(self.name)

    def warm(self, request: Request) -> None:
        """Evaluate what the next request will share with this one, and save it.

        That is all the messages up to where the next message's own text begins, so the request of
        the next turn, which begins with the same messages, evaluates nothing but its last one.
        """
        loaded = self._loaded()
        stop = request.stop or threading.Event()
        if stop.is_set():
            return
        self._take_up(loaded, request)
        try:
            prompt = self._shared_prompt(loaded, request)
            pieces = self._pieces(loaded, prompt) if request.stop is not None else (prompt,)
            for piece in pieces:
                if stop.is_set():
                    return
                loaded.ask("/completion", {"prompt": piece, "n_predict": 0, "cache_prompt": True})
        except StatusError:
            return  # a template that does not take these messages, or too many: nothing is gained
        except (OSError, ValueError) as problem:
            raise self._broken(problem) from problem
        self._save(loaded)

    def request_bytes(self, request: Request) -> int:
        """Return the length of the body that goes to the engine's listener.

        What a grammar allows of reasoning is left out: the prompt tells, and that the engine makes.
        """
        return len(engine.encode(self._body(request)))

    def close(self) -> None:
        """Save the conversation's prefix and let go of the weights."""
        loaded, self._engine = self._engine, None
        if loaded is not None:
            self._save(loaded)
            loaded.close()

    def _body(self, request: Request, reasoning: engine.Reasoning = "none") -> dict[str, Any]:
        body: dict[str, Any] = {
            "messages": self._messages(request.messages),
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "stream": True,
            "stream_options": {"include_usage": True},
            "cache_prompt": True,
            "chat_template_kwargs": {"enable_thinking": request.thinking},
        }
        if request.seed is not None:
            body["seed"] = request.seed
        if request.schema is not None:
            tokens = max(1, round(_REASONING_SHARE * request.max_tokens))
            body["grammar"] = engine.grammar(request.schema, reasoning, tokens)
        return body

    def _reasoning(self, loaded: engine.Engine, request: Request) -> engine.Reasoning:
        """Say what an answer that a grammar holds may begin with; the template decides."""
        opening, closing = marks.OPENING, marks.CLOSING
        if request.schema is None or closing not in self._head.template:
            return "none"
        try:
            prompt = self._render(loaded, request.messages, request)
        except StatusError:
            return "none"  # the request itself will say what is wrong
        if prompt.rfind(opening) > prompt.rfind(closing):
            return "does"
        return "may" if request.thinking and not prompt.rstrip().endswith(closing) else "none"

    def _messages(self, messages: Sequence[PromptMessage]) -> list[dict[str, str]]:
        own = self._markers
        return [{"role": one.role, "content": marks.plain(one.content, own)} for one in messages]

    @cached_property
    def _head(self) -> gguf.Head:
        try:
            return gguf.head(self._path)
        except FileNotFoundError as problem:
            raise self._missing() from problem
        except (OSError, ValueError) as problem:
            raise self._damaged() from problem

    @cached_property
    def _markers(self) -> re.Pattern[str] | None:
        """What its vocabulary has of control tokens beside the usual ones."""
        return marks.pattern(self._head.control_tokens)

    def _missing(self) -> WeightsMissingError:
        return WeightsMissingError(
            f"{self._path}: the weights of {self.name} are not there\n"
            f"Fetch them with `bumble model pull {self.name.partition(':')[2]}`."
        )

    def _damaged(self) -> WeightsMissingError:
        return WeightsMissingError(
            f"{self._path}: {self.name} could not be loaded: the file is damaged, "
            "or too large for this machine's memory\n"
            f"Fetch it anew with `bumble model pull {self.name.partition(':')[2]}`, "
            "or choose a smaller one from `bumble model list`."
        )

    def _loaded(self) -> engine.Engine:
        if self._engine is not None:
            return self._engine
        if not self._path.is_file():
            raise self._missing()
        if self._on_load is not None:
            self._on_load()
        try:
            if self._folder is not None:
                self._folder.prepare()
        except OSError:  # a disk that is only read
            self._folder = None
        folder = None if self._folder is None else self._folder.folder
        try:
            self._engine = engine.Engine(self._path, self.context_tokens, self._threads, folder)
        except RuntimeError as problem:
            raise self._damaged() from problem
        return self._engine

    def _key(self, name: str) -> str:
        own = (self._sha256, engine.VERSION, engine.CACHE_TYPE, str(self.context_tokens))
        return prefix_cache.key(*own, name)

    def _take_up(self, loaded: engine.Engine, request: Request) -> None:
        """Make the engine hold this conversation's prefix; put away the one it held."""
        family = None if request.cache_family is None else self._key(request.cache_family)
        own = None if request.cache_id is None else (family, self._key(request.cache_id))
        if own is not None and own == self._resident:
            self._is_saved = False
            return
        self._save(loaded)
        self._resident, self._is_saved = own, False
        if self._folder is None or own is None or (filename := self._folder.find(*own)) is None:
            return
        try:
            loaded.ask("/slots/0?action=restore", {"filename": filename})
        except StatusError:
            self._folder.drop(filename)  # it evaluates from the beginning, which is only slower
        except (OSError, ValueError) as problem:
            raise self._broken(problem) from problem

    def _save(self, loaded: engine.Engine) -> None:
        if self._is_saved or self._folder is None or self._resident is None:
            return

        def write(filename: str) -> bool:
            try:
                loaded.ask("/slots/0?action=save", {"filename": filename})
            except (StatusError, OSError, ValueError):
                return False
            return True

        self._is_saved = self._folder.save(*self._resident, write)

    def _shared_prompt(self, loaded: engine.Engine, request: Request) -> str:
        """Render what comes before the text of the next message, whatever that says."""
        messages = request.messages
        if messages and messages[-1].role == "user":
            return self._render(loaded, messages, request)
        first, second = (
            self._render(loaded, (*messages, PromptMessage("user", dummy)), request)
            for dummy in _DUMMIES
        )
        same = (a == b for a, b in zip(first, second, strict=False))
        return first[: sum(takewhile(bool, same))]

    def _pieces(self, loaded: engine.Engine, prompt: str) -> Iterator[str | list[int]]:
        """Yield ever longer beginnings of a prompt, and all of it.

        The listener looks only every second or so whether a connection was closed, so that a long
        prompt can't be broken off at once; between two batches it can.
        """
        body = {"content": prompt, "add_special": True, "parse_special": True}
        tokens = list(loaded.ask("/tokenize", body)["tokens"])
        for end in range(engine.BATCH_TOKENS, len(tokens), engine.BATCH_TOKENS):
            yield tokens[:end]
        yield prompt

    def _render(
        self, loaded: engine.Engine, messages: Sequence[PromptMessage], request: Request
    ) -> str:
        body = {
            "messages": self._messages(messages),
            "chat_template_kwargs": {"enable_thinking": request.thinking},
        }
        return str(loaded.ask("/apply-template", body)["prompt"])

    def _broken(self, problem: Exception) -> ModelUnreachableError:
        return ModelUnreachableError(
            f"{self.name} stopped in the middle: {problem}\n"
            "Run it again; if that does not help, see `bumble status`."
        )
