"""Answers that must satisfy a JSON schema: asking again, repairing, reading.

The ladder: the backend enforces the schema as far as it can (grammar or `json_schema`, else a
forced tool, else JSON mode); what came is repaired; the model is told once what was wrong.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from bumble import patterns
from bumble.errors import AnswerInvalidError
from bumble.llm.protocol import Model, PromptMessage, Request
from bumble.text import tokens
from bumble.text.printable import whole
from bumble.text.schema import schema_error

_FENCE = patterns.compile(r"```[a-zA-Z0-9]*[ \t]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)
ONE_LINE = "The JSON in one line, without line breaks."
_SHOWN_CHARS = 2000  # of an unusable answer, when the model is asked again
_MOST_CHARS, _MOST_OPENINGS = 200_000, 5_000  # of a text that is repaired
_CUT = "}" * 8  # what may lack at the end of a text that breaks off: more than any action is deep
_NUMBERS = ("integer", "number", "boolean")
MOST_DEEP = 200  # lists and objects within each other; nobody asks for more than a few
_MOST_FENCES = 8  # that are looked into
_OPENING = patterns.compile(r"[{\[](?!\s*[}\]])")
_CLOSING = {"{": "}", "[": "]"}
# A text, or a sign at which members begin and end; behind the last whole one a member may begin.
_SIGN = patterns.compile(r'"(?:[^"\\]|\\.)*+"?|[{}\[\],]', re.DOTALL)
_GOES_ON = patterns.compile(r'[\s,]*(?:[-"\d]|\Z)')
# An escape of JSON, or the sign of another; a text, or a comma before an end.
_ESCAPES = patterns.compile(r'(\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})|\\')
_TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_COMMA = patterns.compile(r"\A(\s*-?\d+),(\d{1,2}\s*)\Z")  # "0,4", but not "1,000"
_COMMAS = patterns.compile(r'("(?:[^"\\]|\\.)*+"?)|,(?=\s*[}\]])', re.DOTALL)


def answer(model: Model, request: Request, schema: Mapping[str, Any]) -> Any:
    """Ask for a JSON value that satisfies a schema, apart from how its strings begin.

    Returns:
        The value, as `json.loads` gives it.

    Raises:
        AnswerInvalidError: If the second answer is unusable too; it keeps that answer as it came.
    """
    *before, last = request.messages
    # on one line: a third of what a small model wrote was white space
    last = replace(last, content=f"{last.content.rstrip()}\n{ONE_LINE}")
    asked = replace(request, messages=(*before, last), schema=schema)
    first = model.complete(asked).text
    try:
        return read(first, schema)
    except ValueError as problem:
        advice = (
            f"That answer cannot be used: {problem}\n"
            "Answer again with one JSON value and nothing else. It must satisfy this JSON schema:\n"
            + json.dumps(schema, ensure_ascii=False)
        )
        shown = PromptMessage("assistant", first[:_SHOWN_CHARS] or "(nothing)")
        told = (*asked.messages, shown, PromptMessage("user", advice))
        second = model.complete(replace(asked, messages=told)).text
    try:
        return read(second, schema)
    except ValueError as problem:
        raise AnswerInvalidError(
            f"{model.name} gave no usable answer for {request.purpose}: {problem}\n"
            "Run it again, or choose a larger model with `bumble config set llm.model NAME`.",
            answer=second,
        ) from problem


def read(text: str, schema: Mapping[str, Any]) -> Any:
    """Read the JSON value in an answer, repairing it where that makes it satisfy the schema.

    Raises:
        ValueError: If no reading of it satisfies the schema; says what is wrong with the best one.
    """
    problem = "it holds no JSON"
    for value, _ in _readings(text):
        error = schema_error(value, schema)
        if error is None:
            return value
        fitting = fitted(value, schema)
        if schema_error(fitting, schema) is None:
            return fitting
        if problem == "it holds no JSON":
            problem = f"{error.json_path}: {error.message}"
    raise ValueError(problem[:500])


def fitted(value: Any, schema: Mapping[str, Any]) -> Any:
    """Bring a value into the form of its schema, where no grammar did.

    It is cut and clamped to lengths and ranges, and what is written in another form is read: a list
    of one as the one, none as an empty list or text, a name in other letters. Nothing is made up.
    """
    kind = schema.get("type")
    if kind == "array":
        value = _list(value)
    elif kind and isinstance(value, list) and len(value) == 1:
        value = value[0]
    if "enum" in schema:
        return _nearest(value, schema["enum"])
    if value is None and kind == "string":
        return ""
    if kind in _NUMBERS:
        value = _number(value, kind)
    if isinstance(value, str):
        value = str(whole(value))
        return tokens.cut_chars(value, schema.get("maxLength", len(value)))
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return min(max(value, schema.get("minimum", value)), schema.get("maximum", value))
    if isinstance(value, list):
        items = [fitted(item, schema.get("items", {})) for item in value]
        return items[: schema.get("maxItems", len(items))]
    return _object(value, schema) if isinstance(value, dict) else value


def _list(value: Any) -> Any:
    """Return the list that was meant: none, or one thing, without brackets."""
    if value is None or value == "":
        return []
    return [value] if isinstance(value, str | dict) else value


def _object(value: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Fit an object's members: a list that it leaves out is missing, not empty."""
    fields = schema.get("properties", {})
    by_letters = {_letters(key): key for key in fields}
    named = {by_letters.get(_letters(key), key): key for key in value if key not in fields}
    named |= {key: key for key in value if key in fields}
    return {
        name: fitted(value[key], fields.get(name, {}))
        for name, key in named.items()
        if schema.get("additionalProperties", True) is not False or name in fields
    }


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def _number(value: Any, kind: str) -> Any:
    """Read a number or a truth that was written as something else."""
    if kind == "boolean":
        return _TRUTHS.get(str(value).strip().lower(), value)
    if not isinstance(value, str):
        return value
    try:
        number = float(_COMMA.sub(r"\1.\2", value))
    except ValueError:
        return value
    if not math.isfinite(number):
        return value
    return int(number) if kind == "integer" and number.is_integer() else number


