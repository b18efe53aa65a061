from __future__ import annotations

import shlex
from typing import Any

import pytest
import typer

from bumble.cli import app, command_help
from bumble.cli.app import COMMANDS, DAILY, SECTIONS
from tests.support.command_line import leaves
from tests.support.running import Run

GROUPS = {(name,) for name in app.GROUPS}


def found(words: tuple[str, ...]) -> Any:
    command: Any = typer.main.get_command(app.app)
    for word in words:
        command = command.get_command(None, word)
    return command


def test_the_help_shows_a_dozen_commands_of_every_day_and_the_rest_by_group(run: Run) -> None:
    shown = run.ok("--help").out
    assert len(SECTIONS[DAILY]) == 12
    for name in COMMANDS:
        described = f"\n  {name} " in shown
        assert described == (name in SECTIONS[DAILY]), name
        assert name in shown
    assert len(shown.splitlines()) < 50


def test_help_begins_with_an_example_that_the_command_takes() -> None:
    for words in sorted({*leaves(), *GROUPS}):
        _shows_an_example(words)


def _shows_an_example(words: tuple[str, ...]) -> None:
    path = " ".join(words)
    line = command_help.example(path, found(words))
    if words[0] == "completion":
        line = line.removeprefix("source <(").removesuffix(")")
    typed = shlex.split(line)
    assert typed[0] == "bumble" and path.startswith(typed[1])
    command, rest = typer.main.get_command(app.app), typed[1:]
    ctx: Any = typer.Context(command, info_name="bumble")
    while hasattr(command, "get_command") and rest and not rest[0].startswith("-"):
        command = command.get_command(ctx, rest.pop(0))
    command.make_context(command.name, rest, parent=ctx, obj=None)
    assert command.get_help(ctx).startswith("Example: bumble ") or words[0] == "completion"


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


def test_a_name_that_is_near_to_none_suggests_nothing(run: Run) -> None:
    assert "Did you mean" not in run("xyzzy").err


def test_words_are_found_in_every_form_and_not_inside_of_others() -> None:
    text = "Beliefs were distilled; topics, entities. soma.dreams ticket projection"
    assert [term for term, _ in command_help.explained(text)] == [
        "entity",
        "belief",
        "topic",
        "distill",
    ]
