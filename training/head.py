"""The reader's head: two transformer layers over frozen token vectors, trained with JAX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from bumble.models.embed.reader import GRADES, GRAMS, HEADS
from training.features import Features
from training.labels import INTENTS, KINDS, REPLIES, SPANS, Example

Params = dict[str, Any]
WIDTH, FORWARD, LAYERS = 256, 512, 2
GRAM_WIDTH = 128
BATCH, EPOCHS = 64, 12
RATE, DECAY = 1e-3, 0.05
GENTLY = 0.3  # of the rate, for a head that is trained on
AVERAGED = 0.998  # of the weights so far, in those that are kept, a step
DROPOUT, LAST_DROPOUT, TOKEN_DROP, FEATURE_DROP = 0.2, 0.3, 0.1, 0.1
BESIDE = 0.6  # how often another message of its writer stands before one that refers to none
LENGTHS = (24, 64)  # tokens of messages that are trained on together; what is longer is cut
CHUNK = 256  # messages that are predicted at once
# What each output counts in the loss.
WEIGHTS = {"keep": 1.0, "kind": 0.7, "intent": 1.0, "grade": 0.5, "span": 0.5, "reply": 2.0}
REPLY_RATE, REPLY_STEPS, REPLY_DECAY = 0.01, 400, 100.0
SECOND = 0.7  # how surely a short reply fits that is not the best


class Targets(NamedTuple):
    """What is right of each example, and whether it is known. First axis: examples."""

    keep: NDArray[np.float32]  # (n, 2): value, known
    kind: NDArray[np.int32]  # (n,), -1: not known
    intent: NDArray[np.float32]  # (n, intents, 2)
    grade: NDArray[np.float32]  # (n, 4, 2)
    weight: NDArray[np.float32]  # (n,)
    spanned: NDArray[np.float32]  # (n,): whether its spans are known
    reply: NDArray[np.float32]  # (n, replies, 2)


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
        np.array([_replies(e) for e in examples], np.float32),
    )


def _replies(example: Example) -> list[list[float]]:
    """Return how surely each short reply fits, and whether that is known."""
    fit = example.replies or ()
    sure = {name: SECOND if place else 1.0 for place, name in enumerate(fit)}
    return [[sure.get(name, 0.0), float(example.replies is not None)] for name in REPLIES]


def _grades(example: Example) -> list[list[float]]:
    known = float(example.heavy is not None)
    heavy, glad = example.heavy or 0, example.glad or 0
    return [[float(level), known] for level in (heavy >= 1, heavy >= 2, glad >= 1, glad >= 2)]


def initial(key: Any, hidden: int) -> Params:
    """Return random weights over token vectors of a width."""
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
        "in": dense(hidden, WIDTH),
        "before": dense(hidden, WIDTH),
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
        "reply": dense(last + hidden, len(REPLIES)),
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
    """Run the head. Shapes: x (b, t, hidden), mask (b, t), before (b, hidden), grams (b, GRAMS)."""
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
    states = (x * mask[..., None]).sum(1) / jnp.maximum(mask.sum(1, keepdims=True), 1)
    features = jnp.concatenate([last, states], axis=-1)
    fitted = {name: _dense(p[name], features) for name in ("reply", "wish") if name in p}
    out |= {**fitted, "features": features}
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
    reply = _sigmoid_loss(out["reply"], batch["reply"][..., 0]) * batch["reply"][..., 1]
    span = _sigmoid_loss(out["span"], batch["spans"]) * batch["mask"][..., None]
    span = span.sum((1, 2)) / (3 * batch["mask"].sum(1)) * batch["spanned"]
    return (
        WEIGHTS["keep"] * keep.mean()
        + WEIGHTS["kind"] * (kind * known * w).mean()
        + WEIGHTS["intent"] * (intent.sum(-1) * w).mean() / 3
        + WEIGHTS["grade"] * grade.sum(-1).mean() / 2
        + WEIGHTS["span"] * 4 * span.mean()
        + WEIGHTS["reply"] * (reply.sum(-1) * w).mean() / 3
    )


class Data(NamedTuple):
    """Everything that is trained on or predicted for. First axis: examples."""

    x: NDArray[np.float16]  # (n, longest, hidden), standardised
    mask: NDArray[np.bool_]  # (n, longest)
    spans: NDArray[np.bool_]  # (n, longest, 3)
    before: NDArray[np.float32]  # (n, hidden), standardised; 0 where nothing was said before
    mean: NDArray[np.float32]  # (n, hidden): of its own tokens, as what was said before another
    grams: NDArray[np.float32]  # (n, GRAMS)

    def batches(self, rows: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
        """Part rows into batches of messages of like length, in their order."""
        lengths, shorter = self.mask[rows].sum(1), 0
        parts = []
        for length in LENGTHS:
            these = rows[(lengths > shorter) & (lengths <= length)]
            parts += [these[start : start + size] for start in range(0, len(these), size)]
            shorter = length
        return parts


class Scale(NamedTuple):
    """Mean and deviation of token states. Shapes (hidden,)."""

    mean: NDArray[np.float32]
    deviation: NDArray[np.float32]


def scale_of(features: Features, rows: NDArray[np.int64]) -> Scale:
    """Measure the token states of some examples."""
    inside = np.concatenate([np.arange(features.starts[r], features.starts[r + 1]) for r in rows])
    sample = features.tokens[inside[:: max(1, len(inside) // 40000)]].astype(np.float32)
    return Scale(sample.mean(0), sample.std(0) + 1e-6)


def data_of(features: Features, scale: Scale) -> Data:
    """Pad features to one length; what is longer is cut."""
    count, longest = len(features.starts) - 1, LENGTHS[-1]
    x = np.zeros((count, longest, len(scale.mean)), np.float16)
    mask, spans = np.zeros((count, longest), bool), np.zeros((count, longest, len(SPANS)), bool)
    for row in range(count):
        begin = features.starts[row]
        end = min(features.starts[row + 1], begin + longest)
        tokens = features.tokens[begin:end].astype(np.float32)
        x[row, : end - begin] = (tokens - scale.mean) / scale.deviation
        mask[row, : max(1, end - begin)] = True
        spans[row, : end - begin] = features.spans[begin:end]
    before = features.previous.astype(np.float32)
    has = np.abs(before).sum(1, keepdims=True) > 0
    before = np.where(has, (before - scale.mean) / scale.deviation, 0).astype(np.float32)
    mean = np.stack([one[has].mean(0, dtype=np.float32) for one, has in zip(x, mask, strict=True)])
    return Data(x, mask, spans, before, mean, features.grams)


def _batch(data: Data, rows: Any, beside: Any = None) -> Params:
    """Return rows as the head reads them; `beside`: what else was said before, -1: nothing."""
    longest = next(each for each in LENGTHS if data.mask[rows].sum(1).max() <= each)
    before = data.before[rows]
    if beside is not None:
        refers = np.abs(before).sum(-1, keepdims=True) > 0
        other = np.where((beside >= 0)[:, None], data.mean[beside], 0.0)
        before = np.where(refers, before, other)
    return {
        "x": data.x[rows, :longest].astype(np.float32),
        "mask": data.mask[rows, :longest].astype(np.float32),
        "spans": data.spans[rows, :longest].astype(np.float32),
        "before": before.astype(np.float32),
        "grams": data.grams[rows],
    }


def train(
    data: Data,
    right: Targets,
    rows: NDArray[np.int64],
    examples: Sequence[Example],
    *,
    seed: int = 0,
    epochs: int = EPOCHS,
    begun: Params | None = None,
) -> Params:
    """Train a head: the mean of its weights over the last steps.

    Args:
        data: What is read.
        right: What is right of it.
        rows: Those that are trained on.
        examples: The messages.
        seed: Of chance.
        epochs: How often each row is seen.
        begun: A head that is trained on, at a lower rate, as far as it goes; None: a new one.
    """
    chance, key = np.random.default_rng(seed), jax.random.PRNGKey(seed)
    steps = epochs * len(data.batches(rows, BATCH))
    rate = RATE if begun is None else RATE * GENTLY
    rates = optax.warmup_cosine_decay_schedule(0.0, rate, steps // 20, max(1, steps))
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rates, weight_decay=DECAY))

    @jax.jit
    def step(params: Params, kept: Params, state: Any, batch: Params, key: Any) -> Any:
        update, state = optimizer.update(jax.grad(loss)(params, batch, key), state, params)
        params = optax.apply_updates(params, update)
        return params, optax.incremental_update(params, kept, 1 - AVERAGED), state

    alike: dict[str, list[int]] = {}
    for row in rows:
        alike.setdefault(examples[row].language, []).append(row)
    params = kept = {**initial(key, data.x.shape[2]), **(begun or {})}
    state = optimizer.init(params)
    for epoch in range(epochs):
        parts = data.batches(chance.permutation(rows), BATCH)
        for place in chance.permutation(len(parts)):
            taken = parts[place]
            # What refers to nothing is read alike whatever was said before: else having something
            # before it alone would make a message a correction or a confidence.
            other = [chance.choice(alike[examples[row].language]) for row in taken]
            batch = _batch(data, taken, np.where(chance.random(len(taken)) < BESIDE, other, -1))
            targets = {name: values[taken] for name, values in right._asdict().items()}
            key, used = jax.random.split(key)
            params, kept, state = step(params, kept, state, batch | targets, used)
        print(f"epoch {epoch + 1} of {epochs}", flush=True)
    return kept


def predict(params: Params, data: Data, rows: NDArray[np.int64]) -> Params:
    """Return what a trained head says of some rows (spans left out)."""

    @jax.jit
    def read(b: Params) -> Params:
        given = (b["x"], b["mask"], b["before"], b["grams"])
        out = forward(params, *given, jax.random.PRNGKey(0), on=False)
        return {name: values for name, values in out.items() if name != "span"}

    place = {row: n for n, row in enumerate(rows)}
    whole: Params = {}
    for part in data.batches(rows, CHUNK):
        for name, values in read(_batch(data, part)).items():
            filled = whole.setdefault(name, np.zeros((len(rows), *values.shape[1:]), np.float32))
            filled[[place[row] for row in part]] = values
    return whole


def fit_output(features: NDArray[np.float32], right: NDArray[np.float32]) -> Params:
    """Fit an output to its end, over what the head reads: short replies, names, wishes.

    Few are labelled. Shapes: features (n, features), right (n, outputs), how surely each is so.
    """
    mean, deviation = features.mean(0), features.std(0) + 1e-6
    scaled = jnp.asarray((features - mean) / deviation)
    params = {"w": jnp.zeros((features.shape[1], right.shape[1])), "b": jnp.zeros(right.shape[1])}
    optimizer = optax.adam(optax.cosine_decay_schedule(REPLY_RATE, REPLY_STEPS))

    def wrong(p: Params, scaled: Any, right: Any) -> Any:
        return _sigmoid_loss(_dense(p, scaled), right).sum() + REPLY_DECAY * (p["w"] ** 2).sum()

    @jax.jit
    def step(params: Params, state: Any, scaled: Any, right: Any) -> tuple[Params, Any]:
        update, state = optimizer.update(jax.grad(wrong)(params, scaled, right), state)
        return optax.apply_updates(params, update), state

    state = optimizer.init(params)
    for _ in range(REPLY_STEPS):
        params, state = step(params, state, scaled, jnp.asarray(right))
    w = np.asarray(params["w"]) / deviation[:, None]
    return {"w": w, "b": np.asarray(params["b"]) - mean @ w}


def flat(params: Params) -> dict[str, NDArray[np.float32]]:
    """Return weights by their dotted names: `layers.0.qkv.w`."""
    out: dict[str, NDArray[np.float32]] = {}

    def walk(name: str, part: Any) -> None:
        if isinstance(part, dict | list):
            for key, value in part.items() if isinstance(part, dict) else enumerate(part):
                walk(f"{name}.{key}" if name else str(key), value)
        else:
            out[name] = np.asarray(part, np.float32)

    walk("", params)
    return out


def nested(weights: Mapping[str, NDArray[np.float32]]) -> Params:
    """Return weights by their dotted names as they are trained: `flat` backwards."""
    whole: Params = {}
    for name, values in weights.items():
        *path, last = name.split(".")
        part = whole
        for step in path:
            part = part.setdefault(step, {})
        part[last] = values
    layers = whole.get("layers", {})
    return whole | ({"layers": [layers[key] for key in sorted(layers)]} if layers else {})
