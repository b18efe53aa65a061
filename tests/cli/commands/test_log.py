from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from bumble.history import clone
from tests.support.repository import dreamt, git, subjects
from tests.support.running import Run

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def ada(run: Run) -> Run:
    """Ada under git, after a dream and a fact."""
    root = run.entity.root
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "Sam")
    git(root, "config", "user.email", "sam@example.org")
    clone.install_driver(root)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "start")
    dreamt(run)
    run.ok("knowledge", "set", "Pets", "A dog.")
    return run


def test_log_tells_what_kind_of_memories_each_change_holds(ada: Run) -> None:
    lines = ada.ok("log").out.splitlines()
    assert 'knowledge set: learn "Pets" (knowledge)' in lines[0]
    assert (
        "dream: a sea of bees (journal, body, bookkeeping, 1 belief, 1 dream; script)" in lines[1]
    )
    assert len(lines) == 4


def test_log_can_be_narrowed_to_a_cycle_a_record_a_file_and_a_number(ada: Run) -> None:
    def titles(*argv: str) -> list[str]:
        return [one["title"] for one in ada.ok("log", "--json", *argv).data]

    assert titles("--cycle", "dream") == ["dream: a sea of bees"]
    assert titles("drm_1") == titles("bel_1") == ["dream: a sea of bees"]
    assert titles("soma.yaml") == ["dream: a sea of bees", "soma: be born"]
    assert titles("-n", "1") == ['knowledge set: learn "Pets"']
    ada.ok("person", "add", "Bo")
    assert len(titles("Bo")) == 1
    assert ada("log", "nosuch").code == ada("diff", "nosuch").code == 1
    nothing = ada.ok("log", "nosuch", "--cycle", "dream")
    assert (nothing.out, nothing.err) == ("", "Nothing in the history fits.\n")


def test_diff_speaks_in_memories(ada: Run) -> None:
    shown = ada.ok("diff", "drm_1").out
    assert "new dream drm_1" in shown
    assert "new belief bel_1 (dream_insight, 0.35)\n    Bees are kind" in shown
    assert "journal 2026-05-24 12:00 #dream\n    I dreamt of bees." in shown
    assert "body: social 50 -> 52\n" in shown
    assert "on its mind: a sea of bees" in shown
    assert "bookkeeping" in shown


def test_a_record_whose_file_was_named_anew_did_not_go(ada: Run) -> None:
    named = "beliefs/{}bel_01M8GFTJA0TCVDGHQRQJC3G22K.md"
    ada.write(named.format("kind-"), "---\ncategory: preference\n---\n\nBees are kind.\n")
    git(ada.entity.root, "add", "-A")
    git(ada.entity.root, "commit", "-qm", "believe it")
    ada.file(named.format("kind-")).unlink()
    ada.write(named.format(""), "---\ncategory: preference\n---\n\nBees are mild.\n")
    git(ada.entity.root, "add", "-A")
    for argv in ((), ("last",)):
        shown = ada.ok("diff", *argv).out
        assert "mild" in shown
        assert "gone" not in shown and "new belief" not in shown
        git(ada.entity.root, "commit", "-qm", "name it", "--allow-empty")


def test_diff_without_a_name_shows_what_is_not_committed(ada: Run) -> None:
    assert "Nothing has changed" in ada.ok("diff").err
    ada.write("knowledge.md", ada.text("knowledge.md").replace("A dog.", "A fox."))
    ada.write("notes/x.txt", "mine\n")
    shown = ada.ok("diff").out
    assert '  knowledge "Pets"\n  - A dog.\n  + A fox.' in shown
    assert "notes/x.txt:" in shown
    assert "+mine" in shown


def test_diff_of_a_file_that_became_a_folder_says_that_it_is_gone(ada: Run) -> None:
    ada.entity.knowledge.unlink()
    ada.entity.knowledge.mkdir()
    assert 'gone: knowledge "Pets"' in ada.ok("diff").out


