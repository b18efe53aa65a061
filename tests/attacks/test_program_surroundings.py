"""A program that a folder or a model names hears nothing, and learns no key."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bumble.chat import workspace
from bumble.entity.folder import Entity
from tests.support.chatting import act

KEYS = {"OPENAI_API_KEY": "sk-hunter2", "AWS_SECRET_ACCESS_KEY": "hunter3"}
USUAL = {"LANG": "C.UTF-8", "LC_TIME": "C", "TZ": "UTC", "DISPLAY": ":7", "XDG_DATA_DIRS": "/usr"}
USUAL |= {"WAYLAND_DISPLAY": "w", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/bus"}
LOOK = """
import json, os, sys
seen = {"environ": dict(os.environ), "stdin": sys.stdin.read(), "parent": ""}
try:
    seen["parent"] = open(f"/proc/{os.getppid()}/environ", "rb").read().decode(errors="replace")
except OSError as error:
    seen["parent"] = str(error)
json.dump(seen, open(sys.argv[1], "w"))
"""


@pytest.fixture
def looking(entity: Entity, environ: dict[str, str], tmp_path: Path) -> dict[str, Any]:
    """A trusted folder whose program writes down what it learns; the arguments that run bumble."""
    (entity.workspace / "look.py").write_text(LOOK, encoding="utf-8")
    environ |= {**KEYS, **USUAL, "PATH": f".:{os.environ['PATH']}:", "BUMBLE_LLM_MODEL": "none"}
    seen = tmp_path / "seen.json"
    command = [sys.executable, "look.py", str(seen)]
    config = Path(environ["XDG_CONFIG_HOME"]) / "bumble/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("tools: {run_command: true}\n", encoding="utf-8")
    return {"entity": entity, "environ": environ, "seen": seen, "command": command, "file": config}


def bumble(looking: dict[str, Any], *argv: str) -> str:
    """Run bumble as a process of its own, with something to read on its standard input."""
    done = subprocess.run(
        [sys.executable, "-m", "bumble", *argv],
        env=looking["environ"],
        cwd=looking["entity"].root,
        input="the owner types this",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


def learnt(looking: dict[str, Any]) -> Any:
    """What the program learns that a model runs in a talk."""
    rules = [act("run_command", command=" ".join(looking["command"])), act("say", text="Done.")]
    answers = looking["seen"].with_name("answers.jsonl")
    answers.write_text("".join(json.dumps(rule) + "\n" for rule in rules), encoding="utf-8")
    looking["environ"]["BUMBLE_LLM_MODEL"] = f"script:{answers}"
    looking["environ"] |= {"BUMBLE_EMBEDDING_MODEL": "none", "BUMBLE_LIMITS_SETTLE": "later"}
    bumble(looking, "config", "trust", ".")
    answer = bumble(looking, "chat", "Hello.")
    assert looking["seen"].exists(), answer
    return json.loads(looking["seen"].read_text())


def test_a_program_of_the_models_learns_no_key_and_hears_nothing(looking: dict[str, Any]) -> None:
    seen = learnt(looking)
    assert "hunter" not in json.dumps(seen)
    assert seen["stdin"] == ""
    assert seen["environ"].items() >= USUAL.items()
    assert all(Path(place).is_absolute() for place in seen["environ"]["PATH"].split(os.pathsep))


def test_what_the_owners_own_config_lists_is_passed_on(looking: dict[str, Any]) -> None:
    looking["environ"]["BELL"] = "loud"
    text = "tools: {run_command: true, command_variables: [BELL]}\n"
    looking["file"].write_text(text, encoding="utf-8")
    assert learnt(looking)["environ"]["BELL"] == "loud"


@pytest.mark.skipif(sys.platform != "linux", reason="only there others can be looked at so")
def test_git_and_the_editor_keep_what_they_need(
    entity: Entity, environ: dict[str, str], tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    editor = tmp_path / "editor.py"
    editor.write_text(f"import os\nopen({str(seen)!r}, 'w').write(os.environ['MINE'])\n")
    environ |= {"MINE": "own", "EDITOR": f"{sys.executable} {editor}", "PATH": os.environ["PATH"]}
    subprocess.run(
        [sys.executable, "-m", "bumble", "knowledge", "edit"],
        env=environ,
        cwd=entity.root,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert seen.read_text() == "own"


@pytest.mark.skipif(sys.platform != "linux", reason="only there others can be looked at so")
def test_the_environment_of_bumble_itself_is_empty_to_whoever_looks(tmp_path: Path) -> None:
    code = (
        "from bumble.cli.process import hide_environment; hide_environment(); import os, sys;"
        "print(os.environ['OPENAI_API_KEY'], flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, **KEYS},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "sk-hunter2\n"
    try:
        seen = Path(f"/proc/{process.pid}/environ").read_bytes()
    except PermissionError:
        seen = b""
    process.communicate()
    assert b"hunter" not in seen


@pytest.mark.skipif(sys.platform == "win32", reason="scripts of POSIX")
@pytest.mark.parametrize("path", ["", ".", ":/usr/bin", "/usr/bin:", "bin:/usr/bin"])
def test_a_program_of_the_folder_is_not_taken_for_one_of_the_system(
    tmp_path: Path, path: str
) -> None:
    for own in (tmp_path / "bell", tmp_path / "bin/bell"):
        own.parent.mkdir(exist_ok=True)
        own.write_text("#!/bin/sh\necho stolen\n")
        own.chmod(0o755)
    environ = workspace.environment({"PATH": path})
    done = workspace.run_program(["bell"], folder=tmp_path, environ=environ, timeout_seconds=5)
    assert (done.failed, done.output) == (True, "")
