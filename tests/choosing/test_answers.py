from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from bumble.choosing import answers, learning
from bumble.entity.folder import Entity
from bumble.index.memory import Memory
from bumble.llm.scripted import ScriptedModel
from bumble.runtime.runtime import Runtime
from bumble.weights import catalog, embedders
from tests.support.turns import runtime_of
from tests.support.weighted import embedder

TOLD = answers.load()


@pytest.fixture
def runtime(ada: Entity, tmp_path: Path) -> Iterator[Runtime]:
    before = runtime_of(ada, ScriptedModel([]))
    memory = Memory(
        ada, embedder, name="Ada", zone=before.zone, config=before.config.recall, syncs=True
    )
    learning._HERE.clear()
    yield replace(before, memory=memory, learned=tmp_path / "learned")
    learning._HERE.clear()


def test_everything_told_has_questions_and_stands_there_once() -> None:
    assert len({(each.said, each.language) for each in TOLD}) == len(TOLD) > 800
    assert all(each.said.strip() and len(each.asks) == 3 for each in TOLD)
    assert all(ask.strip() and ask != each.said for each in TOLD for ask in each.asks)
    assert set(Counter(each.language for each in TOLD)) == {"de", "en", "es", "fr", "it", "pt"}


def test_what_was_learned_moves_a_question_and_nobody_waits_for_it(runtime: Runtime) -> None:
    told = next(each for each in TOLD if each.language == "en")
    texts = [each.said for each in TOLD if each.language == "en"][:12]
    plain = answers.nearness(runtime, told.asks[0], "en", texts)
    assert not list(runtime.learned.glob("*")) if runtime.learned else False
    answers.prepare(runtime)
    moved = answers.nearness(runtime, told.asks[0], "en", texts)
    assert plain is not None
    assert moved is not None
    assert np.argmax(moved) == texts.index(told.said)
    assert not np.allclose(plain, moved)


def test_a_machine_learns_once_and_an_english_embedder_from_english_alone(
    runtime: Runtime,
) -> None:
    embedder().texts = 0
    answers.prepare(runtime)
    everything = embedder().texts
    learning._HERE.clear()
    answers.prepare(runtime)  # read again
    assert (everything, embedder().texts) == (len(TOLD), len(TOLD))
    embedder().multilingual = False
    try:
        embedder().texts = 0
        answers.learn(embedder(), TOLD)
        assert embedder().texts == sum(each.language == "en" for each in TOLD)
        plain = np.asarray(embedder().embed_query("Wann denn?"))
        near = answers.nearness(runtime, "Wann denn?", "de", ["Um neun."])
        assert near == pytest.approx(embedder().embed_documents(["Um neun."]) @ plain, abs=1e-5)
    finally:
        embedder().multilingual = True


def test_without_an_embedder_or_texts_nothing_is_near(runtime: Runtime, ada: Entity) -> None:
    blind = Memory(ada, lambda: None, name="Ada", zone=runtime.zone, config=runtime.config.recall)
    assert answers.nearness(replace(runtime, memory=blind), "when?", "en", ["at nine"]) is None
    assert answers.nearness(runtime, "when?", "en", []) is None


@pytest.mark.weights
def test_with_real_weights_other_words_find_what_answers(weights_folder: Path) -> None:
    real = embedders.open_embedder(weights_folder, catalog.load().entry("all-minilm-l6-v2"))
    file = Path(str(learning.LEARNED / answers.LESSON.filename(real.identity)))
    with file.open("rb") as opened:
        known = answers.LESSON.read(opened)
    texts = [
        "the ferry to Arran goes at twenty to eight from berth two",
        "Morag takes warfarin, five milligrams at teatime",
        "spare key's under the third slate by the log pile",
    ]
    rows = real.embed_documents(texts)
    asked = ["by when must we be at the boat", "what thins her blood", "locked out, where is it"]
    nearest = [int(np.argmax(rows @ known.moved(real.embed_query(each)))) for each in asked]
    assert nearest == [0, 1, 2]
