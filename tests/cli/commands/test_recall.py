from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import looking
from tests.support.running import Ran, Run

TENSE = """\
bars:
  at: 2026-05-24T11:00:00+00:00
  social: {value: 50, rest: 50}
  curiosity: {value: 50, rest: 50}
  creative: {value: 40, rest: 40}
  tension: {value: 95, rest: 95}
  comfort: {value: 10, rest: 10}
hormones: {at: 2026-05-24T11:00:00+00:00, dopamine: 0.15, cortisol: 0.02, oxytocin: 0.2}
"""


@pytest.fixture
def ada(run: Run) -> Run:
    """Ada with two episodes, two conversations and a person."""
    looking.without_models(run)
    looking.episode(run, "tide", "Sam swam with the tide to the lighthouse.", people=["sam"])
    looking.episode(run, "rain", "It rained on the market all day.", people=["kim"])
    looking.session(run, "one", ("sam", "The lighthouse was closed."), ("", "What a pity!"))
    looking.session(
        run, "two", ("kim", "I painted a lighthouse."), ("", "In which colours?"), by="kim"
    )
    run.write("relationships/kim.md", "---\nnames: [Kim]\n---\n\nPaints.\n")
    return run


def paths(ran: Ran) -> set[str]:
    return {hit["path"] for hit in ran.data["hits"]}


def test_shows_text_score_kind_date_file_and_line(ada: Run) -> None:
    head, text = ada.ok("recall", "rained", "market").out.splitlines()[:2]
    assert head == " 1.  1.000  episode  2026-05-23 02:12  episodes/2026/05/ep_rain.md:7"
    assert text == "    It rained on the market all day."


def test_a_body_that_cant_be_read_stops_no_search(ada: Run) -> None:
    ada.write("soma.yaml", "bars: [oops\n")
    found = ada.ok("recall", "rained", "market")
    assert "It rained on the market all day." in found.out
    assert "searched in no mood" in found.err


def test_line_is_where_the_text_stands_in_the_file(ada: Run) -> None:
    hits = ada.ok("recall", "lighthouse", "--json").data["hits"]
    assert hits
    for hit in hits:
        assert hit["text"] in ada.text(hit["path"]).splitlines()[hit["line"] - 1]


def test_explain_shows_shares_that_add_up_to_the_score(ada: Run) -> None:
    shown = ada.ok("recall", "lighthouse", "--explain", "--limit", "1").out
    assert "| words    BM25 " in shown
    assert "lighthous" in shown
    for hit in ada.ok("recall", "closed lighthouse", "--json").data["hits"]:
        parts = hit["parts"]
        assert parts["relevance"] * parts["factor"] == pytest.approx(hit["score"], abs=1e-6)


def test_kinds_narrow_the_search(ada: Run) -> None:
    found = ada.ok("recall", "lighthouse", "--kind", "episode", "--kind", "person", "--json")
    assert {hit["kind"] for hit in found.data["hits"]} == {"episode"}


def test_who_asks_gets_what_they_may_hear_and_nothing_else(ada: Run) -> None:
    found = paths(ada.ok("recall", "lighthouse", "--as", "Kim", "--json"))
    assert "sessions/ses_two/messages.jsonl" in found
    assert "sessions/ses_one/messages.jsonl" not in found
    about = ada.ok("recall", "lighthouse", "--as", "Kim", "--person", "Sam", "--json")
    assert "sessions/ses_one/messages.jsonl" not in paths(about)


def test_what_others_said_in_private_stays_out_unless_all_is_asked_for(ada: Run) -> None:
    kims = "sessions/ses_two/messages.jsonl"
    assert kims not in paths(ada.ok("recall", "lighthouse", "--json"))
    assert kims not in paths(ada.ok("recall", "lighthouse", "--plain", "--json"))
    assert kims in paths(ada.ok("recall", "lighthouse", "--all", "--json"))
    assert kims in paths(ada.ok("recall", "lighthouse", "--plain", "--all", "--json"))


