"""Learn which short replies fit a message, over a head that is trained and stays as it is.

One logistic output a reply, on what the head reads from a message and the mean of its token states.
Trained on the writers of `train` and `choose`, reported on `test`; writes the head's file anew with
these outputs beside its own. Minutes on a CPU.

    python -m training.replies bumble/models/embed/readers/NAME.npz [--weights FOLDER]
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from bumble.models.embed import reader
from bumble.models.weights import catalog, embedders
from training import labels
from training.__main__ import packed
from training.labels import REPLIES, Example

STEPS, RATE = 400, 0.01
DECAY = 150.0  # of squared weights, over standardised features, against the sum of losses
SECOND = 0.7  # how surely a reply fits that is not the best


def targets(examples: Sequence[Example]) -> np.ndarray:
    """Return how surely each reply fits each message. Shape (examples, replies)."""
    sure = np.zeros((len(examples), len(REPLIES)), np.float32)
    for row, example in enumerate(examples):
        for place, name in enumerate(example.replies or ()):
            sure[row, REPLIES.index(name)] = SECOND if place else 1.0
    return sure


def fit(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weights (features, replies) and biases for features as they come."""
    mean, deviation = x.mean(0), x.std(0) + 1e-6
    scaled = jnp.asarray((x - mean) / deviation)
    params = {"w": jnp.zeros((x.shape[1], y.shape[1])), "b": jnp.full(y.shape[1], -2.0)}
    optimiser = optax.adam(optax.cosine_decay_schedule(RATE, STEPS))

    def loss(p: Mapping[str, Any]) -> Any:
        wrong = optax.sigmoid_binary_cross_entropy(scaled @ p["w"] + p["b"], y).sum()
        return wrong + DECAY * (p["w"] ** 2).sum()

    @jax.jit
    def step(p: Any, state: Any) -> tuple[Any, Any]:
        updates, state = optimiser.update(jax.grad(loss)(p), state)
        return optax.apply_updates(p, updates), state

    state: Any = optimiser.init(params)
    for _ in range(STEPS):
        params, state = step(params, state)
    w = np.asarray(params["w"]) / deviation[:, None]
    return w, np.asarray(params["b"]) - mean @ w


def report(name: str, examples: Sequence[Example], said: np.ndarray) -> None:
    """Print how often the surest reply is one that fits, and the best."""
    surest = [REPLIES[n] for n in said.argmax(axis=1)]
    for code in sorted({one.language for one in examples}):
        here = [n for n, one in enumerate(examples) if one.language == code]
        fits = [surest[n] in (examples[n].replies or ()) for n in here]
        best = [surest[n] == ((examples[n].replies or ("",)) + ("",))[0] for n in here]
        print(f"{name} {code}: {len(here)} fits {np.mean(fits):.2f} best {np.mean(best):.2f}")
    fits = [reply in (one.replies or ()) for reply, one in zip(surest, examples, strict=True)]
    print(f"{name}: {len(examples)} messages, the surest reply fits {np.mean(fits):.3f}")


def main() -> None:
    """Fit, report, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("head", type=Path, help="the file of the trained head")
    parser.add_argument("--weights", type=Path, help="folder of bumble's weights")
    given = parser.parse_args()
    folder = given.weights or Path.home() / ".cache/bumble/weights"
    embedder = embedders.open_embedder(folder, catalog.load().entry(given.head.stem))
    with np.load(given.head) as file:
        stored = {name: file[name] for name in file.files if not name.startswith("repl")}
    head = reader.HeadReader(embedder, reader.unpacked(stored))
    known = [one for one in labels.read() if one.replies is not None]
    known = [one for one in known if embedder.multilingual or one.language == "en"]
    rows = [head.features(one.text, one.previous) for one in known]
    x = np.stack([row for row in rows if row is not None])
    known = [one for one, row in zip(known, rows, strict=True) if row is not None]
    learns = np.array([one.split != "test" for one in known])
    w, b = fit(x[learns], targets([one for one in known if one.split != "test"]))
    rest = [one for one in known if one.split == "test"]
    report("test", rest, x[~learns] @ w + b)
    own = packed({"reply.w": w.astype(np.float32)}) | {"reply.b": b.astype(np.float16)}
    np.savez_compressed(given.head, **stored, **own, replies=np.array(REPLIES))


if __name__ == "__main__":
    main()
