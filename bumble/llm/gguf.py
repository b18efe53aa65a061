"""The vocabulary in a GGUF file: which of its tokens steer a model and are no text.

Reads the head of the file alone; the tensors behind it are never touched.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import Any

_MAGIC, _VERSIONS = b"GGUF", (2, 3)
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # by type, in bytes
_INT32, _STRING, _ARRAY = 5, 8, 9
_CONTROL, _USER_DEFINED = 3, 4  # types of tokens that an engine finds in text
_MOST_KEYS = 100_000

_TOKENS, _TYPES = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
_TEMPLATE = "tokenizer.chat_template"


def control_tokens(path: Path) -> frozenset[str]:
    """Return the tokens that a chat template writes and no message may.

    Those the vocabulary calls control tokens, and of those its makers added the ones that the
    file's own template names: Qwen's `<think>` is one, Gemma's `<b>` and runs of spaces are not.

    Raises:
        ValueError: If the file is no GGUF, or damaged.
        OSError: If it cannot be read.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            values = _Head(data).values()
        except (struct.error, KeyError, IndexError) as problem:
            raise ValueError(f"no GGUF file, or a damaged one: {problem}") from problem
    tokens, types = values.get(_TOKENS, []), values.get(_TYPES, ())
    template = str(values.get(_TEMPLATE, ""))
    return frozenset(
        token
        for token, kind in zip(tokens, types, strict=False)
        if kind == _CONTROL or (kind == _USER_DEFINED and token.strip() and token in template)
    )


class _Head:
    """The keys and values before the tensors, read one after the other."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data, self._at = data, 0

    def values(self) -> dict[str, Any]:
        """Return the values that `control_tokens` needs."""
        magic, version, _, count = self._take("<4sIQQ")
        if magic != _MAGIC or version not in _VERSIONS or count > _MOST_KEYS:
            raise ValueError("no GGUF file of version 2 or 3")
        wanted = {_TOKENS, _TYPES, _TEMPLATE}
        values: dict[str, Any] = {}
        for _ in range(count):
            if not wanted:
                break
            key = self._text()
            (kind,) = self._take("<I")
            if key in wanted:
                wanted.remove(key)
                values[key] = self._value(kind)
            else:
                self._skip(kind)
        return values

    def _take(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return values

    def _text(self) -> str:
        (length,) = self._take("<Q")
        start, self._at = self._at, self._at + length
        if self._at > len(self._data):
            raise IndexError("a text ends behind the file")
        return self._data[start : self._at].decode("utf-8", "replace")

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._text()
        if kind != _ARRAY:
            raise ValueError(f"a value of type {kind} where a text or a list belongs")
        item, length = self._take("<IQ")
        if item == _STRING:
            return [self._text() for _ in range(length)]
        if item != _INT32 or length > len(self._data):
            raise ValueError(f"a list of type {item} where texts or numbers belong")
        return self._take(f"<{length}i")

    def _skip(self, kind: int) -> None:
        if kind == _STRING:
            self._skip_texts(1)
        elif kind == _ARRAY:
            item, length = self._take("<IQ")
            if item == _STRING:
                self._skip_texts(length)
            else:
                self._at += _SIZES[item] * length
        else:
            self._at += _SIZES[kind]

    def _skip_texts(self, count: int) -> None:
        # A vocabulary has as many merges as tokens: this loop is what reading the head takes.
        data, at, unpack = self._data, self._at, struct.Struct("<Q").unpack_from
        for _ in range(count):
            at += 8 + unpack(data, at)[0]
        self._at = at
