from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bumble.entity.changes import ChangeSet
from bumble.history import clone
from bumble.records import beliefs, journal, knowledge, soma
from tests.support import exports
from tests.support.repository import LISBON, dreamt, git, subjects, write
from tests.support.running import NOON, Run

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def ada(run: Run) -> Run:
    """Ada under git."""
    git(run.entity.root, "init", "-q", "-b", "main")
    clone.install_driver(run.entity.root)
    git(run.entity.root, "add", "-A")
    git(run.entity.root, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "start")
    return run


@pytest.fixture
def dreamer(ada: Run) -> Run:
    """Ada after a dream."""
    dreamt(ada)
    return ada


def test_undo_of_a_dream_restores_journal_belief_body_and_record(ada: Run) -> None:
    dreamt(ada)
    root = ada.entity.root
    born = git(root, "rev-parse", "HEAD~1")
    ran = ada.ok("undo", "--cycle", "dream")
    assert "gone: belief bel_1" in ran.out
    assert git(root, "diff", "--name-only", born, "HEAD") == "state.yaml"
    assert "what was dealt with is not done again" in ran.err
    assert subjects(root)[:2] == ["undo: dream: a sea of bees", "dream: a sea of bees"]
    assert git(root, "status", "--porcelain") == ""


def test_what_was_written_since_stays(dreamer: Run) -> None:
    dreamer.ok("journal", "add", "Later words.")
    there = soma.read(dreamer.entity.soma)
    moved = soma.plan_write(there, {"bars": {"social": {"value": 77.0}}}, "")
    assert moved is not None
    write(dreamer, ChangeSet("soma: moved", (moved,)))
    dreamer.ok("undo", "--cycle", "dream")
    entries = journal.read(dreamer.entity.journal, LISBON).entries
    assert [one.text for one in entries] == ["Later words."]
    left = soma.read(dreamer.entity.soma)
    assert left.get("bars", "social", "value") == 77.0
    assert [one["text"] for one in left.get("noise", "fragments")] == ["an old thought"]


def test_a_record_that_moved_on_is_refused_by_name_and_nothing_is_written(dreamer: Run) -> None:
    [belief] = beliefs.BELIEF.readable(dreamer.entity.beliefs)
    change = beliefs.plan_update(belief, "", confidence=0.5, at=NOON, evidence=("msg_1",))
    assert change is not None
    write(dreamer, ChangeSet("distill: more bees", (change,)))
    before = dreamer.state()
    ran = dreamer("undo", "--cycle", "dream")
    assert ran.code == 13
    assert "beliefs/bel_1.md" in ran.err
    assert {key: one for key, one in dreamer.state().items() if ".git/" not in key} == {
        key: one for key, one in before.items() if ".git/" not in key
    }
    dreamer.ok("undo", "--last")
    dreamer.ok("undo", "--last")
    assert not dreamer.file("beliefs/bel_1.md").exists()


def test_last_is_refused_where_somebody_was_forgotten_since(ada: Run) -> None:
    ada.ok("belief", "add", "The boat is red.")
    ada.ok("person", "add", "Zelda", "She bakes.")
    ada.ok("person", "forget", "Zelda", "--yes")
    ran = ada("undo", "--last")
    assert (ran.code, "brings back who was forgotten" in ran.err) == (13, True)
    assert not ada.file("relationships/zelda.md").exists()


def test_last_is_refused_where_a_hand_made_something_newer(dreamer: Run) -> None:
    dreamer.write("notes.txt", "mine")
    git(dreamer.entity.root, "add", "notes.txt")
    git(dreamer.entity.root, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "mine")
    for more in (["--dry-run"], []):
        refused = dreamer("undo", "--last", *more)
        assert (refused.code, "which bumble did not make" in refused.err) == (13, True)
    assert dreamer.file("dreams/drm_1.md").exists()


