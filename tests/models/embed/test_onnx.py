from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx as onnx_format
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tokenizers import Tokenizer

from bumble.errors import WeightsMissingError
from bumble.models.embed import onnx
from bumble.models.embed.onnx import OnnxEmbedder, layer_norm, unit_rows
from bumble.models.embed.protocol import Embedder, EmbedderIdentity, Floats
from bumble.models.weights import catalog, embedders, store
from tests.support import nomic_graph
from tests.support.sweeps import examples

TOKENIZER = catalog.BUNDLED / "bert-base-uncased.tokenizer.json"
SHAPE = nomic_graph.Shape()
ODD_TEXTS = ["", " ", "\x00\x07\x1b[31m", "🐝" * 40, "\ud83d lone", "x" * 5000, "ﬀ Å Å ß\u200b"]
TEXTS = st.lists(st.sampled_from([*ODD_TEXTS, "one", "two words", "and three more words " * 9]))


def identity(dimensions: int = 768, max_tokens: int = 64) -> EmbedderIdentity:
    return EmbedderIdentity(
        model="tiny-nomic",
        sha256="",
        tokenizer_sha256="",
        dimensions=dimensions,
        document_prefix="search_document: ",
        query_prefix="search_query: ",
        pooling="mean",
        tokens_beside="",
        layer_norm=True,
        max_tokens=max_tokens,
    )


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nomic_graph.write(tmp_path_factory.mktemp("graph") / "model.onnx", SHAPE)


def tiny(graph: Path, dimensions: int = 768, max_tokens: int = 64, **changes: Any) -> OnnxEmbedder:
    how = {"batch_invariant": True, "optimise": True, "unrelated_cosine": 0.4, **changes}
    return OnnxEmbedder(graph, TOKENIZER, identity(dimensions, max_tokens), **how)


@pytest.fixture(scope="module")
def embedder(graph: Path) -> OnnxEmbedder:
    return tiny(graph)


def by_hand(
    text: str, dimensions: int = 768, max_tokens: int = 64, shape: nomic_graph.Shape = SHAPE
) -> Floats:
    """What the text should get, by numpy alone; the prefix is part of the text."""
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    mean = nomic_graph.forward(tokenizer.encode(text).ids, shape).mean(axis=0)
    normed = (mean - mean.mean()) / np.sqrt(mean.var() + 1e-5)
    cut = normed[:dimensions]
    unit: Floats = cut / np.linalg.norm(cut)
    return unit


@pytest.mark.parametrize("dimensions", [768, 512, 256, 128, 64])
def test_the_pipeline_gives_what_numpy_gives(graph: Path, dimensions: int) -> None:
    model = tiny(graph, dimensions)
    query = model.embed_query("What is TSNE?")[0]
    document = model.embed_documents(["What is TSNE?"])[0]
    assert query == pytest.approx(by_hand("search_query: What is TSNE?", dimensions), abs=1e-5)
    assert document == pytest.approx(
        by_hand("search_document: What is TSNE?", dimensions), abs=1e-5
    )
    assert query @ document < 0.999  # the prefixes count


@given(texts=TEXTS)
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow])
def test_a_vector_does_not_depend_on_its_batch(embedder: OnnxEmbedder, texts: list[str]) -> None:
    vectors = embedder.embed_documents(texts)
    alone = [embedder.embed_documents([text])[0] for text in texts]
    assert vectors.shape == (len(texts), 768)
    for vector, expected in zip(vectors, alone, strict=True):
        assert vector == pytest.approx(expected, abs=1e-5)


class Spy(OnnxEmbedder):
    """Remembers how many texts and how much padding went into each run."""

    def _run(self, encodings: Sequence[Any]) -> tuple[list[Floats], NDArray[np.int64]]:
        self.seen = [*getattr(self, "seen", []), [len(encoding) for encoding in encodings]]
        return super()._run(encodings)


def test_weights_that_depend_on_their_batch_run_one_text_at_a_time(graph: Path) -> None:
    how = {"batch_invariant": False, "optimise": True, "unrelated_cosine": 0.0}
    spy = Spy(graph, TOKENIZER, identity(), **how)  # type: ignore[arg-type]
    spy.embed_documents(["one", "two words", "three words here"] * 3)
    assert [len(batch) for batch in spy.seen] == [1] * 9


