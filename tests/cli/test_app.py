from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import typer

from bumble import errors
from bumble.cli import app, reference
from bumble.cli.process import Shell
from bumble.entity.folder import Entity
from tests.support.command_line import modules_of
from tests.support.running import Run

ROOT: Any = typer.main.get_command(app.app)
HEAVY = [
    "numpy", "onnxruntime", "tokenizers", "openai", "xllamacpp", "ollama", "tantivy", "apsw",
    "sqlite_vec", "prompt_toolkit", "ruamel", "pydantic", "huggingface_hub", "httpx", "httpx2",
    "markdown_it", "jsonschema", "rich", "click",
]  # fmt: skip


def bumble(
    *words: str, environ: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run bumble in a process of its own; with an empty environment unless one is given."""
    return subprocess.run(
        [sys.executable, "-m", "bumble", *words],
        env=environ or {},
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )


def command(name: str) -> Any:
    with typer.Context(ROOT, info_name="bumble") as above:
        return ROOT.get_command(above, name)


def test_every_exit_code_of_the_code_has_a_meaning() -> None:
    kinds = [member for member in vars(errors).values() if isinstance(member, type)]
    codes = {kind.exit_code for kind in kinds if issubclass(kind, errors.UserError)}
    assert codes <= set(reference.MEANINGS)
    of_the_shell = {0, 2, 4, app.BUG_EXIT_CODE, app.INTERRUPTED_EXIT_CODE, 129, 143}
    assert set(reference.MEANINGS) == codes | of_the_shell


@pytest.mark.parametrize("name", app.COMMANDS)
def test_the_line_in_the_help_is_the_commands_own(name: str) -> None:
    assert command(name).help.split("\n\n")[0].strip() == app.COMMANDS[name][1]


@pytest.mark.parametrize("words", [["--help"], ["--version"], []])
def test_help_and_version_import_nothing_heavy(words: list[str]) -> None:
    code, names = modules_of(*words)
    assert code == (0 if words else 2)
    assert names & set(HEAVY) == set()
    assert "bumble" in names


@pytest.mark.parametrize("words", ["status", "belief list", "knowledge show", "person list"])
def test_who_looks_does_not_wait_for_what_compares_vectors(entity: Entity, words: str) -> None:
    code, names = modules_of("-e", str(entity.root), *words.split())
    assert code == 0
    assert names & {"numpy", "onnxruntime", "tokenizers", "tantivy"} == set()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["stauts"], "status"),
        (["knowlege", "list"], "knowledge"),
        (["model", "lst"], "list"),
        (["config", "sett", "a", "b"], "set"),
        (["config", "show", "--orign"], "--origin"),
    ],
)
def test_a_typo_names_the_nearest(run: Run, words: list[str], said: str) -> None:
    ran = run(*words)
    assert ran.code == 2
    assert said in ran.err
    assert "--help`" in ran.err
    assert ran.out == ""


@pytest.mark.parametrize(
    ("words", "code", "kind"),
    [
        (["stauts", "--json"], 2, "UsageError"),
        (["config", "get", "llm.modle", "--json"], 2, "UsageError"),
        (["knowledge", "list", "-e", "nowhere", "--json"], 10, "NotAnEntityError"),
        (["--json", "knowledge", "show", "Nothing"], 1, "RecordMissingError"),
    ],
)
def test_with_json_errors_are_json_too(run: Run, words: list[str], code: int, kind: str) -> None:
    ran = run(*words)
    assert ran.code == code
    assert ran.json["error"]["exit_code"] == code
    assert ran.json["error"]["kind"] == kind
    assert ran.json["error"]["message"] in ran.err
    assert ran.json["data"] is None


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
@pytest.mark.parametrize("reader", ["head -n 1", "true"])
def test_a_reader_that_leaves_causes_no_traceback(run: Run, reader: str) -> None:
    # enough to fill the pipe, so that the reader is gone before the end
    run.write("knowledge.md", "".join(f"## {n}\n\n{'x' * 4000}\n\n" for n in range(100)))
    line = f'"{sys.executable}" -m bumble knowledge show; echo "code $?" >&2'
    done = subprocess.run(
        ["sh", "-c", f"{{ {line}; }} | {reader}"],
        cwd=run.entity.root,
        env={**os.environ, **run.environ, "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == "code 0\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk that is always full")
def test_output_that_cannot_be_written_is_an_error_and_no_bug(run: Run) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "bumble", "config", "show"],
            env=run.environ,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "error: The output could not be written: the disk is full\n"


def test_it_works_with_an_empty_environment_in_any_folder(run: Run, tmp_path: Path) -> None:
    run.write("knowledge.md", "## Zoë's 🐝\n\nbuzz\n")
    words = ("knowledge", "list", "-e", str(run.entity.root))
    made_here = {"XDG_STATE_HOME": run.environ["XDG_STATE_HOME"]}  # where that is noted
    done = bumble(*words, environ=made_here, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Zoë's 🐝" in done.stdout
    empty = bumble(*words, cwd=tmp_path)
    assert (empty.returncode, empty.stdout) == (0, done.stdout)
    done = bumble("config", "get", "llm.model", environ={"HOME": "/nonexistent"}, cwd=Path("/"))
    assert (done.returncode, done.stdout) == (0, "auto\n")


def broken(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Add a command that fails."""
    module = types.ModuleType("bumble.cli.commands.broken")
    group = typer.Typer(rich_markup_mode=None)

    @group.command()
    def run_it(key: str = "x", json: bool = False) -> None:
        raise error

    module.app = group  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "bumble.cli.commands.broken", module)
    monkeypatch.setitem(app.COMMANDS, "broken", ("broken.app", "Fail."))
    monkeypatch.setattr(app, "_command_line", app._command_line.__wrapped__)


