"""What a GGUF file says of its model: control tokens, chat template, the window it was trained for.

Reads the head of the file alone; the tensors behind it are never touched.
"""

from __future__ import annotations

import mmap
import re
import struct
from pathlib import Path
from typing import Any

from msgspec import Struct

_MAGIC, _VERSIONS = b"GGUF", (2, 3)
# Numbers by their type, as `struct` names them.
_FORMS = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True))
_STRING, _ARRAY = 8, 9
_CONTROL, _USER_DEFINED = 3, 4  # types of tokens that an engine finds in text
_MOST_KEYS = 100_000

_TOKENS, _TYPES = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
_SIZE_LABEL = "general.size_label"  # `4B`, `8x7B`
_UNITS = {"K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
_TEMPLATE, _CONTEXT = "tokenizer.chat_template", "context_length"
_ARCHITECTURE, _NAME, _LICENCE = "general.architecture", "general.name", "general.license"


class Head(Struct, frozen=True):
    """What a file says of itself; empty where it does not.

    Control tokens are those a chat template writes and no message may: those the vocabulary calls
    so, and of those its makers added the ones that the file's own template names: Qwen's `<think>`
    is one, Gemma's `<b>` and runs of spaces are not.
    """

    architecture: str
    name: str
    licence: str
    context_tokens: int | None  # that it was trained for
    template: str  # of a chat, in Jinja
    control_tokens: frozenset[str]


def head(path: Path) -> Head:
    """Read what a file says of itself.

    Raises:
        ValueError: If the file is no GGUF, or damaged.
        OSError: If it cannot be read.
    """
    texts = (_ARCHITECTURE, _NAME, _LICENCE, _TEMPLATE)
    values = _values(path, *texts, _CONTEXT, _TOKENS, _TYPES)
    architecture, name, licence, template = (str(values.get(key, "")) for key in texts)
    controls = frozenset(
        token
        for token, kind in zip(values.get(_TOKENS, []), values.get(_TYPES, ()), strict=False)
        if kind == _CONTROL or (kind == _USER_DEFINED and token.strip() and token in template)
    )
    return Head(architecture, name, licence, _length(values), template, controls)


def context_tokens(path: Path) -> int | None:
    """Return the window that a model was trained for; None where its file does not say.

    It stands before the vocabulary, so that this is quick.

    Raises:
        ValueError: If the file is no GGUF, or damaged.
        OSError: If it cannot be read.
    """
    return _length(_values(path, _CONTEXT))


def parameters(path: Path) -> int | None:
    """Return how many parameters a model has by the label in its file; None: it has none.

    Raises:
        ValueError: If the file is no GGUF, or damaged.
        OSError: If it cannot be read.
    """
    label = str(_values(path, _SIZE_LABEL).get(_SIZE_LABEL, ""))
    match = re.match(r"(?:(\d+)x)?(\d+(?:\.\d+)?)([KMBT])", label)
    if match is None:
        return None
    times, number, unit = match.groups()
    return int(int(times or 1) * float(number) * _UNITS[unit])


def _length(values: dict[str, Any]) -> int | None:
    length = values.get(_CONTEXT)
    return length if isinstance(length, int) and length > 0 else None


def _values(path: Path, *wanted: str) -> dict[str, Any]:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            return _Reader(data).values(set(wanted))
        except (struct.error, KeyError, IndexError, OverflowError) as problem:
            raise ValueError(f"no GGUF file, or a damaged one: {problem}") from problem


class _Reader:
    """The keys and values before the tensors, read one after the other."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data, self._at = data, 0

    def values(self, wanted: set[str]) -> dict[str, Any]:
        """Return the values of those keys, as far as the file has them."""
        magic, version, _, count = self._take("<4sIQQ")
        if magic != _MAGIC or version not in _VERSIONS or count > _MOST_KEYS:
            raise ValueError("no GGUF file of version 2 or 3")
        values: dict[str, Any] = {}
        for _ in range(count):
            if not wanted:
                break
            key = self._text()
            if key.endswith(f".{_CONTEXT}"):  # behind the name of the architecture
                key = _CONTEXT
            (kind,) = self._take("<I")
            value = self._value(kind, keeps=key in wanted)
            if key in wanted:
                wanted.remove(key)
                values[key] = value
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

    def _value(self, kind: int, *, keeps: bool) -> Any:
        if kind == _STRING:
            return self._text()
        if kind != _ARRAY:
            return self._take(f"<{_FORMS[kind]}")[0]
        item, length = self._take("<IQ")
        if item != _STRING:
            return self._take(f"<{length}{_FORMS[item]}")
        return [self._text() for _ in range(length)] if keeps else self._skip_texts(length)

    def _skip_texts(self, count: int) -> None:
        # A vocabulary has as many merges as tokens: this loop is what reading the head takes.
        data, at, unpack = self._data, self._at, struct.Struct("<Q").unpack_from
        for _ in range(count):
            at += 8 + unpack(data, at)[0]
        self._at = at
