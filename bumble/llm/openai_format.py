"""Requests and answers in the form of OpenAI's chat completions; no server.

Servers that claim this form fill it as they like. What comes in is read field by field: what can
be left out may be missing, and what has another type than it should is an error that names it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from bumble import patterns
from bumble.llm import actions, detect
from bumble.llm.protocol import PromptMessage, Request, Usage
from bumble.llm.wire import Ask, CallPart, Habits, Piece, StatusError, entries
from bumble.text.printable import whole

# Where servers put what a model thought, no part of OpenAI's own form, and under which key of an
# object there; Mistral puts it among the parts of the content.
_THOUGHT_IN = ("reasoning_content", "reasoning", "reasoning_details")
_THOUGHT_AS = ("thinking", "text", "summary", "content")
ANSWER_TOOL = "answer"  # the name of the schema, or of the tool that stands in for it
DONE = b"[DONE]"  # the end of a stream
SCHEMA_MODES = ("json_schema", "tool", "json_object", "plain")  # tried in this order
PLAIN = SCHEMA_MODES.index("plain")
OK = 200
_ERRORS = frozenset(["detail", "message", "msg", "base_resp"])  # an error by another name
REASONING_TOKENS = 4096  # beside the answer, of a model that thinks whether or not it is asked to
# What is said in words where the server doesn't enforce it.
SCHEMA_TOLD = "Answer with one JSON value and nothing else. It must satisfy this JSON schema:"
LIMITS = ("max_tokens", "max_completion_tokens")
_REFUSALS = (400, 403, 404, 405, 415, 422, 501)  # 404: a router knows no server that can do it
# What a request can do without; a refusal that names one is answered by leaving it out.
_OPTIONAL = (
    *("temperature", "stream_options", "seed", "reasoning_effort"),
    *("reasoning", "chat_template_kwargs", "cache_control", "parallel_tool_calls"),
    *("response_format", "tool_choice", "tools", *LIMITS, "stream"),
)
# Each kind of server has a name of its own for the window.
_WINDOWS = (
    *("max_model_len", "loaded_context_length", "context_length", "context_window"),
    *("max_context_length", "n_ctx", "n_ctx_train", "max_context_window_tokens"),
    *("max_input_tokens", "max_prompt_length"),  # Anthropic's, xAI's
)
# How OpenAI's newest models refuse to think where there are tools: only `none` will do.
_EFFORT_NONE = patterns.compile(r"reasoning_effort to '?none")
LLAMA_SERVER = "llamacpp"  # whose models a list tells to be its own
_DATED = patterns.compile(r"-\d{8}|-\d{4}-\d\d-\d\d")  # behind a model's name: one version of it
# How templates without a word of the system refuse it.
_NO_SYSTEM = patterns.compile(
    r"system.{0,40}(not|n't|un)[ -]?support|roles must alternate|only.{0,40}\broles\b"
    r"|\broles?\b.{0,30}(system|developer)|(system|developer)['\"` ]+(role|instruction|message)",
    re.I,
)
_SAYS_SYSTEM = (400, 422, 500)
_ENFORCED = ("tools", "tool_choice", "response_format")  # refused as a failure, too
_SCHEMA = patterns.compile("json.?schema|grammar", re.I)  # how a failure names one of them
_SPELLINGS = {"stream": "stream(?:ing)?"}  # how else refusals name a parameter
# None in the name of a model.
_NUMBER = patterns.compile(r"(?<![\w.,-])(\d{1,3}(?:,\d{3})+|\d+)(?![\w-]|[.,]\d)")
_SECONDS = patterns.compile(r"\d+(\.\d+)?s")
_BAD_REQUEST = patterns.compile("invalid_?request|bad_?request|unsupported_", re.I)


class OpenAIDialect(Struct, frozen=True):
    """Chat completions."""

    model: str
    # Parameters that have a model think, or not; empty: the endpoint has no known ones.
    thinks: Mapping[str, Any] = field(default_factory=dict)
    thinks_not: Mapping[str, Any] = field(default_factory=dict)
    marks_cache: bool = False  # whether it takes marks of what is worth keeping
    enforces: bool = True  # False: the server is only told of schemas, and of tools
    # The server's address without `/v1`, where llama-server says more; empty: it is none.
    root: str = ""

    path = "/chat/completions"
    asks_first = False

    def learned(self, ask: Ask, habits: Habits) -> Habits:
        """Return habits with what `/models` says, and llama-server's `/props`."""
        answer = ask("/models", None)
        models = listed(answer)
        entry = _entry(models, self.model)
        is_whole = not (isinstance(answer, dict) and answer.get("has_more"))
        inner = (entry.get(key) for key in ("meta", "top_provider", "limits", "model_info"))
        told = (entry, *inner, *entries(entry, "providers"))
        places = [place for place in told if isinstance(place, dict)]
        window = _first_count(places, _WINDOWS)
        if window is None and self.root:
            props = ask(f"{self.root}/props", None)
            settings = props.get("default_generation_settings") if isinstance(props, dict) else None
            window = _first_count([settings] if isinstance(settings, dict) else [], ("n_ctx",))
        return replace(
            habits,
            asked=answer is not None,
            context_tokens=window or detect.window_of(self.model),
            window_told=window is not None,
            names=() if entry or not is_whole else tuple(_short(one["id"]) for one in models),
            parameters=_first_count(places, ("n_params",)),
            prices=_prices(entry.get("pricing")),
        )

    def native(self, habits: Habits) -> bool:
        """Whether requests may carry tools."""
        return self.enforces and habits.tool_choice != "none"

    def mode(self, request: Request, habits: Habits) -> str:
        """Return how the schema of a request is enforced."""
        if request.schema is None or (request.tools and self.native(habits)):
            return "plain"
        mode = SCHEMA_MODES[habits.schema_mode if self.enforces else PLAIN]
        if not _is_object(request):  # OpenAI takes none of it; no other mode can hold it
            return "plain" if habits.only_objects or mode != "json_schema" else mode
        return mode

    def body(self, request: Request, habits: Habits) -> dict[str, Any]:
        """Write the body of a request."""
        native = bool(request.tools) and self.native(habits)
        mode = self.mode(request, habits)
        told: Sequence[PromptMessage] = request.messages
        if request.toolless and not native:
            told = (replace(told[0], content=request.toolless), *told[1:])
        if request.schema is not None and not native and mode in ("json_object", "plain"):
            schema = json.dumps(request.schema, ensure_ascii=False)
            asked = f"{told[-1].content}\n\n{SCHEMA_TOLD}\n{schema}"
            told = (*told[:-1], replace(told[-1], content=asked))
        messages: list[dict[str, Any]] = (
            actions.messages(told)
            if native
            else [{"role": one.role, "content": one.content} for one in told]
        )
        if habits.no_system:
            messages = _without_system(messages)
        limit = request.max_tokens + (REASONING_TOKENS if habits.reasons else 0)
        body: dict[str, Any] = {
            "model": self.model,
            "messages": messages,
            habits.limit_name: min(limit, habits.limit_tokens or limit),
            "temperature": request.temperature,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.seed is not None:
            body["seed"] = request.seed
        body |= self.thinks if request.thinking else self.thinks_not
        if native and habits.effort:
            body["reasoning_effort"] = habits.effort
        if native:
            body |= {"tools": actions.declared(request.tools)}
            body |= {"tool_choice": habits.tool_choice, "parallel_tool_calls": True}
        body |= _enforced(request, mode)
        marks = self.marks_cache and "cache_control" not in habits.without
        if marks and messages[0]["role"] == "system":  # as worth keeping evaluated
            part = {"type": "text", "text": messages[0]["content"]}
            messages[0]["content"] = [part | {"cache_control": {"type": "ephemeral"}}]
        without = habits.without
        if "stream" in without:
            without |= {"stream_options"}
        return {name: value for name, value in body.items() if name not in without}

    def without(
        self, problem: StatusError, request: Request, body: Mapping[str, Any], habits: Habits
    ) -> Habits | None:
        """Return the habits by which a refused request may pass; None: it is no matter of form."""
        named = _named(problem, body)
        lacks_system = (
            not named
            and problem.status in _SAYS_SYSTEM
            and any(one["role"] == "system" for one in body.get("messages", ()))
            and _NO_SYSTEM.search(problem.message) is not None
        )
        is_enforced = named in _ENFORCED or _SCHEMA.search(problem.message) is not None
        is_failure = problem.status >= 500 and is_enforced
        is_refusal = problem.status in _REFUSALS or lacks_system or is_failure
        matter = problem.matter
        is_of_form = matter == "form" or (problem.status == 403 and matter == "key")
        if not (is_refusal and is_of_form):
            return None
        if lacks_system:
            return replace(habits, no_system=True)
        if "tools" in body and not habits.effort and _EFFORT_NONE.search(problem.message):
            return replace(habits, effort="none")
        if named == habits.limit_name:
            return _other_limit(problem, body[named], habits)
        if named and named not in _ENFORCED:
            return replace(habits, without=habits.without | {named})
        if problem.status == 403:
            return None
        if "tools" in body and self.mode(request, habits) != "tool":
            if named != "tool_choice":
                return replace(habits, tool_choice="none")
            if habits.tool_choice == "required":
                return replace(habits, tool_choice="auto")
            return replace(habits, without=habits.without | {named})
        mode = self.mode(request, habits)
        if request.schema is None or mode == "plain":
            return None
        if not _is_object(request):
            return replace(habits, only_objects=True)
        return replace(habits, schema_mode=SCHEMA_MODES.index(mode) + 1)

    def pieces(self, lines: Iterable[bytes]) -> Iterator[Piece]:
        """Read the events of a stream.

        Raises:
            ValueError: If one can't be read.
            StatusError: If it tells of a failure.
        """
        is_open = is_told = False  # something came, and no word of its end; it came bit by bit
        for line in lines:
            name, _, data = line.partition(b":")
            if name not in (b"data", b"error") or not data.strip():  # llama-server's, of a failure
                continue
            if data.strip() == DONE:
                if is_open:
                    yield Piece(finish_reason="stop")
                return
            try:
                event = json.loads(data)
            except RecursionError as problem:
                raise ValueError("its JSON is nested too deep") from problem
            piece = read_event(event, is_told=is_told)
            in_parts = any(one.get("delta") for one in entries(event, "choices"))
            is_told = is_told or (in_parts and piece.is_token)
            is_open = (is_open or piece.is_token) and not piece.finish_reason
            yield piece


def listed(answer: Any) -> list[dict[str, Any]]:
    """Read a list of models: those entries that name one, by its id or as `name`."""
    answer = answer if isinstance(answer, dict) else {"data": answer}
    every = entries(answer, "data") or entries(answer, "models")
    named = (entry | {"id": entry.get("id", entry.get("name"))} for entry in every)
    return [entry for entry in named if isinstance(entry["id"], str)]


def _entry(entries: Sequence[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return what a list says of a model; empty where it isn't in it.

    Lists may name a model by its dated version (Anthropic's) or below `models/` (Gemini's), and
    leave out what is added to a name (OpenRouter's `:online`).
    """
    if len(entries) == 1 and entries[0].get("owned_by") == LLAMA_SERVER:
        return entries[0]  # it serves its one model by whatever name
    by_id = {_short(entry["id"]): entry for entry in entries}
    for known in (_short(name), _short(name).partition(":")[0]):
        if known in by_id:
            return by_id[known]
    dated = (one for one in by_id if one.startswith(name) and _DATED.fullmatch(one[len(name) :]))
    return by_id.get(max(dated, default=""), {})


def _short(name: str) -> str:
    return name.removeprefix("models/")


def _first_count(places: Sequence[Mapping[str, Any]], names: Sequence[str]) -> int | None:
    """Return what the first of the names counts; the least where several places say it."""
    found = ([count_of(place.get(name)) or 0 for place in places] for name in names)
    return next((min(filter(None, counts)) for counts in found if any(counts)), None)


def _prices(value: Any) -> tuple[float, float] | None:
    """Read OpenRouter's prices: dollars a token, as texts."""
    if not isinstance(value, dict):
        return None
    try:
        read, written = float(value["prompt"]), float(value["completion"])
    except (KeyError, TypeError, ValueError):
        return None
    return (read * 1e6, written * 1e6) if read >= 0 and written >= 0 else None


def _named(problem: StatusError, body: Mapping[str, Any]) -> str:
    """Return the parameter that a refusal is about; empty: it doesn't say."""
    names = [name for name in _OPTIONAL if name in body or name in ("cache_control", *LIMITS)]
    spelled = {name: _SPELLINGS.get(name, name.replace("_", "_?")) for name in names}  # `maxTokens`
    any_of = "|".join(f"(?P<{name}>{written})" for name, written in spelled.items())
    for said in (problem.parameter.split(".")[0], problem.message):
        if match := re.search(rf"(?<!\w)(?:{any_of})(?!\w)", said, re.IGNORECASE):
            name = str(match.lastgroup)  # the limit goes by whatever name it was sent
            sent = [each for each in LIMITS if each in body] if name in LIMITS else [name]
            return sent[0] if sent else ""
    return ""


def _other_limit(problem: StatusError, sent: int, habits: Habits) -> Habits:
    """Return habits with another limit of an answer: a lower one that is told, by another name."""
    named = habits.limit_name
    other = LIMITS[1 - LIMITS.index(named)]
    numbers = (int(one.replace(",", "")) for one in _NUMBER.findall(problem.message))
    lower = max((one for one in numbers if 1 < one < sent and one != problem.status), default=None)
    is_most = "greater" not in problem.message  # than what else was asked for
    if lower is not None and is_most and other not in problem.message:
        return replace(habits, limit_tokens=lower)
    without = habits.without | {named}
    if other in without:
        return replace(habits, without=without)
    return replace(habits, limit_name=other, without=without)


def _without_system(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put what the system says at the head of what the user says next."""
    merged: list[dict[str, Any]] = []
    waiting: list[str] = []
    for one in messages:
        if one["role"] == "system":
            waiting.append(one["content"])
        elif waiting and one["role"] == "user":
            merged.append(one | {"content": "\n\n".join([*waiting, one["content"]])})
            waiting.clear()
        else:
            merged.append(one)
    return [*merged, *({"role": "user", "content": text} for text in waiting)]


def _is_object(request: Request) -> bool:
    return request.schema is not None and request.schema.get("type") == "object"


def _enforced(request: Request, mode: str) -> dict[str, Any]:
    """Choose what makes the server keep to the schema."""
    if request.schema is None:
        return {}
    if mode == "json_schema":
        strict = is_strict(request.schema)
        schema = {"name": ANSWER_TOOL, "schema": request.schema, "strict": strict}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}
    if mode == "tool":
        function = {"name": ANSWER_TOOL, "description": "Give the answer."}
        return {
            "tools": [{"type": "function", "function": function | {"parameters": request.schema}}],
            "tool_choice": {"type": "function", "function": {"name": ANSWER_TOOL}},
        }
    return {"response_format": {"type": "json_object"}} if mode == "json_object" else {}


def is_strict(schema: Mapping[str, Any]) -> bool:
    """Whether OpenAI's `strict` takes a schema: each value says its type, each object is closed."""
    fields = schema.get("properties", {})
    is_open = schema.get("type") == "object" and (
        schema.get("additionalProperties") is not False
        or set(schema.get("required", ())) != fields.keys()
    )
    if is_open or not ("type" in schema or "anyOf" in schema):
        return False
    inner = (*fields.values(), *schema.get("anyOf", ()))
    return all(map(is_strict, (*inner, schema["items"]) if "items" in schema else inner))


def read_event(data: Any, *, is_told: bool = False) -> Piece:
    """Read an event of a stream, or a whole answer that was not streamed.

    Args:
        data: The event.
        is_told: Whether parts of the answer came: a message is all of it once more.

    Raises:
        ValueError: If it can't be read; names the field that is wrong.
        StatusError: If it tells of a failure.
    """
    event = typed(data, dict, "an event")
    if event.get("error"):
        raise failure(event, 0)
    if event.get("choices") is None and not _ERRORS.isdisjoint(event):
        raise failure(event, OK)  # which says no more than the event
    text = reasoning = finish = ""
    calls: list[CallPart] = []
    for entry in typed(event.get("choices"), list, "choices"):
        choice = typed(entry, dict, "a choice")
        if choice.get("index") not in (None, 0, "0"):
            continue  # one answer was asked for
        message = None if is_told else choice.get("message")
        delta = typed(choice.get("delta") or message, dict, "delta")
        shown = delta.get("content")
        if isinstance(shown, list):
            shown = [one for one in shown if not _is_thought(one)]
        # with halves of characters: others follow
        text += _text(shown, "content") or as_text(delta.get("refusal"), "refusal")
        reasoning += _reasoning(delta)
        parts = typed(delta.get("tool_calls"), list, "tool_calls")
        if delta.get("function_call"):  # the form before there were several
            parts = [{"function": delta["function_call"]}]
        calls += [_call(typed(part, dict, "a tool call"), n) for n, part in enumerate(parts)]
        finish = as_text(choice.get("finish_reason"), "finish_reason") or finish
        if choice.get("error") or finish == "error":
            unnamed = {"code": 502, "message": "its answer ended in an error"}
            raise failure({"error": choice.get("error") or unnamed}, 0)
    return Piece(text, reasoning, tuple(calls), finish, _usage(event.get("usage")))


def failure(body: Any, status: int, wait: float = 0.0) -> StatusError:
    """Read what a server says of a failure: in OpenAI's form, or in any that others have.

    A status of 0, or of success, gives way to one that the error names.
    """
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, str) or not isinstance(error, dict):
        return StatusError(status, str(whole(str(error))), wait=wait)
    message = error.get("message") or error.get("detail") or json.dumps(error, ensure_ascii=False)
    if not isinstance(message, str):  # FastAPI lists what it refuses
        message = json.dumps(message, ensure_ascii=False)
    code = " ".join(str(error.get(name) or "") for name in ("code", "type", "status"))
    parameter = str(error.get("param") or "")
    if status <= OK:
        number = count_of(error.get("code")) or 0
        named = 400 if parameter or _BAD_REQUEST.search(code) else status or 500
        status = number if 400 <= number < 600 else named
    # Gemini's: after how many seconds it wants to be asked again
    told = (str(one.get("retryDelay", "")) for one in entries(error, "details"))
    wait = wait or max((float(one[:-1]) for one in told if _SECONDS.fullmatch(one)), default=0.0)
    raw = error.get("metadata", {}).get("raw") if isinstance(error.get("metadata"), dict) else None
    if raw:  # OpenRouter's, of what the provider behind it said
        with suppress(ValueError, RecursionError):
            raw = json.loads(raw) if isinstance(raw, str) else raw
        return failure(raw, status, wait)
    return StatusError(status, str(whole(message)), parameter=parameter, code=code, wait=wait)


def _reasoning(delta: dict[str, Any]) -> str:
    """Read what the model thought: the first that says something of the places it may stand in."""
    parts = delta.get("content")
    inner = list(filter(_is_thought, parts)) if isinstance(parts, list) else None
    places = (*(delta.get(name) for name in _THOUGHT_IN), inner)
    return next(filter(None, map(_thought, places)), "")


def _thought(value: Any) -> str:
    if isinstance(value, list):
        return "".join(map(_thought, value))
    if isinstance(value, dict):
        return _thought(next(filter(None, map(value.get, _THOUGHT_AS)), ""))
    return value if isinstance(value, str) else ""


def _is_thought(part: Any) -> bool:
    """Whether a part of an answer is none of its text."""
    return isinstance(part, dict) and part.get("type", "text") not in ("text", "output_text")


def _call(part: dict[str, Any], place: int) -> CallPart:
    """Read a part of a call; some servers leave out what is around it, or name it otherwise."""
    function = typed(part.get("function") or part, dict, "function")
    given = (function.get(name) for name in ("arguments", "parameters", "input"))
    arguments = next((one for one in given if one is not None), None)
    if isinstance(arguments, dict):  # some servers have read them already
        arguments = json.dumps(arguments, ensure_ascii=False)
    index = part.get("index")
    return CallPart(
        index if isinstance(index, int) else place,
        as_text(part.get("id"), "id"),
        as_text(function.get("name"), "name"),
        _text(arguments, "arguments"),  # with halves of characters: others follow
    )


def _usage(value: Any) -> Usage | None:
    """Read what an answer cost; it informs, nothing more: None for what can't be read."""
    if not isinstance(value, dict):
        return None
    details = (value.get(f"{name}_tokens_details") for name in ("prompt", "completion"))
    read, written = (one if isinstance(one, dict) else {} for one in details)
    cached = read.get("cached_tokens")
    cost = value.get("cost")
    is_cost = isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < math.inf
    return Usage(
        count_of(value.get("prompt_tokens")),
        # DeepSeek's stands beside
        count_of(value.get("prompt_cache_hit_tokens") if cached is None else cached),
        count_of(value.get("completion_tokens")),
        count_of(written.get("reasoning_tokens")),
        float(value["cost"]) if is_cost else None,
    )


def count_of(value: Any) -> int | None:
    """Return a number of tokens or the like; None: it is none."""
    if (isinstance(value, str) and value.isdecimal() and len(value) < 16) or (
        isinstance(value, float) and value.is_integer()
    ):
        value = int(value)
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 40
    return value if is_count else None


def as_text(value: Any, name: str) -> str:
    """Read a text; of a list of parts, those that are text."""
    return str(whole(_text(value, name)))


def _text(value: Any, name: str) -> str:
    if isinstance(value, list):
        parts = (part.get("text") if isinstance(part, dict) else part for part in value)
        value = "".join(part for part in parts if isinstance(part, str))
    return typed(value, str, name)


_KINDS = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
T = TypeVar("T", dict[str, Any], list[Any], str)


def typed(value: Any, kind: type[T], name: str) -> T:
    """Read a field of a type; an empty one where there is none.

    Raises:
        ValueError: If it is something else; names the field.
    """
    if value is not None and not isinstance(value, kind):
        given = _KINDS.get(type(value), "a number")
        raise ValueError(f"{name} is {given}, not {_KINDS[kind]}")
    return kind() if value is None else value
