"""Opening embedding models that were pulled, and their calibration."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bumble.errors import FolderUnwritableError
from bumble.files import disk
from bumble.models.embed import onnx, protocol
from bumble.models.weights import store
from bumble.models.weights.catalog import CatalogEntry, EmbeddingRun

UNRELATED = "unrelated_cosine"  # a fact of the manifest: the mean by number of dimensions
UNPACKED = (
    "unpacked"  # a folder beside the weights; among the facts, its files as they were written
)
COMMON = "common_state"  # another: what the tokens of unrelated sentences have in common
CENTRED = "mean, tokens centred"  # how such a model pools, as its identity has it
_MOST_THREADS = 4  # texts are short: more threads wait for each other


def open_embedder(
    folder: Path,
    entry: CatalogEntry,
    dimensions: int | None = None,
    tell: Callable[[str], object] = str,
) -> onnx.OnnxEmbedder:
    """Open an embedding model.

    Args:
        folder: Where weights lie.
        entry: A model of kind "embedding".
        dimensions: What to cut its vectors to; None: their full width.
        tell: Hears why what was measured on it can't be kept.

    Raises:
        WeightsMissingError: If its weights are not there or not what they should be.
        ValueError: If it has no such dimensions.
    """
    installed = unpacked(calibrated(store.require(folder, entry)))
    if installed.unkept:
        tell(f"{installed.unkept}; what stands there is found out anew each time")
    run = _run(entry)
    width = dimensions or run.dimensions[0]
    if width not in run.dimensions:
        allowed = ", ".join(map(str, run.dimensions))
        raise ValueError(f"{entry.name} gives {allowed} dimensions, not {width}")
    mean = np.array(installed.facts[COMMON], np.float32) if run.centre_tokens else None
    return _open(installed, width, installed.facts[UNRELATED][str(width)], mean)


def calibrated(installed: store.Installed) -> store.Installed:
    """Measure what unrelated texts have in common for an embedder, unless that is known.

    Returns:
        The model with their mean cosine for every number of dimensions among its facts and, where
        its tokens are centred, their tokens' mean.
    """
    run = _run(installed.entry)
    measured = {str(width) for width in run.dimensions} <= set(installed.facts.get(UNRELATED, {}))
    if measured and (COMMON in installed.facts or not run.centre_tokens):
        return installed
    embedder = _open(installed, run.dimensions[0], 0.0, None)
    vectors = embedder.embed_documents(protocol.unrelated_sentences())
    means = {str(width): round(mean_cosine(vectors[:, :width]), 6) for width in run.dimensions}
    facts: dict[str, object] = {UNRELATED: means}
    if run.centre_tokens:
        mean = embedder.token_mean(protocol.unrelated_sentences())
        facts[COMMON] = [round(float(value), 6) for value in mean]
    return store.record(installed, facts)


def unpacked(installed: store.Installed) -> store.Installed:
    """Work out the constants of a model's graph and keep that beside it, unless it is there.

    Returns:
        The model, with that among its facts; as it was where it can't be kept.
    """
    place = installed.path(UNPACKED)
    if _run(installed.entry).optimise or _is_unpacked(installed):
        return installed
    try:
        with disk.folder_beside(place) as new:
            onnx.unpack(installed.weights, new, _run(installed.entry).inner_states)
            disk.clear(place)
            new.rename(place)
    except (FolderUnwritableError, OSError, *onnx.UNREADABLE):
        return installed  # no room, no right, or another process was quicker
    return store.record(installed, {UNPACKED: _of_unpacked(installed)})


def _is_unpacked(installed: store.Installed) -> bool:
    known = installed.facts.get(UNPACKED)
    return bool(known) and known == _of_unpacked(installed)


def _of_unpacked(installed: store.Installed) -> dict[str, object]:
    """Say what the files of the unpacked graph are, and which states it puts out."""
    files = store.stamps(installed.path(UNPACKED))
    return {"files": files, "shown": list(_run(installed.entry).inner_states)}


def mean_cosine(vectors: protocol.Floats) -> float:
    """Average the cosine over all pairs of different rows.

    Args:
        vectors: Shape (n, d), n >= 2, no row zero; rows need not have length 1.
    """
    exact = vectors.astype(np.float64)
    units = exact / np.linalg.norm(exact, axis=1, keepdims=True)
    count = len(units)
    # Every pair once is the squared length of the sum, less the diagonal.
    return float((np.square(units.sum(axis=0)).sum() - count) / (count * (count - 1)))


def identity(entry: CatalogEntry, dimensions: int) -> protocol.EmbedderIdentity:
    """Say what decides the vectors of a model."""
    run = _run(entry)
    weights, tokenizer = entry.files
    return protocol.EmbedderIdentity(
        model=entry.name,
        sha256=weights.sha256,
        tokenizer_sha256=tokenizer.sha256,
        dimensions=dimensions,
        document_prefix=run.document_prefix,
        query_prefix=run.query_prefix,
        pooling=CENTRED if run.centre_tokens else run.pooling,
        tokens_beside=run.inner_states[-1] if run.inner_states else "",
        layer_norm=run.layer_norm,
        max_tokens=run.max_tokens,
    )


def _open(
    installed: store.Installed,
    dimensions: int,
    unrelated_cosine: float,
    token_mean: protocol.Floats | None,
) -> onnx.OnnxEmbedder:
    run = _run(installed.entry)
    return onnx.OnnxEmbedder(
        installed.path("model.onnx"),
        installed.path("tokenizer.json"),
        identity(installed.entry, dimensions),
        unrelated_cosine=unrelated_cosine,
        multilingual=run.multilingual,
        inner_states=run.inner_states,
        token_mean=token_mean,
        batch_invariant=run.batch_invariant,
        optimise=run.optimise,
        unpacked=installed.path(UNPACKED) / "model.onnx" if _is_unpacked(installed) else None,
        threads=min(_MOST_THREADS, os.cpu_count() or 1),
    )


def _run(entry: CatalogEntry) -> EmbeddingRun:
    if entry.embedding is None:
        raise ValueError(f"{entry.name} is not an embedding model")
    return entry.embedding
