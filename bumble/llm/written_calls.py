"""Calls of tools that a model wrote into its text, in the notation it was trained on.

A server that doesn't know the notation leaves them there. Each has the name of a tool, in a mark or
as a member of an object, and behind it its arguments, as JSON or as marked parameters. Only what
can be read as a call of a tool that there is counts; all else is text.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from typing import Any

from bumble import patterns
from bumble.llm import structured
from bumble.llm.protocol import Tool

# What stands before calls: a tag of tools or functions (Hermes and Qwen, GLM, Kimi, DeepSeek,
# MiniMax, Granite), Mistral's, Llama's, Harmony's. One in quotes is spoken of.
_MARK = patterns.compile(
    r"(?<![`'\"])(?:<[^<>\n]{0,20}(?:tool|function|invoke)[^<>\n]{0,60}>|\[TOOL_CALLS?\]"
    r"|<\|python_tag\|>|<\|channel\|>\w{1,20}\s{0,5}to=)|\Ato=",
    re.IGNORECASE,
)
_FENCED = patterns.compile(r"```\w*[ \t]*\n((?:(?!```).)*?)\n?```\s*\Z", re.DOTALL)
# Members of an object that is a call: its name, what it is given, and what is said of it besides.
_NAMES = ("name", "tool_name", "function", "tool", "action")
_GIVEN = ("arguments", "parameters", "args", "input", "action_input")
_BESIDE = frozenset(("type", "id", "index", "tool_call_id", "role", "content"))
_AROUND = ("tool_calls", "function", "function_call")  # what calls may be members of
_SPACES = r"(?:default_api|functions|tools?)\."  # of names, in Python
_NAME = rf'"(?:{"|".join(_NAMES)})"\s*:\s*"(?:functions\.)?'
_ARGUMENTS = rf'"\s*,\s*"(?:{"|".join(_GIVEN)})"\s*:\s*"?(?=\{{)'
# What may stand before the name in a text that is nothing but calls.
_HEAD = (
    rf'[\[{{\s]*+(?:"(?:{"|".join((*sorted(_BESIDE), *_AROUND))})"\s*:\s*'
    r'(?:(?:"[^"{}]*"|\d+|null)\s*,\s*|[\[{][\[{\s]*+))*'
)
_EDGES = patterns.compile(r"\A(?:\s*(?:<[^<>]*>|\[TOOL_CALLS?\]))+|(?:<[^<>]*>\s*)+\Z")
# Gemma's: texts between signs of their own, and keys without quotes.
_SIGNED = patterns.compile(r'<\|"\|>(.*?)(<\|"\|>|\Z)|(?<=[{,])\s*([\w-]+)(?=:)', re.DOTALL)
# Behind a name in a mark: parameters with marks of their own, or none; or something, and JSON.
_BEHIND = r"(?:[^{},<>]{0,20}>?\s{0,20}(?=<(?:parameter|arg_key|/))|[^{},]{0,60}?(?=\{))"
_PARAMETER = patterns.compile(
    r"\s*<(?:parameter(?:=|\s+name=\")([\w-]+)\"?[^<>]*>(.*?)(</parameter>|\Z)"
    r"|arg_key>([\w-]+)</arg_key>\s*<arg_value>(.*?)(</arg_value>|\Z))",
    re.DOTALL,
)
_OBJECT = patterns.compile(r"\{\s*(?:[\"']|\Z)")  # the beginning of one
_LAST = patterns.compile(r"(?:<[^<>]*>|[\s\]`])*")  # what ends a call, behind its arguments
_DECODER = json.JSONDecoder(strict=False)  # models put raw line breaks into strings


def read(text: str, tools: Sequence[Tool]) -> tuple[str, Sequence[tuple[str, str]]]:
    """Read the calls that a text holds.

    Args:
        text: An answer, without thought.
        tools: That may be called.

    Returns:
        What stands before the calls, and the name and arguments of each, as JSON; those of a call
        that was cut off break off, too. Where there is no call, all of it is text.
    """
    by_name = {tool.name: tool for tool in tools}
    bare = text.replace("｜DSML｜", "").strip()  # DeepSeek's, in each of its marks
    if fenced := _FENCED.search(bare):
        before, inner = bare[: fenced.start()].rstrip(), fenced[1].strip()
        # an example that follows its explanation is shown, never run
        said = {"say": by_name["say"]} if "say" in by_name else {}
        found = _of(_value(inner), said) if before else []
        if found and all('"text"' in given for _, given in found):
            return before, found
        bare = bare if before else inner
    names = "|".join(map(re.escape, by_name))
    member = f"{_NAME}({names}){_ARGUMENTS}"
    found = _whole(bare, by_name) or _said(bare, by_name.get("say"), is_fenced=bool(fenced))
    if not found and re.match(f"{_HEAD}{member}", bare):
        found = _calls(bare, re.compile(member), by_name)
    if found:
        return "", found
    fences = at = 0
    for mark in _MARK.finditer(bare):
        fences, at = fences + bare.count("```", at, mark.start()), mark.start()
        if fences % 2 == 0:  # else it is in a block of code
            anywhere = re.compile(rf"{member}|(?<!\w)({names})(?!\w){_BEHIND}")
            behind = bare[at:]
            if '<|"|>' in behind:
                behind = _SIGNED.sub(_unsigned, behind)
            found = _whole(_EDGES.sub("", behind).strip(), by_name)
            found = found or _calls(behind, anywhere, by_name)
            return (bare[:at].strip() if found else text), found
    return text, ()


def _whole(text: str, tools: Mapping[str, Tool]) -> list[tuple[str, str]]:
    """Read a text that is nothing but calls, as JSON or Python writes them."""
    if re.match(rf"\[?\s*(?:print\()?(?:{_SPACES})?(?:{'|'.join(map(re.escape, tools))})\(", text):
        return _python(text, tools)
    return _of(_value(text), tools)


def _value(text: str) -> Any:
    """Return the object or list that a text is, in JSON or in Python; None: it is neither."""
    if text[:1] + text[-1:] in ("{}", "[]"):
        for read in (_DECODER.decode, lambda one: json.loads(json.dumps(ast.literal_eval(one)))):
            with suppress(SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
                return None if structured.is_deep(value := read(text)) else value
    return None


def _unsigned(match: re.Match[str]) -> str:
    """Write a text of Gemma's, or a key, as JSON; one that was cut off has no end."""
    written = json.dumps(match[3] or match[1], ensure_ascii=False)
    return written if match[3] or match[2] else written[:-1]