def test_last_passes_over_a_merge_and_says_so(dreamer: Run, tmp_path: Path) -> None:
    root, away = dreamer.entity.root, tmp_path / "away"
    git(tmp_path, "clone", "-q", str(root), str(away))
    dreamer.ok("-e", str(away), "knowledge", "set", "Tea", "green")
    dreamer.ok("knowledge", "set", "Home", "Lisbon")
    options = ("-q", "--no-rebase", "--no-edit", str(away), "main")
    git(root, "-c", "user.name=x", "-c", "user.email=x@x", "pull", *options)
    merge = git(root, "rev-parse", "--short=7", "HEAD").strip()
    refused = dreamer("undo", merge)
    assert (refused.code, "is a merge\n" in refused.err) == (13, True)
    assert f"({merge}): a merge" in dreamer.ok("undo", "--last", "--dry-run").err
    dreamer.ok("undo", "--last")
    assert len({"Tea", "Home"} & set(dreamer.text("knowledge.md").split())) == 1


def test_an_undo_can_be_undone(dreamer: Run) -> None:
    dreamer.ok("undo", "--last")
    dreamer.ok("undo", git(dreamer.entity.root, "rev-parse", "--short", "HEAD"))
    assert dreamer.file("dreams/drm_1.md").exists()
    shown = dreamer.ok("log", "--cycle", "dream", "--json").data
    assert [one["undone"] for one in shown] == [False]


def test_conversations_are_not_undone(ada: Run) -> None:
    script = ada.write("workspace/script.yaml", "- Hello Sam.\n")
    ada.ok("config", "set", "llm.model", f"script:{script}")
    ada.ok("chat", "I am Sam.")
    root = ada.entity.root
    assert subjects(root)[0] == "chat: Sam and Ada"
    chat = git(root, "rev-parse", "HEAD")
    ran = ada("undo", chat)
    assert ran.code == 13
    assert "conversations are not undone" in ran.err
    ada.ok("undo", chat, "--force")
    assert not ada.file("relationships/sam.md").exists()
    assert "I am Sam." in next(ada.entity.sessions.glob("*/messages.jsonl")).read_text()


def test_an_owners_commit_and_the_birth_are_refused(ada: Run) -> None:
    root = ada.entity.root
    assert ada("undo", "HEAD").code == 13
    ada.ok("knowledge", "set", "Pets", "A dog.")
    ada.write("knowledge.md", ada.text("knowledge.md").replace("A dog.", "A fox."))
    ada.ok("knowledge", "set", "Home", "Lisbon.")
    assert subjects(root)[1] == "by hand: knowledge.md"
    ada.ok("undo", "--last")
    facts = knowledge.read(ada.entity.knowledge)
    assert [(one.title, one.text) for one in facts.sections if not one.locked] == [
        ("Pets", "A fox.")
    ]


def test_a_reminder_that_was_undone_is_not_said_again(ada: Run) -> None:
    ada.ok("remind", "add", "Water the roses.", "--at", NOON.isoformat(), "--deliver", "journal")
    ada.ok("remind", "run")
    assert "Water the roses." in ada.text("journal.md")
    assert "not done again" in ada.ok("undo", "--cycle", "remind").err
    assert not ada.entity.journal.exists()
    ada.ok("remind", "run")
    assert not ada.entity.journal.exists()


@pytest.mark.parametrize("argv", [[], ["--last", "--cycle", "dream"], ["x", "--last"]])
def test_exactly_one_way_of_naming_it_is_taken(ada: Run, argv: list[str]) -> None:
    assert ada("undo", *argv).code == 2


def test_an_import_is_taken_back_as_long_as_nothing_came_of_it(ada: Run, tmp_path: Path) -> None:
    path = exports.as_json(tmp_path / "conversations.json", [exports.gpt_moving()])
    ada.ok("import", str(path))
    done = ada.ok("undo", "--last")
    assert "My landlord is called Rui." in done.out
    assert "lines more" not in done.out
    assert ada.ok("session", "list", "--json").data == []
    assert "Nothing is wrong" in ada.ok("doctor").out
    assert ada.ok("import", str(path), "--json").data["conversations"]["new"] == 1


def test_of_a_long_undo_the_first_lines_are_shown(ada: Run, tmp_path: Path) -> None:
    said = (exports.gpt_message(f"m{n}", "user", f"Line {n}.") for n in range(90))
    path = exports.as_json(tmp_path / "conversations.json", [exports.gpt_talk("long", *said)])
    ada.ok("import", str(path))
    shown = ada.ok("undo", "--last", "--dry-run").out.splitlines()
    assert "Line 3." in "\n".join(shown)
    assert shown[-1].endswith("30 lines more")


