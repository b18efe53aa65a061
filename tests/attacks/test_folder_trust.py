"""A folder that somebody else made runs nothing until its owner has looked at what it runs."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bumble.cli.process import Shell
from tests.support.chatting import act, script
from tests.support.running import Run

LATER = "2026-05-25T08:00:00+01:00"


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """What a program makes that should not have run."""
    return tmp_path / "ran"


def touching(mark: Path) -> list[str]:
    return [sys.executable, "-c", f"open({str(mark)!r}, 'a').write('x')"]


def allow(run: Run) -> Path:
    """Let the owner's own config allow programs, wherever that may be."""
    place = Shell(run.environ, run.entity.root).user_file
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("tools: {run_command: true}\n", encoding="utf-8")
    return place


def automate(run: Run, prompt: str, *, enabled: bool = True) -> None:
    head = f'schedule: "0 8 * * *"\nenabled: {str(enabled).lower()}\n'
    run.write("automations/look.md", f"---\n{head}---\n\n{prompt}\n")


def command_of(mark: Path) -> dict[str, Any]:
    """The answer of a model that runs a program in an automation."""
    rule = act("run_command", command=shlex.join(touching(mark)))
    return {**rule, "purpose": "automation"}


def trust(run: Run) -> None:
    run.ok("config", "trust", str(run.entity.root))


def tick(run: Run) -> str:
    ran = run("tick", "--settle", "-v", "--now", LATER)
    return ran.out + ran.err


def test_a_script_of_the_folder_belongs_to_the_command_that_names_it(run: Run, mark: Path) -> None:
    script(run, {**act("say", text="Hi."), "always": True})
    run.write("bell.py", "pass\n")
    words = json.dumps([sys.executable, "bell.py"])
    run.write("entity.yaml", f"{run.text('entity.yaml')}\nprompt: {{host_command: {words}}}\n")
    trust(run)
    assert "is ignored" not in run("chat", "Hello.").err
    run.write("bell.py", f"open({str(mark)!r}, 'w')\n")
    assert "is ignored" in run("chat", "Hello.").err
    assert not mark.exists()


def test_an_automation_runs_a_program_as_long_as_it_is_as_trusted(run: Run, mark: Path) -> None:
    allow(run)
    script(run, command_of(mark))
    automate(run, "Look around.", enabled=False)
    trust(run)
    automate(run, "Look around.")  # a pull switches it on
    warnings = tick(run)
    assert not mark.exists()
    assert "new or changed: automations/look.md" in warnings
    assert f"bumble config trust {run.entity.root}" in warnings
    trust(run)
    automate(run, "Run whatever lies there.")  # a pull words it anew
    tick(run)
    assert not mark.exists()
    trust(run)
    file = run.entity.root / "sources/automations/look.yaml"
    file.write_text("\n".join(line for line in file.read_text().split("\n") if "last:" not in line))
    tick(run)
    assert mark.exists()


@pytest.mark.parametrize("value", ["tools: {run_command: true}", "prompt: {host_command: [CMD]}"])
def test_a_setting_that_starts_programs_counts_only_as_it_was_trusted(
    run: Run, mark: Path, value: str
) -> None:
    script(run, act("run_command", command=shlex.join(touching(mark))), act("say", text="Hi."))
    value = value.replace("[CMD]", json.dumps(touching(mark)))
    before = run.text("entity.yaml")
    trust(run)
    run.write("entity.yaml", f"{before}\n{value}\n")
    warnings = run("chat", "Hello.").err
    assert not mark.exists()
    assert "is ignored" in warnings
    trust(run)
    run("chat", "Hello again.")
    assert mark.exists()


@pytest.mark.parametrize("own", ["cron", "config"])
def test_the_owners_own_commands_trust_nothing_that_a_pull_brought(
    run: Run, mark: Path, own: str
) -> None:
    script(run, command_of(mark))
    trust(run)
    run.ok("config", "set", "tools.run_command", "true")
    automate(run, "Look around.")
    if own == "cron":
        run.ok("cron", "add", "0 8 1 1 *", "Mine.")
    else:
        run.ok("config", "set", "tools.command_timeout_seconds", "5")
    tick(run)
    assert not mark.exists()


@pytest.mark.parametrize("words", [["--as", "Kim"], ["--with", "Kim"]])
def test_speech_of_others_runs_no_program(run: Run, mark: Path, words: list[str]) -> None:
    allow(run)
    trust(run)
    rule = act("run_command", command=shlex.join(touching(mark)))
    script(run, rule, act("say", text="Hi."))
    run("chat", *words, "Run it.")
    assert not mark.exists()
    script(run, rule, act("say", text="Hi."))
    run("chat", "Run it.")  # its owner, alone
    assert mark.exists()


def git(run: Run, *words: str) -> None:
    name = ("-c", "user.name=Eve", "-c", "user.email=eve@example.org")
    subprocess.run(["git", *name, *words], cwd=run.entity.root, check=True, capture_output=True)


def test_an_undo_trusts_nothing_that_comes_back(run: Run, mark: Path) -> None:
    run.environ["PATH"] = os.environ["PATH"]
    git(run, "init", "-q")
    script(run, command_of(mark))
    automate(run, "Look around.")
    git(run, "add", "-A")
    git(run, "commit", "-qm", "made")
    git(run, "rm", "-q", "automations/look.md")
    git(run, "commit", "-qm", "forget", "-m", "Cycle: cron remove")
    allow(run)
    trust(run)
    run.ok("undo", "--last", "--force")
    assert (run.entity.root / "automations/look.md").exists()
    tick(run)
    assert not mark.exists()
