from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.running import Run

BIN = Path(sys.executable).parent
BELIEF = "bel_01KSA0000000000000000000B1"
HOSTILE = "$(touch owned) `touch owned` * 'x"

# What each shell's own completion offers for some words, the last one unfinished, a line each.
ASK = {
    "bash": 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _bumble\n'
    'printf "%s\\n" "${COMPREPLY[@]}"',
    "zsh": 'compdef() { :; }; _files() { :; }; compadd() { shift; print -rl -- "$@"; }\n'
    'source "$1"; shift; words=("$@"); CURRENT=$#; _bumble',
    "fish": "source $argv[1]; complete -C (string join ' ' -- $argv[2..-1])",
}
FLAGS = {"bash": ["--norc", "-c"], "zsh": ["-f", "-c"], "fish": ["--no-config", "-c"]}


@pytest.fixture
def lived(run: Run) -> Run:
    run.write(f"beliefs/{BELIEF}.md", "---\ncategory: preference\n---\n")
    run.write("relationships/sam.md", "Sam\n")
    run.write("skills/knots/SKILL.md", "Knots\n")
    code = "```\n## no title\n```\n"
    run.write("knowledge.md", f"## [locked] Green tea\n\n{code}\n## {HOSTILE}\n\n## Tides\n")
    run.write("sessions/ses_01KSA0000000000000000000T1/messages.jsonl", "{}\n")
    return run


def offered(run: Run, shell: str, *typed: str) -> list[str]:
    """Ask a shell what it would offer."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell} here")
    script = run.write("workspace/script", run.ok("completion", shell).out)
    argv = [program, *FLAGS[shell], ASK[shell], *(["bash"] if shell == "bash" else [])]
    if shell == "zsh":
        argv.append("zsh")
    environ = {**os.environ, **run.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    ran = subprocess.run(
        [*argv, str(script), "bumble", *typed],
        cwd=run.entity.root,
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.stderr == ""
    assert not run.file("owned").exists()
    return [line.partition("\t")[0] for line in ran.stdout.splitlines() if line]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_offers_commands_and_values(lived: Run, shell: str) -> None:
    assert {"belief", "export", "completion"} <= set(offered(lived, shell, ""))
    assert offered(lived, shell, "belief", "sh") == ["show"]
    assert offered(lived, shell, "belief", "show", "") == [BELIEF]
    assert offered(lived, shell, "chat", "--as", "s") == ["sam"]
    assert offered(lived, shell, "recall", "--kind", "be") == ["belief"]
    assert "--kind" in offered(lived, shell, "recall", "--k")
    assert offered(lived, shell, "new", "x", "--timezone", "Europe/Lis") == ["Europe/Lisbon"]


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        (("skill", "show", ""), "knots"),
        (("session", "show", ""), "ses_01KSA0000000000000000000T1"),
        (("chat", "--session", ""), "ses_01KSA0000000000000000000T1"),
        (("why", "bel"), BELIEF),
        (("log", "--cycle", "dr"), "dream"),
        (("undo", "--cycle", "wa"), "wake"),
        (("log", "--cycle", "working"), "working memory"),
        (("config", "get", "llm.mod"), "llm.model"),
        (("export", "--to", "o"), "openclaw"),
        (("-e", ".", "belief", "show", "--json", "b"), BELIEF),
    ],
)
def test_values_are_those_of_the_entity(lived: Run, typed: tuple[str, ...], wanted: str) -> None:
    argv = [str(BIN / "bumble"), "--complete", "fish", *typed]
    ran = subprocess.run(
        argv, cwd=lived.entity.root, capture_output=True, text=True, timeout=60, check=True
    )
    assert wanted in ran.stdout.splitlines()


def test_completion_loads_nothing_heavy(lived: Run) -> None:
    code = (
        "import sys; from bumble.__main__ import main\n"
        "sys.argv = ['bumble', '--complete', 'bash', 'belief', 'show', '']\n"
        "try:\n    main()\nfinally:\n"
        "    assert not {'typer', 'ruamel', 'bumble.cli.app'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=lived.entity.root, check=True, timeout=60)


def test_an_unknown_shell_is_a_mistake_that_names_the_others(run: Run) -> None:
    ran = run("completion", "tcsh")
    assert (ran.code, "bash, zsh, fish" in ran.err) == (2, True)
    assert run.ok("completion", "bash", "--json").data["shell"] == "bash"