def _of(value: Any, tools: Mapping[str, Tool]) -> list[tuple[str, str]]:
    """Return the calls that a value is; none where anything in it is something else."""
    if isinstance(value, list):
        each = [_of(one, tools) for one in value]
        return [call for calls in each for call in calls] if all(each) else []
    if not isinstance(value, dict):
        return []
    name, given = (next((key for key in keys if key in value), "") for keys in (_NAMES, _GIVEN))
    rest = value.keys() - {name, given}
    called, told = str(value.get(name)).removeprefix("functions."), value.get(given)
    if rest <= _BESIDE and called in tools and isinstance(told, str | dict):
        written = told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)
        return [(called, written)]
    for key in _AROUND:
        if isinstance(inner := value.get(key), list | dict) and value.keys() - {key} <= _BESIDE:
            return _of(inner, tools)
    if len(value) == 1 and isinstance(inner := next(iter(value.values())), dict):
        name = next(iter(value))  # alone: the tool's
        if name in tools and inner and inner.keys() <= _fields(tools[name]):
            return [(name, json.dumps(inner, ensure_ascii=False))]
    return []


def _said(text: str, say: Tool | None, *, is_fenced: bool) -> list[tuple[str, str]]:
    """Read a text that is nothing but all that `say` is given, or a message; data is in a fence."""
    value = _value(text)
    if say is None or not isinstance(value, dict):
        return []
    required = set(say.parameters.get("required") or ())
    is_all = bool(required) and _fields(say) >= value.keys() >= required
    if not is_fenced and value.get("role", "assistant") == "assistant":
        said = value.get("content" if "role" in value else "response")
        if len(value) == 1 + ("role" in value) and isinstance(said, str):
            value, is_all = {"text": said}, True
    return [("say", json.dumps(value, ensure_ascii=False))] if is_all else []


def _fields(tool: Tool) -> Set[str]:
    return tool.parameters.get("properties", {}).keys()  # type: ignore[no-any-return]


def _calls(text: str, pattern: re.Pattern[str], tools: Mapping[str, Tool]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    while match := pattern.search(text, at):
        name, at = match[match.lastindex or 0], match.end()
        given: str | None
        if text.startswith("{", at):
            given, at = _json(text, at)
        else:
            given, at = _parameters(text, at, tools[name])
        if given is not None:
            found.append((name, given))
    return found


def _json(text: str, at: int) -> tuple[str | None, int]:
    """Return the JSON object that begins at a place, and where it ends; as a text, too.

    One that is broken, or was cut off, is the last thing read.
    """
    is_text = text.startswith('"{\\"', at - 1)
    try:
        value, end = _DECODER.raw_decode(text, at - is_text)
        return value if is_text else json.dumps(value, ensure_ascii=False), end
    except (ValueError, RecursionError):
        if not _OBJECT.match(text, at):
            return None, at
        given, brace, behind = text[at:].rpartition("}")
        return given + brace + ("" if given and _LAST.fullmatch(behind) else behind), len(text)


def _parameters(text: str, at: int, tool: Tool) -> tuple[str, int]:
    given: dict[str, Any] = {}
    fields = tool.parameters.get("properties", {})
    ends = "</"
    while ends and (match := _PARAMETER.match(text, at)):
        key, value, ends = filter(lambda one: one is not None, match.groups())
        value, at = value.strip("\n"), match.end()
        if fields.get(key, {}).get("type") != "string":
            with suppress(ValueError, RecursionError):
                value = json.loads(value)
        given[key] = value
    written = json.dumps(given, ensure_ascii=False)
    return written if ends else written[:-2], at


def _python(text: str, tools: Mapping[str, Tool]) -> list[tuple[str, str]]:
    """Read calls as Python writes them, one or a list; none if there is anything else."""
    found: list[tuple[str, str]] = []
    try:
        read = ast.parse(text, mode="eval").body
        for one in read.elts if isinstance(read, ast.List) else [read]:
            if isinstance(one, ast.Call) and ast.unparse(one.func) == "print" and one.args:
                one = one.args[0]  # Gemma's
            if not isinstance(one, ast.Call):
                return []
            name = ast.unparse(one.func).rpartition(".")[2]
            places = zip(tools[name].parameters.get("properties", {}), one.args, strict=False)
            pairs = [*places, *((str(word.arg), word.value) for word in one.keywords)]
            given = {key: ast.literal_eval(value) for key, value in pairs}
            found.append((name, json.dumps(given, ensure_ascii=False)))
    except (SyntaxError, ValueError, TypeError, KeyError, RecursionError, MemoryError):
        return []
    return found
