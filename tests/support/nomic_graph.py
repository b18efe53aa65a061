"""Build a NomicBERT-shaped ONNX graph with random weights, and run the same network in numpy.

The real weights can't be part of a test run; their shape can: rotary attention without biases,
SwiGLU, norms after each half, and `last_hidden_state` (n, t, 768) as the only output.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from msgspec import Struct, field
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[Any]
HEAD = 64  # width of an attention head, as in NomicBERT


class Shape(Struct, frozen=True):
    """How large the network is. The real one: 12 layers, 3072 inner, 30528 words."""

    layers: int = 1
    inner: int = 96
    words: int = 512  # token ids wrap around at this number
    hidden: int = 768
    positions: int = 2048
    typed: bool = True  # whether `token_type_ids` is an input


class _Graph(Struct):
    nodes: list[Any] = field(default_factory=list)
    weights: dict[str, NDArray[Any]] = field(default_factory=dict)

    def put(self, name: str, value: NDArray[Any] | np.float32) -> str:
        self.weights[name] = np.asarray(value)
        return name

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def ints(self, *values: int) -> str:
        return self.put(f"ints_{len(self.weights)}", np.array(values, np.int64))


def weights(shape: Shape, seed: int = 7) -> dict[str, Array]:
    """Draw the weights of a network."""
    random = np.random.default_rng(seed)

    def draw(*size: int, scale: float = 1.0) -> Array:
        spread = scale / math.sqrt(size[0])
        return (random.standard_normal(size, np.float32) * spread).astype(np.float32)

    h, f = shape.hidden, shape.inner
    found = {"word": draw(shape.words, h, scale=4), "type": draw(2, h)}
    for layer in range(shape.layers):
        found |= {
            f"{layer}.qkv": draw(h, 3 * h, scale=2),
            f"{layer}.out": draw(h, h),
            f"{layer}.up": draw(h, f),
            f"{layer}.gate": draw(h, f),
            f"{layer}.down": draw(f, h),
        }
    return found


def rotation(shape: Shape) -> tuple[Array, Array]:
    """Cosines and sines of the rotary embedding, base 1000. Shape (positions, HEAD) each."""
    speed = 1000.0 ** (-np.arange(0, HEAD, 2) / HEAD)
    angle = np.tile(np.arange(shape.positions)[:, None] * speed, 2)
    return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


def write(path: Path, shape: Shape, seed: int = 7) -> Path:
    """Write the network as an ONNX file."""
    graph = _Graph(weights=dict(weights(shape, seed)))
    cos, sin = rotation(shape)
    graph.put("cos", cos[None, :, None])
    graph.put("sin", sin[None, :, None])
    graph.put("ones", np.ones(shape.hidden, np.float32))
    ids = graph.op("Mod", "input_ids", graph.ints(shape.words))
    x = graph.op("Gather", "word", ids)
    if shape.typed:
        x = graph.op("Add", x, graph.op("Gather", "type", "token_type_ids"))
    x = _norm(graph, x)
    mask = graph.op("Cast", graph.op("Unsqueeze", "attention_mask", graph.ints(1, 2)), to=1)
    away = graph.op("Sub", mask, graph.put("one", np.float32(1)))
    mask = graph.op("Mul", away, graph.put("far", np.float32(1e9)))
    for layer in range(shape.layers):
        x = _norm(graph, graph.op("Add", x, _attention(graph, x, mask, layer, shape.hidden)))
        gate = graph.op("MatMul", x, f"{layer}.gate")
        gate = graph.op("Mul", gate, graph.op("Sigmoid", gate))
        inner = graph.op("Mul", graph.op("MatMul", x, f"{layer}.up"), gate)
        x = _norm(graph, graph.op("Add", x, graph.op("MatMul", inner, f"{layer}.down")))
    graph.nodes.append(helper.make_node("Identity", [x], ["last_hidden_state"]))
    onnx.save(_model(graph, shape), path)
    return path


def _model(graph: _Graph, shape: Shape) -> onnx.ModelProto:
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if shape.typed else [])]
    made = helper.make_graph(
        graph.nodes,
        "nomic",
        [helper.make_tensor_value_info(n, TensorProto.INT64, ["n", "t"]) for n in names],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["n", "t", 768])],
        [numpy_helper.from_array(value, name) for name, value in graph.weights.items()],
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _norm(graph: _Graph, x: str) -> str:
    return graph.op("LayerNormalization", x, "ones", axis=-1, epsilon=1e-12)


def _attention(graph: _Graph, x: str, mask: str, layer: int, hidden: int) -> str:
    heads = hidden // HEAD
    sizes = graph.ints(hidden, hidden, hidden)
    split = [f"{layer}.{name}" for name in ("q", "k", "v")]
    qkv = graph.op("MatMul", x, f"{layer}.qkv")
    graph.nodes.append(helper.make_node("Split", [qkv, sizes], split, axis=2))
    apart = graph.ints(0, 0, heads, HEAD)
    q, k, v = (graph.op("Reshape", part, apart) for part in split)
    q, k = (_rotate(graph, part) for part in (q, k))
    q, v = (graph.op("Transpose", part, perm=[0, 2, 1, 3]) for part in (q, v))
    k = graph.op("Transpose", k, perm=[0, 2, 3, 1])
    scale = graph.put(f"scale_{layer}", np.float32(1 / math.sqrt(HEAD)))
    scores = graph.op("Add", graph.op("Mul", graph.op("MatMul", q, k), scale), mask)
    seen = graph.op("MatMul", graph.op("Softmax", scores, axis=-1), v)
    seen = graph.op("Transpose", seen, perm=[0, 2, 1, 3])
    return graph.op("MatMul", graph.op("Reshape", seen, graph.ints(0, 0, hidden)), f"{layer}.out")


def _rotate(graph: _Graph, x: str) -> str:
    length = graph.op("Shape", x, start=1, end=2)
    cos, sin = (graph.op("Slice", t, graph.ints(0), length, graph.ints(1)) for t in ("cos", "sin"))
    low = graph.op("Slice", x, graph.ints(0), graph.ints(HEAD // 2), graph.ints(3))
    high = graph.op("Slice", x, graph.ints(HEAD // 2), graph.ints(HEAD), graph.ints(3))
    turned = graph.op("Concat", graph.op("Neg", high), low, axis=-1)
    return graph.op("Add", graph.op("Mul", x, cos), graph.op("Mul", turned, sin))


def forward(token_ids: list[int], shape: Shape, seed: int = 7) -> Array:
    """Run the network in numpy on one text without padding. Returns shape (t, hidden)."""
    w = weights(shape, seed)
    cos, sin = (table[: len(token_ids)] for table in rotation(shape))

    def norm(x: Array) -> Array:
        centred: Array = x - x.mean(-1, keepdims=True)
        scaled: Array = centred / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
        return scaled

    def rotate(x: Array) -> Array:
        low, high = np.split(x, 2, axis=-1)
        turned: Array = x * cos + np.concatenate([-high, low], -1) * sin
        return turned

    words = w["word"][np.array(token_ids) % shape.words]
    x = norm(words + w["type"][0] if shape.typed else words)
    for layer in range(shape.layers):
        seen = []
        q, k, v = np.split(x @ w[f"{layer}.qkv"], 3, axis=-1)
        for start in range(0, shape.hidden, HEAD):
            part = slice(start, start + HEAD)
            scores = rotate(q[:, part]) @ rotate(k[:, part]).T / math.sqrt(HEAD)
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            seen.append(shares / shares.sum(-1, keepdims=True) @ v[:, part])
        x = norm(x + np.concatenate(seen, -1) @ w[f"{layer}.out"])
        gate = x @ w[f"{layer}.gate"]
        inner = x @ w[f"{layer}.up"] * gate / (1 + np.exp(-gate))
        x = norm(x + inner @ w[f"{layer}.down"])
    result: Array = x
    return result