def _nearest(value: Any, choices: Sequence[Any]) -> Any:
    """Return the choice that is meant: the nearest of numbers that are a scale, else by letters."""
    if isinstance(value, str) and value not in choices:
        texts = {_letters(each): each for each in choices if isinstance(each, str)}
        return texts.get(_letters(value), value)
    if isinstance(value, int | float) and all(isinstance(each, float) for each in choices):
        return min(choices, key=lambda each: abs(each - value))
    return value


def load(text: str) -> tuple[Any, str]:
    """Read the first JSON value that some repair of a text gives.

    Returns:
        The value, and the brackets that were missing at its end: "" unless it was cut off.

    Raises:
        ValueError: If there is none.
    """
    for reading in _readings(text):
        return reading
    raise ValueError("it holds no JSON")


def _readings(text: str) -> Iterator[tuple[Any, str]]:
    """Yield every value the text may stand for, the most literal first, with what it lacked."""
    fences = itertools.islice(_FENCE.finditer(text), _MOST_FENCES)
    candidates = [text.strip(), *(match.group(1).strip() for match in fences)]
    # inside prose an object or a list may begin: the first few are tried
    candidates += [text[one.start() :] for one in itertools.islice(_OPENING.finditer(text), 8)]
    for candidate in dict.fromkeys(candidates):
        for part, lacks in ((candidate, ""), _closed(candidate)):
            try:
                value, end = _DECODER.raw_decode(part)
            except (ValueError, RecursionError):
                continue
            # A bare number or word at the start of prose is prose, not an answer.
            if not is_deep(value) and (isinstance(value, dict | list) or not part[end:].strip()):
                yield value, lacks
                if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
                    yield from _readings(value)  # JSON within a text of JSON
            break
    yield from _repaired(text)


def _closed(text: str) -> tuple[str, str]:
    """Cut a text that breaks off behind its last whole member, and close it.

    Returns:
        What is left, empty if the text is no JSON; and the brackets that it lacked. A comma too
        many and an escape that isn't one are taken out.
    """
    at, lacks = 0, ""
    for match in _SIGN.finditer(text):
        sign = match[0]
        if sign in _CLOSING:
            lacks = _CLOSING[sign] + lacks
        elif sign == lacks[:1]:
            lacks = lacks[1:]
        elif not (sign == "," or _is_last_value(text, match, lacks)):
            continue
        at = match.start() if sign == "," else match.end()
        if not 0 < len(lacks) <= MOST_DEEP:
            break
    closed = text[:at] + lacks if not lacks or _GOES_ON.match(text, at) else ""
    return _COMMAS.sub(r"\1", _ESCAPES.sub(r"\1", closed)), lacks


def _is_last_value(text: str, match: re.Match[str], lacks: str) -> bool:
    """Whether a text of JSON is whole, no key, and the last that there is."""
    before = text[: match.start()].rstrip()[-1:]
    is_value = before == ":" or (lacks[:1] == "]" and before in ("[", ","))
    is_whole = len(match[0]) > 1 and match[0].endswith('"')
    return is_whole and is_value and not text[match.end() :].strip(" \n`")


def _repaired(text: str) -> Iterator[tuple[Any, str]]:
    """Read what a model wrote in a form of its own: Python's, with comments, curly quotes."""
    if not 0 < len(_OPENING.findall(text)) <= _MOST_OPENINGS or len(text) > _MOST_CHARS:
        return
    import json_repair  # takes a tenth of a second, for what is rare

    with suppress(ValueError, RecursionError):
        value = json_repair.loads(text)
        if isinstance(value, dict | list) and value and not is_deep(value):
            yield value, "" if text.rstrip(" \n`").endswith(("}", "]")) else _CUT


_DECODER = json.JSONDecoder(strict=False)  # small models put raw line breaks into strings


def is_deep(value: Any) -> bool:
    """Tell whether a value is nested so deep that what walks it could run out of stack."""
    level = [value]
    for _ in range(MOST_DEEP):
        level = [
            item
            for each in level
            if isinstance(each, dict | list)
            for item in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True
