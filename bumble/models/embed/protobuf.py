"""Parts of ONNX files as bytes: the few forms of protobuf that a graph is written in.

Fields are numbered as in `onnx.proto`. Two messages one behind the other are one: repeated fields
of the second are added to those of the first.
"""

from __future__ import annotations

from collections.abc import Sequence

FLOAT, INT64 = 1, 7  # TensorProto.DataType
GRAPH, OUTPUT = 7, 12  # fields of ModelProto and GraphProto


def value(name: str, kind: int, shape: Sequence[int | str] | None = None) -> bytes:
    """Write a value of a graph (`ValueInfoProto`).

    Args:
        name: What it is called.
        kind: The type of its numbers.
        shape: Its sizes, by name where they are free; None: it is not told.
    """
    told = number(1, kind)
    if shape is not None:
        sizes = [number(1, size) if isinstance(size, int) else text(2, size) for size in shape]
        told += message(2, b"".join(message(1, size) for size in sizes))
    return text(1, name) + message(2, message(1, told))


def text(field: int, words: str) -> bytes:
    """Write a field that holds text."""
    return message(field, words.encode())


def message(field: int, content: bytes) -> bytes:
    """Write a field that holds bytes, or another message."""
    return varint(field << 3 | 2) + varint(len(content)) + content


def number(field: int, whole: int) -> bytes:
    """Write a field that holds a whole number."""
    return varint(field << 3) + varint(whole % (1 << 64))


def varint(whole: int) -> bytes:
    """Write a whole number, seven bits a byte."""
    parts = []
    while whole > 0x7F:
        parts.append(whole & 0x7F | 0x80)
        whole >>= 7
    return bytes([*parts, whole])
