from __future__ import annotations

import time

import pytest

from bumble.text import yaml_edit
from bumble.text.yaml_edit import SourceError
from tests.support.looking import without_models
from tests.support.running import Run

MERGES = "a0: &a0 {k: v}\n" + "".join(
    f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 40)
)
ALIASES = "a0: &a0 [x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("%x", 2),
        ("1\na: 2", 3),
        ("!!bool x", 2),
        ('!!int ""', 2),
        ("!!float abc", 2),
        ("!!set {b, c}", 2),
        ("!!omap [b: c]", 2),
        ("!!binary aGVsbG8=", 2),
        ("9" * 5000, 2),
        ("0x" + "f" * 5000, 2),
        ('"\\UFFFFFFFF"', 2),
        ("\x07", 2),
        ("[" * 200_000, 2),
        ("{a: " * 2000, 2),
        ("\n" + "".join(" " * depth + "a:\n" for depth in range(2, 300)), 101),
        ("&b [*b]", None),
        (MERGES[4:], None),
        (ALIASES[4:], None),
        ("['x', " + "1, " * 300_000 + "1]", 1),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_can_not_be_read_is_an_error_of_a_line(value: str, line: int | None) -> None:
    started = time.monotonic()
    with pytest.raises(SourceError) as caught:
        yaml_edit.parse_mapping(f"b: 1\na: {value}\n")
    assert caught.value.line == line if line else caught.value.line
    assert len(str(caught.value)) < 300
    assert time.monotonic() - started < 30


def test_half_a_character_is_no_text_and_two_halves_are_one() -> None:
    assert yaml_edit.parse('a: "\\ud83d\\ude00"\nb: "x\\ud800"\n') == {"a": "😀", "b": "x\ufffd"}


@pytest.mark.parametrize(
    ("value", "command"),
    [("%x", "status"), ("{a: 1, a: 2}", "config"), ("[" * 2000, "recall")],
)
def test_settings_that_can_not_be_read_name_file_and_line(
    run: Run, value: str, command: str
) -> None:
    text = run.text("entity.yaml").partition("\nx: {}")[0] + "\n"
    run.write("entity.yaml", f"{text}x:\n  note: {value}\n")
    words = {"config": ("config", "show"), "recall": ("recall", "rain")}.get(command, (command,))
    ran = run(*words)
    assert ran.code == 12
    assert f"entity.yaml:{text.count(chr(10)) + 2}: " in ran.err
    assert run.text("entity.yaml").startswith(text)


DEEP = ("[" * 200_000, '{"a":' * 200_000)
DERIVED = (
    ".bumble/log/calls.jsonl",
    ".bumble/log/runs.jsonl",
    ".bumble/cache/last_request.json",
    ".bumble/cache/last_report.json",
    ".bumble/cache/reports/ses_first.json",
    ".bumble/uncommitted/x.json",
)


@pytest.mark.parametrize("deep", DEEP, ids=["lists", "mappings"])
def test_json_that_is_nested_too_deeply_is_as_damaged_as_any_other(full: Run, deep: str) -> None:
    run = without_models(full)
    for path in DERIVED:
        run.write(path, f"{deep}\n")
    looks = ("status", "context list", "context list --session last", "context diff")
    for words in (*looks, "recall rain", "tick --check", "log"):
        ran = run(*words.split())
        assert ran.code != 70, f"{words}: {ran.err}"
    assert run("doctor").code != 70


@pytest.mark.parametrize("deep", DEEP, ids=["lists", "mappings"])
def test_such_a_line_of_a_transcript_is_named(full: Run, deep: str) -> None:
    run = without_models(full)
    text = run.text("sessions/ses_first/messages.jsonl")
    run.write("sessions/ses_first/messages.jsonl", f"{text}{deep}\n")
    for words in ("status", "recall rain", "tick --check"):
        assert run(*words.split()).code == 0, words
    line = text.count("\n") + 1
    assert f"ses_first/messages.jsonl:{line}: " in run("doctor").out
    ran = run("session", "show", "ses_first")
    assert ran.code == 12
    assert f"messages.jsonl:{line}: " in ran.err


def test_such_a_line_of_state_is_named_and_stays(full: Run) -> None:
    run = without_models(full)
    run.write("state.yaml", f"sessions:\n  ses_first: {'[' * 600}\n")
    before = run.text("state.yaml")
    assert "state.yaml:2: " in run("tick").err
    assert "state.yaml:2: " in run("doctor").out
    assert run.text("state.yaml") == before
