from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bumble.choosing import answers, learning
from bumble.entity.folder import Entity
from bumble.llm.scripted import ScriptedModel
from bumble.runtime.runtime import Runtime
from bumble.weights import catalog
from tests.choosing.test_examples import SHIPPED, embedder
from tests.support.lives import Clock, runtime_of

TOLD = answers.load()


@pytest.fixture
def runtime(ada: Entity, tmp_path: Path) -> Runtime:
    made = runtime_of(ada, ScriptedModel([]), Clock())
    return replace(made, learned=tmp_path / "learned")


def test_everything_told_has_questions_and_stands_there_once() -> None:
    assert len({(each.said, each.language) for each in TOLD}) == len(TOLD) > 800
    assert all(each.said.strip() and len(each.asks) == 3 for each in TOLD)
    assert all(ask.strip() and ask != each.said for each in TOLD for ask in each.asks)
    assert set(Counter(each.language for each in TOLD)) == {"de", "en", "es", "fr", "it", "pt"}
