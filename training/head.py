"""The reader's head: two transformer layers over frozen token vectors, trained with JAX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from msgspec import Struct
from numpy.typing import NDArray

from training.features import GRAMS, Features
from training.labels import INTENTS, KINDS, SPANS, Example

Params = dict[str, Any]
WIDTH, HEADS, FORWARD, LAYERS = 256, 4, 512, 2
HIDDEN = 384  # of the encoder's token vectors
GRAM_WIDTH = 128
BATCH, EPOCHS = 64, 9
RATE, DECAY = 1e-3, 0.05
DROPOUT, LAST_DROPOUT, TOKEN_DROP, FEATURE_DROP = 0.2, 0.3, 0.1, 0.1
# What each output counts in the loss.
WEIGHTS = {"keep": 1.0, "kind": 0.7, "intent": 1.0, "grade": 0.5, "span": 0.5}
GRADES = ("heavy 1", "heavy 2", "glad 1", "glad 2")


class Targets(Struct, frozen=True):
    """What is right of each example, and whether it is known. First axis: examples."""

    keep: NDArray[np.float32]  # (n, 2): value, known
    kind: NDArray[np.int32]  # (n,), -1: not known
    intent: NDArray[np.float32]  # (n, 15, 2)
    grade: NDArray[np.float32]  # (n, 4, 2)
    weight: NDArray[np.float32]  # (n,)
    spanned: NDArray[np.float32]  # (n,): whether its spans are known


def targets(examples: Sequence[Example]) -> Targets:
    """Write the labels as arrays; jokes weigh as they occur in talk."""
    keep = [[float(bool(e.keep)), float(e.keep is not None)] for e in examples]
    intent = [np.stack(e.known_intents(), axis=1) for e in examples]
    grade = [_grades(e) for e in examples]
    weight = [
        0.5 if e.kind.startswith("joke") or (e.intents and e.intents[0] == "joke") else 1.0
        for e in examples
    ]
    return Targets(
        np.array(keep, np.float32),
        np.array([KINDS.index(e.kind) if e.kind in KINDS else -1 for e in examples], np.int32),
        np.array(intent, np.float32),
        np.array(grade, np.float32),
        np.array(weight, np.float32),
        np.array([float(e.intents is not None) for e in examples], np.float32),
    )


def _grades(example: Example) -> list[list[float]]:
    known = float(example.heavy is not None)
    heavy, glad = example.heavy or 0, example.glad or 0
    return [[float(level), known] for level in (heavy >= 1, heavy >= 2, glad >= 1, glad >= 2)]


def initial(key: Any) -> Params:
    """Return random weights."""
    keys = iter(jax.random.split(key, 64))

    def dense(inputs: int, outputs: int) -> Params:
        scale = (2 / (inputs + outputs)) ** 0.5
        return {
            "w": jax.random.normal(next(keys), (inputs, outputs)) * scale,
            "b": jnp.zeros(outputs),
        }

    def norm() -> Params:
        return {"g": jnp.ones(WIDTH), "b": jnp.zeros(WIDTH)}

    layers = [
        {
            "n1": norm(),
            "qkv": dense(WIDTH, 3 * WIDTH),
            "o": dense(WIDTH, WIDTH),
            "n2": norm(),
            "f1": dense(WIDTH, FORWARD),
            "f2": dense(FORWARD, WIDTH),
        }
        for _ in range(LAYERS)
    ]
    last = 2 * WIDTH + GRAM_WIDTH
    return {
        "in": dense(HIDDEN, WIDTH),
        "before": dense(HIDDEN, WIDTH),
        "none": jnp.zeros(WIDTH),
        "layers": layers,
        "norm": norm(),
        "pool": dense(WIDTH, 1),
        "grams": dense(GRAMS, GRAM_WIDTH),
        "keep": dense(last, 1),
        "kind": dense(last, len(KINDS)),
        "intent": dense(last, len(INTENTS)),
        "grade": dense(last, len(GRADES)),
        "span": dense(WIDTH, len(SPANS)),
    }


def _dense(p: Params, x: Any) -> Any:
    return x @ p["w"] + p["b"]


def _norm(p: Params, x: Any) -> Any:
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(var + 1e-5) * p["g"] + p["b"]


def _drop(key: Any, x: Any, rate: float, *, on: bool) -> Any:
    if not on:
        return x
    return jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0.0)


def forward(p: Params, x: Any, mask: Any, before: Any, grams: Any, key: Any, *, on: bool) -> Params:
    """Run the head. Shapes: x (b, t, 384), mask (b, t), before (b, 384), grams (b, GRAMS)."""
    keys = iter(jax.random.split(key, 4 + 4 * LAYERS))
    if on:
        mask = mask * jax.random.bernoulli(next(keys), 1 - TOKEN_DROP, mask.shape)
        x = x * jax.random.bernoulli(next(keys), 1 - FEATURE_DROP, (x.shape[0], 1, x.shape[2]))
    has_before = (jnp.abs(before).sum(-1, keepdims=True) > 0).astype(x.dtype)
    first = has_before * _dense(p["before"], before) + (1 - has_before) * p["none"]
    h = jnp.concatenate([first[:, None], _dense(p["in"], x)], axis=1)
    whole = jnp.concatenate([jnp.ones_like(mask[:, :1]), mask], axis=1)
    bias = jnp.where(whole[:, None, None, :] > 0, 0.0, -1e9)
    b, t, _ = h.shape
    for layer in p["layers"]:
        q, k, v = jnp.split(_dense(layer["qkv"], _norm(layer["n1"], h)), 3, axis=-1)
        q, k, v = (z.reshape(b, t, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3) for z in (q, k, v))
        attention = jax.nn.softmax(
            q @ k.transpose(0, 1, 3, 2) / (WIDTH // HEADS) ** 0.5 + bias, axis=-1
        )
        mixed = (attention @ v).transpose(0, 2, 1, 3).reshape(b, t, WIDTH)
        h = h + _drop(next(keys), _dense(layer["o"], mixed), DROPOUT, on=on)
        inner = jax.nn.gelu(_dense(layer["f1"], _norm(layer["n2"], h)))
        h = h + _drop(next(keys), _dense(layer["f2"], inner), DROPOUT, on=on)
    h = _norm(p["norm"], h)
    logits = _dense(p["pool"], h)[..., 0] + jnp.where(whole > 0, 0.0, -1e9)
    pooled = (jax.nn.softmax(logits, axis=-1)[..., None] * h).sum(1)
    mean = (h * whole[..., None]).sum(1) / whole.sum(1, keepdims=True)
    gram = jax.nn.gelu(_dense(p["grams"], _drop(next(keys), grams, 0.3, on=on)))
    last = _drop(next(keys), jnp.concatenate([pooled, mean, gram], axis=-1), LAST_DROPOUT, on=on)
    out = {name: _dense(p[name], last) for name in ("keep", "kind", "intent", "grade")}
    return out | {"span": _dense(p["span"], h[:, 1:])}


def _sigmoid_loss(logits: Any, value: Any) -> Any:
    return optax.sigmoid_binary_cross_entropy(logits, value)


def loss(p: Params, batch: Params, key: Any) -> Any:
    """Weigh what each output gets wrong, where it is known what is right."""
    out = forward(p, batch["x"], batch["mask"], batch["before"], batch["grams"], key, on=True)
    w = batch["weight"]
    keep = _sigmoid_loss(out["keep"][:, 0], batch["keep"][:, 0]) * batch["keep"][:, 1] * w
    known = batch["kind"] >= 0
    kind = optax.softmax_cross_entropy_with_integer_labels(
        out["kind"], jnp.maximum(batch["kind"], 0)
    )
    intent = _sigmoid_loss(out["intent"], batch["intent"][..., 0]) * batch["intent"][..., 1]
    grade = _sigmoid_loss(out["grade"], batch["grade"][..., 0]) * batch["grade"][..., 1]
    span = _sigmoid_loss(out["span"], batch["spans"]) * batch["mask"][..., None]
    span = span.sum((1, 2)) / (3 * batch["mask"].sum(1)) * batch["spanned"]
    return (
        WEIGHTS["keep"] * keep.mean()
        + WEIGHTS["kind"] * (kind * known * w).mean()
        + WEIGHTS["intent"] * (intent.sum(-1) * w).mean() / 3
        + WEIGHTS["grade"] * grade.sum(-1).mean() / 2
        + WEIGHTS["span"] * 4 * span.mean()
    )


def batches(
    features: Features, right: Targets, mean: Any, deviation: Any, rows: NDArray[np.int64]
) -> Iterator[Params]:
    """Yield batches of padded token vectors with what is right."""
    for start in range(0, len(rows), BATCH):
        yield batch_of(features, right, mean, deviation, rows[start : start + BATCH])


def batch_of(
    features: Features, right: Targets, mean: Any, deviation: Any, rows: NDArray[np.int64]
) -> Params:
    """Pad some examples to one length; the last batch is filled up with empty ones."""
    lengths = features.starts[rows + 1] - features.starts[rows]
    longest = int(-(-max(1, lengths.max()) // 16) * 16)
    x = np.zeros((BATCH, longest, HIDDEN), np.float32)
    mask = np.zeros((BATCH, longest), np.float32)
    spans = np.zeros((BATCH, longest, len(SPANS)), np.float32)
    for place, row in enumerate(rows):
        begin, end = features.starts[row], features.starts[row + 1]
        x[place, : end - begin] = (features.tokens[begin:end].astype(np.float32) - mean) / deviation
        mask[place, : end - begin] = 1
        spans[place, : end - begin] = features.spans[begin:end]
    mask[len(rows) :, 0] = 1

    def filled(values: Any) -> Any:
        part = np.asarray(values[rows])
        padding = np.zeros((BATCH - len(rows), *part.shape[1:]), part.dtype)
        return np.concatenate([part, padding])

    before = features.previous.astype(np.float32)
    has = np.abs(before[rows]).sum(1, keepdims=True) > 0
    scaled = np.where(has, (before[rows] - mean) / deviation, 0)
    return {
        "x": x,
        "mask": mask,
        "spans": spans,
        "grams": filled(features.grams),
        "before": np.concatenate(
            [scaled, np.zeros((BATCH - len(rows), HIDDEN), np.float32)]
        ).astype(np.float32),
        "keep": filled(right.keep),
        "kind": filled(right.kind + 1) - 1,
        "intent": filled(right.intent),
        "grade": filled(right.grade),
        "weight": filled(right.weight),
        "spanned": filled(right.spanned),
    }


def train(
    features: Features,
    right: Targets,
    rows: NDArray[np.int64],
    *,
    seed: int = 0,
    epochs: int = EPOCHS,
) -> tuple[Params, Any, Any]:
    """Train on some rows. Returns the weights, and the mean and deviation of token vectors."""
    inside = np.concatenate([np.arange(features.starts[r], features.starts[r + 1]) for r in rows])
    sample = features.tokens[inside[:: max(1, len(inside) // 40000)]].astype(np.float32)
    mean, deviation = sample.mean(0), sample.std(0) + 1e-6
    key = jax.random.PRNGKey(seed)
    params = initial(key)
    steps = epochs * -(-len(rows) // BATCH)
    schedule = optax.warmup_cosine_decay_schedule(0.0, RATE, steps // 20, steps)
    optimizer = optax.chain(
        optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=DECAY)
    )
    state = optimizer.init(params)

    @jax.jit
    def step(params: Params, state: Any, batch: Params, key: Any) -> tuple[Params, Any, Any]:
        value, gradient = jax.value_and_grad(loss)(params, batch, key)
        update, state = optimizer.update(gradient, state, params)
        return optax.apply_updates(params, update), state, value

    rng = np.random.default_rng(seed)
    for epoch in range(epochs):
        order = _ordered(rng.permutation(rows), features, rng)
        values = []
        for batch in order:
            key, used = jax.random.split(key)
            params, state, value = step(
                params, state, batch_of(features, right, mean, deviation, batch), used
            )
            values.append(float(value))
        print(f"epoch {epoch + 1}: {np.mean(values):.3f}", flush=True)
    return params, mean, deviation


def _ordered(rows: NDArray[np.int64], features: Features, rng: Any) -> list[NDArray[np.int64]]:
    """Put messages of like length together, so that little is padding; batches in any order."""
    lengths = features.starts[rows + 1] - features.starts[rows]
    chunks = [rows[i : i + 16 * BATCH] for i in range(0, len(rows), 16 * BATCH)]
    sized = [lengths[i : i + 16 * BATCH] for i in range(0, len(rows), 16 * BATCH)]
    batches = [
        chunk[np.argsort(size, kind="stable")][i : i + BATCH]
        for chunk, size in zip(chunks, sized, strict=True)
        for i in range(0, len(chunk), BATCH)
    ]
    rng.shuffle(batches)
    return batches


def predict(
    params: Params,
    mean: Any,
    deviation: Any,
    features: Features,
    right: Targets,
    rows: NDArray[np.int64],
) -> Params:
    """Return the outputs for some rows (spans left out)."""
    run = jax.jit(
        lambda p, b: forward(
            p, b["x"], b["mask"], b["before"], b["grams"], jax.random.PRNGKey(0), on=False
        )
    )
    out: dict[str, list[Any]] = {"keep": [], "kind": [], "intent": [], "grade": []}
    for start in range(0, len(rows), BATCH):
        part = rows[start : start + BATCH]
        got = run(params, batch_of(features, right, mean, deviation, part))
        for name, parts in out.items():
            parts.append(np.asarray(got[name])[: len(part)])
    return {name: np.concatenate(parts) for name, parts in out.items()}
