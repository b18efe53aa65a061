"""Calls of tools that a model wrote into its text, in the notation it was trained on.

A server that doesn't know the notation leaves them there. Each has the name of a tool, in a mark or
as a member of an object, and behind it its arguments, as JSON or as marked parameters. Only what
can be read as a call of a tool that there is counts; all else is text.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from bumble import patterns
from bumble.llm.protocol import Tool

# What stands before calls: a tag of tools or functions (Hermes and Qwen, GLM, Kimi, DeepSeek,
# MiniMax, Granite), Mistral's, Llama's, Harmony's. One in quotes is spoken of.
_MARK = patterns.compile(
    r"(?<![`'\"])(?:<[^<>\n]{0,20}(?:tool|function|invoke)[^<>\n]{0,60}>|\[TOOL_CALLS?\]"
    r"|<\|python_tag\|>|<\|channel\|>\w{1,20}\s{0,5}to=)|\Ato=",
    re.IGNORECASE,
)
_FENCED = patterns.compile(r"\s*```\w*[ \t]*\n(.*?)\n?```\s*", re.DOTALL)
_NAME = r'"(?:name|tool_name|function|tool)"\s*:\s*"(?:functions\.)?'  # as a member of an object
_ARGUMENTS = r'"\s*,\s*"(?:arguments|parameters|args|input)"\s*:\s*"?(?=\{)'
# Behind a name in a mark: parameters with marks of their own, or none; or something, and JSON.
_BEHIND = r"(?:[^{},<>]{0,20}>?\s{0,20}(?=<(?:parameter|arg_key|/))|[^{},]{0,60}?(?=\{))"
_PARAMETER = patterns.compile(
    r"\s*<(?:parameter(?:=|\s+name=\")([\w-]+)\"?>(.*?)(</parameter>|\Z)"
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
    bare = fenced[1] if (fenced := _FENCED.fullmatch(text)) else text.strip()
    by_name = {tool.name: tool for tool in tools}
    names = "|".join(map(re.escape, by_name))
    member = f"{_NAME}({names}){_ARGUMENTS}"
    found: Sequence[tuple[str, str]] = ()
    if bare.startswith("{") and (speech := _arguments_of(bare, by_name.get("say"))):
        found = [("say", speech)]
    elif re.match(rf"\[?\s*(?:\w+\.)?(?:{names})\(", bare):
        found = _python(bare, by_name)
    elif re.match(rf"\[?\s*\{{\s*{member}", bare):
        found = _calls(bare, re.compile(member), by_name)
    if found:
        return "", found
    fences = at = 0
    for mark in _MARK.finditer(bare):
        fences, at = fences + bare.count("```", at, mark.start()), mark.start()
        if fences % 2 == 0:  # else it is in a block of code
            anywhere = re.compile(rf"{member}|(?<!\w)({names})(?!\w){_BEHIND}")
            found = _calls(bare[at:], anywhere, by_name)
            return (bare[:at].strip() if found else text), found
    return text, ()


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


def _arguments_of(text: str, tool: Tool | None) -> str:
    """Return a text that is nothing but all arguments of a tool; else an empty one."""
    with suppress(ValueError, RecursionError):
        value = _DECODER.decode(text)
        told = tool.parameters if tool else {}
        fields, required = told.get("properties", {}), told.get("required")
        if required and fields.keys() >= value.keys() >= set(required):
            return text
    return ""
