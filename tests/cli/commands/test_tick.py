from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import pytest

from bumble.cli import registry
from bumble.cli.app import main
from bumble.cli.models import chat_model
from bumble.cli.process import Shell
from bumble.errors import BudgetSpentError
from bumble.runtime import locks
from tests.support import forked
from tests.support.repository import begun, git, subjects
from tests.support.running import Run
from tests.support.small import WAITING, small

SCRIPT = """\
- Hello Sam.
- Fine.
- {purpose: automation, text: A calm day., always: true}
- {purpose: a, text: Yes., always: true}
"""
posix = pytest.mark.skipif(os.name == "nt", reason="needs signals")
# a process whose passes are the small ones; its pass "a" takes a minute, as a native call may
SLOW = """\
import sys, time
from bumble.cli.app import main
from bumble.cli import registry
from tests.support.small import small
def slow(word):
    print("begun", flush=True)
    time.sleep(60)
registry.AFTER_TURN = (small("a", slow),)
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def living(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Ada with a scripted model, whose turns leave what the small passes do."""
    run.write("script.yaml", SCRIPT)
    run.ok("config", "set", "llm.model", f"script:{run.file('script.yaml')}")
    monkeypatch.setattr(registry, "AFTER_TURN", (small("a", thinks=True), small("b")))
    monkeypatch.setattr(registry, "AFTER", ())
    return run


def truth(run: Run) -> dict[str, Any]:
    return {name: one for name, one in run.state().items() if ".bumble" not in name}


def run_lines(run: Run) -> list[dict[str, Any]]:
    lines = run.text(".bumble/log/runs.jsonl").splitlines()
    return [json.loads(line) for line in lines]


def calls(run: Run) -> int:
    file = run.file(".bumble/log/calls.jsonl")
    return len(file.read_text().splitlines()) if file.exists() else 0


def test_a_tick_does_what_is_due_and_a_second_one_changes_no_byte(living: Run) -> None:
    living.ok("remind", "add", "Tea", "--in", "1m", "--deliver", "journal")
    living.ok("cron", "add", "* * * * *", "Look around")
    living.write(WAITING, "b 1\na 1\n")
    ran = living.ok("tick", "-v", "--now", "2026-05-24T15:00:00+01:00")
    assert [line.split(":")[0] for line in ran.out.splitlines()] == [
        "reminders",
        "automations",
        "a",
        "b",
    ]
    before, asked = truth(living), calls(living)
    assert asked == 2
    second = living.ok("tick", "--now", "2026-05-24T15:00:00+01:00")
    assert (second.out, second.err) == ("", "")
    assert (truth(living), calls(living)) == (before, asked)
    first, last = run_lines(living)
    assert (first["calls"], last["calls"], last["events"]) == (2, 0, [])


def test_check_shows_the_gates_of_every_pass_and_writes_nothing(living: Run) -> None:
    living.write(WAITING, "a 1\n")
    before = living.state()
    data = living.ok("tick", "--check", "--json").data
    assert {name: one["due"] for name, one in data.items()} == {
        "reminders": False,
        "automations": False,
        "a": True,
        "b": False,
        "probe": False,
    }
    assert living.state() == before
    living.write(WAITING, "")
    assert living("tick", "--check", "--exit-code").code == 4


def test_nothing_is_thought_within_a_minute_of_a_talk_unless_it_is_to_be_settled(
    living: Run,
) -> None:
    living.ok("chat", "Hi")
    living.write(WAITING, "a 1\nb 1\n")
    at = living.now.isoformat()
    ran = living.ok("tick", "-v", "--now", at)
    [line] = [line for line in ran.out.splitlines() if "within the last minute" in line]
    assert line.endswith(" wait: somebody spoke within the last minute")
    assert "a, " in line
    assert living.text(WAITING) == "a 1\n"
    living.ok("tick", "--settle", "--now", at)
    assert living.text(WAITING) == ""


