from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from bumble.errors import IndexUnusableError
from bumble.index.search import Factor, Hit, opened, search
from tests.support.hashing import HashingEmbedder

if TYPE_CHECKING:
    from tests.support.notes import Notes


@pytest.fixture
def filled(notes: Notes, embedder: HashingEmbedder) -> Notes:
    notes.episode("1", "We watched the tide with a lantern.", day=1, people=["sam"])
    notes.episode("2", "A private word about the tide.", day=2, people=["kim"], audience=["kim"])
    notes.episode("3", "An old tide, long asleep.", day=3, dormant=True)
    notes.session("a", [("sam", "The tide is high."), ("Ada", "Then we wait.")], day=4)
    notes.session("b", [("kim", "Which tide?"), ("Ada", "The spring tide.")], day=5)
    notes.write("knowledge.md", "## Tides\n\nThe moon makes them.\n")
    notes.sync(embedder)
    return notes


def ids(hits: list[Hit]) -> set[str]:
    return {hit.id for hit in hits}


def test_a_hit_says_where_it_stands_and_what_its_score_is_made_of(
    filled: Notes, embedder: HashingEmbedder
) -> None:
    filled.sync(embedder)
    hit = filled.search("lantern", embedder)[0]
    parts = hit.parts
    assert (hit.kind, hit.id, hit.path) == ("episode", "ep_1", "episodes/2026/05/ep_1.md")
    assert parts.matched == ("lantern",)
    assert parts.cosine is not None
    assert sum(parts.shares.values()) > 0
    assert hit.score == pytest.approx(parts.relevance * parts.factor, abs=1e-6)


def test_nobody_meets_what_another_was_told_in_private(
    filled: Notes, embedder: HashingEmbedder
) -> None:
    found = filled.search("private word about the tide", embedder, audience=("sam",))
    assert "ep_2" not in ids(found)
    assert all("kim" not in hit.audience for hit in found)
    assert "ep_2" in ids(filled.search("private word", embedder, audience=("kim",)))


def test_all_who_listen_must_be_allowed_to(filled: Notes) -> None:
    assert ids(filled.search("tide", audience=("kim", "sam"), kinds=("message", "episode"))) == {
        "ep_1"
    }


def test_of_the_running_session_only_what_is_unseen_is_found(filled: Notes) -> None:
    first, *_ = filled.search("tide", kinds=("message",), sessions=("ses_a",))
    found = filled.search("tide", kinds=("message",), not_session="ses_a", unseen=(first.id,))
    assert {hit.id for hit in found if hit.session == "ses_a"} == {first.id}
    assert {hit.session for hit in found} == {"ses_a", "ses_b"}


def test_a_factor_reorders_and_shows(filled: Notes, embedder: HashingEmbedder) -> None:
    with opened(filled.entity, filled.at) as index:
        plain = search(index, "tide", embedder)
        same = search(index, "tide", embedder, factor=Factor(lambda hit: 1.0, 1.0))
        kims = search(
            index,
            "tide",
            embedder,
            factor=Factor(lambda hit: 9.0 if "kim" in hit.people else 1.0, 9.0),
        )
    assert same == plain
    assert "kim" in kims[0].people
    assert kims[0].parts.factor == 9.0


def test_a_factor_is_asked_only_where_it_could_matter_and_changes_nothing_else(
    notes: Notes,
) -> None:
    for n in range(30):
        notes.episode(f"{n}", "tide " * (n % 7) + f"and lantern number {n}", day=n)
    notes.sync()
    lifts = {f"ep_{n}": 1 + (n % 5) / 10 for n in range(30)}
    asked: list[str] = []

    def lift(hit: Hit) -> float:
        asked.append(hit.id)
        return lifts[hit.id]

    with opened(notes.entity, notes.at) as index:
        few = search(index, "tide", None, limit=3, factor=Factor(lift, 1.4))
        count = len(asked)
        everything = search(index, "tide", None, limit=3, factor=Factor(lift, 1e9))
    assert few == everything
    assert count < (len(asked) - count) / 2


