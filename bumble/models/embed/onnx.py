"""Embedding models in ONNX Runtime: tokenizing, batches, pooling, normalizing.

Tokenise, run, average the unmasked tokens, normalise. Knows nothing of catalogs or of where weights
come from; it is handed two files and the `EmbedderIdentity` that says what to do with them.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

# Else, from 1.32 on, it gives this machine an id and tells Microsoft of every session it makes.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
import onnxruntime
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as failures

from bumble.errors import WeightsMissingError
from bumble.models.embed.pieces import Pieces, Tokens
from bumble.models.embed.protocol import DocumentTokens, EmbedderIdentity, Floats, QueryTokens

FLOAT, INT64 = 1, 7  # TensorProto.DataType
GRAPH, OUTPUT = 7, 12  # fields of ModelProto and GraphProto


def value_info(name: str, kind: int, shape: Sequence[int | str] | None = None) -> bytes:
    """Write a value of a graph (`ValueInfoProto`).

    Args:
        name: What it is called.
        kind: The type of its numbers.
        shape: Its sizes, by name where they are free; None: it is not told.
    """
    sizes = ((1, message((1 if isinstance(size, int) else 2, size))) for size in shape or ())
    told = [(2, message(*sizes))] if shape is not None else []
    return message((1, name), (2, message((1, message((1, kind), *told)))))


def message(*fields: tuple[int, int | str | bytes]) -> bytes:
    """Write a message of protobuf: each field by its number; bytes may be another message."""
    written = b""
    for number, value in fields:
        if isinstance(value, int):
            written += varint(number << 3) + varint(value % (1 << 64))
        else:
            content = value.encode() if isinstance(value, str) else value
            written += varint(number << 3 | 2) + varint(len(content)) + content
    return written


def varint(whole: int) -> bytes:
    """Write a whole number, seven bits a byte."""
    parts = []
    while whole > 0x7F:
        parts.append(whole & 0x7F | 0x80)
        whole >>= 7
    return bytes([*parts, whole])


_BATCH_TEXTS = 32  # more gain nothing on two cores
_BATCH_TOKENS = 2048  # texts times the longest of them: of 4096 a run takes 330 MB more, no faster
_WINDOW_TEXTS = 1024  # tokenised at once, so that a large index does not sit in memory as tokens
_CHARACTERS_A_TOKEN = 32  # no prose needs more; what lies beyond is cut before it is tokenised
_LAYER_NORM_EPSILON = 1e-5
_RUNS_AS_IT_IS = 12  # of a graph: so many cost what loading it for speed does
_CONSTANTS = "constants"  # of an unpacked graph: a file beside it, of which a load reads nothing
_CONSTANT_BYTES = "1024"  # a smaller one stays in the graph

UNREADABLE = (
    failures.Fail,
    failures.InvalidArgument,
    failures.InvalidGraph,
    failures.InvalidProtobuf,
    failures.NoSuchFile,
    failures.NotImplemented,
)


class OnnxEmbedder:
    """An embedding model in ONNX Runtime. Fulfils `Embedder`."""

    def __init__(
        self,
        weights: Path,
        tokenizer: Path,
        identity: EmbedderIdentity,
        *,
        unrelated_cosine: float,
        batch_invariant: bool,
        optimise: bool,
        unpacked: Path | None = None,
        token_mean: Floats | None = None,
        inner_states: Sequence[str] = (),
        multilingual: bool = False,
        threads: int = 2,
    ) -> None:
        """Load the model.

        Args:
            weights: The ONNX graph; its first output is `last_hidden_state` (n, t, hidden).
            tokenizer: A `tokenizer.json`; its own truncation and padding are overruled.
            identity: What the vectors are; `dimensions` may be fewer than the graph puts out.
            unrelated_cosine: The model's measured mean cosine of unrelated texts.
            batch_invariant: Whether a text's vector is the same in any batch and at any padding. If
                not, as with activations quantised on the fly, texts run one at a time.
            optimise: Whether to rewrite the graph on loading. Where that unpacks int8 weights, it
                costs more time than it saves a process that embeds a single query; it is done then
                once a process has embedded a dozen.
            unpacked: The same graph by `unpack`, for as long as it is not rewritten.
            token_mean: Taken from the states of tokens before they are matched, shape (hidden,):
                what all of them have in common tells none from another. None: nothing.
            inner_states: Values of the graph, shape (n, t, hidden), of middle layers. What a
                message is, and what a word means in it, stands plainer there than at the end of an
                encoder that was trained to give one vector: `states` returns them, and tokens are
                matched by the last of them beside the end.
            multilingual: Whether the model understands other languages as well as English.
            threads: Threads of one operation.

        Raises:
            WeightsMissingError: If a file is not what it should be.
        """
        self.identity = identity
        self.unrelated_cosine, self._token_mean = unrelated_cosine, token_mean
        self.multilingual = multilingual
        self._batch_texts = _BATCH_TEXTS if batch_invariant else 1
        self._tokenizer = Pieces(tokenizer, identity.max_tokens)
        self._weights, self._threads = weights, threads
        self._inner_states = tuple(inner_states)
        self._session = _load_session(
            weights,
            optimise=optimise,
            threads=threads,
            shown=self._inner_states,
            unpacked=unpacked,
        )
        self._runs_left = None if optimise else _RUNS_AS_IT_IS  # until it is rewritten
        self._inputs = [argument.name for argument in self._session.get_inputs()]
        self._asked: tuple[str, tuple[Floats, QueryTokens]] | None = None  # the last query

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Embed texts to be found. Returns shape (n, d), rows of length 1, in the order given."""
        return self.embed_documents_by_token(texts)[0]

    def embed_documents_by_token(self, texts: Sequence[str]) -> tuple[Floats, list[DocumentTokens]]:
        """Embed texts to be found: vectors, shape (n, d), rows of length 1, and tokens."""
        vectors = np.empty((len(texts), self.identity.dimensions), np.float32)
        tokens: dict[int, DocumentTokens] = {}
        for where, encodings, layers, mask in self._runs(texts):
            vectors[where] = self._pooled(layers[0], mask)
            for n, (at, encoding) in enumerate(zip(where, encodings, strict=True)):
                rows = self._matched(encoding, len(self.identity.document_prefix))
                signs = np.packbits(self._by_token(layers, n, rows) > 0, axis=1)
                tokens[at] = DocumentTokens(np.array(encoding.ids, np.uint32)[rows], signs)
        return vectors, [tokens[at] for at in range(len(texts))]

    def embed_query(self, text: str) -> tuple[Floats, QueryTokens]:
        """Embed a text to search with: its vector, shape (d,), of length 1, and its tokens.

        A turn looks for the same text among several kinds of record: the last one is kept.
        """
        if self._asked is not None and self._asked[0] == text:
            return self._asked[1]
        encodings = self._encode(self.identity.query_prefix, [text])
        layers, mask = self._run(encodings)
        skipped = len(self.identity.query_prefix)
        rows = self._matched(encodings[0], skipped)
        spans = [encodings[0].offsets[row] for row in rows]
        tokens = QueryTokens(
            np.array(encodings[0].ids, np.uint32)[rows],
            unit_rows(self._by_token(layers, 0, rows)),
            tuple((start - skipped, end - skipped) for start, end in spans),
        )
        self._asked = text, (self._pooled(layers[0], mask)[0], tokens)
        return self._asked[1]

    def states(self, text: str) -> tuple[Floats, list[tuple[int, int]]]:
        """Return the states of a text's tokens as a query has them, prefix and marks left out.

        Returns:
            Shape (tokens, hidden · (inner states + 1)), and where each token stands in the text.
        """
        encodings = self._encode(self.identity.query_prefix, [text])
        skipped = len(self.identity.query_prefix)
        rows = [
            row
            for row, (special, (start, _)) in enumerate(
                zip(encodings[0].special_tokens_mask, encodings[0].offsets, strict=True)
            )
            if not special and start >= skipped
        ]
        layers, _ = self._run(encodings)
        hidden = np.concatenate([*layers[1:], layers[0]], axis=2)
        offsets = [encodings[0].offsets[row] for row in rows]
        return hidden[0][rows], [(start - skipped, end - skipped) for start, end in offsets]

    def token_mean(self, texts: Sequence[str]) -> Floats:
        """Average the states by which tokens are matched, as they are. Returns shape (hidden,)."""
        skipped = len(self.identity.document_prefix)
        states = [
            self._token_states(layers, n, self._matched(encoding, skipped))
            for _, encodings, layers, _ in self._runs(texts)
            for n, encoding in enumerate(encodings)
        ]
        mean: Floats = np.concatenate(states).mean(axis=0, dtype=np.float32)
        return mean

    def _runs(
        self, texts: Sequence[str]
    ) -> Iterator[tuple[list[int], list[Tokens], list[Floats], NDArray[np.int64]]]:
        """Run texts in batches. Yields rows of `texts` with what the model made of them."""
        for start in range(0, len(texts), _WINDOW_TEXTS):
            window = texts[start : start + _WINDOW_TEXTS]
            encodings = self._encode(self.identity.document_prefix, window)
            for rows in _batches(encodings, self._batch_texts):
                batch = [encodings[row] for row in rows]
                yield [start + row for row in rows], batch, *self._run(batch)

    def _encode(self, prefix: str, texts: Sequence[str]) -> list[Tokens]:
        limit = self.identity.max_tokens * _CHARACTERS_A_TOKEN
        # A lone surrogate is not text; the tokenizer would refuse it.
        clean = [prefix + t[:limit].encode("utf-8", "replace").decode("utf-8") for t in texts]
        return self._tokenizer.encode_batch(clean)

    def _run(self, encodings: Sequence[Tokens]) -> tuple[list[Floats], NDArray[np.int64]]:
        """Return states, each of shape (n, t, hidden), and which tokens are no padding.

        The last layer comes first, then the inner ones in their order.
        """
        longest = max(len(encoding) for encoding in encodings)
        ids = np.zeros((len(encodings), longest), np.int64)
        mask = np.zeros_like(ids)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding)] = encoding.ids
            mask[row, : len(encoding)] = 1
        every = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        if self._runs_left == 0:  # a process that embeds a lot has its graph rewritten
            self._session = _load_session(
                self._weights, optimise=True, threads=self._threads, shown=self._inner_states
            )
        self._runs_left = self._runs_left - 1 if self._runs_left else None
        return self._session.run(None, {name: every[name] for name in self._inputs}), mask

    def _pooled(self, hidden: Floats, mask: NDArray[np.int64]) -> Floats:
        pooled = mean_of_tokens(hidden, mask)
        if self.identity.layer_norm:
            pooled = layer_norm(pooled)
        return unit_rows(pooled[:, : self.identity.dimensions])

    def _token_states(self, layers: Sequence[Floats], text: int, rows: Sequence[int]) -> Floats:
        """Return what a text's tokens are matched by, shape (t, hidden)."""
        last: Floats = layers[0][text][rows]
        return last if len(layers) == 1 else unit_rows(last) + unit_rows(layers[-1][text][rows])

    def _by_token(self, layers: Sequence[Floats], text: int, rows: Sequence[int]) -> Floats:
        """Bring what tokens are matched by to the width of the pooled vectors."""
        hidden = self._token_states(layers, text, rows)
        centred = hidden if self._token_mean is None else hidden - self._token_mean
        normed = layer_norm(centred) if self.identity.layer_norm else centred
        return normed[:, : self.identity.dimensions]

    def _matched(self, encoding: Tokens, skipped: int) -> list[int]:
        """Return which tokens are matched one by one: neither prefix nor mark nor punctuation."""
        return [
            row
            for row, (piece, special, (start, _)) in enumerate(
                zip(encoding.ids, encoding.special_tokens_mask, encoding.offsets, strict=True)
            )
            if not special and start >= skipped and _says_something(self._tokenizer.text_of(piece))
        ]


