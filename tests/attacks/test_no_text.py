"""Bytes that are no text: as an argument, typed, piped, or stored long ago."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from bumble.entity.folder import Entity
from bumble.errors import UsageError
from tests.support import forked
from tests.support.chatting import act, script
from tests.support.running import Run
from tests.support.sweeps import turns

CAFE = os.fsdecode(b"caf\xe9")  # as a terminal of another century sends it
NO_UTF8_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def answering(run: Run) -> Run:
    script(run, act("say", text="Hello Sam.") | {"always": True})
    return run


def texts(entity: Entity) -> list[str]:
    (file,) = entity.sessions.glob("*/messages.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [one["text"] for one in lines if one.get("role") == "user"]


def goes_on(run: Run) -> None:
    """Every command that reads the conversation does."""
    answering(run)
    for words in (
        ["chat", "Hello again."],
        ["status"],
        ["context", "list"],
        ["session", "show"],
        ["session", "list", "--json"],
        ["recall", "hello"],
        ["tick", "--dry-run"],
        ["compact", "--dry-run"],
    ):
        ran = run(*words)
        assert ran.code in (0, 21), (words, ran.err)
        assert "bug" not in ran.err, words
    assert "bug" not in run("doctor").err


@pytest.mark.parametrize(
    "words",
    turns(
        2,
        [
            ["chat", CAFE],
            ["chat", "in the", CAFE],
            ["chat", "hello", "--as", CAFE],
            ["chat", "hello", "--with", f"bo,{CAFE}"],
            ["chat", "hello", "--session", CAFE],
            ["recall", CAFE],
            ["journal", "add", CAFE],
            ["knowledge", "set", "Sam", CAFE],
            ["knowledge", "set", CAFE, "likes tea"],
            ["remind", "add", CAFE, "--in", "1h"],
            ["person", "show", CAFE],
            ["config", "set", "llm.model", CAFE],
            ["config", "get", CAFE],
            ["session", "show", CAFE],
        ],
    ),
    ids=lambda words: "-".join([*words[:2], str(len(words))]).encode("ascii", "replace").decode(),
)
def test_an_argument_that_is_no_text_is_refused_and_nothing_is_stored(
    run: Run, words: list[str]
) -> None:
    answering(run)
    before = run.state()
    ran = run(*words)
    assert ran.code == 2
    assert "bug" not in ran.err
    assert run.state() == before
    goes_on(run)


@pytest.mark.parametrize("words", [["chat", "Hello."], ["status"], ["doctor"], ["index"]])
@pytest.mark.parametrize("named", [True, False])
def test_a_folder_whose_path_is_no_text_is_refused(run: Run, words: list[str], named: bool) -> None:
    answering(run)
    place = run.entity.root.rename(run.entity.root.with_name(CAFE))
    ran = run(*words, *(["-e", str(place)] if named else []), cwd=place)
    assert (ran.code, "path is not UTF-8" in ran.err) == (13, True)


def test_standard_input_that_is_no_text_is_refused_and_nothing_is_changed(run: Run) -> None:
    answering(run)
    sent = subprocess.run(
        **forked.bumble(["chat", "-e", str(run.entity.root), "-"], run.environ),
        input=b"caf\xe9 \x80",
        capture_output=True,
        check=False,
    )
    assert sent.returncode == UsageError.exit_code
    assert b"standard input:1: not UTF-8 text; nothing was changed." in sent.stderr
    assert not list(run.entity.sessions.glob("*/messages.jsonl"))
    goes_on(run)


@pytest.mark.parametrize("locale", [NO_UTF8_LOCALE, {"LC_ALL": "C"}])
def test_no_locale_changes_what_was_said(run: Run, locale: dict[str, str]) -> None:
    answering(run)
    told = subprocess.run(
        [sys.executable, "-m", "bumble", "chat", "-e", str(run.entity.root), "né à 🐝"],
        env=run.environ | {"PATH": os.environ["PATH"]} | locale,
        capture_output=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    assert texts(run.entity) == ["né à 🐝"]


@pytest.mark.parametrize("half", turns(3, [r"\udce9", r"\ud800", r"\uDFFF"]))
@pytest.mark.parametrize("where", ["text", "name", "arguments", "raw"])
def test_a_transcript_that_holds_one_already_is_read(run: Run, half: str, where: str) -> None:
    answering(run)
    run.ok("chat", "What of the caf!?")
    (file,) = run.entity.sessions.glob("*/messages.jsonl")
    source = file.read_bytes()
    bad = half.encode()
    if where == "text":
        source = source.replace(b"caf!", b"caf" + bad)
    elif where == "raw":
        source = source.replace(b"caf!", b"caf\xe9")
    elif where == "name":
        source = source.replace(b'"name":"Sam"', b'"name":"S' + bad + b'"')
    else:
        lines = source.splitlines(keepends=True)
        call = b'"tool_calls":[{"id":"c","name":"recall","arguments":{"query":"a' + bad + b'"}}],'
        lines[-1] = lines[-1].replace(b'"text":', call + b'"text":')
        source = b"".join(lines)
    assert source != file.read_bytes()
    file.write_bytes(source)
    goes_on(run)
    assert file.read_bytes().startswith(source)
