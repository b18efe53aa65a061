from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bumble.entity.folder import Entity
from bumble.jobs import dream
from tests.support.nights import NIGHT, ON, TEXTS, WROTE, dreamer, newborn, remember, runtime_of


@pytest.fixture
def ada(tmp_path: Path) -> Entity:
    return dreamer(tmp_path)


@pytest.mark.parametrize(
    "origin", [{"by": "dream"}, {"sources": ("drm_01",)}, {"trust": "tool"}, {"trust": "imported"}]
)
def test_dreams_and_what_others_wrote_are_not_dreamt_of(
    tmp_path: Path, origin: dict[str, Any]
) -> None:
    entity = newborn(tmp_path / "ada")
    for n in range(4):
        remember(entity, n, TEXTS[n], 9 - 2 * n, **origin)
    remember(entity, 7, "Mine.", 20)
    assert dream.find(runtime_of(entity), NIGHT).pairs == ()


def test_without_an_embedder_time_alone_decides_and_it_is_said(ada: Entity) -> None:
    runtime = runtime_of(ada, [WROTE], overrides=ON, embeds=False)
    outcome = dream.run(runtime, dream.check(runtime).jobs[0])
    assert outcome.data["similarity"] == "none"
    assert any("only time decided" in line for line in outcome.lines)
    assert outcome.data["eligible_pairs"] == 15


def test_memories_that_say_the_same_do_not_meet(tmp_path: Path) -> None:
    entity = newborn(tmp_path / "ada")
    for n in range(3):
        remember(entity, n, "We planted tomatoes behind the shed and watered them.", 9 - 2 * n)
    assert dream.find(runtime_of(entity), NIGHT).pairs == ()


# force, crashes, rivals