@cache
def _says_something(token: str) -> bool:
    """Whether a token is more than signs."""
    return any(unicodedata.category(char)[0] != "P" for char in token.lstrip("▁"))


def mean_of_tokens(hidden: Floats, mask: NDArray[np.int64]) -> Floats:
    """Average the vectors of unmasked tokens.

    Args:
        hidden: Shape (n, t, d).
        mask: Shape (n, t), 1 for a token and 0 for padding; each row has a token.

    Returns:
        Shape (n, d).
    """
    weights = mask.astype(np.float32)
    total = np.einsum("ntd,nt->nd", hidden, weights)
    mean: Floats = total / weights.sum(axis=1, keepdims=True)
    return mean


def layer_norm(vectors: Floats) -> Floats:
    """Bring every row to mean 0 and variance 1. Shape (n, d) in and out."""
    centred = vectors - vectors.mean(axis=1, keepdims=True)
    spread = np.sqrt(vectors.var(axis=1, keepdims=True) + np.float32(_LAYER_NORM_EPSILON))
    normed: Floats = centred / spread
    return normed


def unit_rows(vectors: Floats) -> Floats:
    """Scale every row to length 1. Shape (n, d) in and out; no row is zero."""
    units: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return units


def _batches(encodings: Sequence[Tokens], at_most: int) -> list[list[int]]:
    """Group texts of like length, so that little is padding. Returns rows of `encodings`."""
    batches: list[list[int]] = []
    for row in sorted(range(len(encodings)), key=lambda row: len(encodings[row]), reverse=True):
        open_batch = batches[-1] if batches else []
        longest = len(encodings[open_batch[0]]) if open_batch else 0
        full = len(open_batch) >= min(at_most, max(1, _BATCH_TOKENS // max(1, longest)))
        if not open_batch or full:
            batches.append([row])
        else:
            open_batch.append(row)
    return batches


def unpack(weights: Path, folder: Path, shown: Sequence[str]) -> Path:
    """Write a graph with its constants worked out, int8 weights as floats, into a folder.

    It puts out what it did, and the values that are to be shown.

    The constants stand in a file of their own, which the system maps when the graph is loaded:
    what a run doesn't touch, as most rows of a vocabulary, is never read.

    Returns:
        Where the graph lies, of standard operators alone.
    """
    graph = folder / weights.name
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(graph)
    written = "session.optimized_model_external_initializers"
    options.add_session_config_entry(f"{written}_file_name", _CONSTANTS)
    options.add_session_config_entry(f"{written}_min_size_in_bytes", _CONSTANT_BYTES)
    model = weights.read_bytes() + _outputs_of(shown)
    onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return graph


def _load_session(
    path: Path,
    *,
    optimise: bool,
    threads: int,
    shown: Sequence[str],
    unpacked: Path | None = None,
) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # Waiting threads would spin, and take the core that git, pip or a chat model needs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3  # errors only: warnings are about the graph, not the user
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimise else level.ORT_DISABLE_ALL
    if unpacked is not None:
        # To lay weights out for speed takes as long as eight queries.
        options.add_session_config_entry("session.disable_prepacking", "1")
    try:
        model = unpacked or (path.read_bytes() + _outputs_of(shown) if shown else path)
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except UNREADABLE as error:
        if unpacked is not None:  # by another version of ONNX Runtime, or cut short
            return _load_session(path, optimise=optimise, threads=threads, shown=shown)
        raise WeightsMissingError(f"{path}: ONNX Runtime can't run it: {error}") from error


def _outputs_of(names: Sequence[str]) -> bytes:
    """Return bytes that, put behind an ONNX model, make values of its graph outputs."""
    outputs = ((OUTPUT, value_info(name, FLOAT)) for name in names)
    return message((GRAPH, message(*outputs)))
