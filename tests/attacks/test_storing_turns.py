"""A turn that is finished can always be stored, whatever lies in its way by then."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bumble.chat.reply_writer import Turn
from bumble.entity import commits
from bumble.entity.folder import Entity
from bumble.llm.protocol import Completion, OnText, Request
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.records import session_files
from tests.support import turns
from tests.support.chatting import act, script
from tests.support.repository import git
from tests.support.running import Run
from tests.support.turns import Clock, runtime_of, say

LONG = "".join(f"{n} bees went out and {n - 1} came home\n" for n in range(1000))


class Meddling(ScriptedModel):
    """A model that something happens beside, just before its last answer."""

    def __init__(self, replies: Sequence[Reply], meddle: Callable[[], None]) -> None:
        super().__init__(replies)
        self.meddle, self.left = meddle, len(replies)

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        if request.purpose == "chat":
            self.left -= 1
            if self.left == 0:
                self.meddle()
        return super().complete(request, on_text)


def told(entity: Entity) -> list[str]:
    (file,) = session_files.paths(entity.sessions)
    return [one.text for one in session_files.load(file).messages if one.role == "assistant"]


def bees(entity: Entity) -> str:
    """Let the entity read a long file; return its name."""
    entity.file.write_text(entity.file.read_text() + "\ntools:\n  files: true\n")
    entity.workspace.joinpath("bees.txt").write_text(LONG)
    return "bees.txt"


def answered(entity: Entity, meddle: Callable[[], None], *replies: Reply) -> Turn:
    """Talk, while somebody meddles; nothing but the meddling may be missing afterwards."""
    done = turns.talk(runtime_of(entity, Meddling([*replies, say("Noted.")], meddle)), "Go on.")
    assert told(entity)[-1] == "Noted."
    return done


@pytest.mark.parametrize("how", ["read_file", "run_command", "expand"])
def test_the_same_long_result_twice_in_a_conversation(run: Run, how: str) -> None:
    run.write("workspace/bees.txt", LONG)
    calls = {
        "read_file": act("read_file", path="bees.txt"),
        "run_command": act("run_command", command=f"{shutil.which('cat')} bees.txt"),
        "expand": act("expand_message", ref=hashlib.sha256(LONG.encode()).hexdigest()[:12]),
    }
    run.ok("config", "set", "--user", "tools.run_command", "true")
    run.ok("config", "set", "tools.files", "true")
    run.ok("config", "trust", str(run.entity.root))
    first = calls["run_command" if how == "run_command" else "read_file"]
    for n, call in enumerate((first, calls[how], calls[how]), 1):
        script(run, call, act("say", text=f"Answer {n}."))
        ran = run("chat", "What do the bees do?", "--json")
        assert (ran.code, ran.data["reply"]) == (0, f"Answer {n}."), ran.err
        assert [step["failed"] for step in ran.data["steps"]] == [[], []]
    assert told(run.entity)[1::2] == ["Answer 1.", "Answer 2.", "Answer 3."]
    assert len(list(run.file("sessions").glob("*/blobs/*"))) == 1


def test_an_original_whose_bytes_were_changed_is_put_right(ada: Entity) -> None:
    clock = Clock()
    replies = [turns.act("read_file", path=bees(ada)), say("Many.")]
    turns.talk(runtime_of(ada, ScriptedModel(replies), clock), "How many bees?")
    (blob,) = ada.sessions.glob("*/blobs/*")
    blob.write_text("none")
    turns.talk(runtime_of(ada, ScriptedModel(replies), clock), "And now?")
    assert told(ada)[-1] == "Many."
    assert hashlib.sha256(blob.read_bytes()).hexdigest() == blob.name


def test_a_folder_in_the_place_of_an_original_costs_the_original_only(ada: Entity) -> None:
    name = bees(ada)

    def meddle() -> None:
        (session,) = ada.sessions.glob("ses_*")
        (session / "blobs").write_text("in the way")

    wrote = turns.act("update_knowledge", title="Bees", body="There are a thousand.")
    done = answered(ada, meddle, wrote, turns.act("read_file", path=name))
    assert any("not written" in note for note in done.notes)
    assert "There are a thousand." in ada.knowledge.read_text()


def test_a_file_that_keeps_changing_takes_nothing_else_with_it(
    ada: Entity, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = commits.apply

    # somebody saves in their editor each time just before the write
    def saving(root: Path, change_set: object, *args: object, **more: object) -> object:
        if "There are a thousand." in str(change_set):
            with ada.knowledge.open("a") as file:
                file.write("\nBy hand.\n")
        return real(root, change_set, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(commits, "apply", saving)
    journal = turns.act("write_journal", text="I counted bees.")
    wrote = turns.act("update_knowledge", title="Bees", body="There are a thousand.")
    done = answered(ada, lambda: None, wrote, journal)
    assert "I counted bees." in ada.journal.read_text()
    assert "There are a thousand." not in ada.knowledge.read_text()
    assert any("knowledge.md" in note for note in done.notes)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_merge_that_began_during_the_turn(run: Run) -> None:
    root = run.entity.root
    for name in ("AUTHOR", "COMMITTER"):
        run.monkeypatch.setenv(f"GIT_{name}_NAME", "Sam")
        run.monkeypatch.setenv(f"GIT_{name}_EMAIL", "sam@example.org")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "born")
    runtime = runtime_of(run.entity, ScriptedModel([say("Hello.")]))
    turns.talk(runtime, "Hi.")

    def meddle() -> None:
        base = git(root, "hash-object", "-w", "knowledge.md").strip()
        lines = "".join(f"100644 {base} {n}\tknowledge.md\n" for n in (1, 2, 3))
        gone = f"0 {'0' * 40}\tknowledge.md\n"
        given(root, gone + lines)
        head = git(root, "rev-parse", "HEAD").strip()
        (root / ".git" / "MERGE_HEAD").write_text(f"{head}\n")

    journal = turns.act("write_journal", text="I counted bees.")
    wrote = turns.act("update_knowledge", title="Bees", body="There are a thousand.")
    done = answered(run.entity, meddle, wrote, journal)
    assert "I counted bees." in run.entity.journal.read_text()
    assert any("a merge is open" in note for note in done.notes)


def given(root: Path, index: str) -> None:
    """Give git an index with the sides of a merge."""
    subprocess.run(
        ["git", "update-index", "--index-info"], cwd=root, input=index, text=True, check=True
    )
