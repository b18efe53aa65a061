"""Tools in the form that endpoints have for them: declared, in messages, and as answers stream.

An answer's calls become the JSON of actions (`actions.py`), the one form in which bumble reads what
a model wants; so whoever reads or streams an answer need not know how it came.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bumble.llm import marks
from bumble.llm.protocol import PromptMessage, Tool
from bumble.llm.wire import CallPart

NO_RESULT = "(it did not run)"


def declared(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Declare tools; no text of theirs holds a control token, wherever they come from."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": marks.plain(tool.description),
                "parameters": _plain(tool.parameters),
            },
        }
        for tool in tools
    ]


def _plain(value: Any) -> Any:
    """Break the control tokens in the texts of a JSON value."""
    if isinstance(value, str):
        return marks.plain(value)
    if isinstance(value, Mapping):
        return {marks.plain(key): _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def messages(told: Sequence[PromptMessage]) -> list[dict[str, Any]]:
    """Write messages with their calls and results.

    Each call is followed by its result, as endpoints insist. What is told along with results (a
    nudge) goes behind the last of them: some endpoints take no word of the user right after one.
    """
    written: list[dict[str, Any]] = []
    waiting: dict[str, str] = {}  # calls without a result so far: own id to the one that was sent
    for number, one in enumerate(told):
        text = one.text
        if one.role == "user":
            loose = []
            for result in one.results:
                sent = waiting.pop(result.id, None)
                if sent is None:  # its call is not shown any more
                    loose.append(result.text)
                else:
                    written.append({"role": "tool", "tool_call_id": sent, "content": result.text})
            text = "\n\n".join([*loose, *([text] if text else [])])
        _end(written, waiting)
        if one.role == "user" and one.results and written and written[-1]["role"] == "tool":
            written[-1]["content"] += f"\n\n{text}" if text else ""
            continue
        message: dict[str, Any] = {"role": one.role}
        if text or not one.calls:
            message["content"] = text
        if one.calls:
            waiting = {call.id: f"call_{number}_{k}" for k, call in enumerate(one.calls)}
            message["tool_calls"] = [
                _call(sent, call.name, call.arguments)
                for sent, call in zip(waiting.values(), one.calls, strict=True)
            ]
        written.append(message)
    _end(written, waiting)
    return written


def _end(written: list[dict[str, Any]], waiting: dict[str, str]) -> None:
    """Give calls a result that never got one: they were broken off."""
    written += [
        {"role": "tool", "tool_call_id": sent, "content": NO_RESULT} for sent in waiting.values()
    ]
    waiting.clear()


def _call(sent: str, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(_plain(arguments), ensure_ascii=False)}
    return {"id": sent, "type": "function", "function": function}


class CallText:
    """Calls of an answer, written as the JSON of actions while they stream."""

    def __init__(self) -> None:
        """Begin an answer."""
        self.text = ""
        self._index, self._id = -1, ""
        self._names = 0  # calls so far
        self._empty = True  # whether the call that is open has no arguments yet

    def take(self, part: CallPart) -> str:
        """Take a piece of a call; return what it adds to the text."""
        added = ""
        if self._begins(part):
            added += self._close() or '{"actions":['
            added += f'{"," if self._names else ""}{{"tool":{json.dumps(part.name)},"arguments":'
            self._names += 1
            self._index, self._id, self._empty = part.index, part.id, True
        if part.arguments and self._names:
            added, self._empty = added + part.arguments, False
        self.text += added
        return added

    def finish(self, *, whole: bool) -> str:
        """End the answer; return what that adds. One that was cut off stays open."""
        if not self._names or (not whole and not self._empty):
            return ""
        added = f"{self._close()}]}}"
        self.text += added
        return added

    def _begins(self, part: CallPart) -> bool:
        """Whether a piece begins a new call: some endpoints number all of them alike."""
        other_id = bool(part.id) and part.id != self._id
        return bool(part.name) and (part.index != self._index or (other_id and not self._empty))

    def _close(self) -> str:
        if not self._names:
            return ""
        return "{}}" if self._empty else "}"
