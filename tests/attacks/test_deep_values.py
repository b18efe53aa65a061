from __future__ import annotations

import pytest

from tests.support.looking import without_models
from tests.support.running import Run

DEEP = ("[" * 200_000, '{"a":' * 200_000)
DERIVED = (
    ".bumble/log/calls.jsonl",
    ".bumble/log/runs.jsonl",
    ".bumble/cache/last_request.json",
    ".bumble/cache/last_report.json",
    ".bumble/cache/reports/ses_first.json",
    ".bumble/uncommitted/x.json",
    ".bumble/fulltext/stamp.json",
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
    run.write("state.yaml", f"sessions:\n  ses_first: {'[' * 2000}\n")
    before = run.text("state.yaml")
    assert "state.yaml:2: " in run("tick").err
    assert "state.yaml:2: " in run("doctor").out
    assert run.text("state.yaml") == before
