from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bumble.body.soma import is_open
from bumble.entity.config import DreamsConfig
from bumble.entity.folder import Entity
from bumble.jobs import dream
from bumble.models.embed.protocol import Floats
from bumble.models.weights import catalog, embedders
from bumble.records import episodes, provenance
from bumble.records.base import Provenance
from tests.support.nights import NIGHT, ON, TEXTS, WROTE, dreamer, newborn, remember, runtime_of

START = datetime(2026, 5, 1, tzinfo=UTC)
RULES = DreamsConfig(min_time_gap_hours=24, max_similarity=0.35, band=())


def memory(
    name: str, day: float, significance: float = 0.5, audience: tuple[str, ...] = ("sam",)
) -> episodes.Episode:
    return episodes.new(
        name,
        START + timedelta(days=day),
        significance,
        "x",
        provenance=Provenance(audience=audience),
    )


def eligible_of(found: list[episodes.Episode], *given: Any) -> tuple[dream.Pair, ...]:
    return dream.eligible(dream.candidates(found), *given)


def vector(*numbers: float) -> Floats:
    made = np.array(numbers, np.float32)
    return made / np.float32(np.linalg.norm(made))


memories = st.lists(
    st.tuples(
        st.integers(0, 10), st.floats(0, 1), st.sampled_from([(), ("sam",), ("bo",), ("bo", "sam")])
    ),
    max_size=14,
).map(lambda rows: [memory(f"ep_{n}", *row) for n, row in enumerate(rows)])


@given(memories, st.integers(0, 99), st.booleans())
def test_every_pair_keeps_all_limits(
    found: list[episodes.Episode], seed: int, embedded: bool
) -> None:
    noise = np.random.default_rng(seed)
    vectors = {one.id: vector(*noise.normal(size=4)) for one in found} if embedded else None
    by_id = {one.id: one for one in found}
    eligible = eligible_of(found, RULES, vectors)
    chosen = dream.choose(eligible, (), 3, random.Random(seed))
    assert len(chosen) == len({pair.key for pair in chosen}) <= 3
    for pair in eligible:
        older, newer = (by_id[one] for one in pair.ids)
        assert newer.at - older.at >= timedelta(hours=24)
        assert min(older.significance, newer.significance) > 0.1
        circles = [older.audience, newer.audience]
        assert pair.audience == provenance.joined(circles)
        assert all(is_open(circle, pair.audience) for circle in circles)
        assert (pair.similarity is None) == (vectors is None)
        if vectors is not None:
            alike = float(vectors[older.id] @ vectors[newer.id])
            assert alike <= 0.35 + 1e-6
    closed = [pair.audience for pair in chosen if pair.audience]
    assert not closed or provenance.joined(closed)


def test_what_a_smaller_circle_may_meet_too_is_dreamt_for_that_circle() -> None:
    circles = [("sam",), ("mara", "sam"), ("bo",), ()]
    found = [memory(f"ep_{n}", 2 * n, audience=circle) for n, circle in enumerate(circles)]
    met = {pair.ids: pair.audience for pair in eligible_of(found, RULES, None)}
    assert met == {
        ("ep_0", "ep_1"): ("sam",),
        **{(f"ep_{n}", "ep_3"): circles[n] for n in range(3)},
    }


def test_nights_go_through_all_pairs_before_one_comes_again() -> None:
    eligible = eligible_of([memory(f"ep_{n}", 2 * n) for n in range(5)], RULES, None)
    assert len(eligible) == 10
    dreamt: set[dream.Key] = set()
    for night in range(3):
        tonight = dream.choose(eligible, dreamt, 3, random.Random(night))
        assert not dreamt & {pair.key for pair in tonight}
        dreamt |= {pair.key for pair in tonight}
    fourth = dream.choose(eligible, dreamt, 3, random.Random(4))
    assert len(fourth) == 3
    assert sum(pair.key not in dreamt for pair in fourth) == 1


def test_the_limit_lies_on_the_calibrated_scale() -> None:
    found = [memory("ep_a", 0), memory("ep_b", 3)]
    vectors = {"ep_a": vector(1, 0), "ep_b": vector(0.6, 0.8)}  # cosine .6

    assert eligible_of(found, RULES, vectors) == ()
    (pair,) = eligible_of(found, RULES, vectors, 0.5)
    assert pair.similarity is not None
    assert abs(pair.similarity - 0.2) < 1e-6


def test_a_band_takes_percentiles_of_the_memories_own_pairs() -> None:
    angles = [0.0, 0.1, 0.3, 0.6, 1.0, 1.5]
    found = [memory(f"ep_{n}", 2 * n) for n in range(6)]
    vectors = {f"ep_{n}": vector(np.cos(a), np.sin(a)) for n, a in enumerate(angles)}
    everything = eligible_of(found, replace(RULES, max_similarity=1.0), vectors)
    rules = replace(RULES, band=(0.8, 0.99))
    kept = eligible_of(found, rules, vectors)
    ranked = sorted((pair.similarity or 0) for pair in everything)
    assert 0 < len(kept) < len(everything)
    assert min(pair.similarity or 0 for pair in kept) >= ranked[int(0.8 * (len(ranked) - 1))]
    assert max(pair.similarity or 0 for pair in kept) < ranked[-1]


def test_thousands_of_memories_are_paired_by_the_most_significant() -> None:
    found = [memory(f"ep_{n:05}", n / 10, 0.2 + n / 10000) for n in range(3000)]
    eligible = eligible_of(found, RULES, None)
    names = {one for pair in eligible for one in pair.ids}
    assert names <= {f"ep_{n:05}" for n in range(2800, 3000)}


TOLD = [
    "Sam told me that Sam's dog Biscuit ate chocolate. Sam told me that the vet was calm.",
    "Sam told me that Sam plants lavender on the balcony. Sam told me that it smells of summer.",
    "Sam told me that Sam repairs an old theatre lamp. Sam told me that it flickers.",
    "Sam told me that Sam's dog Biscuit was at the vet. Sam told me that Biscuit is a calm dog.",
]


def test_what_most_tellings_share_sets_none_of_them_apart() -> None:
    apart = dream.distinct(TOLD, ["Sam", "Ada Byron"])
    assert apart[1] == "plants lavender on balcony. it smells of summer."
    assert all("told" not in one and "Sam" not in one for one in apart)
    assert dream.distinct(["Sam.", "Ada met Byron."], ["Sam", "Ada Byron"]) == [
        "Sam.",
        "met .",
    ]


@pytest.mark.weights
def test_with_real_embeddings_tellings_of_different_things_may_meet(weights_folder: Path) -> None:
    embedder = embedders.open_embedder(weights_folder, catalog.load().entry("all-minilm-l6-v2"))

    def met(texts: list[str]) -> set[tuple[str, str]]:
        rows = embedder.embed_documents(texts)
        told = [memory(f"ep_{n}", 2 * n) for n in range(len(texts))]
        vectors = {one.id: row for one, row in zip(told, rows, strict=True)}

        pairs = eligible_of(told, RULES, vectors, embedder.unrelated_cosine)
        return {pair.ids for pair in pairs}

    unlike = {("ep_0", "ep_1"), ("ep_1", "ep_2"), ("ep_0", "ep_2"), ("ep_1", "ep_3")}
    assert not unlike <= met(TOLD)  # all are told alike
    apart = met(dream.distinct(TOLD, ["Sam"]))
    assert ("ep_0", "ep_3") not in apart  # the same dog at the same vet
    assert unlike <= apart


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