def test_an_import_goes_as_a_whole_though_something_was_noted_of_it(
    ada: Run, tmp_path: Path
) -> None:
    path = exports.as_json(tmp_path / "conversations.json", [exports.gpt_moving()])
    ada.ok("import", str(path))
    (talk,) = ada.entity.sessions.glob("*/messages.jsonl")
    with talk.open("a") as lines:
        lines.write('{"type": "distilled", "at": "2026-05-24T12:00:00Z"}\n')
    ada.ok("undo", "--last")
    assert not talk.exists()


def in_crlf(run: Run, name: str) -> bytes:
    """Save a file as an editor of Windows does, and commit it."""
    path = run.file(name)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    git(run.entity.root, "add", "-A")
    named = ("-c", "user.name=x", "-c", "user.email=x@x")
    git(run.entity.root, *named, "commit", "--allow-empty", "-qm", "mine")
    return path.read_bytes()


@pytest.mark.parametrize(
    ("name", "argv"),
    [
        ("journal.md", ["journal", "add", "Two."]),
        ("knowledge.md", ["knowledge", "set", "Tea", "Black."]),
        ("beliefs/bel_1.md", ["belief", "confirm", "bel_1"]),
        ("entity.yaml", ["config", "set", "memory.max_recall_results", "5"]),
    ],
)
def test_what_git_has_in_other_line_ends_is_taken_back(
    dreamer: Run, name: str, argv: list[str]
) -> None:
    dreamer.write("knowledge.md", "## Tea\n\nGreen.\n\n## Boat\n\nRed.\n")
    before = in_crlf(dreamer, name)
    dreamer.ok(*argv)
    dreamer.ok("undo", "--last")
    assert dreamer.file(name).read_bytes() == before
    assert git(dreamer.entity.root, "diff", "--name-only", "HEAD~2", "HEAD") == ""
    assert git(dreamer.entity.root, "status", "--porcelain") == ""


def test_in_other_line_ends_too_what_was_written_since_stays(ada: Run) -> None:
    ada.write("knowledge.md", "## Tea\n\nGreen.\n\n## Boat\n\nRed.\n")
    before = in_crlf(ada, "knowledge.md")
    ada.ok("knowledge", "set", "Tea", "Black.")
    edited = ada.file("knowledge.md").read_bytes().replace(b"Red.", b"Blue.")
    ada.file("knowledge.md").write_bytes(edited)
    ada.ok("undo", "--last")
    assert ada.file("knowledge.md").read_bytes() == before.replace(b"Red.", b"Blue.")


def test_a_page_made_by_hand_is_in_git_before_what_is_kept_of_it(ada: Run) -> None:
    ada.write("beliefs/fish.md", "---\nformed: 2026-05-20T10:00:00+01:00\n---\nFish is kind.\n")
    made = ada.file("beliefs/fish.md").read_bytes()
    ada.ok("belief", "confirm", "fish")
    assert subjects(ada.entity.root)[1] == "by hand: beliefs/fish.md"
    ada.ok("undo", "--last")
    assert ada.file("beliefs/fish.md").read_bytes() == made
    assert not ada.file("sources/beliefs/fish.yaml").exists()
    assert git(ada.entity.root, "status", "--porcelain") == ""


def test_a_page_that_git_did_not_have_is_left_as_it_is(ada: Run) -> None:
    ada.write("beliefs/fish.md", "---\nformed: 2026-05-20T10:00:00+01:00\n---\nFish is kind.\n")
    ada.write("sources/beliefs/fish.yaml", "confidence: 0.9\n")
    git(ada.entity.root, "add", "sources")
    named = ("-c", "user.name=x", "-c", "user.email=x@x")
    message = "belief confirm: fish\n\nCycle: belief confirm"
    git(ada.entity.root, *named, "commit", "-qm", message)
    ran = ada.ok("undo", "--last")
    assert "Nothing of" in ran.out
    assert "left as it is: beliefs/fish.md: git did not have it yet" in ran.err
