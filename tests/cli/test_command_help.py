from __future__ import annotations

import pytest

from bumble.cli import command_help
from bumble.cli.app import COMMANDS, DAILY, SECTIONS
from tests.support.running import Run


def test_the_help_shows_a_dozen_commands_of_every_day_and_the_rest_by_group(run: Run) -> None:
    shown = run.ok("--help").out
    assert len(SECTIONS[DAILY]) == 12
    for name in COMMANDS:
        described = f"\n  {name} " in shown
        assert described == (name in SECTIONS[DAILY]), name
        assert name in shown
    assert len(shown.splitlines()) < 50


@pytest.mark.parametrize(
    ("words", "term"),
    [
        (("soma",), "soma"),
        (("petri",), "topic"),
        (("catalyze",), "catalyze"),
        (("tick",), "tick"),
        (("distill",), "distill"),
        (("consolidate",), "consolidate"),
        (("belief", "list"), "belief"),
        (("mcp",), "MCP"),
    ],
    ids=str,
)
def test_help_explains_the_words_it_uses(run: Run, words: tuple[str, ...], term: str) -> None:
    said = " ".join(run.ok(*words, "--help").out.partition("\nWords:\n")[2].split())
    assert f"{term} {command_help.TERMS[term]}" in said


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("reacll", "bumble recall"),
        ("forget", "bumble person forget"),
        ("searhc", "bumble recall"),
        ("probe", "bumble model probe"),
        ("install", "bumble cron install"),
        ("help", "bumble --help"),
    ],
)
def test_a_name_that_is_no_command_is_answered_with_the_nearest(
    run: Run, typed: str, meant: str
) -> None:
    ran = run(typed)
    assert ran.code == 2
    assert f"`{meant}`" in ran.err.splitlines()[0].split(" or ")[0]
    assert run(typed, "--json").json["error"]["kind"] == "UsageError"