def test_a_process_that_embeds_a_lot_has_its_graph_rewritten_and_the_same_vectors(
    graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, load = list[bool](), onnx._load_session

    def noted(path: Path, *, optimise: bool, **how: Any) -> Any:
        loaded.append(optimise)
        return load(path, optimise=optimise, **how)

    monkeypatch.setattr(onnx, "_load_session", noted)
    embedder = tiny(graph, optimise=False)
    vectors = [embedder.embed_documents(["the tide"])[0] for _ in range(onnx._RUNS_AS_IT_IS)]
    assert loaded == [False]
    vectors += [embedder.embed_documents(["the tide"])[0] for _ in range(onnx._RUNS_AS_IT_IS)]
    assert loaded == [False, True]
    assert np.abs(np.stack(vectors) - vectors[0]).max() < 1e-5


def test_states_are_those_of_inner_layers_and_the_last_and_vectors_stay(graph: Path) -> None:
    inner = [node.output[0] for node in onnx_format.load(graph).graph.node if node.op_type == "Add"]
    embedder, plain = tiny(graph, inner_states=inner[:1]), tiny(graph)
    before = embedder.embed_query("the tide")[0]
    states, places = embedder.states("the tide")
    last, same = plain.states("the tide")
    assert states.shape == (len(places), 2 * last.shape[1])
    assert places == same
    assert np.abs(states[:, last.shape[1] :] - last).max() < 1e-5
    assert np.abs(states[:, : last.shape[1]] - last).max() > 0.1
    assert np.abs(embedder.embed_query("the tide, again")[0] - before).max() > 0
    assert np.abs(embedder.embed_query("the tide")[0] - before).max() < 1e-5


def test_tokens_are_matched_by_a_middle_layer_beside_the_last(graph: Path) -> None:
    inner = [node.output[0] for node in onnx_format.load(graph).graph.node if node.op_type == "Add"]
    embedder = tiny(graph, inner_states=inner[:1])
    middle, last = np.split(embedder.states("the tide")[0], 2, axis=1)
    both = layer_norm(unit_rows(middle) + unit_rows(last))
    _, tokens = embedder.embed_query("the tide")
    assert tokens.vectors == pytest.approx(unit_rows(both), abs=1e-4)
    _, (signs,) = embedder.embed_documents_by_token(["the tide"])
    assert signs.signs.shape == (2, both.shape[1] // 8)


def test_weights_that_are_not_a_graph_are_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"not a graph at all")
    with pytest.raises(WeightsMissingError, match=r"model\.onnx"):
        tiny(path)


def test_a_tokenizer_that_is_gone_is_an_error_that_names_the_file(
    tmp_path: Path, graph: Path
) -> None:
    how = {"batch_invariant": True, "optimise": True, "unrelated_cosine": 0.0}
    with pytest.raises(WeightsMissingError, match=r"tokenizer\.json"):
        OnnxEmbedder(graph, tmp_path / "tokenizer.json", identity(), **how)  # type: ignore[arg-type]


# The real weights.

REFERENCE = json.loads(Path(__file__).with_name("minilm_reference.json").read_text())["texts"]


@pytest.fixture(scope="module")
def minilm(weights_folder: Path) -> Embedder:
    return embedders.open_embedder(weights_folder, catalog.load().entry("all-minilm-l6-v2"))


@pytest.mark.weights
@pytest.mark.parametrize("number", range(len(REFERENCE)))
def test_minilm_agrees_with_the_published_fp32_weights(minilm: Embedder, number: int) -> None:
    vector = minilm.embed_query(REFERENCE[number]["text"])[0]
    assert float(vector @ np.array(REFERENCE[number]["vector"])) > 0.99


GOLDEN = {
    "What is TSNE?": [-0.00518727907910943, 0.06514579057693481, -0.21559129655361176],
    "Who is Laurens van der Maaten?": [
        -0.008253306150436401,
        0.005108598619699478,
        -0.22179779410362244,
    ],
}


@pytest.mark.weights
@pytest.mark.parametrize("query", GOLDEN)
def test_nomic_agrees_with_its_published_values(weights_folder: Path, query: str) -> None:
    entry = catalog.load().entry("nomic-embed-text-v1.5")
    if store.find(weights_folder, entry) is None:
        pytest.skip("the fp32 weights of nomic-embed-text-v1.5 are not on this machine")
    vector = embedders.open_embedder(weights_folder, entry, dimensions=512).embed_query(query)[0]
    expected = np.array(GOLDEN[query], np.float32)
    # The published values are those before the scaling to length 1: compare directions.
    assert vector[:3] / vector[2] == pytest.approx(expected / expected[2], abs=1e-3)


def test_tokens_come_with_the_same_vectors_and_without_marks_prefix_or_punctuation(
    graph: Path,
) -> None:
    how = {"batch_invariant": True, "optimise": True, "unrelated_cosine": 0.0}
    embedder = OnnxEmbedder(graph, TOKENIZER, identity(), **how)  # type: ignore[arg-type]
    texts = ["Well, it rained!", "The lantern (the old one).", "..."]
    vectors, tokens = embedder.embed_documents_by_token(texts)
    assert (vectors == embedder.embed_documents(texts)).all()
    assert [len(each.pieces) for each in tokens] == [3, 5, 0]
    assert tokens[0].signs.shape == (3, embedder.identity.dimensions // 8)
    query = "Who, then, lit the lantern?"
    vector, asked = embedder.embed_query(query)
    assert (vector == embedder.embed_query(query)[0]).all()
    assert [query[slice(*span)] for span in asked.spans] == ["Who", "then", "lit", "the", "lantern"]
    assert np.linalg.norm(asked.vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_the_runtime_tells_nobody_that_it_runs(graph: Path, tmp_path: Path) -> None:
    code = (
        "from pathlib import Path; from bumble.models.embed import onnx;"
        f"onnx._load_session(Path({str(graph)!r}), optimise=False, threads=1, shown=())"
    )
    environ = {name: value for name, value in os.environ.items() if "ORT_" not in name}
    environ |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    subprocess.run([sys.executable, "-c", code], check=True, env=environ)
    assert [path.name for path in tmp_path.rglob("*") if "icrosoft" in str(path)] == []
