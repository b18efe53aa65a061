from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest

from bumble.errors import WeightsMissingError
from bumble.models.embed import protocol
from bumble.models.weights import catalog, embedders, store
from bumble.models.weights.catalog import CatalogEntry


@pytest.fixture(scope="module")
def minilm() -> CatalogEntry:
    return catalog.load().entry("all-minilm-l6-v2")


def test_without_weights_opening_says_how_to_get_them(tmp_path: Path, minilm: CatalogEntry) -> None:
    with pytest.raises(WeightsMissingError, match="bumble model pull all-minilm-l6-v2"):
        embedders.open_embedder(tmp_path, minilm)


def test_fp32_and_int8_are_different_models_in_an_index() -> None:
    known = catalog.load()
    names = ("nomic-embed-text-v1.5", "nomic-embed-text-v1.5-int8")
    full, small = (embedders.identity(known.entry(name), 512) for name in names)
    assert full != small
    assert full.sha256 != small.sha256


@pytest.mark.weights
def test_a_pulled_embedder_knows_its_mean_cosine(
    weights_folder: Path, minilm: CatalogEntry
) -> None:
    found = store.require(weights_folder, minilm)
    opened = embedders.open_embedder(weights_folder, minilm)
    assert found.facts[embedders.UNRELATED] == {"384": opened.unrelated_cosine}
    vectors = opened.embed_documents(protocol.unrelated_sentences())
    assert opened.unrelated_cosine == pytest.approx(embedders.mean_cosine(vectors), abs=1e-4)


@pytest.mark.weights
def test_weights_are_unpacked_once_and_anew_where_what_was_kept_has_changed(
    weights_folder: Path, minilm: CatalogEntry, tmp_path: Path
) -> None:
    shutil.copytree(
        weights_folder / minilm.name,
        tmp_path / minilm.name,
        ignore=shutil.ignore_patterns(embedders.UNPACKED),
    )
    found = store.require(tmp_path, minilm)
    found = store.record(found, {embedders.UNPACKED: {}})
    packed = embedders._open(found, 384, 0.0, None).embed_query("the lantern at the harbour")[0]
    vectors = [
        embedders.open_embedder(tmp_path, minilm).embed_query("the lantern at the harbour")[0]
    ]
    constants = tmp_path / minilm.name / embedders.UNPACKED / "constants"
    before = constants.stat().st_ino
    embedders.open_embedder(tmp_path, minilm)
    assert constants.stat().st_ino == before
    constants.unlink()  # whoever has it mapped keeps it
    constants.write_bytes(b"cut off")
    vectors += [
        embedders.open_embedder(tmp_path, minilm).embed_query("the lantern at the harbour")[0]
    ]
    assert constants.stat().st_size > 1000
    assert np.abs(np.stack(vectors) - packed).max() < 1e-5
    assert {path.name for path in (tmp_path / minilm.name).iterdir()} == {
        *("manifest.json", "model.onnx", "tokenizer.json"),
        embedders.UNPACKED,
    }


@pytest.mark.weights
def test_the_identity_holds_the_hashes_of_the_files(
    weights_folder: Path, minilm: CatalogEntry
) -> None:
    opened = embedders.open_embedder(weights_folder, minilm)
    files = [weights_folder / minilm.name / name for name in ("model.onnx", "tokenizer.json")]
    hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
    assert [opened.identity.sha256, opened.identity.tokenizer_sha256] == hashes


@pytest.mark.weights
def test_related_texts_stand_well_above_unrelated_ones(
    weights_folder: Path, minilm: CatalogEntry
) -> None:
    opened = embedders.open_embedder(weights_folder, minilm)
    query = opened.embed_query("Where does the lighthouse keeper live?")[0]
    documents = opened.embed_documents(
        ["The keeper has a cottage beside the lighthouse.", "Interest is compounded daily."]
    )
    near, far = protocol.similarity(documents @ query, opened.unrelated_cosine)
    assert near > 0.5
    assert far < 0.2
    assert documents.dtype == np.float32