def test_a_belief_that_gave_way_stays_out_unless_the_bare_index_is_asked(ada: Run) -> None:
    head = "---\ncategory: preference\nformed: 2026-05-{}T00:00:00+00:00\nconfidence: {}\n"
    rest = "contradicts: [bel_{}]\n---\n\n{} the lighthouse.\n"
    ada.write("beliefs/bel_old.md", (head + rest).format("01", 0.5, "new", "Sam lives at"))
    ada.write("beliefs/bel_new.md", (head + rest).format("20", 0.9, "old", "Sam left"))
    held = paths(ada.ok("recall", "lighthouse", "--json"))
    assert "beliefs/bel_new.md" in held
    assert "beliefs/bel_old.md" not in held
    assert "beliefs/bel_old.md" in paths(ada.ok("recall", "lighthouse", "--plain", "--json"))


@pytest.mark.parametrize("given", ["ses_one", "one"])
def test_session_narrows_the_search_to_what_was_said_in_it(ada: Run, given: str) -> None:
    found = ada.ok("recall", "lighthouse", "--session", given, "--json")
    assert paths(found) == {"sessions/ses_one/messages.jsonl"}


def test_what_has_faded_stays_behind_what_answers_unless_it_is_wanted(ada: Run) -> None:
    looking.episode(ada, "pier", "A ring at the lighthouse.", dormant=True, faded=1.0)
    assert "ep_pier" not in str(ada.ok("recall", "lighthouse", "--json").data["hits"])
    assert "ep_pier" in str(ada.ok("recall", "lighthouse", "--plain", "--json").data["hits"])


@pytest.mark.parametrize("query", ["", "  ", "x" * 20_000])
def test_query_that_is_none_is_a_usage_error(ada: Run, query: str) -> None:
    assert ada("recall", query).code == 2


def test_nothing_found_is_said_on_standard_error(ada: Run) -> None:
    shown = ada.ok("recall", "zeppelin")
    assert shown.out == ""
    assert "Nothing found." in shown.err
    assert ada.ok("recall", "zeppelin", "--json").data["hits"] == []


def test_unreadable_file_is_a_warning_and_the_rest_is_found(ada: Run) -> None:
    looking.episode(ada, "bad", "lighthouse", at="soon")
    found = ada.ok("recall", "lighthouse", "--json")
    assert "episodes/2026/05/ep_tide.md" in paths(found)
    assert any("ep_bad.md:2: `at`" in warning for warning in found.json["warnings"])


def test_folder_that_cannot_be_written_is_searched_from_the_cache(ada: Run) -> None:
    ada.write(".bumble/index.lock/in-the-way", "")
    before = ada.state()
    found = ada.ok("recall", "lighthouse", "--json")
    assert "episodes/2026/05/ep_tide.md" in paths(found)
    assert "is kept in" in found.err
    assert ada.state() == before
    assert paths(ada.ok("recall", "lighthouse", "--json")) == paths(found)