def test_a_bug_keeps_its_traceback_in_a_file_that_the_message_names(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch, ZeroDivisionError("by nought"))
    ran = run("broken", "--key", "a secret", "--json")
    assert ran.code == 70
    [log] = (Path(run.environ["XDG_STATE_HOME"]) / "bumble" / "crashes").iterdir()
    assert str(log) in ran.err
    text = log.read_text("utf-8")
    assert "ZeroDivisionError: by nought" in text
    assert "Traceback" in text
    assert "Traceback" not in ran.err
    assert "a secret" not in text
    assert ran.json["error"]["kind"] == "Bug"


def test_an_interrupt_ends_with_130_and_no_traceback(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch, KeyboardInterrupt())
    ran = run("broken")
    assert (ran.code, ran.out, ran.err) == (130, "", "")


@pytest.mark.skipif(os.name == "nt", reason="signals are another matter there")
def test_ctrl_c_ends_a_waiting_command_with_130(run: Run) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "bumble", "knowledge", "set", "Pets", "-"],
        cwd=run.entity.root,
        env=run.environ,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        for _ in range(100):
            try:
                process.wait(0.1)
            except subprocess.TimeoutExpired:
                # blocked in a read of the pipe: `wchan` tells it from still starting
                state = Path(f"/proc/{process.pid}/wchan")
                if not state.exists() or "pipe" in state.read_text():
                    break
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_the_names_of_models_and_settings_are_completed(run: Run) -> None:
    def completed(line: str) -> list[str]:
        words = line.split(" ")[1:]
        done = bumble("--complete", "bash", *words, environ=run.environ)
        return done.stdout.split()

    assert completed("bumble ") == list(app.COMMANDS)
    assert completed("bumble mod") == ["model"]
    assert completed("bumble model sh") == ["show"]
    assert completed("bumble model pull smol") == ["smollm2-135m"]
    assert completed("bumble model pull smollm2-135m all") == ["all-minilm-l6-v2"]
    assert completed("bumble config set llm.te") == ["llm.temperature"]
    assert completed("bumble model remove s") == []
    stray = Path(run.environ["XDG_CACHE_HOME"]) / "bumble" / "weights" / "stray"
    stray.mkdir(parents=True)
    assert completed("bumble model remove s") == ["stray"]


def test_the_command_in_an_answer_is_without_options_and_values(run: Run) -> None:
    assert run("-e", str(run.entity.root), "config", "get", "name", "--json").json["command"] == (
        "config get"
    )
    assert json.loads(run("chta", "--json").out)["command"] == "bumble"
    assert Shell.of_process().cwd == Path.cwd()
