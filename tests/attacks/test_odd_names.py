"""Names that no file system takes are results for the model, not the end of the talk."""

from __future__ import annotations

import json
from itertools import count, product
from typing import Any

import pytest

from tests.support.chatting import act, script
from tests.support.running import Run
from tests.support.sweeps import turns

NAMES = [
    "n" * 300,
    "d/" * 3000 + "x",
    "a.txt/b",
    "a.txt/b/c",
    "folder",
    "loop/x",
    "nul\0",
    "half\ud800",
    "tab\tline\nend",
    "é" * 140,
    "x" * 250 + ".txt",
    "..",
    "/etc/passwd",
    "~/x",
    "",
]


TOOLS = ("read_file", "write_file", "list_files")


@pytest.mark.parametrize(("name", "tool"), turns(5, product(NAMES, TOOLS)), ids=count())
def test_no_name_ends_a_talk(run: Run, tool: str, name: str) -> None:
    run.environ["BUMBLE_TOOLS_FILES"] = "true"
    run.write("workspace/a.txt", "x\n")
    run.write("workspace/folder/x", "x\n")
    (run.entity.workspace / "loop").symlink_to("loop")
    arguments: dict[str, Any] = {"folder" if tool == "list_files" else "path": name}
    if tool == "write_file":
        arguments["text"] = "one"
    again = {**arguments, "text": "two"} if tool == "write_file" else arguments
    script(run, act(tool, **arguments), act(tool, **again), act("say", text="Done."))
    ran = run("chat", "Do it.")
    assert (ran.code, ran.out) == (0, "Done.\n"), ran.err
    (talk,) = run.entity.sessions.rglob("messages.jsonl")
    lines = [json.loads(line) for line in talk.read_text().splitlines()]
    assert len([line for line in lines if line.get("role") == "tool"]) == 2
    assert (run.entity.workspace / "a.txt").read_text() == "x\n"
    assert run("status").code == 0