def test_nothing_is_thought_while_a_turn_goes_on(living: Run) -> None:
    living.write(WAITING, "a 1\n")
    with locks.hold_turn(living.entity):
        held = living.ok("tick", "--settle", "--json").data["held"]
    assert held == dict.fromkeys(("automations", "a", "probe"), "a turn goes on")


def test_a_run_keeps_to_its_budget_and_says_what_is_left(living: Run) -> None:
    living.ok("config", "set", "limits.calls_per_turn", "1")
    living.write(WAITING, "a 1\na 2\n")
    ran = living.ok("tick", "--json")
    assert [one["kind"] for one in ran.data["waiting"]] == ["LimitReachedError"]
    assert living.text(WAITING) == "a 2\n"
    living.ok("config", "set", "limits.tokens_per_day", "1")
    assert "limits.tokens_per_day" in living.ok("tick", "-v").out
    today = living.ok("status", "--json").data["today"]
    assert (today["calls"], today["tokens_per_day"]) == (1, 1)
    assert today["tokens"] > 0


def test_an_account_without_credit_is_no_limit_of_the_owners(
    living: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spent(word: str) -> None:
        raise BudgetSpentError("the account has nothing left to spend")

    monkeypatch.setattr(registry, "AFTER_TURN", (small("a", spent),))
    living.write(WAITING, "a 1\n")
    ran = living("tick")
    assert (ran.code, "nothing left to spend" in ran.err) == (22, True)
    assert living.text(WAITING) == "a 1\n"


def test_two_ticks_at_once_say_everything_once(run: Run) -> None:
    for n in range(6):
        run.ok("remind", "add", f"Tea {n}", "--at", "2026-05-24T10:00", "--deliver", "journal")
    words = ["-e", str(run.entity.root), "tick"]
    ticks = [subprocess.Popen(**forked.bumble(words, run.environ)) for _ in range(2)]
    assert [one.wait(60) for one in ticks] == [0, 0]
    assert run.text("journal.md").count("\nReminder") == 6


class Spawner:
    def __init__(self) -> None:
        self.started: list[list[str]] = []

    def __call__(self, arguments: Sequence[str]) -> None:
        self.started.append(list(arguments))


def chat(run: Run, *words: str) -> tuple[int, list[list[str]]]:
    """Chat in a shell that can start processes; returns what it started."""
    spawner = Spawner()
    shell = Shell(run.environ, run.entity.root, now_given=run.now, rng=run.rng, spawn=spawner)
    return main(["chat", *words], shell), spawner.started


def test_what_waits_is_settled_in_the_background_with_the_same_clock_and_seed(
    living: Run,
) -> None:
    living.write(WAITING, "a 1\n")
    code, started = chat(living, "Hi", "--seed", "7")
    root, now = str(living.entity.root), living.now.isoformat()
    wanted = ["-e", root, "tick", "--settle-only", "--now", now, "--seed", "7"]
    assert (code, started) == (0, [wanted])


def test_an_interrupt_leaves_the_rest_for_later(
    living: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(word: str) -> None:
        if word == "2":
            raise KeyboardInterrupt

    monkeypatch.setattr(registry, "AFTER_TURN", (small("b", interrupt),))
    living.ok("config", "set", "limits.settle", "wait")
    living.write(WAITING, "b 1\nb 2\n")
    ran = living.ok("chat", "Hi")
    assert "the rest is left for later" in ran.err
    assert living.text(WAITING) == "b 2\n"


@posix
def test_a_chat_stops_who_settles_and_is_not_kept_waiting(living: Run) -> None:
    living.write(WAITING, "a 1\n")
    words = [sys.executable, "-c", SLOW, "-e", str(living.entity.root), "tick", "--settle-only"]
    process = subprocess.Popen(words, env=living.environ, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    started = time.monotonic()
    assert living.ok("chat", "Hi").out == "Hello Sam.\n"
    assert time.monotonic() - started < 5
    assert process.wait(5) == -signal.SIGTERM
    assert living.text(WAITING) == "a 1\n"
    living.ok("tick", "--settle")
    assert living.text(WAITING) == ""


@posix
def test_a_chat_leaves_alone_who_waits_for_an_answer_from_elsewhere(
    living: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    living.write(WAITING, "a 1\n")
    words = [sys.executable, "-c", SLOW, "-e", str(living.entity.root), "tick", "--settle-only"]
    monkeypatch.setattr(chat_model, "works_here", lambda _: False)
    process = subprocess.Popen(words, env=living.environ, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "begun\n"
        assert living.ok("chat", "Hi").out == "Hello Sam.\n"
        assert process.poll() is None
        assert living.ok("tick", "--settle").code == 0  # by a person: it is stopped at once
        assert process.wait(5) == -signal.SIGTERM
    finally:
        process.kill()
        process.wait(5)


def test_settling_only_makes_the_passes_of_one_turn(living: Run) -> None:
    living.ok("remind", "add", "Tea", "--at", "2026-05-24T10:00", "--deliver", "journal")
    living.write(WAITING, "a 1\nb 1\nb 2\n")
    living.ok("tick", "--settle-only")
    assert living.text(WAITING) == "b 2\n"
    assert "Reminder" not in living.text("journal.md")
    assert run_lines(living)[-1]["command"] == "settle"


def test_the_footer_says_what_waits(living: Run) -> None:
    living.write(WAITING, "a 1\nb 1\nb 2\n")
    ran = living.ok("chat", "Hi", "--usage")
    assert "[waiting: a 1, b 2; settled in the background]" in ran.err
    data = living.ok("chat", "How are you?", "--json").data
    assert data["pending"] == {"a": 1, "b": 2}


def test_a_second_tick_at_once_leaves_quietly(living: Run) -> None:
    living.write(WAITING, "b 1\n")
    with locks.hold_work(living.entity):
        assert living.ok("tick").out == ""
        assert "Another tick is at work" in living.ok("tick", "-v").out
    assert living.text(WAITING) == "b 1\n"


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_what_fails_at_night_is_told_until_it_succeeds(
    living: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(living.entity.root)

    def spent(word: str) -> None:
        raise BudgetSpentError("the account has nothing left to spend\nTop it up.")

    monkeypatch.setattr(registry, "AFTER_TURN", (small("a", spent),))
    living.write(WAITING, "a 1\n")
    for clock in ("01:30", "01:40"):
        living("tick", "--now", f"2026-05-25T{clock}")
    night = "since 2026-05-25 01:30 a waits: the account has nothing left to spend; `bumble tick`"
    assert living.ok("status", "--json").data["failing"].startswith(night)
    for command in (["status"], ["show"], ["log"], ["cron", "show"]):
        ran = living.ok(*command)
        assert night in ran.out + ran.err, command
    monkeypatch.setattr(registry, "AFTER_TURN", (small("a"),))
    living.ok("tick")
    assert living.ok("status", "--json").data["failing"] is None
    assert "nothing left" not in living.ok("show").err


def test_to_stay_asleep_is_nothing_that_was_due(living: Run) -> None:
    assert living("wake", "--exit-code").code == 4
    living.ok("config", "set", "wake.enabled", "true")
    assert living("tick", "--exit-code").code == 4


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_what_was_written_by_hand_is_in_git_after_a_tick(living: Run) -> None:
    begun(living.entity.root)
    living.write("relationships/bob.md", "A cook.\n")
    living.write("knowledge.md", "## Tea\n\nGreen.\n")
    living.write("notes.txt", "no memory of hers\n")
    living.ok("tick", "--dry-run")
    assert subjects(living.entity.root) == ["start"]
    living.ok("tick")
    assert "by hand: knowledge.md, relationships/bob.md" in subjects(living.entity.root)
    assert git(living.entity.root, "status", "--porcelain") == "?? notes.txt"