def test_two_clones_live_apart_and_merge_by_meaning(ada: Run, tmp_path: Path) -> None:
    root, other = ada.entity.root, tmp_path / "clone"
    (tmp_path / "script.yaml").write_text("- Hello Sam.\n")
    ada.environ["BUMBLE_LLM_MODEL"] = f"script:{tmp_path / 'script.yaml'}"
    git(tmp_path, "clone", "-q", str(root), str(other))
    git(other, "config", "user.name", "Sam")
    git(other, "config", "user.email", "sam@example.org")
    found = ada("doctor", "--json", "-e", str(other)).data["findings"]
    assert "git-driver" in [one["code"] for one in found]
    ada("doctor", "--fix", "-e", str(other))
    assert "git-merge" in git(other, "config", "merge.bumble.driver")
    for folder, word in ((root, "tea"), (other, "rain")):
        at = ["-e", str(folder)]
        ada.ok("chat", f"I like {word}.", "--new", *at)
        ada.ok("journal", "add", f"We spoke of {word}.\n\nIt rained.", *at)
        ada.ok("knowledge", "set", word.title(), f"Sam likes {word}.", *at)
        assert git(folder, "status", "--porcelain") == ""
    git(root, "pull", "-q", "--no-rebase", "--no-edit", str(other), "main")
    assert git(root, "status", "--porcelain") == ""
    diary = ada.text("journal.md")
    assert "We spoke of tea.\n\nIt rained." in diary
    assert "We spoke of rain.\n\nIt rained." in diary
    assert "interaction_count: 2" in ada.text("sources/relationships/sam.yaml")
    facts = ada.text("knowledge.md")
    assert "Sam likes tea." in facts
    assert "Sam likes rain." in facts
    assert ada.text("state.yaml").count(": msg_") == 2
    problems = [
        one for one in ada("doctor", "--json").data["findings"] if one["level"] == "problem"
    ]
    assert problems == []
    assert subjects(root)[0].startswith("Merge")
    ada.ok("log")


def test_a_real_clash_leaves_markers_and_doctor_names_them(ada: Run, tmp_path: Path) -> None:
    root, other = ada.entity.root, tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(root), str(other))
    clone.install_driver(other)
    for folder, pet in ((root, "A fox."), (other, "A cow.")):
        ada.ok("knowledge", "set", "Pets", pet, "-e", str(folder))
    with pytest.raises(Exception, match="pull"):
        git(root, "pull", "-q", "--no-rebase", "--no-edit", str(other), "main")
    assert "<<<<<<< ours\nA fox.\n=======\nA cow.\n>>>>>>> theirs" in ada.text("knowledge.md")
    assert "conflict-marker" in ada("doctor").out
    ran = ada("knowledge", "set", "Home", "Lisbon.")
    assert ran.code == 12
    assert "the two sides of a merge stand here" in ran.err


def test_a_history_that_is_still_empty_begins_with_the_next_change(run: Run) -> None:
    git(run.entity.root, "init", "-q", "-b", "main")
    said = run("undo", "--last")
    assert (said.code, "It begins with the next change." in said.err) == (1, True)
    assert "git init" not in said.err


def test_why_names_the_commit_of_this_entry_though_the_diary_says_the_same_again(ada: Run) -> None:
    stamps = []
    for _ in range(3):
        ada.ok("journal", "add", "It rained all day (in Bergen).\n\nAll of it.")
        stamps.append(f"{ada.now:%Y-%m-%d %H:%M}")
    commits = [one["commit"] for one in ada.ok("log", "--json", "-n", "3").data][::-1]
    assert [ada.ok("why", at, "--json").data["written"]["commit"] for at in stamps] == commits
    (first, *_) = commits
    assert ada.ok("why", "It rained all day", "--json").data["written"]["commit"] == first


def test_why_leads_from_a_reminder_in_the_diary_to_the_reminder(ada: Run) -> None:
    made = ada.ok("remind", "add", "Hens", "--in", "1m", "--deliver", "journal", "--json").data
    ada.now += timedelta(minutes=5)
    ada.ok("remind", "run")
    told = ada.ok("why", f"{ada.now:%Y-%m-%d %H:%M}", "--json").data
    assert (told["by"], told["by_hand"], told["trust"]) == ("reminder", False, "owner")
    assert [one["id"] for one in told["rests_on"]] == [made["id"]]


def test_diff_of_sections_says_for_whom_they_are_and_shows_no_marks_of_theirs(ada: Run) -> None:
    book = ada.entity.root / "knowledge.md"
    begun = "## Tea\n\nOolong.\n\n## Bins [only for bo]\n<!--{by: distill}-->\n\nTuesday.\n"
    for text, told in (
        (begun, 'new knowledge "Bins"'),
        (begun.replace("{by: distill}", " {by: distill, from: [msg_1]} "), "rests on other words"),
        (begun.replace(" [only for bo]", ""), 'knowledge "Bins" is for everybody'),
        ("## Bins\n<!--{by: distill}-->\n\nTuesday.\n\n## Tea\n\nOolong.\n", "in another place"),
    ):
        book.write_text(text)
        shown = ada.ok("diff", "--all").out
        assert told in shown and "<!--" not in shown and "@@" not in shown
        git(ada.entity.root, "commit", "-qam", "by hand")