def test_needs_none_of_the_libraries_of_models(ada: Run) -> None:
    program = (
        "import sys; from bumble.cli.app import main; main(['recall', 'lighthouse']);"
        "heavy = {'onnxruntime', 'openai', 'ollama', 'xllamacpp', 'huggingface_hub'};"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ada.entity.root,
        env={**os.environ, **ada.environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout[:4]) == (0, " 1. "), done.stderr


@pytest.mark.weights
def test_meaning_finds_what_shares_no_word(ada: Run, weights_folder: Path) -> None:
    ada.environ["BUMBLE_EMBEDDING_MODEL"] = "all-minilm-l6-v2"
    ada.environ["BUMBLE_WEIGHTS"] = str(weights_folder)
    found = ada.ok("recall", "bad weather", "-n", "5", "--json").data
    assert found["embedding"] == "all-minilm-l6-v2"
    best = found["hits"][0]
    assert best["path"] == "episodes/2026/05/ep_rain.md"
    assert best["parts"]["matched"] == []
    assert best["parts"]["calibrated"] > 0
    shown = ada.ok("recall", "bad weather", "--explain", "-n", "1").out
    assert f"cosine {best['parts']['cosine']:.3f}" in shown


@pytest.mark.weights
def test_what_has_nothing_to_do_with_the_question_is_not_shown(
    ada: Run, weights_folder: Path
) -> None:
    ada.environ["BUMBLE_EMBEDDING_MODEL"] = "all-minilm-l6-v2"
    ada.environ["BUMBLE_WEIGHTS"] = str(weights_folder)
    ran = ada.ok("recall", "quantum physics")
    assert (ran.out, ran.err.splitlines()[-1][:14]) == ("", "Nothing found.")
    assert ada.ok("recall", "quantum physics", "--plain").out
    assert ada.ok("recall", "bad weather", "--json").data["hits"][0]["id"] == "ep_rain"
    # what has the very words is shown, however far it is
    looking.episode(ada, "part", "The part for the stove has the number zx4711q, said the clerk.")
    assert paths(ada.ok("recall", "zx4711q", "--json")) == {"episodes/2026/05/ep_part.md"}


TALKS = {
    "en": (
        ("sam", "How are you today?"),
        ("", "I am well, thank you. And you?"),
        ("sam", "My dog is called Biscuit. He is afraid of the sea."),
        ("sam", "My sister moved to Lisbon in May."),
        ("sam", "I bake bread on Sundays."),
        ("sam", "Work was exhausting, we had three meetings."),
    ),
    "de": (
        ("sam", "Wie geht es dir heute?"),
        ("", "Mir geht es gut, danke. Und dir?"),
        ("sam", "Mein Hund heißt Biscuit. Er hat Angst vor dem Meer."),
        ("sam", "Meine Schwester ist im Mai nach Lissabon gezogen."),
        ("sam", "Sonntags backe ich Brot."),
        ("sam", "Die Arbeit war anstrengend, wir hatten drei Besprechungen."),
    ),
    "fr": (
        ("sam", "Comment vas-tu aujourd'hui ?"),
        ("", "Je vais bien, merci. Et toi ?"),
        ("sam", "Mon chien s'appelle Biscuit. Il a peur de la mer."),
        ("sam", "Ma sœur a déménagé à Lisbonne en mai."),
        ("sam", "Le dimanche je fais du pain."),
        ("sam", "Le travail était épuisant, nous avons eu trois réunions."),
    ),
}


@pytest.mark.weights
@pytest.mark.parametrize(
    ("language", "asked", "foreign"),
    [
        ("en", "How is my dog?", "quantum physics"),
        ("de", "Wie geht es meinem Hund?", "Quantenphysik"),
        ("fr", "Comment va mon chien ?", "physique quantique"),
    ],
)
def test_what_is_asked_about_comes_first_and_what_is_foreign_not_at_all(
    run: Run, weights_folder: Path, language: str, asked: str, foreign: str
) -> None:
    looking.without_models(run)
    run.environ["BUMBLE_EMBEDDING_MODEL"] = "all-minilm-l6-v2"
    run.environ["BUMBLE_WEIGHTS"] = str(weights_folder)
    looking.session(run, "talk", *TALKS[language])
    hits = run.ok("recall", asked, "--json").data["hits"]
    assert "Biscuit" in hits[0]["text"]
    assert run.ok("recall", foreign, "--json").data["hits"] == []
    if language == "en":  # MiniLM's own; a question of the same form is still like it
        assert {hit["text"] for hit in hits} <= {hits[0]["text"], "How are you today?"}


CHARGED = [{"emotion": "anxious", "intensity": 0.8, "trigger": "the storm"}]


@pytest.fixture
def stormy(run: Run) -> Run:
    """Ada with two episodes of one text: one left a feeling, the newer did not."""
    looking.without_models(run)
    at = "2026-05-24T13:00:00+01:00"
    looking.episode(run, "charged", "We sailed to the island.", at=at, imprints=CHARGED)
    looking.episode(run, "plain", "We sailed to the island.", at="2026-05-24T13:01:00+01:00")
    return run


def lift(run: Run, *options: str) -> float:
    """How much more the charged episode counts, of a plain relevance of 1."""
    hits = run.ok("recall", "sailed", "--json", *options).data["hits"]
    assert hits[0]["id"] == "ep_charged"
    return float(hits[0]["score"] / hits[1]["score"] - 1)


def test_what_left_a_feeling_comes_before_what_did_not(stormy: Run) -> None:
    assert lift(stormy) == pytest.approx(0.35 * 0.8 * 0.3, rel=0.01)


def test_it_shows_what_answers_and_with_a_limit_the_best_so_many(ada: Run) -> None:
    looking.episode(ada, "tin", "The tin with the buttons stands on the shelf in the pantry.")
    looking.episode(ada, "fair", "A shelf broke at the fair.")
    answered = ada.ok("recall", "the tin with the buttons on the shelf", "--json").data["hits"]
    assert [hit["id"] for hit in answered] == ["ep_tin"]
    listed = ada.ok(
        "recall", "the tin with the buttons on the shelf", "-n", "9", "--plain", "--json"
    )
    assert {"ep_tin", "ep_fair"} <= {hit["id"] for hit in listed.data["hits"]}


@pytest.mark.weights
def test_what_was_asked_before_neither_answers_nor_keeps_an_answer_away(ada: Run) -> None:
    asked = "Was the lighthouse closed, and who painted the lighthouse?"
    looking.session(ada, "three", ("sam", asked), ("", "No idea."))
    shown = ada.ok("recall", asked).out
    assert asked not in shown
    assert "The lighthouse was closed." in shown
    assert asked in ada.ok("recall", asked, "--limit", "9").out


def test_what_is_near_and_not_shown_is_counted(ada: Run, weights_folder: Path) -> None:
    ada.environ["BUMBLE_EMBEDDING_MODEL"] = "all-minilm-l6-v2"
    ada.environ["BUMBLE_WEIGHTS"] = str(weights_folder)
    for day, text in enumerate(("Priya has a new girlfriend.", "Priya likes jazz.", "Priya ran.")):
        looking.episode(ada, f"priya{day}", text)
    ran = ada.ok("recall", "Who is Priya's girlfriend?")
    assert "girlfriend" in ran.out
    assert " near; -n 20 shows " in ran.err
    assert ada.ok("recall", "Who is Priya's girlfriend?", "--json").data["more"] > 0
    assert "jazz" in ada.ok("recall", "Who is Priya's girlfriend?", "-n", "20").out


def test_a_question_with_a_period_finds_what_is_from_then(ada: Run) -> None:
    looking.episode(ada, "then", "The orchard was in bloom.", at="2025-04-12T10:00:00+02:00")
    looking.episode(ada, "now", "The orchard was picked bare.", at="2025-10-02T10:00:00+02:00")
    found = ada.ok("recall", "How was the orchard in April 2025?", "--json").data["hits"]
    assert found[0]["id"] == "ep_then"
    shown = ada.ok("recall", "How was the orchard in April 2025?", "--explain").out
    assert "what is from then counts more" in shown


def test_what_is_of_the_month_that_is_asked_for_comes_before_the_days_behind_it(ada: Run) -> None:
    looking.episode(ada, "a", "The orchard was bare.", at="2025-05-05T10:00:00+02:00")
    looking.episode(ada, "b", "The orchard was in bloom.", at="2025-04-12T10:00:00+02:00")
    looking.episode(ada, "c", "The orchard was mown.", at="2025-08-01T10:00:00+02:00")
    found = ada.ok("recall", "the orchard in April 2025", "-n", "3", "--json").data["hits"]
    assert [hit["id"] for hit in found] == ["ep_b", "ep_a", "ep_c"]


def test_explain_shows_what_each_imprint_adds(stormy: Run) -> None:
    stormy.write("soma.yaml", TENSE)
    shown = stormy.ok("recall", "sailed", "--explain", "--now", "2026-06-23T13:00:00+01:00").out
    assert shown.startswith("mood     ")
    assert "| felt     anxious 0.80 × (" in shown
    assert "× 0.500 = " in shown
    assert "(the storm)" in shown
    assert "| factor   1 + 0.35 × min(1.50, " in shown
    assert "30.0 days later" in shown
    hit = stormy.ok("recall", "sailed", "--json").data["hits"][0]
    (one,) = hit["parts"]["imprints"]
    assert one["share"] == pytest.approx(0.8 * (one["affinity"] - 1 + 0.3) * one["decay"])
    assert hit["parts"]["factor"] == pytest.approx(1 + 0.35 * one["share"])


def test_what_a_person_put_to_sleep_comes_only_when_it_is_wanted(ada: Run) -> None:
    looking.episode(ada, "pier", "Kim lost a ring at the pier.", dormant=True)
    assert ada.ok("recall", "ring pier", "--json").data["hits"] == []
    assert len(ada.ok("recall", "ring pier", "--plain", "--json").data["hits"]) == 1