@pytest.mark.parametrize(
    "query", ["", "  ", "?!", '"', "a:b AND (", "x" * 5000, "\ud800", "🐝" * 99]
)
def test_no_query_is_an_error(filled: Notes, embedder: HashingEmbedder, query: str) -> None:
    everything = {hit.id for hit in filled.search("lantern tide lighthouse", limit=100)}
    for found in (filled.search(query, embedder), filled.search(query)):
        assert len({hit.id for hit in found}) == len(found)
        assert found == [] or query.strip()
    assert everything == {hit.id for hit in filled.search("lantern tide lighthouse", limit=100)}


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("昨日、東京タワーへ行った。", "東京タワー"),
        ("我昨天去了图书馆。", "图书馆"),
        ("Мы читали любимые книги.", "книга"),
        ("Look, a 🐝!", "🐝"),
        ("Nous étions au Café de Flore.", "cafe flore"),
    ],
)
def test_words_of_every_script_are_found(notes: Notes, text: str, query: str) -> None:
    notes.episode("1", text)
    notes.episode("2", "Something else entirely, of no interest.")
    notes.sync(None)
    assert ids(notes.search(query)) == {"ep_1"}


def test_all_words_are_there_whichever_languages_the_folder_has(
    notes: Notes, embedder: HashingEmbedder
) -> None:
    notes.episode("1", "# Garten\n\nDie Quitten haben wir im März gepflanzt, mit dem Nachbarn.")
    notes.episode("2", "We have given the bees to the neighbour, and the house is quiet now.")
    notes.sync(embedder)
    for how in (embedder, None):
        complete = {hit.id: hit.parts.complete for hit in notes.search("Garten Quitten", how)}
        assert complete["ep_1"]
        assert not any(hit.parts.complete for hit in notes.search("Garten bees", how))


def test_a_name_is_no_stem_of_another_language(notes: Notes, embedder: HashingEmbedder) -> None:
    notes.episode("1", "Paul has sold the old boat to his neighbour, as he said he would.")
    notes.episode("2", "Paula sold the old boat to her neighbour last night.")
    notes.episode("3", "Nous avons dormi dans le jardin, et il y avait de la pluie.")
    notes.sync(embedder)
    for how in (embedder, None):
        complete = {hit.id: hit.parts.complete for hit in notes.search("Paula", how)}
        assert complete["ep_2"]
        assert not complete.get("ep_1")


def test_vectors_of_another_model_are_refused_with_advice(filled: Notes) -> None:
    with pytest.raises(IndexUnusableError, match="bumble index --rebuild"):
        filled.search("tide", HashingEmbedder(32))


def test_a_thousand_turns_are_searched_beyond_the_candidates(
    notes: Notes, embedder: HashingEmbedder
) -> None:
    start = datetime(2026, 5, 1, tzinfo=UTC)
    notes.session("a", [("sam", f"Turn {n} about the sea.") for n in range(700)])
    notes.episode("1", "The sea, and a kestrel.", at=(start + timedelta(days=1)).isoformat())
    notes.sync(embedder)
    assert notes.search("kestrel sea", embedder)[0].id == "ep_1"
    assert ids(notes.search("sea", embedder, kinds=("episode",))) == {"ep_1"}


@pytest.mark.in_the_folder
def test_what_any_text_is_to_a_query_counts_as_nothing(
    notes: Notes, embedder: HashingEmbedder
) -> None:
    for n in range(40):
        notes.episode(f"{n}", f"lantern and harbour, again and again, number {n}", day=n)
    notes.episode("other", "A lantern of brass hung over the harbour of Vigo.", day=3)
    notes.sync(embedder)
    hits = notes.search("lantern of brass", embedder, limit=41)
    usual = {hit.parts.usual for hit in hits}
    cosines = sorted(hit.parts.cosine or 0.0 for hit in hits)
    assert len(usual) == 1
    assert cosines[10] < usual.pop() / (40 / 42) < cosines[-1]
    best, last = hits[0].parts, hits[-1].parts
    assert best.nearness is not None
    assert last.nearness is not None
    assert best.nearness > last.nearness
    # a folder that holds one text has nothing that is usual in it
    for path in notes.entity.episodes.glob("*/*/ep_[0-9]*.md"):
        path.unlink()
    notes.sync(embedder)
    [alone] = notes.search("lantern of brass", embedder)
    assert alone.parts.usual < (alone.parts.cosine or 0.0) / 2
    assert (alone.parts.nearness or 0.0) > 0.3
