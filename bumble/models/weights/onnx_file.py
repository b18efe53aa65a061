"""Writing ONNX files: the few messages of the format that a graph made here needs.

The package `onnx` would be 18 MB more to install for one model that is made once. The format is
protobuf: fields with a number and a length; what is written here, `onnx` reads and checks in tests.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

IR_VERSION, OPSET = 10, 21  # the first that have 4-bit integers
MICROSOFT = "com.microsoft"  # ONNX Runtime's own operators
FLOAT, UINT8, INT32, INT64, INT4 = 1, 2, 6, 7, 22  # TensorProto.DataType
_INT_ATTRIBUTE, _FLOAT_ATTRIBUTE = 2, 1
_TYPES = {"float32": FLOAT, "uint8": UINT8, "int64": INT64}


class Graph(Struct):
    """A graph that is being put together; the names of values are the caller's."""

    _nodes: list[bytes] = field(default_factory=list)
    _tensors: list[bytes] = field(default_factory=list)

    def constant(self, name: str, values: NDArray[np.generic]) -> str:
        """Add a tensor. Returns its name."""
        kind = _TYPES[values.dtype.name]
        return self._tensor(name, kind, values.shape, values.tobytes())

    def nibbles(self, name: str, shape: Sequence[int], packed: bytes) -> str:
        """Add a tensor of 4-bit integers, the first of two in the lower half of a byte."""
        return self._tensor(name, INT4, shape, packed)

    def node(
        self,
        operator: str,
        inputs: Sequence[str],
        output: str,
        domain: str = "",
        **attributes: float,
    ) -> str:
        """Add a node. Returns the name of its output."""
        parts = [_text(1, name) for name in inputs] + [_text(2, output), _text(4, operator)]
        parts += [_message(5, _attribute(name, value)) for name, value in attributes.items()]
        self._nodes.append(b"".join([*parts, _text(7, domain)]))
        return output

    def model(
        self, inputs: Sequence[str], output: str, width: int, facts: Sequence[tuple[str, str]]
    ) -> bytes:
        """Write the model: inputs of whole numbers, shape (n, t); output of shape (n, t, width)."""
        shape = ("n", "t")
        parts = [_message(1, node) for node in self._nodes] + [_text(2, "encoder")]
        parts += [_message(5, tensor) for tensor in self._tensors]
        parts += [_message(11, _value(name, INT64, shape)) for name in inputs]
        parts.append(_message(12, _value(output, FLOAT, (*shape, width))))
        opsets = [_number(2, OPSET), _text(1, MICROSOFT) + _number(2, 1)]
        head = [_number(1, IR_VERSION), _text(2, "bumble"), _message(7, b"".join(parts))]
        head += [_message(8, opset) for opset in opsets]
        head += [_message(14, _text(1, name) + _text(2, value)) for name, value in facts]
        return b"".join(head)

    def _tensor(self, name: str, kind: int, shape: Sequence[int], raw: bytes) -> str:
        dimensions = b"".join(_number(1, size) for size in shape)
        self._tensors.append(dimensions + _number(2, kind) + _text(8, name) + _message(9, raw))
        return name


def _attribute(name: str, value: float) -> bytes:
    if isinstance(value, float):
        number = b"\x15" + np.array(value, "<f4").tobytes()  # field 2, four bytes
        return _text(1, name) + number + _number(20, _FLOAT_ATTRIBUTE)
    return _text(1, name) + _number(3, value) + _number(20, _INT_ATTRIBUTE)


def _value(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    sizes = [_number(1, size) if isinstance(size, int) else _text(2, size) for size in shape]
    dimensions = b"".join(_message(1, size) for size in sizes)
    return _text(1, name) + _message(2, _message(1, _number(1, kind) + _message(2, dimensions)))


def _text(number: int, value: str) -> bytes:
    return _message(number, value.encode())


def _message(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value % (1 << 64))


def _varint(value: int) -> bytes:
    parts = []
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])
