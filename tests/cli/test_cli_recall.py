from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cli import looking
from tests.cli.looking import Folder


@pytest.fixture
def ada(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Folder:
    folder = looking.make(tmp_path, monkeypatch, capsys)
    folder.episode("tide", "Sam swam with the tide to the lighthouse.", people=["sam"])
    folder.episode("rain", "It rained on the market all day.", people=["kim"])
    folder.session("one", ("sam", "The lighthouse was closed."), ("", "What a pity!"))
    folder.session("two", ("kim", "I painted a lighthouse."), ("", "In which colours?"), by="kim")
    folder.write("relationships/kim.md", "---\nnames: [Kim]\n---\n\nPaints.\n")
    return folder


def paths(outcome: looking.Outcome) -> list[str]:
    return [hit["path"] for hit in outcome.data["hits"]]


def test_shows_text_score_kind_date_file_and_line(ada: Folder) -> None:
    shown = ada.run("recall", "rained", "market")
    assert shown.code == 0
    head, text = shown.out.splitlines()[:2]
    assert head == " 1.  1.000  episode  2026-05-24 02:12  episodes/2026/05/ep_rain.md:7"
    assert text == "    It rained on the market all day."


def test_line_is_where_the_text_stands_in_the_file(ada: Folder) -> None:
    for hit in ada.run("recall", "lighthouse", "--json").data["hits"]:
        line = (ada.root / hit["path"]).read_text().splitlines()[hit["line"] - 1]
        assert hit["text"] in line


def test_explain_shows_shares_that_add_up_to_the_score(ada: Folder) -> None:
    shown = ada.run("recall", "lighthouse", "--explain", "--limit", "1").out
    assert "| words    1.000 × 1.000 = 1.000   BM25 " in shown
    assert "lighthous" in shown
    assert "no vector" in shown
    for hit in ada.run("recall", "closed lighthouse", "--json").data["hits"]:
        parts = hit["parts"]
        words = parts["lexical_weight"] * parts["bm25_scaled"]
        meaning = parts["dense_weight"] * parts["cosine_scaled"]
        assert (words + meaning) * parts["factor"] == pytest.approx(hit["score"], abs=1e-6)


def test_kinds_narrow_the_search(ada: Folder) -> None:
    found = ada.run("recall", "lighthouse", "--kind", "episode", "--kind", "person", "--json")
    assert {hit["kind"] for hit in found.data["hits"]} == {"episode"}


def test_unknown_kind_is_a_usage_error_that_names_the_nearest(ada: Folder) -> None:
    refused = ada.run("recall", "lighthouse", "--kind", "episod")
    assert refused.code == 2
    assert 'Did you mean "episode"?' in refused.err


def test_person_narrows_the_search_by_any_name(ada: Folder) -> None:
    found = ada.run("recall", "lighthouse", "--person", "KIM", "--json")
    assert paths(found) == ["sessions/ses_two/messages.jsonl"]


def test_unknown_person_is_told_apart_from_nothing_found(ada: Folder) -> None:
    nobody = ada.run("recall", "lighthouse", "--person", "Kin")
    assert (nobody.code, nobody.out) == (0, "")
    assert 'Did you mean "Kim"?' in nobody.err


@pytest.mark.parametrize("given", ["ses_one", "one"])
def test_session_narrows_the_search_to_what_was_said_in_it(ada: Folder, given: str) -> None:
    found = ada.run("recall", "lighthouse", "--session", given, "--json")
    assert paths(found) == ["sessions/ses_one/messages.jsonl"]
    assert ada.run("recall", "x", "--session", "ses_three").code == 1


def test_limit_is_the_most_that_is_shown(ada: Folder) -> None:
    assert len(ada.run("recall", "lighthouse", "--json").data["hits"]) == 3
    assert len(ada.run("recall", "lighthouse", "-n", "1", "--json").data["hits"]) == 1


def test_query_may_come_from_standard_input(ada: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = SimpleNamespace(buffer=io.BytesIO(b"rained\n"), isatty=lambda: False)
    monkeypatch.setattr(sys, "stdin", typed)
    assert ada.run("recall", "-", "--json").data["query"] == "rained"


@pytest.mark.parametrize("query", ["", "  ", "x" * 20_000])
def test_query_that_is_none_is_a_usage_error(ada: Folder, query: str) -> None:
    assert ada.run("recall", query).code == 2


def test_nothing_found_is_said_on_standard_error(ada: Folder) -> None:
    shown = ada.run("recall", "zeppelin")
    assert (shown.code, shown.out) == (0, "")
    assert "Nothing found." in shown.err
    assert ada.run("recall", "zeppelin", "--json").data["hits"] == []


def test_entity_without_memories_says_how_to_begin(ada: Folder) -> None:
    for name in ("episodes", "sessions", "relationships"):
        shutil.rmtree(ada.root / name)
    (ada.root / "knowledge.md").unlink()
    assert "begin one with `bumble chat`" in ada.run("recall", "lighthouse").err


def test_searching_by_words_alone_is_said(ada: Folder) -> None:
    assert "By words alone" in ada.run("recall", "lighthouse").err
    missing = ada.run("recall", "lighthouse", BUMBLE_EMBEDDING_MODEL="auto")
    assert missing.code == 0
    assert "bumble model pull" in missing.err
    assert ada.run("recall", "lighthouse", "--json").data["embedding"] is None


def test_unreadable_file_is_a_warning_and_the_rest_is_found(ada: Folder) -> None:
    ada.write("episodes/2026/05/ep_bad.md", "---\nat: soon\nsignificance: 1\n---\n\nlighthouse\n")
    found = ada.run("recall", "lighthouse", "--json")
    assert found.code == 0
    assert len(found.data["hits"]) == 3
    assert any("ep_bad.md:2: `at`" in warning for warning in found.answer["warnings"])


def test_truth_files_stay_as_they_are(ada: Folder) -> None:
    before = ada.state(derived=False)
    ada.run("recall", "lighthouse")
    ada.run("recall", "lighthouse", "--explain", "--person", "Sam", "--session", "last")
    assert ada.state(derived=False) == before


def test_ranking_is_the_same_without_the_index(ada: Folder) -> None:
    before = ada.run("recall", "lighthouse", "--json").data
    (ada.root / "memory.db").unlink()
    shutil.rmtree(ada.root / ".bumble")
    assert ada.run("recall", "lighthouse", "--json").data == before


def test_change_by_hand_is_found_at_once(ada: Folder) -> None:
    ada.run("recall", "lighthouse")
    ada.episode("tide", "Sam flew in a zeppelin.")
    assert paths(ada.run("recall", "zeppelin", "--json")) == ["episodes/2026/05/ep_tide.md"]


def test_folder_that_cannot_be_written_is_searched_from_the_cache(ada: Folder) -> None:
    ada.write(".bumble/index.lock/in-the-way", "")
    before = ada.state(derived=True)
    found = ada.run("recall", "lighthouse", "--json")
    assert found.code == 0
    assert len(found.data["hits"]) == 3
    assert "is kept in" in found.err
    assert ada.state(derived=True) == before


def test_index_that_is_up_to_date_is_used_where_nothing_can_be_written(ada: Folder) -> None:
    for path in ada.root.rglob("*"):  # settled, so that no file has to be read again
        if path.is_file():
            os.utime(path, ns=(1, 1))
    time.sleep(2.1)  # the change time can't be set
    ada.run("index")
    (ada.root / ".bumble/index.lock").unlink()
    ada.write(".bumble/index.lock/in-the-way", "")
    found = ada.run("recall", "lighthouse", "--json")
    assert len(found.data["hits"]) == 3
    assert "is kept in" not in found.err


def test_needs_none_of_the_libraries_of_models(ada: Folder) -> None:
    program = (
        "import sys; from bumble.cli.app import main; main(['recall', 'lighthouse']);"
        "heavy = {'onnxruntime', 'openai', 'ollama', 'xllamacpp', 'huggingface_hub'};"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ada.root,
        env={**os.environ, **ada.environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout[:4]) == (0, " 1. "), done.stderr


@pytest.mark.weights
def test_meaning_finds_what_shares_no_word(ada: Folder, weights_folder: Path) -> None:
    found = ada.run(
        *("recall", "bad weather", "--json", "--explain"),
        BUMBLE_EMBEDDING_MODEL="all-minilm-l6-v2",
        BUMBLE_WEIGHTS=str(weights_folder),
    )
    assert found.data["embedding"] == "all-minilm-l6-v2"
    best = found.data["hits"][0]
    assert best["path"] == "episodes/2026/05/ep_rain.md"
    assert best["parts"]["calibrated"] > 0
    assert best["parts"]["matched"] == []
