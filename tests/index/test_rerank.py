from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest

from bumble.index import place, rerank
from bumble.index.rerank import Lengths, RerankTurn
from bumble.index.search import Hit, opened, search
from bumble.index.sqlite import open_to_read
from tests.support.hashing import HashingEmbedder

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.notes import Notes

TALK = [
    ("sam", "What did the doctor say of the lantern?"),
    ("Ada", "Green."),
    ("sam", "I painted the lantern with my brother last week."),
    ("Ada", "The harbour was quiet."),
    ("sam", "How about the tide?"),
]


@pytest.fixture
def filled(notes: Notes, embedder: HashingEmbedder) -> Notes:
    notes.session("a", TALK, day=1)
    notes.session("b", [("kim", "The tide is high."), ("Ada", "Then we wait.")], day=2)
    notes.episode("1", "We watched the tide with a lantern.", day=3, people=["kim"])
    for n in range(20):
        notes.episode(f"n{n}", f"Number {n} lies in a drawer.", day=4)
    notes.sync(embedder)
    return notes


def shares(notes: Notes, query: str, id_: str) -> dict[str, float]:
    found = notes.search(query, HashingEmbedder(64), limit=50)
    (hit,) = [hit for hit in found if hit.id == id_]
    return dict(hit.parts.shares)


def counted(database: Path) -> list[tuple[int, int]]:
    with closing(open_to_read(database)) as db:
        return [(a, b) for a, b in db.rows("select * from pieces where texts order by piece")]


def test_form_and_speaker_count_and_are_shown(filled: Notes) -> None:
    painted = shares(filled, "When did Sam paint it?", "msg_a2")
    assert painted["own"] > 0
    assert painted["named"] > 0
    assert shares(filled, "the tide", "msg_a4")["asks"] == pytest.approx(-0.1)
    assert shares(filled, "Was Kim there?", "ep_1")["named"] > 0


def test_i_in_a_query_is_whoever_asks(filled: Notes, embedder: HashingEmbedder) -> None:
    with opened(filled.entity, filled.at) as index:
        anybody = search(index, "What did I say of the tide?", embedder)
        kims = search(index, "What did I say of the tide?", embedder, asker="Kim")

    def named(hits: list[Hit]) -> set[str]:
        return {hit.speaker for hit in hits if hit.parts.shares["named"] and hit.kind == "message"}

    assert named(anybody) == {"Sam", "Kim"}
    assert named(kims) == {"Kim"}


def test_who_names_nobody_asks_for_their_own(filled: Notes, embedder: HashingEmbedder) -> None:
    with opened(filled.entity, filled.at) as index:
        hits = search(index, "the lantern and the tide", embedder, asker="Kim", limit=50)
        about_sam = search(index, "Sam and the tide", embedder, asker="Kim", limit=50)

    def whose(hits: list[Hit]) -> set[tuple[str, ...]]:
        return {
            (hit.speaker,) if hit.kind == "message" else hit.people
            for hit in hits
            if hit.parts.shares["named"]
        }

    assert whose(hits) == {("Kim",), ("kim",)}
    assert all("sam" in " ".join(people).lower() for people in whose(about_sam))


def test_the_shares_add_up_to_the_order(filled: Notes, embedder: HashingEmbedder) -> None:
    hits = filled.search("the lantern and the tide", embedder, limit=30)
    sums = [sum(hit.parts.shares.values()) for hit in hits]
    assert sums == sorted(sums, reverse=True)
    assert [hit.score for hit in hits] == [round(hit.parts.relevance, 6) for hit in hits]


@pytest.mark.in_the_folder
def test_pieces_are_counted_as_a_new_index_would_count_them(
    filled: Notes, embedder: HashingEmbedder
) -> None:
    filled.session("a", [*TALK[:2], ("sam", "I sold the lantern.")], day=1)
    filled.episode("n3", "Another thing.", day=4)
    (filled.root / "episodes/2026/05/ep_n4.md").unlink()
    filled.sync(embedder)
    at = place.of(filled.entity).database
    grown, ranking = counted(at), filled.ranking("lantern", embedder)
    filled.sync(embedder, rebuild=True)
    assert grown == counted(at)
    assert ranking == filled.ranking("lantern", embedder)


def test_of_many_chunks_the_best_are_found_as_if_all_were_ranked(
    filled: Notes, embedder: HashingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "what did the doctor say of the lantern"
    everything = filled.search(query, embedder, limit=4)
    monkeypatch.setattr(rerank, "FEW", 0)
    assert [hit.id for hit in filled.search(query, embedder, limit=4)] == [
        hit.id for hit in everything
    ]


def test_what_says_little_is_near_to_nothing(filled: Notes, embedder: HashingEmbedder) -> None:
    def nearest(query: str) -> float:
        hits = filled.search(query, embedder)
        return max(hit.parts.nearness or 0.0 for hit in hits)

    assert nearest("what did the doctor say of the lantern?") > 0.3
    assert nearest("so, how are you?") < 0.3


def test_what_asks_is_no_answer_and_says_nothing_of_the_turns_around_it(
    notes: Notes, embedder: HashingEmbedder
) -> None:
    asked = "when are the twins of Philippa due"
    notes.session("a", [("sam", "Philippa expects twins soon."), ("Ada", "I see.")], day=1)
    talk = [("sam", "The boiler is mended."), ("Ada", "Good."), ("sam", asked)]
    notes.session("b", talk, day=2)
    notes.sync(embedder)

    def scores(asking: RerankTurn | None) -> dict[str, float]:
        with opened(notes.entity, notes.at) as index:
            hits = search(index, asked, embedder, asking=asking)
        return {hit.id: sum(hit.parts.shares.values()) for hit in hits}

    without, there = scores(None), scores(RerankTurn("sessions/ses_b/messages.jsonl", 2))
    assert max(without, key=without.__getitem__) == "msg_b2"
    assert "msg_b2" not in there
    assert there["msg_b0"] < without["msg_b0"]
    assert max(there, key=there.__getitem__) == "msg_a0"


LENGTHS = Lengths(100, {"message": 10.0})


def bm25(own: str, around: str = "", query: str = "tide lamp", **counts: int) -> float:
    asked = Counter(query.split())
    frequency = rerank.frequencies(asked, [own])
    frequency += rerank.AROUND_WEIGHT * rerank.frequencies(asked, [around])
    relative = LENGTHS.relative("message", len(own.split()), len(around.split()))
    stands_in = {"tide": 3, "lamp": 3} | counts
    (score,) = rerank.bm25(asked, frequency, np.array([relative]), stands_in, LENGTHS.chunks)
    return float(score)


def test_a_term_in_the_turn_counts_more_than_one_in_the_turns_before() -> None:
    assert bm25("tide x", "y z") > bm25("x y", "tide z") > 0


def test_what_a_message_says_again_counts_more_but_not_twice() -> None:
    tide, lamp = bm25("tide x"), bm25("lamp x")
    assert tide == lamp
    assert lamp < bm25("lamp x", query="tide lamp lamp") < 2 * lamp


def test_a_term_that_stands_everywhere_never_counts_against_a_chunk() -> None:
    assert bm25("tide", tide=100, query="tide") > 0


def test_scores_that_are_all_alike_scale_to_one_if_anything_was_found() -> None:
    assert rerank.scaled([3.0, 3.0]) == [1.0, 1.0]
    assert rerank.scaled([0.0, 0.0]) == [0.0, 0.0]
