"""What is git's and bumble's own stays out of prompts; scripts and odd names do no harm."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path

import pytest
from msgspec.structs import replace

from bumble.entity.settings import load
from bumble.errors import UnsafePathError
from bumble.files import disk
from bumble.prompt import system
from tests.support.chatting import script
from tests.support.running import Run
from tests.support.sweeps import turns

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, pipes and odd names")
RECORDS = ("knowledge.md", "beliefs/bel_1.md", "journal.md")
TOKEN = "ghp_canary"
PRIVATE = (".git/config", ".bumble/log/calls.jsonl")


@pytest.fixture
def ada(run: Run) -> Run:
    """Ada, with a token in what is git's own and in what is bumble's."""
    for name in PRIVATE:
        run.write(name, f'{{"url": "https://{TOKEN}@example.org"}}\n')
    script(run, {"purpose": "chat", "text": "Hello.", "always": True})
    return run


@pytest.mark.parametrize("private", PRIVATE)
@pytest.mark.parametrize("name", ["", "GENOME.md", "working/MEMORY.md", "notes.md"])
def test_no_private_file_gets_into_a_prompt(ada: Run, private: str, name: str) -> None:
    root = ada.entity.root
    if name:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).unlink(missing_ok=True)
        (root / name).symlink_to(root / private)
    config = replace(load().config.prompt, bootstrap_files=(name or private,))
    (file,) = system.read_own_files(ada.entity, config)
    assert (file.status, file.text) == ("MISSING", "")


def test_no_other_name_of_a_file_outside_gets_into_a_prompt(ada: Run, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text(TOKEN)
    ada.file("GENOME.md").unlink(missing_ok=True)
    os.link(tmp_path / "mine", ada.file("GENOME.md"))
    config = replace(load().config.prompt, bootstrap_files=("GENOME.md",))
    assert system.read_own_files(ada.entity, config)[0].text == ""


@pytest.mark.parametrize(("private", "name"), turns(2, product(PRIVATE, RECORDS)))
def test_no_record_is_a_link_to_a_private_file(ada: Run, private: str, name: str) -> None:
    root = ada.entity.root
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).unlink(missing_ok=True)
    (root / name).symlink_to(root / private)
    with pytest.raises(UnsafePathError):
        disk.read(root / name)
    for words in (("context",), ("recall", TOKEN), ("chat", "Hi.")):
        ran = ada(*words)
        assert ran.code != 70, ran.err
        assert TOKEN not in ran.out


def unscripted(run: Run, name: str) -> None:
    del run.environ["BUMBLE_LLM_MODEL"]
    run.write("entity.yaml", run.text("entity.yaml") + f"\nllm: {{model: 'script:{name}'}}\n")


@pytest.mark.parametrize("kind", ["device", "outside", "dots", "large", "pipe"])
def test_a_script_that_a_folder_names_is_a_small_plain_file_in_it(
    ada: Run, tmp_path: Path, kind: str
) -> None:
    root = ada.entity.root
    (tmp_path / "answers.yaml").write_text("- Hello from outside.\n")
    if kind == "large":
        ada.write("answers.yaml", "- " + "x" * 1_000_000)
    elif kind == "pipe":
        os.mkfifo(root / "answers.yaml")
    names = {"device": "/dev/zero", "outside": str(tmp_path / "answers.yaml")}
    names |= {"dots": "../answers.yaml"}
    unscripted(ada, names.get(kind, "answers.yaml"))
    ran = ada("chat", "Hi.")
    assert ran.code in (12, 13), ran.err
    assert "outside" not in ran.out


NAMES = (
    *("beliefs/{}.md", "relationships/{}.md", "dreams/{}.md", "skills/{}.md", "{}.md"),
    *("skills/{}/SKILL.md", "sessions/{}/messages.jsonl", "episodes/2026/{}/x.md"),
    *("episodes/2026/05/{}.md", "reminders/{}.md", "automations/{}.md", "workspace/{}"),
)


@pytest.mark.parametrize("name", turns(4, NAMES))
def test_a_name_that_is_no_utf_8_is_passed_over_and_doctor_says_so(ada: Run, name: str) -> None:
    path = ada.entity.root / name.format("\udce9")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("---\nid: x\n---\nhi\n")
    for words in (("status",), ("chat", "Hi."), ("recall", "hi"), ("tick",), ("session", "list")):
        ran = ada(*words)
        assert ran.code != 70, (words, ran.err)
    assert "its name is not UTF-8" in ada("doctor").out


@pytest.mark.parametrize("name", [".bumble/lock", ".bumble/log/calls.jsonl"])
def test_a_pipe_among_what_is_bumbles_own_keeps_nobody_waiting(ada: Run, name: str) -> None:
    path = ada.entity.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    for words in (("status",), ("doctor",), ("chat", "Hi."), ("recall", "hi"), ("tick",)):
        ran = ada(*words)
        assert ran.code != 70, (words, ran.err)
