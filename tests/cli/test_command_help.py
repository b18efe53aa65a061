from __future__ import annotations

import pytest

from bumble.cli import reference
from bumble.cli.app import BUG_EXIT_CODE, COMMANDS, DAILY, SECTIONS
from tests.support.chatting import script
from tests.support.command_line import leaves
from tests.support.running import Run
from tests.support.sweeps import turns


def test_the_help_shows_a_dozen_commands_of_every_day_and_the_rest_by_group(run: Run) -> None:
    shown = run.ok("--help").out
    assert len(SECTIONS[DAILY]) == 12
    for name in COMMANDS:
        described = f"\n  {name} " in shown
        assert described == (name in SECTIONS[DAILY]), name
        assert name in shown
    assert len(shown.splitlines()) < 50


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


def test_every_command_stands_in_one_section_of_the_help() -> None:
    assert sorted(name for names in SECTIONS.values() for name in names) == sorted(COMMANDS)


@pytest.mark.parametrize("argv", [("session", "--json", "list"), ("context", "json", "--json")])
def test_json_is_taken_everywhere(run: Run, argv: tuple[str, ...]) -> None:
    assert run.ok(*argv).json["schema"]


# What serves another program speaks its language; what settles a merge is git's.
ELSE = {("mcp",), ("git-merge",)}


@pytest.mark.parametrize(
    "words", turns(6, [(words,) for words in leaves() if words not in ELSE]), ids=" ".join
)
def test_every_command_answers_with_json_also_where_it_refuses(
    full: Run, words: tuple[str, ...]
) -> None:
    script(full, {"text": "{}", "always": True})
    for argv in ((*words, "--json"), (*words[:-1], "--json", words[-1])):
        ran = full(*argv)
        assert ran.code != BUG_EXIT_CODE, ran.err
        assert ran.json["schema"].startswith("bumble/")


def test_each_setting_is_explained() -> None:
    assert [
        ".".join(keys) for keys, said in reference.setting_rows() if not said.strip("()yours al")
    ] == []
